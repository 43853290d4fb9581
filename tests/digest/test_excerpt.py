from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from monitor.digest.excerpt import (
    EXCERPT_LIMIT,
    LONG_TITLE,
    Passage,
    excerpt,
    headline,
    sentence_value,
)
from monitor.model import ChangeKind, DigestPaper, MatchReason, Paper, TopicWhy
from tests.digest import samples
from tests.digest.samples import NOW, PAPER


def entry_of(abstract: str, words: tuple[str, ...], title: str = "A title") -> DigestPaper:
    return samples.entry_of(replace(PAPER, abstract=abstract, title=title), *words)


def titled(title: str, *spans: tuple[int, int]) -> DigestPaper:
    """An entry in whose title each of some topics has marked a span."""
    matched = tuple(TopicWhy("a", (MatchReason("title", ("p",), (span,)),)) for span in spans)
    return DigestPaper(1, 1, ChangeKind.NEW, Paper(title), NOW, ("s",), 1.0, matched)


def marked(passage: Passage) -> list[str]:
    return [passage.text[start:end] for start, end in passage.spans]


ONE = "First we look. Then we leap. The policy holds. A second policy for agents wins. Done."
BEHIND = "Recent advances in robotics have attracted much attention. However, robots fall."
MADE = "In this paper, we propose Stilt, a planner that keeps robots upright on loose gravel."
LEANING = "It runs on a small board."
CAME = "Experiments on three robots show that Stilt halves the number of falls."
ASIDE = "Gravel was bought at a nearby quarry and was sieved by hand."
ALL = f"{BEHIND} {MADE} {LEANING} {CAME} {ASIDE}"
LONG = f"{CAME[:-1]} and {'much ' * 80}more."


@pytest.mark.parametrize(
    ("abstract", "words", "text", "marks"),
    [
        # Where no sentence says what was done, the neighbours around the best match.
        (ONE, "look", "First we look. Then we leap.", "look"),
        (ONE, "leap", "First we look. Then we leap.", "leap"),
        (
            ONE,
            "policy agents",
            "The policy holds. A second policy for agents wins.",
            "policy policy agents",
        ),
        (ONE, "Done", "A second policy for agents wins. Done.", "Done"),
        (ONE, "title", "First we look. Then we leap.", ""),
        ("Only this policy.", "policy", "Only this policy.", "policy"),
        ("   ", "a", "", ""),
        # What the authors did and what came of it, without a gap between neighbours.
        (ALL, "robots", f"{MADE} … {CAME}", "robots robots"),
        (f"{BEHIND} {MADE} {CAME}", "robots", f"{MADE} {CAME}", "robots robots"),
        # When nothing matched in the first sentence, the second is one where something did.
        (f"{MADE} {CAME} {ASIDE}", "quarry", f"{MADE} … {ASIDE}", "quarry"),
        # A second sentence for which there is no room is left out.
        (f"{MADE} {LONG}", "robots", MADE, "robots"),
    ],
)
def test_the_excerpt_says_what_was_done_and_shows_what_matched(
    abstract: str, words: str, text: str, marks: str
) -> None:
    passage = excerpt(entry_of(abstract, tuple(words.split())))
    assert passage.text == text
    assert marked(passage) == marks.split()


def test_two_long_sentences_share_the_room_where_the_match_is_in_the_second() -> None:
    abstract = f"{MADE[:-1]} {'and more ' * 40}. Then {'again ' * 60}quarry {'again ' * 60}."
    passage = excerpt(entry_of(abstract, ("quarry",)))
    assert passage.text.startswith("In this paper, we propose Stilt")
    assert marked(passage) == ["quarry"]
    assert passage.text.count("…") == 2  # one between them, and one at the end
    assert len(passage.text) <= EXCERPT_LIMIT + 8


def test_a_long_sentence_is_cut_around_its_match() -> None:
    abstract = "start " + "word " * 300 + "policy " + "tail " * 300
    passage = excerpt(entry_of(abstract, ("policy",)))
    assert marked(passage) == ["policy"]
    assert len(passage.text) <= EXCERPT_LIMIT + 4
    assert passage.text.startswith("…\u00a0word") and passage.text.endswith("\u00a0…")


def test_M14_a_title_of_2000_characters_is_cut() -> None:
    passage = headline(entry_of("x", ("policy",), title="policy " * 300))
    assert len(passage.text) <= LONG_TITLE + 2
    assert set(marked(passage)) == {"policy"}


def test_marks_of_several_topics_are_one_where_they_meet() -> None:
    title = "A multi-agent systems view"
    assert headline(titled(title, (2, 13), (8, 21), (90, 99))) == Passage(title, ((2, 21),))


def test_a_text_that_was_never_cleaned_is_shown_clean_without_marks() -> None:
    assert headline(titled("A \u202epolicy\nhere", (3, 9))) == Passage("A policy here")


@given(
    st.lists(st.sampled_from(["policy", "agent", "of.", "We", "et al.", "x" * 90]), max_size=200),
)
def test_every_mark_is_a_word_that_was_found(words: list[str]) -> None:
    passage = excerpt(entry_of(" ".join(words), ("policy", "agent")))
    assert set(marked(passage)) <= {"policy", "agent"}
    assert len(passage.text) <= EXCERPT_LIMIT + 12
    if {"policy", "agent"} & set(words):
        assert passage.spans


BACKGROUND = (
    "Recent advances in language models have attracted much attention.",
    "Grasping unknown objects is an important problem in robotics and in logistics.",
    "However, existing methods need many labelled examples to work at all.",
    "In recent years, the number of published papers has become hard to follow.",
)
LEANINGS = (
    "It runs on a single small computer without any other hardware.",
    "For example, a cup may be seen from above and from the side.",
)
CONTRIBUTIONS = (
    "We propose a planner that keeps legged robots upright on loose gravel.",
    "In this paper, the grasping of soft fruit by two hands is considered.",
    "This article therefore introduces a measure of how well figures can be read.",
    "Here we show that bees count up to four when they fly through a tunnel.",
    "A controller for flapping wings is proposed that needs no model of the air.",
    "The purpose of this study was to compare two doses in older patients.",
)


@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
def test_what_the_authors_did_outweighs_background_and_what_leans(contribution: str) -> None:
    lost = max(map(sentence_value, BACKGROUND + LEANINGS))
    assert sentence_value(contribution) >= 3 > 0 > lost
