"""Other names, compounds and forms of the words of a topic, as changed queries.

Nothing here is applied: a person reads what each change would add, and copies the query.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations_with_replacement, islice, pairwise, permutations, starmap
from typing import NamedTuple

from monitor.match.language.mistakes import ALSO_WORDS
from monitor.match.language.synonyms import Term, term
from monitor.match.language.tokens import QUOTES, Token, tokens
from monitor.match.language.tree import Query, Words, signed_leaves
from monitor.match.meaning.idf import STOP_WORDS
from monitor.match.meaning.occurrences import find_definitions
from monitor.text import form_of

# Names of one thing, parted by a slash.
_PAIRS = """
    LLM / large language model; NLP / natural language processing; RL / reinforcement learning; RAG
    / retrieval-augmented generation; CNN / convolutional neural network; ViT / vision transformer;
    RNN / recurrent neural network; GNN / graph neural network; LSTM / long short-term memory; GAN
    / generative adversarial network; VAE / variational autoencoder; PINN / physics- informed
    neural network; MCMC / Markov chain Monte Carlo; HCI / human-computer interaction; UAV /
    unmanned aerial vehicle / drone; IoT / internet of things; XAI / explainable AI; E. coli /
    Escherichia coli; S. aureus / Staphylococcus aureus; C. elegans / Caenorhabditis elegans; A.
    thaliana / Arabidopsis thaliana; D. melanogaster / Drosophila melanogaster; S. cerevisiae /
    Saccharomyces cerevisiae; type 1 / type I; type 2 / type II; phase 2 / phase II; phase 3 /
    phase III; T2D / type 2 diabetes; HbA1c / glycated hemoglobin / A1C; ECG / EKG /
    electrocardiogram; EEG / electroencephalography; MRI / magnetic resonance imaging; CT /
    computed tomography; PCR / polymerase chain reaction; COPD / chronic obstructive pulmonary
    disease; ADHD / attention deficit hyperactivity disorder; CKD / chronic kidney disease; HIV /
    human immunodeficiency virus; COVID-19 / SARS-CoV-2; TB / tuberculosis; RCT / randomized
    controlled trial; mRNA / messenger RNA; scRNA-seq / single-cell RNA sequencing; GWAS / genome-
    wide association study; SNP / single nucleotide polymorphism; IL-6 / interleukin-6; TNF / tumor
    necrosis factor; NMR / nuclear magnetic resonance; XRD / X-ray diffraction; SEM / scanning
    electron microscopy; DFT / density functional theory; MOF / metal-organic framework; CO2 /
    carbon dioxide; QCD / quantum chromodynamics; CMB / cosmic microwave background
