"""The command line. It is an interface: names, JSON and exit codes are held by tests.

Exit status: 0 done, 1 something failed (it says what), 2 wrong usage or configuration.
Commands import what they need when they run, so that `--help` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer

from monitor.cli import (
    admin_commands,
    papers_commands,
    report_commands,
    run_commands,
    suppression_commands,
    template_commands,
    web_commands,
)
from monitor.errors import ConfigError, MonitorError, UsageError

DESCRIPTION = (
    "Collects new research papers, filters out duplicates, "
    "and sends each subscriber a digest of matches."
)

app = typer.Typer(
    name="paper-monitor",
    help=DESCRIPTION,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Objects: more than a command that only looks makes of its imports. Looking for cycles among all
# modules and topics as often as Python does takes a tenth of the time of most commands, and finds
# few.
GC_THRESHOLD = 200_000

START, WORK, ASK, OPERATE = "Start", "Work", "Ask", "Operate"

app.command(rich_help_panel=START)(run_commands.demo)
app.command(rich_help_panel=START)(run_commands.init)
app.command(rich_help_panel=START)(report_commands.check)
app.command(rich_help_panel=WORK)(run_commands.run)
app.command(rich_help_panel=WORK)(run_commands.serve)
app.command(rich_help_panel=WORK)(run_commands.worker)
app.add_typer(web_commands.web, name="web", rich_help_panel=WORK)
app.command(rich_help_panel=WORK)(run_commands.ingest)
app.command(rich_help_panel=WORK)(run_commands.digest)
app.command(rich_help_panel=ASK)(report_commands.status)
app.add_typer(papers_commands.papers, name="papers", rich_help_panel=ASK)
app.command(rich_help_panel=ASK)(report_commands.explain)
app.command(rich_help_panel=ASK)(report_commands.preview)
app.command(rich_help_panel=ASK)(report_commands.read)
app.add_typer(template_commands.templates, name="templates", rich_help_panel=ASK)
app.add_typer(report_commands.topics, name="topics", rich_help_panel=ASK)
app.add_typer(admin_commands.deliveries, name="deliveries", rich_help_panel=OPERATE)
app.add_typer(suppression_commands.suppressions, name="suppressions", rich_help_panel=OPERATE)
app.add_typer(admin_commands.mail, name="mail", rich_help_panel=OPERATE)
app.command(rich_help_panel=OPERATE)(report_commands.config)
app.command(rich_help_panel=OPERATE)(admin_commands.doctor)
app.command("send-test", rich_help_panel=OPERATE)(admin_commands.send_test)
app.command(rich_help_panel=OPERATE)(admin_commands.backup)
app.command(rich_help_panel=OPERATE)(admin_commands.restore)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"paper-monitor {version('paper-monitor')}")
        raise typer.Exit


@app.callback(help=DESCRIPTION)
def _root(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


def _describe_os_error(fault: OSError) -> str:
    """What the system would not do, as `ls` and its like say it."""
    where = f"{fault.filename}: " if fault.filename else ""
    return f"{where}{fault.strerror or fault}"


def main() -> None:
    """Run the command line; errors are sentences on stderr, with the status that fits them."""
    gc.set_threshold(GC_THRESHOLD)
    # The end of a process is the end of all cycles: looking for them would take 0.2 seconds more.
    atexit.register(gc.freeze)
    # NumPy would start a thread for each processor, which takes as long as to import it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="paper-monitor")
    except ConfigError as fault:
        from monitor.cli import report_output

        report_output.faults(fault.faults)
        sys.exit(2)
    except MonitorError as fault:
        typer.echo(f"paper-monitor: {fault}", err=True)
        sys.exit(2 if isinstance(fault, UsageError) else 1)
    except OSError as fault:
        typer.echo(f"paper-monitor: {_describe_os_error(fault)}", err=True)
        sys.exit(1)
