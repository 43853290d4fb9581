"""Rehearse: what would go out, as digests, in a store that forgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.model import Digest
from monitor.pipeline.compose import compose
from monitor.pipeline.freeze import OnFailure, log_failure
from monitor.pipeline.match import match
from monitor.pipeline.runtime import ComposeContext
from monitor.store.dry_run import rehearsing


def rehearse(
    context: ComposeContext,
    names: Sequence[str] = (),
    *,
    early: bool = False,
    on_failure: OnFailure = log_failure,
) -> list[Digest]:
    """Match and compose as `compose` would, and undo all that was written; nothing is sent.

    The digests come in the order of the subscriptions.
    """
    with rehearsing(context.database) as database:
        rehearsal = replace(context, database=database)
        match(rehearsal)
        composed: list[Digest] = []
        compose(rehearsal, names, early=early, on_failure=on_failure, on_digest=composed.append)
    places = {one.name: place for place, one in enumerate(context.subscriptions)}
    return sorted(composed, key=lambda digest: places[digest.subscription])
