"""The roles of sources: one is read for news, as a library, or as a reference list.

`ingest` reads all documents in one way. The role of their source decides where reading continues,
how records are stored, and what follows the reading of a document and of the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from datetime import datetime

from monitor.model import Role, RunOutcome
from monitor.pipeline import guard, reference_lists
from monitor.pipeline.cleanup import repeat
from monitor.pipeline.runtime import ConfiguredSource, Runtime
from monitor.pipeline.store_chunk import Chunk, StoredChunk, record_library_changes, store_papers
from monitor.store.engine.database import Transaction
from monitor.store.sources import collections, reading_state
from monitor.store.sources.reading_state import DumpState

# The most records of one transaction. Entries need no comparisons, so there may be more of them.
MAX_PAPERS = 1_000
MAX_ENTRIES = 5_000


class SourceRole(ABC):
    """The role of one source.

    `as_news` is true if records are read as news. News and entries have their own reading
    positions, so that a source whose role changes is read again.
    `most_records` bounds the records of one transaction, and runs with one of the outcomes
    `failures` open an incident. The `content` of a document is a hash, or a dump's size and time.
    """

    as_news = False
    most_records = MAX_ENTRIES
    failures: Collection[RunOutcome] = (RunOutcome.FAILED,)

    def __init__(self, runtime: Runtime, source: str) -> None:
        self.runtime = runtime
        self.source = source

    @abstractmethod
    def read_before(self, tx: Transaction, document: str, content: str) -> tuple[int, bool]:
        """Return how many records of a document are stored, and whether it was read to its end."""

    def dump_states(self, tx: Transaction, dump: str, content: str) -> list[DumpState]:
        """Return earlier dumps, read in full or in part, that this dump may continue."""
        return reading_state.dump_states(tx, self.source, as_news=self.as_news)

    def begin_document(self, document: str) -> None:
        """Get ready to store the first records of a document."""

    @abstractmethod
    def store(self, tx: Transaction, chunk: Chunk) -> StoredChunk:
        """Store records of a document. `tx` comes from `Database.ingesting`."""

    def save_progress(
        self,
        tx: Transaction,
        document: str,
        content: str,
        stored: int,
        is_finished: bool,
        now: datetime,
    ) -> None:
        """Record how many records of a document are stored, in the transaction that stores them."""

    def end_document(self, tx: Transaction, document: str, content: str, now: datetime) -> None:
        """Record that a document that has records was read completely."""

    def mark_other_documents_missing(self, present: Collection[str]) -> None:
        """Mark the entries of all documents but the `present` ones as missing."""

    def end_source(self) -> None:
        """Called after each reading of the source, complete or not."""


class News(SourceRole):
    """Records become papers, which are announced if they are new."""

    as_news = True
    most_records = MAX_PAPERS

    def read_before(self, tx: Transaction, document: str, content: str) -> tuple[int, bool]:
        return reading_state.of_document(tx, self.source, content) or (0, False)

    def store(self, tx: Transaction, chunk: Chunk) -> StoredChunk:
        runtime = self.runtime
        return store_papers(tx, chunk, runtime.guarded_libraries, runtime.reference_lists)

    def save_progress(
        self,
        tx: Transaction,
        document: str,
        content: str,
        stored: int,
        is_finished: bool,
        now: datetime,
    ) -> None:
        reading_state.set_document(tx, self.source, content, document, stored, is_finished, now)


class NewsAboutLibraries(News):
    """Records are not stored: they only report changes of the works of libraries."""

    def store(self, tx: Transaction, chunk: Chunk) -> StoredChunk:
        return record_library_changes(tx, chunk, self.runtime.guarded_libraries)


class Entries(SourceRole):
    """Records become entries, which are neither papers nor news.

    An entry that is missing from a complete reading is removed. An empty document removes none, as
    it may be half written.
    """

    removes_at_once = False
    is_compact = False

    def read_before(self, tx: Transaction, document: str, content: str) -> tuple[int, bool]:
        # Only the last content counts: a file that gets its earlier content back is read again.
        return 0, collections.last_content(tx, self.source, document) == self._mark(content)

    def dump_states(self, tx: Transaction, dump: str, content: str) -> list[DumpState]:
        _, is_finished = self.read_before(tx, dump, content)
        return super().dump_states(tx, dump, content) if is_finished else []

    def begin_document(self, document: str) -> None:
        with self.runtime.database.ingesting() as tx:
            collections.begin_reading(tx, self.source, document)

    def store(self, tx: Transaction, chunk: Chunk) -> StoredChunk:
        papers = chunk.papers
        compact = self.is_compact
        collections.save(tx, self.source, chunk.document, papers, chunk.now, compact=compact)
        return StoredChunk(unchanged=len(papers))

    def end_document(self, tx: Transaction, document: str, content: str, now: datetime) -> None:
        mark = self._mark(content)
        at_once = self.removes_at_once
        collections.end_reading(tx, self.source, document, mark, now, at_once=at_once)

    def mark_other_documents_missing(self, present: Collection[str]) -> None:
        # A folder without documents may be one whose disk is not mounted.
        at_once = self.removes_at_once and bool(present)
        now = self.runtime.clock.now()
        with self.runtime.database.writing() as tx:
            collections.index_pending_keys(tx)
            collections.mark_documents_missing(tx, self.source, present, now, at_once=at_once)
        repeat(
            self.runtime,
            lambda tx: collections.delete_missing(tx, self.source, now, MAX_PAPERS),
        )

    def _mark(self, content: str) -> str:
        """Return the mark that is stored to recognise unchanged content.

        Libraries have marks of their own, so that a document is read again when the role of its
        source changes. Reference lists keep the unprefixed mark of older versions, so that an
        upgrade does not read long lists again.
        """
        return content


class Library(Entries):
    """Entries are works that people have: the store is searched for notices about new entries."""

    failures = (RunOutcome.FAILED, RunOutcome.PARTIAL)

    def end_source(self) -> None:
        if self.source in self.runtime.guarded_libraries:
            guard.look_up_stored(self.runtime, self.source)
        else:
            # They are searched for once the library is guarded.
            with self.runtime.database.writing() as tx:
                collections.mark_all_unchecked(tx, self.source)

    def _mark(self, content: str) -> str:
        return f"library {content}"


class ReferenceList(Entries):
    """Entries fill in what papers lack."""

    removes_at_once = True
    is_compact = True

    def end_source(self) -> None:
        reference_lists.fill_stored(self.runtime, self.source)


_ROLES: dict[Role, Callable[[Runtime, str], SourceRole]] = {
    Role.NEWS: News,
    Role.LIBRARY: Library,
    Role.REFERENCE: ReferenceList,
}


def role_of(runtime: Runtime, configured: ConfiguredSource) -> SourceRole:
    """Return the role of a source. With `about:` it only reports changes of works of libraries."""
    role = NewsAboutLibraries if configured.about else _ROLES[configured.role]
    return role(runtime, configured.name)
