"""Which topics meet which papers: the prefilter held against plain evaluation."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import QueryError
from monitor.match import NO_FILTERING, Query, TopicIndex, parse_query
from monitor.match.tree import Edge, Not, Words
from monitor.model import Paper
from tests.match import grammar

BATCH = st.lists(st.tuples(grammar.papers, grammar.seen_in), max_size=5)
TOPICS = st.lists(grammar.topics, max_size=8)


def pairs(index: TopicIndex, batch: list[tuple[Paper, tuple[str, ...]]]) -> list[tuple[int, int]]:
    found = index.match([paper for paper, _ in batch], [seen for _, seen in batch])
    return [(match.position, match.topic) for match in found]


@settings(max_examples=300, deadline=None)
@given(TOPICS, BATCH)
def test_the_prefilter_never_selects_too_little(topics: list[str], batch: list) -> None:
    named = dict(enumerate(topics))
    index, oracle = TopicIndex(named), TopicIndex(named, NO_FILTERING)
    assert pairs(index, batch) == pairs(oracle, batch)
    assert index.errors.keys() == oracle.errors.keys()


@settings(max_examples=100, deadline=None)
@given(TOPICS, BATCH, st.randoms())
def test_the_same_answers_whatever_the_batch_and_its_order(
    topics: list[str], batch: list, random: random.Random
) -> None:
    index = TopicIndex(dict(enumerate(topics)))
    whole = pairs(index, batch)
    one_by_one = [(i, topic) for i, item in enumerate(batch) for _, topic in pairs(index, [item])]
    assert one_by_one == whole
    order = list(range(len(batch)))
    random.shuffle(order)
    shuffled = pairs(index, [batch[i] for i in order])
    assert sorted((order[at], topic) for at, topic in shuffled) == sorted(whole)


@settings(max_examples=200, deadline=None)
@given(grammar.topics, grammar.papers, grammar.seen_in)
def test_every_match_has_a_score_and_no_paper_matches_its_negation(
    topic: str, paper: Paper, seen: tuple[str, ...]
) -> None:
    index = TopicIndex({"yes": topic, "no": f"anything OR (agent -({topic}))"})
    found = {match.topic: match for match in index.match([paper], [seen])}
    if "yes" in found:
        assert 0 < found["yes"].score < 7.5
        assert "no" not in found


def test_wrong_topics_are_parked_and_stop_no_other() -> None:
    index = TopicIndex({"good": "agent", ("any", "name"): "(agent", 3: "titel:x"})
    assert index.errors.keys() == {("any", "name"), 3}
    error = index.errors[3]
    assert isinstance(error, QueryError)
    assert (error.position, error.hint[:22]) == (0, "did you mean title:?; ")
    assert [match.topic for match in index.match([Paper("Agents")])] == ["good"]


def test_a_match_holds_the_paper_it_was_given() -> None:
    first, second = Paper("Nothing"), Paper("An agent")
    (match,) = TopicIndex({"a": "agent"}).match(iter([first, second]))
    assert match.paper is second
    assert match.position == 1


def test_matches_come_in_the_order_of_papers_and_topics() -> None:
    index = TopicIndex({"z": "policy", "a": "agent"})
    found = index.match([Paper("Agent policy"), Paper("Policy of an agent")])
    assert [(match.position, match.topic) for match in found] == [
        (0, "z"),
        (0, "a"),
        (1, "z"),
        (1, "a"),
    ]


def test_topics_may_be_given_as_queries() -> None:
    query = parse_query("agent")
    assert len(list(TopicIndex({"a": query}).match([Paper("Agent")]))) == 1


def test_a_query_made_by_hand_of_a_negation_is_still_found() -> None:
    absent = Not(Words(("title",), (Edge("robot", 0, 1),), 1))
    index = TopicIndex({"a": Query("", absent)})
    assert len(list(index.match([Paper("Agent"), Paper("Robot")]))) == 1


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("agent (rare OR NOT common)", "Agent"),
        ("agent (rare OR -(common other))", "Agent common"),
        ("multi-agent-based", "Multiagent based"),
        ("agent*", "Agents"),
        ("policie*", "Policies"),
        ("title:agent*", "Agentic"),
    ],
)
def test_topics_with_no_key_of_their_own_are_not_missed(topic: str, title: str) -> None:
    others = {f"other {i}": "agent policy OR agent multi" for i in range(5)}
    found = TopicIndex({"asked": topic, **others}).match([Paper(title)])
    assert [match.topic for match in found] == ["asked"]


def test_sources_must_be_as_many_as_papers() -> None:
    with pytest.raises(ValueError, match="zip"):
        list(TopicIndex({"a": "agent"}).match([Paper("Agent")], []))


def test_no_topics_and_no_papers() -> None:
    assert list(TopicIndex({}).match([Paper("Agent")])) == []
    assert list(TopicIndex({"a": "agent"}).match([])) == []


def test_why_can_be_asked_again_by_name() -> None:
    index = TopicIndex({"a": "agent source:arxiv", "wrong": "("})
    paper = Paper("Agents")
    assert [why.words for why in index.why("a", paper, ["arxiv"])] == [("Agents",), ("arxiv",)]
    assert index.why("a", paper) == ()
    assert index.why("wrong", paper) == index.why("unknown", paper) == ()
