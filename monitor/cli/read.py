"""`read`: documents as a kind of source would read them; nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.markup import escape

from monitor import plugins
from monitor.app import load_settings
from monitor.cli.options import CONFIG, Call, argument, finish, flag
from monitor.cli.terminal import show_table, stderr
from monitor.clocks import clock_at
from monitor.commands.json_output import read_paper
from monitor.digest.paper_json import Answer, pick
from monitor.errors import MonitorError, UsageError
from monitor.model import Reading, record_of
from monitor.sources import sandbox
from monitor.sources.base import Source, SourceOptions
from monitor.sources.files import read_file

Readings = Sequence[tuple[Path, Reading]]


def read(
    call: Call,
    kind: str = argument("KIND", "A kind of source, or the name of a configured source."),
    files: list[Path] = argument("FILE"),
    force: bool = flag("--force", "Read a file that is hardly a list of papers, too."),
) -> None:
    readings = read_files(kind, files, call.config, call.now, force=force)
    documents = [_document(kind, *pair) for pair in readings] if call.as_json else []
    call.answer({"documents": documents}, _show, readings)
    finish(not any(reading.error for _, reading in readings))


def _document(kind: str, file: Path, reading: Reading) -> Answer:
    return {
        "file": str(file),
        "error": reading.error or None,
        "papers": [read_paper(record_of(paper, kind)) for paper in reading.papers],
        "rejected": [pick(part, "where why") for part in reading.rejected],
    }


def _show(readings: Readings) -> None:
    rows = [
        (file, len(reading.papers), len(reading.rejected), reading.error)
        for file, reading in readings
    ]
    show_table(("File", "Papers", "Rejected", "Error"), rows)
    for file, reading in readings:
        for part in reading.rejected:
            stderr.print(f"{escape(str(file))}, {escape(part.where)}: {escape(part.why)}")


def read_files(
    kind: str,
    files: Sequence[Path],
    config: Path = CONFIG,
    now: datetime | None = None,
    *,
    force: bool = False,
) -> Readings:
    """Read each file as `kind`, or as the configured source of that name, would.

    A file that cannot be read, or is probably no list of papers unless with `force`, is a reading
    with an error. Raises UsageError and ConfigError.
    """
    source = _source(kind, config, now)
    return [(file, _read(source, file, force=force)) for file in files]


def _read(source: Source, file: Path, *, force: bool) -> Reading:
    try:
        reading = sandbox.read(source, read_file(file))
    except MonitorError as fault:
        return Reading(error=str(fault), complete=False)
    if reading.doubt and not force:
        error = f"{reading.doubt} (--force reads it all the same)"
        return Reading(rejected=reading.rejected, error=error, complete=False)
    return reading


def _source(name: str, config: Path, now: datetime | None) -> Source:
    clock = clock_at(now)
    kinds = plugins.SOURCES.names()
    kind, _, preset = name.partition(":")
    if kind in kinds:
        source_class = plugins.SOURCES.load(kind)
        return source_class(kind, _options(source_class, preset), None, clock.now)
    sources = load_settings(config).sources if config.exists() else {}
    if name not in sources:
        hint = plugins.SOURCES.hint(name, sources)
        raise UsageError(f"{name!r} is neither a kind of source nor a source in {config}", hint)
    source = sources[name]
    return plugins.SOURCES.load(source.kind)(name, source.options, None, clock.now)


def _options(kind: type[Source], preset: str) -> SourceOptions:
    """Return the settings of a kind that is named alone, or with one of its presets."""
    try:
        return kind.Options.model_validate({"path": "-"} | ({"preset": preset} if preset else {}))
    except ValueError:
        if preset:
            raise UsageError(f"the kind {kind.kind!r} has no preset {preset!r}") from None
        hint = "configure a source of it, and name that source"
        raise UsageError(f"the kind {kind.kind!r} needs settings to read with", hint) from None
