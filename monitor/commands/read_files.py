"""`read`: documents as one kind of source would read them; nothing is stored."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from monitor import plugins
from monitor.clocks import clock_at
from monitor.errors import MonitorError, UsageError
from monitor.model import Reading
from monitor.sources import sandbox
from monitor.sources.base import Source, SourceOptions, read_file


def read(
    kind: str, files: Sequence[Path], config: Path, now: datetime | None
) -> list[tuple[Path, Reading]]:
    """Read each file as `kind`, or as the configured source of that name, would.

    A file that cannot be had is a reading with an error, and the others go on. Raises
    UsageError for what is neither a kind nor a source, ConfigError for a faulty configuration.
    """
    source = _source(kind, config, now)
    gc.set_threshold(sandbox.GC_THRESHOLD)
    return [(file, _read(source, file)) for file in files]


def _read(source: Source, file: Path) -> Reading:
    try:
        return sandbox.read(source, read_file(file))
    except MonitorError as fault:
        return Reading(error=str(fault), complete=False)


def _only(kind: type[Source], preset: str) -> SourceOptions:
    """Return the settings of a kind that is named alone, or with one of its presets."""
    try:
        return kind.Options.model_validate({"path": "-"} | ({"preset": preset} if preset else {}))
    except ValueError:
        if preset:
            raise UsageError(f"the kind {kind.kind!r} has no preset {preset!r}") from None
        hint = "configure a source of it, and name that source"
        raise UsageError(f"the kind {kind.kind!r} needs settings to read with", hint) from None


def _source(kind: str, config: Path, now: datetime | None) -> Source:
    clock = clock_at(now)
    name, _, preset = kind.partition(":")
    if name in plugins.source_kinds():
        source_class = plugins.source_class(name)
        return source_class(name, _only(source_class, preset), None, clock.now)
    if not config.exists():
        kinds = ", ".join(sorted(plugins.source_kinds()))
        raise UsageError(f"{kind!r} is not a kind of source", f"there are: {kinds}")
    from monitor.app import load_settings

    settings = load_settings(config)
    if kind not in settings.sources:
        names = ", ".join(sorted({*plugins.source_kinds(), *settings.sources}))
        raise UsageError(
            f"{kind!r} is neither a kind of source nor a source in {config}", f"there are: {names}"
        )
    configured = settings.sources[kind]
    return plugins.source_class(configured.kind)(kind, configured.options, None, clock.now)
