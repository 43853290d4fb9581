"""Reads large documents in a process of its own: `python -m monitor.sources.sandbox_worker`.

Answers `monitor.sources.sandbox` until there are no more documents, or one needs too much. The
operating system limits its memory and its processor time for each document, in case the caller is
killed while it reads.
"""

from __future__ import annotations

import gc
import resource
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from monitor.sources import sandbox
from monitor.sources.sandbox import call

CPU_SECONDS = 120  # for one document


def _set_limits(memory: int) -> None:
    """Limit the memory and the processor time of this process, where the system can."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    limits = ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, int(used) + CPU_SECONDS))
    for name, limit in limits:
        with suppress(ValueError, OSError):
            resource.setrlimit(name, (limit, resource.getrlimit(name)[1]))


def _answer(connection: Connection) -> None:
    _set_limits(connection.recv())
    kind, name, options, now, method, document, arguments = connection.recv()
    source = kind(name, options, None, lambda: now)
    connection.send(call(source, method, document, arguments))


def main() -> None:
    """Answer on the connection whose descriptor is the argument, until it is closed."""
    gc.freeze()
    gc.set_threshold(sandbox.GC_THRESHOLD)
    connection = Connection(int(sys.argv[1]))
    with suppress(EOFError, ConnectionError):
        connection.send_bytes(b"")  # it has begun
        while True:
            _answer(connection)
            gc.collect()  # a fault that was caught may hold the document


if __name__ == "__main__":
    main()
