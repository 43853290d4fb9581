"""Reads the tables of this package, which are written as words with spaces between."""

from __future__ import annotations


def pairs(table: str) -> dict[str, str]:
    """Read `a: b, c: d` (several keys may share a value: `a b: c`)."""
    rows = (row.partition(":") for row in table.split(","))
    return {key: value.strip() for keys, _, value in rows for key in keys.split()}


def word_set(table: str) -> frozenset[str]:
    return frozenset(table.split())
