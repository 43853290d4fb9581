"""Fetches what changed in an OAI-PMH repository: pieces of time, sets, pages by resumption token.

State between runs is `until`, up to when everything was read: the time of the repository's first
response, because its clock makes the datestamps. It moves with the last page of a piece; an error,
a truncated page or a restart affects only that piece. While pieces are left, `from` says where the
next begins, and `days` its length after a piece had too many pages: half of that piece, doubled
after each piece that was read. When a token has expired (arXiv's last a day), the list is requested
again, once. A token that is repeated means that the list has no end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import cast
from urllib.parse import urlencode

from monitor.errors import DocumentError, FetchError
from monitor.http.addresses import redact_url
from monitor.model import Document, Paper
from monitor.sources import sandbox
from monitor.sources.api.windows import Span, spans
from monitor.sources.base import Found, Source
from monitor.sources.fields.dates import parse_date
from monitor.sources.oai.envelope import Envelope, Record, read_envelope, says_error

PIECE = timedelta(days=7)
MAX_PAGES = 2_000  # of one piece
ENOUGH_PAGES = 100  # after which a run leaves the other pieces to the next
UNTIL, FROM, DAYS = "until", "from", "days"


@dataclass(frozen=True, slots=True)
class Repository:
    """What to request from a repository; without sets, all records.

    Requests are by day, the one granularity that every repository has.
    """

    address: str
    prefix: str
    sets: Sequence[str] = ()

    @property
    def shown(self) -> str:
        return redact_url(self.address)

    def url(self, **arguments: str) -> str:
        parameters = {name.strip("_"): value for name, value in arguments.items() if value}
        mark = "&" if "?" in self.address else "?"
        return f"{self.address}{mark}{urlencode({'verb': 'ListRecords', **parameters})}"


class Harvester(Source):
    """A kind that fetches from repositories."""

    @abstractmethod
    def convert(self, record: Record) -> Paper | str:
        """Turn a record into a paper, or return the reason why it is none."""

    def envelope(self, content: bytes) -> Envelope:
        return read_envelope(content, self.convert)

    def outline(self, document: Document) -> Envelope:
        """Read a response without its records: its token, date and errors."""
        return replace(self.envelope(document.content), found=())

    def harvest(
        self,
        repository: Repository,
        state: Mapping[str, str],
        overlap: timedelta,
        last_state: Mapping[str, str] | None = None,
    ) -> Iterator[Found]:
        """Find the pages of all that changed since `state`, or in the last week without one.

        `last_state` is added to the state after the last piece. Raises DocumentError if a list
        has no end.
        """
        now = self._clock()
        until = parse_date(state.get(UNTIL, "")) or now - PIECE + overlap
        begin = parse_date(state.get(FROM, "")) or until - overlap
        days = state.get(DAYS, "")
        longest = timedelta(days=int(days)) if days.isdigit() else overlap + PIECE
        pages = 0
        for span in spans(begin, now, timedelta(0), longest):
            is_last = span.end == now  # it is requested without an end
            walk = _Walk(self, repository, span, state, (last_state or {}) if is_last else None)
            yield from walk.find()
            pages += walk.pages
            if not walk.whole or pages >= ENOUGH_PAGES:
                return
            state = walk.done

    def answer(self, address: str, name: str) -> Document:
        """Fetch a response as the document of that name; raises FetchError.

        Some repositories send errors of the protocol with an HTTP status of failure.
        """
        try:
            return replace(self.fetch(address), name=name)
        except FetchError as fault:
            if fault.retry_after is not None or not says_error(fault.body):
                raise
            return Document(name, fault.body, self._clock(), url=redact_url(address))


@dataclass(slots=True)
class _Walk:
    """Walks through the sets of one piece and their pages.

    `last_state` is what the state has after the last piece, None for the pieces before it.
    """

    source: Harvester
    repository: Repository
    span: Span
    state: Mapping[str, str]
    last_state: Mapping[str, str] | None
    pages: int = 0
    whole: bool = False
    responded: datetime | None = None

    @property
    def days(self) -> tuple[str, str]:
        begin, end = self.span.days
        return begin, end if self.last_state is None else ""

    @property
    def done(self) -> dict[str, str]:
        """The state after this piece."""
        if self.last_state is None:
            end = self.span.end
            until = max(end, parse_date(self.state.get(UNTIL, "")) or end)
            progress = {UNTIL: until.isoformat(), FROM: end.isoformat()}
            if days := self.state.get(DAYS):
                progress[DAYS] = str(min(2 * int(days), PIECE.days))
            return {**self.state, **progress}
        progress = {UNTIL: self.responded.isoformat()} if self.responded else {}
        before = {name: value for name, value in self.state.items() if name not in (FROM, DAYS)}
        return {**before, **self.last_state, **progress}

    @property
    def half(self) -> dict[str, str] | None:
        """The state that requests half of this piece; None for a single day."""
        days = (self.span.end - self.span.begin).days
        if days < 2:
            return None
        return {**self.state, FROM: self.span.begin.isoformat(), DAYS: str(days // 2)}

    def find(self) -> Iterator[Found]:
        *others, last = self.repository.sets or ("",)
        for of in (*others, last):
            pages = _List(self, of, is_last=of == last)
            yield from pages.find()
            if not pages.whole:
                return
        self.whole = True

    def note(self, envelope: Envelope, at: datetime) -> None:
        """Count a page, and remember the date of the first response of this piece."""
        self.pages += 1
        if self.responded is None:
            responded = envelope.responded or at
            self.responded = min(responded, at + timedelta(days=1))


@dataclass(slots=True)
class _List:
    """The list of one set; `whole` once its last page was read."""

    walk: _Walk
    of: str
    is_last: bool
    token: str = ""  # of the next page
    restarted: bool = False
    whole: bool = False
    _seen: set[str] = field(default_factory=set)

    def find(self) -> Iterator[Found]:
        """Yield the pages; DocumentError if the list has no end."""
        begin, end = self.walk.days
        while True:
            named = (self.walk.repository.shown, self.of, f"{begin}..{end}")
            name = " ".join((*filter(None, named), f"page {self.walk.pages + 1}"))
            yield Found(name, partial(self._load, name))
            if not self.whole or not self.token:
                return
            self.whole = False  # until the next page is
            loops, is_long = self.token in self._seen, self.walk.pages >= MAX_PAGES
            if is_long and self.walk.half and not loops:
                return
            if loops or is_long:
                why = "a resumption token was repeated" if loops else "too many pages of one day"
                raise DocumentError(f"the list of {self.walk.repository.shown} has no end: {why}")
            self._seen.add(self.token)

    def _load(self, name: str) -> Document:
        document, envelope = self._answer(name)
        if envelope.expired and self.token:
            if self.restarted:
                shown = self.walk.repository.shown
                raise DocumentError(f"{shown} rejected its own resumption token")
            self.restarted, self.token = True, ""
            self._seen.clear()
            document, envelope = self._answer(name)
        self.whole = document.complete and not (envelope.error or envelope.fault)
        if not self.whole:
            return replace(document, validators=dict(self.walk.state))
        self.walk.note(envelope, document.at)
        self.token = envelope.token
        state = self.walk.state
        if self.is_last and not self.token:
            state = self.walk.done
        elif self.token and self.walk.pages >= MAX_PAGES:
            state = self.walk.half or state
        return replace(document, validators=dict(state))

    def _answer(self, name: str) -> tuple[Document, Envelope]:
        url, (begin, end) = self.walk.repository.url, self.walk.days
        if self.token:
            address = url(resumptionToken=self.token)
        else:
            prefix = self.walk.repository.prefix
            address = url(metadataPrefix=prefix, set=self.of, from_=begin, until=end)
        document = self.walk.source.answer(address, name)
        return document, cast("Envelope", sandbox.ask(self.walk.source, "outline", document))
