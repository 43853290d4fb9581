"""Readers' answers: which papers of a topic they want more of, and which less."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

WANTED, UNWANTED, UNJUDGED = "wanted", "unwanted", "unjudged"
# The verdict of a row about a saved paper, which counts as wanted.
SAVED = "saved"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person answered to a paper of a topic: `how` is where, as "command line"."""

    subscription: str
    topic: str
    paper_id: int
    who: str
    verdict: str
    at: datetime
    how: str
