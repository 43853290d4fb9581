"""Why a paper matches a topic, and how well."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from monitor.match.language.tree import (
    AtLeast,
    Author,
    Label,
    Leaf,
    Like,
    Near,
    Node,
    Not,
    Number,
    Query,
    Words,
    leaves,
)
from monitor.match.meaning.closeness import share
from monitor.match.meaning.evaluate import View, matches, matching_leaves, total_weight
from monitor.match.meaning.idf import rarity
from monitor.match.meaning.occurrences import Lattice, Span
from monitor.model import MatchReason, merge_spans
from monitor.text import singular

# No score is higher.
MOST = 7.5
_FIELDS = ("title", "abstract", "venue")
# Of the words by which a paper is near to a text, those that count most.
_LIKE_WORDS = 6
_MATHS = re.compile(r"(?<!\\)\$(?=\S)[^$]{1,400}(?<=\S)\$(?!\d)")


def explain(query: Query, view: View) -> tuple[MatchReason, ...]:
    """Return which words were found in which field, one reason a field, title first.

    Words are as the paper writes them, each once whatever its case; spans never cut a formula
    and never overlap. An abbreviation is not named where only a part of its long form matches,
    but where the topic matches by nothing else, or not without it. What a topic excludes is not
    listed; authors, labels and numbers have words but no spans. Of the words by which a paper is
    near to a text, the six that count most are named. Empty when the paper does not match the
    topic.
    """
    matched = matching_leaves(query.root, view)
    terms = _rarest_first(query, matched)
    near = [word for leaf in matched if isinstance(leaf, Like) for word in near_words(leaf, view)]
    terms += near
    named: dict[int, _Named] = {}
    texts = [_text_reason(field, terms, view, named) for field in _FIELDS]
    decisive = _decisive(query.root, view, _order_of_naming(matched, named)) or ()
    inside = {leaf.position for leaf in (decisive if named else terms)} - named.keys()
    if view.definitions and inside:
        named = {}
        texts = [_text_reason(field, terms, view, named, inside) for field in _FIELDS]
    required = [named[leaf.position] for leaf in decisive if leaf.position in named]
    of_text = [named[word.position] for word in near if word.position in named]
    demanded = {singular(one.term.casefold()) for one in required}
    texts = [
        replace(
            why,
            required=_distinct(one.term for one in required if one.field == why.field),
            near=_distinct(
                one.term
                for one in of_text
                if one.field == why.field and singular(one.term.casefold()) not in demanded
            ),
        )
        for why in texts
    ]
    return tuple(why for why in (*texts, *_other_reasons(matched, decisive, view)) if why.words)


def near_words(like: Like, view: View) -> list[Words]:
    """Return the words by which a paper is near to a text, those that count most first."""
    counts = {word: weight * share(*view.counts(word)) for word, weight in like.words}
    counted = sorted(filter(counts.__getitem__, counts), key=lambda word: -counts[word])
    return counted[:_LIKE_WORDS]


class _Named(NamedTuple):
    """A term that stands for a clause of a topic, and the first field that has it."""

    field: str
    term: str


def _rarest_first(query: Query, matched: Sequence[Leaf]) -> list[Words | Near]:
    weights = dict(query.weights)
    terms = [leaf for leaf in matched if isinstance(leaf, Words | Near)]
    return sorted(terms, key=lambda leaf: -weights.get(leaf, 1.0) * rarity(leaf))


def _order_of_naming(matched: Sequence[Leaf], named: Iterable[int]) -> dict[Leaf, int]:
    """Return the place of each leaf among what is named: texts, then labels; unnamed, the last."""
    places = {position: place for place, position in enumerate(named)}
    is_text = {leaf: isinstance(leaf, Words | Near) for leaf in matched}
    last = len(places) + len(is_text)
    return {
        leaf: places.get(leaf.position, last) if is_text[leaf] else len(places) + number
        for number, leaf in enumerate(is_text)
    }


def _decisive(node: Node, view: View, order: Mapping[Leaf, int]) -> tuple[Leaf, ...] | None:
    """Return leaves that are enough for `node` to match, None if it does not match.

    `order` has the leaves that match. Each part of an AND gives its leaves. Of an OR, one part
    does: that with the fewest leaves, and of those the one that is named first; one that only
    excludes words, if there is no other.
    """
    match node:
        case AtLeast(count, children):
            parts = [_decisive(child, view, order) for child in children]
            found = [part for part in parts if part is not None]
            if len(found) < count:
                return None
            found.sort(key=lambda part: (not part, len(part), [order[leaf] for leaf in part]))
            return tuple(dict.fromkeys(chain.from_iterable(found[:count])))
        case Not():
            return () if matches(node, view) else None
        case _:
            return (node,) if node in order else None


def _other_reasons(
    matched: Sequence[Leaf], decisive: Collection[Leaf], view: View
) -> Iterator[MatchReason]:
    """Yield the reasons that are no texts: authors, labels and numbers."""
    found = defaultdict[str, list[str]](list)
    required = defaultdict[str, list[str]](list)
    for leaf in matched:
        match leaf:
            case Author():
                field = "author"
                values = view.matching_authors(leaf)
            case Label():
                field = leaf.field
                values = view.matching_labels(leaf)
            case Number():
                field = leaf.field
                values = [f"{view.number(leaf.field):,}"]
            case _:
                continue
        found[field] += values
        required[field] += values[:1] if leaf in decisive else []
    for field, values in found.items():
        yield MatchReason(field, _distinct(values), required=_distinct(required[field]))


def _text_reason(
    field: str,
    terms: Sequence[Words | Near],
    view: View,
    named: dict[int, _Named],
    inside: Collection[int] = (),
) -> MatchReason:
    """Return the reason in one field; clauses whose position is not in `named` give their terms.

    Abbreviations of which only a part of the long form matches are left out, but for clauses whose
    position is in `inside`.
    """
    terms = [term for term in terms if field in term.fields]
    if not terms:
        return MatchReason(field, ())
    lattice = view.text(field)
    all_spans: set[Span] = set()
    shown: list[str] = []
    asked_for: set[str] = set()
    formulas = [match.span() for match in _MATHS.finditer(lattice.text)]

    def widen(span: Span) -> Span:
        return _widen(lattice.text, span, formulas)

    def written(span: Span) -> str:
        return " ".join(lattice.text[slice(*span)].split())

    for term in terms:
        whole = bool(view.definitions) and term.position not in inside
        spans = _occurrences(term, lattice, whole)
        all_spans.update(spans)
        if spans and term.position not in named:
            nearest, is_asked_for = _nearest(term, list(map(written, map(widen, spans))), view)
            named[term.position] = _Named(field, nearest)
            shown.append(nearest)
            asked_for.update([nearest] if is_asked_for else [])
    widened = sorted(map(widen, all_spans))
    return MatchReason(
        field,
        _distinct(map(written, widened)),
        merge_spans(widened),
        _distinct(shown),
        tuple(text for text in _distinct(shown) if text not in asked_for),
    )


def _occurrences(term: Words | Near, lattice: Lattice, whole: bool) -> list[Span]:
    """Return where a term stands; with `whole` not where it is inside an abbreviation's meaning."""
    if isinstance(term, Near) or not whole:
        return lattice.occurrences(term)
    return sorted({hit.span for hit in lattice.find(term) if min(hit.start, hit.end) >= 0})


