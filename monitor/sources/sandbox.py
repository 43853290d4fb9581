"""Reading documents from outside so that none can hang the service or eat its memory.

    document ── up to 32 KB ───────────────────────────────> read here
             └─ larger ──> a worker: a process that is asked over a pipe, and killed when it
                           takes longer than its time or more than its memory

Workers are kept between documents, as many as threads read at once; one that was killed is replaced
for the next document. `monitor.sources.sandbox_worker` is the other end of the pipe.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock, Timer
from typing import IO, cast

import structlog
from msgspec import structs

from monitor.errors import DocumentError
from monitor.model import Document, Paper, Reading
from monitor.sources.base import Source
from monitor.sources.fields.withdrawals import strip_withdrawal_marks

SMALL = 32 * 1024
SECONDS = 8.0  # what is left of ten, for who waits at a terminal
MEMORY = 400 * 1024 * 1024  # what is left of 512 MB, beside this process
LARGE = 20 * 1024 * 1024  # from here on, time and memory grow with the document
SECONDS_PER_MB = 0.5
SECONDS_PER_MB_AT_WORK = 3.0  # where nobody waits: a machine that is busy reads as well
KEPT = 2  # idle workers
# Objects between two looks for rings of them. Papers, and what they are read from, form none; and
# there are a hundred thousand of them, which the interpreter would look through again and again.
SELDOM = 200_000
MOST = 200  # documents of one worker: what libraries keep is let go with it

log = structlog.get_logger()


def read(
    source: Source, document: Document, seconds: float = SECONDS, memory: int = MEMORY
) -> Reading:
    """Read a document as `source` does. DocumentError where it cannot be read within bounds."""
    reading = cast("Reading", ask(source, "read", document, seconds=seconds, memory=memory))
    return replace(reading, papers=with_distinct_authors(strip_withdrawal_marks(reading.papers)))


def with_distinct_authors(papers: Sequence[Paper]) -> tuple[Paper, ...]:
    """Return papers with an author once each whom their records list twice."""
    if all([len(set(one.authors)) == len(one.authors) for one in papers]):  # noqa: C419 - faster
        return tuple(papers)
    return tuple(structs.replace(one, authors=tuple(dict.fromkeys(one.authors))) for one in papers)


def at_work(document: Document) -> float:
    """How many seconds it may take to read a document where nobody waits for it."""
    return SECONDS + SECONDS_PER_MB_AT_WORK * len(document.content) / 2**20


def ask(
    source: Source,
    method: str,
    document: Document,
    *more: object,
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> object:
    """Return what a method of `source` says of a document; it is given `more` behind it.

    The source has no way to the network there. DocumentError where there is no answer within
    bounds.
    """
    if len(document.content) <= SMALL:
        return _asked_here(source, method, document, more)
    asked = (type(source), source.name, source.options, source._clock(), method, document, more)
    try:
        told = pickle.dumps(asked, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        # A kind that is no class of a module.
        return _asked_here(source, method, document, more)
    excess = max(len(document.content) - LARGE, 0)
    seconds += SECONDS_PER_MB * excess / 2**20
    answer = _workers.ask(told, seconds, memory + 8 * excess)
    if not isinstance(answer, Failure):
        return answer
    if answer.trace:
        log.error("reading failed", source=source.name, document=document.name, trace=answer.trace)
    raise DocumentError(answer.why)


def _asked_here(
    source: Source, method: str, document: Document, more: tuple[object, ...]
) -> object:
    try:
        return getattr(source, method)(document, *more)
    except Exception as fault:
        log.exception("reading failed", source=source.name, document=document.name)
        raise DocumentError(unexpected(fault)) from fault


def unexpected(fault: Exception) -> str:
    """Say a fault that no reader thought of."""
    return f"the document cannot be read: unexpected {type(fault).__name__}: {fault}"[:300]


class Failure:
    """Why a worker has no reading; `trace` is where a fault came from, for the log."""

    def __init__(self, why: str, trace: str = "") -> None:
        self.why = why
        self.trace = trace


class Worker:
    """A process that reads one document at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "monitor.sources.sandbox_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for this process, which ends its workers
        )
        self.documents = 0
        self.asked = cast("IO[bytes]", self._process.stdin)
        self.told = cast("IO[bytes]", self._process.stdout)
        with suppress(EOFError):  # one that cannot start is found out when it is asked
            receive(self.told)  # it has begun: that is not the document's time

    def ask(self, told: bytes, seconds: float, memory: int) -> object:
        """Return the answer to a message, or a Failure."""
        self.documents += 1
        late = Timer(seconds, self._process.kill)
        late.daemon = True
        until = time.monotonic() + seconds  # before the timer starts: it must not fire before this
        late.start()
        try:
            send(self.asked, memory.to_bytes(8, "big"))
            send(self.asked, told)
            return pickle.loads(receive(self.told))
        except (EOFError, OSError):
            self.end()
            if time.monotonic() < until:
                return Failure("the document broke its reader, or needs more memory than it may")
            return Failure(f"the document gave no papers within {seconds:.0f} s")
        finally:
            late.cancel()

    def lives(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        with suppress(OSError):
            self.asked.close()
        self._process.kill()
        self._process.wait()
        self.told.close()


class _Workers:
    """Workers that are idle; each thread that reads takes one, or starts one."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._lock = Lock()

    def ask(self, told: bytes, seconds: float, memory: int) -> object:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None or not worker.lives():
            worker = Worker()
        answer = worker.ask(told, seconds, memory)
        with self._lock:
            keep = worker.lives() and worker.documents < MOST and len(self._idle) < KEPT
            if keep:
                self._idle.append(worker)
        if not keep:
            worker.end()
        return answer

    def end(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()


def send(pipe: IO[bytes], told: bytes) -> None:
    """Write a message: its length in eight bytes, and itself."""
    pipe.write(len(told).to_bytes(8, "big"))
    pipe.write(told)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """Read a message; EOFError when the other end is gone."""
    size = int.from_bytes(_exactly(pipe, 8), "big")
    return _exactly(pipe, size)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    told = pipe.read(size)
    if len(told) < size:
        raise EOFError
    return told


_workers = _Workers()


@atexit.register
def end() -> None:
    """End the idle workers; whoever reads next starts others."""
    _workers.end()
