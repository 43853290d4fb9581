"""Ingest: documents of one source become papers and changes, one run for each document."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from importlib.metadata import version
from itertools import groupby

import structlog

from monitor.errors import FetchError, MonitorError, StoreError, WaitError
from monitor.model import (
    Document,
    Dump,
    DumpCursor,
    DumpReading,
    FirstRun,
    Paper,
    Reading,
    Run,
    RunOutcome,
    UndecidedRecord,
)
from monitor.pipeline import incidents, source_schedule
from monitor.pipeline.cleanup import fill_blocks
from monitor.pipeline.run_recorder import MAX_PAPERS, STOPPED, ChunkSize, Progress, RunRecorder
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.pipeline.source_health import judge, note_gap
from monitor.sources import sandbox
from monitor.sources.base import Found
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine import locks
from monitor.store.engine.database import Transaction
from monitor.store.papers import undecided
from monitor.store.sources import reading_state, runs

log = structlog.get_logger()

# The service looks every 20 seconds: a folder is due that much early, to be read in time.
TICK = timedelta(seconds=20)


def is_due(runtime: Runtime, name: str) -> bool:
    """Say whether the time of a source has come to be read again."""
    configured = runtime.sources[name]
    with runtime.database.reading() as tx:
        last = runs.last_start(tx, name)
        state = reading_state.source_state(tx, name, configured.address)
    every = configured.settings.every
    if configured.is_folder:
        every -= TICK
    return source_schedule.is_due(state, last, every, runtime.clock.now())


def is_being_read(runtime: Runtime, name: str) -> bool:
    """Say whether a process reads a source at this moment."""
    return locks.is_source_locked(runtime.database, name)


def ingest(
    runtime: Runtime,
    name: str,
    on_progress: Callable[[Run], None] | None = None,
    accept: FirstRun | None = None,
) -> list[Run]:
    """Read what is new of one source; a fault ends its document's run, never the others.

    Returns the runs, first those that retried records, and one `unchanged` run if nothing was read;
    `on_progress` gets each as it grows. With `accept` a reading that would be held is stored.
    Raises StoreBusyError.
    """
    configured, now = runtime.sources[name], runtime.clock.now()
    with locks.source_lock(runtime.database, name):
        fill_blocks(runtime)
        with runtime.database.writing() as tx:
            runs.close_interrupted(tx, name, now)
            first = runs.first_read(tx, name) is None
            validators = runs.validators(tx, name)
            state = reading_state.source_state(tx, name, configured.address)
            error = stored_incidents.open_error(tx, incidents.source(name), incidents.FAILING)
        retried = retry_after_upgrade(runtime, name, on_progress)
        if source_schedule.waits(state, now):
            return [*retried, _postponed_run(name, state.waits_for, now)]
        first_run = configured.first_run if first else accept
        recorder = RunRecorder(runtime, configured, first_run, error, on_progress)
        reading = _Pass(
            recorder,
            reread=source_schedule.is_afresh(state, now),
            hold_replayed=accept is None and configured.dated and configured.source.repeats,
        )
        done = list(reading.runs(validators))
        if reading.wait:
            _record_wait(runtime, configured, reading.wait)
        if isinstance(reading.wait, WaitError):
            return [*retried, *(done or [_postponed_run(name, str(reading.wait), now)])]
        judge(runtime, configured, done)
        if not first and "until" not in validators:
            note_gap(runtime, configured, done)
    return [*retried, *done]


def _record_wait(runtime: Runtime, configured: ConfiguredSource, wait: FetchError) -> None:
    until = runtime.clock.now() + (wait.retry_after or timedelta(0))
    with runtime.database.writing() as tx:
        reading_state.must_wait(tx, configured.name, configured.address, until, str(wait))


def _postponed_run(name: str, why: str, now: datetime) -> Run:
    """Return what is shown of a source whose server asked to be left alone; it is not stored."""
    return Run(name, None, RunOutcome.UNCHANGED, now, now, error=f"not asked: {why}")


class _Pass:
    """One pass over the documents of a source.

    With `reread`, everything is asked for and read, also what was read before.
    """

    def __init__(self, recorder: RunRecorder, *, reread: bool, hold_replayed: bool) -> None:
        self.recorder = recorder
        self.runtime: Runtime = recorder.runtime
        self.configured: ConfiguredSource = recorder.configured
        self.reread = reread
        self.hold_replayed = hold_replayed
        # A server asked to be left alone; a WaitError where it was not asked at all.
        self.wait: FetchError | None = None

    def runs(self, validators: Mapping[str, str]) -> Iterator[Run]:
        ended = 0
        conditions = source_schedule.unconditional(validators) if self.reread else validators
        for run in self._documents(conditions):
            ended += 1
            yield run
        newer = self.recorder.validators
        if self.recorder.is_open and not isinstance(self.wait, WaitError) and (newer or not ended):
            yield self.recorder.finish(RunOutcome.UNCHANGED, validators=newer or validators)
        else:
            self.recorder.discard()

    def _documents(self, validators: Mapping[str, str]) -> Iterator[Run]:
        try:
            self.recorder.start()
            for document in self.configured.source.find(validators):
                run = self._document(document)
                if run:
                    yield run
                if self.runtime.stopping.is_set():
                    return
                self.recorder.start()
        except StoreError:
            raise
        except WaitError as fault:
            self.wait = fault
        except Exception as fault:
            yield self.recorder.finish(RunOutcome.FAILED, self._error(fault, None))

    def _document(self, offered: Found) -> Run | None:
        """Read one document; None when there is nothing in it that was not read before."""
        try:
            if offered.dump:
                dump = offered.dump()
                return read_dump(self.recorder, dump) if dump else None
            document = offered.load()
            return self._read(document) if document else None
        except WaitError:
            raise
        except Exception as fault:
            error = self._error(fault, offered.name)
            return self.recorder.finish(RunOutcome.FAILED, error, offered.name)

    def _error(self, fault: Exception, document: str | None) -> str:
        """Return a fault as a sentence; an unexpected one is logged with its traceback."""
        if isinstance(fault, FetchError) and fault.retry_after is not None:
            self.wait = fault
        if isinstance(fault, MonitorError):
            return str(fault)
        log.exception("reading failed", source=self.configured.name, document=document)
        return f"unexpected {type(fault).__name__}: {fault}"

    # ── documents ──

    def _read(self, document: Document) -> Run | None:
        content_hash = hashlib.sha256(document.content).hexdigest()
        with self.runtime.database.reading() as tx:
            progress = reading_state.of_document(tx, self.configured.name, content_hash)
        offset, finished = progress or (0, False)
        if finished:
            if not (self.reread and document.url):
                self.recorder.validators = document.validators
                return None
            offset = 0
        seconds = sandbox.unattended_seconds(document)
        reading = sandbox.read(self.configured.source, document, seconds)
        return self._store_reading(document, content_hash, reading, offset)

    def _store_reading(
        self, document: Document, content_hash: str, reading: Reading, offset: int
    ) -> Run:
        """Store what was read of a document, from `offset` on, chunk by chunk."""
        whole = document.complete and reading.complete and not reading.error
        # A file that is cut stays so until it is another: what is whole of it is all there is.
        last = whole or (not document.url and bool(reading.papers))
        self.recorder.set_aside(reading.rejected)
        end = offset
        for start, chunk in self._chunks(reading.papers, offset):
            end = start + len(chunk)
            is_last = end == len(reading.papers)
            progress = self._progress(document, content_hash, end, last and is_last)
            self.recorder.store(
                chunk,
                document,
                progress,
                whole=whole and is_last,
                hold_replayed=self.hold_replayed and not start,
            )
        if end < len(reading.papers):
            return self.recorder.finish(RunOutcome.PARTIAL, STOPPED, document.name)
        if last and end == offset:
            progress = self._progress(document, content_hash, end, True)
            self.recorder.store((), document, progress, whole=whole)
        return self._end_document(document, reading, whole)

    def _end_document(self, document: Document, reading: Reading, whole: bool) -> Run:
        outcome = RunOutcome.OK if whole else RunOutcome.PARTIAL
        if reading.error and not reading.papers:
            outcome = RunOutcome.FAILED
            self.recorder.forget_redirect(document.url)
        validators = document.validators if whole else None
        return self.recorder.finish(outcome, reading.error, document.name, validators)

    def _chunks(
        self, papers: Sequence[Paper], offset: int
    ) -> Iterator[tuple[int, Sequence[Paper]]]:
        size = ChunkSize()
        while offset < len(papers) and not self.runtime.stopping.is_set():
            started_at = time.thread_time()
            chunk = papers[offset : offset + size.papers]
            yield offset, chunk
            offset += len(chunk)
            size.adapt(time.thread_time() - started_at)

    def _progress(
        self, document: Document, content_hash: str, end: int, finished: bool
    ) -> Progress:
        name = self.configured.name
        return lambda tx, now: reading_state.set_document(
            tx, name, content_hash, document.name, end, finished, now
        )


def read_dump(recorder: RunRecorder, dump: Dump) -> Run | None:
    """Read a dump in parts, from where an earlier reading of it, or of its beginning, ended."""
    with recorder.runtime.database.reading() as tx:
        states = reading_state.dump_states(tx, recorder.configured.name)
    if any(state.is_read(dump) for state in states):
        return None
    cursors = [state.cursor for state in states if state.cursor.offset]
    with closing(recorder.configured.source.begin(dump, cursors)) as reading:
        cursor = _read_parts(recorder, dump, reading)
        if cursor is None:
            return recorder.finish(RunOutcome.PARTIAL, STOPPED, dump.name)
        read_before = any(state.ended and state.cursor == cursor for state in states)
        return _end_dump(recorder, dump, reading, cursor, read_before)


def _read_parts(recorder: RunRecorder, dump: Dump, reading: DumpReading) -> DumpCursor | None:
    """Store part after part; return how far that came, None when it was stopped.

    What holds no paper so far leaves no cursor, so that it fails again until it is fixed.
    """
    size, cursor = ChunkSize(), reading.begin
    while not recorder.runtime.stopping.is_set():
        started_at = time.thread_time()
        part = reading.take(size.papers)
        if part is None:
            return cursor
        recorder.set_aside(part.rejected)
        if part.papers or cursor.offset:
            cursor = part.cursor
            papers = sandbox.normalise(part.papers)
            recorder.store(papers, dump, _progress(recorder, dump, cursor))
        del part  # before the next is made
        size.adapt(time.thread_time() - started_at)
    return None


def _end_dump(
    recorder: RunRecorder,
    dump: Dump,
    reading: DumpReading,
    cursor: DumpCursor,
    read_before: bool,
) -> Run | None:
    """Record that a dump is read; None when it was, and only its name or its time is new."""
    whole = dump.complete and not reading.error
    error, rejected = reading.error, recorder.run.set_aside
    if not cursor.offset and rejected:
        error = f"no record is a paper: {rejected[0].why}"
    if not cursor.offset and error:
        recorder.forget_redirect(dump.url)
        return recorder.finish(RunOutcome.FAILED, error, dump.name)
    now = recorder.runtime.clock.now()
    with recorder.runtime.database.writing() as tx:
        _progress(recorder, dump, cursor, ended=whole or not dump.url)(tx, now)
        if whole:
            recorder.record_whole(tx, dump, now)
    if read_before:
        recorder.validators = dump.validators if whole else {}
        return None
    validators = dump.validators if whole else None
    outcome = RunOutcome.OK if whole else RunOutcome.PARTIAL
    return recorder.finish(outcome, error, dump.name, validators)


def _progress(
    recorder: RunRecorder, dump: Dump, cursor: DumpCursor, ended: bool = False
) -> Progress:
    name = recorder.configured.name
    return lambda tx, now: reading_state.read_to(tx, name, dump, cursor, ended, now)


def retry_after_upgrade(
    runtime: Runtime, name: str, on_progress: Callable[[Run], None] | None = None
) -> list[Run]:
    """Try the records of a source that another version of the program could not decide.

    The caller holds the lock of the source.
    """
    return list(_retry(runtime, name, version("paper-monitor"), on_progress))


def retry_all(
    runtime: Runtime, name: str, on_progress: Callable[[Run], None] | None = None
) -> list[Run]:
    """Try all undecided records of a source. Raises StoreBusyError if it is being read."""
    with locks.source_lock(runtime.database, name):
        return list(_retry(runtime, name, None, on_progress))


def _retry(
    runtime: Runtime,
    name: str,
    other_than: str | None,
    on_progress: Callable[[Run], None] | None,
) -> Iterator[Run]:
    """Try records as their documents gave them, and yield a run for each of these chunks."""
    after: tuple[datetime, str, str] | None = None
    while not runtime.stopping.is_set():
        with runtime.database.reading() as tx:
            records = undecided.waiting(tx, name, MAX_PAPERS, after=after, other_than=other_than)
        if not records:
            return
        after = undecided.place_of(records[-1])
        for (document, first_run, at), chunk in groupby(records, key=_chunk_of):
            recorder = RunRecorder(runtime, runtime.sources[name], first_run, "", on_progress)
            recorder.start()
            papers = [undecided.paper_of(record) for record in chunk]
            recorder.store(papers, Document(document, b"", at), _no_progress, decided_at=at)
            yield recorder.finish(RunOutcome.RETRIED, document=document)


def _chunk_of(record: UndecidedRecord) -> tuple[str, FirstRun | None, datetime]:
    return record.document, record.first_run, record.at


def _no_progress(tx: Transaction, now: datetime) -> None:
    """A document was read to its end although some of its records were not decided."""
