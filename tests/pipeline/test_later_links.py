"""Links that come with a later reading: topics ask for them, and they are no news by themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.store.papers import papers
from tests.house import AGENTS, House
from tests.pipeline.test_signals import arxiv_id, paper_of

CODE = {"githubRepo": "https://github.com/lab/agents"}
PROJECT = {"projectPage": "https://lab.example/agents"}


@pytest.fixture
def linked(house: House) -> House:
    """A house with a topic for papers that have code, which reads papers without votes."""
    (house.folder / "daily").mkdir()
    house.settings["sources"] = {"daily": {"kind": "huggingface", "path": "daily/*.json"}}
    house.settings["topics"] = {"coded": {"query": "agent has:code"}}
    house.run()
    return house


def write(house: House, **links: str) -> None:
    title, abstract = AGENTS
    paper: dict[str, Any] = {"id": arxiv_id(title), "title": title, "summary": abstract, **links}
    (house.folder / "daily" / "a.json").write_text(json.dumps([{"paper": paper}]))


def test_code_that_is_linked_later_is_matched_and_is_no_revision(linked: House) -> None:
    write(linked)
    assert linked.next_morning() == {"lab": 0}
    write(linked, **CODE)
    [run] = linked.ingest()
    assert (run.known, run.revised, run.fresh) == (1, 0, 0)
    assert linked.next_morning() == {"lab": 1}
    assert linked.next_morning() == {"lab": 0}


def test_code_is_matched_that_is_linked_after_a_project_page(linked: House) -> None:
    write(linked, **PROJECT)
    assert linked.next_morning() == {"lab": 0}
    write(linked, **PROJECT, **CODE)
    assert linked.next_morning() == {"lab": 1}
    links = {"code": CODE["githubRepo"], "project": PROJECT["projectPage"]}
    assert paper_of(linked, AGENTS[0]).links == links
    write(linked, **CODE)
    linked.ingest()
    assert paper_of(linked, AGENTS[0]).links == links


def test_a_digest_that_was_sent_is_not_sent_again_for_a_link(linked: House) -> None:
    linked.settings["topics"] = {"agents": {"query": "agent"}}
    write(linked)
    assert linked.next_morning() == {"lab": 1}
    write(linked, **CODE)
    assert linked.next_morning() == {"lab": 0}
    with linked.opened() as app, app.runtime.database.reading() as tx:
        assert papers.count(tx) == 1
