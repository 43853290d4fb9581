"""Other names, compounds and forms of the words of a topic, as changed queries.

Nothing here is applied: a person reads what each change would add, and copies the query.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations_with_replacement, islice, pairwise, permutations, starmap
from typing import NamedTuple

from monitor.match.language.mistakes import ALSO_WORDS
from monitor.match.language.synonyms import Term, term
from monitor.match.language.tokens import QUOTES, Token, tokens
from monitor.match.language.tree import (
    AtLeast,
    Leaf,
    Node,
    Query,
    Words,
    disjunction,
    signed_leaves,
)
from monitor.match.meaning.idf import STOP_WORDS
from monitor.match.meaning.occurrences import find_definitions
from monitor.text import form_of

# Names of one thing that papers seldom define, parted by a slash.
_PAIRS = """
    LLM / large language model; NLP / natural language processing; ML / machine learning; AI /
    artificial intelligence; RL / reinforcement learning; UAV / drone; E. coli / Escherichia coli;
    S. aureus / Staphylococcus aureus; C. elegans / Caenorhabditis elegans; Drosophila / fruit fly;
    yeast / Saccharomyces cerevisiae; type 1 / type I; type 2 / type II; phase 1 / phase I; phase 2
    / phase II; phase 3 / phase III; T2D / type 2 diabetes; HbA1c / glycated hemoglobin / A1C; ECG /
    EKG / electrocardiogram; MRI / magnetic resonance imaging; CT / computed tomography; HIV / human
    immunodeficiency virus; COVID-19 / SARS-CoV-2; TB / tuberculosis; flu / influenza; heart attack
    / myocardial infarction; high blood pressure / hypertension; stroke / cerebrovascular accident;
    vitamin C / ascorbic acid; CO2 / carbon dioxide
