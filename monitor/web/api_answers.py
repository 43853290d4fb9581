"""JSON Schemas of the answers at `/api/v1/`, which `json_output` makes."""

from __future__ import annotations

from typing import get_type_hints

from monitor.commands import json_output
from monitor.commands.explain import Explanation, SentDigest
from monitor.commands.like_trial import LikeTrial, NearPaper, NearTopic
from monitor.commands.references import Reference
from monitor.commands.services import EmbeddingStatus, SavedStatus, ServiceStatus
from monitor.commands.status import SourceStatus, Status, SubscriptionStatus
from monitor.commands.subscriptions import SubscriptionReport, TopicReport
from monitor.digest import paper_json
from monitor.model import Delivery, Judgement, LikeWords, ListedDigest, MatchReason, Paper, Sighting
from monitor.model.delivery import Suppression
from monitor.model.look_up import Filled, FollowedAt
from monitor.model.paper import ListedDay
from monitor.model.paper_fields import IN_PAPERS, names_of
from monitor.store.papers.look_ups import JoinedBy
from monitor.store.papers.papers import Origin
from monitor.web.openapi import (
    KEYS,
    NUMBER,
    OBJECT,
    TEXT,
    Schema,
    array,
    fixed,
    or_null,
    picked,
    schema_of,
)

_DAY: Schema = {"type": "string", "format": "date"}
_TIME: Schema = {"type": "string", "format": "date-time"}


def _fields() -> dict[str, Schema]:
    """Return the schemas of the fields of a paper, as `json_output` names them."""
    hints = get_type_hints(Paper)
    fields = {name: schema_of(hints[name]) for name in names_of(IN_PAPERS)}
    fields["published"] = or_null(_DAY)
    fields["published_month"] = or_null(TEXT)
    fields["listed"] = array(fixed(picked(ListedDay, paper_json.OF_LISTED_DAY)))
    del fields["upvotes"]
    fields |= {"lists": NUMBER, "votes": or_null(NUMBER), "keys": KEYS}
    return fields | {"links": array(fixed({"kind": TEXT, "url": TEXT}))}


_FILLED = array(fixed(picked(Filled, json_output.OF_FILLED)))
_PAPER = {
    "id": NUMBER,
    **_fields(),
    "line": or_null(fixed({"text": TEXT, "by": TEXT})),
    "filled": _FILLED,
    "first_seen": _TIME,
    "sources": array(fixed(picked(Sighting, json_output.OF_SOURCE))),
}
_FOLLOWED = array(fixed(picked(FollowedAt, json_output.OF_FOLLOWED) | {"error": or_null(TEXT)}))
_SAVES = array(fixed(picked(Judgement, json_output.OF_SAVE)))
_RATED = {"paper": NUMBER, "title": TEXT, **picked(Judgement, json_output.OF_RATING)}
_REFERENCE = {
    **picked(Reference, "library title"),
    "file": or_null(TEXT),
    "entry": or_null(TEXT),
    "keys": KEYS,
    **{name: or_null(TEXT) for name in ("state", "since", "by")},
    **picked(Reference, "notice asked"),
}
_SIGHTING = {**picked(Sighting, f"{json_output.OF_SIGHTING} text"), "why": TEXT}
_EXPLANATION = {
    "id": NUMBER,
    **_fields(),
    "withdrawn": {"type": "boolean"},
    "first_seen": _TIME,
    "news_at": or_null(_TIME),
    "sources": array(fixed(_SIGHTING)),
    **picked(Origin, "changes"),
    "digests": array(fixed(picked(SentDigest, json_output.OF_SENT_DIGEST))),
    **picked(Explanation, json_output.OF_EXPLANATION),
    "filled": _FILLED,
    "followed": _FOLLOWED,
    "near": array(schema_of(NearTopic)),
}
_REASON = fixed(picked(MatchReason, "field words"))
_SAMPLE = fixed({"title": TEXT, "why": array(_REASON)})
_STATUS = {
    **{name: schema_of(hint) for name, hint in get_type_hints(Status).items()},
    "subscriptions": array(fixed(picked(SubscriptionStatus, json_output.OF_STATUS))),
    "problems": array(TEXT),
    "look_up": fixed(
        {
            "services": array(
                fixed(picked(ServiceStatus, json_output.OF_SERVICE) | {"error": or_null(TEXT)})
            ),
            "joined": array(schema_of(JoinedBy)),
            "saved": schema_of(SavedStatus),
        }
    ),
    "embeddings": fixed(
        picked(EmbeddingStatus, json_output.OF_EMBEDDINGS) | {"error": or_null(TEXT)}
    ),
}
OF_DIGEST = "id subscription period papers changes"
OF_DELIVERY_OF_DIGEST = "channel recipient state error"


def _one_list(name: str, items: Schema) -> Schema:
    return fixed({name: array(items)})


ADDRESSES = _one_list("addresses", fixed({"path": TEXT, "about": TEXT}))
PAPERS = _one_list("papers", fixed(_PAPER))
SAVED = _one_list("papers", fixed({**_PAPER, "saved": _SAVES, "followed": _FOLLOWED}))
RATED = _one_list("rated", fixed(_RATED))
REFERENCES = _one_list("references", fixed(_REFERENCE))
EXPLANATION = {"anyOf": [fixed(_EXPLANATION, optional=("near",)), REFERENCES]}
_PER_DAY = {"papers": NUMBER, "per_day": array(fixed({"day": _DAY, "papers": NUMBER}))}
_NEAR_PAPERS = array(fixed({**picked(NearPaper, "id title score matches"), "why": array(_REASON)}))
TRIAL = {
    "anyOf": [
        fixed(
            {
                **_PER_DAY,
                "share": {"type": "number"},
                "sample": array(_SAMPLE),
                "warnings": array(TEXT),
                "suggestions": array(OBJECT),
            }
        ),
        fixed(
            {
                **_PER_DAY,
                "looked_at": NUMBER,
                **picked(LikeTrial, "a_day"),
                **picked(LikeWords, "bar"),
                "words": array(fixed({"word": TEXT, "weight": NUMBER})),
                "line": NUMBER,
                "nearest": _NEAR_PAPERS,
                "beside_bar": _NEAR_PAPERS,
            }
        ),
    ]
}
TOPICS = _one_list("topics", schema_of(TopicReport))
SUBSCRIPTIONS = _one_list(
    "subscriptions",
    fixed({**picked(SubscriptionReport, json_output.OF_SUBSCRIPTION), "last": or_null(_TIME)}),
)
DIGESTS = _one_list(
    "digests",
    fixed(
        {
            **picked(ListedDigest, OF_DIGEST),
            "deliveries": array(fixed(picked(Delivery, OF_DELIVERY_OF_DIGEST))),
        }
    ),
)
SOURCES = _one_list("sources", schema_of(SourceStatus))
STATUS = fixed(_STATUS, optional=("suppressions", "warnings", "look_up", "embeddings"))
DELIVERIES = _one_list("deliveries", fixed(picked(Delivery, json_output.OF_DELIVERY)))
SUPPRESSIONS = _one_list("suppressions", schema_of(Suppression))
