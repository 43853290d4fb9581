"""Dumps of records: every form, packed in every way, with the names that people give to things."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.model import Document, Dump, DumpCursor, Paper, Reading, Rejected, SiteNote
from monitor.sources.api.records import ApiSource
from monitor.sources.crossref import Crossref
from monitor.sources.jsonl.source import Jsonl, JsonlOptions
from monitor.sources.openalex import OpenAlex
from tests.sources import answers, scenario
from tests.sources.dumps import FIVE, LINES, LIST, PACKERS, TABLE, lines, record
from tests.sources.scenario import NOW, SAVED

packed = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
forms = pytest.mark.parametrize("content", [LINES, LIST, TABLE], ids=["lines", "list", "table"])


def source(**options: Any) -> Jsonl:
    return Jsonl("dump", JsonlOptions(path="-", **options), None, lambda: NOW)


def read(content: bytes, **options: Any) -> Reading:
    return source(**options).read(Document("dump", content, SAVED))


def only(record_fields: Mapping[str, Any], **options: Any) -> Paper:
    reading = read(lines(record_fields), **options)
    assert reading.error == "" and reading.rejected == ()
    [paper] = reading.papers
    return paper


# ── forms ───────────────────────────────────────────────────────────────────────────


@packed
def test_packed_files_that_were_joined_are_read_to_the_end(pack: Any):
    whole = b"".join(pack(lines(one)) for one in FIVE)
    assert len(read(whole).papers) == 5


@forms
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_tells_the_encoding(content: bytes, encoding: str):
    text = content.decode().replace("Paper 3", "Papier № 3 – “quoté”")
    titles = [paper.title for paper in read(text.encode(encoding)).papers]
    assert titles[3] == "Papier № 3 – “quoté”" and len(titles) == 5


def test_a_line_in_another_encoding_is_read_as_such():
    content = '{"title": "Café"}\n'.encode("latin-1") + '{"title": "Naïve"}\n'.encode()
    assert [paper.title for paper in read(content).papers] == ["Café", "Naïve"]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"meta": {"count": 5}, "results": FIVE}).encode(),
        json.dumps({"papers": FIVE}, indent=2).encode(),
        b"\n".join(json.dumps(one, indent=2).encode() for one in FIVE),
        b"[\n" + b",\n".join(json.dumps(one).encode() for one in FIVE) + b"\n]\n",
        LINES.replace(b"\n", b"\r\n\r\n"),
        b"\n\n" + LINES.rstrip(b"\n"),
        json.dumps(FIVE).encode(),
    ],
    ids=["named list", "indented", "objects over lines", "a line each", "crlf", "no end", "list"],
)
def test_json_as_people_write_it(content: bytes):
    reading = read(content)
    assert [paper.title for paper in reading.papers] == [one["title"] for one in FIVE]
    assert reading.complete and reading.rejected == ()


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_a_table_tells_what_parts_its_columns(sign: str):
    rows = [["Title", "Authors", "Year", "DOI"], ['A "B" C', "Doe, J.; Roe, R.", "2020", "10.1/X"]]
    content = "\r\n".join(sign.join(f'"{c}"'.replace('"B"', '""B""') for c in r) for r in rows)
    [paper] = read(content.encode()).papers
    assert (paper.title, paper.authors, paper.year) == ('A "B" C', ("J. Doe", "R. Roe"), 2020)


def test_a_quote_that_is_never_closed_costs_its_own_row():
    rows = [b"title,abstract", b'"broken,x'] + [
        b"Paper %d,%s" % (n, b"t" * 500) for n in range(400)
    ]
    reading = read(b"\n".join(rows) + b"\n")
    assert len(reading.papers) == 400
    assert [one.where for one in reading.rejected] == ["line 2, byte 15"]


def test_a_row_with_too_many_cells_is_set_aside():
    reading = read(b"title,abstract\nA,one, two\nB,three\nC\n")
    assert [paper.title for paper in reading.papers] == ["B", "C"]
    assert reading.rejected == (
        Rejected("line 2, byte 15", "row has 3 cells, and the table 2 columns"),
    )


# ── what is broken ──────────────────────────────────────────────────────────────────


def test_F13_what_cannot_be_read_is_set_aside_with_its_place_and_the_rest_goes_on():
    records = [
        record(1),
        b'{"title": "half',
        record(2, title=None),
        b"[1, 2]",
        record(3, abstract="x" * 10_000_000),
        record(4, abstract="y" * 300_000),
        record(2),
        record(2),
    ]
    content = b"".join(one + b"\n" if isinstance(one, bytes) else lines(one) for one in records)
    reading = read(content)
    assert [paper.title for paper in reading.papers] == ["Paper 1", "Paper 2", "Paper 2"]
    assert [(one.where.split(",")[0], one.why) for one in reading.rejected] == [
        ("line 2", 'not JSON: {"title": "half'),
        ("line 3", "record has no title"),
        ("line 4", "record is not an object"),
        ("line 5", "record is larger than 8,388,608 bytes"),
        ("line 6", "record is larger than 262,144 characters"),
    ]
    assert reading.complete
    at = int(reading.rejected[1].where.rpartition(" ")[2])
    assert content[at:].startswith(b'{"title": null')


def test_what_python_writes_and_json_does_not_know_is_read():
    content = b'{"title": "A", "year": NaN}\n{"title": "B \\ud800", "x": Infinity}\n'
    assert [paper.title for paper in read(content).papers] == ["A", "B �"]


@forms
@packed
def test_F02_of_a_dump_that_is_cut_the_whole_records_are_kept(content: bytes, pack: Any):
    whole = pack(content)
    reading = read(whole[: len(whole) - 9])
    titles = [paper.title for paper in reading.papers]
    assert not reading.complete
    assert titles == [one["title"] for one in FIVE[: len(titles)]]
    assert len(titles) == 4 or pack is not PACKERS["plain"]


def test_a_bomb_is_stopped():
    content = gzip.compress(LINES + b" " * 150_000_000)
    reading = read(content)
    assert reading.error.startswith("the document unpacks to over 200 times its size")
    assert not reading.complete


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "the document is empty"),
        (gzip.compress(b"\n\n", mtime=0), "the document is empty"),
        (b"PK\x03\x04rest", "the document is a ZIP archive: unpack it first"),
        (b"\x89PNG\r\n\x1a\n", "the document is a picture (PNG)"),
        (b"<!doctype html><p>", "the document is a web page (HTML), not JSON and no table"),
        (b"name,value\na,b\n", "neither JSON nor a table with a column for titles"),
        (b'{"error": "slow down"}', "no record is a paper: record has no title"),
    ],
)
def test_what_is_no_dump_is_reported(content: bytes, error: str):
    reading = read(content)
    assert reading.error.startswith(error) and not reading.complete


@pytest.mark.parametrize(
    "name",
    [
        *("papers", "items", "entries", "articles", "records", "results", "data", "works"),
        *("notes", "documents", "collection"),
    ],
)
def test_a_list_of_records_is_found_under_its_name(name: str) -> None:
    assert only({"total": 1, name: [{"title": "Sand"}]}).title == "Sand"


# ── fields ──────────────────────────────────────────────────────────────────────────


TWO = ("Ada Byron", "Carl Doe")
PMIDS = {"pmid": ("7", "8"), "arxiv": "2005.00001"}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("type", ["Journal Article", "Retraction of Publication"], "retraction"),
        ("type", ["JournalArticle", "Review"], "journalarticle"),
        ("type", "journal-article", "journal article"),
        ("type", {"name": "Review"}, "review"),
        ("type", None, ""),
        ("about", "doi:10.1000/A", {"doi": "10.1000/a"}),
        ("about", ["pmid:7", "PMID:8", "arXiv:2005.00001v2"], PMIDS),
        ("about", '{"pmid": "7"}', {"pmid": "7"}),
        ("about", "a book about roots: in two parts", {}),
        ("about", {"doi": None}, {}),
        ("about", 7, {}),
        ("authors", "Ada Byron, Carl Doe and Eva F. Roe", ("Ada Byron", "Carl Doe", "Eva F. Roe")),
        ("authors", "Byron, Ada; Doe, Carl", TWO),
        ("authors", "Byron, Ada and Doe, Carl", TWO),
        ("authors", "['Ada Byron', 'Carl Doe']", TWO),
        ("authors", '["Ada Byron"]', ("Ada Byron",)),
        ("authors", [{"name": "Ada Byron"}, {"given": "Carl", "family": "Doe"}], TWO),
        ("authors", [{"family": "Doe", "given": "Jane"}, {"literal": "G"}], ("Jane Doe", "G")),
        ("authors", [{"first": "A", "middle": ["B", "C"], "last": "D"}], ("A B C D",)),
        ("authors", [["Byron", "Ada", ""], ["Doe", "Carl", "Jr."]], ("Ada Byron", "Carl Doe Jr.")),
        ("authors", [{"author": {"display_name": "Ada Byron"}}], ("Ada Byron",)),
        ("authors", ["Zoë Ødegård", "", "  ", "1"], ("Zoë Ødegård",)),
        ("authors", ["van Roe, J. R.", "Doe, J., Jr."], ("J. R. van Roe", "J. Doe, Jr.")),
        ("authors", ["I.Grosu, L.Tugulan", "St.John, R."], ("I.Grosu", "L.Tugulan", "R. St.John")),
        ("authors", ["Doe, Jr.", "The A, B, and C group"], ("Doe, Jr.", "The A, B, and C group")),
        ("authors", [], ()),
        ("authors", 7, ()),
        ("categories", "cs.CL cs.LG hep-th", ("cs.CL", "cs.LG", "hep-th")),
        ("categories", "machine learning, language", ("machine learning", "language")),
        ("categories", "a; b, c", ("a", "b, c")),
        ("categories", "machine learning", ("machine learning",)),
        (
            "categories",
            [{"category": "Biology", "source": "x"}, {"display_name": "Chemistry"}],
            ("Biology", "Chemistry"),
        ),
        ("categories", ["a", "a", " b "], ("a", "b")),
        (
            "abstract",
            {"IndexLength": 2, "InvertedIndex": {"moves.": [1], "Sand": [0]}},
            "Sand moves.",
        ),
        ("venue", {"raw": "S", "id": 1}, "S"),  # as above, of AMiner
        ("url", "https://a.example/1?utm_source=x&id=2", "https://a.example/1?id=2"),
    ],
)
def test_values_as_people_write_them(field: str, value: object, expected: object) -> None:
    record = {"title": "T", field: value}
    assert getattr(only(record), field) == expected


def test_what_read_prints_can_be_read_again():
    fields = {"title": "T", "authors": [], "published": None, "keys": {}, "withdrawn": True}
    assert only(fields) == Paper(title="T", withdrawn=True)


@pytest.mark.parametrize(
    ("value", "day", "year"),
    [
        ("2020-05-01", (2020, 5, 1), 2020),
        ("20200501", (2020, 5, 1), 2020),
        ("Fri, 1 May 2020 00:00:00 GMT", (2020, 5, 1), 2020),
        ("May 2020", (2020, 5, 1), 2020),
        ("2020", None, 2020),
        (2020, None, 2020),
        (2020.0, None, 2020),
        (1588291200000, (2020, 5, 1), 2020),
        ("1588291200", (2020, 5, 1), 2020),
        ([2020, 5, 1], (2020, 5, 1), 2020),
        ({"date-parts": [[2020, 5]]}, (2020, 5, 1), 2020),
        ({"$date": "2020-05-01T00:00:00Z"}, (2020, 5, 1), 2020),
        ("2999-01-01", None, None),
        ("soon", None, None),
        ("", None, None),
        (True, None, None),
    ],
)
def test_dates_as_people_write_them(value: object, day: Any, year: int | None):
    paper = only({"title": "T", "published": value})
    assert paper.published == (datetime(*day, tzinfo=UTC) if day else None)
    assert paper.year == year


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"doi": "https://doi.org/10.1000/ABC"}, {"doi": "10.1000/abc"}),
        ({"arxiv_id": "arXiv:2005.00001v2"}, {"arxiv": "2005.00001"}),
        ({"arxiv_id": "2005.00001"}, {"arxiv": "2005.00001"}),
        ({"arxiv": "hep-th/9901001"}, {"arxiv": "hep-th/9901001"}),
        ({"url": "https://arxiv.org/abs/2005.00001"}, {"arxiv": "2005.00001"}),
        ({"pmid": 123}, {"pmid": "123"}),
        ({"externalids": {"ArXiv": "2403.1", "PubMed": "7", "PubMedCentral": "8", "DBLP": None}},
         {"pmid": "7", "pmcid": "8"}),
        ({"id": "2005.00001"}, {}),
        ({"keys": '{"doi": "10.1000/1"}'}, {"doi": "10.1000/1"}),
        ({"keys": {"openreview": "abc"}, "doi": "10.1000/1"},
         {"openreview": "abc", "doi": "10.1000/1"}),
    ],
)  # fmt: skip
def test_identifiers_wherever_they_stand(fields: dict[str, Any], keys: dict[str, str]):
    assert only({"title": "T"} | fields).keys == keys


def test_fields_maps_names_and_paths_with_others_to_fall_back_on():
    document = {
        "meta": {"heads": ["First", "Second"], "ids": {"d": "10.1000/1"}},
        "when": "",
        "also": "2020-05-01",
        "a.b": "dotted",
        "title": "not this",
    }
    fields = {
        "title": "meta.heads.1",
        "published": ["when", "also"],
        "venue": "a.b",
        "keys.doi": "meta.ids.d",
        "abstract": "meta.none.at.all",
    }
    paper = only(document, fields=fields)
    assert (paper.title, paper.venue, paper.abstract) == ("Second", "dotted", "")
    assert paper.published == datetime(2020, 5, 1, tzinfo=UTC)
    assert paper.keys == {"doi": "10.1000/1"}


def test_fields_names_the_column_of_a_table():
    [paper] = read(b"Name of work,Who\nA,Ada Byron\n", fields={"title": "Name of work"}).papers
    assert paper.title == "A"


def test_hostile_records_are_rejected_or_read_and_never_raise():
    odd: list[Any] = [None, True, 7, -1e300, "", "x", [], {}, [[]], [{}], {"a": 1}, "9" * 5_000]
    names = ["authors", "year", "published", "url", "keys", "categories", "version", "raw_id"]
    records = [{"title": "T", name: value} for name in names for value in odd]
    records += [{"title": value} for value in odd]
    reading = read(lines(*records))
    assert len(reading.papers) + len(reading.rejected) == len(records)


# ── presets ─────────────────────────────────────────────────────────────────────────


def test_a_preset_that_is_recognised_may_be_named():
    content = (scenario.FIXTURES / "jsonl" / "snapshot.json").read_bytes()
    assert read(content, preset="arxiv-snapshot") == read(content)


def nested(name: str, depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = {name: value}
    return value


@pytest.mark.parametrize("as_text", [False, True])
def test_names_within_too_many_objects_are_none(as_text: bool):
    said = [nested("authors", depth, [{"name": "Ada Byron"}]) for depth in (2, 400)]
    records = [{"title": "T", "authors": json.dumps(one) if as_text else one} for one in said]
    assert [paper.authors for paper in read(lines(*records)).papers] == [("Ada Byron",), ()]


@pytest.mark.parametrize("field", ["published", "externalids", "authors", "year"])
def test_a_record_that_is_nested_as_deep_as_can_be_stops_no_dump(field: str):
    deep = [
        f'{{"title": "T", "{field}": {"[" * depth}1{"]" * depth}}}\n'.encode()
        for depth in range(700, 1_100)
    ]
    plain = lines({"title": "T", field: "1"})
    reading = read(plain * 2 + b"".join(deep) + plain)
    assert len(reading.papers) + len(reading.rejected) == len(deep) + 3
    assert len(reading.papers) > 3 and reading.error == ""


def test_what_stands_in_a_name_of_a_scheme_that_is_left_out_is_left_out():
    fields = {"title": "T", "externalids": {"MAG": {"DOI": "10.1000/b"}, "DOI": "10.1000/a"}}
    assert only(fields).keys == {"doi": "10.1000/a"}
    fields["externalids"] = nested("MAG", 900, "1")
    assert only(fields).keys == {}


@pytest.mark.parametrize("kind", [Crossref, OpenAlex])
def test_dumps_of_services_are_read_as_their_answers(kind: type[ApiSource]):
    fields = answers.RECORDS[kind](7)
    assert only(fields, preset=kind.preset) == scenario.only(kind, [fields])


@pytest.mark.parametrize(
    ("preset", "fields", "expected"),
    [
        (
            "semanticscholar-papers",
            {
                "corpusid": 12,
                "venue": "",
                "journal": {"name": "J", "pages": "1"},
                "s2fieldsofstudy": [{"category": "Biology", "source": "s2-fos-model"}],
                "publicationtypes": ["Review"],
            },
            ({"corpusid": "12"}, "12", "", "J", ("Biology",), "review"),
        ),
        (
            "s2orc",
            {"paper_id": "77", "acl_id": "P19-1001", "s2_url": "https://s2.example/77"},
            ({"acl": "P19-1001", "corpusid": "77"}, "77", "https://s2.example/77", "", (), ""),
        ),
        (
            "cord-19",
            {"cord_uid": "u7", "s2_id": "3", "url": "https://e.org/1; https://e.org/2"},
            ({"corpusid": "3"}, "u7", "https://e.org/1", "", (), ""),
        ),
    ],
)
def test_the_public_dumps(preset: str, fields: dict[str, Any], expected: tuple[object, ...]):
    paper = only({"title": "T"} | fields, preset=preset)
    values = paper.keys, paper.raw_id, paper.url, paper.venue, paper.categories, paper.type
    assert values == expected


# ── parts and marks ─────────────────────────────────────────────────────────────────


def dump(content: bytes) -> Dump:
    return Dump("dump", lambda: io.BytesIO(content), SAVED, len(content))


def taken(content: bytes, size: int, *marks: DumpCursor) -> list[tuple[list[str], DumpCursor]]:
    with closing(source().begin(dump(content), marks)) as parts:
        found = []
        while part := parts.take(size):
            found.append(([paper.title for paper in part.papers], part.cursor))
    return found


def test_the_furthest_mark_that_agrees_is_taken():
    marks = [mark for _, mark in taken(LINES, 1)]
    assert taken(LINES, 9, *marks[:4])[0][0] == ["Paper 4"]
    longer = LINES[: marks[1].offset] + lines(record(8), record(9))
    assert taken(longer, 9, *marks)[0][0] == ["Paper 8", "Paper 9"]


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_however_a_dump_is_cut_in_parts_nothing_is_lost_or_twice(data: st.DataObject):
    content = data.draw(st.sampled_from([LINES, LIST, TABLE]))
    size = data.draw(st.integers(1, 6))
    stop = data.draw(st.integers(1, 6))
    before = []
    marks = []
    for part, mark in taken(content, size)[:stop]:
        before += part
        marks.append(mark)
    after = [title for part, _ in taken(content, size, *marks) for title in part]
    assert before + after == [one["title"] for one in FIVE]


def test_records_of_retraction_watch_are_notices_with_reasons():
    table = (
        "Record ID,Title,Journal,Author,RetractionDate,RetractionDOI,RetractionPubMedID,"
        "OriginalPaperDOI,OriginalPaperPubMedID,RetractionNature,Reason\n"
        "1,Sand,J Sand,Ada Byron;Bo Li,1/9/2024 0:00,10.1000/R,102,10.1000/p,0,Retraction,+A;+B;\n"
        "2,Sand,J Sand,,13/1/2024,10.1000/p,0,10.1000/p,7,Expression of concern,\n"
        "3,Sand,J Sand,,,unavailable,0,10.1000/p,0,Reinstatement,\n"
        "4,Sand,J Sand,,,unavailable,0,Unavailable,0,Correction,\n"
    )
    reading = read(table.encode(), preset="retraction-watch")
    one, two = reading.papers
    assert (one.title, one.type, one.raw_id) == ("Retraction: Sand", "retraction", "1")
    assert (one.abstract, one.authors) == ("", ("Ada Byron", "Bo Li"))
    assert one.site_note == SiteNote("Retraction Watch", reasons=("A", "B"))
    assert (one.keys, one.about) == ({"doi": "10.1000/r", "pmid": "102"}, {"doi": "10.1000/p"})
    assert one.published == datetime(2024, 1, 9, tzinfo=UTC)
    assert (two.keys, two.about) == ({}, {"doi": "10.1000/p", "pmid": "7"})
    assert (two.type, two.abstract, two.published) == ("expression of concern", "", None)
    assert [one.why for one in reading.rejected] == [
        "record is a reinstatement",
        "record has no identifier of its paper",
    ]
