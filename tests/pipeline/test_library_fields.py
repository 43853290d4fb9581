"""What libraries fill in where papers are shown: for their readers alone, and never stored."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.channels.file import Pages
from monitor.commands.shown_papers import past_digest
from monitor.digest.links import title_link
from monitor.model import DigestPaper, StoredPaper
from monitor.store import retention
from monitor.store.digests.suppressions import suppress
from tests.house import AGENTS, APART, BANDITS, House, all_papers
from tests.pipeline.test_collections import entry
from tests.pipeline.test_failures import broken, retry
from tests.servers.smtp import ScriptedSmtp

ARXIV = "2401.01234"
PAGE = f"https://arxiv.org/abs/{ARXIV}"
ADA = ("Ada Lovelace",)
EMPTY = ((), None, "", {})


def shown(paper: DigestPaper | StoredPaper) -> tuple[object, ...]:
    """Return what libraries may fill in of a paper."""
    of = paper.paper
    return of.authors, of.year, of.url, of.keys


def only_paper(house: House, name: str = "lab") -> DigestPaper:
    [paper] = [e for group in house.digest(name).groups for e in group.entries]
    return paper


def past_paper(house: House, name: str = "lab") -> DigestPaper:
    """Return the only paper of a subscription's last digest, as pages show it now."""
    with house.opened() as app:
        digest = past_digest(app.runtime, name, house.digest(name).period)
    [paper] = [e for group in digest.groups for e in group.entries]
    return paper


def pages(house: House, name: str) -> str:
    """Return the pages of all digests of a subscription that were written to its folder."""
    written = (house.folder / "pages" / name).glob("*.html")
    return "".join(page.read_text("utf-8") for page in written)


def in_library(more: str = f"eprint={{{ARXIV}}}, eprinttype={{arxiv}}", key: str = "a") -> str:
    return entry(AGENTS[0], key, f", abstract={{{AGENTS[1]}}}, {more}")


def keep(house: House, text: str, name: str = "ada-refs") -> None:
    (house.folder / "refs" / f"{name}.bib").write_text(text, encoding="utf-8")


def add_library(house: House, name: str) -> None:
    source = {"kind": "bibtex", "path": f"refs/{name}.bib", "role": "library"}
    house.settings["sources"][name] = source


def add_source(house: House, *records: dict[str, Any], name: str = "feed") -> None:
    path: Path = house.folder / f"{name}.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    house.settings["sources"][name] = {"kind": "jsonl", "path": path.name, "first_run": "deliver"}


@pytest.fixture
def home(house: House) -> House:
    """A house whose `lab` has a library, and whose `eve` has none."""
    (house.folder / "refs").mkdir()
    add_library(house, "ada-refs")
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"]["eve"] = dict(lab)
    lab["libraries"] = "ada-refs"
    keep(house, in_library())
    house.run()
    return house


@pytest.mark.parametrize("role", ["libraries", "guard"])
def test_a_digest_shows_what_its_library_has_and_the_store_does_not(home: House, role: str) -> None:
    lab = home.settings["subscriptions"]["lab"]
    lab[role] = lab.pop("libraries")
    home.next_morning(AGENTS)
    paper = only_paper(home)
    assert shown(paper) == (ADA, 2024, PAGE, {"arxiv": (ARXIV,)})
    assert title_link(paper.paper, "").url == PAGE
    assert PAGE in pages(home, "lab")
    [stored] = home.read(all_papers)
    assert shown(stored) == EMPTY


def test_readers_of_another_subscription_see_none_of_it(home: House) -> None:
    """Also in the same run, whose lines are kept from one digest to the next."""
    home.next_morning(AGENTS)
    paper = only_paper(home, "eve")
    assert shown(paper) == EMPTY
    assert title_link(paper.paper, "").search
    assert ARXIV in pages(home, "lab") and "Lovelace" in pages(home, "lab")
    assert ARXIV not in pages(home, "eve") and "Lovelace" not in pages(home, "eve")


def test_topics_do_not_look_at_what_a_library_has(home: House) -> None:
    home.settings["topics"] |= {
        "agents": {"query": "language OR author:lovelace"},
        "ada": {"query": "author:lovelace"},
    }
    home.next_morning(AGENTS)
    paper = only_paper(home)
    assert [topic.topic for topic in paper.matched] == ["agents"]
    assert {why.field for why in paper.reasons} == {"title", "abstract"}


