"""A record that raises is kept apart and tried again; the others of its document are stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from monitor.config.settings import RetentionSettings
from monitor.diff import Verdict, same_work
from monitor.identity import keys, resolve
from monitor.model import FirstRun, Paper, Run, RunOutcome
from monitor.pipeline import store_chunk
from monitor.pipeline.cleanup import upkeep
from monitor.pipeline.ingest import ingest
from monitor.pipeline.roles import role_of
from monitor.pipeline.runtime import ConfiguredSource
from monitor.pipeline.store_chunk import RunRecorder
from monitor.store.engine import schema
from monitor.store.papers import candidates, sightings, undecided, write_papers
from monitor.store.sources import runs as stored_runs
from tests.house import AGENTS, BANDITS, FOLDING, SATURDAY, House, all_papers
from tests.pipeline.test_dumps import record
from tests.pipeline.test_replayed_feed import item, serve_feed
from tests.servers.web import MisbehavingServer

TOPIC = {"all": {"query": "papers OR agents OR bandits"}}
BROKEN = ("Poison for the Deciding of Papers", "A record that our program cannot compare.")


class PoisonError(Exception):
    """An error that nobody thought of."""


def is_poison(text: object) -> bool:
    return "Poison" in str(text)


# What is computed of a record when it is decided and stored: of it alone, of a whole batch, of two
# records, of its notices, and of what is written.
STEPS = {
    "its fingerprint": (keys, "fingerprint"),
    "its identifiers": (keys, "claims_of"),
    "its blocks": (keys, "blocks"),
    "the hash of all that it says": (store_chunk, "record_hash"),
    "the notices among a batch": (candidates, "mark_retracted"),
    "its draft": (write_papers, "fold"),
    "its columns": (write_papers, "columns"),
    "its sighting, behind the paper": (sightings, "write"),
}


@contextmanager
def poison(module: Any, name: str) -> Iterator[None]:
    """Let a function raise for each call in whose arguments the poisonous title is."""
    function = getattr(module, name)

    def raising(*arguments: Any, **named: Any) -> Any:
        if is_poison(arguments):
            raise PoisonError("not\0 thought \ud800 of")
        return function(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, raising)
        yield


def raising_for_two(a: Paper, b: Paper) -> Verdict:
    """Compare two records, and raise if both are poisonous."""
    if is_poison(a) and is_poison(b):
        raise PoisonError("of two")
    return same_work(a, b)


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[Any]]:
    """Without a set-up, tracebacks are printed with all variables, which takes seconds."""
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def poisoned(house: House, url: str) -> House:
    house.settings["store"] = url
    house.settings["topics"] = TOPIC
    return house


def kept(house: House) -> list[tuple[str, str, str]]:
    return [(one.source, one.document, one.error) for one in house.read(undecided.listing)]


def titles(house: House) -> list[str]:
    return sorted(stored.paper.title for stored in house.read(all_papers))


def results(runs: list[Run]) -> list[tuple[str, int, int, int, int]]:
    return [(run.outcome.value, run.seen, run.new, run.known, run.rejected) for run in runs]


def upgrade(house: House) -> None:
    """As if the last attempt at each record had been made by another version."""
    with house.opened() as app, app.runtime.database.writing() as tx:
        tx.execute(sa.update(schema.undecided).values(version="0.0.1"))


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_X10_a_record_that_raises_is_kept_and_the_others_are_stored(
    poisoned: House, logs: list[Any], step: tuple[Any, str]
) -> None:
    poisoned.add("a.txt", AGENTS, BROKEN, BANDITS, FOLDING)
    with poison(*step):
        [run] = poisoned.ingest()
    assert results([run]) == [("ok", 4, 3, 0, 1)]
    assert "PoisonError: not thought" in run.set_aside[0].why
    assert titles(poisoned) == sorted(title for title, _ in (AGENTS, BANDITS, FOLDING))
    [(source, document, error)] = kept(poisoned)
    assert (source, document) == ("page", "a.txt") and error.startswith("PoisonError: not thought")
    [logged] = [one for one in logs if one["event"] == "record not decided"]
    assert (logged["log_level"], type(logged["exc_info"])) == ("error", PoisonError)

    assert results(poisoned.ingest()) == [("unchanged", 0, 0, 0, 0)]  # the document is read
    upgrade(poisoned)
    assert results(poisoned.ingest()) == [("retried", 1, 1, 0, 0), ("unchanged", 0, 0, 0, 0)]
    assert kept(poisoned) == [] and BROKEN[0] in titles(poisoned)
    [stored] = [one for one in poisoned.read(all_papers) if one.paper.title == BROKEN[0]]
    assert stored.paper.abstract == BROKEN[1]


@poison(keys, "fingerprint")
def test_without_an_upgrade_a_record_is_not_tried_again_and_with_one_only_once(
    poisoned: House,
) -> None:
    poisoned.add("a.txt", AGENTS, BROKEN)
    poisoned.ingest()
    assert results(poisoned.ingest()) == [("unchanged", 0, 0, 0, 0)]
    upgrade(poisoned)
    assert results(poisoned.ingest()) == [("retried", 1, 0, 0, 1), ("unchanged", 0, 0, 0, 0)]
    assert results(poisoned.ingest()) == [("unchanged", 0, 0, 0, 0)]
    assert len(kept(poisoned)) == 1


def test_a_retried_record_is_news_and_no_reading_of_its_source(poisoned: House) -> None:
    with poison(keys, "fingerprint"):
        poisoned.add("a.txt", BROKEN)
        assert poisoned.next_morning() == {}
    upgrade(poisoned)
    with poisoned.opened() as app:
        poisoned.clock.move(hours=5)
        [retried] = app.once.retry_undecided()
        assert (retried.outcome, retried.document) == (RunOutcome.RETRIED, "a.txt")
        with app.runtime.database.reading() as tx:
            [last] = stored_runs.newest_of_each_source(tx)
            assert last.outcome is RunOutcome.OK
            assert stored_runs.last_start(tx, "page") == last.started
            assert stored_runs.last_read(tx, "page") == last.finished
    assert poisoned.next_morning() == {"lab": 1}


def dumped(house: House, *records: dict[str, Any], name: str = "a.jsonl") -> None:
    lines = "".join(json.dumps(one) + "\n" for one in records)
    (house.folder / "dumps" / name).write_text(lines)
    source = {"kind": "jsonl", "path": "dumps/*.jsonl", "first_run": "deliver"}
    house.settings["sources"] = {"all": source}


def poisonous(number: int, **fields: Any) -> dict[str, Any]:
    return record(number) | {"title": f"Poison {record(number)['title']}"} | fields


@poison(keys, "blocks")
def test_of_a_large_batch_only_the_records_that_raise_are_kept(poisoned: House) -> None:
    bad = {7, 8, 400, 649}
    dumped(poisoned, *(poisonous(n) if n in bad else record(n) for n in range(650)))
    assert results(poisoned.ingest()) == [("ok", 650, 646, 0, 4)]
    assert len(kept(poisoned)) == 4
    assert results(poisoned.ingest()) == [("unchanged", 0, 0, 0, 0)]


def test_where_all_records_raise_all_are_kept(poisoned: House, logs: list[Any]) -> None:
    with poison(keys, "fingerprint"):
        dumped(poisoned, *map(poisonous, range(70)))
        assert results(poisoned.ingest()) == [("ok", 70, 0, 0, 70)]
    logged = [one["exc_info"] for one in logs if one["event"] == "record not decided"]
    assert (len(logged), len([error for error in logged if error])) == (70, 3)
    upgrade(poisoned)
    assert results(poisoned.ingest())[0] == ("retried", 70, 70, 0, 0)


def test_a_record_that_comes_again_is_kept_and_logged_once(
    poisoned: House, logs: list[Any]
) -> None:
    with poison(keys, "fingerprint"):
        for day in range(3):
            poisoned.clock.at = SATURDAY + timedelta(days=day)
            dumped(poisoned, record(1), poisonous(2, published=f"2026-11-0{day + 1}"))
            [run] = poisoned.ingest()
            assert run.rejected == 1
    assert len([one for one in logs if one["event"] == "record not decided"]) == 1
    [one] = poisoned.read(undecided.listing)
    assert (one.at, one.tried_at) == (SATURDAY, poisoned.clock.at)
    dumped(poisoned, record(1), poisonous(2), record(3))  # the error is gone
    assert results(poisoned.ingest()) == [("ok", 3, 2, 1, 0)]
    assert kept(poisoned) == []


@poison(keys, "fingerprint")
def test_a_record_that_its_source_corrects_replaces_what_was_kept(poisoned: House) -> None:
    dumped(poisoned, poisonous(1), poisonous(2))
    poisoned.ingest()
    dumped(poisoned, poisonous(1, abstract="Another one."), record(2))
    assert results(poisoned.ingest()) == [("ok", 2, 1, 0, 1)]
    [one] = poisoned.read(undecided.listing)
    assert undecided.paper_of(one).abstract == "Another one."


def test_X10_a_stored_paper_that_raises_keeps_only_the_records_that_meet_it(
    poisoned: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new copy of it each day: the other papers of each day are stored all the same."""
    poisoned.add("a.txt", BROKEN)
    poisoned.ingest()
    with monkeypatch.context() as patched:
        patched.setattr(resolve, "same_work", raising_for_two)
        for name, other in zip("bcd", (AGENTS, BANDITS, FOLDING), strict=True):
            poisoned.add(f"{name}.txt", other, (BROKEN[0], f"Abstract {name}."))
            assert results(poisoned.ingest()) == [("ok", 2, 1, 0, 1)]
    assert [document for _, document, _ in kept(poisoned)] == ["b.txt", "c.txt", "d.txt"]
    upgrade(poisoned)
    runs = poisoned.ingest()
    assert [run.document for run in runs[:3]] == ["b.txt", "c.txt", "d.txt"]
    assert kept(poisoned) == []


