"""Counts work where its seconds would be those of the machine: the statements sent to a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
