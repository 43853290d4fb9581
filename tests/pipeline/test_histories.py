"""Thousands of histories through the real store against a simple reference: nothing is announced
twice, nothing is lost.

A history is a row of steps: works arrive from several sources, as versions, cross-lists, with
and without identifiers, retitled, linked; digests are sent; papers are purged, merged, split.
The reference knows of each record which work it truly is of, and nothing of the store.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from string import ascii_lowercase

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from monitor.identity.keys import with_keys
from monitor.model import Paper
from monitor.store import retention
from monitor.store.engine.database import Database
from monitor.store.papers import identity_rulings, merge_papers, papers
from tests.pipeline.desk import WORDS, read, tell
from tests.store.scenes import NOW

READERS = ("ada", "bob")
SOURCES = ("arxiv", "mirror", "journal")
NAMES = ["Abel", "Bohr", "Cori", "Dirac", "Euler", "Fermi", "Gauss", "Hilbert", "Ising"]
NAMES += ["Jacobi", "Kepler", "Lie", "Mach", "Noether"]


def _work(number: int) -> Work:
    rng = random.Random(number)
    title = " ".join(rng.sample(WORDS, 4)) + f" of {NAMES[number % 14]} {number}"
    # By people of its own: of a name, digits tell nothing.
    given = ("".join(rng.sample(ascii_lowercase, 8)).title() for _ in range(2))
    return Work(number, title, tuple(map(" ".join, zip(given, rng.sample(NAMES, 2), strict=True))))


@dataclass
class Work:
    """A work as it truly is: its two identifiers, its text, and how often it was changed."""

    number: int
    title: str
    authors: tuple[str, ...]
    version: int = 1
    # The readers that were sent it as something new.
    announced: Counter[str] = field(default_factory=Counter)
    # And how often they may be: once, and once more for a half parted before they were sent.
    may: Counter[str] = field(default_factory=lambda: Counter(READERS))
    seen: bool = False
    # Whether its article was announced before anything linked the two.
    apart: bool = False

    def preprint(self) -> Paper:
        return Paper(
            self.title,
            f"Version {self.version} of {self.title}, whose results are given at length here.",
            self.authors,
            keys={"arxiv": f"2601.{self.number:05}v{self.version}"},
            raw_id=f"a{self.number}",
            version=self.version,
        )

    def article(self) -> Paper:
        return Paper(
            f"{WORDS[self.number % 26]} {self.number} in the journal of the {self.authors[0]}",
            authors=self.authors,
            keys={"doi": f"10.1000/{self.number}"},
            raw_id=f"j{self.number}",
        )

    def linked(self) -> Paper:
        keys = {**self.preprint().keys, "doi": f"10.1000/{self.number}"}
        return replace(self.preprint(), keys=keys)


class History:
    """One history on a store that has had others: its works are its own."""

    def __init__(self, store: Database, start: int) -> None:
        self.store = store
        self.now = NOW + start * timedelta(hours=1)
        self.works = [_work(start * 3 + n) for n in range(3)]
        # Works of which the store has the ruling that preprint and article are one.
        self.linked: set[int] = set()

    def step(self, name: str, number: int) -> None:
        self.now += timedelta(minutes=1)
        getattr(self, name)(self.works[number])

    def _read(self, source: str, *announced: Paper) -> None:
        read(self.store, source, *announced, now=self.now)

    def arrive(self, work: Work) -> None:
        work.seen = True
        self._read("arxiv", work.preprint())

    def cross(self, work: Work) -> None:
        work.seen = True
        cross = replace(work.preprint(), raw_id=f"x{work.number}", announce="cross")
        self._read(SOURCES[work.version % 3], cross)

    def bare(self, work: Work) -> None:
        """The same text from a source that tells no identifiers, in capitals."""
        if work.seen and work.number not in self.linked:
            shouted = replace(
                work.preprint(), title=work.title.upper(), keys={}, raw_id=f"b{work.number}"
            )
            self._read("mirror", shouted)

    def revise(self, work: Work) -> None:
        work.version += 1
        if work.version % 2:
            work.title += " revisited"
        self.arrive(work)

    def link(self, work: Work) -> None:
        work.seen = True
        self._read("arxiv", work.linked())
        if work.number not in self.linked:
            self._is_one(work)

    def _is_one(self, work: Work) -> None:
        """From now on nobody is sent more of it than they were, or than once."""
        self.linked.add(work.number)
        work.may = Counter({name: max(1, work.announced[name]) for name in READERS})

    def publish(self, work: Work) -> None:
        """The journal's copy, under another title; it is known to be the same once linked."""
        if work.number not in self.linked:
            if work.seen and not work.apart:
                work.apart = True
                work.may.update(READERS)
            elif not work.seen:
                self._read("journal", work.article(), work.linked())
                work.seen = True
                self._is_one(work)
        self._read("journal", work.article())

    def digest(self, work: Work) -> None:
        for name in READERS[: 1 + work.number % 2]:
            self._announce(name, tell(self.store, name, self.now))

    def _announce(self, name: str, ids: list[int]) -> None:
        for id in ids:
            for work in self.works:
                work.announced[name] += id in self.papers_of(work)

    def papers_of(self, work: Work) -> set[int]:
        pairs = [("arxiv", f"2601.{work.number:05}"), ("doi", f"10.1000/{work.number}")]
        with self.store.reading() as tx:
            found = (papers.by_key(tx, *pair) for pair in pairs)
            return {stored.id for stored in found if stored}

    def purge(self, _: Work) -> None:
        with self.store.ingesting() as tx:
            retention.purge(tx, self.now, None, self.now, 100)

    def merge(self, work: Work) -> None:
        """What a person says is one: again, after it was split, or before anything linked it."""
        ids = sorted(self.papers_of(work))
        if len(ids) > 1:
            with self.store.ingesting() as tx:
                names = identity_rulings.names_of(tx, ids)
                identity_rulings.rule(
                    tx, names[ids[0]], names[ids[1]], identity_rulings.SAME, self.now
                )
                merge_papers.merge(tx, [(ids[0], ids[1], "a person")], self.now)
            self._is_one(work)

    def split(self, work: Work) -> None:
        """A person parts the article from the preprint; both were announced as before."""
        ids = self.papers_of(work)
        if len(ids) != 1 or work.number not in self.linked:
            return
        doi = ("doi", f"10.1000/{work.number}")
        with self.store.ingesting() as tx:
            [id] = ids
            origin = papers.origin(tx, papers.load(tx, [id])[id])
            if ("arxiv", f"2601.{work.number:05}") not in origin.keys:
                return
            announced = replace(with_keys(replace(work.article(), keys={})), keys=())
            records = [(s.source, s.raw_id) for s in origin.sightings if s.source == "journal"]
            if doi in origin.keys and len(records) < len(origin.sightings):
                kept = replace(with_keys(replace(origin.stored.paper, keys={})), keys=())
                merge_papers.split(tx, id, [doi], records, kept, announced, self.now)
                work.may.update(name for name in READERS if not work.announced[name])

    def close(self) -> None:
        """In the end everyone is sent all that waits, and then nothing more."""
        for name in READERS:
            self._announce(name, tell(self.store, name, self.now))
            assert tell(self.store, name, self.now) == []


STEPS = ["arrive", "cross", "bare", "revise", "link", "publish"]
STEPS += ["digest", "purge", "merge", "split"]
_starts = itertools.count()


def check(store: Database, steps: list[tuple[str, int]]) -> None:
    history = History(store, next(_starts))
    for name, number in steps:
        history.step(name, number)
    history.close()
    for work in history.works:
        for name in READERS:
            assert work.announced[name] <= work.may[name], f"{name} was sent twice {work}"
            assert work.announced[name] >= work.seen, f"{name} was never sent {work}"


HISTORIES = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2)), max_size=16)
# `HISTORIES=5000` in the environment asks for more of them than a test run has time for.
ASKED = int(os.environ.get("HISTORIES", 0))


def test_no_history_announces_a_work_twice_or_loses_one(store: Database) -> None:
    @settings(
        max_examples=ASKED or (60 if store.dialect == "sqlite" else 12),
        deadline=None,
        database=None,
        derandomize=not ASKED,
        suppress_health_check=list(HealthCheck),
    )
    @given(HISTORIES)
    def live(steps: list[tuple[str, int]]) -> None:
        check(store, steps)

    live()
