"""No pattern takes long for a text that is made against it: whatever a record says, it ends.

The searches run in a process of their own, since a search that hangs holds its whole process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.patterns import every_pattern

SHARES = 2
PATIENCE = 1_200  # seconds; each takes 20 of an idle processor


def told_by(*arguments: str) -> list[dict[str, Any]]:
    command = (sys.executable, "-m", "tests.patterns", *arguments)
    try:
        output = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE
        ).stdout
    except subprocess.TimeoutExpired as stopped:
        output = stopped.stdout or b""
        pytest.fail(f"stopped: {output.splitlines()[-1:]}")
    return [json.loads(line) for line in output.splitlines()]


def play(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Return how many patterns were timed, and what is told of those that are too slow."""
    told = told_by(*arguments)
    return sum("began" in one for one in told), [one for one in told if "slow" in one]


@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.parametrize("share", range(SHARES))
def test_each_pattern_takes_time_in_proportion_to_a_text(share: int) -> None:
    timed, slow = play("--share", f"{share}/{SHARES}")
    assert timed > 200
    assert slow == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+$",
        r"\w+:",
        r",?\s*\(",
        r"<!--.*?-->",
        r"<[^>]*>",
        r"we(?:,? ?(?:\w+ly|also|then),?){0,3} propos",
        r"(?:https?://)?(?:[a-z]+\.?)*/",
        r"release (?:(?:the|our|annot\w+|data) ?)*code",
    ],
)
def test_a_pattern_that_is_slow_or_hangs_is_told(pattern: str) -> None:
    _, [slow] = play("--pattern", pattern)
    assert slow["slow"] == pattern


def test_no_pattern_that_a_module_compiles_is_left_out() -> None:
    [told] = told_by("--left-out")
    assert told["compiled"] > 400
    assert told["left_out"] == []


def test_patterns_within_calls_are_timed_as_they_are_called() -> None:
    timed = {
        (one.pattern.pattern, one.pattern.flags & re.IGNORECASE, one.method)
        for one in every_pattern()
    }
    assert (r"PMC\d+", 0, "finditer") in timed
    assert ("^arxiv:", re.IGNORECASE, "finditer") in timed
    assert (r"(?:1[5-9]|20|21)\d\d(?!\d)", 0, "match") in timed


def test_a_pattern_that_is_only_matched_is_not_searched_for() -> None:
    methods = {timed.name: timed.method for timed in every_pattern()}
    assert methods["monitor.digest.sentence_value._SAYS_WHERE"] == "match"
    assert methods["monitor.digest.sentence_value._NOT_ONLY_AN_ADDRESS"] == "finditer"
