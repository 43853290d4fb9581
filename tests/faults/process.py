"""A process of the program's own: forked from one that has imported the program and opened nothing.

Importing takes longer than a whole run of a small installation. So it is done once, in the fork
server of `multiprocessing`; every process under test is a fork of that, with its own arguments,
folder and order, and runs the same `main` that the command `paper-monitor` runs.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.faults.points import Order, install
from tests.patience import PATIENCE, wait

KILLED = -9

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["tests.faults.program"])


def start(folder: Path, *words: str, order: Order | None = None) -> BaseProcess:
    """Start `paper-monitor WORDS...` in a folder; what it says is in `said.txt` there."""
    process = _server.Process(target=_main, args=(folder, words, order), daemon=True)
    process.start()
    return process


def ended(process: BaseProcess) -> int:
    """Wait for a process and return its exit status, negative for a signal."""
    process.join(PATIENCE)
    status = process.exitcode
    if status is None:
        process.kill()
        process.join(PATIENCE)
        raise AssertionError("the process did not come to an end")
    process.close()
    return status


def wait_for_pause(process: BaseProcess) -> None:
    """Wait until a process has stopped itself at the pause of its order, or is dead."""
    wait(lambda: not process.is_alive() or _is_stopped(process))


def resume(process: BaseProcess) -> None:
    if process.is_alive() and process.pid:
        os.kill(process.pid, signal.SIGCONT)


def _is_stopped(process: BaseProcess) -> bool:
    # The state follows the name, which is in brackets.
    try:
        status = Path(f"/proc/{process.pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False  # it died meanwhile
    return status.rpartition(") ")[2].startswith("T")


def run(folder: Path, *words: str, order: Order | None = None) -> int:
    return ended(start(folder, *words, order=order))


def _main(folder: Path, words: tuple[str, ...], order: Order | None) -> None:
    os.chdir(folder)
    said = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(said, stream)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    sys.argv = ["paper-monitor", *words]
    if order:
        install(order)
    from monitor.cli import main

    main()
