"""What only a process of its own shows: signals, pipes, terminals, and what is imported."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.house import AGENTS, BANDITS, House, Said
from tests.patience import PATIENCE
from tests.servers.smtp import Hold, ScriptedSmtp
from tests.servers.web import misbehaving_server

PLAIN = {"FORCE_COLOR": "", "TTY_COMPATIBLE": "", "GITHUB_ACTIONS": "", "NO_COLOR": ""}
LIBRARIES = "numpy alembic feedparser httpx jinja2 slack_sdk apprise requests markdown"
STAGES = "monitor.pipeline.ingest monitor.pipeline.match monitor.pipeline.compose"


@pytest.mark.parametrize(
    ("line", "heavy"),
    [
        ("--version", f"{LIBRARIES} sqlalchemy pydantic yaml"),
        ("check", f"{LIBRARIES} sqlalchemy"),
        ("status", f"{LIBRARIES.replace('slack_sdk', '')} {STAGES}"),
    ],
)
def test_a_command_imports_nothing_heavy_that_it_does_not_need(
    house: House, used: Path, line: str, heavy: str
) -> None:
    """`check` of an installation without a store or templates, `status` of one with both."""
    if line == "status":
        shutil.copytree(used, house.folder, dirs_exist_ok=True)
    said = house.command(line, env={"PYTHONPROFILEIMPORTTIME": "1"})
    imported = set(re.findall(r"\| +(\S+)$", said.err, re.MULTILINE))
    assert said.status in (0, 1) and "typer" in imported
    assert imported.isdisjoint(heavy.split())


def test_lines_of_libraries_are_logged_as_ours() -> None:
    code = (
        "import logging, monitor.log, structlog\n"
        "monitor.log.set_up_logging(logging.INFO)\n"
        "logging.getLogger('library').warning('warned %s', 'twice')\n"
        "structlog.get_logger().info('read')\n"
        "logging.getLogger('procrastinate').error('a connection is gone')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    of_library, ours = map(json.loads, ran.stderr.splitlines())
    assert of_library.keys() == {*ours, "logger"}
    assert (of_library["event"], of_library["level"]) == ("warned twice", "warning")
    assert ours["event"] == "read"


@pytest.mark.parametrize("line", ["papers", "papers --json", "backup kept.db", "config", "--help"])
def test_a_stdout_that_takes_nothing_is_no_traceback(lived: House, line: str) -> None:
    """A reader of the pipe that has gone is silent, a full disk is reported."""
    lived.write()
    command = [sys.executable, "-m", "monitor", *line.split()]
    run = partial(subprocess.run, command, cwd=lived.folder, stderr=subprocess.PIPE, text=True)
    ours, gone = os.pipe()
    os.close(ours)
    ended = run(stdout=gone)
    os.close(gone)
    assert (ended.returncode, ended.stderr) == (1, "")
    if os.path.exists("/dev/full") and line not in ("config", "--help"):  # noqa: PTH110
        with open("/dev/full", "w") as full:  # noqa: PTH123
            ended = run(stdout=full)
        assert (ended.returncode, ended.stderr) == (1, "paper-monitor: No space left on device\n")


def test_ctrl_c_finishes_the_hand_off_under_way_and_begins_no_other(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port, "ada@example.org", "grace@example.org")
    house.run(AGENTS)
    answer = threading.Event()
    smtp.script["dot"].append(Hold(answer, "250 2.0.0 queued"))
    process = house.process("run", "--now", "2026-11-22T09:00")
    try:
        assert smtp.held.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert "finishing work in progress" in process.stderr.readline()
    finally:
        answer.set()
    said = Said.by(process)
    assert (said.status, said.out) == (130, "")
    assert "Traceback" not in said.err
    assert [mail.recipient for mail in smtp.received] == ["ada@example.org"]
    assert house.command("run", "--now", "2026-11-22T09:05").status == 0
    assert [mail.recipient for mail in smtp.received] == ["ada@example.org", "grace@example.org"]


def test_ctrl_c_while_a_source_lets_us_wait(house: House):
    release = threading.Event()
    with misbehaving_server() as web:
        web.answers("/feed", hold=release)
        feed = {"kind": "feed", "url": web.url("/feed"), "allow_private": True}
        house.settings["sources"]["slow"] = feed
        process = house.process("ingest", "slow")
        web.wait_for_requests(1)
        process.send_signal(signal.SIGINT)
        said = Said.by(process)
        release.set()
    assert (said.status, said.out) == (130, "")
    assert "Traceback" not in said.err


LOOKED_AT = ["papers", "status", "run", "check", "doctor", "explain 1", "topics try agents"]


@pytest.mark.parametrize("line", LOOKED_AT)
def test_nothing_blinks_where_nobody_watches(lived: House, line: str):
    said = lived.command(*line.split(), env=PLAIN)
    assert "\x1b" not in said.out + said.err
    assert "\r" not in said.out + said.err
    assert all(row == row.rstrip() or len(row) < 200 for row in said.out.splitlines())


def test_a_terminal_has_colours_and_a_bar_that_goes_away_but_not_in_json(lived: House):
    lived.add("2.txt", BANDITS)
    shown = on_a_terminal(lived, "run", "--now", "2026-11-22T09:00")
    assert all(part in shown for part in ("\x1b[32m", "Reading", "1 paper", "\x1b[2K"))
    document = on_a_terminal(lived, "papers", "--json")
    assert "\x1b" not in document
    assert document.replace("\r\n", "\n") == lived.command("papers", "--json").out


def on_a_terminal(house: House, *words: str) -> str:
    """Run a command on a terminal of 100 columns, and return every byte that it showed."""
    house.write()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "monitor", *words],
        cwd=house.folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # so Linux says that the other side has closed
        pass
    finally:
        os.close(ours)
    assert process.wait(PATIENCE) == 0
    return shown.decode()
