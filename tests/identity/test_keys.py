"""Identifiers come in many spellings; each is one."""

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from monitor.identity.keys import (
    arxiv_id,
    doi,
    fingerprint,
    identifiers,
    link,
    record_hash,
    with_keys,
)
from monitor.model import ListedDay, Paper, SiteNote
from monitor.model.paper_fields import FIELDS
from monitor.sources.fields.links import http_link
from monitor.text.tracking import without_tracking

IDENTITY = Path(__file__).parents[2] / "docs" / "identity.md"


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("2401.01234", "2401.01234"),
        ("2401.01234v3", "2401.01234"),
        ("arXiv:2401.01234v1", "2401.01234"),
        ("oai:arXiv.org:2401.01234", "2401.01234"),
        ("https://arxiv.org/abs/2401.01234v2", "2401.01234"),
        ("http://export.arxiv.org/pdf/2401.01234.pdf", "2401.01234"),
        ("0704.0001", "0704.0001"),
        ("hep-th/9901001v2", "hep-th/9901001"),
        ("math.GT/0309136", "math/0309136"),
        ("10.48550/arXiv.2401.01234", "2401.01234"),
        ("https://arxiv.org/abs/2401.01234?context=cs.LG", "2401.01234"),
        ("https://arxiv.org/abs/2401.01234v2/", "2401.01234"),
        ("https://arxiv.org/pdf/2401.01234v2.pdf#page=3", "2401.01234"),
        ("arXiv:2401.01234 [cs.LG]", "2401.01234"),
        ("arXiv:hep-th/9901001v2 [hep-th]", "hep-th/9901001"),
        ("arXiv: 2401.01234v1 [math.AG]", "2401.01234"),
        ("arXiv:2401.01234 [withdrawn by 7]", ""),
        ("2401.01", ""),
        ("version 2401.01234 of it", ""),
        ("", ""),
    ],
)
def test_arxiv_ids_lose_prefix_and_version(text, bare):
    assert arxiv_id(text) == bare


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("10.1000/ABC.1", "10.1000/abc.1"),
        ("doi:10.1000/abc.1", "10.1000/abc.1"),
        ("https://doi.org/10.1000%2Fabc.1", "10.1000/abc.1"),
        ("http://dx.doi.org/10.1000/abc.1.", "10.1000/abc.1"),
        ("10.1002/(SICI)1097<1::AID>3.0.CO;2-N", "10.1002/(sici)1097<1::aid>3.0.co;2-n"),
        ("https://doi.org/10.1000/abc.1?rss=1", "10.1000/abc.1"),
        ("https://doi.org/10.1000/abc.1?af=R", "10.1000/abc.1"),
        ("10.1000/abc.1#sec2", "10.1000/abc.1"),
        ("10.1000/abc.1?rss", "10.1000/abc.1"),
        ("10.1000/abc%3F1%23", "10.1000/abc?1#"),
        ("10.1000/abc?", "10.1000/abc?"),
        ("10.1000/abc.1).", "10.1000/abc.1"),
        ("10.1000/0091(95)1", "10.1000/0091(95)1"),
        ("10.1000/s(95)", "10.1000/s(95)"),
        ("abc", ""),
        ("10.1000", ""),
        ("10.1000/?rss=1", ""),
    ],
)
def test_dois_ignore_case_and_prefixes(text, bare):
    assert doi(text) == bare


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://www.Example.org/paper/?id=7&utm_source=rss", "example.org/paper?id=7"),
        ("http://example.org/paper?b=2&a=1#", "example.org/paper?a=1&b=2"),
        ("https://e.org/pubs#a", "e.org/pubs#a"),
        ("https://e.org/#/paper/1", "e.org#/paper/1"),
        ("https://e.org/view?12345", "e.org/view?12345"),
        ("https://e.org/view?id=%C3%A9", "e.org/view?id=%C3%A9"),
        ("https://e.org/view?ref=smith2024", "e.org/view?ref=smith2024"),
        ("https://e.org/a?ref=blog.example.com", "e.org/a"),
        ("https://e.org/a?rss=1&af=R", "e.org/a"),
        ("https://e.org/a?dgcid=rss_sd_all&fbclid=x", "e.org/a"),
        ("https://e.org/a?af=7", "e.org/a?af=7"),
        ("https://e.org/a#Echobox=1700000000", "e.org/a"),
        ("https://e.org/a#xtor=RSS-1", "e.org/a"),
        ("https://e.org/a#rss", "e.org/a"),
        ("https://e.org/a#rssi", "e.org/a#rssi"),
        ("https://e.org/a#:~:text=sand%20moves", "e.org/a"),
        ("https://e.org/a#b:~:text=sand", "e.org/a#b"),
        ("https://e.org/a#b&utm_source=x", "e.org/a#b"),
        ("https://e.org/#/paper/1?utm_source=x&y=2", "e.org#/paper/1?y=2"),
        ("javascript:alert(1)", ""),
        ("http://[broken", ""),
        ("http://[broken#a", ""),
        ("", ""),
    ],
)
def test_a_link_is_compared_with_all_that_names_something(text: str, name: str):
    assert link(text) == name


