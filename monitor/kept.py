"""Results that are kept for the papers that follow, until `forget` clears them.

The papers of a run repeat each other's words, names and titles, so that what these mean is kept.
A service lets go of it when a run has ended: new papers bring new words for as long as it runs,
and each cache would grow to its limit, beside all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

_forgetters: list[Callable[[], object]] = []
_times = 0


def kept(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Return a decorator that keeps the last `most` results of a function, until `forget`."""

    def decorate(function: Callable[..., Any]) -> _lru_cache_wrapper[T]:
        keeping = lru_cache(maxsize=most)(function)
        on_forget(keeping.cache_clear)
        return keeping

    return decorate


def on_forget(let_go: Callable[[], object]) -> None:
    """Have `forget` call `let_go`, for as long as the process lives."""
    _forgetters.append(let_go)


def forget() -> None:
    """Let go of everything kept. It is worked out again when it is asked for; threads may go on."""
    global _times
    for let_go in _forgetters:
        let_go()
    _times += 1


def times_forgotten() -> int:
    """Return how often `forget` was called; an object compares it to let go when it is next used.

    Objects that come and go would stay alive in the list of `on_forget`.
    """
    return _times
