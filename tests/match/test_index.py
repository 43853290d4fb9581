"""Which topics match which papers: the engine compared with the reference evaluation."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import QueryError
from monitor.match import TopicIndex, parse_query
from monitor.match.index import texts
from monitor.model import Paper
from monitor.text import cut, words, words_of_piece
from tests.match import duel

BATCH = st.lists(st.tuples(duel.papers, duel.seen_in), max_size=5)
TOPICS = st.lists(duel.topics, max_size=8)


def pairs(index: TopicIndex, batch: list[tuple[Paper, tuple[str, ...]]]) -> list[tuple[int, int]]:
    found = index.match([paper for paper, _ in batch], [seen for _, seen in batch])
    return [(match.position, match.topic) for match in found]


def test_an_index_is_freed_without_a_search_for_cycles() -> None:
    """Each query of a page has an index of its own, which holds megabytes."""
    gc.disable()
    try:
        index = TopicIndex({"": parse_query("agents")})
        index.match([Paper("Language agents")], [()])
        freed = weakref.ref(index)
        vocabulary = weakref.ref(index._engine._leaves._vocabulary)
        del index
        assert freed() is None and vocabulary() is None
    finally:
        gc.enable()


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
@given(duel.topics, duel.papers, duel.seen_in)
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
    assert (error.position, error.hint[:23]) == (0, "did you mean title:? To")
    assert [match.topic for match in index.match([Paper("Agents")])] == ["good"]


def test_matches_come_in_the_order_of_papers_and_topics() -> None:
    index = TopicIndex({"z": "policy", "a": "agent"})
    papers = [Paper("Agent policy"), Paper("Nothing"), Paper("Policy of an agent")]
    found = [(match.position, match.topic) for match in index.match(iter(papers))]
    assert found == [(0, "z"), (0, "a"), (2, "z"), (2, "a")]
    assert all(match.paper is papers[match.position] for match in index.match(papers))


def test_no_topics_no_papers_and_sources_of_other_papers() -> None:
    assert list(TopicIndex({}).match([Paper("Agent")])) == []
    assert list(TopicIndex({"a": "agent"}).match([])) == []
    with pytest.raises(ValueError, match="zip"):
        list(TopicIndex({"a": "agent"}).match([Paper("Agent")], []))


def test_why_can_be_asked_again_by_name() -> None:
    index = TopicIndex({"a": "agent source:arxiv", "wrong": "("})
    paper = Paper("Agents")
    assert [why.words for why in index.why("a", paper, ["arxiv"])] == [("Agents",), ("arxiv",)]
    assert index.why("a", paper) == ()
    assert index.why("wrong", paper) == index.why("unknown", paper) == ()


# ── the engine against plain evaluation ─────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(3))
def test_a_duel_with_plain_evaluation_over_the_whole_language(seed: int) -> None:
    assert list(duel.duel(10_000, seed)) == []


def test_a_duel_that_forgets_what_it_read_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_PIECES", 5)
    random_ = random.Random(12)
    topics = {i: one for i in range(200) if isinstance(one := duel.draw_topic(random_), str)}
    index = TopicIndex(topics)
    oracle = duel.ReferenceIndex(topics)
    for _ in range(10):
        batch = [duel.paper(random_) for _ in range(5)]
        assert found(index, batch) == list(oracle.scores(batch))


def found(index: TopicIndex, papers: list[Paper]) -> list[tuple[int, Hashable]]:
    return [(match.position, match.topic) for match in index.match(papers)]


def test_papers_are_counted_across_batches() -> None:
    papers = [Paper(f"Paper {i} on {'agents' if i % 400 == 0 else 'dogs'}") for i in range(2_500)]
    index = TopicIndex({"a": "agent", "b": '"paper 2400"', "c": "paper -agent"})
    agents = [match.position for match in index.match(papers) if match.topic == "a"]
    assert agents == [0, 400, 800, 1200, 1600, 2000, 2400]
    at, topics = index.pairs(papers)
    assert len(at) == 2_500 + 1 and at.tolist() == sorted(at.tolist())
    assert [index.name(number) for number in topics[-3:]] == ["c", "c", "c"]
    assert (2400, "b") in {(p, index.name(n)) for p, n in zip(at.tolist(), topics, strict=True)}


# ── topics change ───────────────────────────────────────────────────────────────────


CHANGES = st.lists(
    st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), duel.topics)), max_size=12
)


@settings(max_examples=150, deadline=None)
@given(CHANGES, BATCH, st.integers(0, 12))
def test_changes_one_by_one_are_like_a_rebuild(changes: list, batch: list, read_at: int) -> None:
    index = TopicIndex({})
    topics: dict[str, str] = {}
    for number, (name, topic) in enumerate(changes):
        if number == read_at:
            pairs(index, batch)
        if topic is None:
            index.discard(name)
            topics.pop(name, None)
        else:
            index.replace(name, topic)
            topics[name] = topic
    rebuilt = TopicIndex(topics)
    assert sorted(pairs(index, batch)) == sorted(pairs(rebuilt, batch))
    assert index.errors.keys() == rebuilt.errors.keys()


def test_a_changed_topic_keeps_its_place_and_a_wrong_one_is_parked() -> None:
    index = TopicIndex({"first": "policy", "second": "agent"})
    index.replace("first", "agents")
    both = [Paper("An agent"), Paper("A policy")]
    assert found(index, both) == [(0, "first"), (0, "second")]
    index.replace("first", "(policy")
    assert index.errors.keys() == {"first"}
    assert found(index, both) == [(0, "second")]
    index.replace("first", "policy")
    assert not index.errors
    assert found(index, both) == [(0, "second"), (1, "first")]
    index.discard("second")
    index.discard("nobody")
    assert found(index, both) == [(1, "first")]


def test_many_changes_of_one_topic_leave_nothing_behind() -> None:
    index = TopicIndex({"a": "agent", "last": "policy OR agent", "still": "policy OR agent"})
    for number in range(5_000):
        index.replace("a", f"agent OR word{number % 7}")
        if number == 500:
            index.replace("last", "policy OR planner")
        if number == 2_000:
            found(index, [Paper("word3")])
    index.replace("last", "plan OR planner")
    papers = [Paper("Word1"), Paper("word3 policy"), Paper("A plan")]
    assert found(index, papers) == [(0, "a"), (1, "still"), (2, "last")]
    assert sum(len(group) for group in index._engine._groups.values()) == 3


# ── texts in pieces ─────────────────────────────────────────────────────────────────


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(duel.TEXT)).map(" ".join)))
def test_the_words_of_the_pieces_are_those_of_the_text(text: str) -> None:
    one_by_one = []
    position = 0
    for piece in cut(text).split():
        found = words_of_piece(piece)
        one_by_one += [(w.form, w.word, w.start + position, w.end + position) for w in found]
        position += max((word.end for word in found), default=0)
    assert one_by_one == [(w.form, w.word, w.start, w.end) for w in words(text)]


def _read_words(vocabulary: texts.Vocabulary, written: list[str]) -> list[tuple[int, int, int]]:
    found, _ = vocabulary.read(written)
    return sorted(zip(*(column.tolist() for column in found[:3]), strict=True))


def test_pieces_of_all_lengths_are_known_again() -> None:
    dice = random.Random(4)
    lengths = (1, 2, 7, 8, 9, 15, 16, 17, 24)
    made = ["".join(dice.choices("abC-é", k=dice.choice(lengths))) for _ in range(3_000)]
    batches = [" ".join(dice.choices(made, k=400)) for _ in range(20)]
    vocabulary = texts.Vocabulary()
    once = [_read_words(vocabulary, [text]) for text in batches]
    assert once == [_read_words(vocabulary, [text]) for text in batches]
    for text, found in zip(batches, once, strict=True):
        numbers = vocabulary.number_words(words(text))
        assert found == sorted((start, end, form) for form, start, end in numbers)


def test_pieces_are_distinguished_where_all_have_one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_SALTS", [np.uint64(0)] * 2)
    text = " ".join(f"agent{number} generation{number}" for number in range(300))
    found = _read_words(texts.Vocabulary(), [text, text])
    assert len({form for _, _, form in found}) == 600
