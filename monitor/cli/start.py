"""Starting: a demo of sample dumps, a commented configuration, and the one in use."""

from __future__ import annotations

from os.path import relpath
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.text import Text

from monitor.app import load_settings
from monitor.cli.options import (
    CONFIG,
    AsJson,
    Config,
    Now,
    answer,
    finish,
    flag,
    full_command,
    parse_now,
)
from monitor.cli.terminal import console, file_link, open_pages, print_error, reading, show_table
from monitor.config import masked, starter
from monitor.demo import Played
from monitor.demo import demo as play
from monitor.errors import UsageError
from monitor.log import set_up_logging
from monitor.private_files import create_file, make_folder


def demo(
    directory: Annotated[Path, typer.Argument(metavar="DIR")] = Path("demo"),
    open_: Annotated[bool, flag("--open", "Open the digests in a browser.")] = False,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    set_up_logging()
    with reading(quiet=as_json) as on_progress:
        played = play(directory, parse_now(now), on_progress)
    answer(as_json, played.json(), _show, played)
    if open_:
        open_pages([str(played.index)])
    finish(played.ok)


def _show(played: Played) -> None:
    console.print()
    if played.new:
        rows = [(run.document or run.source, run.seen, run.new, run.known) for run in played.runs]
        show_table(("Dump", "Seen", "New", "Known"), rows)
    else:
        console.print(f"No new papers: all {played.papers:,} were read before.\n")
    if played.sent:
        digests = []
        for digest in played.sent:
            page = played.page(digest)
            shown = relpath(page, played.folder) if page else None
            digests.append((digest.subscription, digest.papers, shown))
        show_table(("Subscription", "Papers", "Page"), digests)
    for name, error in played.failed:
        print_error(f"{name} failed", error)
    if played.index.exists():
        console.print("Open this page in a browser:")
        console.print(Text("  ").append(file_link(str(played.index), "bold")), soft_wrap=True)
        console.print("or run `paper-monitor serve` there and open the address that it prints.")


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR")] = Path(),
    as_json: AsJson = False,
) -> None:
    target = directory / "monitor.yaml"
    if target.exists():
        raise UsageError(f"{target} already exists", "it is left unchanged; choose another folder")
    make_folder(directory / "dumps")
    with create_file(target) as file:
        file.write(starter().encode())
    wrote = f"Wrote {target}. Put a dump into {directory / 'dumps'}/ and then:"
    answer(as_json, {"path": str(target)}, f"{wrote}\n  {full_command('run', target)}")


def config(config: Config = CONFIG, as_json: AsJson = False) -> None:
    settings = masked(load_settings(config))
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    answer(as_json, settings, lambda: console.print(text, end="", markup=False))
