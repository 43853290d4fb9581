"""The run of one document: its chunks of records become papers and changes."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from operator import add

import structlog
from msgspec import Struct, structs

from monitor.diff.decide import DecisionContext, count_fresh, count_undated, decide_chunk, proven
from monitor.diff.replayed_feed import NO_SUSPICION, Suspicion, suspect
from monitor.errors import HeldError, MonitorError, ValueRefusedError
from monitor.identity.keys import raw_id, record_hash, with_keys
from monitor.identity.notices import attach, effect_of
from monitor.model import (
    Candidate,
    ChangeKind,
    Decision,
    FirstRun,
    Paper,
    Rejected,
    Run,
    RunOutcome,
    UndecidedRecord,
    record_of,
)
from monitor.pipeline import reference_lists
from monitor.pipeline.guard import StoredDecisions, record_changes
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.sql import index_value
from monitor.store.papers import (
    candidates,
    merge_papers,
    paper_index,
    sightings,
    undecided,
    withdrawals,
    write_papers,
)
from monitor.store.sources import runs

log = structlog.get_logger()

# How many rejected records are stored with a run: `read` shows all of them.
MAX_REJECTED_STORED = 20
# The most undecided records of a chunk that are logged with a traceback: many may have the same
# error.
TRACEBACKS = 3
# Stores the reading position, in the transaction that stores a chunk. The next run starts there.
SaveProgress = Callable[[Transaction, datetime], None]


class StoredChunk(Struct, frozen=True):
    """The result of a chunk.

    `decisions` has one for each changed record, `unchanged` counts the others. `fresh` counts
    revisions and papers that are new to this source; other sources may have them already.
    `suspicion` counts signs of a feed that replays old papers; `undecided` are the records that
    could not be decided or stored, with their errors.
    """

    decisions: tuple[Decision, ...] = ()
    unchanged: int = 0
    fresh: int = 0
    suspicion: Suspicion = NO_SUSPICION
    undecided: tuple[tuple[UndecidedRecord, BaseException], ...] = ()

    def __add__(self, other: StoredChunk) -> StoredChunk:
        return StoredChunk(*map(add, structs.astuple(self), structs.astuple(other)))

    @property
    def undated(self) -> int:
        return count_undated(self.decisions)

    def counts(self) -> dict[str, int]:
        """Return the counts of the JSON of runs.

        `OLDER` counts as new, `WITHDRAWN` as revised. A notice that changes stored papers counts as
        their change.
        """
        kinds = Counter(
            d.effect.kind if d.effect and d.effect.papers else d.kind for d in self.decisions
        )
        return {
            "seen": len(self.decisions) + self.unchanged + len(self.undecided),
            "new": kinds[ChangeKind.NEW] + kinds[ChangeKind.OLDER],
            "revised": kinds[ChangeKind.REVISED] + kinds[ChangeKind.WITHDRAWN],
            "known": kinds[None] + self.unchanged,
            "fresh": self.fresh,
        }


def decide_changed_records(
    tx: Transaction, source: str, incoming: Sequence[Paper], context: DecisionContext
) -> tuple[list[Decision], list[tuple[Candidate, ...]], list[str]]:
    """Decide on a chunk of at most a few thousand records; nothing is written.

    Returns the decisions on changed records, the stored papers that each was compared with, and the
    raw ids of the unchanged records, whose hash is the same as last time.
    """
    raw_ids = list(map(raw_id, incoming))
    hashes = list(map(record_hash, incoming))
    _require_text(raw_ids)
    indexed_ids = list(map(index_value, raw_ids))
    last_hashes = dict(zip(indexed_ids, hashes, strict=True))
    changed_ids = paper_index.changed_records(tx, source, last_hashes)
    # If several records share a name, only the last one's hash is compared with the store; an
    # earlier one is unchanged only if its hash is the same.
    today = context.now.date()
    changed = [
        (record_of(incoming[at], source, today), raw_ids[at], hashes[at])
        for at, name in enumerate(indexed_ids)
        if name in changed_ids or last_hashes[name] != hashes[at]
    ]
    unchanged_ids = [name for name in last_hashes if name not in changed_ids]
    if not changed:
        return [], [], unchanged_ids
    records = [with_keys(*record, assigned=context.assigns) for record in changed]
    keyed = candidates.with_store_facts(tx, records, source)
    stored = candidates.find(tx, source, keyed)
    decisions = _with_effects(tx, source, decide_chunk(keyed, stored, context))
    return decisions, stored, unchanged_ids


def _require_text(names: Sequence[str]) -> None:
    """Raise ValueError for a name that SQLite would not keep unchanged."""
    joined = "".join(names)
    joined.encode()  # raises for half a surrogate pair
    if "\0" in joined:
        raise ValueError("the source's name for a record has a character U+0000")


def _with_effects(tx: Transaction, source: str, decisions: Sequence[Decision]) -> list[Decision]:
    """Return the decisions, with the effects that notices among them have on stored papers."""
    about = {pair for d in decisions if effect_of(d.keyed) for pair in d.keyed.about}
    if not about:
        return list(decisions)
    stored = paper_index.subjects(tx, about)
    ids = {
        *stored.values(),
        *(decision.paper_id for decision in decisions if decision.paper_id is not None),
    }
    undone = withdrawals.undone(tx, source, {d.keyed.raw_id for d in decisions if d.keyed.about})
    return attach(decisions, stored, paper_index.notices_about(tx, ids), undone)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of one document, in order.

    `now` is when they are stored. If `last_read`, the time of the last reading, is set, the chunk
    is checked for papers that should be known since then.
    """

    source: str
    papers: Sequence[Paper]
    context: DecisionContext
    now: datetime
    document: str = ""
    last_read: datetime | None = None


