"""Documents as a kind of source reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.markup import escape

from monitor.cli.options import CONFIG, AsJson, Config, Now, argument, emit, finish, parse_now
from monitor.cli.terminal import show_table, stderr
from monitor.commands import read_files
from monitor.commands.json_output import Answer, pick, read_paper
from monitor.model import Reading, record_of

Readings = Sequence[tuple[Path, Reading]]


def read(
    kind: Annotated[str, argument("KIND", "A kind of source, or the name of a configured source.")],
    files: Annotated[list[Path], argument("FILE")],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    readings = read_files.read(kind, files, config, parse_now(now))
    if as_json:
        emit(_json(kind, readings))
    else:
        _show(readings)
    finish(not any(reading.error for _, reading in readings))


def _json(kind: str, readings: Readings) -> Answer:
    return {
        "documents": [
            {
                "file": str(file),
                "error": reading.error or None,
                "papers": [read_paper(record_of(paper, kind)) for paper in reading.papers],
                "rejected": [pick(part, "where why") for part in reading.rejected],
            }
            for file, reading in readings
        ]
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
