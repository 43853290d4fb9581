"""Metrics for Prometheus, computed from the store, so that every process answers the same.

Memory, processor time and open files are of this process. No label names a recipient.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from importlib.metadata import version
from typing import TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, ProcessCollector
from prometheus_client.exposition import generate_latest

from monitor.commands.heartbeat import last_sign
from monitor.commands.services import (
    EmbeddingStatus,
    ServiceStatus,
    embedding_status,
    look_up_status,
)
from monitor.model import DeliveryState, Run
from monitor.pipeline.runtime import Runtime
from monitor.store import metrics as store_metrics
from monitor.store.digests import deliveries, incidents
from monitor.store.sources import runs

CONTENT_TYPE = CONTENT_TYPE_LATEST
# Old runs are deleted, so that a sum of all would fall: these are sums of one day.
RECENT = timedelta(hours=24)
_Labels = TypeVar("_Labels", bound=tuple[str, ...])


def metrics(runtime: Runtime) -> bytes:
    """Return all metrics in Prometheus' text format, of type `CONTENT_TYPE`. Raises StoreError."""
    registry = CollectorRegistry(auto_describe=False)
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        counts = store_metrics.count(tx, now - RECENT)
        done = [run for run in runs.since(tx, now - RECENT, now) if run.source in runtime.sources]
        reports = runs.report(tx, runtime.sources, now - RECENT, now)
        states = deliveries.counts(tx)
        kinds = Counter((incident.kind,) for incident in incidents.open_incidents(tx))
        last_beat = last_sign(tx)
        asked = look_up_status(tx, runtime)
        embedded = embedding_status(tx, runtime)
    _add(registry, "info", "The version that answers.", {(version("paper-monitor"),): 1}, "version")
    _add_runs(registry, done)
    read = {(r.source,): r.last_read.timestamp() for r in reports if r.last_read}
    text = "When the source was last read, even partly."
    _add(registry, "source_last_read_timestamp_seconds", text, read, "source")
    failing = {(r.source,): int(r.failing_since is not None) for r in reports}
    _add(registry, "source_failing", "Whether the source fails: 1 if so.", failing, "source")
    _add(registry, "papers", "Papers stored.", {(): counts.papers})
    text = "Matches of topics with news of the last day."
    _add(registry, "matches", text, {(): counts.matches})
    _add(registry, "digests", "Digests composed.", {(): counts.digests})
    by_state = {(state.value,): states.get(state, 0) for state in DeliveryState}
    _add(registry, "deliveries", "Deliveries by their state.", by_state, "state")
    _add(registry, "incidents", "Open incidents by their kind.", kinds, "kind")
    if asked:
        _add_services(registry, asked.services)
    if embedded:
        _add_embeddings(registry, embedded)
    if last_beat:
        text = "When the service last gave a sign of life."
        _add(registry, "service_beat_timestamp_seconds", text, {(): last_beat.timestamp()})
    lengths = {
        ("match",): counts.unmatched,
        ("search",): counts.unsearched,
        ("deliver",): sum(states.get(state, 0) for state in deliveries.WAITING),
        ("jobs",): counts.jobs,
    }
    text = "What waits: changes for topics, papers for the search index, deliveries, jobs."
    _add(registry, "queue_length", text, lengths, "queue")
    oldest = counts.oldest_delivery
    waited = (now - oldest).total_seconds() if oldest else 0.0
    text = "How long the oldest delivery has waited."
    _add(registry, "delivery_wait_seconds", text, {(): waited})
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _add_runs(registry: CollectorRegistry, done: Iterable[Run]) -> None:
    outcomes: Counter[tuple[str, ...]] = Counter()
    results: Counter[tuple[str, ...]] = Counter()
    seconds: defaultdict[tuple[str], float] = defaultdict(float)
    for run in done:
        outcomes[run.source, run.outcome.value] += 1
        for result in ("seen", "new", "revised", "known", "rejected"):
            results[run.source, result] += getattr(run, result)
        if run.finished:
            seconds[(run.source,)] += (run.finished - run.started).total_seconds()
    _add(registry, "runs", "Runs that ended in the last day.", outcomes, "source", "outcome")
    _add(registry, "run_papers", "Papers of these runs.", results, "source", "result")
    _add(registry, "run_seconds", "Seconds that these runs took together.", seconds, "source")


def _add_services(registry: CollectorRegistry, services: Iterable[ServiceStatus]) -> None:
    papers: dict[tuple[str, str], float] = {}
    spent: dict[tuple[str], float] = {}
    failing: dict[tuple[str], float] = {}
    for service in services:
        for result in ("found", "not_found", "contradicted", "waiting"):
            papers[service.name, result] = getattr(service, result)
        spent[(service.name,)] = service.spent_today
        failing[(service.name,)] = int(not service.ok)
    text = "Papers looked up in the last day by what was answered, and those that wait."
    _add(registry, "look_ups", text, papers, "service", "result")
    text = "Requests to a service since midnight UTC."
    _add(registry, "look_up_requests", text, spent, "service")
    _add(registry, "look_up_failing", "Whether the service fails: 1 if so.", failing, "service")


def _add_embeddings(registry: CollectorRegistry, server: EmbeddingStatus) -> None:
    results = ("answered", "given_up", "added", "waiting")
    papers = {(result,): getattr(server, result) for result in results}
    text = "Papers a model was asked about in the last day, by the result, and those that wait."
    _add(registry, "embeddings", text, papers, "result")
    text = "Requests to the server of embeddings since midnight UTC."
    _add(registry, "embedding_requests", text, {(): server.spent_today})
    text = "Whether the server of embeddings fails: 1 if so."
    _add(registry, "embeddings_failing", text, {(): int(not server.ok)})


def _add(
    registry: CollectorRegistry,
    name: str,
    text: str,
    values: Mapping[_Labels, float],
    *labels: str,
) -> None:
    gauge = Gauge(f"paper_monitor_{name}", text, labels, registry=registry)
    for key, value in sorted(values.items()):
        (gauge.labels(*key) if key else gauge).set(value)