def _nearest(term: Words | Near, written: Sequence[str], view: View) -> tuple[str, bool]:
    """Return what is nearest to what a topic asks for: the same words, else the first found.

    An abbreviation that the paper defines has its long form with it. False if it stands for other
    words that the topic asks for.
    """
    asked = " ".join(edge.key for edge in term.edges) if isinstance(term, Words) else ""
    best = next((words for words in written if words.casefold() == asked), written[0])
    long_forms = dict(view.definitions)
    long = next(filter(None, map(long_forms.get, (best, best.removesuffix("s"), f"{best}s"))), None)
    if not long:
        return best, True
    return f"{best} ({long})", best.casefold().startswith(singular(asked) or " ")


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(word.casefold(), word)
    return tuple(first.values())


def _widen(text: str, span: Span, formulas: Sequence[Span]) -> Span:
    """Widen `span` so that it cuts no formula and no braces; `formulas` are in order."""
    start, end = span
    first = bisect_right(formulas, start, key=itemgetter(1))
    last = bisect_left(formulas, end, first, key=itemgetter(0))
    if first < last:
        start = min(start, formulas[first][0])
        end = max(end, formulas[last - 1][1])
    return _balance_braces(text, start, end)


def _balance_braces(text: str, start: int, end: int) -> Span:
    unclosed = text.count("{", start, end) - text.count("}", start, end)
    while unclosed > 0 and text[end : end + 1] == "}":
        end = end + 1
        unclosed = unclosed - 1
    while unclosed < 0 and start and text[start - 1] == "{":
        start = start - 1
        unclosed = unclosed + 1
    return start, end


def score(query: Query, view: View) -> float:
    """Return how well the paper matches the topic, from 0 (not at all) to below 7.5.

    4 when any clause matches in the title, up to 2 for the share of clauses that match there, up
    to 1 for the share that match anywhere, and up to 0.5 for repetition (the n-th occurrence of a
    word adds ever less). So a match in the title always ranks above one in the abstract. Clauses
    are the words, phrases, names and labels of the topic, each once and a word with its synonyms
    as one; in the shares each counts by its weight times its `rarity`. A paper that is near to a
    text has `MOST` times its closeness instead.
    """
    matched = matching_leaves(query.root, view)
    if not matched:
        return 0.0
    if likes := [leaf for leaf in matched if isinstance(leaf, Like)]:
        return MOST * view.closeness(likes[0])
    occurrences = 0
    in_title = []
    for leaf in matched:
        if isinstance(leaf, Words | Near):
            counts = {field: len(view.text(field).occurrences(leaf)) for field in leaf.fields}
            occurrences += sum(counts.values())
            if counts.get("title"):
                in_title.append(leaf)
    weights = _information_by_leaf(query)
    shares = 2 * total_weight(in_title, weights) + total_weight(matched, weights)
    shares /= total_weight(weights, weights)
    return float(combine(bool(in_title), shares, max(occurrences, 1)))


def combine(in_title: Any, shares: Any, occurrences: Any) -> Any:
    """Add up a score, or a column of them: `score` says what counts how much."""
    return 4.0 * in_title + shares + 0.5 * (1 - 1 / occurrences)


def _information_by_leaf(query: Query) -> dict[Leaf, float]:
    """Return what each leaf counts: its clause's weight times the rarity of what was written."""
    weights = dict(query.weights)
    clauses: dict[int, float] = {}
    return {
        leaf: clauses.setdefault(leaf.position, weights.get(leaf, 1.0) * rarity(leaf))
        for leaf in leaves(query.root)
    }
