"""Starting: a demo of sample dumps, a commented configuration, and the one in use."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from os.path import relpath
from pathlib import Path

import typer
import yaml
from rich.text import Text

from monitor.app import load_settings, open_app
from monitor.cli.options import CONFIG, AsJson, Call, Config, Now, finish, flag, full_command
from monitor.cli.terminal import console, file_link, open_pages, print_error, reading, show_table
from monitor.cli.work import Failures, all_sent, reason, runs_ok
from monitor.clocks import clock_at
from monitor.config import load, masked, starter
from monitor.errors import UsageError
from monitor.log import set_up_logging
from monitor.model import Run
from monitor.pipeline.flow import DigestReport
from monitor.private_files import create_file, make_folder
from monitor.resources import resource
from monitor.store.papers.papers import count


def demo(
    directory: Path = typer.Argument(Path("demo"), metavar="DIR"),
    open_: bool = flag("--open", "Open the digests in a browser."),
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    set_up_logging()
    with reading() as on_progress:
        runs, sent, papers, failed = play(directory, now, on_progress)
    new = sum(run.new for run in runs)
    digests = [
        {"subscription": digest.subscription, "papers": digest.papers, "path": _page(digest)}
        for digest in sent
    ]
    document = {"papers": papers, "new": new, "digests": digests}
    index = (directory / "pages" / "index.html").resolve()
    Call(as_json=as_json).answer(document, _show, runs if new else (), sent, papers, failed, index)
    if open_:
        open_pages([str(index)])
    finish(runs_ok(runs) and not failed and all_sent(sent))


def play(
    directory: Path, now: datetime | None, on_progress: Callable[[Run], None] | None = None
) -> tuple[Sequence[Run], Sequence[DigestReport], int, Failures]:
    """Lay the seeds and their configuration into `directory` and run them; again is harmless.

    Returns the runs, the digests that have papers, how many papers are stored, and what failed.
    Raises UsageError for the folder of another installation, and OSError.
    """
    make_folder(directory)
    seeds = {seed.name: seed for seed in resource("seeds").iterdir() if seed.is_file()}
    there = {name for name in seeds if (directory / name).exists()}
    file = directory / "monitor.yaml"
    if there == {file.name} and file.read_bytes() != seeds[file.name].read_bytes():
        raise UsageError(f"{directory} has a {file.name} of its own", "choose another folder")
    for name in sorted(seeds.keys() - there):
        shutil.copyfile(seeds[name], directory / name)
    failed: Failures = {}
    with open_app(load(file), clock_at(now)) as app:
        runs = app.once.ingest((), on_progress)
        names = [*app.settings.subscriptions]
        sent = app.once.digest(names, early=True, failed=failed)
        with app.runtime.database.reading() as tx:
            return runs, [digest for digest in sent if digest.papers], count(tx), failed


def _page(digest: DigestReport) -> str | None:
    """Return the page of a digest; None where a changed demo writes none."""
    pages = (delivery.reference for delivery in digest.deliveries)
    return next((page for page in pages if Path(page).is_file()), None)


def _show(
    runs: Sequence[Run], sent: Sequence[DigestReport], papers: int, failed: Failures, index: Path
) -> None:
    """Show `runs`, none where nothing is new, and the pages of the digests beside `index`."""
    console.print()
    if runs:
        rows = [(run.document or run.source, run.seen, run.new, run.known) for run in runs]
        show_table(("Dump", "Seen", "New", "Known"), rows)
    else:
        console.print(f"No new papers: all {papers:,} were read before.\n")
    pages = [
        (digest.subscription, digest.papers, relpath(page, index.parents[1]) if page else None)
        for digest, page in ((digest, _page(digest)) for digest in sent)
    ]
    show_table(("Subscription", "Papers", "Page"), pages)
    for name, fault in failed.items():
        print_error(f"{name} failed", reason(fault))
    if index.exists():
        console.print("Open this page in a browser:")
        console.print(Text("  ").append(file_link(str(index), "bold")), soft_wrap=True)
        console.print("or run `paper-monitor serve` there and open the address that it prints.")


def init(directory: Path = typer.Argument(Path(), metavar="DIR"), as_json: AsJson = False) -> None:
    target = directory / "monitor.yaml"
    if target.exists():
        raise UsageError(f"{target} already exists", "it is left unchanged; choose another folder")
    make_folder(directory / "dumps")
    with create_file(target) as file:
        file.write(starter().encode())
    wrote = f"Wrote {target}. Put a dump into {directory / 'dumps'}/ and then:"
    Call(as_json=as_json).answer({"path": str(target)}, f"{wrote}\n  {full_command('run', target)}")


def config(config: Config = CONFIG, as_json: AsJson = False) -> None:
    settings = masked(load_settings(config))
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    Call(as_json=as_json).answer(settings, lambda: console.print(text, end="", markup=False))
