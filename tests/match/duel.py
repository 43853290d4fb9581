"""Compares the index with the reference evaluation on random topics and papers.

    python -m tests.match.duel [--pairs N] [--seed S]

Prints every disagreement, and exits with 1 when there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from random import Random

from hypothesis import strategies as st

from monitor.errors import QueryError
from monitor.match import Query, TopicIndex, learn_words, parse_query, parse_topic
from monitor.match.language.synonyms import Synonyms
from monitor.match.like import like_leaf
from monitor.match.meaning.closeness import as_closeness, share
from monitor.match.meaning.evaluate import View, matches_topic
from monitor.match.meaning.explain import score
from monitor.model import LikeText, LikeWords, ListedDay, Paper, Topic

TOPICS = 250
PAPERS = 40
SYNONYMS = Synonyms([["RAG", "retrieval-augmented generation"], ["GNN", "agent network", "4"]])

_VOCABULARY = r"""
    agent agents Agent policy policies multi-agent multiagent multi end-to-end end to RAG rag
    β-VAE $\beta$-VAE beta VAE GPT-4 4 the of C++ C 深度 度 Schr\"odinger Schrödinger in-formation
    GNN GNNs graph neural networks
"""
# Names with Greek letters, ions and stars, and what is near them and something else.
_SIGNED = r"""
    NF-κB NFkB NF-kappaB nf kB TNF-α TNFa TNF alpha IL-1β IL-1b IL-1α PKCε PKCη PKCe ERα era
    IFN-γ IFNγ IFNy IFN-g Ca2+ Ca²⁺ Ca^{2+} CA2 Ca K+ K⁺ SO₄²⁻ Na⁺ Na PM2.5 PM₂.₅ MOF M-of-N
    behavioural
"""
SIGNED = tuple(_SIGNED.split())
WORDS = tuple(_VOCABULARY.split())
NAMES = ("Bengio", "Y. Bengio", "Yoshua Bengio", "Bengio, Y.", "Xiao-Ming Wang", "Wang Xiaoming",
         "Müller, A.", "Anna Mueller", "Muller")  # fmt: skip
CATEGORIES = ("cs.LG", "cs.AI", "stat.ML", "Machine Learning")
SOURCES = ("arxiv", "daily-page")
ANNOUNCED = ("new", "cross")
_TEXT_ONLY = r"""
    retrieval-augmented generation retrieval augmented LLM LLMs llm large language model models
    C*-algebra $C^\ast$-algebra RRT* A∗ A* Ca(2+) $\mathrm{Ca}^{2+}$ Na(+) $\mathbb{Z}_m$of GNN*
    GPT GPT-4 state-of-the-art SOTA sota U-Net unet 3.5 10,000 3-5 e.g. agents, (agent) agent.
    $G$-NN GN{}N “agent” agent—policy GNN's \textbf{GNN} <b>RAG</b> &beta; naïve naive
"""
# Each in both spellings, in the plural, within a longer word, and words that only look alike.
_SPELLINGS = r"""
    behaviour behaviors modelling modeling modelled optimisations optimization optimised centre
    centers multi-centre analyse analyzed leaf leaves neurobehavioural anæmia anaemias anemia
    neuro-behavioral fibre-optic \oe{}strogen check cheque prise prize submatrices matrix
