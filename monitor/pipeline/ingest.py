"""Ingest: documents of one source become papers and changes, one run for each document."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from itertools import groupby
from operator import attrgetter

import structlog
from msgspec import structs

from monitor.errors import (
    DeferredError,
    DocumentError,
    FetchError,
    HeldError,
    MonitorError,
    StoreError,
    WaitError,
)
from monitor.identity.keys import group_by_scheme, identifiers
from monitor.model import (
    AskedWorks,
    Document,
    Dump,
    DumpChunk,
    DumpCursor,
    DumpReading,
    FirstRun,
    Reading,
    Run,
    RunOutcome,
)
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline.roles import MAX_PAPERS, SourceRole, role_of
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.pipeline.source_health import judge, note_gap
from monitor.pipeline.store_chunk import RunRecorder
from monitor.sources import sandbox
from monitor.sources.api.about import AFTER, AboutSource, is_unanswered
from monitor.sources.base import DumpSource, Found
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine import locks
from monitor.store.engine.database import Transaction
from monitor.store.papers import undecided
from monitor.store.sources import asked_works, collections, reading_state, runs
from monitor.store.sources.reading_state import DumpState, SourceState

log = structlog.get_logger()

# The service checks every 20 seconds which sources are due. A folder is due this much before its
# interval ends, so that no check comes too late.
TICK = timedelta(seconds=20)
# After this time, a server that only answers "not modified" is asked for the whole document (F14).
REREAD_AFTER = timedelta(days=7)
# If only some works of a source were asked about, it is read again after this time.
UNTIL_ALL_ASKED = timedelta(hours=1)
# The longest pause that is honoured (F5, F7). A stored pause that ends later comes from a clock
# that was ahead, and is ignored.
MAX_SERVER_PAUSE = timedelta(hours=24)
CONDITIONS = ("etag", "last_modified")
STOPPED_ERROR = "stopped; the rest is read next time"

# Minimum batch size, and the target CPU time per transaction. Time spent waiting does not count: on
# a busy machine, smaller transactions would only wait more often.
MIN_PAPERS = 50
CPU_SECONDS = 0.5

# Stores the reading position in a document, and whether the document ends there.
SaveCursor = Callable[[DumpCursor, bool, Transaction, datetime], None]


def is_due(runtime: Runtime, name: str) -> bool:
    """Return whether a source is due."""
    configured = runtime.sources[name]
    with runtime.database.reading() as tx:
        last = runs.last_start(tx, name)
        state = reading_state.source_state(tx, name, configured.address)
        has_works_left = configured.asked_about and runs.validators(tx, name).get(AFTER) != ""
    every = configured.settings.every - (TICK if configured.is_folder else timedelta())
    if has_works_left:
        every = min(every, UNTIL_ALL_ASKED)
    return is_time_to_read(state, last, every, runtime.clock.now())


def is_time_to_read(
    state: SourceState, last: datetime | None, every: timedelta, now: datetime
) -> bool:
    """Return whether it is time to read a source.

    The interval is `every`, or the lifetime of its document if that is longer.

    A last run in the future was recorded while the clock was ahead; it does not count.
    """
    if _is_paused(state, now):
        return False
    if is_read_requested(state, last):
        return True
    pause = max(every, min(state.lifetime, MAX_SERVER_PAUSE))
    return last is None or not last <= now < last + pause


def is_read_requested(state: SourceState, last: datetime | None) -> bool:
    """Return whether an operator requested a reading that has not started yet."""
    at = state.waits_until if state.waits_for == reading_state.READ_NOW else None
    return at is not None and (last is None or last < at)


def _is_paused(state: SourceState, now: datetime) -> bool:
    """Return whether the source's server asked for a pause that is not over."""
    until = state.waits_until
    return until is not None and now < until <= now + MAX_SERVER_PAUSE


