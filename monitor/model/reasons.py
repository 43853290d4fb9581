"""Findings about two records: the reasons why they are of one paper, or of two."""

from __future__ import annotations

from enum import StrEnum, auto

import msgspec


class Finding(StrEnum):
    """A kind of finding; `monitor.identity.reasons` has the words for each.

    The names are stored. Of some findings a `Reason` has more: a share from 0 to 1, a number of
    years, a scheme, or an identifier.
    """

    RULED_SAME = auto()
    RULED_THIS = auto()
    SEPARATED = auto()
    SAME_ENTRY = auto()
    SAME_IDENTIFIER = auto()  # scheme, value
    DIFFERENT_IDENTIFIER = auto()  # scheme
    TWO_IDENTIFIERS = auto()  # scheme, value, other value
    TEXTS_DISAGREE = auto()
    NOTHING_ELSE_AGREES = auto()
    SAME_TITLE = auto()
    TITLES_AGREE = auto()  # share
    TITLES_DIFFER = auto()
    RECURRING_TITLE = auto()
    TITLE_MAY_RECUR = auto()
    OTHER_PART = auto()
    REVISED_NUMBER = auto()
    SAYS_IT_IS_ANOTHER = auto()
    WORDS_BEFORE_TITLE = auto()
    ABOUT_THE_OTHER = auto()
    TWO_NOTICES = auto()
    NOTICES_ABOUT_DIFFERENT_PAPERS = auto()
    AUTHORS_NOT_GIVEN = auto()
    AUTHORS_AGREE = auto()  # share
    NO_COMMON_AUTHOR = auto()
    YEARS_APART = auto()  # number
    JOURNAL_AND_CONFERENCE = auto()
    OTHER_VENUES = auto()
    ONE_CONFERENCE_IN_TWO_YEARS = auto()
    ABSTRACTS_NOT_COMPARABLE = auto()
    ABSTRACTS_AGREE = auto()  # share
    ABSTRACTS_SUPPORT_THEIR_TITLES = auto()
    TITLES_OUTWEIGH_ABSTRACTS = auto()
    OTHER_TYPE = auto()  # type
    OTHER_LANGUAGE = auto()
    SEVERAL_WORKS = auto()
    OTHER = auto()  # words that no finding has, as another version stored them


class Reason(msgspec.Struct, frozen=True):
    """A finding about two records, with its share, number, scheme or identifier."""

    finding: Finding
    of: tuple[str | float, ...] = ()


Reasons = tuple[Reason, ...]
