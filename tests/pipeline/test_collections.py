"""Libraries and reference lists: read whole, kept apart from papers, left by what is gone."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from monitor.identity.keys import with_keys
from monitor.model import Paper
from monitor.store.papers import papers
from monitor.store.sources import collections
from tests.house import AGENTS, BANDITS, FOLDING, House, dump

ENTRY = """@article{{{key}, title={{{title}}}, author={{Lovelace, Ada}}, year={{2024}}{more}}}
"""


def entry(title: str, key: str = "a", more: str = "") -> str:
    return ENTRY.format(key=key, title=title, more=more)


@pytest.fixture
def library(house: House) -> House:
    (house.folder / "refs").mkdir()
    source = {"kind": "bibtex", "path": "refs/*.bib", "role": "library"}
    house.settings["sources"]["ada-refs"] = source
    return house


def titles(house: House) -> list[str]:
    with house.opened() as app, app.runtime.database.reading() as tx:
        now = house.clock.at
        return sorted(e.paper.title for e in collections.entries(tx, ["ada-refs"], now))


def read(house: House, text: str, name: str = "a.bib") -> None:
    (house.folder / "refs" / name).write_text(text, encoding="utf-8")
    house.ingest()


def test_a_library_makes_nothing_known_or_news(library: House):
    read(library, entry(AGENTS[0]) + entry(BANDITS[0], "b"))
    with library.opened() as app, app.runtime.database.reading() as tx:
        assert papers.count(tx) == 0
    assert library.next_morning() == {"lab": 0}
    library.add("a.txt", AGENTS)
    assert library.next_morning() == {"lab": 1}


def test_entries_that_leave_the_file_leave_the_library_after_an_hour(library: House):
    read(library, entry("First paper") + entry("Second paper", "b"))
    read(library, entry("Second paper", "b") + entry("Third paper", "c"))
    assert titles(library) == ["First paper", "Second paper", "Third paper"]
    library.clock.at += timedelta(hours=1)
    assert titles(library) == ["Second paper", "Third paper"]


def test_what_comes_back_within_the_hour_never_left(library: House):
    whole = entry("First paper") + entry("Second paper", "b")
    read(library, whole)
    read(library, entry("First paper"))
    library.clock.at += timedelta(minutes=20)
    read(library, whole)
    library.clock.at += timedelta(hours=2)
    assert titles(library) == ["First paper", "Second paper"]


@pytest.mark.parametrize("text", ["", "@article{a, title={First", "\n\n"])
def test_a_file_that_is_empty_or_half_written_takes_nothing_out(library: House, text: str):
    read(library, entry("First paper") + entry("Second paper", "b"))
    read(library, text)
    library.clock.at += timedelta(days=1)
    assert titles(library) == ["First paper", "Second paper"]


def test_a_library_that_is_cut_off_is_a_problem_until_it_is_whole(library: House):
    read(library, entry("First paper") + "@article{a, title={Second")
    assert "a.bib: it is cut off, so that no entry leaves the library" in library.problems()[0]
    read(library, entry("First paper"))
    assert library.problems() == ()


def test_a_file_that_is_as_before_it_was_half_written_is_read_again(library: House):
    whole = entry("First paper") + entry("Second paper", "b")
    read(library, whole)
    read(library, entry("First paper, changed") + entry("Third paper", "c") + "@article{d, title={")
    read(library, whole)
    library.clock.at += timedelta(hours=1)
    assert titles(library) == ["First paper", "Second paper"]


def test_works_with_one_key_or_link_or_title_are_entries_of_their_own(library: House):
    read(library, entry("First paper") + entry("Second paper") + entry("Second paper"))
    assert titles(library) == ["First paper", "Second paper"]
    source = {"kind": "jsonl", "path": "refs/*.jsonl", "role": "library"}
    library.settings["sources"]["ada-refs"] = source
    chapters = [{"title": f"Chapter {n}", "url": "https://example.org/book"} for n in "ab"]
    columns = [{"title": "Editorial", "doi": f"10.1000/{n}"} for n in "ab"]
    read(library, "\n".join(map(json.dumps, [*chapters, *columns])), "a.jsonl")
    library.clock.at += timedelta(hours=1)
    assert titles(library) == ["Chapter a", "Chapter b", "Editorial", "Editorial"]


def test_the_entries_of_a_file_that_is_gone_leave_and_return_with_it(library: House):
    read(library, entry("First paper"))
    read(library, entry("Second paper", "b"), "b.bib")
    other = library.folder / "refs" / "b.bib"
    kept = other.read_text()
    other.unlink()
    library.ingest()
    library.clock.at += timedelta(hours=2)
    assert titles(library) == ["First paper"]
    read(library, kept, "b.bib")
    assert titles(library) == ["First paper", "Second paper"]


def test_a_changed_entry_is_found_by_what_it_says_now(library: House):
    read(library, entry("An old title of few words"))
    read(library, entry("Quantum folding of proteins", more=", doi={10.1000/x}"))
    library.clock.at += timedelta(hours=1)
    with library.opened() as app, app.runtime.database.reading() as tx:
        for paper, count in (
            (Paper("An old title of few words", authors=("Ada Lovelace",)), 0),
            (Paper("Another", keys={"doi": "10.1000/X"}), 1),
        ):
            same = collections.find(tx, ["ada-refs"], [with_keys(paper)], library.clock.at)
            assert len(same[0]) == count
            assert collections.find(tx, ["page"], [with_keys(paper)], library.clock.at) == [[]]


def test_an_entry_with_a_month_and_no_day_is_stored(library: House):
    read(library, entry("First paper", more=", month=jun") + entry("Second paper", "b"))
    with library.opened() as app, app.runtime.database.reading() as tx:
        stored = collections.entries(tx, ["ada-refs"], library.clock.at)
    dates = {e.paper.title: (e.paper.month, e.paper.day) for e in stored}
    assert dates == {"First paper": (date(2024, 6, 1), None), "Second paper": (None, None)}


def test_a_growing_jsonl_library_is_read_whole_each_time(library: House):
    source = {"kind": "jsonl", "path": "refs/*.jsonl", "role": "library"}
    library.settings["sources"]["ada-refs"] = source
    records = [json.dumps({"title": f"Paper of number {n}", "raw_id": str(n)}) for n in range(4)]
    read(library, "\n".join(records[:3]) + "\n", "a.jsonl")
    read(library, "\n".join(records[1:]) + "\n", "a.jsonl")
    read(library, "\n".join(records[1:]) + "\n", "a.jsonl")
    library.clock.at += timedelta(hours=2)
    assert titles(library) == [f"Paper of number {n}" for n in (1, 2, 3)]


def test_a_paper_known_before_its_source_became_a_library_stays_known(library: House):
    source = library.settings["sources"]["ada-refs"]
    text = entry(FOLDING[0], more=f", abstract={{{FOLDING[1]}}}")
    del source["role"]
    read(library, text)
    source["role"] = "library"
    read(library, text)
    (library.folder / "dumps" / "a.txt").write_text(dump(FOLDING), encoding="utf-8")
    assert [run.new for run in library.ingest() if run.source == "page"] == [0]
