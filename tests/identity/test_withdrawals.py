"""Who may mark a paper as withdrawn, and what becomes of a record that may not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from monitor.identity.keys import identifiers, with_keys
from monitor.identity.notices import attach
from monitor.identity.withdrawals import (
    Basis,
    Standing,
    as_report,
    basis,
    may_retract,
    reported_by,
)
from monitor.model import REPORT, RETRACTION, Authority, ChangeKind, Claim, Decision, Paper
from monitor.text.addresses import is_shared_host
from tests.identity.scenarios import SAND

PAPER = replace(SAND, raw_id="")
BARE = Paper(PAPER.title, PAPER.abstract, PAPER.authors)
NOBODY = Standing()
KEEPS = Standing(Authority.EVERY)
WITH_DOI = Standing(Authority.WITH_DOI)
LINKED = {("doi", "10.5555/sand.1"): Claim.LINK}
BLOG = "https://blog.example.net/42"


def withdrawn(**fields: Any) -> Paper:
    """A record that calls the paper withdrawn."""
    return replace(BARE, withdrawn=True, **fields)


@pytest.mark.parametrize(
    ("record", "paper", "standing", "brought", "why"),
    [
        (withdrawn(), PAPER, NOBODY, False, None),
        (withdrawn(url=BLOG), PAPER, NOBODY, False, None),
        (withdrawn(keys={"doi": "10.5555/sand.1"}), PAPER, NOBODY, False, Basis.NAMED),
        (withdrawn(keys={"pmid": "1"}), PAPER, NOBODY, False, Basis.NAMED),
        (withdrawn(keys={"pmid": "1"}, title="Else"), PAPER, NOBODY, False, Basis.NAMED),
        (withdrawn(about={"pmid": "1"}, title="Else"), PAPER, NOBODY, False, Basis.NAMED),
        (withdrawn(about={"pmid": "2"}), PAPER, NOBODY, False, None),
        (withdrawn(), PAPER, NOBODY, True, Basis.OWN_ENTRY),
        (withdrawn(), PAPER, KEEPS, False, Basis.RECORD),
        (withdrawn(), BARE, KEEPS, False, Basis.RECORD),
        (withdrawn(title="Dust Rises", authors=("Cy Doe",)), PAPER, KEEPS, False, None),
        (withdrawn(), PAPER, WITH_DOI, False, None),
        (withdrawn(keys={"pmid": "9"}), BARE, WITH_DOI, False, None),
        (withdrawn(keys={"doi": "10.7777/x"}), BARE, WITH_DOI, False, Basis.RECORD),
        (withdrawn(keys={"doi": "10.7777/x"}), BARE, NOBODY, False, None),
        (withdrawn(keys={"doi": "10.5555/retr.1"}), PAPER, NOBODY, False, Basis.REGISTRANT),
        (withdrawn(keys={"doi": "10.7777/retr.1"}), PAPER, NOBODY, False, None),
        (
            withdrawn(url="https://www.journal.example.org/r/1"),
            PAPER,
            NOBODY,
            False,
            Basis.HOST,
        ),
        (
            withdrawn(url="https://journal.example.org/r/1"),
            PAPER,
            Standing(host="journal.example.org"),
            False,
            Basis.HOST,
        ),
        # A list of links is read from elsewhere.
        (
            withdrawn(url="https://journal.example.org/sand/1"),
            PAPER,
            Standing(host="blog.example.net"),
            False,
            None,
        ),
        (withdrawn(url="https://news.journal.example.org/r/1"), PAPER, NOBODY, False, None),
        (withdrawn(url="https://["), PAPER, NOBODY, False, None),
    ],
)
def test_a_record_marks_a_paper_that_it_names_or_that_its_source_can_know_of(
    record: Paper, paper: Paper, standing: Standing, brought: bool, why: Basis | None
):
    incoming = with_keys(record)
    assert basis(incoming, paper, identifiers(paper), standing, brought=brought) is why


@pytest.mark.parametrize(
    "doi", ["10.5281/zenodo.{}", "10.6084/m9.figshare.{}", "10.31234/osf.io/{}", "10.2139/ssrn.{}"]
)
def test_a_repository_in_which_anybody_deposits_is_no_publisher(doi: str):
    paper = replace(BARE, keys={"doi": doi.format(1)})
    record = with_keys(withdrawn(keys={"doi": doi.format(2)}))
    assert basis(record, paper, identifiers(paper), NOBODY) is None


@pytest.mark.parametrize(
    "address",
    [
        "https://arxiv.org/abs/2601.0000{}",
        "https://doi.org/10.5555/{}",
        "https://github.com/ada/{}",
        "https://huggingface.co/papers/{}",
        "https://medium.com/@ada/{}",
        "https://zenodo.org/records/{}",
        "https://www.researchgate.net/publication/{}",
        "https://papers.ssrn.com/sol3/papers.cfm?abstract_id={}",
        "https://sites.google.com/view/{}",
    ],
)
def test_a_host_of_many_people_proves_nothing(address: str):
    paper = replace(BARE, url=address.format(1))
    record = replace(with_keys(withdrawn(url=address.format(2))), keys=())
    assert basis(record, paper, (), NOBODY) is None


@pytest.mark.parametrize("host", ["ada.github.io", "ada.substack.com", "journal.example.org"])
def test_a_host_of_one_person_is_not_shared(host: str):
    assert not is_shared_host(host)


def test_an_identifier_that_is_merely_linked_to_names_nothing():
    record = replace(with_keys(withdrawn(keys={"doi": "10.5555/sand.1"})), claims=LINKED)
    assert basis(record, PAPER, identifiers(PAPER), NOBODY) is None
    assert basis(record, BARE, (), WITH_DOI) is None


def test_a_report_is_a_notice_about_what_it_names_and_recognised_by_no_link():
    named = as_report(with_keys(withdrawn(keys={"doi": "10.5555/sand.1"}, url=BLOG)))
    assert (named.paper.type, named.paper.title) == (REPORT, PAPER.title)
    assert (named.about, named.paper.withdrawn) == ((("doi", "10.5555/sand.1"),), False)
    assert named.keys == (("url", "blog.example.net/42"),)
    linked = as_report(replace(with_keys(withdrawn(keys={"doi": "10.5555/sand.1"})), claims=LINKED))
    assert (linked.about, linked.keys) == ((), ())
    again = reported_by(named.paper)
    assert again and again.paper.title == PAPER.title
    assert again.keys == (("doi", "10.5555/sand.1"),)
    assert reported_by(PAPER) is None


@pytest.mark.parametrize(
    ("fields", "may"),
    [
        ({}, True),
        ({"title": BARE.title.upper()}, True),
        ({"authors": ()}, True),
        ({"authors": BARE.authors[:1]}, True),
        ({"authors": ("Eve Nobody",)}, False),
        ({"title": "Sand Moves Uphill in Winter"}, False),
    ],
)
def test_a_record_with_another_doi_retracts_a_paper_of_its_title_and_authors(
    fields: dict[str, Any], may: bool
):
    assert may_retract(withdrawn(**fields), PAPER) is may


def test_a_notice_that_was_mistaken_has_no_effect_on_its_paper():
    about = {"doi": "10.5555/sand.1"}
    notice = with_keys(Paper("Retraction: Sand", type=RETRACTION, about=about, raw_id="notice"))
    decision = Decision(notice, ChangeKind.NEW, news=True)
    stored = dict.fromkeys(notice.about, 7)
    for undone, papers in (({}, (7,)), ({"notice": {7}}, ()), ({"other": {7}}, (7,))):
        [attached] = attach([decision], stored, {}, undone)
        assert attached.effect and attached.effect.papers == papers
