"""Helpers of the source tests: a clock that stands still, and documents."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from monitor.model import Document, Paper, Reading
from monitor.sources.base import Source

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
SAVED = datetime(2025, 3, 20, 12, tzinfo=UTC)
FIXTURES = Path(__file__).parent / "fixtures"


def opened(kind: type[Source], now: datetime = NOW) -> Source:
    return kind("daily", kind.Options(path="dumps/*"), None, lambda: now)


def read(
    kind: type[Source],
    content: bytes | str,
    *,
    at: datetime = SAVED,
    now: datetime = NOW,
    url: str = "",
    content_type: str = "",
) -> Reading:
    data = content.encode() if isinstance(content, str) else content
    document = Document("page", data, at, content_type=content_type, url=url)
    return opened(kind, now).read(document)


def only(kind: type[Source], content: object) -> Paper:
    """Return the one paper of a document: bytes, a text, or a value of JSON."""
    text = content if isinstance(content, bytes | str) else json.dumps(content)
    (paper,) = read(kind, text).papers
    return paper
