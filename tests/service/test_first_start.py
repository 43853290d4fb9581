"""`serve --first-start`, as the image runs it: from an empty folder over the demo to the service."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from monitor.commands.first_start import FirstStart
from monitor.config import WebSettings, load, starter
from monitor.resources import resource
from monitor.service.demo import DemoProcess
from tests.house import House, Said
from tests.patience import PATIENCE, wait
from tests.web.conftest import TOKEN, free_port

BANNER = "This is the demo"
# Owns nothing in the folders of tests.
OTHER = 65_534
WITHOUT_SECRETS = {"file", "huggingface-page", "bibtex", "crossref", "jsonl"}


@dataclass
class Volume:
    """A folder that a container has as its volume, and the service in it.

    The pages listen where the demo did, as Compose has them do where it passes on a token.
    """

    folder: Path
    log: Path
    port: int = field(default_factory=free_port)

    @property
    def config(self) -> Path:
        return self.folder / "monitor.yaml"

    @property
    def left(self) -> Path:
        """What a first start leaves until it is over."""
        return self.folder / ".first-start"

    @property
    def demo_store(self) -> Path:
        return self.left / "demo" / "monitor.db"

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.events if line["event"] == event]

    def start(self, **options: Any) -> subprocess.Popen[bytes]:
        environment = {
            "PAPER_MONITOR_CONFIG": str(self.config),
            "PAPER_MONITOR_TOKEN": TOKEN,
            "PAPER_MONITOR_LISTEN": f"127.0.0.1:{self.port}",
            "PAPER_MONITOR_PUBLIC_URL": f"http://localhost:{self.port}",
        }
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*COMMAND, "serve", "--first-start", f"127.0.0.1:{self.port}"],
                cwd=self.folder,
                env=os.environ | environment,
                stdout=log,
                stderr=log,
                **options,
            )

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the service until the block ends, and hold that SIGTERM ends it cleanly."""
        process = self.start()
        try:
            yield process
            process.terminate()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
        assert self.children() == []
        with pytest.raises(httpx.ConnectError):
            self.get("/")

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(f"http://localhost:{self.port}{path}", headers=headers, timeout=PATIENCE)

    def shows(self, text: str) -> bool:
        try:
            return text in self.get("/").text
        except httpx.TransportError:
            return False

    def wait_for(self, until: Callable[[], Any]) -> None:
        wait(until)

    def children(self) -> list[str]:
        """Return the command lines of processes that work on the demo in this folder."""
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        return [line for line in listed.stdout.splitlines() if str(self.left) in line]

    def write(self, text: str) -> None:
        """Write the configuration as `cat > monitor.yaml` does: its owner and mode stay."""
        self.config.write_text(text, encoding="utf-8")


COMMAND = [sys.executable, "-m", "monitor"]
EDITED = starter().replace("schedule: daily 08:00", "schedule: weekdays 09:00")


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    folder = tmp_path / "data"
    folder.mkdir()
    return Volume(folder, tmp_path / "log")


def test_an_empty_folder_shows_the_demo_until_an_edit_without_a_fault(volume: Volume):
    with volume.started():
        wait(lambda: volume.shows(BANNER))
        assert volume.config.read_text("utf-8") == starter()
        assert volume.config.stat().st_mode & 0o777 == 0o600
        assert volume.get("/healthz").json()["ok"]
        assert alive(volume)
        assert not (volume.folder / "data" / "monitor.db").exists()

        volume.write(EDITED.replace("topics:\n", "topcis:\n", 1))
        wait(lambda: volume.logged("configuration not applied"))
        [refused] = volume.logged("configuration not applied")
        line = EDITED.splitlines().index("topics:") + 1
        assert refused["level"] == "warning"
        assert any(fault.startswith(f"{volume.config}:{line}: ") for fault in refused["faults"])
        assert volume.shows(BANNER)
        assert alive(volume)

        volume.write(EDITED)
        wait(lambda: volume.logged("serving"))
        wait(lambda: volume.shows("Log in"))
        assert not volume.shows(BANNER)
        assert not volume.left.exists()
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        wait(lambda: volume.get("/status", **bearer).status_code == 200)
        topics = volume.get("/api/v1/topics", **bearer).json()["topics"]
        assert {topic["name"] for topic in topics} == {"language-agents", "multi-agent-learning"}
        wait(lambda: alive(volume))
        [login] = volume.logged("log in to the pages")
        assert login["command"] == "paper-monitor web login"
    assert "token=" not in volume.log.read_text()
    assert TOKEN not in volume.log.read_text()

    # The first content of the file is an edit now, too.
    volume.write(starter())
    with volume.started():
        wait(lambda: len(volume.logged("serving")) > 1)
        wait(lambda: volume.shows("Log in"))
    assert len(volume.logged("making the demo")) == 1


