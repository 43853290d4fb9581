"""Looking up at services what the record of a paper does not say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from monitor.model.digests import ReferenceEvent
from monitor.model.paper import Paper, SiteNote
from monitor.model.reasons import Reasons


class Lack(StrEnum):
    """The parts of a record for which a paper is looked up."""

    LINK = "link"
    IDENTIFIER = "identifier"
    AUTHORS = "authors"
    DATE = "date"


class Wanted(msgspec.Struct, frozen=True):
    """A stored paper, by the number that the store has it under, that a service is asked about."""

    id: int
    paper: Paper


class Question(msgspec.Struct, frozen=True):
    """One request about some papers, by the identifiers that they have or by their titles."""

    papers: tuple[Wanted, ...]
    url: str
    by_identifier: bool = False


class Evidence(StrEnum):
    """Common ground of a record and a paper, beside the title."""

    IDENTIFIER = "identifier"
    AUTHOR = "author"
    ABSTRACT = "abstract"
    OTHER_SERVICE = "other service"


class LookUpOutcome(StrEnum):
    """The result of comparing the answer of a service with a paper.

    `UNCONFIRMED` is a record with the same title, and nothing else that both have; `CONTRADICTED`
    one that the paper, or what another service answered, speaks against.
    """

    FOUND = "found"
    NOT_FOUND = "not found"
    UNCONFIRMED = "unconfirmed"
    CONTRADICTED = "contradicted"


class LookUpState(StrEnum):
    """How far a service was asked about a paper.

    Open: `WAITING` for its turn, `ASKING` since `asked_at`, `FAILED` and tried again when due.
    Over: `FILLED` something in, `JOINED` two stored papers as well, `KNOWN` and with nothing to
    add, `GIVEN_UP` after the last attempt, `REFUSED` by a person, and what the answer said: see
    `LookUpOutcome`. Of a paper that a reader saved, an answer `REPORTED` what became of it, or was
    `KNOWN` and reported nothing; a month later the service is asked again.
    """

    WAITING = "waiting"
    ASKING = "asking"
    FAILED = "failed"
    FILLED = "filled"
    JOINED = "joined"
    KNOWN = "known"
    NOT_FOUND = "not found"
    UNCONFIRMED = "unconfirmed"
    CONTRADICTED = "contradicted"
    GIVEN_UP = "given up"
    REFUSED = "refused"
    REPORTED = "reported"


UNANSWERED = (
    LookUpState.WAITING,
    LookUpState.ASKING,
    LookUpState.FAILED,
    LookUpState.GIVEN_UP,
)
FILLED_IN = (LookUpState.FILLED, LookUpState.JOINED)


class JoinedPaper(msgspec.Struct, frozen=True):
    """A stored paper that an answer proved to be the same: its records (source, raw id).

    `unsent` is whether it had been in no digest then: apart again, it is news.
    """

    records: tuple[tuple[str, str], ...]
    unsent: bool


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer of a service about a paper, and its effect.

    Of a paper that a reader saved, only `work`, `changes` and `error` are set.
    """

    # The record that may be of the paper, also if it fills nothing in.
    record: Paper | None = None
    # The common ground of record and paper, beside the title.
    evidence: tuple[Evidence, ...] = ()
    # The names of the fields that the record filled in.
    fields: tuple[str, ...] = ()
    # The schemes of the identifiers that it filled in.
    schemes: tuple[str, ...] = ()
    # The findings that speak against a contradicted answer.
    reasons: Reasons = ()
    # The number of a stored paper that has an identifier of the answer, and is another work.
    other: int | None = None
    # Why the last attempt brought no answer, "" once there is one.
    error: str = ""
    # The records of this paper before it was joined with one that has an identifier of the answer.
    joined: JoinedPaper | None = None
    # The record of the paper when the service was first to be asked about it: changes are those
    # since.
    work: Paper | None = None
    # All changes that the last answer reports, also those of earlier answers.
    changes: tuple[ReferenceEvent, ...] = ()
    # The service whose earlier answer contradicts this one, else "".
    service: str = ""


class LookUp(msgspec.Struct, frozen=True):
    """How far one service was asked about one paper."""

    paper_id: int
    service: str
    state: LookUpState
    attempts: int
    asked_at: datetime | None
    due_at: datetime | None
    owner: str
    answered: Answered


class FollowedAt(msgspec.Struct, frozen=True):
    """The last answer of a service about a paper that a reader saved: when, and which changes.

    `error` is why there is no answer, "" where there is one.
    """

    service: str
    asked: datetime
    changes: tuple[str, ...]
    error: str


def followed_at(look_ups: Iterable[LookUp]) -> tuple[FollowedAt, ...]:
    """Return what services that were asked said of one paper that a reader saved."""
    return tuple(
        FollowedAt(
            one.service,
            one.asked_at,
            tuple(dict.fromkeys(change.change_name for change in one.answered.changes)),
            one.answered.error,
        )
        for one in look_ups
        if one.asked_at
    )


class Filled(msgspec.Struct, frozen=True):
    """The fields that a service filled in, when, and by what its record was recognised."""

    service: str
    when: datetime
    fields: tuple[str, ...]
    how: tuple[Evidence, ...]


def filled_by(look_ups: Sequence[LookUp]) -> tuple[Filled, ...]:
    """Return what look-ups of one paper filled in."""
    return tuple(
        Filled(
            one.service,
            one.asked_at,
            (*one.answered.fields, *one.answered.schemes),
            one.answered.evidence,
        )
        for one in look_ups
        if one.state in FILLED_IN and one.asked_at
    )


def notes_of(look_ups: Iterable[LookUp]) -> Iterator[SiteNote]:
    """Yield what sites said beside the records by which papers were filled in."""
    for one in look_ups:
        record = one.answered.record
        if one.state in FILLED_IN and record and record.site_note:
            yield record.site_note
