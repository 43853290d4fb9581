"""Reference lists: what papers lack is filled in from them, and nothing is news or known by it."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from monitor.commands.explain import explain, known_from
from monitor.commands.status import sources_status
from monitor.model import Run, StoredPaper
from monitor.pipeline import reference_lists
from monitor.store.engine import schema
from tests.house import AGENTS, BANDITS, FOLDING, House, all_papers

SOURCE = {"kind": "jsonl", "path": "lists/*.json*", "role": "reference"}
LIST = "arxiv-snapshot"


def row(of: tuple[str, str], number: str = "2401.00001", **more: Any) -> dict[str, Any]:
    """Return a row of arXiv's snapshot."""
    return {
        "id": number,
        "title": of[0],
        "abstract": f"  {of[1]}\n",
        "authors_parsed": [["Lovelace", "Ada", ""], ["Turing", "Alan", ""]],
        "categories": "cs.AI cs.LG",
        "versions": [{"version": "v1", "created": "Mon, 1 Jan 2024 10:00:00 GMT"}],
        "update_date": "2024-01-02",
    } | more


def listed(house: House, *rows: object, name: str = "a.json", source: str = LIST) -> list[Run]:
    """Write a reference list, and read it."""
    settings = house.settings["sources"].setdefault(source, SOURCE | {"preset": LIST})
    folder = house.folder / settings["path"].split("/")[0]
    folder.mkdir(exist_ok=True)
    lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return house.ingest()


def stored(house: House, title: str = AGENTS[0]) -> StoredPaper:
    [paper] = [paper for paper in house.read(all_papers) if paper.paper.title == title]
    return paper


def lists_of(house: House, title: str = AGENTS[0]) -> dict[str, tuple[str, ...]]:
    """Return what each reference list filled in of a paper."""
    with house.opened() as app:
        seen = explain(app.runtime, title).origin.sightings
    return {sighting.source: sighting.filled for sighting in seen if sighting.filled}


def test_a_paper_gets_its_link_when_it_comes(house: House):
    listed(house, row(AGENTS), row(BANDITS, "2401.00002"))
    house.ingest(AGENTS, FOLDING)
    paper = stored(house).paper
    assert paper.url == "https://arxiv.org/abs/2401.00001"
    assert paper.authors == ("Ada Lovelace", "Alan Turing")
    assert paper.categories == ("cs.AI", "cs.LG")
    assert paper.published and paper.published.year == 2024
    assert paper.abstract == AGENTS[1] and paper.version is None and paper.updated is None
    assert lists_of(house) == {LIST: ("link", "authors", "date", "categories")}
    assert stored(house, FOLDING[0]).paper.url == ""
    assert len(house.read(all_papers)) == 2
    with house.opened() as app:
        states = {source.name: source.state for source in sources_status(app.runtime)}
    assert states[LIST] == "unchanged, reference list of 2"


def test_explain_says_where_the_link_is_from(house: House):
    listed(house, row(AGENTS))
    house.ingest(AGENTS)
    with house.opened() as app:
        known = explain(app.runtime, AGENTS[0])
    said = known_from(known, "UTC")
    assert said == f"link from {LIST}, news from page since 21 Nov 2026"
    sources = house.command("explain", AGENTS[0], "--json").json["sources"]
    assert {source["source"]: (source["announce"], source["why"]) for source in sources} == {
        "page": ("", ""),
        LIST: (
            "@filled link, authors, date, categories",
            "same title, authors not given, abstracts agree to 100%",
        ),
    }


def test_recent_papers_are_filled_when_a_list_is_read(house: House):
    house.ingest(BANDITS)
    house.clock.move(days=91)
    house.ingest(AGENTS)
    listed(house, row(AGENTS), row(BANDITS, "2401.00002"))
    assert stored(house).paper.url == "https://arxiv.org/abs/2401.00001"
    assert stored(house, BANDITS[0]).paper.url == ""


def test_filling_that_was_stopped_goes_on_at_the_next_reading(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reference_lists, "BATCH", 1)
    house.ingest(AGENTS, BANDITS, FOLDING)
    house.settings["sources"][LIST] = SOURCE | {"preset": LIST}
    (house.folder / "lists").mkdir()
    rows = [row(of, f"2401.0000{n}") for n, of in enumerate((AGENTS, BANDITS, FOLDING))]
    (house.folder / "lists" / "a.json").write_text("\n".join(map(json.dumps, rows)))

    def stop_after_one(*arguments: Any) -> None:
        fill(*arguments)
        app.runtime.stopping.set()

    fill = reference_lists.fill
    with house.opened() as app, monkeypatch.context() as patched:
        patched.setattr(reference_lists, "fill", stop_after_one)
        app.once.ingest()
    assert [bool(paper.paper.url) for paper in house.read(all_papers)].count(True) == 1
    house.ingest()
    assert all(paper.paper.url for paper in house.read(all_papers))


