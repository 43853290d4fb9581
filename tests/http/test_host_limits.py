"""One request at a time for each host, and how far apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.errors import FetchError
from monitor.http.host_limits import Gates
from tests.http.doors import Time


@pytest.mark.parametrize("second", ["export.arxiv.org", "rss.arxiv.org", "arxiv.org", "ARXIV.org."])
def test_requests_to_arxiv_are_three_seconds_apart_under_all_its_names(
    tmp_path: Path, second: str
) -> None:
    time = Time()
    with Gates(tmp_path, time, time.sleep).turn("export.arxiv.org"):
        (file,) = tmp_path.glob("*.gate")
        assert float(file.read_text()) == time.now, "what a crash cuts off counts, too"
        time.now += 1.5  # the answer takes its time
    ended = time.now
    with Gates(tmp_path, time, time.sleep).turn(second):  # another process
        assert time.now - ended >= 3.0


@pytest.mark.parametrize(
    ("host", "apart", "slept"),
    [
        ("feeds.example", (0, 0, 0), []),
        ("notarxiv.org", (0, 0), []),
        ("api.example", (0.5, 0.5, 0.1), [0.5, 0.1]),
        ("arxiv.org", (0.5, 0.5), [3.0]),
    ],
)
def test_a_service_may_want_its_requests_further_apart(
    tmp_path: Path, host: str, apart: tuple[float, ...], slept: list[float]
) -> None:
    time = Time()
    for seconds in apart:
        with Gates(tmp_path, time, time.sleep).turn(host, seconds):
            pass
    assert time.slept == slept


def test_a_clock_set_back_costs_one_distance_and_no_more(tmp_path: Path) -> None:
    time = Time()
    with Gates(tmp_path, time, time.sleep).turn("arxiv.org"):
        time.now -= 86400
    time.now -= 86400
    with Gates(tmp_path, time, time.sleep).turn("arxiv.org"):
        assert time.slept == [3.0]


def test_a_gate_that_never_opens_is_a_failure(tmp_path: Path) -> None:
    time = Time()
    with (
        Gates(tmp_path).turn("feeds.example"),
        pytest.raises(FetchError, match="did not finish"),
        Gates(tmp_path, time, time.sleep).turn("feeds.example"),
    ):
        pass


def test_a_gate_folder_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(FetchError, match="cannot keep the gate"),
        Gates(tmp_path / "file").turn("feeds.example"),
    ):
        pass
