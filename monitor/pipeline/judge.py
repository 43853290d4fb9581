"""After a pass over a source: does it fail, is its first reading over, is its silence usual?"""

from __future__ import annotations

from collections.abc import Sequence

from monitor.model import Run, RunOutcome
from monitor.pipeline import incidents
from monitor.pipeline.parts import Parts, Watched
from monitor.store import runs


def judge(parts: Parts, watched: Watched, done: Sequence[Run]) -> None:
    """A source fails while any of its documents does; the operator hears of both ends.

    Its first reading is over once a whole pass has read something: until then what is there,
    a folder that is still being filled or a file half copied, is part of it.
    """
    whole = any(run.outcome is RunOutcome.OK for run in done) and not parts.stopping.is_set()
    errors = [run.error for run in done if run.outcome is RunOutcome.FAILED]
    now, subject = parts.clock.now(), incidents.source(watched.name)
    with parts.database.writing() as tx:
        if whole:
            runs.finish_first_reading(tx, watched.name, now)
        if errors:
            runs.open_incident(tx, subject, incidents.FAILING, now, errors[0])
        else:
            runs.end_incident(tx, subject, incidents.FAILING, now)
