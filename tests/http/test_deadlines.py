"""No server takes more time than a request has."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import httpcore
import pytest

from monitor.errors import DeferredError, FetchError
from monitor.http.client import HttpClient
from monitor.http.dialing import Watch
from monitor.http.host_limits import Gates, patient
from tests.http.doors import PUBLIC, Public, Site, Time
from tests.servers.web import Answer, Asked, MisbehavingServer


def timed(web: MisbehavingServer, folder: Path, monotonic: Callable[[], float]) -> Site:
    return Site(web, HttpClient(version="1", gate_dir=folder, monotonic=monotonic))


@pytest.mark.parametrize(
    "answer", [Answer(piece=1), Answer(body=b"x" * 1000, piece=1), Answer(hang=True)]
)
def test_F04_a_slow_or_silent_server_is_left_at_the_deadline(site: Site, answer: Answer) -> None:
    site.web.decides("/", lambda _: answer)
    with pytest.raises(FetchError, match=r"127.0.0.1( did not finish within 0.4 s|: no answer)"):
        site.get(deadline=timedelta(seconds=0.4))


def test_F04_less_than_the_least_rate_ends_before_the_deadline(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    seconds = iter(range(0, 10_000, 20))  # however few pieces it comes in
    site = timed(web, tmp_path, lambda: float(next(seconds)))
    web.answers("/", body=b"x" * 1000, piece=200)
    with pytest.raises(FetchError, match="less than 200 bytes a second"):
        site.get(deadline=timedelta(hours=1))


def test_F04_a_slow_beginning_is_no_least_rate(web: MisbehavingServer, tmp_path: Path) -> None:
    calls = iter(range(10_000))
    web.answers("/", body=b"x" * 10, piece=40)
    site = timed(web, tmp_path, lambda: min(next(calls) / 2, 9.0))
    assert site.get().content == b"x" * 10


def test_F04_the_deadline_is_a_minute_where_nobody_says_more(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    seconds = iter([0.0, 0.0, 0.0])
    web.answers("/", body=b"x")
    with pytest.raises(FetchError, match="within 60 s"):
        timed(web, tmp_path, lambda: next(seconds, 60.5)).get()


def test_F04_all_redirects_share_one_deadline(web: MisbehavingServer, tmp_path: Path) -> None:
    time = Time(0.0)

    def late(request: Asked) -> Answer:
        time.now += 25
        return Answer(302, headers={"Location": request.target + "x"})

    web.decides("*", late)
    with pytest.raises(FetchError, match="within 60 s"):
        timed(web, tmp_path, time).get()
    assert len(web.requests) == 3


def test_F04_waiting_for_ones_turn_is_not_the_servers_time(
    web: MisbehavingServer, public: Public
) -> None:
    time = Time()
    door, _ = public(lambda _: [PUBLIC], monotonic=time, wall=time, sleep=time.sleep)
    web.answers("/", status=302, headers={"Location": "/there"})
    web.answers("/there", body=b"x")
    answer = door.get("http://arxiv.org/", deadline=timedelta(seconds=2))
    assert answer.content == b"x" and sum(time.slept) >= 3.0


class Listening(httpcore.NetworkBackend, httpcore.MockStream):
    """A silent connection that notes how long each of its operations may take in all."""

    def __init__(self, time: Time) -> None:
        super().__init__([])
        self.time = time
        self.timeouts: dict[str, float] = defaultdict(float)

    def connect_tcp(self, host: str, port: int, timeout=None, *_: object):  # type: ignore[no-untyped-def]
        self.timeouts["connect"] = timeout or 0.0
        return self

    def start_tls(self, ssl_context, server_hostname=None, timeout=None):  # type: ignore[no-untyped-def]
        self.timeouts["tls"] = timeout or 0.0
        return self

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.timeouts["write"] = timeout or 0.0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        assert timeout
        self.timeouts["read"] += timeout
        self.time.now += timeout
        raise httpcore.ReadTimeout


@pytest.mark.parametrize(
    ("seconds", "timeouts"),
    [
        (3600, {"connect": 10, "tls": 10, "write": 20, "read": 20}),
        (5, {"connect": 5, "tls": 5, "write": 5, "read": 5}),
    ],
)
def test_F04_each_operation_has_its_own_time_within_the_deadline(
    tmp_path: Path, seconds: int, timeouts: dict[str, float]
) -> None:
    names, time = lambda *_: [PUBLIC], Time(0.0)
    dialler = Listening(time)
    door = HttpClient(
        version="1", gate_dir=tmp_path, resolve=names, dialler=dialler, monotonic=time
    )
    with pytest.raises(FetchError, match=r"no answer in time|did not finish within 5 s"):
        door.get("https://feeds.example/", deadline=timedelta(seconds=seconds))
    assert dialler.timeouts == timeouts


@pytest.mark.parametrize("answer", [Answer(hang=True), Answer(body=b"x" * 1000, piece=1)])
def test_asked_to_stop_it_waits_for_no_server(
    web: MisbehavingServer, door: HttpClient, answer: Answer
) -> None:
    """It was asked while the server was still sending, or sent nothing at all."""

    def ask(_: Asked) -> Answer:
        door.stopping.set()
        return answer

    web.decides("/", ask)
    with pytest.raises(DeferredError):
        Site(web, door).get(deadline=timedelta(hours=12))


def test_a_form_is_posted_to_its_end_also_when_asked_to_stop(
    web: MisbehavingServer, door: HttpClient
) -> None:
    door.stopping.set()
    web.answers("/", body=b"{}")
    assert door.post_form(web.url("/"), {"a": "b"}, allow_private=True).content == b"{}"


def test_a_reading_gives_up_its_first_turn_and_waits_for_the_next_ones(tmp_path: Path) -> None:
    time = Time()
    gates = Gates(tmp_path, wall=time, sleep=time.sleep)
    with gates.turn("feeds.example"), patient(5.0):
        with pytest.raises(DeferredError, match="did not finish"), gates.turn("FEEDS.example."):
            pass
        assert sum(time.slept) == pytest.approx(5.0)
        with gates.turn("other.example"):
            pass
        with pytest.raises(FetchError, match="did not finish"), gates.turn("feeds.example"):
            pass
        assert sum(time.slept) == pytest.approx(5.0 + 600.0)


def test_asked_to_stop_nobody_waits_for_a_turn(tmp_path: Path) -> None:
    gates, stopping = Gates(tmp_path), threading.Event()
    stopping.set()
    watch = Watch(time.monotonic, 60, stopping)
    with (
        gates.turn("feeds.example"),
        pytest.raises(DeferredError),
        gates.turn("feeds.example", go_on=watch.go_on),
    ):
        pass
