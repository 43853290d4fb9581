"""Long lists, page by page, and the numbers that say where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from monitor.text import MAX_DIGITS, whole_number

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


def read_number(name: str, text: str) -> int | None:
    """Return the number that a parameter holds, None where it is empty; refuse anything else."""
    number = whole_number(text)
    if number is None and text:
        raise HTTPException(400, f"{name}= needs a whole number of at most {MAX_DIGITS} digits.")
    return number


def parameter(request: Request, name: str) -> int | None:
    """Return the number that a parameter of an address holds, None where there is none."""
    return read_number(name, request.query_params.get(name, ""))


def path_number(request: Request, name: str) -> int:
    """Return the number that a part of a path is; without one there is no such page."""
    number = whole_number(request.path_params[name])
    if number is None:
        raise HTTPException(404)
    return number
