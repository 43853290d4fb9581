"""Libraries and reference lists: read whole, kept apart from papers, left by what is gone."""

from __future__ import annotations

import hashlib
import json
from datetime import date, timedelta

import pytest
import sqlalchemy as sa

from monitor.identity.keys import with_keys
from monitor.model import Paper
from monitor.store.engine import schema
from monitor.store.papers import papers
from monitor.store.sources import collections
from tests.house import AGENTS, BANDITS, FOLDING, House, dump
from tests.servers.web import Answer, Asked, MisbehavingServer
from tests.store.test_migrate import migration

BARE = "Second thoughts about slender turbulent granular vortices under pressure"
KEYS = sa.union_all(
    sa.select(schema.collection_key), sa.select(schema.collection_new_key)
).subquery()

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


def test_the_entries_of_the_last_file_leave_an_hour_later_and_return_with_it(library: House):
    read(library, entry("First paper"))
    file = library.folder / "refs" / "a.bib"
    kept = file.read_text()
    file.unlink()
    library.ingest()
    library.clock.at += timedelta(minutes=59)
    assert titles(library) == ["First paper"]
    library.clock.at += timedelta(minutes=1)
    assert titles(library) == []
    library.ingest()
    assert library.read(collections.counts) == {}
    read(library, kept)
    assert titles(library) == ["First paper"]


@pytest.mark.parametrize("role", ["library", "reference"])
def test_a_folder_that_is_empty_or_gone_for_less_than_an_hour_loses_nothing(
    library: House, role: str
):
    library.settings["sources"]["ada-refs"]["role"] = role
    read(library, entry("First paper"))
    folder = library.folder / "refs"
    elsewhere = library.folder / "disk"
    folder.rename(elsewhere)
    folder.mkdir()
    library.ingest()
    assert titles(library) == ["First paper"]
    library.clock.at += timedelta(minutes=59)
    folder.rmdir()
    library.ingest()
    assert "there is no folder" in library.problems()[0]
    elsewhere.rename(folder)
    library.ingest()
    library.clock.at += timedelta(days=1)
    assert titles(library) == ["First paper"]


def test_nothing_leaves_while_a_folder_is_missing(library: House):
    read(library, entry("First paper"))
    (library.folder / "refs").rename(library.folder / "disk")
    for _ in range(3):
        library.clock.at += timedelta(hours=2)
        library.ingest()
    assert titles(library) == ["First paper"]


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


# ── another role ────────────────────────────────────────────────────────────────────


def become(house: House, role: str, **settings: object) -> list[int]:
    """Give the source another role, and return how many records each run over it saw."""
    source = house.settings["sources"]["ada-refs"]
    source.update({"role": role, **settings})
    return [run.seen for run in house.ingest() if run.source == "ada-refs"]


def as_jsonl(house: House, *found: dict[str, object]) -> None:
    house.settings["sources"]["ada-refs"] |= {"kind": "jsonl", "path": "refs/*.jsonl"}
    read(house, "".join(json.dumps(one) + "\n" for one in found), "a.jsonl")


def known(house: House) -> int:
    return house.read(papers.count)


@pytest.mark.parametrize("is_dump", [True, False])
def test_an_unchanged_file_of_a_library_is_read_when_it_becomes_news(library: House, is_dump: bool):
    if is_dump:
        as_jsonl(library, {"title": "First paper"}, {"title": "Second paper"})
    else:
        read(library, entry("First paper") + entry("Second paper", "b"))
    assert become(library, "news", first_run="deliver") == [2]
    assert known(library) == 2
    assert become(library, "news") == [0]


def test_a_library_that_becomes_news_is_read_for_the_first_time(library: House):
    """Thousands of references are no news by a change of the configuration."""
    read(library, entry(AGENTS[0]))
    become(library, "news")
    assert library.next_morning() == {"lab": 0} and known(library) == 1
    read(library, entry(AGENTS[0]) + entry(BANDITS[0], "b"))
    library.settings["topics"] = {"bandits": {"query": "bandits"}}
    assert library.next_morning() == {"lab": 1}


