"""Reads documents so that none can hang the service or use up its memory.

    document ── up to 32 KB ──> read in this process
             └─ larger ───────> a worker: a process at the other end of a pipe, killed when it
                                takes more than its time or its memory

The operating system limits a worker's memory and its processor time for each document, in case this
process is killed while it reads.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import resource
import subprocess
import sys
import traceback
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, cast

import structlog
from msgspec import structs

from monitor.errors import DocumentError
from monitor.model import CHANGING_NOTICES, Document, Paper, Reading, Rejected
from monitor.sources.base import DumpSource, Source
from monitor.sources.fields.encoding import binary_format, drop_nulls
from monitor.text import without_placeholder, without_withdrawal

if TYPE_CHECKING:
    from monitor.sources.api.windows import Outline, PageRequest, WindowSource

MAX_BYTES_HERE = 32 * 1024
SECONDS = 8.0  # of ten that a command at a terminal may take
MEMORY_BYTES = 400 * 1024 * 1024  # of 512 MB, beside this process
LARGE_BYTES = 20 * 1024 * 1024  # from here on, time and memory grow with the document
SECONDS_PER_MB = 0.5
SECONDS_PER_MB_UNATTENDED = 3.0  # in the background, on a machine that may be busy
CPU_SECONDS = 120  # of a worker, for one document
MAX_IDLE_WORKERS = 2
# Allocations between two runs of the garbage collector, which would visit all the papers of a
# document again and again; they form no cycles.
GC_THRESHOLD = 200_000
MAX_DOCUMENTS_PER_WORKER = 200  # frees what libraries hold on to

# Under `-m`, what this module pickles would be of a module `__main__`.
SERVE = "import sys; from monitor.sources.sandbox import serve; serve(int(sys.argv[1]))"

log = structlog.get_logger()


def read(source: Source, document: Document, seconds: float = SECONDS) -> Reading:
    """Read a document as `source` does; DocumentError where it cannot be read within bounds.

    Runs of NUL bytes are rejected here; kinds that read dumps reject them as they read.
    """
    nulls: tuple[Rejected, ...] = ()
    _refuse_unreadable(source, document)
    if not isinstance(source, DumpSource):
        content, nulls = drop_nulls(document.content)
        document = replace(document, content=content) if nulls else document
    reading = _normalise_all(cast("Reading", ask(source, "read", document, seconds=seconds)))
    return replace(reading, rejected=(*nulls, *reading.rejected))


def read_page(
    source: WindowSource, document: Document, request: PageRequest
) -> tuple[Outline, Reading]:
    """Read a page of an API, and outline it; DocumentError where that cannot be done within bounds.

    Runs of NUL bytes are left to the outline: a page with one is damaged.
    """
    _refuse_unreadable(source, document)
    page = cast("tuple[Outline, Reading]", ask(source, "read_page", document, request))
    outline, reading = page
    return outline, _normalise_all(reading)


def _refuse_unreadable(source: Source, document: Document) -> None:
    if len(document.content) > source.max_bytes:
        raise DocumentError(f"the document is larger than {source.max_bytes:,} bytes")
    if format_ := binary_format(document.content):
        raise DocumentError(f"the document is {format_}")


def _normalise_all(reading: Reading) -> Reading:
    return replace(reading, papers=tuple(map(normalise, reading.papers)))


def normalise(paper: Paper) -> Paper:
    """Return a paper of any source with each author once, and no placeholder for an abstract.

    "RETRACTED: Title" becomes "Title", withdrawn.
    """
    title = without_withdrawal(paper.title)
    abstract = without_placeholder(paper.abstract)
    authors = tuple(dict.fromkeys(paper.authors))
    if (title, abstract, authors) == (paper.title, paper.abstract, paper.authors):
        return paper
    # A notice may have the title of its paper with the mark before it, and is not withdrawn itself.
    withdrawn = paper.withdrawn if title == paper.title else paper.type not in CHANGING_NOTICES
    return structs.replace(
        paper, title=title, abstract=abstract, authors=authors, withdrawn=withdrawn
    )


def unattended_seconds(document: Document) -> float:
    """Return how long the reading of a document may take in the background."""
    return SECONDS + SECONDS_PER_MB_UNATTENDED * len(document.content) / 2**20


def ask(
    source: Source, method: str, document: Document, *arguments: object, seconds: float = SECONDS
) -> object:
    """Return the result of a source's method; DocumentError where there is none within bounds."""
    if len(document.content) <= MAX_BYTES_HERE:
        result = call(source, method, document, arguments)
    else:
        kind = type(source)
        now = source._clock()
        request = (kind, source.name, source.options, now, method, document, arguments)
        message = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        excess = max(len(document.content) - LARGE_BYTES, 0)
        seconds += SECONDS_PER_MB * excess / 2**20
        result = _ask_worker(message, seconds, MEMORY_BYTES + 8 * excess)
    if not isinstance(result, DocumentError):
        return result
    for trace in getattr(result, "__notes__", ()):
        log.error("reading failed", source=source.name, document=document.name, trace=trace)
    raise result


