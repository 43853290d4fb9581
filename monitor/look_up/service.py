"""The base of every service: options, questions about papers, and the records of an answer.

A service builds addresses of its API. The source of its kind reads the answers, in the sandbox.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote, urlencode

from msgspec import structs

from monitor.errors import DocumentError, FetchError
from monitor.http import Limits
from monitor.look_up.settings import ServiceOptions
from monitor.look_up.titles import is_distinct, plain_title
from monitor.model import Document, Paper, Reading, record_of
from monitor.model.look_up import Lack, Question, Wanted
from monitor.sources import sandbox
from monitor.sources.api.about import MAX_BATCH_CHARS
from monitor.sources.api.windows import PageRequest, Window, WindowSource

if TYPE_CHECKING:
    from monitor.http.client import HttpClient

DEADLINE = timedelta(seconds=30)  # of a request
EVERYTHING = frozenset(Lack)


class Service(ABC):
    """A service that is asked about papers by their identifiers or titles.

    `gives` is what its records have; `a_day` the requests that it is sent a day where the settings
    do not say; `known` a paper that it certainly has, with an identifier. `apart` is the least time
    between requests. `reader` is the source that reads its answers. `takes_key`: it has keys.
    `schemes` are those of the identifiers that it takes; `has_changes`: its records say whether a
    paper was retracted, corrected or published.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    gives: ClassVar[frozenset[Lack]] = EVERYTHING
    a_day: ClassVar[int] = 2_000
    known: ClassVar[Paper]
    apart: ClassVar[timedelta] = timedelta(seconds=1)
    takes_key: ClassVar[bool] = True
    schemes: ClassVar[tuple[str, ...]]
    has_changes: ClassVar[bool] = True
    reader: ClassVar[type[WindowSource]]
    titles_at_once: ClassVar[int] = 1
    identifiers_at_once: ClassVar[int] = 1

    def __init__(
        self, options: ServiceOptions, client: HttpClient, clock: Callable[[], datetime]
    ) -> None:
        self.options = options
        self._client = client
        self._clock = clock
        # The reader fetches nothing, so that it needs no query.
        self._reader = self.reader(self.name, self.reader.Options.model_construct(), client, clock)

    @abstractmethod
    def identifier(self, paper: Paper) -> str:
        """Return the identifier of a paper that the service is asked for, "" for none."""

    @abstractmethod
    def identifier_url(self, identifiers: Sequence[str]) -> str:
        """Return the address that asks about identifiers, of `identifiers_at_once` at most."""

    @abstractmethod
    def title_url(self, titles: Sequence[str]) -> str:
        """Return the address that asks about titles, of `titles_at_once` at most."""

    def sent_title(self, title: str) -> str:
        """Return a title as the service is asked about it, "" where it has no word to ask for."""
        return plain_title(title)

    def stands_alone(self, identifier: str) -> bool:
        """Return whether an identifier cannot be asked for together with others."""
        return False

    def says_none(self, body: bytes) -> bool:
        """Return whether an answer with status 404 says that the service has no such paper."""
        return False

    @property
    def requests_a_day(self) -> int:
        return self.a_day if self.options.a_day is None else self.options.a_day

    @property
    def limits(self) -> Limits:
        """How the service may be called; a mirror has no pace of its own."""
        return {
            "headers": self.headers,
            "allow_private": self.options.allow_private,
            "apart": timedelta(0) if self.options.url else self.apart,
            "deadline": DEADLINE,
            "stays": True,
        }

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of each request, with the key."""
        return {}

    @property
    def credentials(self) -> Mapping[str, str]:
        """The parameters that say who asks: they are added to a question when it is sent."""
        return {}

    def questions(self, papers: Sequence[Wanted]) -> list[Question]:
        """Return the requests about papers: by identifier where the service takes one of theirs.

        Identifiers that were read out of running text may be another paper's, and are not used.
        """
        titled = [
            (wanted, title)
            for wanted in papers
            if not self.identifier(wanted.paper) and (title := self.sent_title(wanted.paper.title))
        ]
        single = self.titles_at_once == 1
        distinct = [one for one in titled if single or is_distinct(one[0].paper.title)]
        common = [one for one in titled if not (single or is_distinct(one[0].paper.title))]
        return [
            *self.questions_by_identifier(papers),
            *self._questions(distinct, self.titles_at_once),
            *self._questions(common, 1),
        ]

    def questions_by_identifier(self, papers: Sequence[Wanted]) -> list[Question]:
        """Return the requests about the papers with an identifier that the service takes."""
        named = [(one, name) for one in papers if (name := self.identifier(one.paper))]
        together = [one for one in named if not self.stands_alone(one[1])]
        alone = [one for one in named if self.stands_alone(one[1])]
        return [
            *self._questions(together, self.identifiers_at_once, by_identifier=True),
            *self._questions(alone, 1, by_identifier=True),
        ]

    def _questions(
        self, asked: Sequence[tuple[Wanted, str]], at_once: int, *, by_identifier: bool = False
    ) -> Iterator[Question]:
        address = self.identifier_url if by_identifier else self.title_url
        for part in _parts(asked, at_once):
            url = address(list(dict.fromkeys(text for _, text in part)))
            yield Question(tuple(wanted for wanted, _ in part), url, by_identifier)

    def ask(self, question: Question) -> tuple[Paper, ...]:
        """Return all records of the answer to a question, () where the service has none.

        Raises FetchError for whatever is no whole, valid answer, with `status` where the service
        answered with another one than 200.
        """
        try:
            response = self._client.get(self._signed(question.url), **self.limits)
        except FetchError as fault:
            if fault.status == 404 and self.says_none(fault.body):
                return ()
            raise
        document = Document(
            name=f"{self.title}, {len(question.papers)} papers",
            content=response.content,
            at=self._clock(),
            content_type=response.content_type,
            # Read as the service's own, also from a mirror, and without who asks.
            url=f"{self.reader.address}{question.url.removeprefix(self.base)}",
            complete=response.complete,
        )
        return self._records(document, question)

    def _records(self, document: Document, question: Question) -> tuple[Paper, ...]:
        cut = f"the answer of {self.title} is cut off"
        if not document.complete:
            raise FetchError(cut)
        try:
            request = PageRequest(Window(document.at, document.at))
            outline, reading = sandbox.read_page(self._reader, document, request)
        except DocumentError as fault:
            raise FetchError(f"{self.title}: {fault}") from fault
        if self.is_empty(reading, question):
            return ()
        if error := reading.error or outline.error:
            raise FetchError(f"{self.title}: {error}")
        if not (reading.complete and outline.whole):
            raise FetchError(cut)
        if outline.total and not outline.records:
            raise FetchError(f"{self.title} announces {outline.total:,} records and sends none")
        # A look-up is neither a list nor an announcement.
        return tuple(
            structs.replace(record_of(paper, self.name), listed=(), announced=None, announce="")
            for paper in reading.papers
        )

    def is_empty(self, reading: Reading, question: Question) -> bool:
        """Return whether an answer that cannot be read says that the service has no record."""
        return False

    # ── addresses ───────────────────────────────────────────────────────────────────

    @property
    def base(self) -> str:
        return (self.options.url or self.reader.address).rstrip("/")

    @property
    def key(self) -> str:
        return self.options.api_key.get_secret_value()

    @property
    def contact(self) -> str:
        """The operator's mail address, "" for none."""
        return self._reader.contact

    def address_of(self, path: str, parameters: Mapping[str, object] | None = None) -> str:
        return f"{self.base}{path}{'?' if parameters else ''}{urlencode(parameters or {})}"

    def _signed(self, url: str) -> str:
        """Return the address of a question with who asks: neither is part of the question."""
        who = urlencode({name: value for name, value in self.credentials.items() if value})
        return f"{url}{'&' if '?' in url else '?'}{who}" if who else url


def own_identifier(paper: Paper, scheme: str) -> str:
    """Return the first identifier of a paper that its record has outside of running text."""
    in_text = paper.keys_in_text.get(scheme, ())
    others = (in_text,) if isinstance(in_text, str) else in_text
    return next((name for name in paper.identifiers(scheme) if name not in others), "")


def _parts(asked: Sequence[tuple[Wanted, str]], at_once: int) -> Iterator[list[tuple[Wanted, str]]]:
    """Part what is asked so that the addresses are short enough."""
    part: list[tuple[Wanted, str]] = []
    chars = 0
    for wanted, text in asked:
        more = len(quote(text))
        if part and (len(part) == at_once or chars + more > MAX_BATCH_CHARS):
            yield part
            part = []
            chars = 0
        part.append((wanted, text))
        chars += more
    if part:
        yield part


def error_in(body: bytes) -> str:
    """Return what an error in JSON says, "" for any other: proxies have pages of their own."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = answer.get("error") if isinstance(answer, dict) else None
    return error if isinstance(error, str) else ""
