"""`preview` and `digest --dry-run`: digests as pages, with nothing sent or recorded."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from monitor.app import DigestReport
from monitor.channels.file import Pages
from monitor.commands.send_test import unrecorded_delivery
from monitor.digest.compose import explain_again
from monitor.errors import UsageError
from monitor.model import DeliveryState, Digest
from monitor.pipeline.dry_run import rehearse
from monitor.pipeline.freeze import OnFailure, log_failure
from monitor.pipeline.runtime import Runtime
from monitor.store import digests


def dry_run(
    runtime: Runtime,
    names: Sequence[str] = (),
    early: bool = False,
    on_failure: OnFailure = log_failure,
) -> list[DigestReport]:
    """Write what would be sent now as pages; send nothing and change nothing else."""
    pages = _temporary_pages(runtime)
    composed = rehearse(runtime, names, early=early, on_failure=on_failure)
    return [_write(runtime, pages, digest) for digest in composed]


def preview(runtime: Runtime, name: str = "", period: str = "") -> list[DigestReport]:
    """Write a past digest, or the next one, of one subscription or of all as pages."""
    if not period:
        names = [name] if name else [s.name for s in runtime.subscriptions]
        return dry_run(runtime, names, early=True)
    with runtime.database.reading() as tx:
        digest = digests.of_period(tx, name, period)
    if digest is None:
        raise UsageError(f"there is no digest of {name!r} for {period!r}")
    if digests.TEXTS_REMOVED in digest.notes:
        digest = explain_again(digest, runtime.in_force.explain(runtime.topics))
    return [_write(runtime, _temporary_pages(runtime), digest)]


def _temporary_pages(runtime: Runtime) -> Pages:
    folder = Path(tempfile.mkdtemp(prefix="paper-monitor-"))
    return Pages("rehearsal", folder, runtime.templates)


def _write(runtime: Runtime, pages: Pages, digest: Digest) -> DigestReport:
    [rendered] = pages.render(digest, runtime.templates)
    delivery = unrecorded_delivery(digest.subscription, digest.period, pages, rendered)
    outcome = pages.send(delivery, lambda: True)
    written = replace(
        delivery,
        recipient=outcome.reference or delivery.recipient,
        state=DeliveryState.PLANNED if outcome.state is DeliveryState.SENT else outcome.state,
        error=outcome.error,
        reference=outcome.reference,
    )
    return DigestReport(digest.subscription, digest.period, digest.papers, (written,))
