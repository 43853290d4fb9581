"""What Prometheus reads, worked out from the store, so that every process says the same.

Only what is about this process comes from it: memory, processor time, open files. No label has
a recipient's name or address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from monitor.commands.heartbeat import SERVICE
from monitor.model import DeliveryState, Run, SourceReport
from monitor.pipeline.runtime import Runtime
from monitor.store import metrics as store_metrics
from monitor.store.digests import deliveries, incidents
from monitor.store.engine import processes
from monitor.store.metrics import StoreCounts
from monitor.store.sources import runs

CONTENT_TYPE = CONTENT_TYPE_LATEST
# Old runs are deleted, so that a sum of all would fall: these are sums of one day.
RECENT = timedelta(hours=24)
_Values = Mapping[tuple[str, ...], float]
_RESULTS = ("seen", "new", "revised", "known", "rejected")


@dataclass(frozen=True, slots=True)
class _Stored:
    """What was read of the store, in one transaction."""

    now: datetime
    counts: StoreCounts
    runs: tuple[Run, ...]
    reports: tuple[SourceReport, ...]
    deliveries: Mapping[DeliveryState, int]
    incidents: Counter[str]
    last_beat: datetime | None


def metrics(runtime: Runtime) -> bytes:
    """Return all metrics in Prometheus' text format, of type `CONTENT_TYPE`. Raises StoreError."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Metrics(_read(runtime)))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _read(runtime: Runtime) -> _Stored:
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        done = runs.since(tx, now - RECENT, now)
        return _Stored(
            now=now,
            counts=store_metrics.count(tx, now - RECENT),
            runs=tuple(run for run in done if run.source in runtime.sources),
            reports=runs.report(tx, runtime.sources, now - RECENT, now),
            deliveries=deliveries.counts(tx),
            incidents=Counter(incident.kind for incident in incidents.open_incidents(tx)),
            last_beat=processes.last_beat(tx, SERVICE),
        )


class _Metrics(Collector):
    def __init__(self, stored: _Stored) -> None:
        self._stored = stored

    def collect(self) -> Iterator[Metric]:
        yield _gauge("info", "The version that answers.", ["version"], {(_version(),): 1})
        yield from _of_runs(self._stored.runs)
        yield from _of_sources(self._stored.reports)
        yield from _of_store(self._stored)
        yield from _of_queues(self._stored)


def _version() -> str:
    return version("paper-monitor")


def _of_runs(done: Iterable[Run]) -> Iterator[Metric]:
    outcomes: Counter[tuple[str, ...]] = Counter()
    results: Counter[tuple[str, ...]] = Counter()
    seconds: Counter[tuple[str, ...]] = Counter()
    for run in done:
        outcomes[run.source, run.outcome.value] += 1
        for result in _RESULTS:
            results[run.source, result] += getattr(run, result)
        if run.finished:
            took = (run.finished - run.started).total_seconds()
            seconds[(run.source,)] += round(took * 1000)
    yield _gauge("runs", "Runs that ended in the last day.", ["source", "outcome"], outcomes)
    yield _gauge("run_papers", "Papers of these runs.", ["source", "result"], results)
    took_seconds: _Values = {labels: count / 1000 for labels, count in seconds.items()}
    yield _gauge("run_seconds", "Seconds that these runs took together.", ["source"], took_seconds)


def _of_sources(reports: Iterable[SourceReport]) -> Iterator[Metric]:
    reports = tuple(reports)
    read: _Values = {
        (report.source,): report.last_read.timestamp() for report in reports if report.last_read
    }
    failing: _Values = {
        (report.source,): float(report.failing_since is not None) for report in reports
    }
    text = "When the source was last read, even partly."
    yield _gauge("source_last_read_timestamp_seconds", text, ["source"], read)
    yield _gauge("source_failing", "Whether the source fails: 1 if so.", ["source"], failing)


def _of_store(stored: _Stored) -> Iterator[Metric]:
    counts = stored.counts
    states: _Values = {(state.value,): stored.deliveries.get(state, 0) for state in DeliveryState}
    yield _single("papers", "Papers stored.", counts.papers)
    yield _single("matches", "Matches of topics with news of the last day.", counts.matches)
    yield _single("digests", "Digests composed.", counts.digests)
    yield _gauge("deliveries", "Deliveries by their state.", ["state"], states)
    kinds: _Values = {(kind,): count for kind, count in stored.incidents.items()}
    yield _gauge("incidents", "Open incidents by their kind.", ["kind"], kinds)
    if stored.last_beat:
        text = "When the service last gave a sign of life."
        yield _single("service_beat_timestamp_seconds", text, stored.last_beat.timestamp())


def _of_queues(stored: _Stored) -> Iterator[Metric]:
    counts = stored.counts
    lengths: _Values = {
        ("match",): counts.unmatched,
        ("search",): counts.unsearched,
        ("deliver",): counts.undelivered,
        ("jobs",): counts.jobs,
    }
    text = "What waits: changes for topics, papers for the search index, deliveries, jobs."
    yield _gauge("queue_length", text, ["queue"], lengths)
    oldest = counts.oldest_delivery
    waited = (stored.now - oldest).total_seconds() if oldest else 0.0
    yield _single("delivery_wait_seconds", "How long the oldest delivery has waited.", waited)


def _gauge(name: str, text: str, labels: list[str], values: _Values) -> Metric:
    family = GaugeMetricFamily(f"paper_monitor_{name}", text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _single(name: str, text: str, value: float) -> Metric:
    return _gauge(name, text, [], {(): value})
