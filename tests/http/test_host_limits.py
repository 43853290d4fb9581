"""One request at a time for each host, and how far apart."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from monitor.http.host_limits import Gates
from tests.http.doors import Time
from tests.patience import PATIENCE, wait
from tests.servers.web import Answer, MisbehavingServer


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


def test_one_request_at_a_time_for_a_host_across_doors(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    """Lock files hold between two open files as they do between two processes."""
    first_may_end = threading.Event()
    waiting: set[int] = set()

    def waits(seconds: float) -> None:
        waiting.add(threading.get_ident())
        first_may_end.wait(seconds)

    web.decides("/", lambda request: Answer(body=b"x", hold=first_may_end))
    doors = [HttpClient(version="1", gate_dir=tmp_path, sleep=waits) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        fetches = [pool.submit(d.get, web.url("/"), allow_private=True) for d in doors]
        wait(lambda: len(web.requests) + len(waiting) == len(doors))
        first_may_end.set()
        assert all(fetch.result(timeout=PATIENCE).content == b"x" for fetch in fetches)
    assert web.most_at_once == 1


def test_a_gate_folder_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(FetchError, match="cannot keep the gate"),
        Gates(tmp_path / "file").turn("feeds.example"),
    ):
        pass
