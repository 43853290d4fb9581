"""Asks a service about the works of libraries, by their identifiers, in batches.

A batch is a document. A service need not have each work: another agency may have registered its
DOI. See `is_unanswered`. The state is `after`: of the identifiers in order, the last one before the
first batch that failed, or "" after all were asked about. The next pass goes on from there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from pydantic import Field

from monitor.http.addresses import redact_url
from monitor.model import AskedWorks, Document
from monitor.setting_types import Libraries
from monitor.sources.api.windows import QueryOptions, WindowSource
from monitor.sources.base import Found

AFTER = "after"
MAX_BATCH = 50
MAX_BATCH_CHARS = 2_000  # of identifiers; some servers refuse addresses of 8,000 characters


class AboutOptions(QueryOptions):
    """Settings of a service that can be asked about the works in libraries."""

    query_settings: ClassVar[tuple[str, ...]] = (*QueryOptions.query_settings, "about")
    exclusive: ClassVar[tuple[tuple[str, str], ...]] = (("query", "about"),)

    about: Libraries = Field(
        (),
        description="libraries: ask [about their papers](sources.md#your-references) alone, or "
        "read answers in files (`path`)",
    )


class AboutSource(WindowSource):
    """A kind that can be asked about works."""

    options: AboutOptions

    @abstractmethod
    def names_of(self, work: Mapping[str, Sequence[str]]) -> Iterable[str]:
        """Return those of a work's identifiers, by scheme, that the service is asked about."""

    @abstractmethod
    def ask(self, identifiers: Sequence[str]) -> Document:
        """Ask about a batch of works, and say about which the answer is; raises FetchError."""

    def find_about(
        self, works: Iterable[Mapping[str, Sequence[str]]], state: Mapping[str, str]
    ) -> Iterator[Found]:
        """Find an answer for each batch of works; none where no work can be asked about."""
        after = state.get(AFTER, "")
        failed = False
        wanted = sorted({name for work in works for name in self.names_of(work)})
        parts = list(batches([name for name in wanted if name > after] or wanted))

        def load(batch: Sequence[str], name: str) -> Document:
            nonlocal after, failed
            failed_before = failed
            failed = True
            document = self.ask(batch)
            failed = failed_before
            if not failed:
                after = "" if batch is parts[-1] else batch[-1]
            return replace(document, name=name, validators={AFTER: after})

        for batch in parts:
            name = f"{redact_url(self.base)} about {len(batch)} works from {batch[0]}"
            yield Found(name, partial(load, batch, name))


def is_unanswered(works: AskedWorks, answered_before: Collection[str]) -> bool:
    """Return whether a service did not answer about a batch of works that it should know.

    1. An answer about at least one of them is one, unless most of those are missing that were
       answered before: a record may be deleted.
    2. "None of these" is an answer, too, unless one was answered before or is `assigned`.
    3. All else is none: an empty response, or other works alone.
    """
    expected = set(works.asked).intersection(answered_before)
    if works.answered.intersection(works.asked):
        return 2 * len(expected & works.answered) < len(expected)
    return bool(not works.says_none or expected or works.assigned)


def batches(identifiers: Iterable[str]) -> Iterator[list[str]]:
    """Part identifiers so that the addresses that name them are short enough."""
    batch: list[str] = []
    for identifier in identifiers:
        chars = sum(map(len, (*batch, identifier)))
        if batch and (len(batch) == MAX_BATCH or chars > MAX_BATCH_CHARS):
            yield batch
            batch = []
        batch.append(identifier)
    if batch:
        yield batch
