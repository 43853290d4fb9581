"""`serve --first-start`, as the image runs it: an empty folder, the demo, and then the service."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from monitor.clocks import SystemClock
from monitor.commands.first_start import FirstStart
from monitor.config import WebSettings, load, starter
from monitor.resources import resource
from monitor.service.demo import DemoProcess
from monitor.service.first_start import FirstStartService
from tests.house import Said
from tests.patience import PATIENCE, wait
from tests.web.conftest import TOKEN, free_port

BANNER = "This is the demo"
# Root may write where the mode of a folder does not let its owner.
WITHOUT_RIGHTS_OF_ROOT = ("setpriv", "--bounding-set=-dac_override") if os.geteuid() == 0 else ()


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
    def is_made_anew(self) -> bool:
        """Whether the demo has a store, and nothing of a demo before it."""
        demo = self.left / "demo"
        return (demo / "monitor.db").exists() and not (demo / "left").exists()

    def leave(self) -> None:
        """Leave something in the demo, as of an earlier process."""
        (self.left / "demo" / "left").touch()

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.events if line["event"] == event]

    def start(self, *prefix: str) -> subprocess.Popen[bytes]:
        environment = {
            "PAPER_MONITOR_CONFIG": str(self.config),
            "PAPER_MONITOR_TOKEN": TOKEN,
            "PAPER_MONITOR_LISTEN": f"127.0.0.1:{self.port}",
            "PAPER_MONITOR_PUBLIC_URL": f"http://localhost:{self.port}",
        }
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*prefix, *COMMAND, "serve", "--first-start", f"127.0.0.1:{self.port}"],
                cwd=self.folder,
                env=os.environ | environment,
                stdout=log,
                stderr=log,
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
        url = f"http://localhost:{self.port}{path}"
        return httpx.get(url, headers=headers, timeout=PATIENCE, follow_redirects=True)

    def shows(self, text: str) -> bool:
        try:
            return text in self.get("/").text
        except httpx.TransportError:
            return False

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
        wait(lambda: volume.is_made_anew)
        process.kill()
        process.wait(PATIENCE)
        wait(lambda: volume.children() == [])
        volume.leave()
    with volume.started():
        wait(lambda: volume.shows(BANNER))
        assert volume.is_made_anew
    volume.leave()
    # A fault in the file ends the process neither now nor at its next start.
    volume.write("topics: [")
    with volume.started():
        wait(lambda: volume.logged("configuration not applied"))
        wait(lambda: volume.is_made_anew)  # the end comes while the demo is made
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
    assert not FirstStart(volume.config).is_due
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


def test_a_configuration_of_init_is_used_as_it_is(volume: Volume):
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


def test_a_folder_that_cannot_be_written_is_an_error_that_says_who_has_to_write(volume: Volume):
    volume.folder.chmod(0o500)
    process = volume.start(*WITHOUT_RIGHTS_OF_ROOT)
    assert process.wait(PATIENCE) == 1
    said = volume.log.read_text()
    assert f"{volume.folder} cannot be written: Permission denied" in said
    assert f"let the user {os.geteuid()}:{os.getegid()} write there" in said
    assert "Traceback" not in said
    assert list(volume.folder.iterdir()) == []


@contextmanager
def on_a_thread(volume: Volume, *command: str) -> Iterator[list[MutableMapping[str, Any]]]:
    """Run the service with another command as its demo's, and return what it logs."""
    demo = DemoProcess(WebSettings.open_to_all(f"127.0.0.1:{volume.port}"), command)
    service = FirstStartService(volume.config, SystemClock(), demo=demo)
    thread = threading.Thread(target=service.run)
    with capture_logs() as logs:
        thread.start()
        try:
            yield logs
        finally:
            service.stop()
            thread.join(PATIENCE)
    assert not thread.is_alive()


def events(logs: Sequence[MutableMapping[str, Any]]) -> list[Any]:
    return [line["event"] for line in logs]


def test_a_demo_that_cannot_be_made_is_tried_once_and_the_service_waits_for_the_edit(
    volume: Volume,
):
    """Otherwise a container would start again and again."""
    failing = [sys.executable, "-c", "raise SystemExit(1)"]
    with on_a_thread(volume, *failing) as logs:
        wait(lambda: "demo ended unexpectedly" in events(logs))
        volume.write("topics: [")
        wait(lambda: "configuration not applied" in events(logs))  # after further looks
        volume.write(EDITED + "web: off\n")
        wait(lambda: "serving" in events(logs))
    assert events(logs).count("demo ended unexpectedly") == 1


def test_a_taken_address_is_a_warning_and_is_used_when_it_is_free(volume: Volume):
    shown = volume.folder.parent / "shown"
    showing = [sys.executable, "-c", f"open({str(shown)!r}, 'w')"]
    taken = socket.create_server(("127.0.0.1", volume.port))
    with taken, on_a_thread(volume, *showing) as logs:
        wait(lambda: "demo not shown" in events(logs))
        assert not shown.exists()
        taken.close()
        wait(shown.exists)
    assert events(logs).count("demo not shown") == 1


def test_the_process_of_the_demo_gets_no_secret_and_no_address_of_the_service(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
):
    got = volume.folder.parent / "got"
    writing = f"import json, os; open({str(got)!r}, 'w').write(json.dumps(dict(os.environ)))"
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("PAPER_MONITOR_PUBLIC_URL", "https://papers.example.org")
    monkeypatch.setenv("PAPER_MONITOR_TOKEN_FILE", "/run/secrets/token")
    with on_a_thread(volume, sys.executable, "-c", writing):
        wait(lambda: got.exists() and got.read_text())
    environment = json.loads(got.read_text())
    assert environment["TZ"] == "Asia/Tokyo"
    assert [name for name in environment if name.startswith("PAPER_MONITOR_")] == []


def test_the_demo_sends_nothing_and_asks_nobody():
    settings = load(resource("seeds") / "monitor.yaml", {})
    assert {channel.kind for channel in settings.channels.values()} == {"file"}
    assert (settings.smtp, settings.slack, settings.operator, settings.ping_url) == (None,) * 4
    assert all(subscription.email == () for subscription in settings.subscriptions.values())
    assert all(source.options.path for source in settings.sources.values())
