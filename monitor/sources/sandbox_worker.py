"""Reads large documents in a process of its own: `python -m monitor.sources.sandbox_worker`.

Answers messages of `monitor.sources.sandbox` until there are none. The operating system limits its
memory and its processor time for each document, in case the caller is killed while it reads.
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
from monitor.sources.sandbox import Failure, describe_fault, receive, send

CPU_SECONDS = 120  # for one document
OUT_OF_MEMORY = "the document needs more memory than it may"


def answer(message: bytes) -> object:
    """Return the result of the call in a message; a Failure where there is none."""
    try:
        kind, name, options, now, method, document, arguments = pickle.loads(message)
        del message
        return getattr(kind(name, options, None, lambda: now), method)(document, *arguments)
    except MemoryError:
        return Failure(OUT_OF_MEMORY)
    except Exception as fault:
        return Failure(describe_fault(fault), traceback.format_exc())


def _set_limits(memory: int) -> None:
    """Limit the memory and the processor time of this process, where the system can."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    limits = ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, int(used) + CPU_SECONDS))
    for name, limit in limits:
        with suppress(ValueError, OSError):
            resource.setrlimit(name, (limit, resource.getrlimit(name)[1]))


def _serve(requests: IO[bytes], responses: IO[bytes]) -> None:
    send(responses, b"")  # it has begun
    while True:
        _set_limits(int.from_bytes(receive(requests), "big"))
        result = answer(receive(requests))
        try:
            send(responses, pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
        except MemoryError:
            send(responses, pickle.dumps(Failure(OUT_OF_MEMORY)))
        del result
        gc.collect()  # a fault that was caught may hold the document


def main() -> None:
    """Answer until there are no more requests. What libraries print stays out of the responses."""
    gc.freeze()
    gc.set_threshold(sandbox.GC_THRESHOLD)
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):
        _serve(sys.stdin.buffer, responses)


if __name__ == "__main__":
    main()
