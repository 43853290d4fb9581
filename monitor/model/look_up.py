"""Looking up at services what the record of a paper does not say."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from monitor.model.paper import Paper


class Lack(StrEnum):
    """What a paper is looked up for."""

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
    """What a record has in common with a paper, beside its title."""

    IDENTIFIER = "identifier"
    AUTHOR = "author"
    ABSTRACT = "abstract"
    OTHER_SERVICE = "other service"


class LookUpOutcome(StrEnum):
    """What the answer of a service says about a paper.

    `UNCONFIRMED` is a record with the same title, and nothing else that both have; `CONTRADICTED`
    one that the paper, or what another service answered, speaks against.
    """

    FOUND = "found"
    NOT_FOUND = "not found"
    UNCONFIRMED = "unconfirmed"
    CONTRADICTED = "contradicted"
