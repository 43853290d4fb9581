"""The values that pass between the stages: frozen, one for each boundary.

    Document -> Reading(Paper, Rejected)          a source reads; a Dump in DumpChunks
    IncomingPaper, Candidate -> Decision          diff decides
    Change, StoredPaper, Topic -> MatchRow        match finds
    UnsentMatch -> Digest -> Rendered             digest composes, a channel renders
    Delivery -> Outcome                           a channel sends

Every `datetime` is aware and in UTC unless its name says local.
"""

from monitor.model.delivery import Delivery as Delivery
from monitor.model.delivery import DeliveryState as DeliveryState
from monitor.model.delivery import Outcome as Outcome
from monitor.model.delivery import State as State
from monitor.model.delivery import Step as Step
from monitor.model.delivery import Suppression as Suppression
from monitor.model.digests import AboutSubscription as AboutSubscription
from monitor.model.digests import Digest as Digest
from monitor.model.digests import DigestPaper as DigestPaper
from monitor.model.digests import DigestSection as DigestSection
from monitor.model.digests import Formula as Formula
from monitor.model.digests import Json as Json
from monitor.model.digests import ListedDigest as ListedDigest
from monitor.model.digests import Notice as Notice
from monitor.model.digests import OtherTitle as OtherTitle
from monitor.model.digests import Placed as Placed
from monitor.model.digests import ReferenceChange as ReferenceChange
from monitor.model.digests import ReferenceEvent as ReferenceEvent
from monitor.model.digests import Rendered as Rendered
from monitor.model.digests import ReturnedPaper as ReturnedPaper
from monitor.model.digests import SectionRule as SectionRule
from monitor.model.digests import SourceLabel as SourceLabel
from monitor.model.digests import SourceReport as SourceReport
from monitor.model.digests import SourceWarning as SourceWarning
from monitor.model.digests import Templates as Templates
from monitor.model.digests import TopicWhy as TopicWhy
from monitor.model.digests import UnsentMatch as UnsentMatch
from monitor.model.digests import WithdrawnBy as WithdrawnBy
from monitor.model.digests import best_papers as best_papers
from monitor.model.digests import share_places as share_places
from monitor.model.identity import FILLED as FILLED
from monitor.model.identity import Authority as Authority
from monitor.model.identity import Candidate as Candidate
from monitor.model.identity import ChangeKind as ChangeKind
from monitor.model.identity import Claim as Claim
from monitor.model.identity import Decision as Decision
from monitor.model.identity import EarlierText as EarlierText
from monitor.model.identity import Effect as Effect
from monitor.model.identity import IncomingPaper as IncomingPaper
from monitor.model.identity import Revision as Revision
from monitor.model.identity import Sighting as Sighting
from monitor.model.identity import SightingText as SightingText
from monitor.model.identity import StoredPaper as StoredPaper
from monitor.model.paper import COMMENT as COMMENT
from monitor.model.paper import CONCERN as CONCERN
from monitor.model.paper import CORRECTION as CORRECTION
from monitor.model.paper import LIST_AGE as LIST_AGE
from monitor.model.paper import REPORT as REPORT
from monitor.model.paper import RETRACTION as RETRACTION
from monitor.model.paper import Bound as Bound
from monitor.model.paper import ListedDay as ListedDay
from monitor.model.paper import Month as Month
from monitor.model.paper import Paper as Paper
from monitor.model.paper import arxiv_month as arxiv_month
from monitor.model.paper import record_of as record_of
from monitor.model.sources import AskedWorks as AskedWorks
from monitor.model.sources import DayCount as DayCount
from monitor.model.sources import Document as Document
from monitor.model.sources import Dump as Dump
from monitor.model.sources import DumpChunk as DumpChunk
from monitor.model.sources import DumpCursor as DumpCursor
from monitor.model.sources import DumpReading as DumpReading
from monitor.model.sources import FirstRun as FirstRun
from monitor.model.sources import Reading as Reading
from monitor.model.sources import Rejected as Rejected
from monitor.model.sources import Role as Role
from monitor.model.sources import Run as Run
from monitor.model.sources import RunOutcome as RunOutcome
from monitor.model.sources import SourceDay as SourceDay
from monitor.model.sources import UndecidedRecord as UndecidedRecord
from monitor.model.sources import UsualCount as UsualCount
from monitor.model.sources import fill_days as fill_days
from monitor.model.topics import SAVED as SAVED
from monitor.model.topics import UNJUDGED as UNJUDGED
from monitor.model.topics import UNWANTED as UNWANTED
from monitor.model.topics import WANTED as WANTED
from monitor.model.topics import Change as Change
from monitor.model.topics import Judgement as Judgement
from monitor.model.topics import Keyword as Keyword
from monitor.model.topics import Keywords as Keywords
from monitor.model.topics import MatchReason as MatchReason
from monitor.model.topics import MatchRow as MatchRow
from monitor.model.topics import PaperFilter as PaperFilter
from monitor.model.topics import SearchExpr as SearchExpr
from monitor.model.topics import Topic as Topic
from monitor.model.topics import Verdict as Verdict
from monitor.model.topics import merge_spans as merge_spans
