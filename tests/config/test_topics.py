"""Topics in every way they can be written: queries, lists, lines by the thousand, synonyms."""

from __future__ import annotations

import pytest

from monitor import config
from monitor.config import synonyms_of
from monitor.match import build_index, parse_query
from monitor.match.language.query import parse_once
from tests.config.conftest import Faults, Load, Write, check


@pytest.mark.parametrize(
    ("lists", "query"),
    [
        ("any: [agent, language model]", 'agent OR "language model"'),
        ("all: [agent, language model]", 'agent "language model"'),
        ("any: agent, none: [robot, multi agent]", 'agent -robot -"multi agent"'),
        (
            "any: ['=RAG', 'reinforc*', 'large language mod*']",
            '=RAG OR reinforc* OR "large language mod*"',
        ),
        (
            "any: ['=retrieval augmented generation'], all: agent",
            '="retrieval augmented generation" agent',
        ),
        (
            "all: [title:agent, '\"a b\"~3', '2 of (x1, y1, z1)']",
            'title:agent "a b"~3 2 of (x1, y1, z1)',
        ),
        (
            "authors: [Y. Bengio, 'Hinton, Geoffrey']",
            'author:"Y. Bengio" OR author:"Hinton, Geoffrey"',
        ),
        ("any: agent, categories: [cs.*, stat.ML]", "agent (category:cs.* OR category:stat.ML)"),
        ("all: ['agent OR policy', reward]", "(agent OR policy) reward"),
        ("any: [agent^3, policy]", "agent^3 OR policy"),
    ],
)
def test_lists_become_the_same_tree(load: Load, lists: str, query: str) -> None:
    topic = load(f"topics: {{t: {{{lists}}}}}").topics["t"].topic()
    ours = parse_query(topic.query)
    theirs = parse_query(query)
    assert (ours.root, ours.weights) == (theirs.root, theirs.weights)


def test_a_topic_that_was_checked_is_not_parsed_again(load: Load):
    text = "topics: {t: {query: parsed once, threshold: 1}, u: {any: [parsed, twice]}}"
    topics = [topic.topic() for topic in load(text).topics.values()]
    parsed = parse_once.cache_info().misses
    assert not build_index(topics).errors
    assert parse_once.cache_info().misses == parsed


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("topics: {t: {any: [agent, 'a \"b']}}", "1: topics.t.any: this quote is never closed"),
        ("topics: {t: {none: [robot]}}", "1: topics.t: the topic only says what a paper must not"),
        ("topics: {t: {like: the of and}}", "1: topics.t.like: like: has only words that nearly"),
        ("topics: {t: {like: {}}}", "1: topics.t.like: needs a text, papers or a file"),
        ("topics: {t: {like: {text: agents, at_least: 2}}}", "1: topics.t.like.at_least: should"),
        ("topics: {t: {like: {papers: [nothing]}}}", "1: topics.t.like.papers: “nothing” is no"),
        ("topics: {t: {like: {file: refs.pdf}}}", "1: topics.t.like.file: “refs.pdf” should end"),
        ("topics: {t: {like: {txet: agents}}}", "1: topics.t.like.txet: “txet” is not a setting"),
        ("topics: {t: {query: 'a (b', like: agents}}", "1: topics.t.query: this parenthesis"),
        ("topics: {t: {any: [agent, the]}}", "1: topics.t.any: “the” is too common"),
        ("topics: {t: {any: []}}", "1: topics.t: the topic is empty"),
        ("topics: {t: {any: agent, query: agent}}", "1: topics.t.query: cannot be used together"),
        ("topics: {t: {authors: ['?']}}", "1: topics.t.authors: there is no name to look for"),
        (
            "topics: {t: {query: agent, threshold: 2}}",
            "1: topics.t: no paper can reach a threshold",
        ),
        (
            "topics: {t: {query: agent, threshold: lots}}",
            "1: topics.t.threshold: should be a number",
        ),
        ("synonyms: {'?': agent}", "1: synonyms.?: there is no word in “?”"),
        ("synonyms: {LLM: ['...']}", "1: synonyms.LLM: there is no word in “...”"),
        (
            "topics:\n  t:\n    any:\n      - agent\n      - titel:x",
            "5: topics.t.any: there is no field",
        ),
        (
            "topics:\n  t:\n    query: |\n      agent\n      AND (policy\n",
            "5: topics.t.query: this paren",
        ),
    ],
)
def test_what_is_wrong_is_reported_where_it_stands(faults: Faults, text: str, fault: str) -> None:
    assert [one for one in faults(text) if one.startswith(fault)], faults(text)


def test_the_caret_of_an_item_stands_in_the_item(faults: Faults) -> None:
    (found,) = faults("topics: {t: {any: [agent, 'the big ag*nt']}}")
    _, item, caret, _ = found.splitlines()
    assert item[caret.index("^")] == "*"


def test_synonyms_reach_the_topics_they_bear_on(load: Load) -> None:
    settings = load(
        """
        synonyms:
          LLM: large language model
          RL: [reinforcement learning, reinforced learning]
        topics: {a: {query: LLM agents}, b: {query: '"large-language model"'}, c: {query: robot}}
        """
    )
    known = synonyms_of(settings)
    result = {name: topic.topic(known).synonyms for name, topic in settings.topics.items()}
    assert result == {"a": (("LLM", "large language model"),), "b": result["a"], "c": ()}
    assert config.masked(settings)["synonyms"]["LLM"] == ["large language model"]


LINES = """{"topic": "marl", "query": "multi-agent", "since": "2d", "threshold": 1}

{"topic": "agents", "any": ["language agents", "LLM"], "news": ["new", "revised"]}
{"subscription": "ada", "topics": ["marl", "agents"], "channels": ["pages"], "max": 7}
"""
MAIN = """
    include: many.jsonl
    sources: {page: {kind: huggingface-page, path: "*.txt"}}
    channels: {pages: {kind: file, path: out}}
"""


def test_topics_and_subscriptions_come_in_lines(write: Write) -> None:
    path = write(MAIN)
    write(LINES, "many.jsonl")
    settings = config.load(path, {})
    assert list(settings.topics) == ["marl", "agents"]
    assert settings.topics["marl"].since.days == 2
    assert settings.subscriptions["ada"].max == 7
    assert settings.warnings == ()


def test_a_wrong_line_is_reported_with_its_number_and_no_line_hides_another(write: Write) -> None:
    path = write(MAIN)
    lines = write(
        '{"topic": "a", "query": "agent"}\n{"topic": "b", "query": \n{"query": "x1"}\n'
        '{"topic": "a", "query": "x1"}\n{"topic": "c", "qeury": "x1"}\n[1]\n'
        '{"topic": "d", "query": "agent", "query": "x1"}\n{"topic": "e", "query": "(x1"}\n',
        "many.jsonl",
    )
    result = [(f.line, f.where, f.message.splitlines()[0]) for f in check(path, {})]
    assert [fault.file for fault in check(path, {})] == [str(lines)] * len(result)
    assert [(line, where) for line, where, _ in result] == [
        (2, "(file)"), (3, "(file)"), (4, "topics.a"), (5, "topics.c.qeury"),
        (5, "topics.c.query"), (6, "(file)"), (7, "(file)"), (8, "topics.e.query"),
    ]  # fmt: skip
