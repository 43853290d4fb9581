"""Reads large documents in a process of its own: `python -m monitor.sources.sandbox_worker`.

Answers messages of `monitor.sources.sandbox` until there are none. The operating system limits its
memory and its processor time for each document, in case the caller is killed while it reads.
"""

from __future__ import annotations

import gc
import pickle
import resource
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection

from monitor.sources import sandbox
from monitor.sources.sandbox import Failure, describe_fault

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


def _serve(connection: Connection) -> None:
    connection.send_bytes(b"")  # it has begun
    while True:
        _set_limits(connection.recv())
        result = answer(connection.recv_bytes())
        try:
            connection.send(result)
        except MemoryError:
            connection.send(Failure(OUT_OF_MEMORY))
        del result
        gc.collect()  # a fault that was caught may hold the document


def main() -> None:
    """Answer on the connection whose descriptor is the argument, until it is closed."""
    gc.freeze()
    gc.set_threshold(sandbox.GC_THRESHOLD)
    with suppress(EOFError, ConnectionError):
        _serve(Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()
