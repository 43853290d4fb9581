"""The libraries of subscriptions: what digests mark or leave out, and for whom."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.model import Digest
from monitor.store.topics import matches
from tests.house import AGENTS, APART, BANDITS, House
from tests.pipeline.test_collections import entry

MARK = "in your library"


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, house: House) -> House:
    """A house with two libraries, of which `lab` names one."""
    if request.param == "postgresql":
        house.settings["store"] = request.getfixturevalue("postgres_url")
    (house.folder / "refs").mkdir()
    for name in ("ada", "bob"):
        source = {"kind": "bibtex", "path": f"refs/{name}.bib", "role": "library"}
        house.settings["sources"][f"{name}-refs"] = source
    house.settings["subscriptions"]["lab"]["libraries"] = "ada-refs"
    return house


def keep(house: House, *papers: tuple[str, str], by: str = "ada") -> None:
    """Write a library with these papers."""
    keyed = enumerate(papers)
    text = "".join(entry(title, f"k{n}", f", abstract={{{text}}}") for n, (title, text) in keyed)
    (house.folder / "refs" / f"{by}.bib").write_text(text, encoding="utf-8")


def shown(digest: Digest) -> dict[str, bool]:
    """Return the papers of a digest, and whether each is marked."""
    return {e.paper.title: e.owned for group in digest.groups for e in group.entries}


def waiting(house: House, name: str = "lab") -> int:
    return house.read(matches.waiting, name, house.clock.at)


def test_a_paper_of_the_library_is_marked(home: House):
    keep(home, AGENTS, BANDITS)
    home.run()
    assert home.next_morning(AGENTS, APART) == {"lab": 2}
    assert shown(home.digest()) == {AGENTS[0]: True, APART[0]: False}
    [page] = [p.read_text() for p in home.folder.glob("pages/**/*.html") if "index" not in p.name]
    assert page.count(MARK) == 1


def test_each_person_sees_their_own_library_alone(home: House):
    subscriptions = home.settings["subscriptions"]
    subscriptions["bob"] = {"topics": ["*"], "channels": ["pages"], "libraries": "bob-refs"}
    subscriptions["eve"] = {"topics": ["*"], "channels": ["pages"]}
    subscriptions["all"] = subscriptions["eve"] | {"libraries": ["bob-refs", "ada-refs"]}
    keep(home, AGENTS)
    keep(home, AGENTS, APART, by="bob")
    home.run()
    assert set(home.next_morning(AGENTS, APART).values()) == {2}
    marked = {name: set(shown(home.digest(name)).values()) for name in subscriptions}
    assert marked == {"lab": {True, False}, "bob": {True}, "eve": {False}, "all": {True}}


@pytest.mark.parametrize("quiet", ["skip", "send"])
def test_papers_left_out_are_counted_and_never_news_again(home: House, quiet: str):
    home.settings["subscriptions"]["lab"] |= {"owned": "skip", "quiet": quiet}
    keep(home, AGENTS)
    home.run()
    assert home.next_morning(AGENTS) == {"lab": 0}
    digest = home.digest()
    assert digest.notes == ("Left out: 1 paper of your library.",)
    assert shown(digest) == {}
    assert waiting(home) == 0
    keep(home, BANDITS)
    home.ingest()
    home.clock.move(hours=2)
    assert home.next_morning(APART) == {"lab": 1}
    assert shown(home.digest()) == {APART[0]: False}
    assert home.digest().notes == ()


def test_what_was_left_out_of_a_digest_that_reached_no_one_stays_left_out(
    home: House,
):
    home.by_mail(1)  # where nothing listens
    home.settings["subscriptions"]["lab"]["owned"] = "skip"
    keep(home, AGENTS)
    home.run()
    assert home.next_morning(AGENTS, APART) == {"lab": 1}
    keep(home, BANDITS)
    home.ingest()
    home.clock.move(hours=2)
    assert home.next_morning() == {"lab": 1}
    assert shown(home.digest()) == {APART[0]: False}
    assert home.digest().left_out == ()


def test_the_library_counts_as_it_is_when_the_digest_is_made(home: House):
    keep(home, AGENTS, APART)
    home.run(AGENTS, APART)
    keep(home, APART)
    home.ingest()
    home.clock.at += timedelta(hours=1)
    assert home.next_morning() == {"lab": 2}
    assert shown(home.digest()) == {AGENTS[0]: False, APART[0]: True}
