"""The values that pass between the stages: frozen, one for each boundary.

    Document -> Reading(Paper, Rejected)          a source reads; a Dump in DumpChunks
    IncomingPaper, Candidate -> Decision          diff decides
    Change, StoredPaper, Topic -> MatchRow        match finds
    UnsentMatch -> Digest -> Rendered             digest composes, a channel renders
    Delivery -> Outcome                           a channel sends

Every `datetime` is aware and in UTC unless its name says local.
"""

from monitor.model.clock import (
    Clock,
    Json,
)
from monitor.model.delivery import (
    Channel,
    Delivery,
    DeliveryState,
    Outcome,
    State,
    Step,
    Suppression,
)
from monitor.model.digests import (
    Digest,
    DigestPaper,
    DigestSection,
    Notice,
    OtherTitle,
    Rendered,
    SourceReport,
    SourceWarning,
    Templates,
    TopicWhy,
    UnsentMatch,
    best_papers,
)
from monitor.model.identity import (
    Candidate,
    ChangeKind,
    Decision,
    Effect,
    IncomingPaper,
    Sighting,
    SightingText,
    StoredPaper,
)
from monitor.model.judgements import SAVED, UNJUDGED, UNWANTED, WANTED, Judgement
from monitor.model.sources import (
    COMMENT,
    CONCERN,
    CORRECTION,
    RETRACTION,
    Document,
    Dump,
    DumpChunk,
    DumpCursor,
    DumpReading,
    FirstRun,
    Paper,
    Reading,
    Rejected,
    Run,
    RunOutcome,
    SourceDay,
)
from monitor.model.topics import (
    Change,
    Keyword,
    Keywords,
    MatchReason,
    MatchRow,
    SearchExpr,
    Topic,
)

__all__ = [
    "COMMENT",
    "CONCERN",
    "CORRECTION",
    "RETRACTION",
    "SAVED",
    "UNJUDGED",
    "UNWANTED",
    "WANTED",
    "Candidate",
    "Change",
    "ChangeKind",
    "Channel",
    "Clock",
    "Decision",
    "Delivery",
    "DeliveryState",
    "Digest",
    "DigestPaper",
    "DigestSection",
    "Document",
    "Dump",
    "DumpChunk",
    "DumpCursor",
    "DumpReading",
    "Effect",
    "FirstRun",
    "IncomingPaper",
    "Json",
    "Judgement",
    "Keyword",
    "Keywords",
    "MatchReason",
    "MatchRow",
    "Notice",
    "OtherTitle",
    "Outcome",
    "Paper",
    "Reading",
    "Rejected",
    "Rendered",
    "Run",
    "RunOutcome",
    "SearchExpr",
    "Sighting",
    "SightingText",
    "SourceDay",
    "SourceReport",
    "SourceWarning",
    "State",
    "Step",
    "StoredPaper",
    "Suppression",
    "Templates",
    "Topic",
    "TopicWhy",
    "UnsentMatch",
    "best_papers",
]
