"""The door: polite to hosts, suspicious of addresses and bodies."""

from __future__ import annotations

import errno
import gzip
import io
import ipaddress
import logging
import ssl
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpcore
import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import FetchError
from monitor.http.addresses import is_refused, redact_url
from monitor.http.cache_headers import lifetime, retry_after
from monitor.http.client import HttpClient
from monitor.http.host_limits import Gates
from monitor.http.response import Response
from tests.patience import PATIENCE, wait
from tests.servers.web import Answer, Asked, MisbehavingServer, misbehaving_server

PUBLIC = "93.184.216.34"
SHORT = timedelta(seconds=0.4)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def door(tmp_path: Path) -> HttpClient:
    return HttpClient(version="1.2", contact="ops@example.org", gate_dir=tmp_path / "gates")


class Dialler(httpcore.NetworkBackend):
    """Dials a server on loopback whatever public address was asked for, and remembers it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.dialled: list[str] = []

    def connect_tcp(self, host: str, port: int, timeout=None, *_: object, **__: object):  # type: ignore[no-untyped-def]
        self.dialled.append(host)
        return httpcore.SyncBackend().connect_tcp("127.0.0.1", self.port, timeout)


def public_door(
    web: MisbehavingServer, gate_dir: Path, names: Callable[[str], list[str]], **how: object
) -> tuple[HttpClient, Dialler]:
    dialler = Dialler(web.port)
    resolve = lambda host, _port: names(host)  # noqa: E731
    door = HttpClient(version="1", gate_dir=gate_dir, resolve=resolve, dialler=dialler, **how)  # type: ignore[arg-type]
    return door, dialler


# ── a plain answer ──────────────────────────────────────────────────────────────────


def test_an_answer_comes_with_its_content_type_and_validators(
    web: MisbehavingServer, door: HttpClient
) -> None:
    headers = {"Content-Type": "text/xml", "ETag": '"1"', "Last-Modified": "yesterday"}
    web.answers("/feed", body=b"<rss/>", headers=headers)
    answer = door.get(web.url("/feed"), allow_private=True)
    assert (answer.status, answer.content, answer.content_type) == (200, b"<rss/>", "text/xml")
    assert answer.validators == {"etag": '"1"', "last_modified": "yesterday"}
    assert answer.complete and not answer.not_modified


def test_the_user_agent_names_version_and_contact(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/")
    door.get(web.url("/"), allow_private=True)
    assert web.requests[0].headers["user-agent"] == "paper-monitor/1.2 (+ops@example.org)"


def test_a_user_agent_without_a_contact_names_the_version_alone(web: MisbehavingServer) -> None:
    web.answers("/")
    with closing(HttpClient(version="1")) as door:
        door.get(web.url("/"), allow_private=True)
    assert web.requests[0].headers["user-agent"] == "paper-monitor/1"


def test_a_contact_that_no_header_can_hold_is_made_printable(web: MisbehavingServer) -> None:
    web.answers("/")
    door = HttpClient(version="1", contact="ada\r\nX-Evil: 1\x00 é")
    door.get(web.url("/"), allow_private=True)
    door.close()
    assert web.requests[0].headers["user-agent"] == "paper-monitor/1 (+adaX-Evil: 1)"
    assert "x-evil" not in web.requests[0].headers


def test_F14_unchanged_is_told_by_304(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/feed", status=304)
    kept = {"etag": '"1"', "last_modified": "yesterday"}
    answer = door.get(web.url("/feed"), validators=kept, allow_private=True)
    assert answer.not_modified and answer.content == b"" and answer.validators == kept
    sent = web.requests[0].headers
    assert (sent["if-none-match"], sent["if-modified-since"]) == ('"1"', "yesterday")


def test_a_304_that_nobody_asked_for_is_a_failure(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/feed", status=304)
    with pytest.raises(FetchError, match="304"):
        door.get(web.url("/feed"), allow_private=True)


def test_validators_are_ignored_when_the_answer_expires_at_once(
    web: MisbehavingServer, door: HttpClient
) -> None:
    web.answers("/feed", body=b"x", headers={"ETag": '"1"', "Expires": "0"})
    assert door.get(web.url("/feed"), allow_private=True).validators == {}


@pytest.mark.parametrize("status", [204, 206, 400, 401, 403, 404, 410, 500, 502, 599])
def test_every_other_status_is_a_failure(
    web: MisbehavingServer, door: HttpClient, status: int
) -> None:
    web.answers("/", status=status)
    with pytest.raises(FetchError, match=f"127.0.0.1 answered {status}") as fault:
        door.get(web.url("/"), allow_private=True)
    assert fault.value.retry_after is None


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_busy_says_when_to_come_again(
    web: MisbehavingServer, door: HttpClient, status: int
) -> None:
    web.answers("/", status=status, headers={"Retry-After": "120"})
    with pytest.raises(FetchError) as fault:
        door.get(web.url("/"), allow_private=True)
    assert fault.value.retry_after == timedelta(seconds=120)


NOVEMBER = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the moment of RFC 9110, 5.6.7


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("120", timedelta(seconds=120)),
        (" 120 ", timedelta(seconds=120)),
        ("0", timedelta(seconds=60)),
        ("-5", timedelta(seconds=60)),
        ("86401", timedelta(hours=24)),
        ("000000000000000000120", timedelta(seconds=120)),
        ("9" * 400, timedelta(hours=24)),
        ("Sun, 06 Nov 1994 09:09:37 GMT", timedelta(minutes=20)),
        ("Sunday, 06-Nov-94 09:09:37 GMT", timedelta(minutes=20)),
        ("Sun Nov  6 09:09:37 1994", timedelta(minutes=20)),
        ("Sun, 06 Nov 1994 08:49:37 -0100", timedelta(hours=1)),
        ("Sat, 05 Nov 1994 00:00:00 GMT", timedelta(seconds=60)),
        ("Fri, 01 Jan 2100 00:00:00 GMT", timedelta(hours=24)),
        ("Sun, 31 Nov 1994 08:49:37 GMT", None),
        ("abc", None),
        ("1.5", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_stays_within_a_minute_and_a_day(value: str, wait: timedelta | None) -> None:
    assert retry_after({"retry-after": value}, now=NOVEMBER) == wait


def test_a_date_counts_from_the_answers_own() -> None:
    headers = {
        "retry-after": "Fri, 01 Jan 2100 02:00:00 GMT",
        "date": "Fri, 01 Jan 2100 00:00:00 GMT",
    }
    assert retry_after(headers, now=NOVEMBER) == timedelta(hours=2)


def test_no_retry_after_is_no_wish() -> None:
    assert retry_after({}, now=NOVEMBER) is None


@given(st.text(), st.text())
def test_lifetimes_never_raise(control: str, expires: str) -> None:
    headers = {"cache-control": control, "expires": expires, "age": control}
    assert timedelta(0) <= lifetime(headers, now=1e9) <= timedelta(hours=24)


@given(st.text())
def test_retry_after_never_raises(value: str) -> None:
    wait = retry_after({"retry-after": value}, now=1e9)
    assert wait is None or timedelta(seconds=60) <= wait <= timedelta(hours=24)


# ── bodies ──────────────────────────────────────────────────────────────────────────


def test_gzip_is_decoded_also_in_several_members(web: MisbehavingServer, door: HttpClient) -> None:
    body = gzip.compress(b"first ") + gzip.compress(b"second")
    web.answers("/", body=body, headers={"Content-Encoding": "gzip"})
    answer = door.get(web.url("/"), allow_private=True)
    assert answer.content == b"first second" and answer.complete


def test_F02_a_body_shorter_than_its_length_is_kept_without_validators(
    web: MisbehavingServer, door: HttpClient
) -> None:
    headers = {"ETag": '"1"', "Cache-Control": "max-age=3600"}
    web.answers("/", body=b"<rss><item/>", length=1000, headers=headers)
    answer = door.get(web.url("/"), allow_private=True)
    assert answer.content == b"<rss><item/>"
    assert not answer.complete and answer.validators == {} and not answer.lifetime


def test_F02_a_gzip_that_is_cut_is_kept_without_validators(
    web: MisbehavingServer, door: HttpClient
) -> None:
    body = gzip.compress(bytes(range(256)) * 40)[:-20]
    web.answers("/", body=body, headers={"ETag": '"1"', "Content-Encoding": "gzip"}, length=-1)
    answer = door.get(web.url("/"), allow_private=True)
    assert answer.content.startswith(bytes(range(256)))
    assert not answer.complete and answer.validators == {}


def test_F02_nothing_at_all_is_a_failure(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/", body=b"", length=1000)
    with pytest.raises(FetchError, match="closed the connection"):
        door.get(web.url("/"), allow_private=True)


def test_F03_a_small_gzip_bomb_is_stopped_at_the_ratio(
    web: MisbehavingServer, door: HttpClient
) -> None:
    bomb = gzip.compress(b"\0" * 5_000_000)
    web.answers("/", body=bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchError, match="over 100 times its size"):
        door.get(web.url("/"), allow_private=True)


def test_F03_a_large_gzip_bomb_is_stopped_at_the_cap_with_little_memory(
    web: MisbehavingServer, door: HttpClient
) -> None:
    bomb = gzip.compress(b"\0" * 100_000_000)
    web.answers("/", body=bomb, headers={"Content-Encoding": "gzip"})
    tracemalloc.start()
    with pytest.raises(FetchError, match="larger than"):
        door.get(web.url("/"), allow_private=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64_000_000


def test_F03_the_cap_counts_what_is_decoded(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/", body=gzip.compress(b"ab" * 600), headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchError, match="larger than 1,000 bytes"):
        door.get(web.url("/"), allow_private=True, max_bytes=1000)
    assert len(door.get(web.url("/"), allow_private=True, max_bytes=1200).content) == 1200


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "deflate", "gzip\tgzip"])
def test_F03_nested_and_unknown_encodings_are_refused(
    web: MisbehavingServer, door: HttpClient, encoding: str
) -> None:
    web.answers("/", body=zlib.compress(b"x"), headers={"Content-Encoding": encoding})
    with pytest.raises(FetchError, match="not requested"):
        door.get(web.url("/"), allow_private=True)


def test_broken_gzip_is_a_failure(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/", body=b"not gzip at all", headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchError, match="compression is broken"):
        door.get(web.url("/"), allow_private=True)


@pytest.mark.parametrize("part", ["head", "body"])
def test_F04_a_byte_now_and_then_ends_with_the_deadline(
    web: MisbehavingServer, door: HttpClient, part: str
) -> None:
    body = b"" if part == "head" else b"x" * 1000
    web.answers("/", body=body, piece=1)
    with pytest.raises(FetchError, match=r"127.0.0.1( did not finish within 0.4 s|: no answer)"):
        door.get(web.url("/"), allow_private=True, deadline=SHORT)


def test_F04_silence_ends_with_the_deadline(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/", hang=True)
    with pytest.raises(FetchError, match=r"no answer in time|did not finish within 0\.4 s"):
        door.get(web.url("/"), allow_private=True, deadline=SHORT)


def test_F04_less_than_the_least_rate_ends_before_the_deadline(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    seconds = iter(range(0, 10_000, 20))  # however few pieces it comes in
    door = HttpClient(version="1", gate_dir=tmp_path, monotonic=lambda: float(next(seconds)))
    web.answers("/", body=b"x" * 1000, piece=200)
    with pytest.raises(FetchError, match="less than 200 bytes a second"):
        door.get(web.url("/"), allow_private=True, deadline=timedelta(hours=1))


def test_F04_a_slow_beginning_is_no_least_rate(web: MisbehavingServer, tmp_path: Path) -> None:
    calls = iter(range(10_000))
    door = HttpClient(version="1", gate_dir=tmp_path, monotonic=lambda: min(next(calls) / 2, 9.0))
    web.answers("/", body=b"x" * 10, piece=40)
    assert door.get(web.url("/"), allow_private=True).content == b"x" * 10


def test_F04_the_deadline_is_a_minute_where_nobody_says_more(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    seconds = iter([0.0, 0.0, 0.0])
    door = HttpClient(version="1", gate_dir=tmp_path, monotonic=lambda: next(seconds, 60.5))
    web.answers("/", body=b"x")
    with pytest.raises(FetchError, match="within 60 s"):
        door.get(web.url("/"), allow_private=True)


def test_F04_all_redirects_share_one_deadline(web: MisbehavingServer, tmp_path: Path) -> None:
    time = Time(0.0)

    def late(request: Asked) -> Answer:
        time.now += 25
        return Answer(302, headers={"Location": request.target + "x"})

    web.decides("*", late)
    with pytest.raises(FetchError, match="within 60 s"):
        HttpClient(version="1", gate_dir=tmp_path, monotonic=time).get(
            web.url("/"), allow_private=True
        )
    assert len(web.requests) == 3


def test_F04_waiting_for_ones_turn_is_not_the_servers_time(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    time = Time()
    door, _ = public_door(
        web, tmp_path, lambda _: [PUBLIC], monotonic=time, wall=time, sleep=time.sleep
    )
    web.answers("/", status=302, headers={"Location": "/there"})
    web.answers("/there", body=b"x")
    answer = door.get("http://arxiv.org/", deadline=timedelta(seconds=2))
    assert answer.content == b"x" and sum(time.slept) >= 3.0


class Listening(httpcore.NetworkStream):
    """Notes how long each operation of a connection may take."""

    def __init__(self, stream: httpcore.NetworkStream, timeouts: dict[str, float | None]) -> None:
        self.stream, self.timeouts = stream, timeouts

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.timeouts["read"] = timeout
        return self.stream.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.timeouts["write"] = timeout
        self.stream.write(buffer, timeout)

    def start_tls(self, ssl_context, server_hostname=None, timeout=None):  # type: ignore[no-untyped-def]
        self.timeouts["tls"] = timeout
        return self

    def close(self) -> None:
        self.stream.close()


class Asking(Dialler):
    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.timeouts: dict[str, float | None] = {}

    def connect_tcp(self, host: str, port: int, timeout=None, *_: object, **__: object):  # type: ignore[no-untyped-def]
        self.timeouts["connect"] = timeout
        return Listening(super().connect_tcp(host, port, timeout), self.timeouts)


@pytest.mark.parametrize(
    ("seconds", "timeouts"),
    [
        (3600, {"connect": 10, "tls": 10, "write": 20, "read": 20}),
        (5, {"connect": 5, "tls": 5, "write": 5, "read": 5}),
    ],
)
def test_F04_each_operation_has_its_own_time_within_the_deadline(
    web: MisbehavingServer, tmp_path: Path, seconds: int, timeouts: dict[str, float]
) -> None:
    dialler = Asking(web.port)
    door = HttpClient(
        version="1",
        gate_dir=tmp_path,
        resolve=lambda _host, _port: [PUBLIC],
        dialler=dialler,
        monotonic=lambda: 0.0,
    )
    web.answers("/", body=b"x")
    door.get("https://feeds.example/", deadline=timedelta(seconds=seconds))
    assert dialler.timeouts == timeouts


def test_F03_headers_without_end_are_refused(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/", body=b"x", headers={f"X-{n}": "y" * 1000 for n in range(3000)})
    with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
        door.get(web.url("/"), allow_private=True)


# ── into a file ─────────────────────────────────────────────────────────────────────


def test_what_is_saved_never_stands_in_memory(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path
) -> None:
    body = bytes(range(256)) * 40_000
    web.answers("/", body=body, headers={"ETag": '"1"'})
    with (tmp_path / "saved").open("w+b") as file:
        tracemalloc.start()
        answer = door.save(web.url("/"), file, max_bytes=len(body), allow_private=True)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (answer.content, answer.complete, answer.validators) == (b"", True, {"etag": '"1"'})
    assert (tmp_path / "saved").read_bytes() == body
    assert most < 1.5 * len(body)  # of which one is the server's
    assert web.requests[0].headers["accept-encoding"] == "identity"


def test_F03_what_is_saved_has_a_cap_and_a_ratio(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path
) -> None:
    bomb = gzip.compress(b"0" * 20_000_000)
    web.answers("/large", body=b"x" * 1000)
    web.answers("/bomb", body=bomb, headers={"Content-Encoding": "gzip"})
    with (tmp_path / "saved").open("w+b") as file:
        with pytest.raises(FetchError, match="larger than 999 bytes"):
            door.save(web.url("/large"), file, max_bytes=999, allow_private=True)
        with pytest.raises(FetchError, match="100 times its size"):
            door.save(web.url("/bomb"), file, max_bytes=10**9, allow_private=True)


def test_F02_what_was_cut_is_saved_without_validators(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path
) -> None:
    web.answers("/", body=b"half", length=8, headers={"ETag": '"1"'})
    with (tmp_path / "saved").open("w+b") as file:
        file.write(b"of an earlier try")
        answer = door.save(web.url("/"), file, max_bytes=99, allow_private=True)
    assert (answer.complete, answer.validators) == (False, {})
    assert (tmp_path / "saved").read_bytes() == b"half"
    assert len(web.requests) == 2  # the second time it brought nothing more


BODY = bytes(range(256)) * 40


def resuming(
    web: MisbehavingServer, headers: dict[str, str], rest: Callable[[int], Answer]
) -> None:
    """Break off after 1,000 bytes, and answer what is asked from a byte on with `rest`."""

    def decide(request: Asked) -> Answer:
        if begin := request.headers.get("range", "").removeprefix("bytes=").removesuffix("-"):
            return rest(int(begin))
        whole = len(web.requests) > 1
        return Answer(body=BODY if whole else BODY[:1000], headers=headers, length=len(BODY))

    web.decides("/", decide)


ETAG = {"ETag": '"1"'}


def part(begin: int, end: int, **headers: str) -> Answer:
    headers = {"Content-Range": f"bytes {begin}-{end - 1}/{len(BODY)}", "ETag": '"1"', **headers}
    return Answer(206, body=BODY[begin:end], headers=headers)


def saved(web: MisbehavingServer, door: HttpClient, tmp_path: Path) -> tuple[bytes, Response]:
    with (tmp_path / "saved").open("w+b") as file:
        answer = door.save(web.url("/"), file, max_bytes=len(BODY), allow_private=True)
    return (tmp_path / "saved").read_bytes(), answer


def test_F02_of_a_file_that_broke_off_only_the_rest_is_asked_for(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path
) -> None:
    resuming(web, {"ETag": '"1"'}, lambda begin: part(begin, min(begin + 5000, len(BODY))))
    content, answer = saved(web, door, tmp_path)
    assert (content, answer.complete, answer.validators) == (BODY, True, {"etag": '"1"'})
    ranges = [(one.headers.get("range"), one.headers.get("if-range")) for one in web.requests]
    assert ranges == [(None, None), *((f"bytes={n}-", '"1"') for n in (1000, 6000))]


@pytest.mark.parametrize(
    "other",
    [
        Answer(body=BODY, headers={"ETag": '"2"'}),
        part(0, len(BODY)),
        replace(part(1000, len(BODY), ETag='"2"'), body=bytes(len(BODY) - 1000)),
        part(1000, len(BODY), **{"Content-Encoding": "gzip"}),
        Answer(206, body=BODY[1000:]),
        Answer(416),
    ],
    ids=["changed", "from-elsewhere", "of-another", "encoded", "from-nowhere", "refused"],
)
def test_F02_what_is_not_the_rest_of_a_file_is_not_put_behind_it(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path, other: Answer
) -> None:
    resuming(web, {"ETag": '"1"'}, lambda _: other)
    content, answer = saved(web, door, tmp_path)
    assert content == BODY and answer.complete


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"1"'}])
def test_F02_the_rest_is_not_asked_for_where_nothing_names_the_file_for_sure(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path, headers: dict[str, str]
) -> None:
    resuming(web, headers, lambda begin: part(begin, len(BODY)))
    content, answer = saved(web, door, tmp_path)
    assert (content, answer.complete, len(web.requests)) == (BODY[:1000], False, 1)


def test_F02_a_file_that_never_comes_whole_is_not_asked_for_for_ever(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path
) -> None:
    resuming(web, {"ETag": '"1"'}, lambda begin: part(begin, begin + 10))
    content, answer = saved(web, door, tmp_path)
    assert not answer.complete and BODY.startswith(content) and len(web.requests) == 11


def test_F04_a_file_that_is_taken_up_again_has_no_more_time(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    time = Time(0.0)

    def late(request: Asked) -> Answer:
        time.now += 11 * 3600
        begin = int(request.headers.get("range", "bytes=0-")[6:-1])
        return part(begin, begin + 10) if begin else Answer(body=BODY[:10], headers=ETAG, length=99)

    web.decides("/", late)
    door = HttpClient(version="1", gate_dir=tmp_path, monotonic=time)
    with (tmp_path / "saved").open("w+b") as file:
        answer = door.save(web.url("/"), file, max_bytes=9999, allow_private=True)
    assert not answer.complete and len(web.requests) == 2


def test_F04_a_transfer_into_a_file_has_a_least_rate(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    seconds = iter(range(0, 10_000, 20))  # however few pieces it comes in
    door = HttpClient(version="1", gate_dir=tmp_path, monotonic=lambda: float(next(seconds)))
    web.answers("/", body=b"x" * 1000, piece=200)
    with (
        (tmp_path / "saved").open("w+b") as file,
        pytest.raises(FetchError, match="less than 200 bytes a second"),
    ):
        door.save(web.url("/"), file, max_bytes=9999, allow_private=True)


def test_a_disk_that_cannot_hold_an_answer_is_named(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path
) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    web.answers("/", body=b"x" * 1000)
    with pytest.raises(FetchError, match="cannot be saved: No space left on device"):
        door.save(web.url("/"), Full(), max_bytes=9999, allow_private=True)


# ── addresses ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1",
        "::1", "::", "fe80::1", "fc00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::1",
        "2002:7f00:1::1", "2001:0:4136:e378::1", "::7f00:1", "2001:db8::1",
    ],
)  # fmt: skip
def test_F05_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert is_refused(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_not_refused(address: str) -> None:
    assert not is_refused(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://localhost/",
        "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/",
        "http://169.254.169.254/latest/meta-data/", "http://100.64.0.1/", "http://0/",
    ],
)  # fmt: skip
def test_F05_private_addresses_are_refused_however_they_are_written(
    door: HttpClient, url: str
) -> None:
    with pytest.raises(FetchError, match="not a public address") as fault:
        door.get(url)
    assert "allow_private: true" in str(fault.value)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.org/", "gopher://x/", "//x", "", "http://", "x"]
)
def test_only_http_and_https_are_fetched(door: HttpClient, url: str) -> None:
    with pytest.raises(FetchError, match="not an http or https address"):
        door.get(url)


def test_an_address_that_cannot_be_parsed_is_a_failure(door: HttpClient) -> None:
    with pytest.raises(FetchError, match="not a valid address"):
        door.get("http://[::1")


def test_ports_other_than_80_and_443_need_permission(door: HttpClient) -> None:
    with pytest.raises(FetchError, match="port other than 80 and 443"):
        door.get("http://example.org:8080/")


def test_F05_the_address_that_was_checked_is_the_one_dialled(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    """A name that changes its answer between check and connect gains nothing."""
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    door, dialler = public_door(web, tmp_path, lambda _: next(answers))
    web.answers("/feed", body=b"x")
    assert door.get("http://feeds.example/feed").content == b"x"
    assert dialler.dialled == [PUBLIC]
    with pytest.raises(FetchError, match="not a public address"):
        door.get("http://feeds.example/feed")
    assert dialler.dialled == [PUBLIC]


def test_F05_of_several_addresses_only_public_ones_are_dialled(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    door, dialler = public_door(web, tmp_path, lambda _: ["10.0.0.1", PUBLIC, "::1"])
    web.answers("/")
    door.get("http://feeds.example/")
    assert dialler.dialled == [PUBLIC]


def test_a_name_without_an_address_is_a_failure_in_words(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    def unknown(_: str) -> list[str]:
        raise OSError(-2, "Name or service not known")

    door, _ = public_door(web, tmp_path, unknown)
    with pytest.raises(FetchError, match=r"^feeds.example: Name or service not known$"):
        door.get("http://feeds.example/")


def test_a_refused_connection_is_a_failure(door: HttpClient) -> None:
    with misbehaving_server() as gone:
        url = gone.url("/")
    with pytest.raises(FetchError, match="refused"):
        door.get(url, allow_private=True)


# ── redirects ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_to_a_relative_place(
    web: MisbehavingServer, door: HttpClient, status: int
) -> None:
    web.answers("/a/b", status=status, headers={"Location": "../c"})
    web.answers("/c", body=b"there")
    answer = door.get(web.url("/a/b"), allow_private=True)
    assert (answer.content, answer.url) == (b"there", web.url("/c"))


def test_F05_a_redirect_loop_ends_after_five(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/loop", status=302, headers={"Location": "/loop"})
    with pytest.raises(FetchError, match="redirects more than 5 times"):
        door.get(web.url("/loop"), allow_private=True)
    assert len(web.requests) == 6


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://169.254.169.254/latest", "not a public address"),
        ("http://[::ffff:127.0.0.1]/", "not a public address"),
        ("http://[64:ff9b::a9fe:a9fe]/", "not a public address"),
        ("http://2130706433/", "not a public address"),
        ("http://inside.example/", "not a public address"),
        ("//127.0.0.1/", "not a public address"),
        ("http://feeds.example:8080/", "port other than"),
        ("file:///etc/passwd", "not an http or https"),
        ("http://[::1", "Invalid URL"),
    ],
)
def test_F05_redirects_are_checked_like_the_first_address(
    web: MisbehavingServer, tmp_path: Path, location: str, why: str
) -> None:
    known = {"feeds.example": PUBLIC, "inside.example": "10.0.0.7", "2130706433": "127.0.0.1"}
    door, dialler = public_door(web, tmp_path, lambda host: [known.get(host, host)])
    web.answers("/", status=302, headers={"Location": location})
    with pytest.raises(FetchError, match=why):
        door.get("http://feeds.example/")
    assert dialler.dialled == [PUBLIC]


def test_credentials_stay_with_their_host(web: MisbehavingServer, tmp_path: Path) -> None:
    door, _ = public_door(web, tmp_path, lambda _: [PUBLIC])
    web.answers("/", status=302, headers={"Location": "/next"})
    web.answers("/next", status=302, headers={"Location": "http://a:b@other.example/end"})
    web.answers("/end", body=b"x")
    answer = door.get("http://ada:secret@feeds.example/")
    sent = [request.headers.get("authorization") for request in web.requests]
    assert sent == ["Basic YWRhOnNlY3JldA==", "Basic YWRhOnNlY3JldA==", None]
    assert answer.url == "http://other.example/end"


@pytest.mark.parametrize("elsewhere", ["http://127.0.0.1:{port}/", "http://localhost:{port}/"])
def test_F05_permission_for_a_private_server_ends_where_it_redirects_to(
    web: MisbehavingServer, door: HttpClient, elsewhere: str
) -> None:
    with misbehaving_server() as other:
        other.answers("/", body=b"internal")
        location = elsewhere.format(port=other.port)
        web.answers("/", status=302, headers={"Location": location})
        with pytest.raises(FetchError, match="uses a port other than 80 and 443"):
            door.get(web.url("/"), allow_private=True)
    assert other.requests == []


def test_F05_permission_does_not_come_back_with_a_redirect_home(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    known = {"inside.example": "10.0.0.7", "outside.example": PUBLIC}
    door, dialler = public_door(web, tmp_path, lambda host: [known[host]])
    web.answers("/", status=302, headers={"Location": "http://outside.example/back"})
    web.answers("/back", status=302, headers={"Location": "http://inside.example/secret"})
    with pytest.raises(FetchError, match="not a public address"):
        door.get("http://inside.example/", allow_private=True)
    assert dialler.dialled == ["10.0.0.7", PUBLIC]


@pytest.mark.parametrize(
    ("first", "elsewhere"),
    [
        ("http://feeds.example/", "http://other.example"),
        ("http://feeds.example:8080/", "http://feeds.example"),
    ],
)
def test_keys_in_headers_stay_with_their_server(
    web: MisbehavingServer, tmp_path: Path, first: str, elsewhere: str
) -> None:
    door, _ = public_door(web, tmp_path, lambda _: [PUBLIC])
    web.answers("/", status=302, headers={"Location": "/next"})
    web.answers("/next", status=302, headers={"Location": f"{elsewhere}/end"})
    web.answers("/end", body=b"x")
    door.get(first, headers={"x-api-key": "hush"}, allow_private=True)
    sent = [request.headers.get("x-api-key") for request in web.requests]
    assert sent == ["hush", "hush", None]


def test_passwords_of_the_machines_user_are_not_sent(
    web: MisbehavingServer, door: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ada password hush")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    web.answers("/", body=b"x")
    door.get(web.url("/"), allow_private=True)
    assert "authorization" not in web.requests[0].headers


@pytest.fixture
def tls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ssl.SSLContext:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return context


def test_https_is_verified_against_ssl_cert_file(tls: ssl.SSLContext, door: HttpClient) -> None:
    with misbehaving_server(tls) as web:
        web.answers("/", body=b"safe")
        assert door.get(web.url("/"), allow_private=True).content == b"safe"


def test_a_certificate_nobody_vouches_for_is_a_failure(
    tls: ssl.SSLContext, door: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with misbehaving_server(tls) as web, pytest.raises(FetchError, match="certificate verify"):
        door.get(web.url("/"), allow_private=True)


def test_https_to_http_is_refused(
    tls: ssl.SSLContext, web: MisbehavingServer, door: HttpClient
) -> None:
    with misbehaving_server(tls) as safe:
        safe.answers("/", status=302, headers={"Location": web.url("/plain")})
        with pytest.raises(FetchError, match="from https to http"):
            door.get(safe.url("/"), allow_private=True)
    assert web.requests == []


# ── proxies ─────────────────────────────────────────────────────────────────────────


def test_a_proxy_of_the_environment_is_used_and_may_be_private(
    web: MisbehavingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://user:pass@127.0.0.1:{web.port}")
    door, _ = public_door(web, tmp_path, lambda host: [PUBLIC])
    web.answers("http://feeds.example/feed", body=b"x")
    assert door.get("http://feeds.example/feed").content == b"x"
    assert web.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwYXNz"


def test_behind_a_proxy_private_names_are_refused_before_it_is_asked(
    web: MisbehavingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{web.port}")
    door, _ = public_door(web, tmp_path, lambda host: ["169.254.169.254"])
    with pytest.raises(FetchError, match="not a public address"):
        door.get("http://metadata.example/")
    assert web.requests == []


def test_hosts_in_no_proxy_are_dialled(
    web: MisbehavingServer, door: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    web.answers("/", body=b"x")
    assert door.get(web.url("/"), allow_private=True).content == b"x"


def test_a_socks_proxy_is_refused_in_words(
    door: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1080")
    with pytest.raises(FetchError, match="socks5 proxy is not supported"):
        door.get("http://feeds.example/")


# ── secrets ─────────────────────────────────────────────────────────────────────────


def test_addresses_are_shown_without_secrets() -> None:
    assert (
        redact_url("https://ada:pw@h.example:8443/p?api_key=1#x") == "https://h.example:8443/p?..."
    )
    assert redact_url("http://[::1]/p") == "http://[::1]/p"
    assert redact_url("http://[bad") == "this address"


def test_what_a_server_says_with_a_refusal_is_kept_and_bounded(
    web: MisbehavingServer, door: HttpClient
) -> None:
    for body, kept in ((b"bad set", b"bad set"), (b"x" * 100_000, b"")):
        web.answers("/", status=400, body=body)
        with pytest.raises(FetchError) as fault:
            door.get(web.url("/"), allow_private=True)
        assert fault.value.body == kept and "bad set" not in str(fault.value)


@pytest.mark.parametrize("status", [302, 403, 404, 429, 500])
def test_no_error_and_no_log_line_holds_a_secret(
    web: MisbehavingServer, door: HttpClient, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    web.answers("/f?api_key=hush", status=status, headers={"Location": "/f?api_key=hush"})
    url = web.url("/f?api_key=hush").replace("//", "//ada:hush@")
    with caplog.at_level(logging.DEBUG), pytest.raises(FetchError) as fault:
        door.get(url, allow_private=True)
    assert "hush" not in str(fault.value)
    assert "hush" not in caplog.text


# ── gates ───────────────────────────────────────────────────────────────────────────


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.mark.parametrize("second", ["export.arxiv.org", "rss.arxiv.org", "arxiv.org", "ARXIV.org."])
def test_requests_to_arxiv_are_three_seconds_apart_under_all_its_names(
    tmp_path: Path, second: str
) -> None:
    time = Time()
    with Gates(tmp_path, time, time.sleep).turn("export.arxiv.org"):
        time.now += 1.5  # the answer takes its time
    ended = time.now
    with Gates(tmp_path, time, time.sleep).turn(second):  # another process
        assert time.now - ended >= 3.0


def test_a_request_that_a_crash_cut_off_counts(tmp_path: Path) -> None:
    time = Time()
    with Gates(tmp_path, time, time.sleep).turn("arxiv.org"):
        (file,) = tmp_path.glob("*.gate")
        assert float(file.read_text()) == time.now


def test_other_hosts_need_no_distance_but_one_turn_each(tmp_path: Path) -> None:
    time = Time()
    gates = Gates(tmp_path, time, time.sleep)
    for _ in range(3):
        with gates.turn("feeds.example"), gates.turn("notarxiv.org"):
            pass
    assert time.slept == []


def test_a_service_may_want_its_requests_further_apart(tmp_path: Path) -> None:
    time = Time()
    for apart in (0.5, 0.5, 0.1):
        with Gates(tmp_path, time, time.sleep).turn("api.example", apart):
            pass
    with Gates(tmp_path, time, time.sleep).turn("arxiv.org", 0.5):
        pass
    with Gates(tmp_path, time, time.sleep).turn("arxiv.org", 0.5):
        pass
    assert time.slept == [0.5, 0.1, 3.0]


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


def test_a_request_that_fails_opens_the_gate_again(tmp_path: Path) -> None:
    gates = Gates(tmp_path)
    with pytest.raises(RuntimeError), gates.turn("feeds.example"):
        raise RuntimeError
    with gates.turn("feeds.example"):
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


def test_what_was_asked_is_seen_by_the_test_server(
    web: MisbehavingServer, door: HttpClient
) -> None:
    web.decides("/echo", lambda request: Answer(body=request.method.encode()))
    assert door.get(web.url("/echo"), allow_private=True).content == b"GET"
    assert isinstance(web.requests[0], Asked)
