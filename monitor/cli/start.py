"""Starting: a demo of sample dumps, and the configuration in use."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from os.path import relpath
from pathlib import Path
from zoneinfo import ZoneInfo

import typer
import yaml
from rich.markup import escape
from rich.text import Text

from monitor.app import load_settings, open_app
from monitor.cli.options import (
    CONFIG,
    AsJson,
    Call,
    Config,
    Now,
    finish,
    flag,
)
from monitor.cli.terminal import (
    console,
    file_link,
    open_pages,
    print_error,
    reading,
    show_table,
    stderr,
)
from monitor.cli.work import Failures, all_sent, reason, runs_ok
from monitor.clocks import clock_at
from monitor.commands.ratings import RaterScope, rate
from monitor.config import load, masked, sends_to
from monitor.digest.wording import format_count
from monitor.errors import UsageError
from monitor.log import set_up_logging
from monitor.model import Run
from monitor.pipeline.flow import DigestReport
from monitor.private_files import make_folder
from monitor.resources import resource
from monitor.store.papers.papers import count

# The demo rates these papers as a reader would, so that later digests show a learned order.
RATER = RaterScope("agents-team", "web-and-gui-agents")
RATED = {
    "WebArena: A Realistic Web Environment for Building Autonomous Agents": "up",
    "WebPilot: A Versatile and Autonomous Multi-Agent System for Web Task Execution with Strategic "
    "Exploration": "up",
    "Learning to Navigate the Web": "up",
    "MobileFlow: A Multimodal LLM For Mobile GUI Agent": "down",
}
# The references of a subscription, the notice that one is retracted, of the last day, and a list
# of arXiv ids: each title in it is a title of the dumps, which lack links and authors.
LIBRARY = "references.bib"
NOTICE = "notice.json"
REFERENCE_LIST = "arxiv.jsonl"
# The day on a saved page of papers.
_DAY = re.compile(r"^Mar \d\d$", re.MULTILINE)


def demo(
    directory: Path = typer.Argument(Path("demo"), metavar="DIR"),
    open_: bool = flag("--open", "Open the digests in a browser."),
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    set_up_logging()
    stderr.print(f"The demo in {escape(str(directory))}/ plays a day for each of its sample dumps.")
    with reading() as on_progress:
        runs, sent, papers, failed = play(directory, now, on_progress, _show_day)
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
    directory: Path,
    now: datetime | None,
    on_progress: Callable[[Run], None] | None = None,
    on_day: Callable[[datetime, Sequence[Run], Sequence[DigestReport]], None] | None = None,
) -> tuple[Sequence[Run], Sequence[DigestReport], int, Failures]:
    """Lay the demo into `directory`, and play a day for each of its dumps, up to today.

    Again is harmless. `on_day` is called after each day, with what was read and composed. Returns
    the runs, the digests that have papers, how many papers are stored, and what failed. Raises
    UsageError for the folder of another installation, and OSError.
    """
    make_folder(directory)
    seeds = {seed.name: seed for seed in resource("seeds").iterdir() if seed.is_file()}
    there = {name for name in seeds if (directory / name).exists()}
    file = directory / "monitor.yaml"
    if there == {file.name} and file.read_bytes() != seeds[file.name].read_bytes():
        raise UsageError(f"{directory} has a {file.name} of its own", "choose another folder")
    dumps = sorted(name for name in seeds.keys() - there if name.endswith(".txt"))
    for name in () if file.name in there else (file.name, LIBRARY, REFERENCE_LIST):
        shutil.copyfile(seeds[name], directory / name)
    settings = load(file)
    failed: Failures = {}
    runs = list[Run]()
    sent = list[DigestReport]()
    today = (now or datetime.now(UTC)).astimezone(ZoneInfo(settings.timezone))
    morning = min(today, today.replace(hour=7, minute=30, second=0, microsecond=0))
    days: list[tuple[str, datetime | None]] = [
        (dump, morning - timedelta(days=len(dumps) - n)) for n, dump in enumerate(dumps, 1)
    ]
    papers = 0
    for dump, day in days or [("", now)]:
        if dump and day:
            page = _DAY.sub(f"{day:%b} {day.day}", seeds[dump].read_text("utf-8"), count=1)
            (directory / dump).write_text(page, encoding="utf-8")
            if dump == dumps[-1]:
                shutil.copyfile(seeds[NOTICE], directory / NOTICE)
        with open_app(settings, clock_at(day)) as app:
            read = app.once.ingest((), on_progress)
            composed = app.once.digest([*settings.subscriptions], ahead=True, failed=failed)
            runs += read
            sent += composed
            for title, verdict in RATED.items() if dump else ():
                with suppress(UsageError):  # not read yet, or the topic was taken out of the file
                    rate(app.runtime, title, verdict, RATER)
            if on_day and day:
                on_day(day, read, composed)
            with app.runtime.database.reading() as tx:
                papers = count(tx)
    return runs, [digest for digest in sent if digest.papers or digest.changes], papers, failed


def _show_day(day: datetime, runs: Sequence[Run], digests: Sequence[DigestReport]) -> None:
    papers = format_count(sum(run.new for run in runs), "new paper")
    stderr.print(f"{day.day} {day:%b}: {papers}, {format_count(len(digests), 'digest')}")


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
        rows = [(run.document, run.seen, run.new, run.known) for run in runs if run.document]
        show_table(("File", "Seen", "New", "Known"), rows)
    else:
        console.print(f"No new papers: all {papers:,} were read before.\n")
    pages = [
        (digest.subscription, digest.news, relpath(page, index.parents[1]) if page else None)
        for digest, page in ((digest, _page(digest)) for digest in sent)
    ]
    show_table(("Subscription", "News", "Page"), pages)
    for name, fault in failed.items():
        print_error(f"{name} failed", reason(fault))
    if index.exists():
        console.print("Open this page in a browser:")
        console.print(Text("  ").append(file_link(str(index), "bold")), soft_wrap=True)
        console.print("or run `paper-monitor serve` there and open the address that it prints.")


def config(config: Config = CONFIG, as_json: AsJson = False) -> None:
    loaded = load_settings(config)
    settings = masked(loaded)
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    document = settings | {"sends_to": sends_to(loaded)}
    Call(as_json=as_json).answer(document, lambda: console.print(text, end="", markup=False))
