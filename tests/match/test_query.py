"""What the parser makes of a topic, what it doubts, and that nothing makes it crash."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import QueryError
from monitor.match import parse_query
from monitor.match.language.tree import AtLeast, Query


def tree(topic: str) -> object:
    return parse_query(topic).root


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b OR c", "(a AND b) OR c"),
        ("agent -robot", "agent AND NOT robot"),
        ("agent –robot", "agent NOT robot"),
        ("agent NOT (robot OR drone)", "agent -robot -drone"),
        ("agent -(robot -drone)", "agent (-robot OR drone)"),
        ("NOT NOT agent", "agent"),
        ("“language model”", '"language model"'),
        ("Title:agent", "title:agent"),
        ("title: agent", "title:agent"),
        ("title:(agent OR policy)", "title:agent OR title:policy"),
        ("title:(agent -robot)", "title:agent -title:robot"),
        ("β-VAE", r"$\beta$-VAE"),
        ("  agent \n policy ", "agent policy"),
        ("agents,", "agent"),
        ("1 of (agent, policy)", "agent OR policy"),
        ("2 OF (a b, c d, e f)", "2 of ((a AND b),(c AND d),(e AND f))"),
        ("title:(2 of (a, b, c))", "2 of (title:a, title:b, title:c)"),
        ("agent -(2 of (a, b, c, d))", "agent (3 of (-a, -b, -c, -d))"),
    ],
)
def test_two_ways_of_writing_one_topic(one: str, other: str) -> None:
    left = tree(one)
    right = tree(other)
    assert left == right or _leaves(left) == _leaves(right)


def _leaves(node: object) -> list[object]:
    """The terms of a topic that needs them all."""
    if isinstance(node, AtLeast) and node.count == len(node.children):
        return [leaf for child in node.children for leaf in _leaves(child)]
    return [node]


@pytest.mark.parametrize(
    ("topic", "position"),
    [
        ("", 0),
        ('"  "', 0),
        ('"..."', 0),
        ("(agent OR)", 7),
        ("(OR agent)", 1),
        ("=RAG*", 1),
        ("author:=RAG", 8),
        ('foo"bar"', 3),
        ('"language *"', 10),
        ("author:b*", 7),
        ('author:"?"', 7),
        ("https://example.org", 0),
        ('author:"Y Bengio"~2', 7),
        ('category:"cs AI"~2', 9),
        ('="agent policy"~2', 1),
        ("has:slides", 4),
        ("has:co*", 4),
        ("has:other", 4),
    ],
)
def test_faults_have_a_position_and_a_hint(topic: str, position: int) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(topic)
    assert refused.value.position == position
    assert refused.value.message
    assert refused.value.hint


def test_stop_words_are_welcome_beside_others() -> None:
    for topic in ("state of the art", '"on the fly"', "=IT", "on-the-fly", 'author:"Will"'):
        parse_query(topic)


@pytest.mark.parametrize(
    "deep", ["(" * 5000 + "agent" + ")" * 5000, "NOT " * 4000 + "agent", "-" * 5000 + "agent"]
)
def test_deep_nesting_is_refused_and_crashes_nothing(deep: str) -> None:
    with pytest.raises(QueryError, match="nested more than"):
        parse_query(deep)


def test_a_long_topic_is_read_and_an_endless_one_refused() -> None:
    assert isinstance(parse_query(" OR ".join(["agent"] * 2000)), Query)
    with pytest.raises(QueryError, match="20,000 characters"):
        parse_query("agent " * 5000)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='ab *-"()\\:=ANDORT titleβ深\u201c', max_size=25) | st.text(max_size=25))
def test_any_text_is_read_or_refused_with_a_position_inside_it(text: str) -> None:
    try:
        parse_query(text)
    except QueryError as error:
        assert 0 <= error.position <= len(text)
        assert error.message
