"""Rehearse: what would go out, as digests, in a store that forgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.model import Digest
from monitor.pipeline.compose import compose
from monitor.pipeline.match import match
from monitor.pipeline.parts import Parts
from monitor.store.rehearsal import rehearsing


def rehearse(parts: Parts, names: Sequence[str] = (), *, early: bool = False) -> list[Digest]:
    """Match and compose as `compose` would, and undo all that was written; nothing is sent."""
    with rehearsing(parts.database) as database:
        rehearsal = replace(parts, database=database)
        match(rehearsal)
        return [composed.digest for composed in compose(rehearsal, names, early=early)]
