"""The prefilter accepts every paper that a topic matches, and few others."""

from __future__ import annotations

from random import Random

import pytest

from monitor.match import build_prefilter, parse_query
from monitor.match.meaning.evaluate import View, matches_topic
from monitor.model import Paper
from monitor.text import beginnings, form_of
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


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ('"multi agent policies"', "A Multi-Agent policy"),
        ("multi-agent", "A multiagent policy"),
        ('"index matrix"', "INDICES, matrices"),
        ('"β VAE"', r"On $\beta$-VAEs"),
        ('"深度学习"', "基于深度学习的方法"),
        ('"large language mod*"', "Large language-modelling"),
        ('"agent reward"~2', "Rewards of every agent"),
        ('"networks at work"', "GNNs at work: graph neural networks (GNNs)"),
        ('"10,000 agents"', "10000 agents"),
        ("title:(agent OR robot) policy", "Robots and policies"),
    ],
)
def test_papers_with_the_words_together_are_looked_at(topic: str, title: str) -> None:
    if build_prefilter(parse_query(topic).root) is not None:
        assert may(topic, title)
    assert matches_topic(parse_query(topic), View(Paper(title)))


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


_WORDS = (
    "policies indices analyses theses matrices classes boxes batches heroes corpora bias mice "
    "quizzes agents lms phenomena axes ties men children C++ 3.5 analysis criteria "
    "optimisations behaviours tumour modelling anaemias leaves coronaviruses submatrices centred "
    "manoeuvring catalogues haemorrhoea fetuses foetus calves teeth mitochondria"
)


@pytest.mark.parametrize(
    "word",
    _WORDS.split(),
)
def test_every_word_begins_as_its_singular_says(word: str) -> None:
    firsts = beginnings(form_of(word.lower()))
    assert all(firsts)
    assert any(word.lower().startswith(first) and len(word) - len(first) <= 6 for first in firsts)