"""
SPELLINGS = tuple(_SPELLINGS.split())
TEXT = (*WORDS, *_TEXT_ONLY.split(), *SPELLINGS, *SIGNED)
_TOPIC_WORDS = (*WORDS, *SPELLINGS, *SIGNED, r"C\*-algebra", r"A\*", r"RRT\*", "algebra")
ADDRESSES = ("https://github.com/a/b", "zenodo.org/records/12", "lab.example.edu")
DEFINED = (
    "graph neural networks (GNNs)",
    "Graph Neural Network (GNN)",
    "GNN (graph neural network)",
    "multi-agent policies (MAP)",
    "large language models (LLMs, for short)",
    "retrieval-augmented generation (RAG)",
    r"\emph{retrieval augmented} generation ($RAG$)",
    "state-of-the-art (SOTA)",
    "Generative Policy Agent 4 (GPA 4)",
    "GPA 4",
    "Beta-VAE (B-VAE)",
    "end-to-end-to-end-to-end-to-end-to-end-to-end agent (EA)",
    "EA",
    "colour centre modelling (CCM)",
    "behavior analysis (BA)",
    "Behaviour Analyses (BA)",
    "calcium (Ca2+)",
    "A* planning (A*P)",
    "TNFalpha agent (TNF-α)",
)
_STARRED = (
    "ag*",
    "poli*",
    "multi-ag*",
    '"end to*"',
    "be*",
    "beta*",
    "retrieval-aug*",
    "gnn*",
    "behavio*",
    "optimis*",
    "rrt*",
    "tnf*",
)
_EXACT = (
    "=RAG",
    "=Agent",
    "=multi-agent",
    "=C",
    '="end to"',
    "=GNN",
    "=SOTA",
    '="state of"',
    "=behaviour",
    "=Ca2+",
    r"=A\*",
    "=TNFa",
)
_PHRASES = (
    '"graph neural network agent"',
    '"agent GNN"',
    '"network"',
    '"language model"',
    '"the GNN"',
    '"state of the art agent"',
    '"GPA 4"',
    '"policy agent 4"',
    '"behaviour analysis"',
    '"color center modeling"',
    '"multi-center"',
    r'"C\*-algebra agent"',
    '"Ca(2+)"',
    '"NF-κB agent"',
)


def topic(random: Random, depth: int = 3) -> str:
    """Return a topic of the whole language; the parser may still refuse it."""
    if not depth or random.random() < 0.35:
        return _leaf(random)
    some = [topic(random, depth - 1) for _ in range(random.randint(2, 4))]
    joined = (" AND ", " ", " OR ", " OR ", " NOT ", " -")
    match random.randrange(8):
        case 0:
            return f"{random.randint(1, len(some))} of ({', '.join(some)})"
        case 1:
            return f"({some[0]})^{random.choice(['2', '0.5'])} OR {some[1]}"
        case 2:
            return f"{some[0]} NOT ({some[1]})"
        case 3:
            field = random.choice(("title", "abstract", "venue"))
            return f"{field}:({_text_leaf(random)} OR {_text_leaf(random)})"
        case _:
            return f"({random.choice(joined).join(some)})"


def _leaf(random: Random) -> str:
    match random.randrange(13):
        case 12:
            field = random.choice(("votes", "lists"))
            sign = random.choice((">", ">=", "<", "<=", "="))
            return f"{field}:{sign}{random.randint(0, 3)}"
        case 0:
            return f'author:"{random.choice(NAMES)}"'
        case 1:
            return random.choice(
                (
                    "author:wang",
                    "author:müller",
                    "author:muel*",
                    "author:beng*",
                    "source:arxiv",
                    "source:dai*",
                )
            )
        case 2:
            return f'category:"{random.choice(CATEGORIES)}"'
        case 3:
            return random.choice(
                ("category:cs.*", "has:code", "has:data", *(f"announce:{how}" for how in ANNOUNCED))
            )
        case 4:
            return f"{random.choice(('title', 'abstract', 'venue'))}:{_text_leaf(random)}"
        case _:
            return _text_leaf(random)


def _text_leaf(random: Random) -> str:
    match random.randrange(8):
        case 0:
            return random.choice(_STARRED)
        case 1:
            return random.choice(_EXACT)
        case 2:
            return random.choice(_PHRASES)
        case 3:
            near = random.sample(
                (
                    "agent",
                    "policy",
                    "multi-agent",
                    "rag",
                    "be*",
                    "GNN",
                    "to",
                    "behavior",
                    "Ca2+",
                    r"A\*",
                ),
                2,
            )
            return f'"{" ".join(near)}"~{random.randint(0, 4)}'
        case 4:
            return f'"{" ".join(random.choices(_TOPIC_WORDS, k=random.randint(2, 3)))}"'
        case _:
            return random.choice(_TOPIC_WORDS)


def draw_topic(random: Random) -> str | Query | None:
    """Return a topic as text, or read with synonyms, a threshold or a text that it is like.

    None for a wrong one.
    """
    text = topic(random)
    try:
        if not random.randrange(5):
            return _like(random, text if random.randrange(2) else "")
        read = parse_query(text)
        match random.randrange(6):
            case 0 | 1 | 2:
                return parse_query(text, SYNONYMS)
            case 3:
                return parse_query(text, threshold=random.choice((1, 2, 3)))
    except QueryError:
        return None
    return read.text


def _like(random: Random, query: str) -> Query:
    """Return a topic that is like words, with a bar that some papers reach exactly."""
    drawn = learn_words(" ".join(random.choices(TEXT, k=random.randint(3, 30))))
    if not drawn:
        drawn = learn_words("agent policy")
    like = LikeText("drawn")
    bar = random.choice((0.0, 0.1, 0.25, 1 / 3, 0.5))
    words = LikeWords(drawn, bar)
    if bar and random.randrange(2):
        # The bar is how near one of the papers to come may be, to the last digit.
        leaf = like_leaf(words)
        bar = as_closeness(sum(w * share(0, 1) for _, w in leaf.words[:2]), leaf)
    return parse_topic(Topic("", query, like=like, words=LikeWords(drawn, bar)))


def paper(random: Random) -> Paper:
    return Paper(
        title=_some(random, 6),
        abstract=_some(random, 14),
        authors=tuple(random.sample(NAMES, random.randint(0, 2))),
        categories=tuple(random.sample(CATEGORIES, random.randint(0, 2))),
        venue=random.choice(("", "NeurIPS 2024", "the agents journal", "GNN (agent)")),
        announce=random.choice(("", *ANNOUNCED)),
        upvotes=random.choice((None, 0, 1, 2, 3)),
        listed=tuple(
            ListedDay(date(2026, 3, 1) + timedelta(days=random.randint(0, 40)), document=f"{n}")
            for n in range(random.randint(0, 4))
        ),
    )


def _some(random: Random, most: int) -> str:
    words = random.choices(TEXT, k=random.randint(0, most))
    if random.random() < 0.5:
        words.insert(random.randint(0, len(words)), random.choice(DEFINED))
    if random.random() < 0.2:
        words.append(f"Code is at {random.choice(ADDRESSES)}.")
    return random.choice((" ", " ", " ", "  ", ", ")).join(words)


_seeds = st.integers(0, 1 << 32).map(Random)
topics = _seeds.map(topic)
papers = _seeds.map(paper)
seen_in = st.lists(st.sampled_from(SOURCES), max_size=2, unique=True).map(tuple)


class ReferenceIndex:
    """Every topic evaluated on every paper: slow, and obviously correct."""

    def __init__(self, topics: Mapping[Hashable, str | Query]) -> None:
        self._queries: dict[Hashable, Query] = {}
        for name, topic in topics.items():
            with suppress(QueryError):
                self._queries[name] = parse_query(topic) if isinstance(topic, str) else topic

    def scores(
        self, papers: Iterable[Paper], sources: Iterable[Sequence[str]] | None = None
    ) -> dict[tuple[int, Hashable], float]:
        """Return the score of each pair of a paper's position and a topic that match, in order."""
        batch = list(papers)
        seen_in = [()] * len(batch) if sources is None else list(sources)
        views = [View(paper, seen) for paper, seen in zip(batch, seen_in, strict=True)]
        return {
            (position, name): score(query, view)
            for position, view in enumerate(views)
            for name, query in self._queries.items()
            if matches_topic(query, view)
        }


