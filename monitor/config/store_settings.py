"""Where everything is kept, and for how long."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo

from monitor.config.section import Section, context_of
from monitor.setting_types import Duration, Line, resolve_path

DEFAULT_STORE = "sqlite:///data/monitor.db"


class RetentionSettings(Section):
    """How long what is known is kept; papers are kept for ever unless an age or a number is set."""

    papers: Duration | None = None
    count: int | None = Field(None, ge=1)
    matches: Duration = timedelta(days=180)
    bodies: Duration = timedelta(days=90)
    runs: Duration = timedelta(days=365)


def _store(url: str, info: ValidationInfo) -> str:
    """Make a relative SQLite path absolute; the messages never show the URL."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or path in ("", ":memory:") or path.startswith("file:"):
            raise ValueError("needs a file, as in sqlite:///data/monitor.db")
        return f"sqlite:///{resolve_path(context_of(info).folder, path)}"
    if scheme in ("postgresql", "postgres", "postgresql+psycopg") and _is_address(rest):
        return f"postgresql+psycopg://{rest}"
    raise ValueError(f"should be {DEFAULT_STORE} or postgresql+psycopg://user@host/database")


def _is_address(rest: str) -> bool:
    try:
        parts = urlsplit(f"//{rest}")
        return bool(parts.path.strip("/")) and parts.port != 0
    except ValueError:
        return False


StoreUrl = Annotated[Line, AfterValidator(_store)]
