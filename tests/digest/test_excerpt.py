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
from tests.digest.samples import NOW, PAPER, digest, news


def entry_of(abstract: str, words: tuple[str, ...], title: str = "A title") -> DigestPaper:
    paper = replace(PAPER, abstract=abstract, title=title)
    return digest([news(paper)], words=words).groups[0].entries[0]


def marked(passage: Passage) -> list[str]:
    return [passage.text[start:end] for start, end in passage.spans]


ONE = "First we look. Then we leap. The policy holds. A second policy for agents wins. Done."


@pytest.mark.parametrize(
    ("words", "text", "marks"),
    [
        (("look",), "First we look. Then we leap.", ["look"]),
        (("leap",), "First we look. Then we leap.", ["leap"]),
        (
            ("policy", "agents"),
            "The policy holds. A second policy for agents wins.",
            ["policy", "policy", "agents"],
        ),
        (("Done",), "A second policy for agents wins. Done.", ["Done"]),
        (("title",), "First we look. Then we leap.", []),
    ],
)
def test_neighbours_around_the_best_match_where_no_sentence_says_what_was_done(
    words: tuple[str, ...], text: str, marks: list[str]
) -> None:
    passage = excerpt(entry_of(ONE, words))
    assert passage.text == text
    assert marked(passage) == marks


BEHIND = "Recent advances in robotics have attracted much attention. However, robots fall."
MADE = "In this paper, we propose Stilt, a planner that keeps robots upright on loose gravel."
LEANING = "It runs on a small board."
CAME = "Experiments on three robots show that Stilt halves the number of falls."
ASIDE = "Gravel was bought at a nearby quarry and was sieved by hand."


def test_the_excerpt_says_what_the_authors_did_and_what_came_of_it() -> None:
    passage = excerpt(entry_of(f"{BEHIND} {MADE} {LEANING} {CAME} {ASIDE}", ("robots",)))
    assert passage.text == f"{MADE} … {CAME}"
    assert marked(passage) == ["robots", "robots"]


def test_neighbouring_sentences_have_no_gap() -> None:
    assert excerpt(entry_of(f"{BEHIND} {MADE} {CAME}", ("robots",))).text == f"{MADE} {CAME}"


def test_when_nothing_matched_in_the_first_sentence_the_second_is_one_where_something_did() -> None:
    passage = excerpt(entry_of(f"{MADE} {CAME} {ASIDE}", ("quarry",)))
    assert passage.text == f"{MADE} … {ASIDE}"
    assert marked(passage) == ["quarry"]


def test_a_second_sentence_for_which_there_is_no_room_is_left_out() -> None:
    long = f"{CAME[:-1]} and {'much ' * 80}more."
    assert excerpt(entry_of(f"{MADE} {long}", ("robots",))).text == MADE


def test_two_long_sentences_share_the_room_where_the_match_is_in_the_second() -> None:
    abstract = f"{MADE[:-1]} {'and more ' * 40}. Then {'again ' * 60}quarry {'again ' * 60}."
    passage = excerpt(entry_of(abstract, ("quarry",)))
    assert passage.text.startswith("In this paper, we propose Stilt")
    assert marked(passage) == ["quarry"]
    assert passage.text.count("…") == 2  # one between them, and one at the end
    assert len(passage.text) <= EXCERPT_LIMIT + 8


@pytest.mark.parametrize("abstract", ["", "   "])
def test_no_abstract_has_no_excerpt(abstract: str) -> None:
    assert excerpt(entry_of(abstract, ("a",))) == Passage("")


def test_one_sentence_is_whole() -> None:
    assert excerpt(entry_of("Only this policy.", ("policy",))).text == "Only this policy."


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
    why = (
        TopicWhy("a", (MatchReason("title", ("multi-agent",), ((2, 13),)),)),
        TopicWhy(
            "b",
            (
                MatchReason("title", ("agent systems",), ((8, 21),)),
                MatchReason("title", (), ((90, 99),)),
            ),
        ),
    )
    paper = Paper(title="A multi-agent systems view")
    entry = DigestPaper(1, 1, ChangeKind.NEW, paper, NOW, ("s",), 1.0, why)
    assert headline(entry) == Passage(paper.title, ((2, 21),))


def test_a_text_that_was_never_cleaned_is_shown_clean_without_marks() -> None:
    paper = Paper(title="A \u202epolicy\nhere")
    entry = DigestPaper(
        1,
        1,
        ChangeKind.NEW,
        paper,
        NOW,
        ("s",),
        1.0,
        (TopicWhy("a", (MatchReason("title", ("p",), ((3, 9),)),)),),
    )
    assert headline(entry) == Passage("A policy here")


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
    "How cells divide remains poorly understood, although it was described long ago.",
)
LEANING = (
    "It runs on a single small computer without any other hardware.",
    "For example, a cup may be seen from above and from the side.",
    "Moreover, the two halves are printed from the same soft material.",
)
CONTRIBUTIONS = (
    "We propose a planner that keeps legged robots upright on loose gravel.",
    "In this paper, the grasping of soft fruit by two hands is considered.",
    "This article therefore introduces a measure of how well figures can be read.",
    "Here we show that bees count up to four when they fly through a tunnel.",
    "To this end, we have carefully designed a benchmark of two hundred tasks.",
    "A controller for flapping wings is proposed that needs no model of the air.",
    "The purpose of this study was to compare two doses in older patients.",
    "The authors describe three cases of a rare fever after a journey.",
)


@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
def test_what_the_authors_did_outweighs_background_and_what_leans(contribution: str) -> None:
    value = sentence_value(contribution)
    assert value >= 3
    assert value > max(map(sentence_value, BACKGROUND + LEANING))


@pytest.mark.parametrize("sentence", BACKGROUND + LEANING)
def test_background_and_what_leans_on_another_sentence_lose(sentence: str) -> None:
    assert sentence_value(sentence) < 0


def test_a_contribution_outweighs_a_result_and_a_result_outweighs_a_plain_sentence() -> None:
    result = "Experiments on three robots show that falls become half as frequent."
    plain = "Gravel was bought at a nearby quarry and was sieved by hand twice."
    assert sentence_value(CONTRIBUTIONS[0]) > sentence_value(result) > sentence_value(plain) == 0


def test_a_sentence_too_short_to_say_much_loses() -> None:
    assert sentence_value("This paper aims to solve this problem.") < sentence_value(
        "This paper aims to solve the problem of folding wet laundry."
    )
