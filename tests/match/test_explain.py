"""Why a topic matches a paper, where its words occur in the text, and how papers rank."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from monitor.match import Synonyms, TopicIndex, parse_query
from monitor.match.language.tree import Near, Words, leaves
from monitor.match.meaning.evaluate import View
from monitor.match.meaning.explain import explain, score
from monitor.match.meaning.occurrences import Lattice
from monitor.model import MatchReason, Paper
from tests.match import duel


def why(topic: str, title: str, abstract: str = "", **fields: object) -> tuple[MatchReason, ...]:
    """Why a topic matches, but for the terms that stand for its parts, and those required."""
    found = explain(parse_query(topic), View(Paper(title, abstract, **fields)))  # type: ignore[arg-type]
    return tuple(replace(one, terms=(), required=()) for one in found)


def terms(topic: str, title: str, abstract: str = "") -> dict[str, tuple[str, ...]]:
    found = explain(parse_query(topic), View(Paper(title, abstract)))
    return {one.field: one.terms for one in found}


def marked(topic: str, title: str) -> list[str]:
    return [title[start:end] for found in why(topic, title) for start, end in found.spans]


def test_one_why_a_field_with_the_words_as_the_paper_writes_them() -> None:
    found = why("agent OR policy", "Agents and AGENT policies", "An agent; agents, Policy.")
    assert found == (
        MatchReason("title", ("Agents", "AGENT", "policies"), ((0, 6), (11, 16), (17, 25))),
        MatchReason("abstract", ("agent", "agents", "Policy"), ((3, 8), (10, 16), (18, 24))),
    )
    assert why("agent", "Agent agent AGENT")[0].words == ("Agent",), "each once whatever its case"


def test_each_part_of_a_topic_has_one_term_the_rarest_first_and_nearest_to_what_it_asks() -> None:
    found = terms(
        '"tool use" AND agent AND (gravel OR model)',
        "A model of agents, each an agent",
        "Tool use with gravel and models.",
    )
    assert found == {"title": ("agent", "model"), "abstract": ("Tool use", "gravel")}


def test_an_abbreviation_that_stands_for_a_term_has_its_long_form_once() -> None:
    text = "Multi-agent reinforcement learning (MARL) is hard. MARL scales."
    assert terms("MARL", "MARL at scale", text)["title"] == (
        "MARL (Multi-agent reinforcement learning)",
    )


def test_an_abbreviation_is_not_marked_where_only_a_part_of_its_long_form_matches() -> None:
    text = "A dynamic LLM-agent network (DyLAN) of agents. DyLAN wins."
    found = why("agent", "DyLAN teams", text)
    assert [(one.field, one.words) for one in found] == [("abstract", ("agent", "agents"))]
    assert why("title:agent", "DyLAN teams", text)[0].words == ("DyLAN",), "nothing else matches"
    assert marked('"dynamic LLM-agent network"', "A dynamic LLM-agent network (DyLAN)") == [
        "dynamic LLM-agent network",
        "DyLAN",
    ]


@pytest.mark.parametrize(
    ("topic", "title", "spans"),
    [
        ("agent policy", "Agent", []),
        ("anaemic", "Anæmic or anemic", ["Anæmic", "anemic"]),
        # What is excluded, or in a branch that does not match, is not marked.
        ("agent OR (policy -robot)", "Agent robot policy", ["Agent"]),
        ("-(robot OR -agent)", "An agent", ["agent"]),
        # A phrase is one span, and spans that overlap are one.
        ('"language model"', "Large language\nmodels", ["language\nmodels"]),
        (
            '"language model" OR "large language"',
            "A large language model",
            ["large language model"],
        ),
        ("multi agent multi-agent", "Multi-agent", ["Multi-agent"]),
        (
            '"agent policy"~1',
            "The agent and its many rules: policy of Agents",
            ["policy", "Agents"],
        ),
        # An abbreviation stands for its long form, and the other way round.
        ("GNN", "Graph neural nets (GNNs)", ["Graph neural nets", "GNNs"]),
        # Folding changes these texts.
        ("poincare", r"Poincar{\'e} maps", [r"Poincar{\'e}"]),
        ("rlhf", "{RLHF} now", ["RLHF"]),
        ("深度", "基于深度学习", ["深度"]),
        # A formula is never cut.
        ("β-VAE", r"A $\beta$-VAE", [r"$\beta$-VAE"]),
        ("log", r"In $O(n \log n)$ steps", [r"$O(n \log n)$"]),
        ("agent", "From $5 for agents to $7", ["agents"]),
    ],
)
def test_the_spans_of_a_title(topic: str, title: str, spans: list[str]) -> None:
    assert marked(topic, title) == spans


def test_names_and_labels_have_words_without_spans() -> None:
    found = why(
        'author:"Y. Bengio" category:cs.* announce:new venue:neurips has:Code has:video',
        "Untitled. Code: https://github.com/a/b",
        links={"video": "https://youtu.be/1"},
        authors=("Yoshua Bengio", "Ada"),
        categories=("cs.LG", "stat.ML"),
        announce="new",
        venue="NeurIPS 2024",
    )
    assert found == (
        MatchReason("venue", ("NeurIPS",), ((0, 7),)),
        MatchReason("author", ("Yoshua Bengio",)),
        MatchReason("category", ("cs.LG",)),
        MatchReason("announce", ("new",)),
        MatchReason("has", ("code", "video")),
    )


@settings(max_examples=300, deadline=None)
@given(duel.topics, duel.papers, duel.seen_in)
def test_each_span_holds_what_was_asked_for(
    topic: str, paper: Paper, seen: tuple[str, ...]
) -> None:
    index = TopicIndex({"topic": topic})
    for match in index.match([paper], [seen]):
        positive = list(leaves(index.query(match.topic).root))
        terms = [leaf for leaf in positive if isinstance(leaf, Words)]
        terms += [word for leaf in positive if isinstance(leaf, Near) for word in leaf.words]
        assert match.why
        for found in match.why:
            assert set(found.required) <= {*(found.terms or found.words)}
            text = getattr(paper, found.field, "")
            assert list(found.spans) == sorted(found.spans)
            for start, end in found.spans:
                part = Lattice(text[start:end], View(paper).definitions)
                assert any(part.occurrences(term) for term in terms if found.field in term.fields)


# ── ranking ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("topic", "better", "worse"),
    [
        # A match in the title comes first, however many an abstract has.
        (
            "agent OR policy OR reward OR robot OR tree",
            Paper("Agent"),
            Paper("None", "agent policy reward robot tree " * 50),
        ),
        # More clauses, and rarer ones.
        ("agent OR policy OR reward", Paper("", "agent policy reward"), Paper("", "agent")),
        ("agent OR policy OR reward", Paper("Agent policy"), Paper("Agent agent agent")),
        ("model OR hypergraph", Paper("A hypergraph"), Paper("A model")),
        ("agent OR ag*", Paper("Agent"), Paper("Agony")),
        ('policy OR "policy gradient"', Paper("Policy gradient"), Paper("Policy")),
        (
            "category:cs.LG OR author:hinton",
            Paper("", authors=("Geoffrey Hinton",)),
            Paper("", categories=("cs.LG",)),
        ),
        # Weights, and a little for repetition.
        ("agent^5 OR robot OR tree", Paper("Agent"), Paper("Robot")),
        ("agent", Paper("Agent"), Paper("", "agent agents")),
        ("agent", Paper("", "agent agents"), Paper("", "agent")),
    ],
)
def test_the_better_paper_has_the_higher_score(topic: str, better: Paper, worse: Paper) -> None:
    query = parse_query(topic)
    assert score(query, View(better)) > score(query, View(worse))


def test_a_word_and_its_synonyms_rank_as_one_clause() -> None:
    query = parse_query("LLM robot", Synonyms([["LLM", "large language model"]]))
    short = Paper("LLM robot")
    both = Paper("LLM robot", "A large language model.")
    assert score(query, View(short)) == 4 + 2 + 1 + 0.5 * (1 - 1 / 2)
    assert score(query, View(both)) == 4 + 2 + 1 + 0.5 * (1 - 1 / 3)


def test_the_score_is_as_documented() -> None:
    paper = Paper("Agent", "agent policy", announce="new")
    assert score(parse_query("agent policy announce:new -robot"), View(paper)) == (
        4 + 2 * (1 / 2) / (1 / 2 + 1 / 2 + 1 / 3) + 1 + 0.5 * (1 - 1 / 3)
    )
    assert score(parse_query("robot"), View(paper)) == 0


@pytest.mark.parametrize(
    ("topic", "abbreviations"),
    [
        ('"graph neural network"', ["GNN (graph neural networks)"]),
        ('"graph neural network" OR GNN', []),
        ("GNN", []),
        ("GNNs", []),
        ("scale", []),
    ],
)
def test_an_abbreviation_is_named_where_it_stands_for_words_that_a_topic_asks_for(
    topic: str, abbreviations: list[str]
) -> None:
    paper = Paper("A GNN at scale", "We train graph neural networks (GNNs).")
    found = explain(parse_query(topic), View(paper))
    assert [term for one in found for term in one.abbreviations] == abbreviations


@pytest.mark.parametrize(
    ("topic", "title", "abstract", "required"),
    [
        # The first that is named stands for an OR, however rare the others are.
        (
            "agent AND (gravel OR quartz OR basalt)",
            "Gravel, quartz, basalt",
            "Of an agent and gravel.",
            ["Gravel", "agent"],
        ),
        (
            'agent AND (robot OR "tool use") AND policy',
            "Policy robot",
            "An agent.",
            ["robot", "Policy", "agent"],
        ),
        # Of an OR, a part by which the topic matches, and all of that part.
        (
            "agent AND ((robot AND tree) OR (policy AND reward))",
            "Agent robot",
            "policy, reward",
            ["Agent", "policy", "reward"],
        ),
        ("agent AND (policy OR -robot)", "Agent policy", "", ["Agent", "policy"]),
        ("agent AND (policy OR -robot)", "Agent", "", ["Agent"]),
        (
            "agent AND ((robot AND -policy) OR tree)",
            "Agent robot tree policy",
            "",
            ["Agent", "tree"],
        ),
        ("agent OR robot", "A robot", "An agent.", ["robot"]),
        (
            "2 of (agent, robot, tree, reward)",
            "A reward",
            "Trees and agents.",
            ["reward", "agents"],
        ),
        # A word and its synonyms are one clause; equal leaves are one.
        ("agent AND (agent OR robot)", "Agent robot", "", ["Agent"]),
        # Inside an abbreviation, where the part is nowhere else.
        (
            "title:learning AND title:agent",
            "RL agents",
            "Reinforcement learning (RL).",
            ["agents", "RL (Reinforcement learning)"],
        ),
        (
            "category:cs.* AND agent AND has:code",
            "Agent",
            "https://github.com/a/b",
            ["Agent", "cs.AI", "code"],
        ),
    ],
)
def test_what_is_required_stands_for_each_part_of_an_and(
    topic: str, title: str, abstract: str, required: list[str]
) -> None:
    paper = Paper(title, abstract, categories=("cs.AI", "cs.LG"))
    found = [term for one in explain(parse_query(topic), View(paper)) for term in one.required]
    assert found == required
