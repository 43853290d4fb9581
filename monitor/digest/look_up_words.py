"""The words about what services answered of a paper, for the terminal and pages."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.digest.about import join_words
from monitor.identity.reasons import describe
from monitor.model.look_up import FILLED_IN, Evidence, Filled, FollowedAt, LookUp, LookUpState
from monitor.model.paper_fields import READABLE_NAMES

# Schemes of identifiers as people know them.
_SCHEMES = {
    "arxiv": "arXiv id",
    "doi": "DOI",
    "pmid": "PMID",
    "pmcid": "PMC id",
    "openalex": "OpenAlex id",
    "s2": "Semantic Scholar id",
}
_HOW = {
    Evidence.IDENTIFIER: "its identifier",
    Evidence.AUTHOR: "its authors",
    Evidence.ABSTRACT: "its abstract",
    Evidence.OTHER_SERVICE: "the answer of another service",
}
_STATES = {
    LookUpState.WAITING: "to be asked",
    LookUpState.ASKING: "being asked",
    LookUpState.FAILED: "no answer yet",
    LookUpState.KNOWN: "has nothing to add",
    LookUpState.NOT_FOUND: "does not have it",
    LookUpState.UNCONFIRMED: "has a paper of this title, with nothing else to tell it by",
    LookUpState.CONTRADICTED: "has a paper of this title that is another one",
    LookUpState.GIVEN_UP: "did not answer",
    LookUpState.REFUSED: "taken out by hand",
}


def describe_filled(filled: Filled) -> str:
    """Return what was filled in and how: `link and authors, by its abstract`."""
    names = dict.fromkeys(
        READABLE_NAMES.get(name) or _SCHEMES.get(name, name) for name in filled.fields
    )
    how = join_words([_HOW[evidence] for evidence in filled.how])
    return f"{join_words(list(names))}{', by ' if how else ''}{how}"


def describe_look_up(look_up: LookUp, titles: Mapping[str, str]) -> str:
    """Return what became of asking a service: `arXiv: link and authors, by its abstract`."""
    title = titles.get(look_up.service, look_up.service)
    answered = look_up.answered
    if look_up.state in FILLED_IN and look_up.asked_at:
        names = (*answered.fields, *answered.schemes)
        filled = Filled(look_up.service, look_up.asked_at, names, answered.evidence)
        joined = "; joined with another paper" if answered.joined else ""
        return f"{title}: {describe_filled(filled)}{joined}"
    because = ""
    if look_up.state is LookUpState.CONTRADICTED:
        because = f", paper {answered.other}" if answered.other else ""
        if answered.service:
            because += f" than that of {titles.get(answered.service, answered.service)}"
        because += f" ({describe(answered.reasons)})" if answered.reasons else ""
    elif answered.error:
        because = f": {answered.error}"
    return f"{title}: {_STATES[look_up.state]}{because}"


def describe_followed(answer: FollowedAt, titles: Mapping[str, str]) -> str:
    """Return what a service said of a paper that a reader saved: `Crossref: retracted`."""
    said = join_words(list(answer.changes)) or "nothing new"
    if answer.error:
        said = f"{said if answer.changes else 'no answer'} ({answer.error})"
    return f"{titles.get(answer.service, answer.service)}: {said}"
