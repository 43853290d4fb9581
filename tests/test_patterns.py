"""No pattern takes long for a text that is made against it: whatever a record says, it ends.

The searches run in a process of their own, since a search that hangs holds its whole process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.patterns import every_pattern

SHARES = 2
PATIENCE = 1_200  # seconds; each takes 20 of an idle processor


def play(*arguments: str, patience: float = PATIENCE) -> tuple[int, list[dict[str, Any]]]:
    """Return how many patterns were timed, and what is told of those that are too slow."""
    command = (sys.executable, "-m", "tests.patterns", *arguments)
    try:
        output = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, timeout=patience
        ).stdout
    except subprocess.TimeoutExpired as stopped:
        output = stopped.stdout or b""
        pytest.fail(f"stopped: {output.splitlines()[-1:]}")
    told = [json.loads(line) for line in output.splitlines()]
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


def test_a_pattern_that_is_only_matched_is_not_searched_for() -> None:
    methods = {timed.name: timed.method for timed in every_pattern()}
    assert methods["monitor.digest.excerpt._SAYS_WHERE"] == "match"
    assert methods["monitor.digest.excerpt._CLAIM"] == "finditer"
