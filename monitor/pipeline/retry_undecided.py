"""Records that could not be decided are tried again: after an upgrade, or when a person asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from importlib.metadata import version
from itertools import groupby

from monitor.model import Document, FirstRun, Run, RunOutcome, UndecidedRecord
from monitor.pipeline.run_recorder import MAX_PAPERS, RunRecorder
from monitor.pipeline.runtime import IngestContext
from monitor.store import locks, undecided
from monitor.store.database import Transaction


def retry_after_upgrade(
    context: IngestContext, name: str, on_progress: Callable[[Run], None] | None = None
) -> list[Run]:
    """Try the records of a source that another version of the program could not decide.

    The caller holds the lock of the source.
    """
    return list(_retry(context, name, version("paper-monitor"), on_progress))


def retry_all(
    context: IngestContext, name: str, on_progress: Callable[[Run], None] | None = None
) -> list[Run]:
    """Try all undecided records of a source. Raises StoreBusyError if it is being read."""
    with locks.source_lock(context.database, name):
        return list(_retry(context, name, None, on_progress))


def _retry(
    context: IngestContext,
    name: str,
    other_than: str | None,
    on_progress: Callable[[Run], None] | None,
) -> Iterator[Run]:
    """Try records as their documents gave them, and yield a run for each of these chunks."""
    after: tuple[datetime, str, str] | None = None
    while not context.stopping.is_set():
        with context.database.reading() as tx:
            records = undecided.waiting(tx, name, MAX_PAPERS, after=after, other_than=other_than)
        if not records:
            return
        after = undecided.place_of(records[-1])
        for (document, first_run, at), chunk in groupby(records, key=_chunk_of):
            recorder = RunRecorder(context, context.sources[name], first_run, "", on_progress)
            recorder.start()
            papers = [undecided.paper_of(record) for record in chunk]
            recorder.store(papers, Document(document, b"", at), _no_progress, decided_at=at)
            yield recorder.finish(RunOutcome.RETRIED, document=document)


def _chunk_of(record: UndecidedRecord) -> tuple[str, FirstRun | None, datetime]:
    return record.document, record.first_run, record.at


def _no_progress(tx: Transaction, now: datetime) -> None:
    """A document was read to its end although some of its records were not decided."""