def ingest(
    runtime: Runtime,
    name: str,
    on_progress: Callable[[Run], None] | None = None,
    accept_as: FirstRun | None = None,
) -> list[Run]:
    """Read what is new in one source.

    An error ends the run of one document; the other documents are still read. Returns the runs,
    those of retried records first. If nothing was read, there is one `unchanged` run. `on_progress`
    is called with the current run after each chunk. `accept_as` also stores papers that a feed
    replays, and those of a document that is probably no list of papers.
    Raises StoreBusyError, and DeferredError if a fetch is put off: runs that have ended stay
    recorded.
    """
    configured = runtime.sources[name]
    now = runtime.clock.now()
    role = role_of(runtime, configured)
    with locks.source_lock(runtime.database, name):
        with runtime.database.writing() as tx:
            runs.close_interrupted(tx, name, now)
            is_first_reading = runs.first_read(tx, name, as_news=role.as_news) is None
            validators = runs.validators(tx, name)
            state = reading_state.source_state(tx, name, configured.address)
            reported_error = stored_incidents.open_error(
                tx, Subject(SubjectKind.SOURCE, name), IncidentKind.FAILING
            )
        # Retry records that another version of the program could not decide.
        retried = list(_retry(runtime, name, version("paper-monitor"), on_progress))
        if _is_paused(state, now):
            return [*retried, _postponed_run(name, state.waits_for, now)]
        first_run = configured.first_run if is_first_reading else accept_as
        documents_pass = _Pass(
            runtime,
            configured,
            role,
            RunRecorder(runtime, configured, role.store, first_run, reported_error, on_progress),
            # Read everything again if no complete reading was recorded in this time, and always if
            # the source is asked about works, as libraries change.
            reread=bool(configured.asked_about)
            or state.whole_at is None
            or not state.whole_at <= now < state.whole_at + REREAD_AFTER,
            hold_replayed=accept_as is None and configured.dated and configured.source.repeats,
            accepts_doubtful=accept_as is not None,
        )
        try:
            done = list(documents_pass.runs(validators))
        except DeferredError:
            documents_pass.recorder.discard()
            raise
        role.end_source()
        pause_error = documents_pass.pause_error
        reason = configured.variables.hide(str(pause_error or ""))
        if pause_error:
            until = runtime.clock.now() + (pause_error.retry_after or timedelta(0))
            with runtime.database.writing() as tx:
                reading_state.must_wait(tx, name, configured.address, until, reason)
        if isinstance(pause_error, WaitError):
            return [*retried, *(done or [_postponed_run(name, reason, now)])]
        judge(runtime, configured, role, done)
        # A source read by periods continues where the last period ended, so it has no gaps.
        if not is_first_reading and "until" not in validators:
            note_gap(runtime, configured, done)
    return [*retried, *done]


def _postponed_run(name: str, reason: str, now: datetime) -> Run:
    """Return a run for a source whose server asked for a pause. It is not stored."""
    return Run(name, None, RunOutcome.UNCHANGED, now, now, error=f"not asked: {reason}")


