"""Services that answer in JSON: own fixtures with what is expected beside them, and errors."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor import plugins
from monitor.model import Paper, SiteNote, record_of
from monitor.sources.base import Source
from monitor.sources.biorxiv import BioRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.europepmc import EuropePmc
from monitor.sources.huggingface import MOST_UPVOTES, HuggingFace
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.semanticscholar import SemanticScholar
from tests.sources.scenario import FIXTURES, only, read

BLANK = Paper("")
COMPLETE = ("pubmed", "dblp", "bibtex", "ris", "feed", "jsonl")  # name every field
EXPECTED = sorted(FIXTURES.glob("*/*.expected"))


def plain(value: Any) -> Any:
    """A field of a paper as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_own_fixtures_give_the_papers_beside_them(path: Path) -> None:
    expected = json.loads(path.read_text())
    (document,) = (p for p in path.parent.glob(f"{path.stem}.*") if p != path)
    reading = read(plugins.SOURCES.load(path.parent.name), document.read_bytes())
    assert reading.complete == expected.get("complete", True)
    for paper, fields in zip(reading.papers, expected["papers"], strict=True):
        values = {name: plain(getattr(paper, name)) for name in paper.__struct_fields__}
        assert {name: values[name] for name in fields} == fields
        if path.parent.name in COMPLETE:
            assert all(
                name in fields or values[name] == plain(getattr(BLANK, name)) for name in values
            )
    assert [[r.where, r.why] for r in reading.rejected] == expected.get("rejected", [])


@pytest.mark.parametrize(
    ("kind", "response", "error"),
    [
        (HuggingFace, {"error": "Invalid date"}, "Hugging Face answered with an error: Invalid d"),
        (BioRxiv, {"messages": [{"status": "Error: bad date"}], "collection": []}, "bad date"),
        (BioRxiv, {"messages": [{"status": "no posts found"}]}, "no posts found|it has no list"),
        (EuropePmc, {"errCode": 400, "errMsg": "no query"}, "error: no query"),
        (EuropePmc, {"hitCount": 3, "resultList": None}, "it has no list of records"),
        (
            Crossref,
            {"status": "failed", "message": [{"type": "x-not-valid", "message": "Bad <b>x</b>"}]},
            "Crossref answered with an error: Bad x",
        ),
        (Crossref, {"status": "ok", "message": {"ISSN": ["1"]}}, "it has no list of records"),
        (Crossref, "Resource not found.", "error: Resource not found"),
        (OpenAlex, {"error": "Invalid filter", "message": "Unknown field"}, "error: Invalid f"),
        (SemanticScholar, {"message": "Too Many Requests", "code": "429"}, "Too Many Requests"),
        (SemanticScholar, {"total": 7}, "it has no list of records"),
        (OpenReview, {"name": "RateLimitError", "message": "Slow down"}, "error: Slow down"),
        (OpenReview, {"errors": [{"message": "no such venue"}]}, "error: no such venue"),
        (OpenReview, {"notes": {"a": 1}}, "it has no list of records"),
    ],
)
def test_F01_an_error_with_status_200_is_an_error_in_words(
    kind: type[Source], response: object, error: str
) -> None:
    reading = read(kind, json.dumps(response).encode())
    assert reading.papers == () and not reading.complete
    assert re.search(error, reading.error)


# ── what the formats hold ───────────────────────────────────────────────────────────


def work(**fields: object) -> dict[str, object]:
    return {"DOI": "10.1000/x", "title": ["T"]} | fields


def parts(*numbers: object) -> object:
    return {"date-parts": [numbers]}


@pytest.mark.parametrize(
    ("dates", "published"),
    [
        ({"issued": parts(2025, 3, 9)}, "2025-03-09"),
        ({"issued": parts(2025)}, None),
        ({"issued": parts(2031, 1, 1)}, None),
        ({"issued": parts(2025, 2, 30)}, None),
        ({"issued": {"date-parts": []}}, None),
        ({"issued": "2025"}, None),
        ({"published": parts(2026, 9), "created": parts(2025, 5, 2)}, "2025-05-02"),
        ({"issued": parts(2025, 5), "published-online": parts(2025, 4, 28)}, "2025-04-28"),
        ({"issued": parts(2025, 4), "published-online": parts(2025, 4, 28)}, "2025-04-28"),
        (
            {
                "published-print": parts(1981, 4),
                "published-online": parts(2003, 9, 12),
                "created": parts(2003, 9, 12),
            },
            "1981-04-01",
        ),
        (
            {"issued": parts(1981), "created": parts(2003, 9, 12)},
            "1981-01-01",  # and stored as a bound
        ),
        ({"created": parts(2003, 9, 12)}, None),
    ],
)
def test_partial_and_impossible_dates_of_crossref(
    dates: dict[str, object], published: str | None
) -> None:
    at = only(Crossref, work(**dates)).published
    assert (f"{at:%Y-%m-%d}" if at else None) == published


