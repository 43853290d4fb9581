"""A dump: a large file that is read in parts, each stored with how far it is read."""

from __future__ import annotations

import time
from contextlib import closing

from monitor.model import Dump, DumpCursor, DumpReading, Run, RunOutcome
from monitor.pipeline.chunk_size import ChunkSize
from monitor.pipeline.run_recorder import STOPPED, Progress, RunRecorder
from monitor.sources import sandbox
from monitor.sources.fields.publication_types import strip_withdrawal_marks
from monitor.store import reading_progress


def read_dump(recorder: RunRecorder, dump: Dump) -> Run | None:
    """Read a dump in parts, from where an earlier reading of it, or of its beginning, ended."""
    with recorder.context.database.reading() as tx:
        states = reading_progress.dump_states(tx, recorder.configured.name)
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
    while not recorder.context.stopping.is_set():
        started_at = time.thread_time()
        part = reading.take(size.papers)
        if part is None:
            return cursor
        recorder.set_aside(part.rejected)
        if part.papers or cursor.offset:
            cursor = part.mark
            papers = sandbox.with_distinct_authors(strip_withdrawal_marks(part.papers))
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
    now = recorder.context.clock.now()
    with recorder.context.database.writing() as tx:
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
    return lambda tx, now: reading_progress.read_to(tx, name, dump, cursor, ended, now)
