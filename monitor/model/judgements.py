"""Readers' answers: which papers of a topic they want more of, and which less."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

Verdict = Literal["wanted", "unwanted", "unjudged"]
WANTED: Final = "wanted"
UNWANTED: Final = "unwanted"
UNJUDGED: Final = "unjudged"
# The verdict of a row about a saved paper, which counts as wanted.
SAVED = "saved"


class Judgement(msgspec.Struct, frozen=True):
    """What a person answered to a paper of a topic: `how` is where, as "command line"."""

    subscription: str
    topic: str
    paper_id: int
    who: str
    verdict: str
    at: datetime
    how: str
