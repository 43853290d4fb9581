"""Which joins are doubted, by what is stored of how the records were recognised."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitor.diff.doubtful_joins import judge
from monitor.model import Finding, Paper, Reason, Reasons, Sighting, SightingText

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
LIFT = SightingText("Learning lift generation of flapping wings", ("Grace Hopper",), "ICRA", 2006)
SOIL = SightingText("Soil moisture maps of alpine meadows", ("Barbara Liskov",), "Soil", 2019)
ALIKE = Reason(Finding.TITLES_AGREE, (0.81,))
A_YEAR = Reason(Finding.YEARS_APART, (1,))


def doubts(
    recognised: Reasons, text: SightingText | None, first: SightingText = LIFT
) -> list[Reasons]:
    """Return why a record of a paper is doubted that was recognised so."""
    seen = [
        Sighting("dblp", "1", None, "", "", NOW, NOW, text=first),
        Sighting("list", "2", None, "", "", NOW + timedelta(1), NOW, "", (), recognised, text),
    ]
    paper = Paper(first.title, authors=first.authors, venue=first.venue, year=first.year)
    return [doubt.reasons for doubt in judge(paper, (), seen).doubts]


@pytest.mark.parametrize(
    ("recognised", "is_doubted"),
    [
        ((ALIKE, A_YEAR), True),
        ((ALIKE, Reason(Finding.OTHER_VENUES)), True),
        ((ALIKE, Reason(Finding.JOURNAL_AND_CONFERENCE)), True),
        ((ALIKE, Reason(Finding.OTHER_PART)), True),
        ((ALIKE, Reason(Finding.AUTHORS_AGREE, (1.0,))), False),
        ((Reason(Finding.SAME_TITLE), A_YEAR), False),
        (
            (Reason(Finding.DIFFERENT_IDENTIFIER, ("s2",)), Reason(Finding.SAME_TITLE), A_YEAR),
            False,
        ),
        ((Reason(Finding.SAME_ENTRY), ALIKE, A_YEAR), False),
        ((Reason(Finding.SAME_IDENTIFIER, ("doi", "10.1000/7")), A_YEAR), False),
        ((Reason(Finding.OTHER, ("1 year apart, or so",)),), False),
        ((), False),
    ],
)
def test_a_record_without_its_text_is_doubted_by_what_contradicts_its_likeness(
    recognised: Reasons, is_doubted: bool
) -> None:
    assert doubts(recognised, None) == ([recognised] if is_doubted else [])


@pytest.mark.parametrize("finding", [Finding.RULED_SAME, Finding.RULED_THIS])
def test_what_a_person_ruled_is_not_doubted(finding: Finding) -> None:
    assert doubts((ALIKE,), SOIL)
    assert doubts((Reason(finding),), SOIL) == []


def test_an_entry_that_its_source_corrected_is_not_doubted() -> None:
    corrected = SightingText("Learning lift generation with a flapping wing")
    assert doubts((ALIKE,), corrected)
    assert doubts((Reason(Finding.SAME_ENTRY), ALIKE), corrected) == []


def test_abstracts_that_are_not_stored_agree_as_far_as_they_did() -> None:
    retitled = SightingText("Maps of moisture in the meadows of the Alps", SOIL.authors)
    first = SightingText(SOIL.title, SOIL.authors)
    assert doubts((ALIKE, Reason(Finding.ABSTRACTS_AGREE, (0.1,))), retitled, first)
    assert doubts((ALIKE, Reason(Finding.ABSTRACTS_AGREE, (0.9,))), retitled, first) == []
