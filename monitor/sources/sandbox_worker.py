"""Reads large documents in a process of its own: `python -m monitor.sources.sandbox_worker`.

Answers messages of `monitor.sources.sandbox` until there are none. The operating system bounds its
memory for each document and its processor time for all of them, in case the caller is killed while
it reads.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import sys
import traceback
from contextlib import suppress
from typing import IO

from monitor.sources import sandbox
from monitor.sources.sandbox import Failure, receive, send, unexpected

SECONDS = 120  # of the processor, for one document


def answer(told: bytes) -> object:
    """Ask a source about the document of a message; a Failure where it has no answer."""
    try:
        kind, name, options, now, method, document, more = pickle.loads(told)
        del told
        return getattr(kind(name, options, None, lambda: now), method)(document, *more)
    except MemoryError:
        return Failure("the document needs more memory than it may")
    except Exception as fault:
        return Failure(unexpected(fault), traceback.format_exc())


def _bounded(memory: int) -> None:
    """Bound what this process may hold, and how long it may go on; where the system can."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    bounds = ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, int(used) + SECONDS))
    for what, most in bounds:
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def _serve(asked: IO[bytes], told: IO[bytes]) -> None:
    send(told, b"")  # it has begun
    while True:
        _bounded(int.from_bytes(receive(asked), "big"))
        found = answer(receive(asked))
        try:
            send(told, pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
        except MemoryError:
            send(told, pickle.dumps(Failure("the document needs more memory than it may")))
        del found
        gc.collect()  # a fault that was caught may hold the document


def main() -> None:
    """Answer until nobody asks. What libraries print goes nowhere near the answers."""
    gc.freeze()
    gc.set_threshold(sandbox.SELDOM)
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):
        _serve(sys.stdin.buffer, told)


if __name__ == "__main__":
    main()
