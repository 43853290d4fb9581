"""Engines that topics can be run on, each from the words of a day's papers to pairs."""

from __future__ import annotations

import importlib
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from corpus import PlainPaper, PlainTopic, singulars

from monitor.match import TopicIndex

Pairs = npt.NDArray[np.int64]


class Engine(Protocol):
    """Topics ready to be matched: `clock` is what its time is measured with."""

    clock: Any

    def pairs(self, papers: Sequence[PlainPaper]) -> Pairs:
        """Return rows of (paper, topic), in any order."""
        ...


class Ours:
    clock = staticmethod(time.process_time)

    def __init__(self, topics: Iterable[PlainTopic]) -> None:
        self._index = TopicIndex(Streamed(topics))
        assert not self._index.errors, next(iter(self._index.errors.items()))

    def pairs(self, papers: Sequence[PlainPaper]) -> Pairs:
        return np.stack(self._index.pairs([plain.paper for plain in papers]), axis=1)

    def change(self, number: int, topic: PlainTopic) -> None:
        self._index.replace(number, topic.text)
        assert not self._index.error(number)


class Streamed(Mapping[Any, str]):
    """Topics by number, made while they are read, so that only the index keeps them."""

    def __init__(self, topics: Iterable[PlainTopic]) -> None:
        self._topics = topics

    def items(self) -> Any:
        return enumerate(topic.text for topic in self._topics)

    def __getitem__(self, name: Any) -> str:
        raise KeyError(name)

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class Tantivy:
    """The day indexed in memory, each topic run on it."""

    clock = staticmethod(time.process_time)

    def __init__(self, topics: Iterable[PlainTopic]) -> None:
        self._tantivy = importlib.import_module("tantivy")
        builder = self._tantivy.SchemaBuilder()
        builder.add_text_field("body", tokenizer_name="whitespace", index_option="position")
        self._schema = builder.build()
        self._queries = [self._query(topic) for topic in topics]

    def _query(self, topic: PlainTopic) -> Any:
        query = self._tantivy.Query
        occur = self._tantivy.Occur
        parts = [(occur.Must, self._clause(clause)) for clause in topic.clauses]
        parts += [(occur.MustNot, self._phrase(phrase)) for phrase in topic.none]
        return parts[0][1] if len(parts) == 1 else query.boolean_query(parts)

    def _clause(self, phrases: Sequence[str]) -> Any:
        found = [(self._tantivy.Occur.Should, self._phrase(phrase)) for phrase in phrases]
        return found[0][1] if len(found) == 1 else self._tantivy.Query.boolean_query(found)

    def _phrase(self, phrase: str) -> Any:
        words = singulars(phrase).split()
        if len(words) > 1:
            return self._tantivy.Query.phrase_query(self._schema, "body", words)
        return self._tantivy.Query.term_query(self._schema, "body", words[0])

    def pairs(self, papers: Sequence[PlainPaper]) -> Pairs:
        index = self._tantivy.Index(self._schema)
        writer = index.writer(heap_size=100_000_000, num_threads=1)
        for plain in papers:
            document = self._tantivy.Document()
            document.add_text("body", plain.words)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        searcher = index.searcher()
        assert searcher.num_segments == 1, "documents are numbered as papers"
        found = [
            (hit[1].doc, number)
            for number, query in enumerate(self._queries)
            for hit in searcher.search(query, len(papers), count=False).hits
        ]
        return np.array(found, np.int64).reshape(-1, 2)


class Fts5:
    """SQLite: the day indexed in memory, each topic run on it."""

    clock = staticmethod(time.process_time)

    def __init__(self, topics: Iterable[PlainTopic]) -> None:
        self._queries = [_fts5(topic) for topic in topics]

    def pairs(self, papers: Sequence[PlainPaper]) -> Pairs:
        store = sqlite3.connect(":memory:")
        store.execute("CREATE VIRTUAL TABLE day USING fts5(body, content='')")
        rows = ((number, plain.words) for number, plain in enumerate(papers))
        store.executemany("INSERT INTO day(rowid, body) VALUES (?, ?)", rows)
        found = [
            (paper, number)
            for number, query in enumerate(self._queries)
            for (paper,) in store.execute("SELECT rowid FROM day WHERE day MATCH ?", (query,))
        ]
        store.close()
        return np.array(found, np.int64).reshape(-1, 2)