def call(source: Source, method: str, document: Document, arguments: tuple[object, ...]) -> object:
    """Return the result of a source's method, or a DocumentError with the trace as its note."""
    try:
        return getattr(source, method)(document, *arguments)
    except MemoryError:
        return DocumentError("the document needs more memory than it may")
    except Exception as fault:
        reason = f"the document cannot be read: unexpected {type(fault).__name__}: {fault}"
        failure = DocumentError(reason[:300])
        failure.add_note(traceback.format_exc())
        return failure


class Worker:
    """A process that reads one document at a time."""

    def __init__(self) -> None:
        self._connection, other_end = Pipe()
        with other_end:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(other_end.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C is for this process, which ends its workers
                pass_fds=[other_end.fileno()],
            )
        self.documents = 0
        with suppress(EOFError, OSError):  # the first request shows that it cannot start
            self._connection.recv_bytes()  # it has begun: that is not the document's time

    def ask(self, message: bytes, seconds: float, memory: int) -> object:
        """Return the response to a message, or a DocumentError."""
        self.documents += 1
        try:
            self._connection.send(memory)
            self._connection.send_bytes(message)
            if self._connection.poll(seconds):
                return self._connection.recv()
            failure = DocumentError(f"the document gave no papers within {seconds:.0f} s")
        except (EOFError, OSError):
            why = "the document broke its reader, or needs more memory than it may"
            failure = DocumentError(why)
        self.end()
        return failure

    def lives(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()


_idle: list[Worker] = []


def _ask_worker(message: bytes, seconds: float, memory: int) -> object:
    """Return the response of an idle worker, or of one that is started for it."""
    worker = None
    with suppress(IndexError):
        worker = _idle.pop()
    if worker is None or not worker.lives():
        worker = Worker()
    response = worker.ask(message, seconds, memory)
    is_fresh = worker.lives() and worker.documents < MAX_DOCUMENTS_PER_WORKER
    if is_fresh and len(_idle) < MAX_IDLE_WORKERS:
        _idle.append(worker)
    else:
        worker.end()
    return response


@atexit.register
def end() -> None:
    """End the idle workers; the next document starts another."""
    while _idle:
        _idle.pop().end()


# ── in the worker ───────────────────────────────────────────────────────────────────


def serve(descriptor: int) -> None:
    """Answer on a connection until it is closed, or a document needs too much."""
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    connection = Connection(descriptor)
    with suppress(EOFError, ConnectionError):
        connection.send_bytes(b"")  # it has begun
        while True:
            _answer(connection)
            gc.collect()  # a fault that was caught may hold the document


def _answer(connection: Connection) -> None:
    _set_limits(connection.recv())
    kind, name, options, now, method, document, arguments = connection.recv()
    source = kind(name, options, None, lambda: now)
    connection.send(call(source, method, document, arguments))


def _set_limits(memory: int) -> None:
    """Limit the memory and the processor time of this process, where the system can."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    limits = ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, int(used) + CPU_SECONDS))
    for name, limit in limits:
        with suppress(ValueError, OSError):
            resource.setrlimit(name, (limit, resource.getrlimit(name)[1]))
