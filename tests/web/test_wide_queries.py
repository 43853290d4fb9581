"""Queries that are more work than pages do for one, and what goes on beside them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from monitor.commands import query_bounds
from monitor.match import Query, Synonyms, parse_query
from monitor.web.pages import search
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.web.conftest import pages
from tests.web.test_search_pages import found

WITH_STARS = "agents OR pl* OR th* OR zz*"
NEAR = '"agents th*"~100 OR bandit'
PAGES_WITH_A_FORM = ("/papers", "/try")
OTHERS = ("/papers.csv", "/papers.json", "/api/v1/papers", "/api/v1/topics/try")


def ask(client: httpx.Client, path: str, query: str) -> httpx.Response:
    return client.get(path, params={"q": query})


@pytest.mark.parametrize("path", [*PAGES_WITH_A_FORM, *OTHERS])
def test_words_with_stars_that_stand_for_too_much_are_named(
    asked: httpx.Client, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    assert ask(asked, path, WITH_STARS).status_code == 200
    monkeypatch.setattr(query_bounds, "MOST_ENTRIES", 10)
    answer = ask(asked, path, f"{WITH_STARS} OR other")
    assert answer.status_code == 400
    assert "the 3 beginnings with * occur about 11 times" in answer.text.lower()
    assert "th* stands for 5 words in the newest 3 papers" in answer.text
    if path in PAGES_WITH_A_FORM:
        assert "Write more letters before *, or leave some out." in answer.text
        assert "in a shell" not in answer.text
    elif not path.startswith("/api/"):
        assert "write more letters before *" in answer.text
    if path.startswith("/api/") or path.endswith(".json"):
        assert answer.json()["position"] == WITH_STARS.index("th*")
    # a word without a star is looked up in any case
    assert ask(asked, path, "agents").status_code == 200


@pytest.mark.parametrize("path", OTHERS[:3])
def test_a_query_that_leaves_too_many_papers_to_read_names_its_widest_part(
    lived: House, asked: httpx.Client, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    assert ask(asked, path, NEAR).status_code == 200
    lived.clock.move(minutes=1)  # answers are kept for some seconds
    monkeypatch.setattr(query_bounds, "MOST_READ", 10)
    answer = ask(asked, path, NEAR)
    assert answer.status_code == 400
    assert "more than 1 papers may match" in answer.text.lower()
    assert "~100 leaves 33% of the newest 3 papers" in answer.text
    assert ask(asked, path, "agents OR bandit").status_code == 200
    # Pages that may end early look at fewer papers.
    first = ask(asked, "/papers", NEAR)
    assert first.status_code == 200 and "Look further back" in first.text
    tried = ask(asked, "/api/v1/topics/try", NEAR).json()
    assert any("only the newest" in warning for warning in tried["warnings"])


def test_a_topic_is_shown_and_matched_however_wide(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_bounds, "MOST_ENTRIES", 1)
    monkeypatch.setattr(query_bounds, "MOST_READ", 1)
    house.settings["topics"]["agents"] = {"query": f"{WITH_STARS} OR {NEAR}"}
    house.add("1.txt", AGENTS, BANDITS, FOLDING)
    house.run()
    with pages(house) as (_, client):
        shown = client.get("/topics/agents")
        assert shown.status_code == 200 and "<code>zz*</code>" in shown.text
        assert sorted(found(shown)) == sorted(title for title, _ in (AGENTS, BANDITS, FOLDING))


def test_other_pages_are_answered_while_searches_take_long(
    lived: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()
    release = threading.Event()

    def take_long(query: str, synonyms: Synonyms) -> Query:
        begun.set()
        assert release.wait(60)
        return parse_query(query, synonyms)

    monkeypatch.setattr(search, "parse_query", take_long)
    with pages(lived) as (_, client), ThreadPoolExecutor(10) as visitors:
        searches = [visitors.submit(ask, client, "/papers", f"agent{n}") for n in range(10)]
        try:
            assert begun.wait(60)
            for path in ("/", "/digests", "/status", "/sources", "/topics", "/metrics"):
                assert client.get(path, timeout=30).status_code == 200, path
            assert client.get("/healthz", timeout=30).json()["checks"]
            assert not any(search.done() for search in searches)
        finally:
            release.set()
        assert {search.result().status_code for search in searches} == {200}
