"""Ingest: documents of one source become papers and changes, one run for each document."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from monitor.diff.decide import Circumstances
from monitor.errors import FetchError, MonitorError, StoreError, WaitError
from monitor.model import Document, FirstRun, Paper, Run, RunOutcome
from monitor.pipeline import again, gaps, hold
from monitor.pipeline.arrivals import arrive
from monitor.pipeline.judge import judge
from monitor.pipeline.parts import Parts, Watched
from monitor.sources import guard
from monitor.sources.base import Found
from monitor.store import owners, runs, servers, sources

log = structlog.get_logger()

CHUNK = 1_000
CHUNK_SECONDS = 0.5
STOPPED = "stopped; the rest is read next time"


def ingest(
    parts: Parts,
    name: str,
    tell: Callable[[Run], None] | None = None,
    accept: FirstRun | None = None,
) -> list[Run]:
    """Read what is new of one source; a fault ends its document's run, never the others.

    Returns the runs in the order of the documents; one `unchanged` run when there was nothing.
    `tell` hears of each run as its papers are stored. A reading that would be held is taken in
    with `accept`, for what that says it is worth. Raises StoreBusyError while another process
    reads this source.
    """
    watched, now = parts.sources[name], parts.clock.now()
    with owners.source_lock(parts.database, name):
        with parts.database.writing() as tx:
            runs.close_interrupted(tx, name, now)
            first = runs.first_read(tx, name) is None
            validators = runs.validators(tx, name)
            known = sources.state(tx, name, watched.place)
        if again.waits(known, now):
            return [_not_asked(name, known.waits_for, now)]
        reading = _Ingest(parts, watched, first, again.is_afresh(known, now), tell, accept)
        done = list(reading.runs(validators))
        if reading.wait:
            with parts.database.writing() as tx:
                until = parts.clock.now() + (reading.wait.retry_after or timedelta(0))
                sources.must_wait(tx, name, watched.place, until, str(reading.wait))
        if isinstance(reading.wait, WaitError):
            return done or [_not_asked(name, str(reading.wait), now)]
        judge(parts, watched, done)
        if not first and "until" not in validators:
            gaps.note(parts, watched, done)
    return done


def _not_asked(name: str, why: str, now: datetime) -> Run:
    """What is told of a source whose server asked to be left alone; it is no run of the store."""
    return Run(name, None, RunOutcome.UNCHANGED, now, now, error=f"not asked: {why}")


class _Ingest:
    """One pass over a source. The open run waits for the next document that is worth one."""

    def __init__(
        self,
        parts: Parts,
        watched: Watched,
        first: bool,
        afresh: bool,
        tell: Callable[[Run], None] | None,
        accept: FirstRun | None,
    ) -> None:
        self.parts = parts
        self.accept = accept
        self.tell = tell
        self.watched = watched
        # All is asked for and read, also what was read before.
        self.afresh = afresh
        # A server asked to be left alone; a WaitError where it was not asked at all.
        self.wait: FetchError | None = None
        self.first_run = watched.first_run if first else accept
        self.undated = 0
        self.open: tuple[int, Run] | None = None
        # What a document that was read before said to ask with next time, until a later one says.
        self.validators: Mapping[str, str] = {}

    def runs(self, validators: Mapping[str, str]) -> Iterator[Run]:
        ended = 0
        asked_with = again.unconditional(validators) if self.afresh else validators
        for run in self._documents(asked_with):
            ended += 1
            yield run
        if isinstance(self.wait, WaitError):
            self._discard()
        elif self.open and (self.validators or not ended):
            kept = self.validators or validators
            yield self._finish(RunOutcome.UNCHANGED, validators=kept)
        else:
            self._discard()

    def _discard(self) -> None:
        if self.open:
            with self.parts.database.writing() as tx:
                runs.discard(tx, self.open[0])

    def _documents(self, validators: Mapping[str, str]) -> Iterator[Run]:
        try:
            self._start()
            for found in self.watched.source.find(validators):
                run = self._document(found)
                if run:
                    yield run
                if self.parts.stopping.is_set():
                    return
                self._start()
        except StoreError:
            raise
        except WaitError as fault:
            self.wait = fault
        except Exception as fault:
            yield self._finish(RunOutcome.FAILED, self._told(fault, None))

    def _document(self, found: Found) -> Run | None:
        """Read one document; None when there is nothing in it that was not read before."""
        try:
            document = found.load()
            return self._read(document) if document else None
        except WaitError:
            raise
        except Exception as fault:
            return self._finish(RunOutcome.FAILED, self._told(fault, found.name), found.name)

    def _told(self, fault: Exception, document: str | None) -> str:
        """Say a fault in a sentence; one that nobody thought of is logged with its place."""
        if isinstance(fault, FetchError) and fault.retry_after is not None:
            self.wait = fault
        if isinstance(fault, MonitorError):
            return str(fault)
        log.exception("reading failed", source=self.watched.name, document=document)
        return f"unexpected {type(fault).__name__}: {fault}"

    def _read(self, document: Document) -> Run | None:
        name = self.watched.name
        content_hash = hashlib.sha256(document.content).hexdigest()
        with self.parts.database.reading() as tx:
            offset, finished = runs.document_state(tx, name, content_hash) or (0, False)
        if finished and not (self.afresh and document.url):
            self.validators = document.validators
            return None
        if finished:
            offset = 0
        reading = guard.read(self.watched.source, document)
        whole = document.complete and reading.complete and not reading.error
        if self.accept is None and not offset:
            hold.look(self.parts, self.watched, reading.papers, self.parts.clock.now())
        self._count(rejected=len(reading.rejected))
        end = offset
        for start, chunk in self._chunks(reading.papers, offset):
            end = start + len(chunk)
            self._store(chunk, document, content_hash, end, whole and end == len(reading.papers))
        if end < len(reading.papers):
            return self._finish(RunOutcome.PARTIAL, STOPPED, document.name)
        if whole and end == offset:
            self._store((), document, content_hash, end, True)
        outcome = RunOutcome.OK if whole else RunOutcome.PARTIAL
        if reading.error and not reading.papers:
            outcome = RunOutcome.FAILED
            self._distrust(document)
        kept = document.validators if whole else None
        return self._finish(outcome, reading.error, document.name, kept)

    def _distrust(self, document: Document) -> None:
        """An address that moved to where nothing can be read is asked where it was again."""
        with self.parts.database.writing() as tx:
            servers.distrust(tx, document.url)

    def _chunks(self, told: Sequence[Paper], offset: int) -> Iterator[tuple[int, Sequence[Paper]]]:
        """Cut the papers into transactions of at most 1,000, aiming at half a second each."""
        size = CHUNK
        while offset < len(told) and not self.parts.stopping.is_set():
            began = time.monotonic()
            yield offset, told[offset : offset + size]
            offset += size
            took = max(time.monotonic() - began, 0.001)
            size = max(50, min(CHUNK, int(size * CHUNK_SECONDS / took)))

    def _store(
        self, chunk: Sequence[Paper], document: Document, content_hash: str, end: int, whole: bool
    ) -> None:
        now = self.parts.clock.now()
        circumstances = Circumstances(now, self.first_run, self.watched.dated, self.undated)
        with self.parts.database.ingesting() as tx:
            arrived = arrive(tx, self.watched.name, chunk, circumstances, document.name)
            runs.document_progress(
                tx, self.watched.name, content_hash, document.name, end, whole, now
            )
            self._count(**arrived.counts())
            run_id, run = self._opened()
            kept = document.validators if whole else None
            runs.progress(tx, run_id, replace(run, document=document.name), kept)
            if whole:
                place = self.watched.place
                sources.read_whole(tx, self.watched.name, place, now, document.lifetime)
        if self.tell:
            self.tell(replace(run, document=document.name))
        self.undated += arrived.undated

    def _start(self) -> None:
        if self.open is None:
            now = self.parts.clock.now()
            run = Run(self.watched.name, None, RunOutcome.FAILED, now)
            with self.parts.database.writing() as tx:
                self.open = runs.start(tx, run), run

    def _opened(self) -> tuple[int, Run]:
        assert self.open is not None, "a run is opened before its document is looked at"
        return self.open

    def _count(self, **counts: int) -> None:
        run_id, run = self._opened()
        added = {name: getattr(run, name) + count for name, count in counts.items()}
        self.open = run_id, replace(run, **added)

    def _finish(
        self,
        outcome: RunOutcome,
        error: str = "",
        document: str | None = None,
        validators: Mapping[str, str] | None = None,
    ) -> Run:
        run_id, run = self._opened()
        finished = self.parts.clock.now()
        run = replace(run, document=document, outcome=outcome, error=error, finished=finished)
        with self.parts.database.writing() as tx:
            runs.finish(tx, run_id, run, validators)
        self.open = None
        if validators is not None:
            self.validators = {}
        return run
