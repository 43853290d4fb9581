"""What the plainer parts of a tree mean: some of several, weights, synonyms, abbreviations."""

from __future__ import annotations

import pytest

from monitor.errors import QueryError
from monitor.match import build_index, parse_query
from monitor.match.language.synonyms import Synonyms
from monitor.match.language.tree import AtLeast, Node
from monitor.match.meaning.evaluate import View, matches_topic, points
from monitor.match.meaning.occurrences import find_definitions
from monitor.model import Paper, Topic


def matched(topic: str, title: str, abstract: str = "") -> bool:
    return matches_topic(parse_query(topic), View(Paper(title, abstract=abstract)))


# ── some of several ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("title", "expected"),
    [("a1 b1", True), ("a1 c1", True), ("a1", False), ("d1", False), ("a1 b1 c1", True)],
)
def test_at_least_two_of_three(title: str, expected: bool) -> None:
    assert matched("2 of (a1, b1, c1)", title) is expected
    assert matched("x1 -(2 of (a1, b1, c1))", f"x1 {title}") is not expected


# ── weights and thresholds ──────────────────────────────────────────────────────────


def test_points_are_the_weights_of_what_is_met() -> None:
    query = parse_query("agent^3 OR policy^0.5 OR (reward robot)^2")
    for title, expected in [("agent", 3.0), ("agent policy", 3.5), ("reward robot agent", 7.0)]:
        assert points(query, View(Paper(title))) == expected


def test_a_threshold_nobody_can_reach_is_refused() -> None:
    parse_query("agent^3 OR policy", threshold=4)
    with pytest.raises(QueryError, match="no paper can reach a threshold of 5"):
        parse_query("agent^3 OR policy", threshold=5)


def test_weights_are_for_what_is_looked_for() -> None:
    assert parse_query("agent -robot^2").warnings[0].position == 6
    assert parse_query('agent^2 "a phrase"^2 ag*^2 title:x1^2').warnings == ()
    assert parse_query('x^2 10^6 $L^2$ "L^2" L^2-regularity').weights == (), "formulas"


# ── synonyms ────────────────────────────────────────────────────────────────────────


def test_many_synonyms_in_one_phrase_end() -> None:
    many = Synonyms([[f"{letter}{i}" for i in range(9)] for letter in "abcde"])
    root: Node = parse_query('"a1 b1 c1 d1 e1"', many).root
    assert isinstance(root, AtLeast)
    assert len(root.children) == 32


# ── abbreviations ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("graph neural networks (GNNs) learn", [("GNNs", "graph neural networks")]),
        ("We use GNN (graph neural network).", [("GNN", "graph neural network")]),
        ("low-rank adaptation (LoRA; Hu et al.)", [("LoRA", "low-rank adaptation")]),
        ("Generative Policy Agent 4 (GPA 4)", [("GPA 4", "Generative Policy Agent 4")]),
        ("a thing (see below) and a set (in this)", []),
        ("It ends. Neural nets (XYZ)", []),
        ("the models (models)", []),
        ("(GNN) at the beginning", []),
        ("a list (1) first (2) second", []),
    ],
)
def test_definitions_of_abbreviations(text: str, expected: list[tuple[str, str]]) -> None:
    assert [tuple(one) for one in find_definitions(text)] == expected


DEFINES = "We study graph neural networks (GNNs) here."


@pytest.mark.parametrize(
    ("topic", "title", "expected"),
    [
        ('title:"network graph"', "GNN GNN", True),
        ('title:"neural neural"', "GNN GNN", False),
        ('title:"graph neural network"', "gnn is a word", False),
    ],
)
def test_what_a_paper_abbreviates_counts_in_all_of_it(
    topic: str, title: str, expected: bool
) -> None:
    assert matched(topic, title, DEFINES) is expected
    assert not matched(topic, title) or topic.startswith("title:=")


# ── topics of the configuration ─────────────────────────────────────────────────────


def test_an_index_of_topics_knows_their_synonyms_and_thresholds() -> None:
    topics = [
        Topic("plain", "LLM"),
        Topic("synonyms", "LLM", synonyms=(("LLM", "large language model"),)),
        Topic("threshold", "language^2 OR robot", threshold=3),
        Topic("wrong", "(LLM", threshold=1),
        Topic("out of reach", "LLM", threshold=2),
    ]
    index = build_index(topics)
    assert set(index.errors) == {"wrong", "out of reach"}
    found = index.match([Paper("Large language models"), Paper("A language of robots")])
    assert {(match.topic, match.position) for match in found} == {("synonyms", 0), ("threshold", 1)}