def store_papers(
    tx: Transaction, chunk: Chunk, guarded: Collection[str] = (), lists: Sequence[str] = ()
) -> StoredChunk:
    """Decide on a chunk of news and store it. `tx` comes from `Database.ingesting`.

    Changes of works in the `guarded` libraries are recorded, and missing fields of papers are
    filled in from the reference `lists`.
    """
    source = chunk.source
    papers = chunk.papers
    now = chunk.now
    decisions, stored, unchanged_ids = decide_changed_records(tx, source, papers, chunk.context)
    suspicion = NO_SUSPICION
    if chunk.last_read is not None:
        suspicion = suspect(papers, decisions, stored, chunk.last_read)
    sightings.touch(tx, source, unchanged_ids, now)
    ids = write_papers.apply(tx, source, decisions, now, chunk.document)
    survivors = merge_papers.merge(tx, proven(decisions, ids), now)
    current_ids = [survivors.get(id, id) for id in ids]
    if guarded:
        merged = {*survivors.values()}
        standing = chunk.context.standing
        done = StoredDecisions(decisions, stored, current_ids, merged, standing)
        record_changes(tx, source, guarded, done, now)
    if lists:
        reference_lists.fill(tx, lists, current_ids, now)
    fresh = count_fresh(decisions, stored)
    return StoredChunk(tuple(decisions), len(papers) - len(decisions), fresh, suspicion)


def record_library_changes(tx: Transaction, chunk: Chunk, guarded: Collection[str]) -> StoredChunk:
    """Record changes of works in the `guarded` libraries; nothing else of the chunk is stored."""
    source = chunk.source
    today = chunk.context.now.date()
    keyed = [with_keys(record_of(paper, source, today)) for paper in chunk.papers]
    records = candidates.with_store_facts(tx, keyed, source)
    not_stored = StoredDecisions(
        [Decision(record, None) for record in records],
        [()] * len(records),
        [0] * len(records),
        standing=chunk.context.standing,
    )
    record_changes(tx, source, guarded, not_stored, chunk.now)
    return StoredChunk(unchanged=len(records))


# Writes the records of a chunk, by the role of their source: see `monitor.pipeline.roles`.
ChunkWriter = Callable[[Transaction, Chunk], StoredChunk]

# Errors of the database, of the machine and of the installation: no record is at fault, and the run
# fails.
_NO_RECORD_AT_FAULT = (MonitorError, OSError, ImportError, MemoryError)


class DecidingError(Exception):
    """A record of a chunk could not be decided or stored; the cause is its error."""


def store_all(database: Database, tx: Transaction, chunk: Chunk, write: ChunkWriter) -> StoredChunk:
    """Store a chunk. Raises DecidingError if a record is at fault: `tx` is to be rolled back."""
    try:
        with database.explaining():
            return write(tx, chunk)
    except Exception as fault:
        if isinstance(fault, _NO_RECORD_AT_FAULT) and not isinstance(fault, ValueRefusedError):
            raise
        raise DecidingError from fault


