"""What readers answered orders their next digest, and changes nothing else of it."""

from __future__ import annotations

import re

import pytest

from monitor.commands.explain import explain
from monitor.commands.preview import dry_run
from monitor.model import SAVED, UNWANTED, WANTED, Digest, Judgement
from monitor.store import digests, judgements, papers
from monitor.text import title_key
from tests.house import House

ROBOTS = [
    ("Robots that fold laundry with an agent", "An agent folds laundry with soft grippers."),
    ("Soft grippers for laundry robots", "The agent of a robot folds shirts of a laundry."),
    ("An agent for laundry sorting", "Robots sort laundry by colour with grippers."),
]
MARKETS = [
    ("An agent in auctions", "Agents bid in auctions. The market clears by prices."),
    ("Prices and the market agent", "The agent sets prices in a market of auctions."),
    ("Market makers as agents", "An agent makes a market and quotes prices."),
]


@pytest.fixture
def lab(house: House) -> House:
    house.settings["topics"] = {"agents": {"query": "agent"}}
    house.settings["subscriptions"]["lab"]["max"] = 2
    house.add("1.txt", *ROBOTS, *MARKETS)
    house.run()
    house.next_morning()
    return house


def answer(house: House, title: str, verdict: str, who: str = "ada") -> None:
    with house.opened() as app, app.runtime.database.writing() as tx:
        [paper] = papers.by_title_key(tx, title_key(title))
        one = Judgement("lab", "agents", paper.id, who, verdict, house.clock.now(), "test")
        judgements.judge(tx, [one])


def digest(house: House) -> Digest:
    with house.opened() as app, app.runtime.database.reading() as tx:
        found = digests.latest(tx, "lab")
        assert found
        return found[1]


def titles(house: House) -> list[str]:
    return [entry.paper.title for group in digest(house).groups for entry in group.entries]


NEXT = [
    ("An agent repairs bicycles", "An agent repairs bicycles by night."),
    ("A bidding agent", "The agent learns auctions. Prices in the market follow."),
    ("Laundry at home: an agent", "Soft grippers fold laundry. Robots need an agent."),
]


def test_papers_like_the_marked_ones_come_first_and_the_digest_says_why(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    answer(lab, MARKETS[1][0], UNWANTED)
    lab.add("2.txt", *NEXT)
    lab.next_morning()
    assert titles(lab)[0] == NEXT[2][0]
    [group] = digest(lab).groups
    first = group.entries[0]
    assert first.placed.like == ROBOTS[1][0]
    assert first.placed.words
    page = (lab.folder / "pages/lab/2026-11-22.html").read_text()
    article = re.sub(r"\s+", " ", page)
    assert f"like “{ROBOTS[1][0]}”, which you marked; words: " in article
    assert "Ordered by 2 papers you marked." in article
    said = f"{first.paper.title} {first.paper.abstract}"
    assert all(re.search(rf"\b{word}\b", said) for word in first.placed.words)
    assert {entry.paper_id for entry in digest(lab).best(2)} >= {first.paper_id}


def test_explain_shows_place_and_reason(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *NEXT)
    lab.next_morning()
    with lab.opened() as app:
        [sent] = explain(app.runtime, NEXT[2][0]).digests
    assert (sent.place, sent.reason.startswith(f"like “{ROBOTS[1][0]}”")) == (1, True)


def test_the_same_papers_are_in_it_with_any_order(lab: House):
    answer(lab, ROBOTS[0][0], SAVED)
    lab.add("2.txt", *NEXT)
    lab.run()
    lab.clock.move(days=1, hours=2)
    found = {}
    for order in ("learned", "words", "newest"):
        lab.settings["subscriptions"]["lab"]["order"] = order
        with lab.opened() as app:
            app.ingest()
            [one] = dry_run(app.runtime, (), False, pytest.fail)[:1]
        found[order] = one.papers
    assert set(found.values()) == {3}
    lab.settings["subscriptions"]["lab"]["order"] = "words"
    lab.run()
    assert sorted(titles(lab)) == sorted(title for title, _ in NEXT)
    assert not any(e.placed.like for group in digest(lab).groups for e in group.entries)


def test_less_alone_and_ties_do_not_reorder(lab: House):
    answer(lab, ROBOTS[0][0], UNWANTED)
    answer(lab, ROBOTS[1][0], WANTED)
    answer(lab, ROBOTS[1][0], UNWANTED, who="bob")
    lab.add("2.txt", *NEXT)
    lab.next_morning()
    [group] = digest(lab).groups
    assert [entry.score for entry in group.entries] == sorted(
        (entry.score for entry in group.entries), reverse=True
    )
    assert all(entry.placed.standing is None for entry in group.entries)
    assert digest(lab).notes == ()


def test_the_newest_come_first_where_that_is_asked_for(lab: House):
    lab.settings["subscriptions"]["lab"]["order"] = "newest"
    lab.add("2.txt", NEXT[2])
    lab.run()
    lab.clock.move(hours=1)
    lab.add("3.txt", NEXT[0])
    lab.run()
    lab.next_morning()
    assert titles(lab) == [NEXT[0][0], NEXT[2][0]]
