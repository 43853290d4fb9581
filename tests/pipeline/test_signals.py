"""Votes, lists and ranks: stored, asked for by topics, shown, and an order."""

from __future__ import annotations

import json
from datetime import date
from typing import Any
from zlib import crc32

import pytest
from msgspec.structs import replace

from monitor.model import Digest, Paper
from monitor.pipeline.order import Order
from monitor.store.papers import search
from monitor.store.topics import matches
from tests.digest.samples import digest, news
from tests.house import (
    AGENTS,
    APART,
    BANDITS,
    FOLDING,
    House,
    all_papers,
    dump,
    newest_digest,
    reading,
)
from tests.servers.web import Answer, Asked, MisbehavingServer

AGENTS_PAPER = Paper(*AGENTS)
VOTES = {1: None, 2: 0, 3: None, 4: 1}
AGENTS_ONLY = {"agents": {"query": "language AND agent"}}


def other(number: int) -> tuple[str, str]:
    """Another paper: a document with the content of another one is not read."""
    return f"Number {number} of the Bandits", f"{BANDITS[1]} This is trial {number}."


def paper_of(house: House, title: str) -> Paper:
    [paper] = [p.paper for p in house.read(all_papers) if p.paper.title == title]
    return paper


def titles(digest: Digest) -> list[str]:
    return [entry.paper.title for group in digest.groups for entry in group.entries]


@pytest.fixture
def voted(house: House) -> House:
    """A house that reads the daily papers of Hugging Face with their votes."""
    (house.folder / "daily").mkdir()
    house.settings["sources"] = {"daily": {"kind": "huggingface", "path": "daily/*.json"}}
    house.settings["topics"] = {"voted": {"query": "agent votes:>10"}}
    house.run()
    return house


def arxiv_id(title: str) -> str:
    return f"2601.{crc32(title.encode()) % 100_000:05}"


def vote(house: House, *papers: tuple[tuple[str, str], int | None], name: str = "a") -> None:
    """Write a list of papers with their votes."""
    entries: list[dict[str, Any]] = [
        {
            "paper": {
                "id": f"2601.{crc32(title.encode()) % 100_000:05}",
                "title": title,
                "summary": abstract,
            }
        }
        for (title, abstract), _ in papers
    ]
    entries[0]["written for"] = name
    for entry, (_, votes) in zip(entries, papers, strict=True):
        entry["paper"] |= {} if votes is None else {"upvotes": votes}
    (house.folder / "daily" / f"{name}.json").write_text(json.dumps(entries))


# ── what is stored ──────────────────────────────────────────────────────────────────


def test_each_document_is_a_list_with_ranks(house: House) -> None:
    house.run(BANDITS, AGENTS)
    house.clock.move(days=1)
    house.run(AGENTS)
    house.run(AGENTS, FOLDING)
    paper = paper_of(house, AGENTS[0])
    assert [(listed.rank, listed.read) for listed in paper.recent_lists] == [
        (2, date(2026, 11, 21)),
        (1, date(2026, 11, 22)),
        (1, date(2026, 11, 22)),
    ]
    assert len(paper_of(house, BANDITS[0]).recent_lists) == 1


def test_only_lists_of_thirty_days_count(house: House) -> None:
    house.run(AGENTS)
    house.run_after(AGENTS, other(1), days=31)
    assert len(paper_of(house, AGENTS[0]).listed) == 2
    assert len(paper_of(house, AGENTS[0]).recent_lists) == 1
    house.run_after(AGENTS, other(2), days=30)
    assert len(paper_of(house, AGENTS[0]).recent_lists) == 2


def test_a_file_that_grows_is_one_list(house: House) -> None:
    house.add("today.txt", AGENTS)
    house.run()
    house.add("today.txt", BANDITS, AGENTS)
    house.run()
    [listed] = paper_of(house, AGENTS[0]).listed
    assert listed.rank == 2


def test_lists_that_no_longer_count_are_dropped_but_the_first(house: House) -> None:
    house.run(AGENTS)
    for number in range(3):
        house.run_after(AGENTS, other(number), days=20)
    days = [listed.read for listed in paper_of(house, AGENTS[0]).listed]
    assert days == [date(2026, 11, 21), date(2026, 12, 31), date(2027, 1, 20)]