def test_the_day_of_registration_is_not_shown_as_that_of_publication() -> None:
    for dates in ({}, {"issued": parts(2025)}, {"published": parts(2026, 9)}):
        paper = record_of(only(Crossref, work(**dates, created=parts(2025, 5, 2))), "crossref")
        assert paper.day is None and paper.precision == ("bound" if dates else "")
    assert only(Crossref, work(created=parts(2003, 9, 12))).year is None


@pytest.mark.parametrize(
    ("dated", "published", "is_day"),
    [
        ("2024-01-02", "2024-01-02", True),
        ("2023-01-01", "2023-12-31", False),
        ("2025-01-01", None, False),  # this year
        ("2099-01-01", None, False),
    ],
)
def test_the_first_of_January_of_OpenAlex_is_a_year(
    dated: str, published: str | None, is_day: bool
) -> None:
    row = {"id": "https://openalex.org/W1", "title": "T", "publication_date": dated}
    paper = record_of(only(OpenAlex, {"results": [row]}), "openalex")
    assert (f"{paper.published:%Y-%m-%d}" if paper.published else None) == published
    assert (paper.day is not None) == is_day
    assert paper.year == (None if dated == "2099-01-01" else int(dated[:4]))


@pytest.mark.parametrize(
    ("doi", "version", "published", "is_bound"),
    [
        ("10.1101/2025.05.18.655001", "1", "2025-05-20", False),
        ("10.1101/2025.05.18.655001", "2", "2025-05-18", False),
        ("10.1101/029900", "1", "2025-05-20", False),
        ("10.1101/029900", "3", "2019-12-11", True),
    ],
)
def test_a_later_version_of_a_preprint_is_no_new_one(
    doi: str, version: str, published: str, is_bound: bool
) -> None:
    row = {"title": "T", "doi": doi, "version": version, "date": "2025-05-20"}
    paper = only(BioRxiv, [row])
    assert f"{paper.published:%Y-%m-%d}" == published
    assert (record_of(paper, "biorxiv").day is None) == is_bound
    assert f"{paper.updated:%Y-%m-%d}" == "2025-05-20"


def test_surrogates_alone_can_be_stored() -> None:
    paper = only(Crossref, work(DOI="10.1/\ud800", title="\udfff T"))
    assert json.dumps(plain(paper.keys), ensure_ascii=False).encode()
    assert paper.title.encode()


# ── what programs save, and the services' older and other answers ───────────────────

DOE = {"name": "Jane Doe"}
NEW_YEAR = datetime(2025, 1, 1, tzinfo=UTC)


JOURNAL = {"is-preprint-of": [{"id-type": "doi", "id": "10.1000/OTHER"}]}
PREPRINT = {"group-title": "Ecology", "subtype": "preprint", "institution": [{"name": "bioRxiv"}]}


def note(**content: object) -> dict[str, object]:
    return {"id": "n1", "forum": "n1", "content": {"title": "Sand"} | content}


# Positions that are no numbers, or false ones, cost nothing.
INDEX = {"b": [10**15], "a": [-3], "c": ["x", None, 1.5, True], "d": 7, "e": None}
ORGANIZATION = {"name": "sand", "fullname": "Sand University"}
DAILY = {"id": "2505.00001", "title": "Agents"}
GONE = "ICLR.cc/2024/Conference/Withdrawn_Submission"
NOTICES = {"commentCorrection": [{"id": "77", "source": "MED", "type": "Retraction in"}]}
SANDS = {"id": "1", "source": "MED", "title": "Sand"}
CENTRAL = "https://www.ncbi.nlm.nih.gov/pmc/articles"
PREPRINT_ROW = {"doi": "10.1101/1", "title": "Sand"}
DAYS = [(1_735_689_600 + 86_400 * n) * 1000 for n in range(4)]


