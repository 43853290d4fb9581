"""A sentence as a topic: the query that is meant, and what it finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import seed_topics
from monitor.errors import QueryError
from monitor.match import TopicIndex, meant_by, parse_query
from tests.match.test_docs import CODE, tables

SENTENCE = "language agents that play games together"
# Papers of the seeds in which language agents play games, by words of their titles.
MEANT = [
    "Werewolf Game",
    "PokéChamp",
    "Suspicion-Agent",
    "LMRL Gym",
    "Playing repeated games",
    "LLM-Coordination",
    "Social Deduction",
    "ProAgent",
    "Interactive Text Games",
]


def found(topic: str) -> list[str]:
    return [match.paper.title for match in TopicIndex({topic: topic}).match(seed_topics.papers())]


def doubts(topic: str) -> list[str]:
    return [str(one) for one in parse_query(topic).warnings]


def test_a_sentence_finds_one_paper_and_what_is_meant_finds_the_others() -> None:
    assert len(found(SENTENCE)) == 1
    titles = found(meant_by(SENTENCE))
    assert [words for words in MEANT if not any(words in title for title in titles)] == []
    assert len(titles) < 30, "a tenth of the papers, not all about language or agents"


@pytest.mark.parametrize("row", list(tables("| sentence | query |")))
def test_each_sentence_of_the_page_means_its_query(row: list[str]) -> None:
    sentence, meant = (CODE.findall(cell)[0] for cell in row)
    assert meant_by(sentence) == meant
    doubt, *_ = doubts(sentence)
    assert doubt.endswith(f"write {meant}, or give the sentence to like:)")
    assert doubts(meant) == []


@pytest.mark.parametrize(
    ("topic", "meant"),
    [
        ("language agents play board games", ""),  # five words
        ("agents AND games AND language AND models AND play AND chess", ""),
        ('"language agents that play games together"', ""),
        ("title:(agents games chess) robots walk", ""),
        ("agent* game* chess* board* poker* bridge*", ""),
        ("what is it about and why", ""),  # no word carries anything
        (
            f'"reward model" OR {SENTENCE}',
            '"reward model" OR language AND agents AND (play OR games)',
        ),
        (
            f"{SENTENCE} -robot",
            "language AND agents AND (play OR games) -robot",
        ),
        (
            f"title:chess {SENTENCE}",
            "title:chess language AND agents AND (play OR games)",
        ),
        ("robots robots Robots robot robots climbing robots", "robots AND climbing"),
        ("How do agents learn to cooperate, and why?", "agents AND cooperate"),
        (
            "graph neural networks predict protein folding dynamics quickly",
            "graph AND neural AND (protein OR folding OR dynamics OR quickly)",
        ),
    ],
)
def test_only_words_side_by_side_are_a_sentence(topic: str, meant: str) -> None:
    assert meant_by(topic) == meant


def test_two_sentences_are_one_doubt_with_both_meant() -> None:
    other = "robots that fold the laundry of people"
    [doubt] = doubts(f"{SENTENCE} OR {other}")
    meant = "language AND agents AND (play OR games) OR robots AND (fold OR laundry) AND people"
    assert doubt.endswith(f"{meant}, or give the sentence to like:)")


WORDS = st.sampled_from([*SENTENCE.split(), "and", "IT", "a", "β-VAE", "-", "(", ")", "OR", "$x$,"])


@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_what_is_meant_is_valid_and_no_sentence(topic: str) -> None:
    try:
        parse_query(topic)
    except QueryError:
        return
    if meant := meant_by(topic):
        assert meant_by(meant) == ""
        parse_query(meant)
