"""Metrics for Prometheus, computed from the store, so that every process answers the same.

Memory, processor time and open files are of this process. No label has a recipient's name or
address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from importlib.metadata import version
from typing import TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from monitor.commands.heartbeat import SERVICE
from monitor.model import DeliveryState, Run
from monitor.pipeline.runtime import Runtime
from monitor.store import metrics as store_metrics
from monitor.store.digests import deliveries, incidents
from monitor.store.engine import processes
from monitor.store.sources import runs

CONTENT_TYPE = CONTENT_TYPE_LATEST
# Old runs are deleted, so that a sum of all would fall: these are sums of one day.
RECENT = timedelta(hours=24)
_Labels = TypeVar("_Labels", bound=tuple[str, ...])
_RESULTS = ("seen", "new", "revised", "known", "rejected")


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def metrics(runtime: Runtime) -> bytes:
    """Return all metrics in Prometheus' text format, of type `CONTENT_TYPE`. Raises StoreError."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(_families(runtime)))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _families(runtime: Runtime) -> Iterator[Metric]:
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        counts = store_metrics.count(tx, now - RECENT)
        done = [run for run in runs.since(tx, now - RECENT, now) if run.source in runtime.sources]
        reports = runs.report(tx, runtime.sources, now - RECENT, now)
        states = deliveries.counts(tx)
        kinds = Counter((incident.kind,) for incident in incidents.open_incidents(tx))
        last_beat = processes.last_beat(tx, SERVICE)
    yield _gauge("info", "The version that answers.", {(version("paper-monitor"),): 1}, "version")
    yield from _of_runs(done)
    read = {(r.source,): r.last_read.timestamp() for r in reports if r.last_read}
    text = "When the source was last read, even partly."
    yield _gauge("source_last_read_timestamp_seconds", text, read, "source")
    failing = {(r.source,): int(r.failing_since is not None) for r in reports}
    yield _gauge("source_failing", "Whether the source fails: 1 if so.", failing, "source")
    yield _gauge("papers", "Papers stored.", {(): counts.papers})
    text = "Matches of topics with news of the last day."
    yield _gauge("matches", text, {(): counts.matches})
    yield _gauge("digests", "Digests composed.", {(): counts.digests})
    by_state = {(state.value,): states.get(state, 0) for state in DeliveryState}
    yield _gauge("deliveries", "Deliveries by their state.", by_state, "state")
    yield _gauge("incidents", "Open incidents by their kind.", kinds, "kind")
    if last_beat:
        text = "When the service last gave a sign of life."
        yield _gauge("service_beat_timestamp_seconds", text, {(): last_beat.timestamp()})
    lengths = {
        ("match",): counts.unmatched,
        ("search",): counts.unsearched,
        ("deliver",): counts.undelivered,
        ("jobs",): counts.jobs,
    }
    text = "What waits: changes for topics, papers for the search index, deliveries, jobs."
    yield _gauge("queue_length", text, lengths, "queue")
    oldest = counts.oldest_delivery
    waited = (now - oldest).total_seconds() if oldest else 0.0
    text = "How long the oldest delivery has waited."
    yield _gauge("delivery_wait_seconds", text, {(): waited})


def _of_runs(done: Iterable[Run]) -> Iterator[Metric]:
    outcomes: Counter[tuple[str, ...]] = Counter()
    results: Counter[tuple[str, ...]] = Counter()
    milliseconds: Counter[tuple[str, ...]] = Counter()
    for run in done:
        outcomes[run.source, run.outcome.value] += 1
        for result in _RESULTS:
            results[run.source, result] += getattr(run, result)
        if run.finished:
            took = (run.finished - run.started).total_seconds()
            milliseconds[(run.source,)] += round(took * 1000)
    yield _gauge("runs", "Runs that ended in the last day.", outcomes, "source", "outcome")
    yield _gauge("run_papers", "Papers of these runs.", results, "source", "result")
    seconds = {labels: count / 1000 for labels, count in milliseconds.items()}
    yield _gauge("run_seconds", "Seconds that these runs took together.", seconds, "source")


def _gauge(name: str, text: str, values: Mapping[_Labels, float], *labels: str) -> Metric:
    family = GaugeMetricFamily(f"paper_monitor_{name}", text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family
