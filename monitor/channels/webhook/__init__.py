"""The channel `kind: webhook`: digests as JSON, posted and signed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from monitor.resources import resource

FOLDER = "webhook"
SUFFIX = ".json.j2"


def template_names(folders: Iterable[Path] = ()) -> set[str]:
    """Return the names of the built-in templates, and of those in some folders of templates."""
    return {
        path.name.removesuffix(SUFFIX)
        for folder in (resource("templates"), *folders)
        for path in (folder / FOLDER).glob(f"*{SUFFIX}")
    }