@pytest.mark.parametrize(
    ("kind", "record", "expected"),
    [
        (Crossref, work(editor=[{"given": "Jane", "family": "Doe"}]), {"authors": ("Jane Doe",)}),
        (
            Crossref,
            work(author=[{"literal": "Sand Group"}], editor=[{"name": "X"}]),
            {"authors": ("Sand Group",)},
        ),
        (Crossref, work(**PREPRINT), {"venue": "bioRxiv", "categories": ("Ecology",)}),
        (Crossref, work(title=[], **{"original-title": ["Über Sand"]}), {"title": "Über Sand"}),
        (Crossref, work(title="Sand"), {"title": "Sand"}),  # of doi.org, without lists
        (Crossref, work(DOI="10.48550/arXiv.2401.01234"), {"keys": {"arxiv": "2401.01234"}}),
        (Crossref, work(title="Sand &amp;amp; dunes"), {"title": "Sand & dunes"}),
        (Crossref, work(relation=JOURNAL), {"keys": {"doi": ("10.1000/x", "10.1000/other")}}),
        (
            Crossref,
            work(relation={"has-preprint": [{"id-type": "arxiv", "id": "2401.01234"}]}),
            {"keys": {"doi": "10.1000/x", "arxiv": "2401.01234"}},
        ),
        *(
            (Crossref, work(title=[title], subtitle=subtitle), {"title": whole})
            for title, subtitle, whole in (
                ("Sand", ["How dunes move"], "Sand: How dunes move"),
                ("Sand: How Dunes Move", ["How dunes move."], "Sand: How Dunes Move"),
                ("Where is sand?", ["Dunes of <i>Mars</i>"], "Where is sand? Dunes of Mars"),
                ("Sand", ["", "Dunes"], "Sand: Dunes"),
                ("Sand", [], "Sand"),
            )
        ),
        (
            HuggingFace,
            DAILY
            | {
                "upvotes": 17,
                "githubRepo": "https://github.com/a/b",
                "projectPage": "https://x.org/p",
            },
            {
                "links": {"code": "https://github.com/a/b", "project": "https://x.org/p"},
                "upvotes": 17,
            },
        ),
        (
            HuggingFace,
            DAILY | {"upvotes": "many", "githubRepo": "javascript:alert(1)", "projectPage": None},
            {"links": {}, "upvotes": None},
        ),
        (
            HuggingFace,
            [
                {
                    "paper": DAILY | {"ai_summary": " Agents <b>win</b>. "},
                    "organization": ORGANIZATION,
                }
            ],
            {
                "site_note": SiteNote(
                    "Hugging Face",
                    "https://huggingface.co/papers/2505.00001",
                    "Agents win.",
                    "Sand University",
                ),
                "authors": (),
            },
        ),
        (HuggingFace, DAILY | {"ai_summary": None, "organization": None}, {"site_note": None}),
        (
            SemanticScholar,
            {"paperId": "a1", "title": "T", "tldr": {"model": "v2", "text": "It wins."}},
            {
                "site_note": SiteNote(
                    "Semantic Scholar", "https://www.semanticscholar.org/paper/a1", "It wins."
                )
            },
        ),
        (SemanticScholar, {"paperId": "a1", "title": "T", "tldr": None}, {"site_note": None}),
        (HuggingFace, DAILY | {"upvotes": 10**17}, {"upvotes": MOST_UPVOTES}),
        (OpenAlex, [{"title": "T", "abstract_inverted_index": INDEX}], {"abstract": "a d b"}),
        *(
            (
                OpenAlex,
                {"id": "https://openalex.org/W1", "title": "T", "ids": {"pmcid": number}},
                {"keys": {"openalex": "W1", "pmcid": "PMC7000001"}},
            )
            for number in (f"{CENTRAL}/7000001", f"{CENTRAL}/PMC7000001")
        ),
        (
            BioRxiv,
            [PREPRINT_ROW | {"authors": "Doe, J.; Sand Group, ; Roe, R."}],
            {"authors": ("J. Doe", "Sand Group", "R. Roe")},
        ),
        (
            BioRxiv,
            [PREPRINT_ROW | {"type": "WITHDRAWN", "version": "2"}],
            {"title": "Sand", "withdrawn": True},
        ),
        (
            BioRxiv,  # the list about COVID-19
            [
                {
                    "rel_doi": "10.1101/2020.05.20.20107000",
                    "rel_title": "Sand",
                    "rel_abs": "It moves.",
                    "rel_date": "2020-05-22",
                    "rel_site": "medRxiv",
                    "rel_authors": [{"author_name": "Jane Doe"}, {"author_name": "Rae Roe"}],
                    "category": "epidemiology",
                }
            ],
            {
                "title": "Sand",
                "abstract": "It moves.",
                "authors": ("Jane Doe", "Rae Roe"),
                "categories": ("epidemiology",),
                "url": "https://www.medrxiv.org/content/10.1101/2020.05.20.20107000",
            },
        ),
        (EuropePmc, [SANDS | {"authorString": "van Roe RA Jr."}], {"authors": ("RA van Roe Jr",)}),
        (
            EuropePmc,
            [SANDS | {"commentCorrectionList": NOTICES}],
            {"withdrawn": True, "keys": {"pmid": "1"}},
        ),
        (
            EuropePmc,
            [SANDS | {"pubYear": "2024", "journalTitle": "J", "pmcid": "PMC1", "doi": "10.1/A"}],
            {"venue": "J", "year": 2024, "keys": {"doi": "10.1/a", "pmid": "1", "pmcid": "PMC1"}},
        ),
        (
            SemanticScholar,
            {"paperId": "a1", "title": "T", "arxivId": "1705.10311", "doi": "10.1000/X"},
            {"keys": {"s2": "a1", "arxiv": "1705.10311", "doi": "10.1000/x"}},
        ),
        (
            SemanticScholar,
            {"name": "Jane Doe", "papers": [{"paperId": "a1", "title": "T", "authors": [DOE]}]},
            {"authors": ("Jane Doe",)},
        ),
        (
            SemanticScholar,
            {"data": [{"paper": {"paperId": "a1", "title": "T", "externalIds": {"ACL": "P19-1"}}}]},
            {"keys": {"s2": "a1", "acl": "P19-1"}},
        ),
        *(
            (OpenReview, note(authors=people), {"authors": names})
            for people, names in (
                ("Jane Doe, Rae Roe and Ada Byron", ("Jane Doe", "Rae Roe", "Ada Byron")),
                (["Doe, Jane", "Rae Roe"], ("Jane Doe", "Rae Roe")),
                ([{"first": "J", "last": "Doe"}, {"fullname": "Rae Roe"}], ("J Doe", "Rae Roe")),
                ({"value": None}, ()),
                ({"readers": ["x"]}, ()),
                ({"value": ["Anonymous", "Anonymous Authors", "Jane Doe"]}, ("Jane Doe",)),
            )
        ),
        (OpenReview, note(venueid={"value": GONE}), {"withdrawn": True}),
        (OpenReview, note(venue={"value": "ICLR Withdrawn Submission"}), {"withdrawn": True}),
        (OpenReview, note(venueid="ICLR.cc", venue="withdrawn once"), {"withdrawn": False}),
        (OpenReview, note() | {"invitations": ["X/-/Submission", GONE]}, {"withdrawn": True}),
        (OpenReview, note() | {"ddate": 1_748_000_000_000}, {"withdrawn": True}),
        *(
            (OpenReview, note() | dict(zip(names, DAYS, strict=False)), {"published": NEW_YEAR})
            for names in (("pdate", "odate", "cdate"), ("odate", "cdate", "tcdate"), ("cdate",))
        ),
    ],
)
def test_records_of_services(
    kind: type[Source], record: object, expected: dict[str, object]
) -> None:
    paper = only(kind, record)
    assert {name: getattr(paper, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("kind", "preset"),
    [(Crossref, "crossref"), (OpenAlex, "openalex")],
    ids=["crossref", "openalex"],
)
@pytest.mark.parametrize(
    "content",
    [b'{"items": [{"DOI": "10.1000/1"}]}', b'{"a": 1}\n{"a": 2}\n', gzip.compress(b"{}")],
    ids=["items", "lines", "packed"],
)
def test_a_dump_of_records_names_the_preset_that_reads_it(
    kind: type[Source], preset: str, content: bytes
) -> None:
    assert f"`kind: jsonl` and `preset: {preset}`" in read(kind, content).error


def test_an_error_of_a_service_names_no_preset() -> None:
    assert "preset" not in read(Crossref, b'{"status": "failed", "message": "slow down"}').error