def test_undated_lists_count_from_when_they_were_read(house: House) -> None:
    for number in range(2):
        papers = [(title, " ".join([abstract] * 4)) for title, abstract in (AGENTS, other(number))]
        text = dump(*papers).replace("\nMar 12\n", "")
        (house.folder / "dumps" / f"{number}.txt").write_text(text)
    house.run()
    lists = paper_of(house, AGENTS[0]).recent_lists
    assert [(listed.day, listed.read) for listed in lists] == [(None, date(2026, 11, 21))] * 2


def test_votes_are_refreshed_and_are_no_news(voted: House) -> None:
    voted.settings["topics"] = AGENTS_ONLY
    vote(voted, (AGENTS, 3))
    assert voted.next_morning() == {"lab": 1}
    vote(voted, (AGENTS, 12))
    [run] = voted.ingest()
    assert (run.known, run.revised, run.new) == (1, 0, 0)
    assert paper_of(voted, AGENTS[0]).upvotes == 12
    assert voted.next_morning() == {"lab": 0}


def test_a_paper_is_indexed_again_only_for_new_words(voted: House) -> None:
    vote(voted, (AGENTS, 3))
    voted.ingest()
    for abstract, queued in ((AGENTS[1], []), (f"{AGENTS[1]} And more.", [1])):
        vote(voted, ((AGENTS[0], abstract), 12))
        with voted.opened() as app:
            app.once.ingest()
            assert reading(app.runtime.database, search.waiting, 9) == queued


