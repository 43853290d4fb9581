"""Documents as PubMed writes them, made up for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape


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
