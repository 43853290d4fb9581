"""What Prometheus is given: read with its own parser, equal to what the store has."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from monitor.commands.heartbeat import SERVICE
from monitor.commands.metrics import CONTENT_TYPE, metrics
from monitor.pipeline.flow import Step, Task
from monitor.service.job_queue import open_queue
from monitor.store.engine import processes
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.servers.smtp import Drop, ScriptedSmtp

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
AT = datetime(2026, 11, 21, tzinfo=UTC)
Values = dict[tuple[str, ...], float]


def scraped(house: House) -> Values:
    """Return values by the name and the labels' values, in the order of the labels' names."""
    with house.opened() as app:
        text = metrics(app.runtime).decode()
    return {
        (
            sample.name.removeprefix("paper_monitor_"),
            *dict(sorted(sample.labels.items())).values(),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_day_of_the_service(house: House, smtp: ScriptedSmtp) -> None:
    house.by_mail(smtp.port)
    house.run(AGENTS, BANDITS)
    smtp.script["rcpt"].append("550 5.1.1 nobody of that name")
    house.run_after(FOLDING, hours=2)
    found = scraped(house)
    assert found["runs", "ok", "page"] == 2
    assert found["run_papers", "new", "page"] == found["papers",] == 3
    assert found["matches",] == found["digests",] == 1
    assert found["deliveries", "failed"] == 1 and found["deliveries", "sent"] == 0
    assert found["source_failing", "page"] == 0
    assert found["source_last_read_timestamp_seconds", "page"] == house.clock.at.timestamp()
    assert found["process_resident_memory_bytes",] > 2**20
    house.clock.move(hours=25)
    later = scraped(house)
    assert ("runs", "ok", "page") not in later and later["papers",] == 3


def test_what_waits_is_counted_and_no_label_names_a_recipient(
    house: House, smtp: ScriptedSmtp
) -> None:
    house.by_mail(smtp.port, "ada@example.org", "bob@example.org", unknown="hold")
    house.run(AGENTS)
    smtp.script["rcpt"] += ["451 4.2.1 come again"]
    smtp.script["dot"] += [Drop()]
    house.run_after(hours=2)
    house.clock.move(minutes=1)
    found = scraped(house)
    assert found["queue_length", "deliver"] == found["deliveries", "retry"] == 1
    assert found["deliveries", "unknown"] == 1
    assert found["delivery_wait_seconds",] == 60
    assert found["queue_length", "match"] == found["queue_length", "search"] == 0
    with house.opened() as app:
        text = metrics(app.runtime).decode()
    assert not any(name in text for name in ("@", "ada", "bob", "lab"))


def test_jobs_that_no_worker_has_taken_are_counted(house: House, postgres_url: str) -> None:
    house.settings["store"] = postgres_url
    assert scraped(house)["queue_length", "jobs"] == 0
    with house.opened() as app, open_queue(app.runtime.database) as queue:
        assert queue is not None
        queue.put(Task(Step.MATCH))
        queue.put(Task(Step.INGEST, "page"))
    assert scraped(house)["queue_length", "jobs"] == 2


def test_a_failing_source_the_service_and_an_empty_store(house: House) -> None:
    house.settings["sources"]["gone"] = {"kind": "feed", "path": "nowhere/*.xml"}
    house.settings["look_up"] = {"services": ["arxiv"]}
    house.settings["embeddings"] = {"url": "http://localhost/v1", "model": "tiny"}
    house.ingest()
    empty = scraped(house)
    assert empty["source_failing", "gone"] == empty["incidents", "failing"] == 1
    assert ("source_last_read_timestamp_seconds", "gone") not in empty
    assert empty["papers",] == 0 and ("service_beat_timestamp_seconds",) not in empty
    with house.opened() as app, app.runtime.database.writing() as tx:
        processes.beat(tx, SERVICE, AT)
    house.ingest(AGENTS)
    found = scraped(house)
    assert found["service_beat_timestamp_seconds",] == AT.timestamp()
    names = {f"paper_monitor_{key[0]}" for key in found if not key[0].startswith("process_")}
    table = re.findall(r"^\| `(paper_monitor_\w+)`", OPERATIONS.read_text("utf-8"), re.MULTILINE)
    assert set(table) == names, "each metric is in the documentation"
    assert CONTENT_TYPE.startswith("text/plain; version=")