def _fts5(topic: PlainTopic) -> str:
    clauses = [" OR ".join(f'"{singulars(p)}"' for p in clause) for clause in topic.clauses]
    required = " AND ".join(f"({clause})" for clause in clauses)
    return f"({required})" + "".join(f' NOT "{singulars(phrase)}"' for phrase in topic.none)


class Postgres:
    """PostgreSQL: the day under a GIN index, one probe a topic; its server's time is waited for."""

    clock = staticmethod(time.perf_counter)

    def __init__(self, topics: Iterable[PlainTopic], connection: Any) -> None:
        self._connection = connection
        self._run("DROP TABLE IF EXISTS topic")
        self._run("CREATE UNLOGGED TABLE topic(id int, query tsquery)")
        rows = "".join(f"{number}\t{_tsquery(topic)}\n" for number, topic in enumerate(topics))
        self._copy("topic", rows)
        self._run("ANALYZE topic")

    def _run(self, statement: str) -> Any:
        return self._connection.execute(statement)

    def _copy(self, table: str, rows: str) -> None:
        with self._connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            copy.write(rows)

    def pairs(self, papers: Sequence[PlainPaper]) -> Pairs:
        self._run("DROP TABLE IF EXISTS day")
        self._run("CREATE UNLOGGED TABLE day(id int, words tsvector)")
        self._copy(
            "day", "".join(f"{i}\t{_tsvector(plain.words)}\n" for i, plain in enumerate(papers))
        )
        self._run("CREATE INDEX ON day USING gin(words)")
        self._run("ANALYZE day")
        found = self._run(
            "SELECT day.id, topic.id FROM topic, LATERAL (SELECT id FROM day WHERE words @@ query"
            " OFFSET 0) AS day"
        ).fetchall()
        return np.array(found, np.int64).reshape(-1, 2)


def _tsvector(words: str) -> str:
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words.split(), 1):
        places.setdefault(word, []).append(place)
    return " ".join(f"'{word}':{','.join(map(str, at))}" for word, at in places.items())


def _tsquery(topic: PlainTopic) -> str:
    def phrase(written: str) -> str:
        return "(" + " <-> ".join(f"'{word}'" for word in singulars(written).split()) + ")"

    clauses = [f"({' | '.join(map(phrase, clause))})" for clause in topic.clauses]
    return " & ".join([*clauses, *(f"!{phrase(one)}" for one in topic.none)])


class Regex:
    """A regular expression a phrase, as scripts do it."""

    clock = staticmethod(time.process_time)

    def __init__(self, topics: Iterable[PlainTopic]) -> None:
        self._topics = [
            ([[_whole(p) for p in clause] for clause in topic.clauses], [*map(_whole, topic.none)])
            for topic in topics
        ]

    def pairs(self, papers: Sequence[PlainPaper]) -> Pairs:
        found = [
            (paper, number)
            for paper, plain in enumerate(papers)
            for number, (clauses, none) in enumerate(self._topics)
            if all(any(one.search(plain.words) for one in clause) for clause in clauses)
            and not any(one.search(plain.words) for one in none)
        ]
        return np.array(found, np.int64).reshape(-1, 2)


def _whole(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"\b{singulars(phrase)}\b")


@contextmanager
def postgres_server() -> Iterator[Any]:
    """Yield a connection to a server of our own, None where PostgreSQL is not installed."""
    sys.path.append(str(Path(__file__).parent.parent))
    from tests.servers import postgres

    if postgres.missing():
        yield None
        return
    import psycopg

    with postgres.server() as url:
        address = url.replace("+psycopg", "") + "/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            yield connection