def test_a_list_is_no_source_of_a_paper(house: House):
    house.settings["topics"] = {"known": {"query": "agent", "sources": [LIST]}}
    house.settings["topics"]["by-name"] = {"query": f"source:{LIST}"}
    listed(house, row(AGENTS))
    assert house.run(AGENTS) == {}
    house.settings["topics"] = {"agents": {"query": "language AND agent"}}
    assert house.next_morning() == {"lab": 1}
    [entry] = house.digest().groups[0].entries
    assert entry.sources == ("page",)
    hits = house.command("papers", "search", "agent", "--json").json["papers"]
    assert [[source["source"] for source in hit["sources"]] for hit in hits] == [["page"]]
    assert house.command("papers", "search", f"source:{LIST}", "--json").json["papers"] == []


def test_news_of_a_paper_that_was_filled_in_is_not_news_again(house: House):
    listed(house, row(AGENTS))
    house.make_due(AGENTS)
    assert house.run() == {"lab": 1}
    feed = {"kind": "jsonl", "path": "news/*.jsonl", "first_run": "deliver"}
    house.settings["sources"]["arxiv"] = feed
    (house.folder / "news").mkdir()
    retitled = {"title": "Language agents plan together", "keys": {"arxiv": "2401.00001v1"}}
    (house.folder / "news" / "a.jsonl").write_text(json.dumps(retitled) + "\n")
    assert house.next_morning() == {"lab": 0}
    assert len(house.read(all_papers)) == 1


def test_an_old_paper_of_a_list_is_news_when_a_source_has_it(house: House):
    listed(house, row(AGENTS, "0704.0001"))
    house.settings["topics"]["agents"]["news"] = ["new"]
    house.make_due(AGENTS)
    assert house.run() == {"lab": 1}


def test_topics_about_people_match_what_is_filled_in(house: House):
    house.settings["topics"] = {"ada": {"query": "author:Lovelace"}}
    assert house.run(AGENTS) == {}
    listed(house, row(AGENTS))
    assert house.next_morning() == {"lab": 1}


@pytest.mark.parametrize(
    "other",
    [
        row((AGENTS[0], BANDITS[1])),  # another abstract
        row((f"{AGENTS[0]}, Part II", AGENTS[1])),
        row((BANDITS[0], AGENTS[1])),
        row((f"Erratum: {AGENTS[0]}", AGENTS[1])),
    ],
)
def test_near_twins_give_no_link(house: House, other: dict[str, Any]):
    listed(house, other)
    house.ingest(AGENTS)
    assert stored(house).paper.url == "" and lists_of(house) == {}


def test_two_works_that_a_paper_may_be_give_no_link(house: House):
    others = {"authors_parsed": [["Hopper", "Grace", ""]]}
    listed(house, row(AGENTS), row(AGENTS, "2402.00002", **others))
    house.ingest(AGENTS)
    assert stored(house).paper.url == ""


def test_two_rows_of_one_work_give_its_link(house: House):
    listed(house, row(AGENTS), row(AGENTS, "2401.00001v2"))
    house.ingest(AGENTS)
    assert stored(house).paper.url == "https://arxiv.org/abs/2401.00001"


def test_rows_that_contradict_each_other_give_no_link(house: House):
    listed(house, row(AGENTS), row(BANDITS, "2402.00002", doi="10.48550/arXiv.2401.00001"))
    house.ingest(AGENTS)
    assert stored(house).paper.url == ""


def test_an_identifier_of_another_stored_paper_gives_no_link(house: House):
    feed = {"kind": "jsonl", "path": "news/*.jsonl", "first_run": "deliver"}
    house.settings["sources"]["arxiv"] = feed
    (house.folder / "news").mkdir()
    other = {"title": BANDITS[0], "abstract": BANDITS[1], "keys": {"arxiv": "2401.00001"}}
    (house.folder / "news" / "a.jsonl").write_text(json.dumps(other) + "\n")
    house.ingest()
    listed(house, row(AGENTS))
    house.ingest(AGENTS)
    assert stored(house).paper.url == ""


def test_the_first_list_that_has_a_paper_fills_it_in(house: House):
    listed(house, row(AGENTS))
    house.settings["sources"]["second"] = SOURCE | {"path": "more/*.json", "preset": LIST}
    listed(house, row(AGENTS, "2409.00009"), row(BANDITS, "2409.00010"), source="second")
    house.ingest(AGENTS, BANDITS)
    assert stored(house).paper.url == "https://arxiv.org/abs/2401.00001"
    assert set(lists_of(house)) == {LIST}
    assert set(lists_of(house, BANDITS[0])) == {"second"}


