"""Refresh tokens of mail accounts, for all processes of a store."""

from __future__ import annotations

import sqlalchemy as sa

from monitor.model import Clock
from monitor.store import schema
from monitor.store.database import Database
from monitor.store.inserts import insert_or_update

_token = schema.oauth_token.c


class KeptTokens:
    """The refresh tokens that endpoints gave (`monitor.channels.email.oauth.RefreshTokens`)."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def load(self, account: str) -> str:
        with self._database.reading() as tx:
            asked = sa.select(_token.refresh_token).where(_token.account == account)
            return tx.scalar(asked) or ""

    def save(self, account: str, refresh_token: str) -> None:
        row = {
            "account": account,
            "refresh_token": refresh_token,
            "changed_at": self._clock.now(),
        }
        with self._database.writing() as tx:
            insert_or_update(tx, schema.oauth_token, [row], ["refresh_token", "changed_at"])
