"""How much of a query pages work out, and which part of it makes it too wide for them.

The bounds count papers and words, never seconds, so that a query has the same answer each time. A
shell has none: a command there delays no other user.
"""

from __future__ import annotations

from bisect import bisect_left

from monitor.errors import QueryError, Remedy
from monitor.match import Query, paper_keywords, search_expression, split_parts
from monitor.match.language.tree import Near, every_leaf
from monitor.model import Keyword, SearchExpr
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers, search

# Papers that are read for a query of single words: about two seconds.
MOST_READ = 12_000
# Reading a paper for `"a b"~5` takes this much longer, and a hundred other terms double the time.
_NEAR = 8
_TERMS = 100
# Scores to compute, as papers times terms: about half a second.
_MOST_SCORED = 50_000
# Entries of the search index that words with * stand for: half a second on SQLite.
MOST_ENTRIES = 5_000_000
# Characters of a query: an address of more would be longer than servers take.
MOST_CHARACTERS = 16_000
_SAMPLE = 200
_SHELL = "`paper-monitor papers` in a shell has no such bound"


def is_too_long(query: str) -> QueryError | None:
    """Return why pages do not take a query for its length, None where they do."""
    if len(query) <= MOST_CHARACTERS:
        return None
    return QueryError(
        f"a query has at most {MOST_CHARACTERS:,} characters here, and this one has {len(query):,}",
        MOST_CHARACTERS,
        "write it as a topic in monitor.yaml, which may have more, and run "
        "`paper-monitor topics try` with its name; or split it into several topics",
        Remedy.SPLIT_QUERY,
    )


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
    """Raise QueryError if words with * stand for too much of the index, by the newest papers."""
    wanted = _prefixes(search_expression(query.root))
    if not wanted:
        return
    newest = papers.load(tx, search.newest(tx, None, None, _SAMPLE)).values()
    words_of = [set(paper_keywords(stored.paper).split()) for stored in newest]
    words = sorted(word for keywords in words_of for word in keywords)
    entries = {prefix: _beginning_with(words, prefix.text) for prefix in wanted}
    total = sum(map(len, entries.values())) * papers.count(tx) // max(len(newest), 1)
    if total <= MOST_ENTRIES:
        return
    counted = []
    for part in split_parts(query):
        prefixes = _prefixes(search_expression(part.query.root))
        counted.append((part, [word for prefix in prefixes for word in entries[prefix]]))
    part, named = max(counted, key=lambda pair: len(pair[1]))
    raise QueryError(
        f"the {len(wanted):,} beginnings with * occur about {total:,} times in the stored papers, "
        f"and at most {MOST_ENTRIES:,} are looked up here: {part.text} stands for "
        f"{len(set(named)):,} words in the newest {len(newest):,} papers alone",
        part.position,
        f"write more letters before *, or leave some out; {_SHELL}",
        Remedy.WRITE_MORE_LETTERS,
    )


def too_many_papers(tx: Transaction, query: Query) -> QueryError:
    """Return why a query is refused that leaves more papers to read than pages may.

    It names the part that leaves nearly as many as the whole query.
    """
    newest = search.newest(tx, None, None, _SAMPLE)

    def share(part: Query) -> float:
        named = search.newest(tx, search_expression(part.root), None, _SAMPLE, newest[-1])
        return len(named) / len(newest)

    whole = share(query)
    parts = (part for part in split_parts(query) if not part.is_excluded)
    part, left = min(
        ((part, share(part.query)) for part in parts), key=lambda pair: abs(pair[1] - whole)
    )
    return QueryError(
        f"more than {most_read(query):,} papers may match, which is as many as are read here for "
        f"this query: {part.text} leaves {left:.0%} of the newest {len(newest):,} papers",
        part.position,
        "new papers wait for the search index: search again in a minute"
        if search.waiting(tx, 1)
        else f"add a word that few papers have; {_SHELL}",
    )


def _prefixes(expression: SearchExpr | None) -> set[Keyword]:
    if expression is None:
        return set()
    if isinstance(expression, Keyword):
        return {expression} if expression.prefix else set()
    return {prefix for part in expression.parts for prefix in _prefixes(part)}


def _beginning_with(words: list[str], prefix: str) -> list[str]:
    first = bisect_left(words, prefix)
    return words[first : bisect_left(words, prefix + "\U0010ffff")]