def test_unchanged_records_are_not_decided_again(
    voted: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    vote(voted, (AGENTS, 3))
    voted.ingest()
    (voted.folder / "daily" / "a.json").write_text(
        (voted.folder / "daily" / "a.json").read_text() + "\n"
    )
    decided: list[int] = []
    monkeypatch.setattr("monitor.pipeline.store_chunk.with_keys", lambda *record: decided.append(1))
    [run] = voted.ingest()
    assert (run.known, decided) == (1, [])


# ── topics ask ──────────────────────────────────────────────────────────────────────


def test_a_paper_is_news_once_when_it_has_the_votes(voted: House) -> None:
    vote(voted, (AGENTS, 3), (BANDITS, 50))
    assert voted.next_morning() == {"lab": 0}
    vote(voted, (AGENTS, 11), (BANDITS, 50))
    assert voted.next_morning() == {"lab": 1}
    assert titles(voted.digest()) == [AGENTS[0]]
    for votes in (12, 2, 40):
        vote(voted, (AGENTS, votes), (BANDITS, 50))
        assert voted.next_morning() == {"lab": 0}


def test_a_paper_is_news_when_it_is_in_the_lists(house: House) -> None:
    house.settings["topics"] = {"often": {"query": "agent lists:>1"}}
    house.run(AGENTS)
    assert house.next_morning(AGENTS, other(1)) == {"lab": 1}
    assert house.next_morning(AGENTS, other(2)) == {"lab": 0}


def test_a_topic_looks_again_at_the_last_thirty_days_only(voted: House) -> None:
    vote(voted, (AGENTS, 3))
    voted.run()
    voted.clock.move(days=29)
    vote(voted, (AGENTS, 11))
    assert voted.next_morning() == {"lab": 1}
    vote(voted, (APART, 3), name="b")
    voted.run()
    voted.clock.move(days=31)
    vote(voted, (APART, 11), name="b")
    assert voted.next_morning() == {"lab": 0}


def test_a_newer_subscription_is_told_of_a_paper_that_now_fits(voted: House) -> None:
    vote(voted, (AGENTS, 3))
    voted.run()
    voted.clock.move(days=15)
    voted.settings["subscriptions"]["new"] = {"topics": ["voted"], "channels": ["pages"]}
    voted.run()
    vote(voted, (AGENTS, 11))
    assert voted.next_morning() == {"lab": 1, "new": 1}


def test_growth_opens_no_older_paper_for_other_topics(voted: House) -> None:
    """A topic that is changed looks back over its own days, whatever grows."""
    vote(voted, (AGENTS, 3))
    voted.run()
    voted.clock.move(days=15)
    voted.run()
    voted.settings["topics"]["plain"] = {"query": "language AND agent"}
    voted.run()
    vote(voted, (AGENTS, 4))
    assert voted.next_morning() == {"lab": 0}


def test_what_grows_while_it_is_matched_is_looked_at_again(voted: House) -> None:
    vote(voted, (AGENTS, 3))
    voted.ingest()
    vote(voted, (AGENTS, 5))
    with voted.opened() as app:
        app.once.ingest()
        database = app.runtime.database
        with database.reading() as tx:
            grown = matches.grown_papers(tx, 10)
        vote(voted, (AGENTS, 11))
        app.once.ingest()
        with database.writing() as tx:
            matches.save_grown(tx, grown, [], voted.clock.now())
            assert [paper.votes for paper in matches.grown_papers(tx, 10)] == [11]
        app.once.match()
        with database.reading() as tx:
            assert not matches.grown_papers(tx, 10)
    assert voted.next_morning() == {"lab": 1}


def test_without_such_topics_what_grew_is_dropped(voted: House) -> None:
    voted.settings["topics"] = AGENTS_ONLY
    for votes in (3, 5):
        vote(voted, (AGENTS, votes))
        voted.ingest()
    assert not voted.read(matches.grown_papers, 10)


# ── the order ───────────────────────────────────────────────────────────────────────


def test_trending_is_by_votes_then_lists_then_rank(voted: House) -> None:
    voted.settings["topics"] = {"all": {"query": "agent OR bandit OR protein"}}
    voted.settings["subscriptions"]["lab"]["order"] = "trending"
    unknown = ("Agents of Whom No Votes Are Known", BANDITS[1])
    vote(voted, (unknown, None), (APART, 3), (BANDITS, 3), (FOLDING, 3), (AGENTS, 9))
    vote(voted, (FOLDING, 3), name="b")
    assert voted.next_morning() == {"lab": 5}
    assert titles(voted.digest()) == [AGENTS[0], FOLDING[0], APART[0], BANDITS[0], unknown[0]]


def test_trending_topics_are_in_the_order_of_their_most_votes(voted: House) -> None:
    rest = {"query": "bandit OR protein"}
    voted.settings["topics"] = {"agents": {"query": "agent"}, "rest": rest}
    voted.settings["subscriptions"]["lab"]["order"] = "trending"
    vote(voted, (AGENTS, 18), (APART, None), (BANDITS, 118), (FOLDING, 103))
    voted.next_morning()
    digest = voted.digest()
    assert [group.topic for group in digest.groups] == ["rest", "agents"]
    assert titles(digest)[:3] == [BANDITS[0], FOLDING[0], AGENTS[0]]
    assert [entry.paper.upvotes for entry in digest.best(3)] == [118, 103, 18]


def test_trending_topics_without_votes_stay_in_their_order() -> None:
    voted = [replace(AGENTS_PAPER, title=f"Paper {n}", upvotes=votes) for n, votes in VOTES.items()]
    groups = digest(
        [
            news(paper, number=n, topic=f"topic {n}", score=10 - n)
            for n, paper in enumerate(voted, 1)
        ]
    ).groups
    assert [group.topic for group in groups] == ["topic 1", "topic 2", "topic 3", "topic 4"]
    placed = Order("trending").place_groups(groups)
    assert [group.topic for group in placed] == ["topic 4", "topic 1", "topic 2", "topic 3"]
    assert Order("words").place_groups(groups) == groups


# ── what readers see ────────────────────────────────────────────────────────────────


def page_of(house: House) -> str:
    [*_, newest] = sorted(
        (house.folder / "pages").rglob("lab/*.html"), key=lambda page: page.stat().st_mtime
    )
    return newest.read_text("utf-8")


def test_a_page_shows_votes_and_lists(voted: House) -> None:
    voted.settings["topics"] = AGENTS_ONLY
    for name in "abc":
        vote(voted, (AGENTS, 12), name=name)
    voted.next_morning()
    assert "in 3 lists · 12 votes" in page_of(voted)


def test_papers_that_came_back_stand_in_one_sentence(house: House) -> None:
    named = ("Planner: " + AGENTS[0], AGENTS[1])
    house.run(named)
    assert house.next_morning() == {"lab": 1}
    assert house.next_morning(named, BANDITS) == {"lab": 0}
    digest = house.read(newest_digest)
    assert digest and not digest.papers
    assert house.run_after(named, APART, days=1) == {"lab": 1}
    digest = house.digest()
    assert titles(digest) == [APART[0]]
    assert [(paper.title, paper.lists) for paper in digest.returned] == [("Planner", 3)]
    assert "Back in today&#39;s lists: Planner, 3 lists." in page_of(house)
    assert house.run_after(BANDITS, FOLDING, days=1) == {"lab": 0}


def test_a_paper_in_its_first_list_has_not_come_back(voted: House) -> None:
    """As papers of a store in which days of lists were not kept yet."""
    voted.settings["topics"] = AGENTS_ONLY
    (voted.folder / "one.bib").write_text(
        f"@article{{a, title={{{AGENTS[0]}}}, abstract={{{AGENTS[1]}}}"
        f", eprint={{{arxiv_id(AGENTS[0])}}}, archiveprefix={{arXiv}}}}"
    )
    voted.settings["sources"]["bib"] = {"kind": "bibtex", "path": "*.bib", "first_run": "deliver"}
    assert voted.next_morning() == {"lab": 1}
    vote(voted, (AGENTS, 3), (APART, 3))
    assert voted.next_morning() == {"lab": 1}
    assert len(paper_of(voted, AGENTS[0]).listed) == 1
    assert not voted.digest().returned


def test_the_json_of_papers_has_votes_lists_and_ranks(voted: House) -> None:
    for name in "ab":
        vote(voted, (BANDITS, 4), (AGENTS, 12), name=name)
    voted.ingest()
    [paper] = voted.command("papers", "votes:>10", "--json").json["papers"]
    assert (paper["title"], paper["votes"], paper["lists"]) == (AGENTS[0], 12, 2)
    assert [(listed["day"], listed["rank"]) for listed in paper["listed"]] == [(None, 2)] * 2


# ── standing questions ──────────────────────────────────────────────────────────────

OLD = {"publishedAt": "2017-06-12T00:00:00.000Z", "summary": AGENTS[1], "upvotes": 4}


def answer(*numbers: int) -> bytes:
    papers = [OLD | {"id": f"1706.0{n:04}", "title": f"Agents Number {n}"} for n in numbers]
    return json.dumps([{"paper": paper, "title": paper["title"]} for paper in papers]).encode()


def test_a_question_is_asked_once_a_reading_and_its_papers_are_new(
    house: House, web: MisbehavingServer
) -> None:
    address = {"url": web.url(""), "allow_private": True}
    asked = {"kind": "huggingface", "query": "agents & games"}
    house.settings["sources"] = {"asked": asked | address}
    house.settings["topics"] = {"agents": {"query": "agents"}}
    target = "/api/papers/search?q=agents+%26+games"
    web.answers(target, body=answer(1, 2))
    house.run()
    assert [request.target for request in web.requests] == [target]
    web.answers(target, body=answer(3, 1, 2))
    assert house.next_morning() == {"lab": 3}
    assert [request.target for request in web.requests] == [target] * 2
    assert {entry.kind for group in house.digest().groups for entry in group.entries} == {"new"}
    listed = paper_of(house, "Agents Number 1").listed
    assert [(one.day, one.rank) for one in listed] == [
        (date(2026, 11, 21), 1),
        (date(2026, 11, 22), 2),
    ]
    web.answers(target, body=answer(1, 3, 2))
    house.run_after(hours=1)
    ranks = [listed.rank for listed in paper_of(house, "Agents Number 1").listed]
    assert ranks == [1, 1]


def test_an_answer_comes_back_only_after_it_was_gone(house: House, web: MisbehavingServer) -> None:
    address = {"url": web.url(""), "allow_private": True}
    house.settings["sources"] = {"asked": {"kind": "huggingface", "query": "agents"} | address}
    house.settings["topics"] = {"agents": {"query": "agents"}}
    target = "/api/papers/search?q=agents"
    web.answers(target, body=answer(1, 2))
    house.run()
    for days, numbers, returned in ((1, (1, 3), 0), (7, (1, 4), 0), (1, (1, 2, 5), 1)):
        web.answers(target, body=answer(*numbers))
        house.run_after(days=days)
        assert len(house.digest().returned) == returned


def test_the_daily_papers_are_one_list_a_day(house: House, web: MisbehavingServer) -> None:
    address = {"url": web.url(""), "allow_private": True}
    house.settings["sources"] = {"daily": {"kind": "huggingface"} | address}

    def decide(request: Asked) -> Answer:
        is_friday = request.query["date"] == "2026-11-20"
        return Answer(body=answer(1, 2) if is_friday else b"[]")

    web.decides("*", decide)
    for _ in range(2):
        house.ingest()
        house.clock.move(days=1)
    [listed] = paper_of(house, "Agents Number 2").listed
    assert (listed.day, listed.rank, listed.source) == (date(2026, 11, 20), 2, "daily")