def store_isolating_failures(
    database: Database, tx: Transaction, chunk: Chunk, write: ChunkWriter
) -> StoredChunk:
    """Store a chunk without the records that fail.

    A part that fails is split in two, down to single records. Each part is decided after the parts
    before it are stored.
    """
    stored = StoredChunk()
    parts = [chunk.papers]
    while parts:
        papers = parts.pop()
        undated = chunk.context.undated_before + stored.undated
        context = replace(chunk.context, undated_before=undated)
        try:
            with tx.begin_nested():
                part = replace(chunk, papers=papers, context=context)
                stored += store_all(database, tx, part, write)
        except DecidingError as fault:
            if len(papers) == 1:
                error = fault.__cause__
                assert error is not None
                record = undecided.record_of(
                    chunk.source,
                    chunk.document,
                    papers[0],
                    error,
                    context.first_run,
                    chunk.now,
                    version("paper-monitor"),
                )
                stored += StoredChunk(undecided=((record, error),))
            else:
                middle = len(papers) // 2
                parts += [papers[middle:], papers[:middle]]
    return stored


# ── the run of a document ───────────────────────────────────────────────────────────

ChunkStorer = Callable[[Database, Transaction, Chunk, ChunkWriter], StoredChunk]


@dataclass(slots=True)
class RunRecorder:
    """Writes the runs of a source.

    A run is opened before its document is read; if there is nothing to record about that document,
    it stays open for the next one.
    """

    # The store and the clock of the runs.
    runtime: Runtime
    # The source; the variables in its address are hidden in errors.
    configured: ConfiguredSource
    # Stores a chunk in the way of the source's role.
    write_chunk: ChunkWriter
    # As what papers of the first reading of the source are stored, or those that `--accept` admits;
    # else None.
    first_run: FirstRun | None = None
    # The error of the source's open incident, "" for none: an error that it contains was logged
    # already.
    previous_error: str = ""
    # Called with the run after each chunk.
    on_progress: Callable[[Run], None] | None = None
    # The validators of a document that was read before, for the next request.
    validators: Mapping[str, str] = field(default_factory=dict)
    # The open run, else the last one; not set before `start`.
    run: Run = field(init=False)
    # The row of `run`, 0 while no run is open.
    _run_id: int = 0
    # Monotonic seconds, for the log.
    _started_at: float = 0.0
    # New papers without a date so far, in all documents.
    _undated: int = 0

    @property
    def is_open(self) -> bool:
        return bool(self._run_id)

    def start(self) -> None:
        """Open a run, unless the last one is still open."""
        if not self._run_id:
            name = self.configured.name
            now = self.runtime.clock.now()
            self.run = Run(name, None, RunOutcome.FAILED, now)
            self._started_at = time.monotonic()
            with self.runtime.database.writing() as tx:
                self._run_id = runs.start(tx, self.run)

    def discard(self) -> None:
        if self._run_id:
            with self.runtime.database.writing() as tx:
                runs.discard(tx, self._run_id)

    def set_aside(self, rejected: Sequence[Rejected]) -> None:
        """Count rejected records, and keep the first few."""
        hide = self.configured.variables.hide
        shown = [Rejected(hide(record.where), hide(record.why)) for record in rejected]
        self.run = _with_rejected(self.run, shown)

    def store(
        self,
        papers: Sequence[Paper],
        document: str,
        progress: SaveProgress | None = None,
        *,
        hold_replayed: bool = False,
        decided_at: datetime | None = None,
    ) -> None:
        """Store a chunk of the papers of a document in one transaction.

        A record that cannot be decided is kept to be tried again, and counts as rejected. With
        `hold_replayed`, raises HeldError, and stores nothing, for a feed that replays what it
        listed before. `decided_at` is the time for which decisions are made, by default now.
        """
        name = self.configured.name
        now = self.runtime.clock.now()
        context = DecisionContext(
            decided_at or now,
            self.first_run,
            self.configured.dated,
            self._undated,
            self.configured.source.assigns,
            self.configured.standing,
        )
        last_read = None
        if hold_replayed:
            with self.runtime.database.reading() as tx:
                last_read = runs.last_read(tx, name)
        chunk = Chunk(name, papers, context, now, document, last_read)
        try:
            stored = self._commit(store_all, chunk, progress)
        except DecidingError as fault:
            log.info("storing records apart", source=name, error=repr(fault.__cause__))
            stored = self._commit(store_isolating_failures, chunk, progress)
        if self.on_progress:
            self.on_progress(self.run)
        self._undated += stored.undated

    def _commit(
        self, store_chunk: ChunkStorer, chunk: Chunk, progress: SaveProgress | None
    ) -> StoredChunk:
        with self.runtime.database.ingesting() as tx:
            stored = store_chunk(self.runtime.database, tx, chunk, self.write_chunk)
            if chunk.last_read and stored.suspicion.holds:
                raise _held_error(chunk.source, stored.suspicion, chunk.last_read)
            left = [record for record, _ in stored.undecided]
            kept_before = undecided.replace_kept(tx, chunk.source, chunk.papers, left)
            if progress:
                progress(tx, chunk.now)
            rejected = [
                Rejected(f"record {record.raw_id}", f"not decided, and kept: {record.error}")
                for record in left
            ]
            counts = {name: getattr(self.run, name) + n for name, n in stored.counts().items()}
            run = structs.replace(self.run, document=chunk.document, **counts)
            run = _with_rejected(run, rejected)
            runs.save(tx, self._run_id, run)
        self.run = run
        for number, (record, fault) in enumerate(stored.undecided):
            if record.record_hash not in kept_before:
                log.error(
                    "record not decided",
                    source=record.source,
                    document=record.document,
                    record=record.raw_id,
                    error=record.error,
                    exc_info=fault if number < TRACEBACKS else None,
                )
        return stored

    def finish(
        self,
        outcome: RunOutcome,
        error: str = "",
        document: str | None = None,
        validators: Mapping[str, str] | None = None,
        record_end: SaveProgress | None = None,
    ) -> Run:
        """Close the run. `record_end` stores the reading position in the same transaction."""
        finished = self.runtime.clock.now()
        error = self.configured.variables.hide(error)
        run = structs.replace(
            self.run, document=document, outcome=outcome, error=error, finished=finished
        )
        if run.set_aside:
            first = [f"{rejected.where}: {rejected.why}" for rejected in run.set_aside]
            log.info("set aside", source=run.source, document=document, first=first)
        with self.runtime.database.writing() as tx:
            if record_end:
                record_end(tx, finished)
            runs.save(tx, self._run_id, run, validators)
            if outcome in (RunOutcome.UNCHANGED, RunOutcome.FAILED):
                runs.fold_repeated(tx, self._run_id, run)
        self._run_id = 0
        _log_run(run, time.monotonic() - self._started_at, self.previous_error)
        if _is_quiet(run):
            self.runtime.unchanged.add(run.source, finished)
        if validators is not None:
            self.validators = {}
        return run