def duel(pairs: int, seed: int) -> Iterator[str]:
    """Compare at least so many pairs, and yield where index and reference disagree."""
    random = Random(seed)
    while pairs > 0:
        drawn = [one for one in (draw_topic(random) for _ in range(TOPICS)) if one is not None]
        topics = dict(enumerate(drawn))
        papers = [paper(random) for _ in range(PAPERS)]
        seen = [random.sample(SOURCES, random.randint(0, 2)) for _ in papers]
        found = _pairs(TopicIndex(topics), papers, seen)
        plain = ReferenceIndex(topics).scores(papers, seen)
        for at, number in sorted(found.keys() ^ plain.keys()):
            difference = "too much" if (at, number) in found else "too little"
            yield f"{difference}: {topics[number]!r}\n  {papers[at]!r} {seen[at]}"
        for at, number in sorted(found.keys() & plain.keys()):
            ours = found[at, number]
            theirs = plain[at, number]
            if abs(ours - theirs) > 1e-9:
                yield f"score {ours}, not {theirs}: {topics[number]!r}\n  {papers[at]!r}"
        pairs -= len(topics) * len(papers)


def _pairs(
    index: TopicIndex, papers: list[Paper], sources: list[list[str]]
) -> dict[tuple[int, int], float]:
    at, topics, scores = (column.tolist() for column in index.scores(papers, sources))
    return {(paper, topic): score for paper, topic, score in zip(at, topics, scores, strict=True)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args()
    faults = 0
    for fault in duel(arguments.pairs, arguments.seed):
        faults += 1
        print(fault)  # noqa: T201
    print(f"{arguments.pairs:,} pairs of a topic and a paper: {faults} disagreements")  # noqa: T201
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
