"""Who registers a DOI, and that nothing else in the package judges one by its prefix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.text.registrants import (
    REGISTRANTS,
    RegistrantKind,
    kind_of,
    may_be_draft,
    registrant,
)
from tests.module_texts import modules_where, texts_of

PAGE = Path(__file__).parent.parent / "docs" / "identity.md"
# Who prints an article's DOI on a line of its card: a fact about their feeds, not about the DOI.
ELSEWHERE = {"sources/feed/publisher_cards.py"}


@pytest.mark.parametrize(
    ("doi", "name", "kind"),
    [
        ("10.1101/123456", "bioRxiv", "preprint server"),
        ("10.1101/2024.01.02.573456", "bioRxiv", "preprint server"),
        ("10.1101/2020.05.20.20107000v2", "bioRxiv", "preprint server"),
        ("10.1101/gr.277858.123", "", "publisher"),
        ("10.1101/087969561.35.1", "", "publisher"),
        ("10.1101/cshperspect.a041234", "", "publisher"),
        ("10.64898/2026.01.02.123456", "bioRxiv", "preprint server"),
        ("10.48550/arXiv.2401.00001", "arXiv", "preprint server"),
        ("10.31223/X5ABCD", "EarthArXiv", "preprint server"),
        ("10.31219/osf.io/abcde", "OSF Preprints", "preprint server"),
        ("10.31234/osf.io/abcde_v1", "PsyArXiv", "preprint server"),
        ("10.31235/osf.io/abcde", "SocArXiv", "preprint server"),
        ("10.35542/osf.io/abcde", "EdArXiv", "preprint server"),
        ("10.7287/peerj.preprints.27000v1", "PeerJ Preprints", "preprint server"),
        ("10.7287/peerj.27v0.1/reviews/1", "", "publisher"),
        ("10.7717/peerj.4375", "", "publisher"),
        ("10.32388/ABC123", "Qeios", "preprint server"),
        ("10.21203/rs.3.rs-12345/v1", "Research Square", "preprint server"),
        ("10.2139/ssrn.1234567", "SSRN", "preprint server"),
        ("10.26434/chemrxiv-2024-abcde", "ChemRxiv", "preprint server"),
        ("10.20944/preprints202401.0001.v1", "Preprints.org", "preprint server"),
        ("10.36227/techrxiv.12345678.v1", "TechRxiv", "preprint server"),
        ("10.22541/essoar.167000000.00000000/v1", "Authorea", "preprint server"),
        ("10.1002/essoar.10501234.1", "ESS Open Archive", "preprint server"),
        ("10.1002/adma.202300001", "", "publisher"),
        ("10.1590/SciELOPreprints.1234", "SciELO Preprints", "preprint server"),
        ("10.1590/0102-311x00000000", "", "publisher"),
        ("10.12688/verixiv.123.1", "VeriXiv", "preprint server"),
        ("10.12688/f1000research.12345.2", "", "publisher"),
        ("10.7554/eLife.12345.1", "", "publisher"),
        ("10.2196/preprints.12345", "JMIR Preprints", "preprint server"),
        ("10.2196/12345", "", "publisher"),
        ("10.5194/egusphere-2023-12", "EGUsphere", "preprint server"),
        ("10.5194/egusphere-egu23-1234", "", "publisher"),
        ("10.5194/acp-2020-123", "EGUsphere", "preprint server"),
        ("10.5194/acpd-14-1234-2014", "EGUsphere", "preprint server"),
        ("10.5194/acp-24-123-2024", "", "publisher"),
        ("10.5194/essd-13-1-2021", "", "publisher"),
        ("10.5194/essdd-8-1-2015", "EGUsphere", "preprint server"),
        ("10.3386/w12345", "NBER Working Papers", "preprint server"),
        ("10.5281/zenodo.1234567", "Zenodo", "repository"),
        ("10.6084/m9.figshare.1234567.v1", "figshare", "repository"),
        ("10.17605/osf.io/abcde", "Open Science Framework", "repository"),
        ("10.5061/dryad.abcde", "Dryad", "data repository"),
        ("10.1038/s41586-024-00001-1", "", "publisher"),
        ("10.11012/123456", "", "publisher"),
    ],
)
def test_a_doi_says_who_registered_it(doi: str, name: str, kind: str):
    row = registrant(doi)
    assert name in row.names if name else not row.names
    assert kind_of(doi) == kind == row.kind
    assert may_be_draft(doi) == (kind in ("preprint server", "repository"))


def test_two_dois_of_one_publisher_have_one_registrant():
    assert registrant("10.1038/nature1") == registrant("10.1038/s41586-1")
    assert registrant("10.1038/nature1") != registrant("10.1016/j.cell.1")
    assert registrant("10.1101/gr.1.2") != registrant("10.1101/123456")


def test_no_two_rows_are_of_one_doi():
    keys = [(row.prefix, row.suffix) for row in REGISTRANTS]
    assert len(set(keys)) == len(keys)
    whole = {row.prefix for row in REGISTRANTS if not row.suffix}
    assert not [row for row in REGISTRANTS if row.suffix and row.prefix in whole]
    assert all(row.kind is not RegistrantKind.PUBLISHER for row in REGISTRANTS)


def judged_prefixes(path: Path) -> list[str]:
    """Return the prefixes of DOIs that a module's texts name, without those of its comments."""
    numbers = "|".join({row.prefix.removeprefix("10.") for row in REGISTRANTS})
    return [
        text
        for text in texts_of(path)
        if re.search(r"10(?:\\?\.)", text) and re.search(rf"(?<!\d)(?:{numbers})(?!\d)", text)
    ]


def test_no_module_has_a_second_list_of_registrants():
    assert modules_where(judged_prefixes, but={"text/registrants.py", *ELSEWHERE}) == set()


def test_the_page_lists_each_registrant():
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    rows = (f"{', '.join(row.names)} ({row.prefix}, {row.since})" for row in REGISTRANTS)
    assert [row for row in rows if row not in page] == []
