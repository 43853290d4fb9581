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
from monitor.model.day_counts import DayCount, UsualCount
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
    AboutSubscription,
    Digest,
    DigestPaper,
    DigestSection,
    Formula,
    Notice,
    OtherTitle,
    Placed,
    Rendered,
    SectionRule,
    SourceLabel,
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
from monitor.model.judgements import (
    SAVED,
    UNJUDGED,
    UNWANTED,
    WANTED,
    Judgement,
    Verdict,
)
from monitor.model.paper_filters import PaperFilter
from monitor.model.revisions import EarlierText, Revision
from monitor.model.shares import share_places
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
    "AboutSubscription",
    "Candidate",
    "Change",
    "ChangeKind",
    "Channel",
    "Clock",
    "DayCount",
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
    "EarlierText",
    "Effect",
    "FirstRun",
    "Formula",
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
    "PaperFilter",
    "Placed",
    "Reading",
    "Rejected",
    "Rendered",
    "Revision",
    "Run",
    "RunOutcome",
    "SearchExpr",
    "SectionRule",
    "Sighting",
    "SightingText",
    "SourceDay",
    "SourceLabel",
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
    "UsualCount",
    "Verdict",
    "best_papers",
    "share_places",
]