def test_the_demo_comes_again_after_a_kill_while_it_is_made_and_after_a_restart(volume: Volume):
    for _ in range(2):  # the second one finds what the first one left
        process = volume.start()
        wait(volume.demo_store.exists)
        process.kill()
        process.wait(PATIENCE)
        wait(lambda: volume.children() == [])
        assert volume.demo_store.exists()
        store = volume.demo_store.stat().st_ino
    with volume.started():
        wait(lambda: volume.shows(BANNER))
        assert volume.demo_store.stat().st_ino != store
    # A fault in the file ends the process neither now nor at its next start.
    volume.write("topics: [")
    with volume.started():
        wait(lambda: volume.logged("configuration not applied"))
        wait(volume.demo_store.exists)  # the end comes while the demo is made
    volume.write(EDITED)
    with volume.started():
        wait(lambda: volume.shows("Log in"))
    assert not volume.left.exists()
    assert len(volume.logged("making the demo")) == 4
    assert len(volume.logged("configuration not applied")) == 1


def alive(volume: Volume) -> bool:
    """What the health check of the image says."""
    process = subprocess.Popen(
        [*COMMAND, "doctor", "--alive", "--config", str(volume.config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Said.by(process).status == 0


@pytest.mark.parametrize("there", ["dumps/1.txt", "data/monitor.db", "monitor.yml"])
def test_a_folder_that_is_in_use_without_a_configuration_is_refused(volume: Volume, there: str):
    file = volume.folder / there
    file.parent.mkdir(exist_ok=True)
    file.write_text("kept")
    process = volume.start()
    assert process.wait(PATIENCE) == 2
    assert "there is no such file; “paper-monitor init” creates one" in volume.log.read_text()
    assert not volume.config.exists() and not volume.left.exists()


def test_without_the_option_an_empty_folder_stays_so(volume: Volume):
    said = Said.by(
        subprocess.Popen(
            [*COMMAND, "serve"],
            cwd=volume.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    assert said.status == 2 and "there is no such file" in said.err
    assert list(volume.folder.iterdir()) == []


def test_hidden_files_and_those_of_a_file_system_do_not_count(volume: Volume):
    (volume.folder / "lost+found").mkdir()
    (volume.folder / ".snapshot").mkdir()
    assert FirstStart(volume.config).is_due
    volume.folder.joinpath("x").touch()
    assert not FirstStart(volume.config).is_due


def test_a_configuration_of_init_is_used_as_it_is(house: House, volume: Volume):
    """Whoever wrote it has chosen to begin: only a file of the first start itself waits."""
    volume.write(starter())
    assert not FirstStart(volume.config).is_due


def test_nothing_that_is_there_is_overwritten(volume: Volume):
    first = FirstStart(volume.config)
    first.begin()
    volume.write("store: sqlite:///mine.db")
    first.begin()
    assert volume.config.read_text() == "store: sqlite:///mine.db"
    assert first.is_edited()


def test_a_later_version_takes_its_own_words_for_no_edit(volume: Volume):
    first = FirstStart(volume.config)
    first.begin()
    # As an earlier version wrote it.
    for file in (volume.config, volume.left / "written.yaml"):
        file.write_text("store: sqlite:///data/monitor.db\n")
    assert first.is_due and not first.is_edited()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another account")
def test_a_folder_that_cannot_be_written_is_an_error_that_says_who_has_to_write(volume: Volume):
    for folder in (*volume.folder.parents[:3], volume.folder):
        folder.chmod(0o755)
    process = volume.start(user=OTHER, group=OTHER, extra_groups=[])
    assert process.wait(PATIENCE) == 1
    said = volume.log.read_text()
    assert f"{volume.folder} cannot be written: Permission denied" in said
    assert f"let the user {OTHER}:{OTHER} write there" in said and "Traceback" not in said
    assert list(volume.folder.iterdir()) == []
