"""SQL that is compiled once in a process, for all stores that its tests open.

SQLAlchemy keeps what it compiled for each engine, and each test has engines of its own: compiling
took a third of a small installation's run. What is kept has no values of a test.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import LRUCache

from monitor.store.engine import connect, database

MOST = 3_000  # statements

_first: dict[str, sa.Dialect] = {}
_compiled: MutableMapping[Any, Any] = LRUCache(MOST)


def share_compiled() -> None:
    """Let all stores that this process opens from now on share them."""
    database.engine = _sharing


def _sharing(url: sa.URL, **how: Any) -> sa.Engine:
    """Return an engine with the dialect of the first one that was connected: it is in the keys."""
    made = connect.engine(url, **how)
    name = made.dialect.name
    if name in _first:
        made.dialect = _first[name]
    else:
        # Its dialect asks the server for its version when it connects, before this is called.
        sa.event.listen(made, "connect", lambda *_: _first.setdefault(name, made.dialect))
    made.update_execution_options(compiled_cache=_compiled)
    return made
