"""The command line as it is typed, in this process; and a house that has been in use."""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
import structlog
from typer.main import get_command

from monitor.cli import LazyCommand, app, main
from tests.house import AGENTS, BANDITS, House, Said

SUNDAY = "2026-11-22T09:00+00:00"


def whole(group: Any = None) -> Any:
    """Return the group of all commands, or another one, with their parameters."""
    group = group or get_command(app)
    for name, command in group.commands.items():
        loaded = command.load() if isinstance(command, LazyCommand) else command
        group.commands[name] = whole(loaded) if hasattr(loaded, "commands") else loaded
    return group


class Say(Protocol):
    def __call__(self, *words: str) -> Said: ...


@pytest.fixture
def say(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Say]:
    """Type a command in the house's folder."""
    monkeypatch.chdir(house.folder)
    monkeypatch.delenv("PAPER_MONITOR_CONFIG", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(house.folder))  # for the pages of rehearsals

    def say(*words: str) -> Said:
        house.write()
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["paper-monitor", *words])
        status: Any = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    yield say
    structlog.reset_defaults()
    logging.getLogger().handlers.clear()


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which two papers were read and a digest of one went out."""
    house = House(tmp_path_factory.mktemp("used"))
    house.run(AGENTS, BANDITS)
    house.next_morning()
    return house.folder


@pytest.fixture
def lived(house: House, used: Path) -> House:
    """The house, two papers and a digest later."""
    shutil.copytree(used, house.folder, dirs_exist_ok=True)
    house.clock.move(days=1)
    return house
