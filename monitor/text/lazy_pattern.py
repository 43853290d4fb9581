"""Regular expressions that are compiled for the first text that needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any


class LazyPattern:
    """A pattern of `re` that is compiled when it is first used.

    To compile those that value sentences takes 15 ms, and most commands use none of them.
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Take a method from the compiled pattern, and keep it: it is called for each sentence."""
        method = getattr(self.compiled, name)
        setattr(self, name, method)
        return method
