"""The base of every kind of source: options, documents by path or URL, and a pure `read`."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from pydantic import Field, model_validator

from monitor.errors import FetchError
from monitor.http import Limits
from monitor.http.addresses import redact_url, same_server
from monitor.model import (
    Authority,
    Document,
    Dump,
    DumpCursor,
    DumpReading,
    FirstRun,
    Paper,
    Reading,
    Rejected,
)
from monitor.setting_types import Section
from monitor.sources.calendar import Calendar
from monitor.sources.files import Found as Found
from monitor.sources.files import documents_in
from monitor.text import whole_number

if TYPE_CHECKING:
    from monitor.http.client import HttpClient
    from monitor.http.response import Response

MAX_DUMP_BYTES = 32 * 1024 * 1024 * 1024  # fetched; a local file may have any size


class SourceOptions(Section):
    """Settings of a source that every kind has: where its documents are.

    A kind that has its service's address needs neither `url` nor `path` (`needs_address` is False):
    `url` replaces that address.
    """

    needs_address: ClassVar[bool] = True

    url: str | None = Field(None, description="the http or https address of the document")
    path: str | None = Field(
        None,
        description="a file or glob such as `dumps/*.txt` (`dumps/**` for the files of all "
        "subfolders, too); each file is read once, in name order",
    )
    follow_links: bool = Field(
        False,
        description="also read files that a wildcard finds and that are links out of its folder",
    )
    allow_private: bool = Field(
        False,
        description="allow the host and port in `url:` to be private or non-standard (not 80 or "
        "443); redirects are still checked",
    )

    def doubts(self) -> Iterator[tuple[str, str]]:
        """Yield likely mistakes in valid settings: the name of the setting, and a warning."""
        yield from ()

    @model_validator(mode="after")
    def _one_address(self) -> SourceOptions:
        if (self.url and self.path) or (self.needs_address and not (self.url or self.path)):
            raise ValueError("give either `url:` or `path:`")
        if self.url and not self.url.lower().startswith(("http://", "https://")):
            raise ValueError("`url:` must begin with http:// or https://; use `path:` for files")
        return self


class Source(ABC):
    """A kind of source.

    `dated`: `announced` and `published` of its papers are dates of announcement or first version,
    so a paper may count as older by them (never for `path:`). `repeats`: each reading repeats the
    last entries of the one before. `calendar`: when its service publishes; None to learn it.
    `search_site`: where its papers without a link are searched for; see `monitor.digest.links`.
    `assigns`: the schemes of the identifiers that its service gives to papers itself.
    `authority`: which of its records may say that another source's paper is withdrawn.
    """

    kind: ClassVar[str]
    Options: ClassVar[type[SourceOptions]] = SourceOptions
    default_first_run: ClassVar[FirstRun] = FirstRun.RECENT
    dated: ClassVar[bool] = True
    repeats: ClassVar[bool] = False
    calendar: ClassVar[Calendar | None] = None
    search_site: ClassVar[str] = ""
    assigns: ClassVar[tuple[str, ...]] = ()
    authority: ClassVar[Authority] = Authority.NONE
    max_bytes: ClassVar[int] = 64 * 1024 * 1024  # of a document

    def __init__(
        self,
        name: str,
        options: SourceOptions,
        client: HttpClient | None,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = name
        self.options = options
        self._client = client
        self._clock = clock

    @abstractmethod
    def read(self, document: Document) -> Reading:
        """Turn bytes into papers; faults of the content are in the Reading and never raised."""

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the documents of this source; FetchError when there is nowhere to look."""
        if self.options.path:
            yield from documents_in(self.options.path, False, self.options.follow_links)
        elif self.options.url:
            yield self._page(self.options.url, dict(validators))

    @property
    def server_address(self) -> str:
        """The address of the server that it asks first, "" for none."""
        return self.options.url or ""

    @property
    def vouches_for_dates(self) -> bool:
        """Whether a paper may count as older by the dates of this source: see `dated`."""
        return self.dated

    @property
    def limits(self) -> Limits:
        """Return how its service may be called, with the keys for it as headers."""
        return {}

    @property
    def contact(self) -> str:
        """Return the operator's mail address, for services that require one; "" for none."""
        contact = self._client.contact.removeprefix("mailto:").strip() if self._client else ""
        return contact if "@" in contact and " " not in contact else ""

    def get(self, url: str, validators: Mapping[str, str] | None = None) -> Response:
        """Fetch an address within the limits of its service; FetchError where that fails."""
        limits: Limits = {**self.limits, "allow_private": self._may_be_private(url)}
        return self._http().get(url, validators, **limits)

    def _http(self) -> HttpClient:
        if self._client is None:
            raise FetchError(f"source {self.name} was opened without a way to the network")
        return self._client

    def _may_be_private(self, url: str) -> bool:
        """Permission is for the server that the configuration names, not for others it links to."""
        own = self.options.url
        return self.options.allow_private and (own is None or same_server(own, url))

    def _page(self, url: str, validators: Mapping[str, str]) -> Found:
        self._http()
        return Found(redact_url(url), lambda: self._fetch(url, validators))

    def _fetch(self, url: str, validators: Mapping[str, str]) -> Document | None:
        response = self.get(url, validators)
        if response.status == 304:
            return None
        document = self._document(url, response)
        lifetime = max(response.lifetime, requested_interval(response.content))
        return replace(document, validators=response.validators, lifetime=lifetime)

    def fetch(self, url: str) -> Document:
        """Fetch a page of an answer, which is never asked for conditionally; raises FetchError."""
        return self._document(url, self.get(url))

    def _document(self, url: str, response: Response) -> Document:
        return Document(
            name=redact_url(url),
            content=response.content,
            at=self._clock(),
            content_type=response.content_type,
            url=response.url,
            complete=response.complete,
        )