def _with_rejected(run: Run, rejected: Sequence[Rejected]) -> Run:
    """Return a run with more rejected records; only the first few are kept."""
    first = (*run.set_aside, *rejected[:MAX_REJECTED_STORED])[:MAX_REJECTED_STORED]
    return structs.replace(run, set_aside=first, rejected=run.rejected + len(rejected))


def _is_quiet(run: Run) -> bool:
    return run.outcome is RunOutcome.UNCHANGED and not run.error


def _log_run(run: Run, seconds: float, previous_error: str) -> None:
    """Log a run: a failure as a warning, a repeated failure at INFO.

    Unchanged files are looked at every minute: their runs are logged at DEBUG, and counted
    (`Unchanged`).
    """
    level = logging.INFO
    if run.outcome in (RunOutcome.FAILED, RunOutcome.PARTIAL) and run.error not in previous_error:
        level = logging.WARNING
    elif _is_quiet(run):
        level = logging.DEBUG
    log.log(
        level,
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


def _held_error(source: str, suspicion: Suspicion, last_read: datetime) -> HeldError:
    """Return the error for a feed that replays old papers.

    Only the first chunk of a document is checked: a feed that was moved or rebuilt replays from the
    start.
    """
    return HeldError(
        f"held: {suspicion.new} of {suspicion.known_before} entries that should be known since the "
        f"reading of {last_read:%Y-%m-%d %H:%M} UTC are new",
        f"`paper-monitor ingest {source} --accept` announces them as new, "
        "with --silently they are stored without being announced",
    )
