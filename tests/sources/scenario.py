"""Helpers of the source tests: a clock that stands still, documents, and the recorded samples."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.model import Document, Reading
from monitor.sources.base import Source, SourceOptions

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
SAVED = datetime(2025, 3, 20, 12, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "fixtures"


def opened(kind: type[Source], now: datetime = NOW) -> Source:
    return kind("daily", SourceOptions(path="dumps/*"), None, lambda: now)


def read(
    kind: type[Source],
    content: bytes,
    *,
    at: datetime = SAVED,
    now: datetime = NOW,
    url: str = "",
    content_type: str = "",
) -> Reading:
    document = Document("page", content, at, content_type=content_type, url=url)
    return opened(kind, now).read(document)


def samples(folder: str) -> Path:
    """Return a folder of recorded documents, which lie beside the project and not in it."""
    place = ROOT.parent / "shared" / "samples" / folder
    if not place.is_dir():
        pytest.skip(f"NOT CHECKED: no recorded documents in {place}")
    return place
