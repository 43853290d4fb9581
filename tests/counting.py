"""Counts work where its seconds would be those of the machine: statements to a store, and calls."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType

import sqlalchemy as sa


@contextmanager
def statements() -> Iterator[list[str]]:
    """Yield a list of the statements that stores of this process execute from now on."""
    executed: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        executed.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield executed
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


@contextmanager
def calls(function: Callable[[str], object]) -> Iterator[Counter[str]]:
    """Yield how often this thread calls a function of a text from now on, by the text."""
    assert isinstance(function, FunctionType)
    counted: Counter[str] = Counter()
    code = function.__code__

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code is code:
            counted[frame.f_locals[code.co_varnames[0]]] += 1
        if before:
            before(frame, event, argument)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield counted
    finally:
        sys.setprofile(before)
