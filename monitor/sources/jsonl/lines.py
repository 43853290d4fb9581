"""Reads the lines of a dump, each with the offset of the byte after it.

A line that is too large to hold, and NUL bytes in place of lines, affect no other line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from monitor.sources.fields.null_bytes import MIN_RUN, RUN, describe_nulls, is_null
from monitor.sources.jsonl.decompress import Tape

MAX_RECORD_BYTES = 8 * 1024 * 1024
MAX_EMPTY_LINES = 9_999  # that are read one by one
_EMPTY_LINES = re.compile(rb"((?:(?<=\n)|\A)(?:\r?\n){%d,})" % MAX_EMPTY_LINES)


class Row(NamedTuple):
    """A record, or an `Unreadable` in its place, and the bytes where it begins and ends.

    `number` counts lines, or the records of a list, from 1. `is_cut` is set for a line with NUL
    bytes at its begin or end.
    """

    number: int
    begin: int
    end: int
    record: object
    is_cut: bool = False


class Unreadable(NamedTuple):
    """Stands in for a record that cannot be read."""

    reason: str


TOO_LARGE = Unreadable(f"record is larger than {MAX_RECORD_BYTES:,} bytes")


def read_lines(tape: Tape, number: int) -> Iterator[Row]:
    """Yield each line without its end; runs of thousands of empty lines are skipped at once."""
    follows_nulls = False
    for begin, end, block, precedes_nulls in _read_blocks(tape):
        if isinstance(block, Unreadable):
            yield Row(number + 1, begin, end, block)
            number += block is TOO_LARGE
            follows_nulls = block is not TOO_LARGE
            continue
        rows = _cut_into_lines(block, number, begin, end)
        if follows_nulls or precedes_nulls:
            rows = _mark_cut(rows, follows_nulls, precedes_nulls)
        yield from rows
        number += block.count(b"\n")
        follows_nulls = False


def _cut_into_lines(block: bytes, number: int, begin: int, end: int) -> Iterator[Row]:
    many = block.count(b"\n") >= MAX_EMPTY_LINES
    for index, part in enumerate(_EMPTY_LINES.split(block) if many else [block]):
        if index % 2:  # the empty lines
            number += part.count(b"\n")
            begin += len(part)
            continue
        for line in part.removesuffix(b"\n").split(b"\n") if part else ():
            number += 1
            line_end = min(begin + len(line) + 1, end)
            yield Row(number, begin, line_end, line)
            begin = line_end


def _mark_cut(rows: Iterable[Row], first: bool, last: bool) -> Iterator[Row]:
    """Yield rows, of which the first or the last has NUL bytes in place of a part of it."""
    marked = list(rows)
    for index in (0, -1):
        if marked and (first, last)[index]:
            marked[index] = marked[index]._replace(is_cut=True)
    yield from marked


def _read_blocks(tape: Tape) -> Iterator[tuple[int, int, bytes | Unreadable, bool]]:
    """Yield (begin, end, lines), or what is in place of a line; and whether NUL bytes follow.

    NUL bytes end the line before them. At the end of a document they end where they begin: a
    program that reserves space for its file writes the next records there.
    """
    begin, held, dropped, nulls = tape.offset, b"", 0, 0
    for piece in _split_at_nulls(tape):
        if is_null(piece):
            nulls += len(piece)
            continue
        if nulls:
            cut, begin = begin, begin + len(held) + dropped + nulls
            if held or dropped:
                yield cut, begin, held or TOO_LARGE, True
            yield begin - nulls, begin, Unreadable(describe_nulls(nulls)), False
            held, dropped, nulls = b"", 0, 0
        if dropped:
            behind = piece.find(b"\n") + 1
            dropped += behind or len(piece)
            if not behind:
                continue
            yield begin, begin + dropped, TOO_LARGE, False
            begin, piece, dropped = begin + dropped, piece[behind:], 0
        if behind := piece.rfind(b"\n") + 1:
            lines, held = b"".join((held, memoryview(piece)[:behind])), piece[behind:]
            yield begin, begin + len(lines), lines, False
            begin += len(lines)
        else:
            held += piece
        if len(held) > MAX_RECORD_BYTES:
            held, dropped = b"", len(held)
    end = begin + len(held) + dropped
    if held or dropped:
        yield begin, end, held or TOO_LARGE, nulls > 0
    if nulls:
        yield end, end, Unreadable(describe_nulls(nulls)), False


def _split_at_nulls(tape: Tape) -> Iterator[bytes]:
    """Yield the pieces of a tape, with runs of NUL bytes as pieces of their own."""
    follows_nulls = False
    while piece := tape.read():
        rest = piece.lstrip(b"\0") if follows_nulls else piece
        if len(rest) < len(piece):
            yield piece[: len(piece) - len(rest)]
        if not rest:
            continue
        parts = RUN.split(rest) if b"\0" * MIN_RUN in rest else [rest]
        yield from filter(None, parts)
        follows_nulls = not parts[-1]
