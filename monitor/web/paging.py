"""Long lists, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """A page of a list: `earlier` and `later` are where the pages beside it begin."""

    shown: Sequence[T]
    count: int
    earlier: int | None = None
    later: int | None = None

    @classmethod
    def of(cls, whole: Sequence[T], start: int, size: int) -> Slice[T]:
        """Return `size` entries of a list from `start` on."""
        return cls(
            shown=whole[start : start + size],
            count=len(whole),
            earlier=max(start - size, 0) if start else None,
            later=start + size if start + size < len(whole) else None,
        )


def number(text: str) -> int | None:
    """Return the number that a parameter of an address holds, None where it is none of ours."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 19 else None
