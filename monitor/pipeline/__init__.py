"""The flow. Stages meet only in tables, and each can be run again without harm.

sources ─> diff ─> [papers, changes] ─> match ─> [matches] ─> compose ─> [outbox] ─> deliver
bytes to   same                         which                 what, in               mail,
papers     paper?                       topics                what form              Slack, file

ingest(source)  One run for each document, its row committed before the fetch; fetching and
                parsing happen outside any transaction; each chunk of papers is one.
match()         Changes not yet matched meet the topics in force; a new topic looks back.
compose()       What is due is composed with no transaction open, then frozen in a short one.
deliver()       A short transaction claims; the send has none open, but for the commit just
                before the last byte; a short transaction records the outcome at once.
"""

from monitor.pipeline.active_config import InForce
from monitor.pipeline.cleanup import upkeep
from monitor.pipeline.compose import (
    chosen,
    compose,
    log_failure,
    raise_store_error,
)
from monitor.pipeline.deliver import are_open, deliver, deliver_line
from monitor.pipeline.dry_run import rehearse
from monitor.pipeline.freeze import OnFailure
from monitor.pipeline.incidents import note_outage
from monitor.pipeline.ingest import ingest, is_being_read, is_due
from monitor.pipeline.match import match, sync_subscriptions
from monitor.pipeline.notices import notify
from monitor.pipeline.runtime import (
    OPERATOR,
    ConfiguredSource,
    Destination,
    Retention,
    Runtime,
    Subscription,
)
from monitor.pipeline.search_index import make_searchable
from monitor.pipeline.settle_deliveries import is_handed_off_again, resolve

__all__ = [
    "OPERATOR",
    "ConfiguredSource",
    "Destination",
    "InForce",
    "OnFailure",
    "Retention",
    "Runtime",
    "Subscription",
    "are_open",
    "chosen",
    "compose",
    "deliver",
    "deliver_line",
    "ingest",
    "is_being_read",
    "is_due",
    "is_handed_off_again",
    "log_failure",
    "make_searchable",
    "match",
    "note_outage",
    "notify",
    "raise_store_error",
    "rehearse",
    "resolve",
    "sync_subscriptions",
    "upkeep",
]
