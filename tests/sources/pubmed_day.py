"""A daily update file in the shape of NLM's: 300 papers, and 212 notices, written for these tests.

119 of the notices have what they are about in the same file: three errata are about 15, 12 and 8
articles, and three papers have two notices. As NLM does, notices name papers by their PMID alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from random import Random
from xml.sax.saxutils import escape

FIRST_PMID = 41_000_000
SEVERAL = (15, 12, 8)
PAPERS = 300
NOTICES = 212
WITH_PAPER = 119

# The type of a notice, how it refers to its paper, and how the paper's record refers to it.
ERRATUM = ("Published Erratum", "ErratumFor", "ErratumIn")
RETRACTION = ("Retraction Notice", "RetractionOf", "RetractionIn")
CONCERN = ("Expression of Concern", "ExpressionOfConcernFor", "ExpressionOfConcernIn")
KINDS = (ERRATUM, ERRATUM, RETRACTION, ERRATUM, CONCERN)


@dataclass(frozen=True)
class Entry:
    """A record of the file by its number, from 0; papers come before notices."""

    number: int

    @property
    def pmid(self) -> int:
        return FIRST_PMID + self.number

    @property
    def doi(self) -> str:
        return f"10.5555/day.{self.number}"

    @property
    def title(self) -> str:
        words = [_word(Random(f"{self.number} {place}")) for place in range(6)]
        return "{} {} of {} in {} {} and {}".format(*words).capitalize()

    @property
    def authors(self) -> list[tuple[str, str]]:
        random = Random(self.number)
        return [(_word(random).capitalize(), _word(random).capitalize()) for _ in range(3)]


@dataclass(frozen=True)
class Notice:
    """A notice of a kind about some papers, by their PMIDs."""

    entry: Entry
    kind: tuple[str, str, str]
    about: tuple[int, ...]


def _word(random: Random) -> str:
    return "".join(random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(4))


def papers() -> list[Entry]:
    return list(map(Entry, range(PAPERS)))


def notices() -> list[Notice]:
    numbers = iter(range(PAPERS, PAPERS + NOTICES))
    subjects = []
    first = 0
    for count in SEVERAL:
        subjects.append((ERRATUM, tuple(range(first, first + count))))
        first += count
    alone = WITH_PAPER - len(SEVERAL) - 3
    subjects += [(KINDS[n % len(KINDS)], (n,)) for n in range(first, first + alone)]
    corrected = [n for kind, (n, *_) in subjects[len(SEVERAL) :] if kind is ERRATUM]
    subjects += [(CONCERN, (n,)) for n in corrected[:3]]
    here = [(kind, tuple(Entry(n).pmid for n in about)) for kind, about in subjects]
    elsewhere = [(KINDS[n % len(KINDS)], (FIRST_PMID - 1 - n,)) for n in range(NOTICES - len(here))]
    return [Notice(Entry(next(numbers)), *subject) for subject in (*here, *elsewhere)]


def pairs() -> list[tuple[str, str]]:
    """Each notice, by its DOI, with the title of each paper that it is about."""
    titles = {paper.pmid: paper.title for paper in papers()}
    return [
        (f"doi:{notice.entry.doi}", titles[pmid])
        for notice in notices()
        for pmid in notice.about
        if pmid in titles
    ]


def day(*, with_papers: bool = True, with_notices: bool = True, revised: str = "20") -> str:
    """Return a file with papers and notices, in an order that mixes them."""
    by_paper: dict[int, list[Notice]] = {}
    for notice in notices():
        for pmid in notice.about:
            by_paper.setdefault(pmid, []).append(notice)
    of_papers = [_paper(paper, by_paper.get(paper.pmid, []), revised) for paper in papers()]
    of_notices = [_notice(notice, revised) for notice in notices()]
    records = chain(of_papers if with_papers else (), of_notices if with_notices else ())
    mixed = Random(1).sample(listed := list(records), len(listed))
    return f"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"
 "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">
<PubmedArticleSet>
{"".join(mixed)}</PubmedArticleSet>
"""


def _paper(paper: Entry, named_by: list[Notice], revised: str) -> str:
    retracted = any(notice.kind is RETRACTION for notice in named_by)
    types = ["Journal Article", *(["Retracted Publication"] if retracted else [])]
    refers = [(notice.kind[2], notice.entry.pmid) for notice in named_by]
    return _record(paper, paper.title, types, refers, revised)


def _notice(notice: Notice, revised: str) -> str:
    kind, refers_to, _ = notice.kind
    titles = [Entry(pmid - FIRST_PMID).title for pmid in notice.about]
    called = {ERRATUM: "Erratum", RETRACTION: "Retraction", CONCERN: "Expression of Concern"}
    of = titles[0] if len(titles) == 1 else f"{len(titles)} articles of this journal"
    title = f"{called[notice.kind]}: {of}."
    refers = [(refers_to, pmid) for pmid in notice.about]
    return _record(notice.entry, title, [kind], refers, revised)


def _record(
    entry: Entry, title: str, types: list[str], refers: list[tuple[str, int]], revised: str
) -> str:
    notes = "".join(
        f'<CommentsCorrections RefType="{kind}"><RefSource>J Sand. 2026 Nov;7(11):{pmid % 1000}.'
        f'</RefSource><PMID Version="1">{pmid}</PMID></CommentsCorrections>'
        for kind, pmid in refers
    )
    people = "".join(
        f'<Author ValidYN="Y"><LastName>{last}</LastName><ForeName>{first}</ForeName>'
        f"<Initials>{first[0]}</Initials></Author>"
        for first, last in entry.authors
    )
    kinds = "".join(f'<PublicationType UI="D016428">{kind}</PublicationType>' for kind in types)
    return f"""<PubmedArticle><MedlineCitation Status="PubMed-not-MEDLINE" Owner="NLM">
<PMID Version="1">{entry.pmid}</PMID>
<DateRevised><Year>2026</Year><Month>11</Month><Day>{revised}</Day></DateRevised>
<Article PubModel="Electronic"><Journal><ISSN IssnType="Electronic">1234-5679</ISSN>
<JournalIssue CitedMedium="Internet"><Volume>7</Volume><Issue>11</Issue>
<PubDate><Year>2026</Year><Month>Nov</Month></PubDate></JournalIssue>
<Title>Journal of Sand</Title><ISOAbbreviation>J Sand</ISOAbbreviation></Journal>
<ArticleTitle>{escape(title)}</ArticleTitle>
<ELocationID EIdType="doi" ValidYN="Y">{entry.doi}</ELocationID>
<AuthorList CompleteYN="Y">{people}</AuthorList><Language>eng</Language>
<PublicationTypeList>{kinds}</PublicationTypeList></Article>
<MedlineJournalInfo><Country>Germany</Country><MedlineTA>J Sand</MedlineTA></MedlineJournalInfo>
<CommentsCorrectionsList>{notes}</CommentsCorrectionsList></MedlineCitation>
<PubmedData><History><PubMedPubDate PubStatus="entrez"><Year>2026</Year><Month>11</Month>
<Day>19</Day></PubMedPubDate></History><PublicationStatus>epublish</PublicationStatus>
<ArticleIdList><ArticleId IdType="pubmed">{entry.pmid}</ArticleId>
<ArticleId IdType="doi">{entry.doi}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
"""
