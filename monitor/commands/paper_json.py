"""The JSON of papers, as scripts may rely on it: found, explained, read, rated or doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from monitor.commands.json_output import Answer, iso, plain
from monitor.model import Paper, Reading, record_of

if TYPE_CHECKING:
    from monitor.commands.doubtful_joins import Doubts
    from monitor.commands.explain import Explanation
    from monitor.commands.ratings import Rated
    from monitor.commands.search import FoundPaper


def papers(found: Iterable[FoundPaper]) -> Answer:
    return {"papers": [found_paper(one) for one in found]}


def found_paper(one: FoundPaper) -> Answer:
    """Return a stored paper; what is not known is null or empty."""
    stored = one.stored
    seen = one.sightings
    return {
        "id": stored.id,
        **_text(stored.paper),
        "first_seen": iso(stored.first_seen),
        "sources": [{"source": s.source, "document": s.document, "raw_id": s.raw_id} for s in seen],
    }


def explanation(explained: Explanation) -> Answer:
    """Return a paper and all that became of it."""
    answer = plain(explained)
    del answer["paper"]
    withdrawn = explained.paper.withdrawn
    return {"id": explained.id, **_text(explained.paper), "withdrawn": withdrawn, **answer}


def _text(paper: Paper) -> Answer:
    return {
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": list(paper.authors),
        "venue": paper.venue,
        **_dates(paper),
        "categories": list(paper.categories),
        "url": paper.url,
        "pdf_url": paper.pdf_url,
        "keys": {scheme: _values(value) for scheme, value in paper.keys.items()},
    }


def _dates(paper: Paper) -> Answer:
    """Return the dates of a paper, and the days on which lists had it."""
    month = None if paper.day else paper.month
    return {
        "published": iso(paper.day),
        "published_month": f"{month:%Y-%m}" if month else None,
        "year": paper.year,
        "announced": iso(paper.announced),
        "listed": [
            {
                "source": listed.source,
                "day": f"{listed.day}",
                "year_guessed": listed.year_guessed,
            }
            for listed in paper.listed
        ],
    }


def _values(value: str | Sequence[str]) -> str | list[str]:
    """One value of a scheme stands alone, several as a list."""
    if isinstance(value, str):
        return value
    return value[0] if len(value) == 1 else list(value)


def document(file: str, reading: Reading, source: str) -> Answer:
    return {
        "file": file,
        "error": reading.error or None,
        "papers": [read_paper(record_of(paper, source)) for paper in reading.papers],
        "rejected": [{"where": part.where, "why": part.why} for part in reading.rejected],
    }


def read_paper(paper: Paper) -> Answer:
    """Return a paper as it was read."""
    return {
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": list(paper.authors),
        "venue": paper.venue,
        **_dates(paper),
        "updated": iso(paper.updated),
        "url": paper.url,
        "links": [{"kind": kind, "url": url} for kind, url in sorted(paper.links.items())],
        "keys": {scheme: _values(value) for scheme, value in paper.keys.items()},
        "categories": list(paper.categories),
        "type": paper.type,
        "about": {scheme: _values(value) for scheme, value in paper.about.items()},
        "announce": paper.announce,
        "version": paper.version,
        "withdrawn": paper.withdrawn,
    }


def doubtful(doubts: Doubts, command: str) -> Answer:
    return {
        "doubtful": [
            {
                "paper": one.paper_id,
                "title": one.title,
                "records": [
                    {
                        "source": seen.source,
                        "raw_id": seen.raw_id,
                        "title": seen.text.title if seen.text else None,
                    }
                    for seen in one.doubt.records
                ],
                "reason": one.doubt.reason,
                "recognised": one.doubt.why or None,
                "judged": one.doubt.judged,
                "split": one.command(command),
            }
            for one in doubts.found
        ],
        "joins": doubts.joins,
        "unjudged": doubts.unjudged,
    }


def rated(answers: Iterable[Rated]) -> Answer:
    """Return readers' answers."""
    return {
        "rated": [
            {
                "paper": one.judgement.paper_id,
                "title": one.title,
                "subscription": one.judgement.subscription,
                "topic": one.judgement.topic,
                "who": one.judgement.who,
                "verdict": one.judgement.verdict,
                "at": one.judgement.at.isoformat(),
                "how": one.judgement.how,
            }
            for one in answers
        ]
    }
