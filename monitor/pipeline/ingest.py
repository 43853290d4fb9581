"""Ingest: documents of one source become papers and changes, one run for each document."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from monitor.diff.decide import DecisionContext
from monitor.errors import FetchError, MonitorError, StoreError, WaitError
from monitor.model import (
    Document,
    Dump,
    DumpCursor,
    DumpReading,
    FirstRun,
    Paper,
    Rejected,
    Run,
    RunOutcome,
)
from monitor.pipeline import gaps, incidents, replayed_feed, source_schedule
from monitor.pipeline.cleanup import fill_blocks
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.pipeline.source_health import judge
from monitor.pipeline.store_chunk import arrive
from monitor.sources import sandbox
from monitor.sources.base import Found
from monitor.sources.fields.withdrawals import strip_withdrawal_marks
from monitor.store import documents, dump_progress, locks, runs, server_memory, source_state
from monitor.store import incidents as stored_incidents
from monitor.store.database import Transaction

log = structlog.get_logger()

# The service looks every 20 seconds: a folder is due that much early, to be read in time.
LOOK = timedelta(seconds=20)

CHUNK = 1_000
CHUNK_SECONDS = 0.5
STOPPED = "stopped; the rest is read next time"
# How many rejections of a run are kept: `read` shows all of them.
KEPT = 20


def is_due(parts: Runtime, name: str) -> bool:
    """Say whether the time of a source has come to be read again."""
    watched = parts.sources[name]
    with parts.database.reading() as tx:
        last = runs.last_start(tx, name)
        known = source_state.state(tx, name, watched.place)
    every = watched.every - LOOK if watched.is_folder else watched.every
    return source_schedule.is_due(known, last, every, parts.clock.now())


def is_being_read(parts: Runtime, name: str) -> bool:
    """Say whether a process reads a source at this moment."""
    return locks.is_source_locked(parts.database, name)


def ingest(
    parts: Runtime,
    name: str,
    on_progress: Callable[[Run], None] | None = None,
    accept: FirstRun | None = None,
) -> list[Run]:
    """Read what is new of one source; a fault ends its document's run, never the others.

    Returns the runs in the order of the documents; one `unchanged` run when there was nothing.
    `tell` hears of each run as its papers are stored. A reading that would be held is taken in
    with `accept`, for what that says it is worth. Raises StoreBusyError while another process
    reads this source.
    """
    watched, now = parts.sources[name], parts.clock.now()
    with locks.source_lock(parts.database, name):
        fill_blocks(parts)
        with parts.database.writing() as tx:
            runs.close_interrupted(tx, name, now)
            first = runs.first_read(tx, name) is None
            validators = runs.validators(tx, name)
            known = source_state.state(tx, name, watched.place)
            failing = stored_incidents.open_error(tx, incidents.source(name), incidents.FAILING)
        if source_schedule.waits(known, now):
            return [_not_asked(name, known.waits_for, now)]
        reading = _Ingest(
            parts, watched, first, source_schedule.is_afresh(known, now), on_progress, accept
        )
        reading.failing = failing
        done = list(reading.runs(validators))
        if reading.wait:
            with parts.database.writing() as tx:
                until = parts.clock.now() + (reading.wait.retry_after or timedelta(0))
                source_state.must_wait(tx, name, watched.place, until, str(reading.wait))
        if isinstance(reading.wait, WaitError):
            return done or [_not_asked(name, str(reading.wait), now)]
        judge(parts, watched, done)
        if not first and "until" not in validators:
            gaps.note(parts, watched, done)
    return done


def _not_asked(name: str, why: str, now: datetime) -> Run:
    """What is told of a source whose server asked to be left alone; it is no run of the store."""
    return Run(name, None, RunOutcome.UNCHANGED, now, now, error=f"not asked: {why}")


# What is written with the papers of a chunk, so that nobody reads them again.
Progress = Callable[[Transaction, datetime], None]


class _Ingest:
    """One pass over a source. The open run waits for the next document that is worth one."""

    def __init__(
        self,
        parts: Runtime,
        watched: ConfiguredSource,
        first: bool,
        afresh: bool,
        on_progress: Callable[[Run], None] | None,
        accept: FirstRun | None,
    ) -> None:
        self.parts = parts
        self.accept = accept
        self.tell = on_progress
        self.watched = watched
        # All is asked for and read, also what was read before.
        self.afresh = afresh
        # A server asked to be left alone; a WaitError where it was not asked at all.
        self.wait: FetchError | None = None
        self.first_run = watched.first_run if first else accept
        self.undated = 0
        self.open: tuple[int, Run] | None = None
        self.began = 0.0
        # What the runs before this one failed with, "" for nothing: it is logged already.
        self.failing = ""
        # What a document that was read before said to ask with next time, until a later one says.
        self.validators: Mapping[str, str] = {}

    def runs(self, validators: Mapping[str, str]) -> Iterator[Run]:
        ended = 0
        asked_with = source_schedule.unconditional(validators) if self.afresh else validators
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
            if found.dump:
                dump = found.dump()
                return self._read_dump(dump) if dump else None
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
            offset, finished = documents.progress(tx, name, content_hash) or (0, False)
        if finished and not (self.afresh and document.url):
            self.validators = document.validators
            return None
        if finished:
            offset = 0
        reading = sandbox.read(self.watched.source, document, sandbox.unattended_seconds(document))
        whole = document.complete and reading.complete and not reading.error
        if self.accept is None and not offset:
            replayed_feed.look(self.parts, self.watched, reading.papers, self.parts.clock.now())
        # A file that is cut stays so until it is another: what is whole of it is all there is.
        last = whole or (not document.url and bool(reading.papers))
        self._set_aside(reading.rejected)
        end = offset
        for start, chunk in self._chunks(reading.papers, offset):
            end = start + len(chunk)
            done = end == len(reading.papers)
            progress = self._progress(document, content_hash, end, last and done)
            self._store(chunk, document, progress, whole and done)
        if end < len(reading.papers):
            return self._finish(RunOutcome.PARTIAL, STOPPED, document.name)
        if last and end == offset:
            self._store((), document, self._progress(document, content_hash, end, True), whole)
        outcome = RunOutcome.OK if whole else RunOutcome.PARTIAL
        if reading.error and not reading.papers:
            outcome = RunOutcome.FAILED
            self._distrust(document.url)
        kept = document.validators if whole else None
        return self._finish(outcome, reading.error, document.name, kept)

    def _distrust(self, url: str) -> None:
        """An address that moved to where nothing can be read is asked where it was again."""
        with self.parts.database.writing() as tx:
            server_memory.forget_redirect(tx, url)

    def _chunks(self, told: Sequence[Paper], offset: int) -> Iterator[tuple[int, Sequence[Paper]]]:
        size = CHUNK
        while offset < len(told) and not self.parts.stopping.is_set():
            began = time.thread_time()
            yield offset, told[offset : offset + size]
            offset += size
            size = _paced(size, time.thread_time() - began)

    def _progress(
        self, document: Document, content_hash: str, end: int, finished: bool
    ) -> Progress:
        name = self.watched.name
        return lambda tx, now: documents.set_progress(
            tx, name, content_hash, document.name, end, finished, now
        )

    def _read_dump(self, dump: Dump) -> Run | None:
        """Read a dump in parts, from where an earlier reading of it, or of its beginning, ended."""
        with self.parts.database.reading() as tx:
            known = dump_progress.standings(tx, self.watched.name)
        if any(standing.is_read(dump) for standing in known):
            return None
        marks = [standing.mark for standing in known if standing.mark.offset]
        with closing(self.watched.source.begin(dump, marks)) as reading:
            mark = self._read_parts(dump, reading)
            if mark is None:
                return self._finish(RunOutcome.PARTIAL, STOPPED, dump.name)
            read_before = any(one.ended and one.mark == mark for one in known)
            return self._end_dump(dump, reading, mark, read_before)

    def _read_parts(self, dump: Dump, reading: DumpReading) -> DumpCursor | None:
        """Store part after part; return how far that came, None when it was stopped.

        What holds no paper so far leaves no mark, so that it fails again until it is mended.
        """
        size, mark = CHUNK, reading.begin
        while not self.parts.stopping.is_set():
            began = time.thread_time()
            part = reading.take(size)
            if part is None:
                return mark
            self._set_aside(part.rejected)
            if part.papers or mark.offset:
                mark = part.mark
                papers = sandbox.with_distinct_authors(strip_withdrawal_marks(part.papers))
                self._store(papers, dump, self._read_to(dump, mark))
            del part  # before the next is made
            size = _paced(size, time.thread_time() - began)
        return None

    def _end_dump(
        self, dump: Dump, reading: DumpReading, mark: DumpCursor, read_before: bool
    ) -> Run | None:
        """Note that a dump is read; None when it was, and only its name or its time is new."""
        whole = dump.complete and not reading.error
        _, run = self._opened()
        error = reading.error
        if not mark.offset and run.set_aside:
            error = f"no record is a paper: {run.set_aside[0].why}"
        if not mark.offset and error:
            self._distrust(dump.url)
            return self._finish(RunOutcome.FAILED, error, dump.name)
        now = self.parts.clock.now()
        with self.parts.database.writing() as tx:
            self._read_to(dump, mark, ended=whole or not dump.url)(tx, now)
            if whole:
                self._read_whole(tx, dump, now)
        if read_before:
            self.validators = dump.validators if whole else {}
            return None
        kept = dump.validators if whole else None
        outcome = RunOutcome.OK if whole else RunOutcome.PARTIAL
        return self._finish(outcome, error, dump.name, kept)

    def _read_to(self, dump: Dump, mark: DumpCursor, ended: bool = False) -> Progress:
        name = self.watched.name
        return lambda tx, now: dump_progress.read_to(tx, name, dump, mark, ended, now)

    def _read_whole(self, tx: Transaction, document: Document | Dump, now: datetime) -> None:
        name, place = self.watched.name, self.watched.place
        source_state.read_whole(tx, name, place, now, document.lifetime)

    def _store(
        self,
        chunk: Sequence[Paper],
        document: Document | Dump,
        progress: Progress,
        whole: bool = False,
    ) -> None:
        now = self.parts.clock.now()
        circumstances = DecisionContext(now, self.first_run, self.watched.dated, self.undated)
        with self.parts.database.ingesting() as tx:
            arrived = arrive(tx, self.watched.name, chunk, circumstances, document.name)
            progress(tx, now)
            self._count(**arrived.counts())
            run_id, run = self._opened()
            kept = document.validators if whole else None
            runs.progress(tx, run_id, replace(run, document=document.name), kept)
            if whole:
                self._read_whole(tx, document, now)
        if self.tell:
            self.tell(replace(run, document=document.name))
        self.undated += arrived.undated

    def _set_aside(self, rejected: Sequence[Rejected]) -> None:
        run_id, run = self._opened()
        kept = (*run.set_aside, *rejected[:KEPT])[:KEPT]
        self.open = run_id, replace(run, set_aside=kept)
        self._count(rejected=len(rejected))

    def _start(self) -> None:
        if self.open is None:
            now = self.parts.clock.now()
            run = Run(self.watched.name, None, RunOutcome.FAILED, now)
            self.began = time.monotonic()
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
        if run.set_aside:
            first = [f"{one.where}: {one.why}" for one in run.set_aside]
            log.info("set aside", source=run.source, document=document, first=first)
        with self.parts.database.writing() as tx:
            runs.finish(tx, run_id, run, validators)
            if outcome is RunOutcome.UNCHANGED:
                runs.fold_unchanged(tx, run_id, run)
        self.open = None
        _log_run(run, time.monotonic() - self.began, self.failing)
        if validators is not None:
            self.validators = {}
        return run


def _log_run(run: Run, seconds: float, failing: str) -> None:
    """Log a run: a failure as a warning, one that only repeats itself as information."""
    failed = run.outcome in (RunOutcome.FAILED, RunOutcome.PARTIAL)
    log.log(
        logging.WARNING if failed and run.error != failing else logging.INFO,
        "source read",
        source=run.source,
        document=run.document,
        outcome=run.outcome,
        seen=run.seen,
        new=run.new,
        revised=run.revised,
        known=run.known,
        rejected=run.rejected,
        seconds=round(seconds, 2),
        error=run.error,
    )


def _paced(size: int, seconds: float) -> int:
    """How many papers to store in the next transaction: at most 1,000, aiming at half a second.

    Seconds are of our own work: on a busy machine smaller transactions would only add to it.
    """
    return max(50, min(CHUNK, int(size * CHUNK_SECONDS / max(seconds, 0.001))))
