"""Documents become papers, once; a fault ends one document's run and no other."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest

from monitor.model import Run, RunOutcome
from monitor.pipeline import ingest as ingest_stage
from monitor.pipeline.ingest import ingest
from monitor.store.engine import locks
from monitor.store.papers import papers, write_papers
from monitor.store.sources import runs
from tests.house import AGENTS, BANDITS, FOLDING, House, dump


def counts(result: list[Run]) -> list[tuple[str | None, str, int, int, int]]:
    return [(run.document, run.outcome.value, run.seen, run.new, run.known) for run in result]


def test_each_file_is_a_document_read_once_in_the_order_of_names(house: House):
    house.add("b.txt", AGENTS, BANDITS)
    house.add("a.txt", AGENTS)
    assert counts(house.ingest()) == [("a.txt", "ok", 1, 1, 0), ("b.txt", "ok", 2, 1, 1)]
    assert counts(house.ingest()) == [(None, "unchanged", 0, 0, 0)]


def test_a_file_is_known_by_its_content_not_its_name(house: House):
    house.add("a.txt", AGENTS)
    house.ingest()
    house.add("copy.txt", AGENTS)
    assert counts(house.ingest()) == [(None, "unchanged", 0, 0, 0)]
    house.add("a.txt", AGENTS, FOLDING)
    assert counts(house.ingest()) == [("a.txt", "ok", 2, 1, 1)]


def test_a_broken_document_is_a_failed_run_and_the_others_go_on(house: House):
    house.add("a.txt", AGENTS)
    (house.folder / "dumps" / "b.txt").write_bytes(b"\x00\x01\x02\xff" * 100)
    house.add("c.txt", BANDITS)
    result = house.ingest()
    assert [(run.document, run.outcome) for run in result] == [
        ("a.txt", RunOutcome.OK),
        ("b.txt", RunOutcome.FAILED),
        ("c.txt", RunOutcome.OK),
    ]
    assert result[1].error


def test_an_ingest_that_died_goes_on_behind_the_last_chunk(house: House, monkeypatch):
    """The offset is stored with the papers: none is read twice, none is left out."""
    house.add("a.txt", AGENTS, BANDITS, FOLDING)
    monkeypatch.setattr(ingest_stage, "MAX_PAPERS", 2)
    stored = write_papers.apply

    def dies_at_the_second_chunk(*result, **named):
        if len(result[2]) == 1:
            raise KeyboardInterrupt
        return stored(*result, **named)

    monkeypatch.setattr(write_papers, "apply", dies_at_the_second_chunk)
    with pytest.raises(KeyboardInterrupt):
        house.ingest()
    monkeypatch.setattr(write_papers, "apply", stored)
    assert counts(house.ingest()) == [("a.txt", "ok", 1, 1, 0)]
    with house.opened() as app, app.runtime.database.reading() as tx:
        result = runs.since(tx, house.clock.at - timedelta(days=1), house.clock.at)
        assert papers.count(tx) == 3
    assert [(run.outcome.value, run.error, run.new) for run in result] == [
        ("failed", "interrupted", 2),
        ("ok", "", 1),
    ]


def test_a_first_reading_lasts_until_a_whole_pass_has_read_something(house: House):
    """A folder that is empty yet, or half filled, is no first reading of a baseline."""
    house.settings["sources"]["page"]["first_run"] = "baseline"
    house.run()
    house.add("a.txt", AGENTS)
    with house.opened() as app:
        app.once.ingest(on_progress=lambda run: app.runtime.stopping.set())
    house.add("b.txt", (AGENTS[0] + " Again", BANDITS[1] + " By a language agent."))
    house.ingest()
    assert house.next_morning() == {"lab": 0}
    house.add("c.txt", (AGENTS[0] + " at Last", FOLDING[1] + " By a language agent."))
    assert house.next_morning() == {"lab": 1}


@pytest.mark.parametrize("method", ["find", "read"])
def test_a_fault_in_our_own_code_fails_its_source_alone(house: House, monkeypatch, method: str):
    house.settings["sources"]["other"] = house.settings["sources"]["page"]
    house.add("a.txt", AGENTS)
    with house.opened() as app:
        source = app.runtime.sources["page"].source
        monkeypatch.setattr(source, method, lambda _: [1 / 0])
        failed, other = app.once.ingest()
    assert (failed.source, failed.outcome) == ("page", RunOutcome.FAILED)
    assert "ZeroDivisionError" in failed.error
    assert (other.source, other.outcome) == ("other", RunOutcome.OK)


def test_a_source_that_another_process_reads_is_left_to_it(house: House):
    house.add("a.txt", AGENTS)
    with house.opened() as app, locks.source_lock(app.runtime.database, "page"):
        [run] = app.once.ingest()
    assert (run.outcome, run.seen) == (RunOutcome.UNCHANGED, 0)
    assert house.ingest()[0].new == 1


@pytest.fixture
def mirrored(house: House) -> House:
    """A house with a paper, and a topic that looks at another source alone."""
    (house.folder / "mirror").mkdir()
    house.settings["sources"]["mirror"] = {"kind": "huggingface-page", "path": "mirror/*.txt"}
    house.settings["topics"] = {"mirrored": {"query": "agents", "sources": ["mirror"]}}
    house.add("a.txt", AGENTS)
    return house


def test_a_paper_known_from_another_source_still_meets_the_topics_of_this_one(mirrored: House):
    house = mirrored
    house.run()
    assert house.next_morning() == {"lab": 0}
    (house.folder / "dumps" / "a.txt").rename(house.folder / "mirror" / "a.txt")
    assert house.next_morning() == {"lab": 1}
    assert house.next_morning() == {"lab": 0}


def test_a_source_that_tells_of_a_paper_while_it_is_matched_is_heard(mirrored: House, monkeypatch):
    house = mirrored
    matching = sys.modules["monitor.pipeline.match"]
    find = matching.find
    result = []

    with house.opened() as app:
        app.once.ingest(["page"])

        def meanwhile(*asked):
            if not result:
                result.append((house.folder / "dumps/a.txt").rename(house.folder / "mirror/a.txt"))
                ingest(app.runtime, "mirror")
            return find(*asked)

        monkeypatch.setattr(matching, "find", meanwhile)
        assert app.once.match() == 1


def test_explain_names_the_source_that_had_a_paper_before(house: House):
    """The first reading of a library is silent, and so is its paper in every later source."""
    sources = house.settings["sources"]
    sources["page"]["first_run"] = "baseline"
    house.run(AGENTS)
    alone = " ".join(house.command("explain", "1").out.split())
    assert "News none: from the first reading of page (see first_run)" in alone
    (house.folder / "again").mkdir()
    (house.folder / "again" / "1.txt").write_text(dump(AGENTS), encoding="utf-8")
    sources["again"] = {"kind": "huggingface-page", "path": "again/*.txt"}
    house.run()
    both = " ".join(house.command("explain", "1").out.split())
    assert "News none: already known from page, 2026-11-2" in both and "first_run" not in both
