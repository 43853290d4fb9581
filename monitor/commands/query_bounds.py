"""How much of a query pages work out, and which part of it makes it too wide for them.

The bounds count papers and words, never seconds, so that a query has the same answer each time. A
shell has none: a command there delays no other user.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from monitor.errors import TooWideError
from monitor.match import Query, paper_keywords, search_expression, split_parts
from monitor.match.language.tree import Near, every_leaf
from monitor.model import Keyword, SearchExpr
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers, search

# Papers that are read for a query of single words: about two seconds.
MOST_READ = 12_000
# Reading a paper for `"a b"~5` takes this much longer, and a hundred other terms double the time.
_NEAR, _TERMS = 8, 100
# Scores to compute, as papers times terms: about half a second.
_MOST_SCORED = 50_000
# Entries of the search index that words with * stand for: half a second on SQLite.
MOST_ENTRIES = 5_000_000
_SAMPLE = 200
_SHELL = "`paper-monitor papers` in a shell has no such bound"


def most_read(query: Query) -> int:
    """Return how many papers pages may read for a query."""
    leaves = list(every_leaf(query.root))
    nears = sum(isinstance(leaf, Near) for leaf in leaves)
    return max(MOST_READ // (1 + _NEAR * nears + len(leaves) // _TERMS), 1)


def most_scored(query: Query) -> int:
    """Return of how many papers pages may compute the score."""
    leaves = every_leaf(query.root)
    terms = sum(_TERMS if isinstance(leaf, Near) else 1 for leaf in leaves)
    return max(_MOST_SCORED // terms, 1)


def refuse_too_many_words(tx: Transaction, query: Query) -> None:
    """Raise TooWideError where the words with * of a query stand for very much of the index.

    How much is estimated from the newest papers.
    """
    wanted = _prefixes_of(query)
    if not wanted:
        return
    sample = _Sample.of(tx)
    entries = {prefix: sample.entries(prefix) for prefix in wanted}
    total = sum(map(len, entries.values())) * papers.count(tx) // max(len(sample.papers), 1)
    if total <= MOST_ENTRIES:
        return
    counted = [
        (part, [word for prefix in _prefixes_of(part.query) for word in entries[prefix]])
        for part in split_parts(query)
    ]
    part, words = max(counted, key=lambda pair: len(pair[1]))
    raise TooWideError(
        f"the {len(wanted):,} beginnings with * occur about {total:,} times in the stored papers, "
        f"and at most {MOST_ENTRIES:,} are looked up here: {part.text} stands for "
        f"{len(set(words)):,} words in the newest {len(sample.papers):,} papers alone",
        part.position,
        f"write more letters before *, or leave some out; {_SHELL}",
    )


def too_many_papers(tx: Transaction, query: Query) -> TooWideError:
    """Return why a query is refused that leaves more papers to read than pages may.

    It names the part that leaves nearly as many as the whole query.
    """
    sample = _Sample.of(tx)
    whole = sample.share(search_expression(query.root))
    shares = [
        (sample.share(search_expression(part.query.root)), part)
        for part in split_parts(query)
        if not part.is_excluded
    ]
    share, part = min(shares, key=lambda pair: abs(pair[0] - whole))
    return TooWideError(
        f"more than {most_read(query):,} papers may match, which is as many as are read here for "
        f"this query: {part.text} leaves {share:.0%} of the newest {len(sample.papers):,} papers",
        part.position,
        "new papers wait for the search index: search again in a minute"
        if search.waiting(tx, 1)
        else f"add a word that few papers have; {_SHELL}",
    )


def _prefixes_of(query: Query) -> set[Keyword]:
    return set(_prefixes(search_expression(query.root)))


def _prefixes(expression: SearchExpr | None) -> Iterator[Keyword]:
    """Yield the beginnings of words in an expression."""
    if isinstance(expression, Keyword):
        if expression.prefix:
            yield expression
    elif expression is not None:
        for part in expression.parts:
            yield from _prefixes(part)


@dataclass(frozen=True)
class _Sample:
    """The keywords of the newest papers."""

    papers: Sequence[set[str]]

    @classmethod
    def of(cls, tx: Transaction) -> _Sample:
        stored = papers.load(tx, search.newest(tx, None, None, _SAMPLE))
        return cls([set(paper_keywords(record.paper).split()) for record in stored.values()])

    @cached_property
    def _all(self) -> list[str]:
        return sorted(word for words in self.papers for word in words)

    def entries(self, prefix: Keyword) -> list[str]:
        """Return the keywords that begin so, each once for every paper that has it."""
        first = bisect_left(self._all, prefix.text)
        return self._all[first : bisect_left(self._all, prefix.text + "\U0010ffff")]

    def share(self, expression: SearchExpr | None) -> float:
        """Return which part of the papers an expression finds."""
        if not self.papers:
            return 0.0
        return sum(_has(words, expression) for words in self.papers) / len(self.papers)


def _has(words: set[str], expression: SearchExpr | None) -> bool:
    """Return whether a paper with these keywords is found by an expression."""
    if expression is None:
        return True
    if isinstance(expression, Keyword):
        if not expression.prefix:
            return expression.text in words
        return any(word.startswith(expression.text) for word in words)
    has = (_has(words, part) for part in expression.parts)
    return all(has) if expression.every else any(has)
