"""One good document of five papers of each kind of library record, for the contract tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.dblp import Dblp
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris


def article(
    pmid: int,
    title: str,
    abstract: str = "",
    authors: Sequence[tuple[str, str]] = (("Ada", "Byron"),),
    doi: str = "",
    types: Sequence[str] = ("Journal Article",),
    refs: Mapping[str, int | None] | None = None,
) -> str:
    """One record; `refs` are what it says of other records, by RefType, with their PMIDs."""
    people = "".join(
        f"<Author><LastName>{last}</LastName><ForeName>{first}</ForeName></Author>"
        for first, last in authors
    )
    notes = "".join(
        f'<CommentsCorrections RefType="{kind}"><RefSource>J Sand. 2020;1:1</RefSource>'
        + (f'<PMID Version="1">{of}</PMID>' if of else "")
        + "</CommentsCorrections>"
        for kind, of in (refs or {}).items()
    )
    said = f"<Abstract><AbstractText>{escape(abstract)}</AbstractText></Abstract>"
    kinds = "".join(f"<PublicationType>{kind}</PublicationType>" for kind in types)
    return f"""<PubmedArticle><MedlineCitation><PMID Version="1">{pmid}</PMID><Article>
<Journal><JournalIssue><PubDate><Year>2026</Year><Month>Feb</Month></PubDate></JournalIssue>
<Title>Journal of Sand</Title></Journal>
<ArticleTitle>{escape(title)}</ArticleTitle>
{f'<ELocationID EIdType="doi" ValidYN="Y">{doi}</ELocationID>' if doi else ""}
{said if abstract else ""}<AuthorList>{people}</AuthorList>
<PublicationTypeList>{kinds}</PublicationTypeList></Article>
<CommentsCorrectionsList>{notes}</CommentsCorrectionsList></MedlineCitation></PubmedArticle>"""


def articles(*records: str) -> str:
    """A document with some records."""
    return f'<?xml version="1.0"?><PubmedArticleSet>{"".join(records)}</PubmedArticleSet>'


def pubmed(numbers: range = range(5)) -> bytes:
    """Return an answer of efetch."""
    articles = "".join(
        f"<PubmedArticle><MedlineCitation><PMID>{n}</PMID><Article><ArticleTitle>Paper {n}."
        "</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
        for n in numbers
    )
    return f'<?xml version="1.0"?><PubmedArticleSet>{articles}</PubmedArticleSet>'.encode()


def searched(numbers: range = range(5), total: int | None = None) -> bytes:
    """Return an answer of esearch."""
    ids = [str(n) for n in numbers]
    return json.dumps({"esearchresult": {"count": str(total or len(ids)), "idlist": ids}}).encode()


def dblp_xml(numbers: range = range(5)) -> bytes:
    hits = "".join(
        f"<hit><info><title>Paper {n}.</title><key>journals/x/{n}</key></info></hit>"
        for n in numbers
    )
    status = '<status code="200">OK</status>'
    return f'<result>{status}<hits total="5" sent="5">{hits}</hits></result>'.encode()


def dblp_json(numbers: range = range(5), total: int = 5) -> bytes:
    hits = [{"info": {"title": f"Paper {n}.", "key": f"journals/x/{n}"}} for n in numbers]
    found = {"@total": str(total), "@sent": str(len(hits)), "@first": "0", "hit": hits}
    status = {"@code": "200", "text": "OK"}
    return json.dumps({"result": {"status": status, "hits": found}}).encode()


BIBTEX = b"\n".join(b"@article{k%d, title = {Paper %d}, year = 2024}" % (n, n) for n in range(5))
RIS = b"".join(b"TY  - JOUR\nTI  - Paper %d\nPY  - 2024\nER  - \n" % n for n in range(5))

KINDS: list[tuple[type[Source], bytes]] = [
    (PubMed, pubmed()),
    (Dblp, dblp_xml()),
    (Dblp, dblp_json()),
    (BibTex, BIBTEX),
    (Ris, RIS),
]
