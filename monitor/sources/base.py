"""What every kind of source is: options, documents found by path or URL, and a pure `read`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from monitor.errors import FetchError
from monitor.http.addresses import same_server, shown
from monitor.http.body import MAX_BYTES
from monitor.model import (
    Document,
    Dump,
    DumpCursor,
    DumpReading,
    FirstRun,
    Paper,
    Reading,
    Rejected,
)
from monitor.sources.calendar import Calendar
from monitor.sources.feed.ttl import requested_interval
from monitor.sources.files import Found, documents_in, read_dump, read_file

if TYPE_CHECKING:
    from monitor.http.client import HttpClient, Response

__all__ = [
    "Found",
    "Source",
    "SourceOptions",
    "Terms",
    "documents_in",
    "read_dump",
    "read_file",
    "reading",
]

MAX_DUMP_BYTES = 32 * 1024 * 1024 * 1024  # of what is fetched; a file may have any size


class SourceOptions(BaseModel):
    """Settings of a source that every kind has: where its documents are.

    `path` is a glob (`**` for folders in folders), each file one document; `allow_private`
    permits addresses of private networks and ports other than 80 and 443. A kind that knows
    its service's address needs no place (`places_needed` is False): `url` is another one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    places_needed: ClassVar[bool] = True

    url: str | None = None
    path: str | None = None
    allow_private: bool = False

    @model_validator(mode="after")
    def _one_place(self) -> SourceOptions:
        if (self.url and self.path) or (self.places_needed and not (self.url or self.path)):
            raise ValueError("give either `url:` or `path:`")
        if self.url and not self.url.lower().startswith(("http://", "https://")):
            raise ValueError("`url:` must begin with http:// or https://; use `path:` for files")
        return self


@dataclass(frozen=True, slots=True)
class Terms:
    """How a service wants to be asked: keys in `headers`, and how far `apart`.

    No more than `max_bytes` are taken of an answer, within `deadline`.
    """

    headers: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    apart: timedelta = timedelta(0)
    max_bytes: int = MAX_BYTES
    deadline: timedelta = timedelta(seconds=60)


class Source(ABC):
    """A kind of source.

    `dated` says that `announced` and `published` of its papers are dates of announcement or
    first version, so that a paper may be called older by them (never for `path:`). `repeats`
    says that each reading tells the last entries of the one before once more. `calendar`
    says when its service publishes, where that is known: else it is learned.
    """

    kind: ClassVar[str]
    Options: ClassVar[type[SourceOptions]] = SourceOptions
    default_first_run: ClassVar[FirstRun]
    dated: ClassVar[bool]
    repeats: ClassVar[bool] = False
    calendar: ClassVar[Calendar | None] = None

    def __init__(
        self,
        name: str,
        options: SourceOptions,
        door: HttpClient | None,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = name
        self.options = options
        self._door = door
        self._clock = clock

    @abstractmethod
    def read(self, document: Document) -> Reading:
        """Turn bytes into papers; bad content is told in the Reading and never raised."""

    def begin(self, dump: Dump, marks: Sequence[DumpCursor]) -> DumpReading:
        """Begin to read a dump behind the furthest of `marks` that it agrees with so far.

        Only kinds that find dumps have it. Raises FetchError when it cannot be opened.
        """
        raise NotImplementedError(f"{self.kind} reads no dumps")

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the documents of this source; FetchError when there is no place to look."""
        if self.options.path:
            yield from documents_in(self.options.path)
        elif self.options.url:
            yield self._page(self.options.url, dict(validators))

    @property
    def terms(self) -> Terms:
        """Return how its service wants to be asked."""
        return Terms()

    @property
    def contact(self) -> str:
        """Return the operator's mail address, for services that ask for one; "" for none."""
        told = self._door.contact.removeprefix("mailto:").strip() if self._door else ""
        return told if "@" in told and " " not in told else ""

    def get(self, url: str, validators: Mapping[str, str] | None = None) -> Response:
        """Ask for an address on the terms of its service; FetchError when it cannot be had."""
        if self._door is None:
            raise FetchError(f"source {self.name} was opened without a way to the network")
        terms = self.terms
        return self._door.get(
            url,
            validators=validators,
            headers=terms.headers,
            allow_private=self._may_be_private(url),
            max_bytes=terms.max_bytes,
            deadline=terms.deadline,
            apart=terms.apart,
        )

    def _may_be_private(self, url: str) -> bool:
        """Permission is for the server that the configuration names, not for others it links to."""
        own = self.options.url
        return self.options.allow_private and (own is None or same_server(own, url))

    def _download_file(self) -> BinaryIO:
        """Open a file without a name for a dump that is fetched; FetchError where none can be."""
        if self._door is None:
            raise FetchError(f"source {self.name} was opened without a way to the network")
        return self._door.download_file()

    def _saved(self, url: str, validators: Mapping[str, str], file: BinaryIO) -> Dump | None:
        """Fetch a dump into a file, which is read while it is open; None when it is unchanged."""
        if self._door is None:
            raise FetchError(f"source {self.name} was opened without a way to the network")
        answer = self._door.save(
            url,
            file,
            max_bytes=MAX_DUMP_BYTES,
            validators=validators,
            headers=self.terms.headers,
            allow_private=self._may_be_private(url),
            apart=self.terms.apart,
        )
        if answer.not_modified:
            return None
        file.flush()

        def opened() -> BinaryIO:
            again = os.fdopen(os.dup(file.fileno()), "rb")
            again.seek(0)
            return again

        return Dump(
            name=shown(url),
            open=opened,
            at=self._clock(),
            size=os.fstat(file.fileno()).st_size,
            url=answer.url,
            validators=answer.validators,
            complete=answer.complete,
            lifetime=answer.lifetime,
        )

    def _page(self, url: str, validators: Mapping[str, str]) -> Found:
        if self._door is None:
            raise FetchError(f"source {self.name} was opened without a way to the network")
        return Found(shown(url), lambda: self._fetch(url, validators))

    def _fetch(self, url: str, validators: Mapping[str, str]) -> Document | None:
        answer = self.get(url, validators)
        if answer.not_modified:
            return None
        return Document(
            name=shown(url),
            content=answer.content,
            at=self._clock(),
            content_type=answer.content_type,
            url=answer.url,
            validators=answer.validators,
            complete=answer.complete,
            lifetime=max(answer.lifetime, requested_interval(answer.content)),
        )


def reading(found: Sequence[Paper | Rejected], whole: bool) -> Reading:
    """Part papers from rejections; a document of rejections only is one that could not be read."""
    papers = tuple(one for one in found if isinstance(one, Paper))
    rejected = tuple(one for one in found if isinstance(one, Rejected))
    if papers or not rejected:
        return Reading(papers, rejected, complete=whole)
    if len(rejected) == 1 and not whole:
        return Reading(error=rejected[0].why, complete=False)
    error = f"no record is a paper: {rejected[0].why}"
    return Reading((), rejected, error, complete=False)
