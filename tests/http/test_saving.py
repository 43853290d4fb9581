"""Answers that are larger than memory: saved into a file, and resumed."""

from __future__ import annotations

import errno
import io
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from monitor.http.response import Response
from tests.http.doors import Site, Time
from tests.servers.web import Answer, Asked, MisbehavingServer


def test_what_is_saved_never_stands_in_memory(site: Site, tmp_path: Path) -> None:
    body = bytes(range(256)) * 40_000
    site.answers("/", body=body, headers={"ETag": '"1"'})
    with (tmp_path / "saved").open("w+b") as file:
        tracemalloc.start()
        answer = site.save(file, max_bytes=len(body))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (answer.content, answer.complete, answer.validators) == (b"", True, {"etag": '"1"'})
    assert (tmp_path / "saved").read_bytes() == body
    assert most < 1.5 * len(body)  # of which one is the server's
    assert site.headers()["accept-encoding"] == "identity"


def test_F02_what_was_cut_is_saved_without_validators(site: Site, tmp_path: Path) -> None:
    site.answers("/", body=b"half", length=8, headers={"ETag": '"1"'})
    with (tmp_path / "saved").open("w+b") as file:
        file.write(b"of an earlier try")
        answer = site.save(file, max_bytes=99)
    assert (answer.complete, answer.validators) == (False, {})
    assert (tmp_path / "saved").read_bytes() == b"half"
    assert len(site.web.requests) == 2  # the second time it brought nothing more


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


def saved(site: Site, tmp_path: Path) -> tuple[bytes, Response]:
    with (tmp_path / "saved").open("w+b") as file:
        answer = site.save(file, max_bytes=len(BODY))
    return (tmp_path / "saved").read_bytes(), answer


def test_F02_of_a_file_that_broke_off_only_the_rest_is_asked_for(
    site: Site, tmp_path: Path
) -> None:
    resuming(site.web, ETAG, lambda begin: part(begin, min(begin + 5000, len(BODY))))
    content, answer = saved(site, tmp_path)
    assert (content, answer.complete, answer.validators) == (BODY, True, {"etag": '"1"'})
    ranges = [(one.headers.get("range"), one.headers.get("if-range")) for one in site.web.requests]
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
    site: Site, tmp_path: Path, other: Answer
) -> None:
    resuming(site.web, ETAG, lambda _: other)
    content, answer = saved(site, tmp_path)
    assert content == BODY and answer.complete


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"1"'}])
def test_F02_the_rest_is_not_asked_for_where_nothing_names_the_file_for_sure(
    site: Site, tmp_path: Path, headers: dict[str, str]
) -> None:
    resuming(site.web, headers, lambda begin: part(begin, len(BODY)))
    content, answer = saved(site, tmp_path)
    assert (content, answer.complete, len(site.web.requests)) == (BODY[:1000], False, 1)


def test_F02_a_file_that_never_comes_whole_is_not_asked_for_for_ever(
    site: Site, tmp_path: Path
) -> None:
    resuming(site.web, ETAG, lambda begin: part(begin, begin + 10))
    content, answer = saved(site, tmp_path)
    assert not answer.complete and BODY.startswith(content) and len(site.web.requests) == 11


def test_F04_a_file_that_is_taken_up_again_has_no_more_time(
    web: MisbehavingServer, tmp_path: Path
) -> None:
    time = Time(0.0)

    def late(request: Asked) -> Answer:
        time.now += 11 * 3600
        begin = int(request.headers.get("range", "bytes=0-")[6:-1])
        return part(begin, begin + 10) if begin else Answer(body=BODY[:10], headers=ETAG, length=99)

    web.decides("/", late)
    site = Site(web, HttpClient(version="1", gate_dir=tmp_path, monotonic=time))
    assert not saved(site, tmp_path)[1].complete and len(web.requests) == 2


def test_a_disk_that_cannot_hold_an_answer_is_named(site: Site, tmp_path: Path) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    site.answers("/", body=b"x" * 1000)
    with pytest.raises(FetchError, match="cannot be saved: No space left on device"):
        site.save(Full())