"""
# Endings of forms of one word; what is left of both is equal: quantiz(e), quantiz(ation).
_ENDINGS = (
    ("ification", "ifi"), ("ifying", "ifi"), ("ified", "ifi"), ("ify", "ifi"), ("ization", "iz"),
    ("ation", "at"), ("ment", ""), ("ing", ""), ("ion", ""), ("ed", ""), ("e", ""),
)  # fmt: skip
_LEAST_ROOT = 4
_LONGEST_NAME = 60
# At most: words side by side, and groups of them in a topic.
_LONGEST = 6
_WINDOWS = 300
# Changed queries for one topic, and the characters that all of them may have together.
_MOST = 40
_MOST_CHARACTERS = 60_000
_WORD = re.compile("[a-z]+")
_PLAIN = re.compile(r"\w[\w-]*")
_UNQUOTABLE = re.compile(rf"[{QUOTES}\\$*()\n]")

Text = tuple[str, str]  # a title and an abstract
_Change = tuple[str, "_Window", str]  # the kind, and the words to put in place of the window's


class Suggestion(NamedTuple):
    """A query with an `alternative` beside a `term`; it matches `papers` of `looked_at` more."""

    kind: str  # definition, pair, compound or form
    term: str
    alternative: str
    query: str
    position: int
    papers: int = 0
    looked_at: int = 0


class _Window(NamedTuple):
    """Words of a query that may be replaced, and where their term is; `rest` is of a phrase."""

    words: str
    start: int
    end: int
    rest: tuple[str, str] = ("", "")


def suggest(query: Query, newest: Sequence[Text], matching: Sequence[Text]) -> list[Suggestion]:
    """Return changed queries, the surest first.

    `newest` are papers of all kinds, which say how usual a form is; `matching` those that the query
    matches, which may define more.
    """
    windows = list(islice(_windows(query), _WINDOWS))
    words = [_WORD.findall(f"{title}\n{abstract}".lower()) for title, abstract in newest]
    names = _other_names(windows, chain(newest, matching))
    changes = chain(names, _compounds(windows, words), _forms(windows, words))
    every = {each.query: each for each in starmap(partial(_suggestion, query.text), changes)}
    return list(islice(every.values(), min(_MOST, _MOST_CHARACTERS // max(len(query.text), 1))))


def widen(node: Node, changes: Sequence[tuple[Suggestion, Collection[Leaf]]]) -> Node:
    """Return a tree that matches all that changed queries do, by the leaves that each adds."""
    if isinstance(node, AtLeast):
        return AtLeast(node.count, tuple(widen(child, changes) for child in node.children))
    if not isinstance(node, Words):
        return node
    at = node.position
    near = (added for each, added in changes if 0 <= at - each.position < len(each.term))
    return disjunction(list(dict.fromkeys([node, *chain.from_iterable(near)])))


def _windows(query: Query) -> Iterator[_Window]:
    """Yield the words and word groups of a query, but of what is excluded or exact."""
    wanted = {
        leaf.position
        for leaf, is_excluded in signed_leaves(query.root)
        if isinstance(leaf, Words) and not (is_excluded or leaf.exact)
        if leaf.fields != ("venue",) and not any(edge.prefix for edge in leaf.edges)
    }
    run: list[Token] = []
    for before, token in pairwise([Token("", "", 0), *tokens(query.text)]):
        end = token.position + len(token.text)
        if token.kind == "phrase" and token.position in wanted and token.distance is None:
            text = token.text[1:-1]
            inside = islice(re.finditer(r"\S+", text), _LONGEST)
            for one, last in combinations_with_replacement(inside, 2):
                rest = (text[: one.start()], text[last.end() :])
                yield _Window(text[one.start() : last.end()], token.position, end, rest)
        elif token.kind == "word" and token.position in wanted:
            joins = run[-1:] == [before] and before.weight == token.weight == 1.0
            run = [*(run if joins else ()), token][-_LONGEST:]
            for first in run:
                yield _Window(query.text[first.position : end], first.position, end)
            if before.kind == "field":  # it is for this word only
                run = []


def _suggestion(text: str, kind: str, window: _Window, other: str) -> Suggestion:
    other = other.join(window.rest)
    if other.isupper() and other.lower() in ALSO_WORDS | STOP_WORDS:
        other = f"={other}"
    elif not _PLAIN.fullmatch(other) or other in ("AND", "OR", "NOT"):
        other = f'"{other}"'
    start = window.start
    end = window.end
    query = f"{text[start:end]} OR {other}"
    if (start, end) != (0, len(text)):
        query = f"{text[:start]}({query}){text[end:]}"
    return Suggestion(kind, text[start:end], other, query, start)


def _other_names(windows: Iterable[_Window], texts: Iterable[Text]) -> Iterator[_Change]:
    by_key: dict[Term, list[_Window]] = defaultdict(list)
    for window in windows:
        by_key[_key(window.words)].append(window)
    pairs = (" ".join(group.split()).split(" / ") for group in _PAIRS.split(";"))
    for kind, groups in (("pair", pairs), ("definition", _definitions(texts, by_key))):
        for name, other in chain.from_iterable(permutations(names, 2) for names in groups):
            yield from ((kind, window, other) for window in by_key.get(_key(name), ()))


def _key(text: str) -> Term:
    return term(text.replace("-", " "))


def _definitions(texts: Iterable[Text], windows: Collection[Term]) -> Iterator[tuple[str, str]]:
    """Yield what papers define for a window, first what most of them do."""
    spellings: dict[tuple[str, Term], Counter[str]] = defaultdict(Counter)
    begin = {edge.key[:2] for window in windows for edge in window.edges[:1]}
    for short, long in chain.from_iterable(starmap(find_definitions, texts)):
        near = not begin.isdisjoint((short[:2].lower(), long[:2].lower()))
        if near and len(long) <= _LONGEST_NAME and not _UNQUOTABLE.search(short + long):
            short = short[:-1] if short.endswith("s") and short[:-1].isupper() else short
            if not {_key(short), _key(long)}.isdisjoint(windows):
                spellings[short, _key(long)][" ".join(long.split())] += 1
    counts = {defined: written.total() for defined, written in spellings.items()}
    least = min(2, max(counts.values(), default=0))  # a single paper may err
    for (short, long_key), count in sorted(counts.items(), key=lambda item: -item[1]):
        if count >= least:
            yield short, spellings[short, long_key].most_common(1)[0][0]


def _compounds(windows: Iterable[_Window], texts: Sequence[Sequence[str]]) -> Iterator[_Change]:
    seen = set(chain.from_iterable(texts))
    closed: dict[str, list[_Window]] = defaultdict(list)
    for window in windows:
        words = window.words.lower().split()
        joined = "".join(words)
        is_phrase = window.end - window.start > len(window.words)
        if len(words) == 1:
            closed[joined].append(window)
        elif len(words) == 2 and (joined in seen or (is_phrase and joined.isalpha())):
            yield "compound", window, joined
    parted: Counter[tuple[str, str]] = Counter()
    for text in texts:
        parted.update(pair for pair in pairwise(text) if "".join(pair).removesuffix("s") in closed)
    for (one, two), count in parted.most_common():
        if count > 1 and min(len(one), len(two)) > 2:  # once may be a word cut in two
            two = two.removesuffix("s")
            yield from (("compound", window, f"{one} {two}") for window in closed[one + two])


def _forms(windows: Iterable[_Window], texts: Iterable[Sequence[str]]) -> Iterator[_Change]:
    """Yield forms of the last word of a phrase, and of words alone, that more papers have."""
    asked = [
        (window, form_of(window.words.lower()))
        for window in windows
        if not (" " in window.words or window.rest[1])
    ]
    begin = {word[:_LEAST_ROOT] for _, word in asked if len(word) >= _LEAST_ROOT}
    papers: Counter[str] = Counter()
    for words in texts:
        papers.update({form_of(word) for word in set(words) if word[:_LEAST_ROOT] in begin})
    by_root: dict[str, list[str]] = defaultdict(list)
    for other, _ in papers.most_common():
        by_root[_root(other)].append(other)
    for window, word in asked:
        others = (other for other in by_root[_root(word)][:2] if papers[other] > papers[word])
        yield from (("form", window, other) for other in others)


def _root(word: str) -> str:
    for ending, rest in _ENDINGS:
        root = word.removesuffix(ending) + rest
        # A noun of fewer letters is another word: station, state.
        if word.endswith(ending) and len(root) >= _LEAST_ROOT + ending.endswith(("ion", "ment")):
            return root
    return word