def test_news_that_was_a_library_for_a_while_is_not_read_for_the_first_time_again(library: House):
    library.settings["topics"] = {"bandits": {"query": "bandits"}}
    del library.settings["sources"]["ada-refs"]["role"]
    read(library, entry(AGENTS[0]))
    become(library, "library")
    read(library, entry(AGENTS[0]) + entry(BANDITS[0], "b"))
    assert titles(library) == [BANDITS[0], AGENTS[0]]
    assert become(library, "news") == [2]
    assert library.next_morning() == {"lab": 1}


@pytest.mark.parametrize("is_dump", [True, False])
def test_an_unchanged_file_of_news_is_read_when_it_becomes_a_library(library: House, is_dump: bool):
    del library.settings["sources"]["ada-refs"]["role"]
    if is_dump:
        as_jsonl(library, {"title": "First paper"})
    else:
        read(library, entry("First paper"))
    for role, seen in (("library", [1]), ("library", [0]), ("news", [0] if not is_dump else [1])):
        assert become(library, role) == seen, role
    assert titles(library) == ["First paper"] and known(library) == 1


@pytest.mark.parametrize("is_dump", [True, False])
def test_a_list_that_becomes_a_library_has_all_of_its_records_and_back(
    library: House, is_dump: bool
):
    words = " ".join(f"word{n}" for n in range(60))
    title = "Quantum folding of long and slender protein chains in water"
    if is_dump:
        as_jsonl(library, {"title": title, "abstract": words}, {"title": BARE})
    else:
        both = entry(title, more=f", abstract={{{words}}}") + entry(BARE, "b")
        read(library, both)
    stored = library.read(collections.entries, ["ada-refs"], library.clock.at)
    for role in ("reference", "library", "reference"):
        assert become(library, role) == [2]
        entries = library.read(collections.entries, ["ada-refs"], library.clock.at)
        assert {e.id for e in entries} == {e.id for e in stored}
        lengths = {len(e.paper.abstract.split()) for e in entries if e.paper.title == title}
        assert lengths == {60 if role == "library" else collections.MAX_WORDS}
        keys = library.read(lambda tx: tx.scalar(sa.select(sa.func.count()).select_from(KEYS)))
        of_role = collections._all_keys_of if role == "library" else collections._compact_keys_of
        assert keys == sum(len(of_role(e.paper)) for e in entries)
        assert become(library, role) == [0]


def test_a_page_that_says_not_modified_is_fetched_whole_for_another_role(
    library: House, web: MisbehavingServer
):
    line = json.dumps({"title": "First paper"}).encode() + b"\n"

    def answer(request: Asked) -> Answer:
        if "if-none-match" in request.headers:
            return Answer(304, headers={"ETag": '"1"'})
        return Answer(body=line, headers={"ETag": '"1"'})

    web.decides("*", answer)
    source = {"kind": "jsonl", "url": web.url("/a.jsonl"), "allow_private": True}
    library.settings["sources"]["ada-refs"] = source
    assert become(library, "library") == [1]
    assert become(library, "library") == [0]
    assert become(library, "news") == [1]
    assert become(library, "news") == [0]
    assert known(library) == 1


@pytest.mark.parametrize("file", ["a.bib", "a.jsonl"])
def test_a_library_of_an_older_store_is_read_when_it_becomes_news(library: House, file: str):
    text = entry("First paper") if file == "a.bib" else json.dumps({"title": "First paper"})
    kind = "bibtex" if file == "a.bib" else "jsonl"
    library.settings["sources"]["ada-refs"] |= {"kind": kind, "path": f"refs/{file}"}
    read(library, text, file)
    library.ingest(AGENTS)
    with library.opened() as app, app.runtime.database.writing() as tx:
        content = hashlib.sha256(text.encode()).hexdigest()
        old = {"source": "ada-refs", "content_hash": content, "name": file, "offset": 1}
        tx.execute(sa.insert(schema.document), old | {"finished": True, "at": library.clock.at})
        for table in (schema.source, schema.dump):
            tx.execute(sa.update(table).values(as_news=True))
        migration("role_of_readings").module.part_readings(tx)
        first = dict(
            map(tuple, tx.execute(sa.select(schema.source.c.name, schema.source.c.as_news)))
        )
        documents = set(tx.scalars(sa.select(schema.document.c.source)))
    assert first == {"page": True, "ada-refs": False} and documents == {"page"}
    assert become(library, "news") == [1]
    assert known(library) == 2
