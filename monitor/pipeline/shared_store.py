"""Notices two configurations that take turns on one store, and keeps one from undoing the other.

    serve, /etc/a.yaml      A     A     A        each finds that the other's configuration was
    run --config b.yaml        B     B     ...   used last, and puts its own in force again

Every round looks at which configuration was used last, and records its own if that was another.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, takewhile

import structlog

from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine import processes
from monitor.store.engine.database import Transaction
from monitor.store.engine.processes import Activation

log = structlog.get_logger()

# One that returns within an hour is in use elsewhere; a slower one may be a person who goes back
# to an earlier file, until it has come twice.
SOON = timedelta(hours=1)
LONGEST_ROUND = timedelta(days=8)
OVER_AFTER = timedelta(minutes=10)
# The machines of a fleet take up a new version of their file at different moments.
ROLLING_UPGRADE = timedelta(minutes=5)
ALIVE = timedelta(minutes=5)


def begin_use(tx: Transaction, runtime: Runtime) -> None:
    """Record that this process works with its configuration from now on."""
    newest = processes.newest_activation(tx)
    config_hash = runtime.activation_hash
    if newest is None or (newest.config_hash, newest.origin) != (config_hash, runtime.origin):
        processes.record_activation(tx, config_hash, runtime.origin)


def take_turn(tx: Transaction, runtime: Runtime) -> None:
    """Record the configuration unless it was used last; an incident begins with the third turn."""
    newest = processes.newest_activation(tx)
    config_hash = runtime.activation_hash
    if newest is not None and newest.config_hash == config_hash:
        return
    processes.record_activation(tx, config_hash, runtime.origin)
    rivals = find_rivals_now(tx)
    if rivals is None:
        return
    now = runtime.clock.now()
    error = _describe(rivals)
    if stored_incidents.open_incident(
        tx, Subject(SubjectKind.STORE), IncidentKind.SHARED, now, error
    ):
        log.warning("store used by two configurations", error=error)


def find_rivals_now(tx: Transaction) -> tuple[Activation, Activation] | None:
    """Return two configurations that take turns on a store."""
    return find_rivals(processes.activations(tx), datetime.now(UTC))


def keeps_others(tx: Transaction, runtime: Runtime) -> bool:
    """Return whether what only other configurations have is kept, for they are in use as well."""
    is_open = stored_incidents.open_error(tx, Subject(SubjectKind.STORE), IncidentKind.SHARED)
    return bool(is_open) or _is_another_alive(tx, runtime)


def _is_another_alive(tx: Transaction, runtime: Runtime) -> bool:
    """Return whether a service or worker on another file gave a sign of life lately."""
    config_hash = runtime.activation_hash
    now = datetime.now(UTC)
    living = {
        name.partition("@")[2] for name, at in processes.signs(tx).items() if now - at < ALIVE
    }
    last: dict[str, Activation] = {}
    for activation in processes.activations(tx):
        last.setdefault(f"{activation.origin.host}/{activation.origin.process}", activation)
    own = runtime.origin[:2]
    return any(
        activation.config_hash != config_hash and activation.origin[:2] != own
        for process, activation in last.items()
        if process in living
    )


def find_rivals(
    history: Sequence[Activation], now: datetime
) -> tuple[Activation, Activation] | None:
    """Return two configurations that take turns; `history` has the newest activation first.

    Not rivals are an edit and its undo, which have the same file, and what has stopped: no turn
    for twice as long as a round took.
    """
    turns = [next(rows) for _, rows in groupby(history, lambda activation: activation.config_hash)]
    if len(turns) < 3 or turns[0].config_hash != turns[2].config_hash:
        return None
    newest = turns[0]
    other = turns[1]
    both = {newest.config_hash, other.config_hash}
    rows = list(takewhile(lambda activation: activation.config_hash in both, history))
    origins = [
        {activation.origin[:2] for activation in rows if activation.config_hash == turn.config_hash}
        for turn in (newest, other)
    ]
    if origins[0] & origins[1]:
        return None
    a_round = newest.at - turns[2].at
    lasted = newest.at - rows[-1].at
    has_two_rounds = len(turns) > 3 and turns[3].config_hash == other.config_hash
    is_quick = a_round <= SOON
    has_stopped = now - newest.at > max(OVER_AFTER, 2 * a_round)
    if has_stopped or not (is_quick or (has_two_rounds and a_round <= LONGEST_ROUND)):
        return None
    same_file = {file for file, _ in origins[0]} == {file for file, _ in origins[1]}
    return None if same_file and lasted < ROLLING_UPGRADE else (newest, other)


def _describe(rivals: tuple[Activation, Activation]) -> str:
    first, second = (
        f"{file} ({host}, process {process})"
        for file, host, process in sorted(activation.origin for activation in rivals)
    )
    return (
        f"{first} and {second} put different topics, subscriptions or recipients in force, in"
        " turn: use one of them, or give the other a store of its own"
    )
