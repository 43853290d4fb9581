"""The libraries of subscriptions: what digests mark or leave out, and for whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from monitor.commands.explain import explain, known_from
from monitor.commands.ratings import RaterScope, rate
from monitor.commands.status import status
from monitor.model import Digest
from monitor.pipeline.cleanup import upkeep
from monitor.store.engine import schema
from monitor.store.topics import matches
from tests.house import AGENTS, APART, BANDITS, FOLDING, House
from tests.pipeline.test_collections import entry

MARK = "in your library"


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, house: House) -> House:
    """A house whose `lab` has a library."""
    if request.param == "postgresql":
        house.settings["store"] = request.getfixturevalue("postgres_url")
    (house.folder / "refs").mkdir()
    source = {"kind": "bibtex", "path": "refs/ada.bib", "role": "library"}
    house.settings["sources"]["ada-refs"] = source
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
    sources = home.settings["sources"]
    subscriptions = home.settings["subscriptions"]
    sources["bob-refs"] = sources["ada-refs"] | {"path": "refs/bob.bib"}
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
    with home.opened() as app:
        [lab] = status(app.runtime).subscriptions
    assert lab.why.startswith("nothing matched today at ")
    assert lab.why.endswith(" but 1 paper of your library")
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


def test_examples_order_papers_as_wanted_ones_and_a_rating_wins(home: House):
    lab = home.settings["subscriptions"]["lab"]
    home.settings["subscriptions"]["bob"] = dict(lab)
    lab["examples"] = True
    home.settings["topics"]["agents"]["query"] = "trials OR chain OR agents"
    keep(home, ("A bandit in a trial of exploration", BANDITS[1]), FOLDING)
    home.run()
    home.next_morning(AGENTS, BANDITS, FOLDING)
    [note] = home.digest().notes
    assert note == "Ordered by 2 papers of your library."
    placed = {e.paper.title: e.placed.score for g in home.digest().groups for e in g.entries}
    assert placed[FOLDING[0]] > placed[AGENTS[0]]
    assert home.digest("bob").notes == ()
    with home.opened() as app:
        scope = RaterScope("lab", who="ada@example.org")
        rate(app.runtime, FOLDING[0], "down", scope, how="cli")
    home.next_morning(APART)
    [note] = home.digest().notes
    assert note == "Ordered by 1 paper of your library and 1 paper you marked."


def test_a_library_is_no_source_of_news_where_people_read(home: House):
    keep(home, AGENTS, BANDITS)
    home.run()
    home.next_morning(AGENTS)
    assert [source.source for source in home.digest().report] == ["page"]
    with home.opened() as app:
        known = explain(app.runtime, AGENTS[0])
        day = "22 Nov 2026"
        sentence = f"in the library ada-refs, news from page since {day}"
        assert known_from(known, "UTC") == sentence
        hidden = explain(app.runtime, AGENTS[0], libraries=())
        assert known_from(hidden, "UTC") == ""
        [_, library] = status(app.runtime).sources
    assert (library.role, library.entries, library.state) == (
        "library",
        2,
        "unchanged, library of 2",
    )


def test_a_library_that_fails_is_a_problem_and_its_silence_is_none(home: House):
    keep(home, AGENTS)
    for _ in range(20):
        home.run_after(days=1)
    assert home.problems() == ()
    (home.folder / "refs" / "ada.bib").unlink()
    home.run()
    assert "ada-refs" in "".join(home.problems())


def test_a_library_that_is_no_longer_configured_is_deleted(home: House):
    keep(home, AGENTS, BANDITS)
    home.run()
    del home.settings["sources"]["ada-refs"]
    del home.settings["subscriptions"]["lab"]["libraries"]
    with home.opened() as app:
        upkeep(app.runtime)
        with app.runtime.database.reading() as tx:
            for table in (schema.collection, schema.collection_entry, schema.collection_key):
                assert tx.scalar(sa.select(sa.func.count()).select_from(table)) == 0


def test_broken_entries_and_duplicates_cost_only_themselves(home: House):
    text = entry(AGENTS[0]) + "@article{broken, title=\n" + entry(BANDITS[0], "b")
    twice = entry(BANDITS[0], "c", ", doi={10.1000/x}")
    (home.folder / "refs" / "ada.bib").write_text(text + twice, encoding="utf-8")
    [run] = [run for run in home.ingest() if run.source == "ada-refs"]
    assert (run.outcome, run.rejected) == ("ok", 1)
    assert "line" in run.set_aside[0].where
    assert home.next_morning(BANDITS) == {"lab": 0}
    assert home.next_morning(AGENTS) == {"lab": 1}
