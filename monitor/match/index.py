"""Stored topics, met by batches of papers.

Two steps. The first may select too much and never too little: of each topic it knows one set
of keys (word forms, beginnings, labels, names) of which a paper must have at least one, and
only topics of which the paper has such a key go on. The second evaluates them exactly.
`NO_FILTERING` leaves the first step out, and proves it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from monitor.errors import QueryError
from monitor.match.promises import STOP_WORDS
from monitor.match.query import parse_query
from monitor.match.tree import And, AtLeast, Author, Label, Leaf, Near, Node, Not, Or, Query, Words
from monitor.match.view import View, answers, label
from monitor.match.why import explain, score
from monitor.model import Paper, Why

Needs = frozenset[str]


class Filtering(Enum):
    BY_KEYS = "by keys"
    NONE = "none"


NO_FILTERING = Filtering.NONE


@dataclass(frozen=True)
class Match:
    """A topic and the paper that met it; `position` counts the papers of the batch from 0."""

    topic: Hashable
    paper: Paper
    position: int
    score: float
    query: Query = field(repr=False)
    sources: tuple[str, ...] = ()

    @cached_property
    def why(self) -> tuple[Why, ...]:
        """Which words were found in which field, worked out when asked for."""
        return explain(self.query, View(self.paper, self.sources))


class TopicIndex:
    """Topics by name. One that cannot be read is parked in `errors` and stops no other."""

    def __init__(
        self,
        topics: Mapping[Hashable, str | Query],
        filtering: Filtering = Filtering.BY_KEYS,
    ) -> None:
        self.errors: dict[Hashable, QueryError] = {}
        self.queries: dict[Hashable, Query] = {}
        for name, topic in topics.items():
            try:
                self.queries[name] = topic if isinstance(topic, Query) else parse_query(topic)
            except QueryError as error:
                self.errors[name] = error
        self._topics = tuple(self.queries.items())
        self._prefilter = None if filtering is NO_FILTERING else _Prefilter(self.queries.values())

    def match(
        self, papers: Iterable[Paper], sources: Iterable[Sequence[str]] | None = None
    ) -> Iterator[Match]:
        """Yield the matches paper by paper, each in the order of the topics.

        `sources` names, for each paper, the sources it was seen in (for `source:`); ValueError
        when there are more or fewer than papers.
        """
        if sources is None:
            views: Iterable[View] = (View(paper) for paper in papers)
        else:
            views = (View(paper, seen) for paper, seen in zip(papers, sources, strict=True))
        for position, view in enumerate(views):
            yield from self._of_paper(position, view)

    def why(self, topic: Hashable, paper: Paper, sources: Sequence[str] = ()) -> tuple[Why, ...]:
        """Return why `paper` meets `topic` as it is now; empty when it does not, or is parked."""
        query = self.queries.get(topic)
        return explain(query, View(paper, sources)) if query else ()

    def _of_paper(self, position: int, view: View) -> Iterator[Match]:
        for number in self._candidates(view):
            name, query = self._topics[number]
            if answers(query, view):
                found = score(query, view)
                yield Match(name, view.paper, position, found, query, view.sources)

    def _candidates(self, view: View) -> Iterable[int]:
        if self._prefilter is None:
            return range(len(self._topics))
        return sorted(self._prefilter.select(view))


# ── the first step ──────────────────────────────────────────────────────────────────


class _Prefilter:
    """Topics by the keys of which they need one. A key that ends in * asks for a beginning."""

    def __init__(self, queries: Iterable[Query]) -> None:
        roots = [query.root for query in queries]
        usage = Counter(key for root in roots for key in _all_keys(root))
        self._topics: dict[str, list[int]] = {}
        self._always: list[int] = []
        for number, root in enumerate(roots):
            keys = _needs(root, usage)
            for key in keys:
                self._topics.setdefault(key, []).append(number)
            if not keys:
                self._always.append(number)
        self._lengths = sorted({len(key) - 1 for key in self._topics if key.endswith("*")})

    def select(self, view: View) -> set[int]:
        """Return the numbers of the topics that the paper may meet."""
        selected = set(self._always)
        for key in _exact_keys(view) & self._topics.keys():
            selected.update(self._topics[key])
        if self._lengths:
            for key in _beginnings(view, self._lengths) & self._topics.keys():
                selected.update(self._topics[key])
        return selected


def _exact_keys(view: View) -> set[str]:
    keys = {*view.title.by_form, *view.abstract.by_form, *_name_keys(view)}
    keys.update(f"title:{form}" for form in view.title.by_form)
    keys.update(f"venue:{form}" for form in view.venue.by_form)
    return keys


def _beginnings(view: View, lengths: Sequence[int]) -> set[str]:
    whole = {*view.title.by_word, *view.abstract.by_word, *_name_keys(view)}
    whole.update(f"title:{word}" for word in view.title.by_word)
    whole.update(f"venue:{word}" for word in view.venue.by_word)
    return {f"{word[:length]}*" for word in whole for length in lengths}


def _name_keys(view: View) -> Iterator[str]:
    """Yield what is neither title, abstract nor venue: words of names, and labels."""
    for _, alike in view.authors:
        yield from (f"author:{word}" for name in alike for word in name.words)
    for kind in ("category", "source", "announce"):
        yield from (f"{kind}:{label(value)}" for value in view.labels(kind))


def _needs(node: Node, usage: Counter[str]) -> Needs:
    """Return keys of which a paper must have one to meet `node`; none where it needs none."""
    match node:
        case Not():
            return frozenset()
        case Or(children):
            sets = [_needs(child, usage) for child in children]
            return frozenset().union(*sets) if all(sets) else frozenset()
        case And(children):
            return _cheapest((_needs(child, usage) for child in children), usage)
        case AtLeast(count, children):
            # Of more than n - count children at least one is met.
            sets = sorted(
                (_needs(child, usage) for child in children),
                key=lambda keys: _cost(keys, usage) if keys else float("inf"),
            )[: len(children) - count + 1]
            return frozenset().union(*sets) if all(sets) else frozenset()
        case _:
            return _cheapest(_choices(node), usage)


def _cheapest(sets: Iterable[Needs], usage: Counter[str]) -> Needs:
    some = [keys for keys in sets if keys]
    return min(some, key=lambda keys: _cost(keys, usage), default=frozenset())


def _cost(keys: Needs, usage: Counter[str]) -> float:
    """Guess how many papers have one of `keys`: what many topics ask for is common."""
    return sum(1000.0 if key in STOP_WORDS else _width(key) * (1 + usage[key]) for key in keys)


def _width(key: str) -> float:
    field, colon, word = key.rpartition(":")
    if field in ("category", "source", "announce"):
        return 50.0
    return (20.0 if word.endswith("*") else 1.0) * (0.3 if colon else 1.0)


def _choices(leaf: Leaf) -> list[Needs]:
    """Return sets of keys such that a paper that meets the leaf has one key of each set."""
    match leaf:
        case Author():
            star = "*" if leaf.prefix else ""
            return [frozenset(f"author:{name.family}{star}" for name in leaf.names)]
        case Label():
            return [frozenset({f"{leaf.field}:{leaf.value}" + ("*" if leaf.prefix else "")})]
        case Near():
            return [keys for word in leaf.words for keys in _choices(word)]
        case Words():
            space = f"{leaf.fields[0]}:" if leaf.fields in (("title",), ("venue",)) else ""
            return [
                frozenset(
                    f"{space}{edge.key}" + ("*" if edge.prefix else "")
                    for edge in leaf.edges
                    if edge.start <= gap < edge.end
                )
                for gap in range(leaf.length)
            ]


def _all_keys(node: Node) -> Iterator[str]:
    match node:
        case Not():
            return
        case And(children) | Or(children) | AtLeast(_, children):
            for child in children:
                yield from _all_keys(child)
        case _:
            for keys in _choices(node):
                yield from keys
