"""Keywords of papers: every paper that a topic matches is found by its search expression."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given, settings

from monitor.errors import QueryError
from monitor.match import paper_keywords, parse_query, search_expression
from monitor.match.meaning.evaluate import View, matches_topic
from monitor.model import Keyword, Keywords, Paper, SearchExpr
from tests.match import duel


def has(held: Collection[str], wanted: SearchExpr | None) -> bool:
    match wanted:
        case None:
            return True
        case Keyword(text, prefix):
            return any(one.startswith(text) for one in held) if prefix else text in held
        case Keywords(every, parts):
            return (all if every else any)(has(held, part) for part in parts)


@settings(max_examples=500, deadline=None)
@given(duel.topics, duel.papers, duel.seen_in)
def test_a_paper_that_meets_a_topic_has_what_it_seeks(
    topic: str, paper: Paper, seen: tuple[str, ...]
) -> None:
    try:
        query = parse_query(topic)
    except QueryError:
        return
    if matches_topic(query, View(paper, seen)):
        assert has(paper_keywords(paper).split(), search_expression(query.root))


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("agents", "agent"),
        ('"state of the art"', "(state & art)"),
        ("the agent", "(the & agent)"),
        ("multi-agent", "((multi | multiagent) & (multiagent | agent))"),
        ("agent -robot", "agent"),
        ("agent OR poli*", "(agent | poli*)"),
        ("agent source:arxiv", "agent"),
        ("agent OR source:arxiv", "all"),
        ('author:"Y. Bengio" category:cs.*', "(author:bengio & category:cs.*)"),
        ("2 of (a1, b1, -c1)", "(a1 | b1)"),
        ("2 of (a1, b1, c1)", "((a1 & b1) | (a1 & c1) | (b1 & c1))"),
        ('"b1 a1"~3 venue:neurips', "((b1 & a1) & venue:neurip)"),
        ("x" * 300, "x" * 200),
    ],
)
def test_what_is_sought(topic: str, expected: str) -> None:
    assert shown(search_expression(parse_query(topic).root)) == expected


def shown(wanted: SearchExpr | None) -> str:
    match wanted:
        case None:
            return "all"
        case Keyword(text, prefix):
            return text + "*" * prefix
        case Keywords(every, parts):
            return f"({(' & ' if every else ' | ').join(map(shown, parts))})"
