"""Attempts to log in to the pages, for a limit that holds across restarts and processes."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Transaction

# So many attempts from one address in an hour.
MOST, HOUR = 20, timedelta(hours=1)

_attempt = schema.login_attempt.c


def may_try(tx: Transaction, address: str, now: datetime) -> bool:
    """Record an attempt, and return whether it is not one too many. Older ones are deleted."""
    own = sha256(address.encode()).hexdigest()
    tx.execute(sa.delete(schema.login_attempt).where(_attempt.at <= now - HOUR))
    tried = sa.select(sa.func.count()).where(_attempt.address == own)
    if (tx.scalar(tried) or 0) >= MOST:
        return False
    tx.execute(sa.insert(schema.login_attempt).values(address=own, at=now))
    return True
