"""What is opened when it is first used: most commands fetch nothing and render nothing.

To load the libraries for it takes longer than `status` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any


class Later:
    """Stands for an object, and opens it once when one of its attributes is first asked for."""

    def __init__(self, open_it: Callable[[], Any]) -> None:
        self._open_it = open_it
        self._opening = Lock()
        self._opened: Any = None

    def __getattr__(self, name: str) -> Any:
        with self._opening:
            if self._opened is None:
                self._opened = self._open_it()
        return getattr(self._opened, name)

    def close(self) -> None:
        """Close the object, if it was ever opened."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
