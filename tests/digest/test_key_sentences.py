"""Which sentence says what the authors did: one abstract per way in which abstracts say it."""

from __future__ import annotations

import pytest

from monitor.digest.excerpt import sentence_value

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
