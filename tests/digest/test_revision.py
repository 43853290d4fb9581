"""A revision says what changed."""

from __future__ import annotations

import pytest

from monitor.digest.compose import count_changes, describe_revision
from monitor.model import EarlierText, Paper, Revision

ABSTRACT = "We plan. It costs 1.5 times as much, cf. Fig. 2. The end."


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (ABSTRACT, 0),
        (ABSTRACT.replace("  ", " ").upper(), 0),
        ("We plan. It costs 2 times as much, cf. Fig. 2. The end.", 1),
        (f"At first. {ABSTRACT} At last.", 2),
        ("We plan.", 2),
        ("Another. Text. Altogether. With more.", 4),
        ("", 3),
    ],
)
def test_sentences_that_are_new_gone_or_different_are_counted(after: str, changed: int) -> None:
    assert count_changes(ABSTRACT, after) == changed


def test_title_and_version_are_compared_as_they_are_shown() -> None:
    before = EarlierText("Planning in $O(n)$", ABSTRACT, 1)
    same = describe_revision(before, Paper("Planning in $O(n)$", ABSTRACT, version=2))
    assert same == Revision(2, 1, "", 0)
    other = describe_revision(before, Paper("Planning", "", version=1))
    assert other == Revision(1, None, "Planning in O(n)", 3)


def test_of_a_text_from_before_they_were_kept_only_the_version_is_known() -> None:
    assert describe_revision(None, Paper("Planning", ABSTRACT, version=4)) == Revision(4)
