"""The prefilter accepts every paper that a topic matches, and few others."""

from __future__ import annotations

from random import Random

import pytest

from monitor.match import build_prefilter, parse_query
from monitor.match.meaning.evaluate import View, matches_topic
from tests.match import duel


def may(topic: str, title: str, abstract: str = "") -> bool:
    test = build_prefilter(parse_query(topic).root)
    assert test is not None
    return test(title, abstract)


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ('"graph neural network"', "Networks that are neural, on a graph"),
        ('"language model" OR "world model"', "A model of the language of the world"),
        ('agent "policy gradient"', "Gradients for agents, policies for robots"),
        ('"agent reward"~1', "Agents that never get their reward"),
        ('"robot agent"', "Robots with graph neural networks (GNNs), and agents"),
    ],
)
def test_papers_with_the_words_apart_are_not_looked_at(topic: str, title: str) -> None:
    assert not may(topic, title)


def test_no_paper_that_meets_a_topic_is_left_out() -> None:
    dice = Random(7)
    matched = out = 0
    for _ in range(6):
        drawn = [one for one in (duel.draw_topic(dice) for _ in range(60)) if one is not None]
        queries = [parse_query(one) if isinstance(one, str) else one for one in drawn]
        tested = [(query, test) for query in queries if (test := build_prefilter(query.root))]
        for paper in (duel.paper(dice) for _ in range(30)):
            view = View(paper)
            for query, test in tested:
                passed = test(paper.title, paper.abstract)
                out += not passed
                if matches_topic(query, view):
                    matched += 1
                    assert passed, (query.text, paper)
    assert matched > 100
    assert out > 1_000


def test_signs_within_words_do_not_matter() -> None:
    assert may('"10,000 agents"', "10000 agents")
    assert may('"10000 agents"', "10,000 agents")


def test_two_words_near_each_other_may_be_the_same() -> None:
    assert build_prefilter(parse_query('"be* behavior"~1').root) is None