def test_a_newer_snapshot_replaces_the_rows_at_once(house: House):
    listed(house, row(AGENTS), row(BANDITS, "2401.00002"))
    listed(house, row(BANDITS, "2401.00002", authors_parsed=[["Hopper", "Grace", ""]]))
    house.ingest(AGENTS, BANDITS)
    assert stored(house).paper.url == ""
    assert stored(house, BANDITS[0]).paper.authors == ("Grace Hopper",)
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert len(tx.execute(schema.collection_entry.select()).all()) == 1


def test_a_snapshot_under_another_name_leaves_nothing_of_the_last(house: House):
    listed(house, *(row((f"{AGENTS[0]} {n}", AGENTS[1]), f"2401.{n:05}") for n in range(120)))
    (house.folder / "lists" / "a.json").unlink()
    listed(house, row(AGENTS), name="b.json")
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert len(tx.execute(schema.collection_entry.select()).all()) == 1
        keys = tx.execute(schema.collection_key.select()).all()
        assert len({key.entry_id for key in keys}) == 1


def test_broken_rows_are_rejected_with_their_place(house: House):
    broken = '{"id": "2401.0', {"id": "x"}
    runs = listed(house, row(AGENTS), *broken, row(BANDITS, "2401.00002"))
    house.ingest(BANDITS)
    assert stored(house, BANDITS[0]).paper.url == "https://arxiv.org/abs/2401.00002"
    [places] = [[rejected.where for rejected in run.set_aside] for run in runs if run.set_aside]
    assert places == ["line 2, byte 470", "line 3, byte 485"]


def test_a_snapshot_that_is_cut_takes_nothing_out(house: House):
    whole = "".join(json.dumps(r) + "\n" for r in (row(BANDITS, "2401.00002"), row(AGENTS)))
    listed(house)
    packed = house.folder / "lists" / "b.json.gz"
    packed.write_bytes(gzip.compress(whole.encode()))
    house.ingest()
    (house.folder / "lists" / "a.json").unlink()
    packed.write_bytes(gzip.compress(whole.encode())[:-60])
    house.ingest(AGENTS)
    assert stored(house).paper.url == "https://arxiv.org/abs/2401.00001"


def test_records_without_identifiers_fill_in_what_they_have(house: House):
    house.settings["sources"][LIST] = SOURCE
    listed(house, {"title": AGENTS[0], "abstract": AGENTS[1], "authors": "Ada Lovelace"})
    house.ingest(AGENTS)
    assert stored(house).paper.authors == ("Ada Lovelace",)
    assert lists_of(house) == {LIST: ("authors",)}


def test_what_is_filled_in_later_is_told_beside_what_was_before(house: House):
    listed(house, row(AGENTS, categories=""))
    house.ingest(AGENTS)
    listed(house, row(AGENTS))
    (house.folder / "dumps" / "1.txt").unlink()
    house.ingest((AGENTS[0], AGENTS[1] + " We show more."))
    assert lists_of(house) == {LIST: ("link", "authors", "date", "categories")}


def test_digests_that_were_frozen_stay(house: House):
    house.make_due(AGENTS)
    assert house.run() == {"lab": 1}
    before = house.digest()
    listed(house, row(AGENTS))
    assert house.digest() == before


def test_without_a_list_nothing_is_looked_up(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reference_lists, "fill", None)
    house.ingest(AGENTS)
    assert stored(house).paper.url == ""


def test_a_list_fills_in_no_text_of_a_paper_that_has_none(house: House):
    """The store has the first words of a list's abstracts alone."""
    abstract = " ".join(f"word{number}" for number in range(80))
    more = {"doi": "10.1000/agents", "journal-ref": "Nature 1 (2024)", "venue": "Nature"}
    listed(house, row((AGENTS[0], abstract), **more))
    news = house.folder / "news.jsonl"
    work = {"title": AGENTS[0], "doi": "10.1000/agents", "authors": ["Ada Lovelace", "Alan Turing"]}
    news.write_text(json.dumps(work) + "\n", encoding="utf-8")
    house.settings["sources"]["dump"] = {
        "kind": "jsonl",
        "path": "news.jsonl",
        "first_run": "deliver",
    }
    house.ingest()
    paper = stored(house).paper
    assert paper.url and paper.abstract == "" and paper.type == "" and paper.venue == ""
    assert lists_of(house) == {LIST: ("link", "date", "categories")}