@dataclass(slots=True)
class _Pass:
    """One pass over the documents of a source.

    With `reread`, documents are requested and read even if they were read before. With
    `hold_replayed`, a feed that replays old papers is held. With `accepts_doubtful`, a document
    that is probably no list of papers is stored. `pause_error` is the error of a server that asked
    for a pause: a WaitError if no request was sent.
    """

    runtime: Runtime
    configured: ConfiguredSource
    role: SourceRole
    recorder: RunRecorder
    reread: bool
    hold_replayed: bool
    accepts_doubtful: bool
    pause_error: FetchError | None = None

    def runs(self, validators: Mapping[str, str]) -> Iterator[Run]:
        run_count = 0
        conditions = validators
        if self.reread:
            conditions = {name: validators[name] for name in validators if name not in CONDITIONS}
        for run in self._documents(conditions):
            run_count += 1
            yield run
        new_validators = self.recorder.validators
        if (
            self.recorder.is_open
            and not isinstance(self.pause_error, WaitError)
            and (new_validators or not run_count)
        ):
            yield self.recorder.finish(
                RunOutcome.UNCHANGED, validators=new_validators or validators
            )
        else:
            self.recorder.discard()

    def _documents(self, validators: Mapping[str, str]) -> Iterator[Run]:
        try:
            self.recorder.start()
            names = set()
            for found in self._find(validators):
                document = replace(found, name=self.configured.variables.hide(found.name))
                names.add(document.name)
                run = self._document(document)
                if run:
                    yield run
                if self.runtime.stopping.is_set():
                    return
                self.recorder.start()
            if not names and (about := self.configured.asked_about):
                why = f"not asked: no work in {', '.join(about)} has an identifier to ask for"
                yield self.recorder.finish(RunOutcome.UNCHANGED, why)
            self.role.mark_other_documents_missing(names)
        except (StoreError, DeferredError):
            raise
        except WaitError as fault:
            self.pause_error = fault
        except Exception as fault:
            yield self.recorder.finish(RunOutcome.FAILED, self._message_of(fault, None))

    def _find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the documents of a source, which gets the identifiers of works it is asked about."""
        source = self.configured.source
        about = self.configured.asked_about
        if not isinstance(source, AboutSource) or not about:
            return source.find(validators)
        with self.runtime.database.reading() as tx:
            entries = collections.entries(tx, about, self.runtime.clock.now())
        works = [group_by_scheme(identifiers(entry.paper)) for entry in entries]
        with self.runtime.database.writing() as tx:
            named = {name for work in works for name in source.names_of(work)}
            asked_works.retain(tx, self.configured.name, named)
        return source.find_about(works, validators)

    def _document(self, offered: Found) -> Run | None:
        """Read one document. Return None if all of it was read before."""
        try:
            if offered.dump:
                dump = offered.dump()
                return self._read_dump(replace(dump, name=offered.name)) if dump else None
            document = offered.load()
            if document and document.works:
                self._note_answer(document.works)
            return self._read(document, offered.name) if document else None
        except (WaitError, DeferredError):
            raise
        except HeldError as fault:
            run = self.recorder.finish(RunOutcome.FAILED, str(fault), offered.name)
            return structs.replace(run, is_held=True)
        except Exception as fault:
            error = self._message_of(fault, offered.name)
            return self.recorder.finish(RunOutcome.FAILED, error, offered.name)

    def _note_answer(self, works: AskedWorks) -> None:
        name = self.configured.name
        with self.runtime.database.writing() as tx:
            before = asked_works.answered_before(tx, name, works.asked)
            unanswered = is_unanswered(works, before)
            now = self.runtime.clock.now()
            asked_works.record(tx, name, works, now, unanswered=unanswered)
        if unanswered:
            log.warning("not answered", source=name, works=len(works.asked), first=works.asked[0])

    def _message_of(self, fault: Exception, document: str | None) -> str:
        """Return the message of an error, and note a pause that its server asks for.

        Unexpected errors are logged with their traceback.
        """
        if isinstance(fault, FetchError) and fault.retry_after is not None:
            self.pause_error = fault
        if isinstance(fault, MonitorError):
            return str(fault)
        log.exception("reading failed", source=self.configured.name, document=document)
        return f"unexpected {type(fault).__name__}: {fault}"

    # ── documents ──

    def _read(self, document: Document, shown_name: str) -> Run | None:
        """Read a document. Its name may contain secrets: `shown_name` is shown and stored."""
        content = hashlib.sha256(document.content).hexdigest()
        with self.runtime.database.reading() as tx:
            offset, finished = self.role.read_before(tx, shown_name, content)
        if finished:
            if not (self.reread and document.url):
                self.recorder.validators = document.validators
                return None
            offset = 0
        seconds = sandbox.unattended_seconds(document)
        reading = sandbox.read(self.configured.source, document, seconds)
        if reading.doubt and not self.accepts_doubtful:
            raise DocumentError(
                reading.doubt,
                f"take it away, or let `paper-monitor ingest {self.configured.name} --accept` "
                "store its papers",
            )
        self.recorder.set_aside(reading.rejected)

        def progress(cursor: DumpCursor, is_finished: bool, tx: Transaction, now: datetime) -> None:
            self.role.save_progress(tx, shown_name, content, cursor.offset, is_finished, now)

        is_whole = document.complete and reading.complete
        read = replace(document, name=shown_name, complete=is_whole)
        return self._store(read, _PapersReading(reading, offset), content, progress)

    def _read_dump(self, dump: Dump) -> Run | None:
        """Continue a dump where an earlier reading stopped, also if the dump has grown since."""
        name = self.configured.name
        as_news = self.role.as_news
        content = f"{dump.size} {dump.modified}" if dump.modified else ""
        with self.runtime.database.reading() as tx:
            states = self.role.dump_states(tx, dump.name, content)
        if any(state.is_read(dump) for state in states):
            return None

        def progress(cursor: DumpCursor, is_finished: bool, tx: Transaction, now: datetime) -> None:
            reading_state.read_to(tx, name, dump, cursor, is_finished, now, as_news=as_news)

        cursors = [state.cursor for state in states if state.cursor.offset]
        source = self.configured.source
        assert isinstance(source, DumpSource), "others find no dumps"
        with closing(source.begin(dump, cursors)) as reading:
            return self._store(dump, reading, content, progress, states)

    def _store(
        self,
        document: Document | Dump,
        reading: DumpReading | _PapersReading,
        content: str,
        progress: SaveCursor,
        states: Sequence[DumpState] = (),
    ) -> Run | None:
        """Store the papers of a document, and close its run.

        Returns None if only the name or time of a known dump changed.
        """
        cursor = self._store_chunks(document, reading, progress)
        if cursor is None:
            return self.recorder.finish(RunOutcome.PARTIAL, STOPPED_ERROR, document.name)
        error = reading.error
        rejected = self.recorder.run.set_aside
        if isinstance(document, Dump) and not cursor.offset and rejected:
            error = f"no record is a paper: {rejected[0].why}"
        if error and not cursor.offset:
            return self.recorder.finish(
                RunOutcome.FAILED,
                error,
                document.name,
                record_end=lambda tx, _: reading_state.forget_redirect(
                    tx, self.runtime.settings.all_variables.hide(document.url)
                ),
            )
        is_complete = document.complete and not error
        # A truncated file stays as it is until it is replaced: its complete part is not read again.
        is_finished = is_complete or (not document.url and cursor.offset > 0)

        def record_end(tx: Transaction, now: datetime) -> None:
            progress(cursor, is_finished, tx, now)
            if is_complete and cursor.offset:
                self.role.end_document(tx, document.name, content, now)
            if is_complete:
                address = self.configured.address
                reading_state.read_whole(tx, self.configured.name, address, now, document.lifetime)

        validators = document.validators if is_complete else None
        if any(state.is_finished and state.cursor == cursor for state in states):
            with self.runtime.database.writing() as tx:
                record_end(tx, self.runtime.clock.now())
            self.recorder.validators = validators or {}
            return None
        outcome = RunOutcome.OK if is_complete else RunOutcome.PARTIAL
        return self.recorder.finish(outcome, error, document.name, validators, record_end)

    def _store_chunks(
        self, document: Document | Dump, reading: DumpReading | _PapersReading, progress: SaveCursor
    ) -> DumpCursor | None:
        """Store the chunks in order; return the last cursor, None if the service is stopping.

        The cursor stays at the start until a paper is found, so that a document without papers
        fails at each reading.
        """
        chunk_size = MAX_PAPERS
        cursor = reading.begin
        while not self.runtime.stopping.is_set():
            started_at = time.thread_time()
            chunk = reading.take(chunk_size)
            if chunk is None:
                return cursor
            self.recorder.set_aside(chunk.rejected)
            if chunk.papers or cursor.offset:
                papers = chunk.papers
                is_first = not cursor.offset
                if isinstance(document, Dump):
                    papers = tuple(map(sandbox.normalise, papers))
                cursor = chunk.cursor
                if is_first:
                    self.role.begin_document(document.name)
                self.recorder.store(
                    papers,
                    document.name,
                    partial(progress, cursor, False),
                    hold_replayed=self.hold_replayed and is_first,
                )
            del chunk  # before the next is made
            seconds = max(time.thread_time() - started_at, 0.001)
            chunk_size = min(self.role.most_records, int(chunk_size * CPU_SECONDS / seconds))
            chunk_size = max(MIN_PAPERS, chunk_size)
        return None


class _PapersReading:
    """A reading of the papers of a document, in chunks like those of a dump.

    The offset of its cursor counts papers, not bytes.
    """

    def __init__(self, reading: Reading, offset: int) -> None:
        self.error = reading.error
        self.begin = DumpCursor(offset)
        self._papers = reading.papers
        self._offset = offset

    def take(self, limit: int) -> DumpChunk | None:
        papers = self._papers[self._offset : self._offset + limit]
        self._offset += len(papers)
        return DumpChunk(papers, (), DumpCursor(self._offset)) if papers else None


def retry_all(
    runtime: Runtime, name: str, on_progress: Callable[[Run], None] | None = None
) -> list[Run]:
    """Try all undecided records of a source. Raises StoreBusyError if it is being read."""
    with locks.source_lock(runtime.database, name):
        return list(_retry(runtime, name, None, on_progress))


# Undecided records that agree in these are retried as one chunk.
_CHUNK_KEY = attrgetter("document", "first_run", "at")


def _retry(
    runtime: Runtime,
    name: str,
    other_than: str | None,
    on_progress: Callable[[Run], None] | None,
) -> Iterator[Run]:
    """Decide undecided records again, and yield a run for each group from one document and time.

    Records that the version `other_than` of the program has tried are skipped.
    """
    after: tuple[datetime, str, str] | None = None
    while not runtime.stopping.is_set():
        with runtime.database.reading() as tx:
            records = undecided.waiting(tx, name, MAX_PAPERS, after=after, other_than=other_than)
        if not records:
            return
        after = undecided.place_of(records[-1])
        for (document, first_run, at), chunk in groupby(records, key=_CHUNK_KEY):
            configured = runtime.sources[name]
            store = role_of(runtime, configured).store
            recorder = RunRecorder(runtime, configured, store, first_run, on_progress=on_progress)
            recorder.start()
            papers = [undecided.paper_of(record) for record in chunk]
            recorder.store(papers, document, decided_at=at)
            yield recorder.finish(RunOutcome.RETRIED, document=document)
