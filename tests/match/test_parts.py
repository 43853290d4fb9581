"""A query's terms, each by itself: what is written, and what it matches alone."""

from __future__ import annotations

import pytest

from monitor.match import QueryPart, Synonyms, TopicIndex, parse_query, split_parts
from monitor.model import Paper


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("agents", ["agents"]),
        ("agents planning", ["agents", "planning"]),
        ('title:("deep learning" OR net*)', ['title:"deep learning"', "title:net*"]),
        ('"a bandit plan"~5 -author:doe', ['"a bandit plan"~5', "-author:doe"]),
        ("2 of (xx, yy, category:cs.LG)", ["xx", "yy", "category:cs.LG"]),
        ("plans NOT (foo OR bar)", ["plans", "-foo", "-bar"]),
        ('=MARL^2 author:"Doe, Jane"', ["=MARL^2", 'author:"Doe, Jane"']),
        ("agents AND (agents OR plans)", ["agents", "agents", "plans"]),
    ],
)
def test_the_parts_of_a_query(query: str, parts: list[str]) -> None:
    found = split_parts(parse_query(query))
    assert [f"{'-' * part.is_excluded}{part.text}" for part in found] == parts


@pytest.mark.parametrize(
    "query", ['title:(a1 OR "b c") net* author:doe category:cs.LG', '=MARL venue:"J of X" -x1']
)
def test_a_part_is_read_as_it_was_in_the_query(query: str) -> None:
    for part in split_parts(parse_query(query)):
        assert parse_query(part.text).root == part.query.root
        assert query[part.position :].startswith(part.text.rpartition(":")[2].lstrip("="))


def matched(part: QueryPart, *titles: str) -> list[str]:
    index = TopicIndex({"": part.query})
    return [hit.paper.title for hit in index.match([Paper(title) for title in titles])]


def test_a_part_has_its_synonyms_and_an_excluded_one_matches_what_it_excludes() -> None:
    query = parse_query("LLM -survey", Synonyms((("LLM", "large language model"),)))
    one, other = split_parts(query)
    titles = ("An LLM", "Large language models", "A survey")
    assert matched(one, *titles) == list(titles[:2])
    assert (other.is_excluded, matched(other, *titles)) == (True, ["A survey"])
