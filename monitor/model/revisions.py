"""The text that a revision of a paper replaced, and what the revision changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EarlierText:
    """What a paper said before a revision."""

    title: str
    abstract: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """What a revision changed, as far as it is known.

    `title_before` is empty where the title is the same; `sentences` counts those of the abstract
    that are new, gone or different, None where the text before is not kept.
    """

    version: int | None = None
    version_before: int | None = None
    title_before: str = ""
    sentences: int | None = None