"""
# Endings of forms of one word; what is left of both is equal: quantiz(e), quantiz(ation).
_ENDINGS = (
    ("ification", "ifi"), ("ifying", "ifi"), ("ified", "ifi"), ("ify", "ifi"), ("ization", "iz"),
    ("ation", "at"), ("ment", ""), ("ing", ""), ("ion", ""), ("ed", ""), ("e", ""),
)  # fmt: skip
_LEAST_ROOT = 4
_LONGEST_NAME = 60
# At most: words side by side, and groups of them in a topic.
_WINDOW, _SLOTS = 8, 60
# Changed queries for one topic, and the characters that all of them may have together.
_MOST, _MOST_CHARACTERS = 40, 60_000
_WORD = re.compile("[a-z]+")
_PLAIN = re.compile(r"\w[\w-]*")
_UNQUOTABLE = re.compile(rf"[{QUOTES}\\$*()\n]")


Text = tuple[str, str]  # a title and an abstract


class Suggestion(NamedTuple):
    """A query with an `alternative` beside a `term`; it matches `papers` of `looked_at` more."""

    kind: str  # definition, pair, compound or form
    term: str
    alternative: str
    query: str
    papers: int = 0
    looked_at: int = 0


class _Slot(NamedTuple):
    """Words of a query that are side by side, with their positions; those of a phrase in quotes."""

    words: tuple[tuple[str, int, int], ...]
    phrase: tuple[int, int] | None = None


# The kind, the slot, the first and the last word that is replaced, and the replacement.
_Change = tuple[str, _Slot, int, int, str]


def suggest(query: Query, newest: Sequence[Text], matching: Sequence[Text]) -> list[Suggestion]:
    """Return changed queries, the surest first.

    `newest` are papers of all kinds, which say how usual a form is; `matching` those that the query
    matches, which may define more.
    """
    slots = [slot for slot in _slots(query) if slot.words][:_SLOTS]
    words = [_WORD.findall(f"{title}\n{abstract}".lower()) for title, abstract in newest]
    named = _other_names(slots, chain(newest, matching))
    every = (
        _change(query.text, *change)
        for change in chain(named, _compounds(slots, words), _forms(slots, words))
    )
    most = min(_MOST, _MOST_CHARACTERS // max(len(query.text), 1))
    return list(islice({each.query: each for each in every}.values(), most))


def _slots(query: Query) -> Iterator[_Slot]:
    wanted = {
        leaf.position
        for leaf, is_excluded in signed_leaves(query.root)
        if isinstance(leaf, Words) and not (is_excluded or leaf.exact)
        if leaf.fields != ("venue",) and not any(edge.prefix for edge in leaf.edges)
    }
    run: list[tuple[str, int, int]] = []
    for before, token in pairwise([Token("", "", 0), *tokens(query.text)]):
        start, end = token.position, token.position + len(token.text)
        is_word = token.kind == "word" and start in wanted
        joins = is_word and before.kind == "word" and before.weight == token.weight == 1.0
        if not joins or len(run) == _WINDOW:
            yield _Slot(tuple(run))
            run = []
        if is_word:
            run.append((token.text, start, end))
            if before.kind == "field":
                yield _Slot(tuple(run))
                run = []
        elif token.kind == "phrase" and start in wanted and token.distance is None:
            inside = re.finditer(r"\S+", token.text[1:-1])
            words = ((word[0], start + 1 + word.start(), start + 1 + word.end()) for word in inside)
            yield _Slot(tuple(islice(words, _WINDOW)), (start, end))


def _change(text: str, kind: str, slot: _Slot, first: int, last: int, other: str) -> Suggestion:
    after, before = slot.words[first][1], slot.words[last][2]
    start, end = slot.phrase or (after, before)
    if slot.phrase:  # the rest of the phrase stays
        other = f"{text[start + 1 : after]}{other}{text[before : end - 1]}"
    if other.isupper() and other.lower() in ALSO_WORDS | STOP_WORDS:
        other = f"={other}"
    elif not _PLAIN.fullmatch(other) or other in ("AND", "OR", "NOT"):
        other = f'"{other}"'
    query = f"{text[start:end]} OR {other}"
    if (start, end) != (0, len(text)):
        query = f"{text[:start]}({query}){text[end:]}"
    return Suggestion(kind, text[start:end], other, query)


def _other_names(slots: Iterable[_Slot], texts: Iterable[Text]) -> Iterator[_Change]:
    windows: dict[Term, list[tuple[_Slot, int, int]]] = defaultdict(list)
    for slot in slots:
        for first, last in combinations_with_replacement(range(len(slot.words)), 2):
            written = " ".join(word for word, *_ in slot.words[first : last + 1])
            windows[_key(written)].append((slot, first, last))
    pairs = (" ".join(group.split()).split(" / ") for group in _PAIRS.split(";"))
    for kind, groups in (("pair", pairs), ("definition", _definitions(texts, windows))):
        for names in groups:
            for name, other in permutations(names, 2):
                yield from ((kind, *window, other) for window in windows.get(_key(name), ()))


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


def _compounds(slots: Iterable[_Slot], texts: Sequence[Sequence[str]]) -> Iterator[_Change]:
    seen = set(chain.from_iterable(texts))
    closed: dict[str, list[tuple[int, _Slot]]] = defaultdict(list)
    for slot in slots:
        for first, ((one, *_), (two, *_)) in enumerate(pairwise(slot.words)):
            joined = f"{one}{two}".lower()
            if joined in seen or (slot.phrase and joined.isalpha()):
                yield "compound", slot, first, first + 1, joined
        for at, (word, *_) in enumerate(slot.words):
            form = form_of(word.lower())
            closed[form].append((at, slot))
            closed[f"{form}s"].append((at, slot))
    parted: Counter[tuple[str, str]] = Counter()
    for words in texts:
        parted.update(pair for pair in pairwise(words) if "".join(pair) in closed)
    for (one, two), _ in parted.most_common():
        if len(one) > 2 and len(two) > 2:
            for at, slot in closed[one + two]:
                yield "compound", slot, at, at, f"{one} {form_of(two)}"


def _forms(slots: Iterable[_Slot], texts: Iterable[Sequence[str]]) -> Iterator[_Change]:
    """Yield forms of the last word of a phrase, and of words alone, that more papers have."""
    asked = [
        (at, slot, form_of(word.lower()))
        for slot in slots
        for at, (word, *_) in enumerate(slot.words)
        if not slot.phrase or at == len(slot.words) - 1
    ]
    begin = {word[:_LEAST_ROOT] for *_, word in asked if len(word) >= _LEAST_ROOT}
    papers: Counter[str] = Counter()
    for words in texts:
        papers.update({form_of(word) for word in set(words) if word[:_LEAST_ROOT] in begin})
    by_root: dict[str, list[str]] = defaultdict(list)
    for other, _ in papers.most_common():
        by_root[_root(other)].append(other)
    for at, slot, word in asked:
        for other in by_root[_root(word)][:2]:
            if papers[other] > papers[word]:
                yield "form", slot, at, at, other


def _root(word: str) -> str:
    for ending, rest in _ENDINGS:
        root = word.removesuffix(ending) + rest
        # A noun of fewer letters is another word: station, state.
        if word.endswith(ending) and len(root) >= _LEAST_ROOT + ending.endswith(("ion", "ment")):
            return root
    return word
