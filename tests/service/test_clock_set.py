"""`serve` while the machine's clock is set, an hour back or an hour ahead."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.house import AGENTS, House
from tests.patience import PATIENCE, wait
from tests.service.serve import serve

SHIM = Path(__file__).with_name("wall_clock.c")
MINUTE = 60
HOUR = 3600
# Far more than a few ticks take, and far less than the hour that the clock is set by.
SOON = 90.0


class WallClock:
    """The clock of one process, which a test sets."""

    def __init__(self, library: Path, file: Path) -> None:
        self._file = file
        self.environment = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(file)}
        file.write_bytes(struct.pack("q", 0))

    def set(self, seconds: int) -> None:
        """Show so many seconds more than the real clock."""
        with self._file.open("rb+") as file:
            file.write(struct.pack("q", seconds))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("A CLOCK THAT IS SET IS NOT TESTED: there is no C compiler on Linux")
    made = tmp_path_factory.mktemp("clock") / "wall_clock.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(SHIM)]
    subprocess.run(command, check=True, timeout=PATIENCE)
    return made


@pytest.fixture
def clock(library: Path, tmp_path: Path) -> WallClock:
    return WallClock(library, tmp_path / "clock")


@contextmanager
def serving(house: House, clock: WallClock) -> Iterator[subprocess.Popen[str]]:
    with serve(house, 0.02, env=os.environ | clock.environment) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0


def test_a_clock_that_is_set_by_an_hour_stops_nothing_and_repeats_nothing(
    house: House, clock: WallClock
) -> None:
    house.settings["sources"]["page"]["every"] = "1m"
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"] = {
        "alerts": {**lab, "schedule": "immediately"},
        "hourly": {**lab, "schedule": "0 * * * *"},
    }
    alerts, hourly = (house.folder / "pages" / name for name in ("alerts", "hourly"))
    with serving(house, clock):
        # A minute later than before: the source is not due twice within a minute.
        leaps = (0, -HOUR, MINUTE, HOUR, MINUTE, HOUR + MINUTE)
        for number, seconds in enumerate(leaps, start=1):
            clock.set(seconds)
            title, abstract = AGENTS
            house.add(f"{number}.txt", (f"{title}, Part {'I' * number} of {number}", abstract))
            wait(lambda result=number: len(list(alerts.glob("*.html"))) == result, SOON)
            if seconds >= HOUR:
                wait(lambda: list(hourly.glob("*.html")), SOON)
    pages = [page.read_text("utf-8") for page in hourly.glob("*.html")]
    result = Counter(part for page in pages for part in set(re.findall(r"Part (I+) of", page)))
    # The slot passed at the first leap ahead, and again at the second.
    assert {"I", "II", "III"} <= set(result)
    assert set(result.values()) == {1}
