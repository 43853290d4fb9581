"""The units for systemd that are there to copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
# What a user's own systemd may not do, or has not: see systemd.exec(5) and systemd.special(7).
OF_THE_SYSTEM = {"User", "Group", "StateDirectory", "ProtectHome", "PrivateDevices", "ProtectClock"}


def verify(unit: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Let systemd check a unit of the user whose home this is."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    return subprocess.run(
        [program, "--user", "verify", unit],
        env=os.environ | {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with a short path, as systemd makes sockets in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_the_unit_of_a_user_needs_nothing_outside_their_home(home: Path) -> None:
    """That of the whole system has its program elsewhere, and is refused."""
    program = home / ".local" / "paper-monitor" / "bin" / "paper-monitor"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    done = verify(EXAMPLES / "paper-monitor-user.service", home)
    assert (done.returncode, done.stdout) == (0, "")
    assert verify(EXAMPLES / "paper-monitor.service", home).returncode != 0


def test_the_unit_of_a_user_has_no_setting_of_the_system() -> None:
    """systemd-analyze lets these pass; they fail, or do nothing, when the unit is started."""
    text = (EXAMPLES / "paper-monitor-user.service").read_text(encoding="utf-8")
    settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    assert settings["WantedBy"] == "default.target"
    assert settings.keys().isdisjoint(OF_THE_SYSTEM)
    assert not re.search(r"=-?/", text)
