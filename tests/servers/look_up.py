"""Hugging Face, arXiv, Crossref, Semantic Scholar and OpenAlex over one corpus, which may lie.

    with look_up_services([Work("Sand Moves", arxiv="2501.00001")]) as services:
        settings = {name: {"url": services.url(name), "allow_private": True} for name in SERVICES}
        ...
        assert services.count("arxiv") == 1

Each is a server of its own: a pause that one asks for is no pause of the others. They search as
the services do: by rank, so that other papers with the same words are in the answers, too; by
phrase (arXiv); by all words (OpenAlex). A work's `lie` replaces its record, or the whole answer to
a question that the work is the best answer to.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.house import AGENTS
from tests.servers import bombs
from tests.servers.bombs import ENDLESS
from tests.servers.web import Answer, Asked, MisbehavingServer, misbehaving_server

NAMES = ("huggingface", "arxiv", "crossref", "semantic-scholar", "openalex")
TOP = 5  # records of an answer that is ranked
A_YEAR = 365 * 24 * 3600
ELSEWHERE = "http://127.0.0.1/"


class Lie(StrEnum):
    """What a service answers that asks for trust: false records, and then false answers."""

    EXCHANGED_WORD = "another paper, of whose title one word differs"
    ERRATUM = "the erratum"
    PART_TWO = "the second part"
    SURVEY = "a survey with the title in its own"
    THESIS = "a thesis with the title"
    TRANSLATION = "a translation"
    NAMESAKE = "another paper with the title"
    SAME_ABSTRACT = "the abstract under another title"
    SENT_BEFORE = "the record with the identifiers of another paper"
    NO_SUCH_ID = "the record with identifiers that nobody assigned"
    NOTHING = "no record"

    HTML = "a page of HTML with status 200"
    HALF = "half of the answer"
    CUT = "the answer without its last signs"
    CLOSED = "the answer, on a connection that ends before it should"
    ERROR = "an error as JSON with status 200"
    TRUNCATED_GZIP = "half of the answer, compressed"
    NOT_FOUND = "a page of HTML with status 404"
    BROKEN = "status 500"
    PAUSE = "status 429 with a Retry-After of a year"
    REDIRECT = "a redirect to a private address"
    ENDLESS = "an answer that does not end"
    PACKED = "a gigabyte in a megabyte"

    @property
    def is_of_a_record(self) -> bool:
        return list(Lie).index(self) <= list(Lie).index(Lie.NOTHING)


@dataclass(frozen=True)
class Work:
    """A paper of the corpus, in the records of the services `at`; `other` is what it lies with.

    `institutions` are those of all authors, as arXiv, Crossref and OpenAlex have them;
    `notices` are those about it (type, DOI, day), as Crossref has them; `becomes` is the DOI of
    what a preprint became; only OpenAlex says that it is `retracted`.
    """

    title: str
    abstract: str = ""
    authors: tuple[str, ...] = ()
    day: str = "2025-01-02"
    arxiv: str = ""
    doi: str = ""
    venue: str = ""
    institutions: tuple[str, ...] = ()
    kind: str = "journal-article"
    summary: str = ""
    code: str = ""
    pdf: str = ""
    retracted: bool = False
    notices: tuple[tuple[str, str, str], ...] = ()
    becomes: str = ""
    at: frozenset[str] = frozenset(NAMES)
    lie: Lie | None = None
    other: Work | None = None
    lies_at: frozenset[str] = frozenset(NAMES)


def false_record(work: Work) -> Work | None:
    """Return the record in which the lie of a work is told; None for no record."""
    other = work.other or Work(
        "Tides of a Harbour in Winter",
        "We measure tides in a harbour through one winter, and find that they follow the moon.",
        ("Ada Fjord", "Bo Strand"),
        arxiv="2402.09999",
        doi="10.5555/tides",
    )
    another = replace(other, at=work.at, lie=None, other=None)
    match work.lie:
        case Lie.EXCHANGED_WORD:
            longest = max(words_of(work.title), key=len)
            exchanged = re.sub(re.escape(longest), "Seaweed", work.title, flags=re.IGNORECASE)
            return replace(another, title=exchanged if exchanged != work.title else other.title)
        case Lie.ERRATUM:
            title = f"Erratum: {work.title}"
            doi = f"{work.doi or '10.5555/x'}.e1"
            return replace(work, title=title, abstract="", doi=doi, arxiv=other.arxiv, lie=None)
        case Lie.PART_TWO:
            return replace(another, title=f"{work.title}, Part II", authors=work.authors)
        case Lie.SURVEY:
            return replace(another, title=f"{work.title}: A Survey", kind="review-article")
        case Lie.THESIS:
            return replace(
                another, title=work.title, kind="dissertation", authors=other.authors[:1]
            )
        case Lie.TRANSLATION:
            title = f"Über die Arbeit „{other.title}“: {' '.join(reversed(work.title.split()))}"
            return replace(another, title=title, authors=work.authors)
        case Lie.NAMESAKE:
            return replace(another, title=work.title)
        case Lie.SAME_ABSTRACT:
            return replace(another, abstract=work.abstract)
        case Lie.SENT_BEFORE:
            return replace(work, arxiv=other.arxiv, doi=other.doi, lie=None)
        case Lie.NO_SUCH_ID:
            return replace(work, arxiv="9999.99999", doi="10.99999/nobody", lie=None)
        case _:
            return None


# ── the corpus ──────────────────────────────────────────────────────────────────────


def words_of(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.findall(r"[^\W_]+", bare.casefold())


class Corpus:
    """The works that one service has, found by words and by identifiers."""

    def __init__(self, works: Sequence[Work]) -> None:
        self._works = works
        self._words = [words_of(work.title) for work in works]
        self._with_word: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(self._words):
            for word in set(words):
                self._with_word[word].append(place)
        self.by_arxiv = {work.arxiv: work for work in works if work.arxiv}
        self.by_doi = {work.doi.lower(): work for work in works if work.doi}

    def ranked(self, query: str, most: int = TOP) -> list[tuple[float, Work]]:
        """Return works by the share of the query that their titles have, then the shortest."""
        words = {word: self._weight(word) for word in words_of(query)}
        scores: Counter[int] = Counter()
        # What only has words that hundreds of titles have is not among the first.
        for word in sorted(words, key=words.__getitem__, reverse=True)[:6]:
            scores.update(self._with_word.get(word, ()))
        candidates = [place for place, _ in scores.most_common(10 * most)]
        whole = sum(words.values()) or 1.0
        shares = {
            place: sum(words[word] for word in words.keys() & set(self._words[place])) / whole
            for place in candidates
        }
        best = sorted(candidates, key=lambda place: (-shares[place], len(self._words[place])))
        return [(shares[place], self._works[place]) for place in best[:most]]

    def _weight(self, word: str) -> float:
        return log(1 + len(self._works) / (1 + len(self._with_word.get(word, ()))))

    def with_all(self, words: Iterable[str]) -> list[Work]:
        """Return works whose titles have all words, the shortest first."""
        postings = [set(self._with_word.get(word, ())) for word in words]
        places = set.intersection(*postings) if postings else set()
        return [self._works[p] for p in sorted(places, key=lambda p: (len(self._words[p]), p))]

    def with_phrases(self, phrases: Sequence[str]) -> list[Work]:
        """Return works whose titles have all phrases word for word, the shortest first."""
        wanted = [f" {' '.join(words_of(phrase))} " for phrase in phrases]
        works = self.with_all(word for phrase in wanted for word in phrase.split())
        titles = [(work, f" {' '.join(words_of(work.title))} ") for work in works]
        return [work for work, title in titles if all(phrase in title for phrase in wanted)]


# ── the services ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Request:
    """A request as a service got it."""

    service: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


# Of a paper that has a title and an abstract alone.
PLANS = Work(
    AGENTS[0],
    AGENTS[1],
    ("Ada Lindqvist",),
    day="2026-10-05",
    arxiv="2610.01234",
    institutions=("Sand & Sons", "Dune Lab"),
)


class LookUpServices:
    """The services of a test, and what they were asked."""

    def __init__(self, works: Sequence[Work], servers: dict[str, MisbehavingServer]) -> None:
        self.requests: list[Request] = []
        self._servers = servers
        self._fixed: dict[str, Answer] = {}
        self._corpora: dict[str, Corpus] = {}
        self.has(works)
        for name, server in servers.items():
            server.decides("*", lambda asked, name=name: self.answer(name, asked))  # type: ignore[misc]

    def has(self, works: Sequence[Work]) -> None:
        """Exchange the works that the services know."""
        self._corpora = {
            name: Corpus([work for work in works if name in work.at]) for name in self._servers
        }

    def answers_with(self, name: str, answer: Answer) -> None:
        """Let a service answer all requests with the same from now on."""
        self._fixed[name] = answer

    def url(self, name: str) -> str:
        return self._servers[name].url("")

    def settings(self, *names: str, **options: object) -> dict[str, object]:
        """Return `look_up:` that asks some services, or all, in this order."""
        return {
            "services": {
                name: {"url": self.url(name), "allow_private": True, **options}
                for name in names or self._servers
            }
        }

    def count(self, name: str = "") -> int:
        """Return how many requests a service got, or all of them."""
        return sum(request.service == name or not name for request in self.requests)

    def answer(self, name: str, asked: Asked) -> Answer:
        """Answer a request, and record it."""
        parts = urlsplit(asked.target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.requests.append(Request(name, parts.path, query, dict(asked.headers)))
        if fixed := self._fixed.get(name):
            return fixed
        found = _ANSWERS[name](self._corpora[name], parts.path, query)
        lies = [work.lie for work in found.best if work.lie and name in work.lies_at]
        false = next((lie for lie in lies if not lie.is_of_a_record), None)
        told = [told for work in found.records if (told := self._told(name, work))]
        answer = found.write(told)
        return answer if false is None else _falsified(answer, false)

    def _told(self, name: str, work: Work) -> Work | None:
        is_false = work.lie and work.lie.is_of_a_record and name in work.lies_at
        return false_record(work) if is_false else work


@contextmanager
def look_up_services(
    works: Sequence[Work] = (), names: Sequence[str] = NAMES
) -> Iterator[LookUpServices]:
    """Run the services on free loopback ports until the block ends."""
    with ExitStack() as stack:
        servers = {name: stack.enter_context(misbehaving_server()) for name in names}
        yield LookUpServices(works, servers)


def _falsified(answer: Answer, lie: Lie) -> Answer:
    match lie:
        case Lie.HTML:
            page = b"<!DOCTYPE html><html><body><h1>Just a moment...</h1></body></html>"
            return Answer(body=page, headers={"Content-Type": "text/html"})
        case Lie.HALF:
            return replace(answer, body=answer.body[: len(answer.body) // 2])
        case Lie.CUT:
            return replace(answer, body=answer.body[:-3])
        case Lie.CLOSED:
            return replace(answer, length=len(answer.body) + 1)
        case Lie.ERROR:
            return Answer(body=b'{"error": "Internal Error", "message": "try again later"}')
        case Lie.PACKED:
            return bombs.packed()
        case Lie.TRUNCATED_GZIP:
            packed = gzip.compress(answer.body)
            return Answer(body=packed[: len(packed) // 2], headers={"Content-Encoding": "gzip"})
        case Lie.NOT_FOUND:
            return Answer(404, b"<html><body>404 Not Found</body></html>")
        case Lie.BROKEN:
            return Answer(500, b"oops")
        case Lie.PAUSE:
            return Answer(429, b"", {"Retry-After": f"{A_YEAR}"})
        case Lie.REDIRECT:
            return Answer(302, b"", {"Location": ELSEWHERE})
        case _:
            return replace(answer, body=answer.body + b" " * 1_000_000, length=ENDLESS, piece=1)


@dataclass(frozen=True)
class _Found:
    """The best work for each title or identifier of a request, all works, and how to send them."""

    best: Sequence[Work]
    records: Sequence[Work]
    write: Callable[[Sequence[Work]], Answer]


def _one(work: Work | None, write: Callable[[Work], Answer], none: Answer) -> _Found:
    """Return the answer to a request for one work, which is `none` where there is none."""
    works = [work] if work else []
    return _Found(works, works, lambda told: write(told[0]) if told else none)


def _json(value: object) -> Answer:
    return Answer(body=json.dumps(value).encode(), headers={"Content-Type": "application/json"})


def _unique(works: Iterable[Work]) -> list[Work]:
    return list(dict.fromkeys(works))


def _huggingface(corpus: Corpus, path: str, query: dict[str, str]) -> _Found:
    if path == "/api/papers/search":
        assert 0 < len(query["q"]) <= 250
        found = corpus.ranked(query["q"], min(int(query["limit"]), TOP))
        works = [work for _, work in found if work.arxiv]
        return _Found(works[:1], works, lambda told: _json([{"paper": _hf(w)} for w in told]))
    work = corpus.by_arxiv.get(unquote(path.removeprefix("/api/papers/")))
    none = Answer(404, b'{"error":"Paper not found"}')
    return _one(work, lambda told: _json(_hf(told)), none)


def _hf(work: Work) -> dict[str, Any]:
    return {
        "id": work.arxiv,
        "title": work.title,
        "summary": work.abstract,
        "authors": [{"_id": "6a2c", "name": name, "hidden": False} for name in work.authors],
        "publishedAt": f"{work.day}T00:00:00.000Z",
        "upvotes": 3,
        **({"githubRepo": work.code} if work.code else {}),
        **({"ai_summary": work.summary} if work.summary else {}),
    }


def _arxiv(corpus: Corpus, path: str, query: dict[str, str]) -> _Found:
    assert path == "/api/query"
    most = int(query["max_results"])
    if "id_list" in query:
        names = query["id_list"].split(",")
        works = [corpus.by_arxiv[name] for name in names if name in corpus.by_arxiv]
        return _Found(works, works, lambda told: _atom(told, len(told)))
    matches = [
        [work for work in corpus.with_phrases(re.findall('ti:"([^"]*)"', part)) if work.arxiv]
        for part in query["search_query"].split(" OR ")
    ]
    works = _unique(work for match in matches for work in match[:most])
    best = [match[0] for match in matches if match]
    return _Found(best, works[:most], lambda told: _atom(told, len(works)))


def _atom(works: Sequence[Work], total: int) -> Answer:
    entries = "".join(map(_entry, works))
    feed = (
        "<?xml version='1.0' encoding='UTF-8'?>"
        '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"'
        ' xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">'
        "<id>https://arxiv.org/api/1nd5XqiUmH</id><title>arXiv Query</title>"
        "<updated>2026-03-26T07:27:39Z</updated>"
        f"<opensearch:itemsPerPage>{len(works)}</opensearch:itemsPerPage>"
        f"<opensearch:totalResults>{total if works else 0}</opensearch:totalResults>"
        f"<opensearch:startIndex>0</opensearch:startIndex>{entries}</feed>"
    )
    return Answer(body=feed.encode(), headers={"Content-Type": "application/atom+xml"})


def _entry(work: Work) -> str:
    address = f"https://arxiv.org/abs/{work.arxiv}v1"
    places = "".join(
        f"<arxiv:affiliation>{html.escape(one)}</arxiv:affiliation>" for one in work.institutions
    )
    people = "".join(
        f"<author><name>{html.escape(name)}</name>{places}</author>" for name in work.authors
    )
    doi = f"<arxiv:doi>{html.escape(work.doi)}</arxiv:doi>" if work.doi else ""
    return (
        f"<entry><id>{address.replace('https', 'http')}</id>"
        f"<title>{html.escape(work.title)}</title><updated>{work.day}T20:27:42Z</updated>"
        f'<link href="{address}" rel="alternate" type="text/html"/>'
        f"<summary>{html.escape(work.abstract)}</summary>"
        '<category term="cs.LG" scheme="http://arxiv.org/schemas/atom"/>'
        f"<published>{work.day}T20:27:42Z</published>{people}{doi}</entry>"
    )


def _crossref(corpus: Corpus, path: str, query: dict[str, str]) -> _Found:
    def write(works: Sequence[Work]) -> Answer:
        items = [_cr(work) for work in works]
        message = {"total-results": len(items), "items": items}
        return _json({"status": "ok", "message-type": "work-list", "message": message})

    if alone := unquote(path.removeprefix("/works").removeprefix("/")):
        none = Answer(404, b"Resource not found.")
        work = corpus.by_doi.get(alone.lower())
        return _one(work, lambda told: _json({"status": "ok", "message": _cr(told)}), none)
    if "filter" in query:
        dois = [part.removeprefix("doi:") for part in query["filter"].split(",")]
        works = [corpus.by_doi[doi] for doi in dois if doi in corpus.by_doi]
        return _Found(works, works, write)
    found = corpus.ranked(query["query.bibliographic"], int(query["rows"]))
    works = [work for _, work in found if work.doi]
    return _Found(works[:1], works, write)


def _parts(day: str) -> list[int]:
    return [int(part) for part in day.split("-")]


def _cr(work: Work) -> dict[str, Any]:
    day = _parts(work.day)
    people = [
        {
            "given": given,
            "family": family,
            "sequence": "additional",
            "affiliation": [{"name": one} for one in work.institutions],
        }
        for given, _, family in (name.rpartition(" ") for name in work.authors)
    ]
    return {
        "DOI": work.doi,
        "URL": f"https://doi.org/{work.doi}",
        "title": [work.title],
        "author": people,
        "type": work.kind,
        "issued": {"date-parts": [day]},
        "published": {"date-parts": [day]},
        "container-title": [work.venue] if work.venue else [],
        "updated-by": [
            {"type": type_, "DOI": doi, "updated": {"date-parts": [_parts(day)]}}
            for type_, doi, day in work.notices
        ],
        "relation": {
            "is-preprint-of": [
                {"id-type": "doi", "id": doi} for doi in filter(None, [work.becomes])
            ]
        },
        **({"abstract": f"<jats:p>{html.escape(work.abstract)}</jats:p>"} if work.abstract else {}),
    }


def _semantic_scholar(corpus: Corpus, path: str, query: dict[str, str]) -> _Found:
    if path == "/paper/search/match":
        assert "-" not in query["query"]  # it matches nothing
        found = [work for share, work in corpus.ranked(query["query"], 1) if share > 0.6]
        none = Answer(404, b'{"error":"Title match not found"}')
        return _one(next(iter(found), None), lambda told: _json({"data": [_s2(told)]}), none)
    scheme, _, name = unquote(path.removeprefix("/paper/")).partition(":")
    work = {"ARXIV": corpus.by_arxiv, "DOI": corpus.by_doi}.get(scheme, {}).get(name)
    none = Answer(404, json.dumps({"error": f"Paper with id {scheme}:{name} not found"}).encode())
    return _one(work, lambda told: _json(_s2(told)), none)


def _s2(work: Work) -> dict[str, Any]:
    name = _digest(work)
    ids = {"ArXiv": work.arxiv, "DOI": work.doi}
    return {
        "paperId": name,
        "externalIds": {scheme: id for scheme, id in ids.items() if id},
        "url": f"https://www.semanticscholar.org/paper/{name}",
        "title": work.title,
        "abstract": work.abstract or None,
        "venue": work.venue,
        "year": int(work.day[:4]),
        "publicationDate": work.day,
        "authors": [{"authorId": "1", "name": name} for name in work.authors],
        "openAccessPdf": {"url": work.pdf} if work.pdf else None,
        "tldr": {"model": "tldr@v2.0.0", "text": work.summary} if work.summary else None,
    }


def _digest(work: Work) -> str:
    return hashlib.sha1(f"{work.title} {work.arxiv} {work.doi}".encode()).hexdigest()


def _openalex(corpus: Corpus, path: str, query: dict[str, str]) -> _Found:
    assert path == "/works"
    most = int(query["per_page"])
    (field, _, wanted) = query["filter"].partition(":")
    assert "," not in wanted  # it parts filters
    if field == "doi":
        matches = [
            [work]
            for doi in wanted.split("|")
            if (work := corpus.by_doi.get(doi.lower()))
            or (work := corpus.by_arxiv.get(doi.lower().removeprefix("10.48550/arxiv.")))
        ]
    else:
        assert field == "title.search"
        matches = [corpus.with_all(words_of(title)) for title in wanted.split("|")]
    works = _unique(work for match in matches for work in match)[:most]
    best = [match[0] for match in matches if match]
    return _Found(
        best,
        works,
        lambda told: _json({"meta": {"count": len(told)}, "results": [_oa(w) for w in told]}),
    )


def _oa(work: Work) -> dict[str, Any]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(work.abstract.split()):
        places[word].append(place)
    doi = work.doi or (f"10.48550/arxiv.{work.arxiv}" if work.arxiv else "")
    arxiv = [{"landing_page_url": f"https://arxiv.org/abs/{work.arxiv}"}] if work.arxiv else []
    return {
        "id": f"https://openalex.org/W{int(_digest(work), 16) % 10**10}",
        "doi": f"https://doi.org/{doi}" if doi else None,
        "title": work.title,
        "publication_year": int(work.day[:4]),
        "publication_date": work.day,
        "type": work.kind,
        "is_retracted": work.retracted,
        "authorships": [
            {
                "author": {"display_name": name},
                "institutions": [{"display_name": one} for one in work.institutions],
            }
            for name in work.authors
        ],
        "abstract_inverted_index": dict(places) or None,
        "primary_location": {"source": {"display_name": work.venue} if work.venue else None},
        "best_oa_location": {"pdf_url": work.pdf} if work.pdf else None,
        "locations": arxiv,
    }


_ANSWERS = {
    "huggingface": _huggingface,
    "arxiv": _arxiv,
    "crossref": _crossref,
    "semantic-scholar": _semantic_scholar,
    "openalex": _openalex,
}