def test_what_a_source_gives_stays(home: House) -> None:
    url = "https://example.org/agents"
    add_source(
        home,
        {"title": AGENTS[0], "abstract": AGENTS[1], "authors": ["A. Lovelace"], "url": url},
    )
    home.next_morning()
    assert shown(only_paper(home)) == (("A. Lovelace",), 2024, url, {})
    assert only_paper(home).from_library.fields == ("year",)


def test_an_entry_with_the_papers_identifier_comes_before_one_that_is_like_it(home: House) -> None:
    other = in_library("doi={10.5555/other}", "b").replace("Lovelace, Ada", "Byron, Ada")
    named = in_library("doi={10.5555/agents}", "c").replace("Lovelace, Ada", "King, Ada")
    keep(home, other + named)
    add_source(home, {"title": AGENTS[0], "abstract": AGENTS[1], "doi": "10.5555/agents"})
    home.next_morning()
    assert only_paper(home).paper.authors == ("Ada King",)


def test_entries_that_contradict_each_other_fill_in_nothing(home: House) -> None:
    add_library(home, "more-refs")
    home.settings["subscriptions"]["lab"]["libraries"] = ["ada-refs", "more-refs"]
    other = in_library("eprint={2402.99999}, eprinttype={arxiv}")
    keep(home, other.replace("Lovelace, Ada", "Turing, Alan"), "more-refs")
    home.next_morning(AGENTS)
    assert only_paper(home).owned
    assert shown(only_paper(home)) == EMPTY


def test_an_identifier_of_another_paper_is_none_of_this_one(home: House) -> None:
    add_source(home, {"title": BANDITS[0], "abstract": BANDITS[1], "arxiv": ARXIV})
    home.ingest()
    home.next_morning(AGENTS)
    assert only_paper(home).owned
    assert shown(only_paper(home)) == EMPTY


def test_a_past_digest_is_bare_for_those_who_no_longer_have_the_library(home: House) -> None:
    home.next_morning(AGENTS)
    assert past_paper(home) == only_paper(home)
    del home.settings["subscriptions"]["lab"]["libraries"]
    bare = past_paper(home)
    assert shown(bare) == EMPTY
    assert bare.from_library is None
    assert only_paper(home).paper.authors == ADA, "what was sent stays as it was"


def test_a_digest_that_is_rendered_again_is_bare_without_the_library(home: House) -> None:
    """Its recipients may be others than those for whom it was composed."""
    home.by_mail(1)  # where nothing listens
    home.settings["subscriptions"]["lab"]["channels"] = ["pages"]
    del home.settings["subscriptions"]["eve"]
    with broken(Pages):
        home.next_morning(AGENTS)
    assert only_paper(home).from_library
    del home.settings["subscriptions"]["lab"]["libraries"]
    retry(home)
    assert AGENTS[0][:10] in pages(home, "lab").replace("<mark>", "").replace("</mark>", "")
    assert "Lovelace" not in pages(home, "lab")


def test_papers_of_a_pause_are_listed_bare_without_the_library(
    home: House, smtp: ScriptedSmtp
) -> None:
    home.by_mail(smtp.port, "ada@example.org", "bo@example.org")
    with home.opened() as app, app.runtime.database.writing() as tx:
        end = home.clock.at + timedelta(hours=30)
        suppress(tx, "ada@example.org", "lab", home.clock.at, until=end, how="link")
    home.next_morning(AGENTS)
    assert only_paper(home).from_library
    del home.settings["subscriptions"]["lab"]["libraries"]
    home.next_morning(APART)
    mails = [mail.message for mail in smtp.received if mail.recipient == "ada@example.org"]
    texts = [mail.get_body(("plain",)).get_content() for mail in mails]
    assert any("while paused" in text and "Plan Together\r\n" in text for text in texts), texts
    assert not any("Lovelace" in text or ARXIV in text for text in texts)


def test_texts_that_clean_up_removes_do_not_come_back_from_a_library(home: House) -> None:
    home.next_morning(AGENTS)
    with home.opened() as app, app.runtime.database.ingesting() as tx:
        before = home.clock.at + timedelta(days=1)
        assert retention.prune_bodies(tx, before, 9) > 0
    paper = past_paper(home)
    assert (shown(paper), paper.from_library) == (EMPTY, None)
    assert paper.reasons, "it is explained again"
