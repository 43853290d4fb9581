"""Which of the stored papers are wanted, beside what a query says."""

from __future__ import annotations

from datetime import datetime

import msgspec

from monitor.model.identity import ChangeKind


class PaperFilter(msgspec.Struct, frozen=True):
    """Papers that a source has, that a topic matched, that had news of a kind.

    They were first seen from `since` on and before `until`. What is empty excludes nothing.
    """

    source: str = ""
    topic: str = ""
    kind: ChangeKind | None = None
    since: datetime | None = None
    until: datetime | None = None
