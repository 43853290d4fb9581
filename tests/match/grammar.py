"""Topics and papers drawn from the grammar and a small vocabulary, so that they often match."""

from __future__ import annotations

from hypothesis import strategies as st

from monitor.model import Paper

_VOCABULARY = r"""
    agent agents Agent policy policies multi-agent multiagent multi end-to-end end to RAG rag
    β-VAE $\beta$-VAE beta VAE GPT-4 4 the of C++ C 深度 度 Schr\"odinger Schrödinger in-formation
    GNN GNNs graph neural networks
"""
WORDS = tuple(_VOCABULARY.split())
# What only papers have: abbreviations that are defined.
DEFINED = (
    "graph neural networks (GNNs)",
    "GNN (graph neural network)",
    "multi-agent policies (MAP)",
)
NAMES = ("Bengio", "Y. Bengio", "Yoshua Bengio", "Bengio, Y.", "Xiao-Ming Wang", "Wang Xiaoming")
CATEGORIES = ("cs.LG", "cs.AI", "stat.ML", "Machine Learning")
SOURCES = ("arxiv", "daily-page")
ANNOUNCED = ("new", "cross")

texts = st.lists(st.sampled_from((*WORDS, *DEFINED)), max_size=8).map(" ".join)
papers = st.builds(
    Paper,
    title=texts,
    abstract=texts,
    authors=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    categories=st.lists(st.sampled_from(CATEGORIES), max_size=2).map(tuple),
    venue=st.sampled_from(["", "NeurIPS 2024", "the agents journal"]),
    announce=st.sampled_from(["", *ANNOUNCED]),
)
seen_in = st.lists(st.sampled_from(SOURCES), max_size=2, unique=True).map(tuple)

_word = st.sampled_from(WORDS)
_phrase = st.lists(_word, min_size=1, max_size=3).map(lambda words: f'"{" ".join(words)}"')
_prefix = st.sampled_from(["ag*", "poli*", "multi-ag*", '"end to*"', "be*", "beta*"])
_exact = st.sampled_from(["=RAG", "=Agent", "=multi-agent", "=C", '="end to"'])
_near = st.tuples(
    st.lists(st.sampled_from(("agent", "policy", "multi-agent", "rag", "be*", "GNN")), min_size=2)
    .map(dict.fromkeys)
    .filter(lambda words: 2 <= len(words) <= 4),
    st.integers(0, 3),
).map(lambda near: f'"{" ".join(near[0])}"~{near[1]}')
_item = st.one_of(_word, _phrase, _prefix, _exact, _near)
_in_text = st.tuples(st.sampled_from(["title", "abstract", "venue"]), _item).map(":".join)
_name = st.sampled_from([f'author:"{name}"' for name in NAMES] + ["author:wang", "author:beng*"])
_label = st.sampled_from(
    [f'category:"{name}"' for name in CATEGORIES]
    + ["category:cs.*", "source:arxiv", "source:dai*", "announce:new", "announce:cross"]
)
_plain = st.one_of(_item, _item, _in_text, _name, _label)


def _two_of(items: list[str]) -> str:
    return f"2 of ({', '.join(items)})"


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(" ".join),
        pair.map(" AND ".join),
        pair.map(lambda two: f"({' OR '.join(two)})"),
        pair.map(lambda two: f"({two[0]} OR NOT ({two[1]}))"),
        st.lists(inner, min_size=2, max_size=4, unique=True).map(_two_of),
        inner.map(lambda one: f"({one})^3"),
        inner.map(lambda one: f"NOT ({one})"),
        inner.map(lambda one: f"-({one})"),
        _item.map(lambda one: f"title:({one} OR agent)"),
    )


topics = st.recursive(_plain, _grown, max_leaves=6)
