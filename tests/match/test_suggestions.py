"""Suggestions for topics: other names, compounds and forms of its words."""

from __future__ import annotations

import time

import pytest

from monitor.match import Query, TopicIndex, parse_query, suggest
from monitor.match.language.tree import every_leaf
from monitor.match.suggestions import Text, widen
from monitor.model import Paper

DEFINED: Text = ("Agents", "We use multi-armed bandit problems (MABs). A MAB has arms.")
OPEN: Text = (
    "A data set",
    "Data sets, a dataset and a data set of training. Stations, a station. We are training it.",
)
FORMS: Text = ("Quantization", "Quantization of quantized nets. They quantized them, in quantity.")


def suggested(query: str, *texts: Text) -> dict[str, str]:
    """Return the kinds of suggestions by their queries."""
    return {each.query: each.kind for each in suggest(parse_query(query), texts, ())}


@pytest.mark.parametrize(
    ("query", "changed", "kind"),
    [
        ("LLM", 'LLM OR "large language model"', "pair"),
        ("large language models", "large language models OR LLM", "pair"),
        ('"LLM agents" -robot', '("LLM agents" OR "large language model agents") -robot', "pair"),
        ("title:LLM^3 agent", 'title:(LLM OR "large language model")^3 agent', "pair"),
        ('"type 2 diabetes"', '"type 2 diabetes" OR "type II diabetes"', "pair"),
        ('"E. coli"', '"E. coli" OR "Escherichia coli"', "pair"),
        ("E. coli", 'E. coli OR "Escherichia coli"', "pair"),
        ("HbA1c OR x1", '(HbA1c OR "glycated hemoglobin") OR x1', "pair"),
        ("MAB", 'MAB OR "multi-armed bandit problems"', "definition"),
        ('"multi-armed bandit problem"', '"multi-armed bandit problem" OR MAB', "definition"),
        ("2 of (a1, MAB)", '2 of (a1, (MAB OR "multi-armed bandit problems"))', "definition"),
        ("dataset", 'dataset OR "data set"', "compound"),
        ('"data set"', '"data set" OR dataset', "compound"),
        ("big data set", "big (data set OR dataset)", "compound"),
        ("train", "train OR training", "form"),
        ("quantize", "quantize OR quantization", "form"),
        ('"net quantize"', '"net quantize" OR "net quantized"', "form"),
    ],
)
def test_a_topic_is_completed(query: str, changed: str, kind: str) -> None:
    result = suggested(query, DEFINED, OPEN, FORMS)
    assert result.get(changed) == kind, result
    assert all(parse_query(each) for each in result)


@pytest.mark.parametrize(
    "query",
    ["-LLM agent", "=LLM", "LLM*", '"LLM robot"~5', "author:LLM", "venue:LLM", "category:LLM",
     "large OR language model", "data OR set", "quantity", "training",
     "quantization", "the data", "agent", "state"],
)  # fmt: skip
def test_what_is_not_searched_for_as_a_word_is_left_alone(query: str) -> None:
    assert suggested(query, DEFINED, OPEN, FORMS) == {}


def test_the_widened_tree_matches_what_each_changed_query_does() -> None:
    query = parse_query('(large language model OR title:"time series") 1 of (train, MAB) -robot')
    changed = {each: parse_query(each.query) for each in suggest(query, [DEFINED, OPEN, FORMS], ())}
    leaves = [(each, tuple(every_leaf(parsed.root))) for each, parsed in changed.items()]
    index = TopicIndex(
        {"": Query("", widen(query.root, leaves)), **{c.query: c.query for c in changed}}
    )
    papers = [
        Paper(a, abstract=b)
        for a in ("LLM", "A timeseries", "Robots, LLMs")
        for b in ("Training.", "They train.", "Multi-armed bandit problems.", "No more.")
    ]
    hits = [(match.topic, match.position) for match in index.match(papers)]
    assert len({topic for topic, _ in hits}) > 2
    assert all(("", position) in hits for _, position in hits)


def test_an_abbreviation_that_is_also_a_word_is_suggested_exactly() -> None:
    text = (
        "Cells",
        "We use chimeric antigen receptors (CAR) and a chimeric antigen receptor (CAR).",
    )
    assert "chimeric antigen receptor OR =CAR" in suggested("chimeric antigen receptor", text)


def test_what_most_papers_define_comes_first_and_others_only_if_several_do() -> None:
    texts = [("A", "We use bees (BE)."), *[("B", "We use the black eagle (BE).")] * 2]
    assert list(suggested("BE agent", *texts)) == ['(BE OR "black eagle") agent']


@pytest.mark.parametrize("text", ["a (b c) ", "(", "data set ", "AA (", "x" * 9, "a-b " * 3])
def test_suggestions_take_linear_time(text: str) -> None:
    topic = parse_query("dataset LLM OR agent " + '"some words" OR train ' * 800)
    took = []
    for length in (3_000, 24_000):
        seconds = []
        for _ in range(3):  # garbage of other tests may be collected meanwhile
            began = time.process_time()
            suggest(topic, [("T", (text * length)[:length])] * 3, ())
            seconds.append(time.process_time() - began)
        took.append(min(seconds))
    assert took[1] < 8 * 5 * max(took[0], 0.005)