class DumpSource(Source):
    """A kind whose documents may be too large for memory: they are read record by record."""

    @abstractmethod
    def begin(self, dump: Dump, marks: Sequence[DumpCursor]) -> DumpReading:
        """Begin to read a dump after the furthest of `marks` that its content agrees with.

        Raises FetchError when it cannot be opened.
        """

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the dumps of this source; FetchError when there is nowhere to look."""
        url = self.options.url
        sent = dict(validators)
        if self.options.path:
            yield from documents_in(self.options.path, True, self.options.follow_links)
        elif url:
            page = self._page(url, sent)
            with self._http().download_file() as file:
                yield replace(page, dump=partial(self._save_dump, url, sent, file))

    def _save_dump(self, url: str, validators: Mapping[str, str], file: BinaryIO) -> Dump | None:
        """Fetch a dump into a file that stays open while it is read; None when it is unchanged."""
        limits: Limits = {**self.limits, "allow_private": self._may_be_private(url)}
        limits["max_bytes"] = MAX_DUMP_BYTES
        response = self._http().save(url, file, validators, **limits)
        if response.status == 304:
            return None
        file.flush()

        def reopen() -> BinaryIO:
            copy = os.fdopen(os.dup(file.fileno()), "rb")
            copy.seek(0)
            return copy

        return Dump(
            name=redact_url(url),
            open=reopen,
            at=self._clock(),
            size=os.fstat(file.fileno()).st_size,
            url=response.url,
            validators=response.validators,
            complete=response.complete,
            lifetime=response.lifetime,
        )


def failure(error: str) -> Reading:
    """Return the reading of a document that cannot be read."""
    return Reading(error=error, complete=False)


def list_name(document: Document) -> str:
    """Return a short name for the list in a document: the same when it was cut, or grows."""
    return hashlib.sha256(document.name.encode()).hexdigest()[:12]


def reading(
    records: Sequence[Paper | Rejected], whole: bool, harmless: Sequence[str] = ()
) -> Reading:
    """Part papers from rejections; one of rejections alone, but for `harmless`, fails."""
    papers = tuple(record for record in records if isinstance(record, Paper))
    rejected = tuple(record for record in records if isinstance(record, Rejected))
    bad = next((record.why for record in rejected if record.why not in harmless), "")
    if papers or not bad:
        return Reading(papers, rejected, complete=whole)
    if len(rejected) == 1 and not whole:
        return failure(bad)
    return Reading((), rejected, f"no record is a paper: {bad}", complete=False)


HEAD_BYTES = 64 * 1024  # in which the channel's own elements are

_FIRST_ENTRY = re.compile(r"<(?:\w{1,20}:)?(?:item|entry)[\s>]")
_HINT = re.compile(
    r"<(?:\w{1,20}:)?(ttl|updatePeriod|updateFrequency)>\s*(\d{1,6}|[A-Za-z]{1,10})\s*</"
)
_PERIODS = {"hourly": 1, "daily": 24, "weekly": 7 * 24, "monthly": 30 * 24, "yearly": 365 * 24}


def requested_interval(content: bytes) -> timedelta:
    """Return how long a feed asks to wait between readings; zero where it does not say."""
    head = content[:HEAD_BYTES].replace(b"\0", b"").decode(errors="replace")
    hints = dict(reversed(_HINT.findall(_FIRST_ENTRY.split(head, maxsplit=1)[0])))
    minutes, times = (whole_number(hints.get(name, "")) for name in ("ttl", "updateFrequency"))
    hours = _PERIODS.get(hints.get("updatePeriod", "").lower(), 0)
    return max(timedelta(minutes=minutes or 0), timedelta(hours=hours) / (times or 1))
