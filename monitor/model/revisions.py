"""The text that a revision of a paper replaced, and what the revision changed."""

from __future__ import annotations

import msgspec


class EarlierText(msgspec.Struct, frozen=True):
    """What a paper said before a revision."""

    title: str
    abstract: str
    version: int | None = None


class Revision(msgspec.Struct, frozen=True):
    """What a revision changed, as far as it is known.

    `title_before` is empty where the title is the same; `sentences` counts those of the abstract
    that are new, gone or different, None where the text before is not kept.
    """

    version: int | None = None
    version_before: int | None = None
    title_before: str = ""
    sentences: int | None = None