def test_two_records_of_one_chunk_that_raise_together_leave_the_first(
    poisoned: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "same_work", raising_for_two)
    poisoned.add("a.txt", BROKEN, AGENTS, (BROKEN[0], "Another abstract."))
    assert results(poisoned.ingest()) == [("ok", 3, 2, 0, 1)]


FAULTS = {
    "the database": lambda: sa.exc.OperationalError("SELECT", {}, Exception("disk I/O error")),
    "the machine": lambda: OSError(24, "Too many open files"),
    "its memory": MemoryError,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_error_of_the_machine_fails_the_run_and_keeps_no_record(
    poisoned: House, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], Exception]
) -> None:
    def failing(*_: Any) -> Any:
        raise fault()

    poisoned.add("a.txt", AGENTS, BANDITS)
    with monkeypatch.context() as patched:
        patched.setattr(candidates, "find", failing)
        [run] = poisoned.ingest()
    assert (run.outcome, run.seen) == (RunOutcome.FAILED, 0)
    assert kept(poisoned) == [] and titles(poisoned) == []
    assert results(poisoned.ingest()) == [("ok", 2, 2, 0, 0)]


def test_an_error_of_the_database_among_the_halves_leaves_nothing_half_written(
    poisoned: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first record is stored apart from the one that raises, then the disk is full."""
    write = write_papers.apply

    def failing(tx: Any, source: str, decisions: Any, *rest: Any) -> list[int]:
        ids = write(tx, source, decisions, *rest)
        if any(one.keyed.paper.title == AGENTS[0] for one in decisions):
            raise sa.exc.OperationalError("INSERT", {}, Exception("disk I/O error"))
        return ids

    poisoned.add("a.txt", FOLDING, BROKEN, BANDITS, AGENTS)
    with poison(keys, "fingerprint"), monkeypatch.context() as patched:
        patched.setattr(write_papers, "apply", failing)
        [run] = poisoned.ingest()
    assert (run.outcome, run.seen, run.rejected) == (RunOutcome.FAILED, 0, 0)
    assert kept(poisoned) == [] and titles(poisoned) == []
    assert results(poisoned.ingest()) == [("ok", 4, 4, 0, 0)]


def test_F08_a_feed_that_replays_old_papers_is_held_although_a_record_raises(
    fed: House, web: MisbehavingServer
) -> None:
    """Of each part too few are replayed: they are counted together."""
    fed.settings["sources"]["journal"]["first_run"] = "deliver"
    serve_feed(web, item("Folding", SATURDAY - timedelta(days=3)))
    assert results(fed.ingest())[0][2] == 1
    subjects = ("Sorting", "Diving", "Poison", "Knitting", "Sailing")
    serve_feed(web, *(item(subject, SATURDAY - timedelta(days=5)) for subject in subjects))
    with poison(keys, "fingerprint"):
        [run] = fed.ingest()
    assert (run.outcome, run.error[:5]) == (RunOutcome.FAILED, "held:")
    assert titles(fed) == ["Folding Agents"] and kept(fed) == []


@pytest.mark.parametrize("first_run", [FirstRun.BASELINE, FirstRun.DELIVER])
def test_a_retried_record_is_worth_what_it_was_when_it_was_read(
    poisoned: House, first_run: FirstRun
) -> None:
    dumped(poisoned, record(1), poisonous(2))
    poisoned.settings["sources"]["all"]["first_run"] = first_run.value
    with poison(keys, "fingerprint"):
        poisoned.ingest()
    poisoned.clock.move(days=200)
    upgrade(poisoned)
    poisoned.ingest()
    [stored] = [one for one in poisoned.read(all_papers) if is_poison(one.paper)]
    assert stored.first_seen == poisoned.clock.at
    assert (stored.news_at is None) == (first_run is FirstRun.BASELINE)


def test_a_record_that_waited_for_long_is_not_older_than_when_it_was_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A paper that is announced 90 days before it is first seen is "older", and no news."""
    monkeypatch.setattr(ConfiguredSource, "dated", True)
    announced = (SATURDAY - timedelta(days=1)).date().isoformat()
    dumped(house, poisonous(1, published=announced))
    with house.opened() as app, poison(keys, "fingerprint"):
        ingest(app.runtime, "all")
    upgrade(house)
    house.clock.move(days=200)
    with house.opened() as app:
        ingest(app.runtime, "all")
        with app.runtime.database.reading() as tx:
            kind = tx.scalar(sa.select(schema.change.c.kind))
    assert kind == "new"


WRONG = {
    "a title that is none": Paper(None, raw_id="1"),  # type: ignore[arg-type]
    "an author that is none": Paper("Agents", authors=(None,)),  # type: ignore[arg-type]
    "a link that is a number": Paper("Agents", url=7),  # type: ignore[arg-type]
    "a date as text": Paper("Agents", published="2026"),  # type: ignore[arg-type]
    "a time without a zone": Paper("Agents", published=SATURDAY.replace(tzinfo=None)),
    "an identifier that is a number": Paper("Agents", keys={"doi": 7}),  # type: ignore[dict-item]
    "half a surrogate pair": Paper("Agents \ud800"),
    "an id with half a surrogate pair": Paper("Agents", raw_id="\ud800"),
    "an id with a zero": Paper("Agents", raw_id="a\0b"),
    "a version that no table holds": Paper("Agents", version=10**30),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_record_of_wrong_values_stops_no_other_and_is_kept_once(
    poisoned: House, wrong: Paper
) -> None:
    """A plug-in may return them."""
    with poisoned.opened() as app:
        for _ in range(2):
            page = app.runtime.sources["page"]
            recorder = RunRecorder(app.runtime, page, role_of(app.runtime, page).store)
            recorder.start()
            recorder.store([Paper(AGENTS[0]), wrong, Paper(BANDITS[0])], "a")
            assert recorder.finish(RunOutcome.OK).rejected == 1
    assert titles(poisoned) == sorted((AGENTS[0], BANDITS[0]))
    before = kept(poisoned)
    with poisoned.opened() as app:
        assert results(app.once.retry_undecided()) == [("retried", 1, 0, 0, 1)]
    assert kept(poisoned) == before and len(before) == 1


@poison(keys, "fingerprint")
def test_records_older_than_papers_are_kept_are_deleted(poisoned: House) -> None:
    poisoned.add("a.txt", BROKEN)
    poisoned.ingest()
    poisoned.clock.move(days=31)
    with poisoned.opened() as app:
        upkeep(app.runtime)
        assert len(kept(poisoned)) == 1
        retention = RetentionSettings(papers=timedelta(days=30))
        settings = app.settings.model_copy(update={"retention": retention})
        upkeep(replace(app.runtime, settings=settings))
    assert kept(poisoned) == []
