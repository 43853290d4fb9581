"""Reasons in words, as they are stored, and as versions up to 0.2.0 stored them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.identity.reasons import describe, read_reasons, write_reasons
from monitor.model import Finding, Reason

# The words of 0.2.0, and of later findings.
PHRASES = {
    "someone ruled that they are the same": Reason(Finding.RULED_SAME),
    "someone ruled that it is this paper": Reason(Finding.RULED_THIS),
    "separated by `papers split`": Reason(Finding.SEPARATED),
    "same entry of its source": Reason(Finding.SAME_ENTRY),
    "same doi 10.1000/7": Reason(Finding.SAME_IDENTIFIER, ("doi", "10.1000/7")),
    "same report TR 7, 2nd": Reason(Finding.SAME_IDENTIFIER, ("report", "TR 7")),
    "different arxiv": Reason(Finding.DIFFERENT_IDENTIFIER, ("arxiv",)),
    "two identifiers of one scheme: arxiv 1602.01130 and 1602.01303": Reason(
        Finding.TWO_IDENTIFIERS, ("arxiv", "1602.01130", "1602.01303")
    ),
    "texts disagree": Reason(Finding.TEXTS_DISAGREE),
    "nothing else agrees": Reason(Finding.NOTHING_ELSE_AGREES),
    "same title": Reason(Finding.SAME_TITLE),
    "titles agree to 0%": Reason(Finding.TITLES_AGREE, (0.0,)),
    "titles agree to 93%": Reason(Finding.TITLES_AGREE, (0.93,)),
    "titles differ": Reason(Finding.TITLES_DIFFER),
    "a title that returns with every issue": Reason(Finding.RECURRING_TITLE),
    "a title that may return": Reason(Finding.TITLE_MAY_RECUR),
    "another part or number": Reason(Finding.OTHER_PART),
    "revised under another number": Reason(Finding.REVISED_NUMBER),
    "one says that it is another": Reason(Finding.SAYS_IT_IS_ANOTHER),
    "one has words before the other's title": Reason(Finding.WORDS_BEFORE_TITLE),
    "one is about the other": Reason(Finding.ABOUT_THE_OTHER),
    "two notices": Reason(Finding.TWO_NOTICES),
    "notices about different papers": Reason(Finding.NOTICES_ABOUT_DIFFERENT_PAPERS),
    "authors not given": Reason(Finding.AUTHORS_NOT_GIVEN),
    "authors agree to 100%": Reason(Finding.AUTHORS_AGREE, (1.0,)),
    "no author in common": Reason(Finding.NO_COMMON_AUTHOR),
    "1 year apart": Reason(Finding.YEARS_APART, (1,)),
    "12 years apart": Reason(Finding.YEARS_APART, (12,)),
    "one in a journal, one at a conference": Reason(Finding.JOURNAL_AND_CONFERENCE),
    "other venues": Reason(Finding.OTHER_VENUES),
    "one conference, in two years": Reason(Finding.ONE_CONFERENCE_IN_TWO_YEARS),
    "abstracts not comparable": Reason(Finding.ABSTRACTS_NOT_COMPARABLE),
    "abstracts agree to 72%": Reason(Finding.ABSTRACTS_AGREE, (0.72,)),
    "each abstract supports its own title": Reason(Finding.ABSTRACTS_SUPPORT_THEIR_TITLES),
    "the abstracts do not outweigh the other words of the titles": Reason(
        Finding.TITLES_OUTWEIGH_ABSTRACTS
    ),
    "another kind of publication: book chapter": Reason(Finding.OTHER_TYPE, ("book chapter",)),
    "one is in another language": Reason(Finding.OTHER_LANGUAGE),
    "several works have this title": Reason(Finding.SEVERAL_WORKS),
    "the stars agree": Reason(Finding.OTHER, ("the stars agree",)),
}
WITH_A_COMMA = "same report TR 7, 2nd"


@pytest.mark.parametrize("words", PHRASES)
def test_each_phrase_that_was_stored_is_read(words: str) -> None:
    rest = (Reason(Finding.OTHER, ("2nd",)),) if words == WITH_A_COMMA else ()
    assert read_reasons(words) == (PHRASES[words], *rest)
    assert describe(read_reasons(words)) == words


def test_words_of_older_versions_are_read() -> None:
    reasons = read_reasons("same entry of its source, each abstract bears out its own title")
    assert describe(reasons) == "same entry of its source, each abstract supports its own title"


def test_there_is_a_phrase_for_each_finding() -> None:
    assert {reason.finding for reason in PHRASES.values()} == set(Finding)


@pytest.mark.parametrize(
    ("words", "findings"),
    [
        ("", ()),
        (
            "same entry of its source, same doi 10.1000/7",
            (Finding.SAME_ENTRY, Finding.SAME_IDENTIFIER),
        ),
        (
            "different arxiv, same title, authors agree to 100%, 1 year apart, "
            "one in a journal, one at a conference, abstracts agree to 72%",
            (
                Finding.DIFFERENT_IDENTIFIER,
                Finding.SAME_TITLE,
                Finding.AUTHORS_AGREE,
                Finding.YEARS_APART,
                Finding.JOURNAL_AND_CONFERENCE,
                Finding.ABSTRACTS_AGREE,
            ),
        ),
        (
            "titles agree to 93%, the stars agree, one conference, in two years",
            (Finding.TITLES_AGREE, Finding.OTHER, Finding.ONE_CONFERENCE_IN_TWO_YEARS),
        ),
        ("same doi, titles agree to 093%", (Finding.OTHER, Finding.OTHER)),
    ],
)
def test_reasons_that_were_stored_together_are_read(
    words: str, findings: tuple[Finding, ...]
) -> None:
    reasons = read_reasons(words)
    assert tuple(reason.finding for reason in reasons) == findings
    assert describe(reasons) == words


@given(st.lists(st.sampled_from([*PHRASES, "another part", "", " ", "same", "90% apart"])))
def test_no_words_that_were_stored_are_lost(phrases: list[str]) -> None:
    words = ", ".join(phrases)
    assert describe(read_reasons(words)) == words


@pytest.mark.parametrize("words", PHRASES)
def test_each_reason_is_read_as_it_was_stored(words: str) -> None:
    stored = write_reasons([PHRASES[words], Reason(Finding.SAME_TITLE)])
    assert read_reasons(stored) == (PHRASES[words], Reason(Finding.SAME_TITLE))


def test_a_share_is_stored_exactly() -> None:
    reason = Reason(Finding.ABSTRACTS_AGREE, (0.5951,))
    assert describe([reason]) == "abstracts agree to 60%"
    assert read_reasons(write_reasons([reason])) == (reason,)


@pytest.mark.parametrize("value", ['TR 7, "2nd"', "same title, [1]", "\udc80", "\0"])
def test_an_identifier_is_stored_whatever_it_contains(value: str) -> None:
    reason = Reason(Finding.SAME_IDENTIFIER, ("report", value))
    stored = write_reasons([reason])
    assert stored.isascii() and "\0" not in stored
    assert read_reasons(stored) == (reason,)


def test_a_finding_of_another_version_is_kept() -> None:
    reasons = read_reasons('[["phase_of_the_moon",3],["same_title"]]')
    assert describe(reasons) == "phase_of_the_moon 3, same title"
    assert [reason.finding for reason in reasons] == [Finding.OTHER, Finding.SAME_TITLE]
