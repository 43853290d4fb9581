from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from monitor.digest.excerpt import excerpt, headline
from monitor.digest.passage import EXCERPT_LIMIT, Passage
from monitor.digest.sentence_value import value_by_rule_0
from monitor.model import ChangeKind, DigestPaper, MatchReason, Paper, TopicWhy
from monitor.text import title_lengths
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
FELL = "We show that people fall as often as robots do."
ALL = f"{BEHIND} {MADE} {LEANING} {CAME} {ASIDE}"
LONG = f"{CAME[:-1]} and {'much ' * 80}more."


@pytest.mark.parametrize(
    ("abstract", "words", "text", "marks"),
    [
        # Where no sentence says what was done, one with a match and its neighbour.
        (ONE, "look", "First we look. Then we leap.", "look"),
        (ONE, "leap", "Then we leap. The policy holds.", "leap"),
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
        # When nothing matched in the first sentence, the second is one where something did, if it
        # says what was done, too.
        (f"{MADE} {CAME} {FELL}", "people", f"{MADE} … {FELL}", "people"),
        (f"{MADE} {CAME} {ASIDE}", "quarry", f"{MADE} {CAME}", ""),
        # Background stays out also where something matched in it.
        (f"{BEHIND} {MADE}", "advances", MADE, ""),
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


def test_of_two_sentences_that_do_not_fit_none_is_halved() -> None:
    abstract = f"{MADE} {LONG}"
    assert excerpt(entry_of(abstract, ("more",))).text == MADE


def test_a_sentence_that_is_too_long_ends_at_a_pause() -> None:
    clause = f"{MADE[:-1]}, {'and more ' * 30}so"
    passage = excerpt(entry_of(f"{clause}, {'and again ' * 30}.", ("robots",)))
    assert passage.text == f"{clause}\u00a0…"


def test_in_older_digests_two_long_sentences_share_the_room() -> None:
    abstract = f"{MADE[:-1]} {'and more ' * 40}. Then {'again ' * 60}quarry {'again ' * 60}."
    passage = excerpt(replace(entry_of(abstract, ("quarry",)), excerpt_rule=1))
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
    assert len(passage.text) <= title_lengths.IN_LIST + 2
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
    lost = max(map(value_by_rule_0, BACKGROUND + LEANINGS))
    assert value_by_rule_0(contribution) >= 3 > 0 > lost


GAP = "Robots fall on gravel, and nobody knows why."
SAID = "We propose Stilt, a planner that keeps robots upright."


@pytest.mark.parametrize(
    ("opening", "rest"),
    [
        ("To address this gap, ", "we propose Stilt, a planner for robots."),
        ("However, to close these gaps, ", "in this paper, we propose Stilt, a planner."),
        ("To this end, ", "this paper proposes Stilt, a planner for robots."),
        ("Building upon this insight ", "we propose Stilt, a planner for robots."),
        ("Motivated by these falls, ", "a planner for robots on gravel is proposed."),
        ("In this spirit, ", "we propose Stilt, a planner for robots."),
        ("Therefore, ", "we propose Stilt, a planner for robots."),
        ("Therefore, ", "mRNA is proposed as a planner for robots."),
        ("However, ", "k-means planning is proposed for robots."),
    ],
)
def test_an_opening_that_points_back_is_cut(opening: str, rest: str) -> None:
    passage = excerpt(entry_of(f"{GAP} {opening}{rest}", ("planner", "planning")))
    begins = rest if rest.startswith(("mRNA", "k-means")) else rest[0].upper() + rest[1:]
    assert passage.text == begins
    assert set(marked(passage)) <= {"planner", "planning"} and passage.spans


@pytest.mark.parametrize(
    "sentence",
    [
        "To keep robots upright on loose gravel, we propose Stilt, a planner.",
        "Under these conditions, we propose Stilt, a planner for robots.",
        "Based on these assumptions, we prove that the planner of robots holds.",
        "Using methods such as walking, we propose Stilt, a planner for robots.",
        "In this paper, we propose Stilt, a planner for robots.",
        "To keep a robot, its feet, and these loads upright, Stilt is a planner.",
        "For this purpose a planner can be used, with e.g. the task of crossing gravel.",
        "Following this planner robots walked upright, with few falls on gravel.",
    ],
)
def test_an_opening_that_stands_by_itself_is_kept(sentence: str) -> None:
    text = excerpt(entry_of(f"{sentence} {GAP}", ("x",))).text
    assert text.removesuffix(f" {GAP}") == sentence


def test_an_opening_is_left_out_also_where_something_matched_in_it() -> None:
    entry = entry_of(f"{GAP} To close this gap, we propose Stilt, a planner for robots.", ("gap",))
    assert excerpt(entry).text == "We propose Stilt, a planner for robots."
    before = excerpt(replace(entry, excerpt_rule=1)).text
    assert before == "To close this gap, we propose Stilt, a planner for robots."


@pytest.mark.parametrize(
    "sentence",
    [
        "This can also be shown to improve the planning of robots by half.",
        "These planners achieve results that outperform all others by ten percent.",
        "We argue that this limitation can be shown to hinder many robots.",
        "While it improves the robots, it also achieves less on loose gravel.",
    ],
)
def test_an_excerpt_does_not_begin_in_mid_thought(sentence: str) -> None:
    did = "In this study, we measure how robots walk on loose gravel."
    assert excerpt(entry_of(f"{sentence} {did}", ("robots",))).text == did


def test_an_opening_word_that_points_back_is_left_out() -> None:
    text = "Particularly, we propose Stilt, a planner that keeps robots upright."
    assert excerpt(entry_of(f"{GAP} {text}", ("x",))).text == text.replace("Particularly, we", "We")


def test_the_first_sentence_of_an_abstract_is_no_result_of_the_authors() -> None:
    known = "Word embeddings improve the results of many robots and planners."
    did = "I show how to train a planner for robots on loose gravel."
    assert excerpt(entry_of(f"{known} {did}", ("embeddings",))).text == did


def test_the_second_sentence_may_point_back_to_the_first() -> None:
    second = "we propose Crutch, which plans for people."
    near = excerpt(entry_of(f"{SAID} Furthermore, {second}", ("x",)))
    assert near.text == f"{SAID} Furthermore, {second}"
    apart = excerpt(entry_of(f"{SAID} {GAP} Furthermore, {second}", ("x",)))
    assert apart.text == f"{SAID} … W{second[1:]}"


@pytest.mark.parametrize(
    "leaning",
    [
        "These results show that robots stay upright on gravel of every kind.",
        "This raises the question whether we present robots with too much gravel.",
        "In previous work, we proposed a planner for robots on solid ground.",
    ],
)
def test_a_sentence_that_points_back_loses_against_others(leaning: str) -> None:
    did = "In this study, we measure how robots walk on loose gravel."
    assert excerpt(entry_of(f"{GAP} {leaning} {did}", ("x",))).text == did


WHERE = (
    "Code is available at https://example.org/stilt.",
    "The code, the data and a video are publicly available.",
    "We release our code and data at https://github.com/example/stilt.",
    "Our code and models will be made available on GitHub.",
    "Project page: https://example.org/stilt).",
    "To help others, we open-source our code at github.com/example/stilt.",
    "A video of all experiments can be found at https://example.org/v?a=b.c.",
)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("abstract", ["{1} {0}", "{0} {1}", "{1} {0} {2}", "{2} {0}"])
def test_the_sentence_that_only_says_where_the_code_is_leaves_as_a_whole(
    where: str, abstract: str
) -> None:
    for words in ("x", "code", "available"):
        text = excerpt(entry_of(abstract.format(where, SAID, GAP), (words,))).text
        assert text in (SAID, GAP, f"{SAID} … {GAP}", f"{SAID} {GAP}")


def test_an_abstract_that_only_says_where_the_code_is_is_shown() -> None:
    for abstract in (*WHERE, f"{WHERE[0]} {WHERE[4]}"):
        assert excerpt(entry_of(abstract, ("x",))).text == abstract


@pytest.mark.parametrize(
    "sentence",
    [
        "We present Stilt (https://example.org/stilt), a planner that keeps robots upright.",
        "We release a new dataset of ten thousand falls of robots.",
        "Most code of planners is not available, which makes robots fall.",
        "The Stilt can be found at the heart of many models of robots and data of gravel.",
        "The covariance of robots grows in directions where no information is available.",
    ],
)
def test_a_sentence_that_says_more_than_where_the_code_is_stays(sentence: str) -> None:
    text = excerpt(entry_of(f"{GAP} {sentence}", ("x",))).text
    assert text.removeprefix(f"{GAP} ") == sentence


def test_digests_frozen_before_have_the_excerpts_that_were_sent() -> None:
    entry = entry_of(f"{GAP} To close this gap, we propose Stilt, a planner. {WHERE[0]}", ("x",))
    assert excerpt(entry).text == "We propose Stilt, a planner."
    before = excerpt(replace(entry, excerpt_rule=0)).text
    assert before == f"To close this gap, we propose Stilt, a planner. {WHERE[0]}"
    assert excerpt(replace(entry_of(WHERE[0], ("x",)), excerpt_rule=0)).text == WHERE[0]


def test_readers_would_leave_five_of_six_excerpts_as_they_are() -> None:
    """What they judged is drawn again, and compared, by benchmarks/excerpts.py."""
    table = Path(__file__).with_name("excerpt_verdicts.tsv").read_text("utf-8").splitlines()
    verdicts = [row.split("\t")[1] for row in table[1:]]
    assert len(verdicts) == 100 and set(verdicts) <= {"yes", "no"}
    assert verdicts.count("no") <= 16