ROWS = re.findall(r"^\| `(https://\S+)` \| `(\S+)` \|$", IDENTITY.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("written", "name"), ROWS)
def test_links_are_compared_as_the_page_says(written: str, name: str):
    assert len(ROWS) > 5
    assert link(written) == name


@pytest.mark.parametrize("url", ["https://e.org/a?id=7&rss=1#xtor=RSS-1", "https://e.org/?a=b%20c"])
def test_trackers_are_no_part_of_a_link_wherever_it_is_shown(url: str):
    assert link(without_tracking(url)) == link(url) == link(http_link(url, ""))


def test_arxivs_own_doi_and_page_are_the_arxiv_id():
    by_doi = Paper("T", keys={"doi": "10.48550/arXiv.2401.01234"})
    by_page = Paper("T", url="https://arxiv.org/abs/2401.01234v2")
    assert ("arxiv", "2401.01234") in identifiers(by_doi)
    assert ("arxiv", "2401.01234") in identifiers(by_page)
    assert all(scheme != "doi" for scheme, _ in identifiers(by_doi))


def test_a_scheme_may_have_several_values_and_unknown_schemes_are_kept():
    paper = Paper("T", keys={"doi": ("10.1/a", "10.1000/B", "10.1000/b"), "acl": " P19-1001 "})
    assert identifiers(paper) == (("acl", "P19-1001"), ("doi", "10.1000/b"))


def test_a_record_without_an_id_is_named_by_its_link_then_by_its_text():
    assert with_keys(Paper("T", raw_id="guid-1", url="https://e.org/a")).raw_id == "guid-1"
    assert with_keys(Paper("T", url="https://e.org/a")).raw_id == "e.org/a"
    by_text = with_keys(Paper("T", "Words."))
    assert by_text.raw_id == f"text:{by_text.fingerprint}"


def test_the_fingerprint_sees_words_and_no_typography():
    one = Paper("On $\\beta$-VAE", "It\u2019s a self\u2010made “model”.")
    other = Paper("On  β-VAE.", 'It\'s a self-made "model".')
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint(Paper("On β-VAE", "It's another model."))


def test_the_fingerprint_of_a_stored_paper_never_changes_under_it():
    """Pinned: another digest here would make every stored paper look revised."""
    assert fingerprint(Paper("A Title", "An abstract.")) == "1:66d3141152e9a0596d8230217d5c781e"


FULL = Paper(
    title="Sand Moves",
    abstract="Abs",
    authors=("A B", "C D"),
    venue="J",
    year=2026,
    published=datetime(2026, 3, 1, tzinfo=UTC),
    announced=datetime(2026, 3, 1, tzinfo=UTC),
    url="https://x.org",
    pdf_url="https://x.org/p",
    keys={"doi": "10.1000/x"},
    categories=("cs.CL",),
    announce="new",
    version=2,
    withdrawn=True,
    raw_id="raw",
    type="retraction",
    about={"doi": "10.1000/y"},
    upvotes=3,
    precision="month",
    listed=(ListedDay(date(2026, 3, 1), rank=1),),
)
OTHER: dict[str, Any] = {
    "authors": ("A B",),
    "year": 2025,
    "published": None,
    "updated": datetime(2026, 3, 2, tzinfo=UTC),
    "announced": None,
    "keys": {"doi": "10.1000/z"},
    "categories": ("cs.CL", "cs.AI"),
    "version": 3,
    "withdrawn": False,
    "about": {"doi": "10.1000/z"},
    "links": {"code": "https://github.com/a/b"},
    "upvotes": 4,
    "listed": (ListedDay(date(2026, 3, 1), rank=2),),
    "keys_in_links": {"doi": "10.1000/z"},
    "keys_in_text": {"doi": "10.1000/z"},
    "notices": (Paper("Erratum"),),
    "site_note": SiteNote("Hugging Face", line="It wins."),
    "affiliations": ("Sand University",),
}


@pytest.mark.parametrize("name", Paper.__struct_fields__)
def test_the_hash_of_a_record_changes_with_the_fields_that_the_table_says(name: str) -> None:
    [field] = [field for field in FIELDS if field.name == name]
    other = replace(FULL, **{name: OTHER.get(name, "other")})
    assert (record_hash(other) != record_hash(FULL)) is (field.hashed is not None)


def test_records_keep_the_hash_that_stores_have() -> None:
    assert record_hash(Paper("Sand Moves")) == 3434397100979970492
    assert record_hash(FULL) == 1985871773380603535
