"""Bodies: decoded under a cap and a ratio, and kept where they were cut."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from tests.servers.web import MisbehavingServer


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


def test_F03_headers_without_end_are_refused(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/", body=b"x", headers={f"X-{n}": "y" * 1000 for n in range(3000)})
    with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
        door.get(web.url("/"), allow_private=True)
