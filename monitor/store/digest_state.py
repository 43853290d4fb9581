"""Conditions on the state of digests and deliveries, for the queries of other modules."""

from __future__ import annotations

import sqlalchemy as sa

from monitor.model import DeliveryState
from monitor.store import schema

# A delivery in one of these states reached somebody, may have, or is about to. So may one whose
# hand-off had no clear outcome, whatever its state is now (`handed_off_at`).
REACHED = (
    DeliveryState.SENT,
    DeliveryState.UNKNOWN,
    DeliveryState.HANDING_OFF,
    DeliveryState.CLAIMED,
)

_digest = schema.digest.c
_delivery = schema.delivery.c


def reaches_recipient() -> sa.ColumnElement[bool]:
    """Whether a delivery reached somebody, or may have."""
    return sa.or_(_delivery.state.in_(REACHED), _delivery.handed_off_at.is_not(None))


def reaches_anyone(digest_id: sa.ColumnElement[int]) -> sa.Exists:
    """Whether a digest reached somebody."""
    one = (_delivery.digest_id == digest_id, reaches_recipient())
    return sa.select(_delivery.id).where(*one).exists()


def has_content() -> sa.ColumnElement[bool]:
    """Whether a digest has content. One of a quiet day records that nothing was sent."""
    planned = sa.select(_delivery.id).where(_delivery.digest_id == _digest.id)
    return sa.or_(_digest.papers > 0, planned.exists())


def stands() -> sa.ColumnElement[bool]:
    """Whether a digest is not superseded, and in its state never will be."""
    kept = sa.or_(reaches_anyone(_digest.id), ~has_content())
    return sa.and_(_digest.superseded_at.is_(None), kept)
