"""The institutions of authors: what each kind reads, and how much of it is kept."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from monitor.identity.keys import record_hash
from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.crossref import Crossref
from monitor.sources.europepmc import EuropePmc
from monitor.sources.fields.affiliations import affiliations, split_affiliations
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.openalex import OpenAlex
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from tests.sources.scenario import only, read

SEVERAL = ("CERN", "Université de Sable")
BONN = "Dept of Sand, University of Bonn, Bonn, Germany"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (["CERN", "University of Bonn", "CERN"], ("CERN", "University of Bonn")),
        (["Université de Sable", "universite de  sable."], ("Université de Sable",)),
        # Nothing tells these commas from those before an address.
        (
            ["University of California, San Francisco, CA 94143, USA."],
            ("University of California, San Francisco, CA 94143, USA",),
        ),
        ([f"{BONN}. ada.fjord@uni-bonn.example."], (BONN,)),
        ([f"{BONN}. Electronic address: ada@uni-bonn.example."], (BONN,)),
        (["ada@uni-bonn.example"], ()),
        (["Gansu University , , ,"], ("Gansu University",)),
        (["<i>Sand</i> &amp; Sons", "R&D Lab"], ("Sand & Sons", "R&D Lab")),
        (["", "N/A", "-", "1 and 3", "none", "*"], ()),
        (["北京大学"], ("北京大学",)),
    ],
)
def test_an_institution_is_kept_once_in_the_words_of_the_record(
    written: list[str], kept: tuple[str, ...]
) -> None:
    assert affiliations(written) == kept


def test_a_record_of_thousands_keeps_the_first_fifty() -> None:
    names = [f"Institute {number // 100} of Sand" for number in range(9_000)]
    assert affiliations(names) == tuple(f"Institute {number} of Sand" for number in range(50))


def test_an_endless_text_is_cut_after_a_word() -> None:
    [kept] = affiliations(["Department of Sand " * 100_000])
    assert len(kept) <= 300 and kept.endswith(("Sand …", "of …", "Department …"))
    assert affiliations(["@" * 200_000, "a" * 200_000 + "@"])


def test_one_text_may_have_several() -> None:
    line = "CERN; University of Bonn|Sand &amp; Sons;AT&T; Universit&eacute; de Sable"
    assert split_affiliations([line, "Dune Lab"]) == (
        *("CERN", "University of Bonn", "Sand & Sons", "AT&T", "Université de Sable", "Dune Lab"),
    )


def test_whether_a_record_names_any_decides_whether_it_is_read_again() -> None:
    one, other, none = (
        only(Jsonl, {"title": "T", "affiliations": names}) for names in (["CERN"], ["Dune Lab"], [])
    )
    assert record_hash(one) == record_hash(other) != record_hash(none)


def author(*institutions: str, raw: tuple[str, ...] = ()) -> Mapping[str, object]:
    return {
        "author": {"display_name": "Ada Fjord"},
        "institutions": [{"display_name": name, "country_code": "DE"} for name in institutions],
        "raw_affiliation_strings": list(raw),
    }


def in_europe(**fields: object) -> Mapping[str, object]:
    record = {"title": "T", "affiliation": "CERN."} | fields
    return {"resultList": {"result": [record]}}


PUBMED = """<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article>
<ArticleTitle>T</ArticleTitle><AuthorList>
<Author><LastName>Fjord</LastName><AffiliationInfo><Affiliation>CERN. ada@cern.example</Affiliation>
</AffiliationInfo><AffiliationInfo><Affiliation>Dune Lab.</Affiliation></AffiliationInfo></Author>
<Author ValidYN="N"><LastName>Fiord</LastName><Affiliation>Nowhere</Affiliation></Author>
<Author><LastName>Strand</LastName><Affiliation>University of Bonn</Affiliation></Author>
</AuthorList></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"""
OAI = """<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header>
<identifier>oai:arXiv.org:2501.00001</identifier><datestamp>2025-01-02</datestamp></header>
<metadata><arXiv xmlns="http://arxiv.org/OAI/arXiv/"><id>2501.00001</id>
<created>2025-01-01</created><authors>
<author><keyname>Fjord</keyname><forenames>Ada</forenames><affiliation>CERN</affiliation>
<affiliation>Universit{\\'e} de Sable</affiliation></author>
<author><keyname>Strand</keyname><forenames>Bo</forenames></author></authors>
<title>T</title><categories>cs.LG</categories><abstract>A.</abstract></arXiv></metadata>
</record></ListRecords></OAI-PMH>"""
NBIB = f"PMID- 1\nTI  - T\nFAU - Fjord, Ada\nAD  - {BONN[:24]}\n      {BONN[24:]}.\nAD  - CERN.\n"
WEB_OF_SCIENCE = "Fjord, A (Corresponding Author), Univ Bonn, Bonn, Germany. Fjord, A; Ek, B, CERN"


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        (
            OpenAlex,
            {
                "results": [
                    {
                        "id": "https://openalex.org/W1",
                        "title": "T",
                        "authorships": [
                            author("CERN", "University of Bonn"),
                            author(raw=("Dune Lab, Bonn",)),
                            author("CERN", raw=("CERN, Geneva",)),
                            {"author": {}, "institutions": None},
                        ],
                    }
                ]
            },
            ("CERN", "University of Bonn", "Dune Lab, Bonn"),
        ),
        (
            Crossref,
            {
                "DOI": "10.1000/x",
                "title": ["T"],
                "author": [
                    {"family": "Fjord", "affiliation": [{"name": "R&amp;amp;D Lab"}, {"id": []}]},
                    {"family": "Strand", "affiliation": []},
                    {"family": "Ek", "affiliation": [{"name": "CERN"}]},
                ],
            },
            ("R&D Lab", "CERN"),
        ),
        (PubMed, PUBMED, ("CERN", "Dune Lab", "University of Bonn")),
        (
            EuropePmc,
            in_europe(
                authorList={
                    "author": [
                        {"authorAffiliationDetailsList": {"authorAffiliation": places}}
                        for places in ([{"affiliation": "CERN."}, {}], {"affiliation": BONN})
                    ]
                },
            ),
            ("CERN", BONN),
        ),
        (EuropePmc, in_europe(), ("CERN",)),
        (Arxiv, OAI, SEVERAL),
        (
            Jsonl,
            {
                "id": "2501.00001",
                "submitter": "Ada Fjord",
                "title": "T",
                "authors_parsed": [["Fjord", "Ada", "", "CERN"], ["Strand", "Bo", "", "1 and 2"]],
                "versions": [],
                "categories": "cs.LG",
                "abstract": "A.",
                "update_date": "2025-01-02",
            },
            ("CERN",),
        ),
        (Jsonl, {"title": "T", "affiliations": ["CERN", "CERN", BONN]}, ("CERN", BONN)),
        (Jsonl, {"title": "T", "Affiliation": f"CERN; {BONN}"}, ("CERN", BONN)),
        (Jsonl, {"title": "T", "institutions": [{"name": "CERN"}, 7, None]}, ("CERN",)),
        (BibTex, "@misc{a, title={T}, affiliation={CERN; Universit{\\'e} de Sable}}", SEVERAL),
        (
            BibTex,
            f"@misc{{a, title={{T}}, affiliation={{{WEB_OF_SCIENCE}}}, affiliations={{CERN}}}}",
            ("CERN",),
        ),
        (BibTex, f"@misc{{a, title={{T}}, affiliation={{{WEB_OF_SCIENCE}}}}}", ()),
        (Ris, f"TY  - JOUR\nTI  - T\nAD  - {BONN}\nAD  - CERN\nER  - \n", (BONN, "CERN")),
        (Ris, NBIB, (BONN, "CERN")),
    ],
)
def test_a_kind_reads_the_institutions_of_its_records(
    kind: type[Source], content: object, expected: tuple[str, ...]
) -> None:
    assert only(kind, content).affiliations == expected


def test_arxivs_api_gives_those_of_all_authors() -> None:
    def entry(number: int, *authors: str) -> str:
        people = "".join(f"<author><name>Ada Fjord</name>{places}</author>" for places in authors)
        return f"<entry><id>http://arxiv.org/abs/2501.0000{number}v1</id><title>T</title>{people}</entry>"

    def of(name: str) -> str:
        return f"<arxiv:affiliation>{name}</arxiv:affiliation>"

    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">'
        f"{entry(1, of('CERN') + of('Dune Lab'), of('University of Bonn'))}{entry(2, '')}"
        f"{entry(3, of('Sand &amp; Sons'), of('CERN'))}</feed>"
    )
    assert [paper.affiliations for paper in read(Arxiv, feed).papers] == [
        ("CERN", "Dune Lab", "University of Bonn"),
        (),
        ("Sand & Sons", "CERN"),
    ]
