"""The run of one document: opened before its fetch, brought up to date with each chunk, ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version

import structlog
from msgspec.structs import replace

from monitor.diff.decide import DecisionContext
from monitor.diff.replayed_feed import Suspicion
from monitor.errors import HeldError
from monitor.model import (
    FirstRun,
    Paper,
    Rejected,
    Run,
    RunOutcome,
    UndecidedRecord,
)
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.pipeline.store_chunk import (
    Chunk,
    DecidingError,
    StoredChunk,
    Undecided,
    store_apart,
    store_together,
)
from monitor.store.engine.database import Database, Transaction
from monitor.store.papers import undecided
from monitor.store.sources import reading_state, runs

log = structlog.get_logger()

# How many rejected records are stored with a run: `read` shows all of them.
MAX_REJECTED_STORED = 20

# How many undecided records of a chunk are logged with a traceback: many may have one error.
TRACEBACKS = 3

STOPPED = "stopped; the rest is read next time"

# Writes how far a document is read, with the papers of a chunk: the next run begins there.
Progress = Callable[[Transaction, datetime], None]
Store = Callable[[Database, Transaction, Chunk], StoredChunk]


class RunRecorder:
    """The open run of a source. It waits for the next document that is worth one."""

    def __init__(
        self,
        runtime: Runtime,
        configured: ConfiguredSource,
        first_run: FirstRun | None,
        previous_error: str,
        on_progress: Callable[[Run], None] | None,
    ) -> None:
        self.runtime = runtime
        self.configured = configured
        self.first_run = first_run
        self.on_progress = on_progress
        # What the runs before this one failed with, "" for nothing: it is logged already.
        self.previous_error = previous_error
        # What a document that was read before wants to be asked with next time.
        self.validators: Mapping[str, str] = {}
        self._open: tuple[int, Run] | None = None
        self._started_at = 0.0
        self._undated = 0

    @property
    def run(self) -> Run:
        return self._require_open()[1]

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def start(self) -> None:
        """Open a run, unless the last one is still open."""
        if self._open is None:
            run = Run(self.configured.name, None, RunOutcome.FAILED, self.runtime.clock.now())
            self._started_at = time.monotonic()
            with self.runtime.database.writing() as tx:
                self._open = runs.start(tx, run), run

    def discard(self) -> None:
        if self._open:
            with self.runtime.database.writing() as tx:
                runs.discard(tx, self._open[0])

    def set_aside(self, rejected: Sequence[Rejected]) -> None:
        """Count rejected records, and keep the first of them."""
        run_id, run = self._require_open()
        self._open = run_id, _with_rejected(run, rejected)

    def store(
        self,
        papers: Sequence[Paper],
        document: str,
        progress: Progress | None = None,
        *,
        hold_replayed: bool = False,
        decided_at: datetime | None = None,
    ) -> None:
        """Store a chunk of the papers of a document in one transaction.

        A record that cannot be decided is kept apart, and counts as rejected. With
        `hold_replayed`, raises HeldError, and stores nothing, for a feed that replays what it
        listed before. Papers are decided as at `decided_at`, by default now.
        """
        name, now = self.configured.name, self.runtime.clock.now()
        circumstances = DecisionContext(
            decided_at or now, self.first_run, self.configured.dated, self._undated
        )
        last_read = self._last_read() if hold_replayed else None
        chunk = Chunk(name, papers, circumstances, now, document, last_read)
        try:
            stored = self._commit(store_together, chunk, progress)
        except DecidingError as fault:
            log.info("storing records apart", source=name, error=repr(fault.__cause__))
            stored = self._commit(store_apart, chunk, progress)
        if self.on_progress:
            self.on_progress(self.run)
        self._undated += stored.undated

    def _commit(self, store: Store, chunk: Chunk, progress: Progress | None) -> StoredChunk:
        run_id, run = self._require_open()
        with self.runtime.database.ingesting() as tx:
            stored = store(self.runtime.database, tx, chunk)
            if chunk.last_read:
                hold_replayed(chunk.source, stored.suspicion, chunk.last_read)
            left = [_record_of(chunk, record) for record in stored.undecided]
            kept_before = undecided.replace_kept(tx, chunk.source, chunk.papers, left)
            if progress:
                progress(tx, chunk.now)
            run = replace(_with_counts(run, stored.counts()), document=chunk.document)
            run = _with_rejected(run, [_rejected(record) for record in left])
            runs.save(tx, run_id, run)
        self._open = run_id, run
        new = [
            (record, left_over.error)
            for record, left_over in zip(left, stored.undecided, strict=True)
            if record.record_hash not in kept_before
        ]
        for number, (record, error) in enumerate(new):
            _log_undecided(record, error if number < TRACEBACKS else None)
        return stored

    def _last_read(self) -> datetime | None:
        with self.runtime.database.reading() as tx:
            return runs.last_read(tx, self.configured.name)

    def forget_redirect(self, url: str) -> None:
        """Forget a redirect whose target cannot be read."""
        with self.runtime.database.writing() as tx:
            reading_state.forget_redirect(tx, url)

    def finish(
        self,
        outcome: RunOutcome,
        error: str = "",
        document: str | None = None,
        validators: Mapping[str, str] | None = None,
        end: Progress | None = None,
    ) -> Run:
        """Close the run; `end` writes to what the document is read, in the same transaction."""
        run_id, run = self._require_open()
        finished = self.runtime.clock.now()
        run = replace(run, document=document, outcome=outcome, error=error, finished=finished)
        if run.set_aside:
            first = [f"{rejected.where}: {rejected.why}" for rejected in run.set_aside]
            log.info("set aside", source=run.source, document=document, first=first)
        with self.runtime.database.writing() as tx:
            if end:
                end(tx, finished)
            runs.save(tx, run_id, run, validators)
            if outcome is RunOutcome.UNCHANGED:
                runs.fold_unchanged(tx, run_id, run)
        self._open = None
        _log_run(run, time.monotonic() - self._started_at, self.previous_error)
        if validators is not None:
            self.validators = {}
        return run

    def _require_open(self) -> tuple[int, Run]:
        assert self._open is not None, "a run is opened before its document is looked at"
        return self._open


def _with_counts(run: Run, counts: Mapping[str, int]) -> Run:
    return replace(run, **{name: getattr(run, name) + count for name, count in counts.items()})


def _with_rejected(run: Run, rejected: Sequence[Rejected]) -> Run:
    """Return a run with more rejected records; only the first few are kept."""
    first = (*run.set_aside, *rejected[:MAX_REJECTED_STORED])[:MAX_REJECTED_STORED]
    return replace(run, set_aside=first, rejected=run.rejected + len(rejected))


def _record_of(chunk: Chunk, record: Undecided) -> UndecidedRecord:
    at, first_run = chunk.now, chunk.circumstances.first_run
    program = version("paper-monitor")
    return undecided.record_of(
        chunk.source, chunk.document, record.paper, record.error, first_run, at, program
    )


def _rejected(record: UndecidedRecord) -> Rejected:
    return Rejected(f"record {record.raw_id}", f"not decided, and kept: {record.error}")


def _log_undecided(record: UndecidedRecord, traceback_of: BaseException | None) -> None:
    log.error(
        "record not decided",
        source=record.source,
        document=record.document,
        record=record.raw_id,
        error=record.error,
        exc_info=traceback_of,
    )


def _log_run(run: Run, seconds: float, previous_error: str) -> None:
    """Log a run: a failure as a warning, one that only repeats itself as information."""
    failed = run.outcome in (RunOutcome.FAILED, RunOutcome.PARTIAL)
    log.log(
        logging.WARNING if failed and run.error != previous_error else logging.INFO,
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


MAX_PAPERS = 1_000
MIN_PAPERS = 50
SECONDS = 0.5


class ChunkSize:
    """The size of the next chunk.

    Seconds are of our own work: on a busy machine smaller transactions would only add to it.
    """

    def __init__(self) -> None:
        self.papers = MAX_PAPERS

    def adapt(self, seconds: float) -> None:
        """Choose the next size after a chunk that took `seconds`."""
        papers = int(self.papers * SECONDS / max(seconds, 0.001))
        self.papers = max(MIN_PAPERS, min(MAX_PAPERS, papers))


def hold_replayed(source: str, suspicion: Suspicion, last_read: datetime) -> None:
    """Raise HeldError for a reading of a feed that replays old papers.

    It is judged by its first chunk: a feed that was moved or rebuilt replays from the start.
    """
    if suspicion.holds:
        raise HeldError(
            f"held: {suspicion.new} of {suspicion.known_before} entries that should have been "
            f"there at the reading of {last_read:%Y-%m-%d %H:%M} UTC are new",
            f"`paper-monitor ingest {source} --accept` announces them as new, "
            "with --silently they are stored without being announced",
        )
