"""A line that a machine of a site wrote: it belongs to its source, and changes nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.commands.export import export
from monitor.commands.json_output import paper_json
from monitor.commands.paper_search import FoundPaper, load_found
from monitor.model import DigestPaper
from monitor.store import retention
from monitor.store.digests import digests
from monitor.store.engine import schema
from monitor.store.papers import papers, sightings
from monitor.text import title_key
from tests.house import AGENTS, BANDITS, House
from tests.pipeline.test_signals import arxiv_id

LINE = "Language agents that share written plans need half as many steps on four benchmarks."


@pytest.fixture
def daily(house: House) -> House:
    (house.folder / "daily").mkdir()
    house.settings["sources"] = {"daily": {"kind": "huggingface", "path": "daily/*.json"}}
    house.settings["topics"] = {"agents": {"query": "agents"}}
    house.run()
    return house


def lists(house: House, name: str, line: str, title: tuple[str, str] = AGENTS) -> None:
    paper: dict[str, Any] = {"id": arxiv_id(title[0]), "title": title[0], "summary": title[1]}
    paper |= {"ai_summary": line, "organization": {"name": "sand", "fullname": "Sand University"}}
    (house.folder / "daily" / f"{name}.json").write_text(json.dumps([{"paper": paper}]))


def shown(house: House) -> DigestPaper:
    [group] = house.digest().groups
    return group.entries[0]


def of_store(house: House) -> FoundPaper:
    [paper] = house.read(papers.by_title_key, title_key(AGENTS[0]))
    [found] = house.read(load_found, [paper.id])
    return found


def test_a_digest_shows_the_line_and_keeps_it_when_the_source_changes_it(daily: House) -> None:
    lists(daily, "a", LINE)
    assert daily.next_morning() == {"lab": 1}
    first = shown(daily).note
    assert first and (first.line, first.site) == (LINE, "Hugging Face")
    lists(daily, "b", "Agents share plans in writing and need fewer steps on benchmarks.")
    assert daily.next_morning() == {"lab": 0}, "another line is no news"
    note = of_store(daily).note
    assert note and note.line.startswith("Agents share plans")
    sent = daily.read(digests.get, 1)
    assert sent and sent.groups[0].entries[0].note == first


def test_a_line_that_goes_is_gone_from_the_store(daily: House) -> None:
    lists(daily, "a", LINE)
    daily.next_morning()
    lists(daily, "b", "")
    assert daily.next_morning() == {"lab": 0}
    note = of_store(daily).note
    assert note and not note.line and note.organization == "Sand University"


def test_a_line_is_not_matched(daily: House) -> None:
    daily.settings["topics"] = {"agents": {"query": "benchmarks steps"}}
    line = "Bandits need half as many steps on benchmarks as others."
    lists(daily, "a", line, BANDITS)
    assert daily.next_morning() == {"lab": 0}
    lists(daily, "b", f"{line} Ever so often.", BANDITS)
    assert daily.next_morning() == {"lab": 0}


def test_an_invented_line_is_stored_but_not_shown(daily: House) -> None:
    lists(daily, "a", LINE.replace("four", "seven"))
    daily.next_morning()
    note = shown(daily).note
    assert note and not note.line and note.organization == "Sand University"


def test_a_subscription_may_do_without_lines(daily: House) -> None:
    daily.settings["subscriptions"]["lab"]["lines"] = False
    lists(daily, "a", LINE)
    daily.next_morning()
    assert shown(daily).note is None


def test_json_and_exports_name_the_maker(daily: House) -> None:
    lists(daily, "a", LINE)
    daily.next_morning()
    found = of_store(daily)
    assert paper_json(found)["line"] == {"text": LINE, "by": "Hugging Face"}
    for form in ("bibtex", "ris"):
        assert f"Hugging Face: {LINE}" in "".join(export([found], form))  # type: ignore[arg-type]


def test_clean_up_of_a_paper_removes_its_line(daily: House) -> None:
    lists(daily, "a", LINE)
    daily.next_morning()
    with daily.opened() as app, app.runtime.database.ingesting() as tx:
        later = daily.clock.now()
        tx.execute(sa.update(schema.paper).values(first_seen_at=later.replace(year=2020)))
        assert retention.purge(tx, later, None, later, 9) == 1
        [seen] = sightings.of_papers(tx, [of_store(daily).stored.id]).values()
    assert [sighting.site_note for sighting in seen] == [None]
