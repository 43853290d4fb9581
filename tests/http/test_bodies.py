"""Bodies: decoded under a cap and a ratio, and kept where they were cut."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from monitor.errors import FetchError
from tests.http.doors import Site
from tests.servers.bombs import packed_without_end
from tests.servers.web import Answer


def test_gzip_is_decoded_also_in_several_members(site: Site) -> None:
    body = gzip.compress(b"first ") + gzip.compress(b"second")
    site.answers("/", body=body, headers={"Content-Encoding": "gzip"})
    answer = site.get()
    assert answer.content == b"first second" and answer.complete


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_F02_a_body_that_is_cut_is_kept_without_validators(site: Site, encoding: str) -> None:
    whole = bytes(range(256)) * 40
    body = gzip.compress(whole)[:-20] if encoding == "gzip" else whole[:-20]
    headers = {"ETag": '"1"', "Cache-Control": "max-age=3600", "Content-Encoding": encoding}
    site.answers("/", body=body, headers=headers, length=-1 if encoding == "gzip" else len(whole))
    answer = site.get()
    assert answer.content.startswith(whole[:256])
    assert not answer.complete and answer.validators == {} and not answer.lifetime


def test_F03_a_large_gzip_bomb_is_stopped_at_the_cap_with_little_memory(site: Site) -> None:
    bomb = gzip.compress(b"\0" * 100_000_000)
    site.answers("/", body=bomb, headers={"Content-Encoding": "gzip"})
    tracemalloc.start()
    with pytest.raises(FetchError, match="larger than"):
        site.get()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64_000_000


def test_F03_the_cap_counts_what_is_decoded(site: Site) -> None:
    site.answers("/", body=gzip.compress(b"ab" * 600), headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchError, match="larger than 1,000 bytes"):
        site.get(max_bytes=1000)
    assert len(site.get(max_bytes=1200).content) == 1200


def test_F03_compressed_blocks_of_nothing_are_no_answer_without_end(site: Site) -> None:
    site.web.decides("/", lambda _: packed_without_end())
    with pytest.raises(FetchError, match="larger than 1,000 bytes"):
        site.get(max_bytes=1000)


GZIP = {"Content-Encoding": "gzip"}
NESTED = ("gzip, gzip", "br", "zstd", "deflate", "gzip\tgzip")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(body=b"", length=1000), "closed the connection"),
        (Answer(body=gzip.compress(bytes(5_000_000)), headers=GZIP), "over 100 times its size"),
        (Answer(body=b"not gzip at all", headers=GZIP), "compression is broken"),
        *((Answer(body=b"x", headers={"Content-Encoding": n}), "not requested") for n in NESTED),
        (Answer(headers={f"X-{n}": "y" * 1000 for n in range(3000)}), r"127\.0\.0\.1"),
    ],
)
def test_F02_F03_a_body_that_cannot_be_read_is_a_failure(
    site: Site, answer: Answer, why: str
) -> None:
    site.web.decides("/", lambda _: answer)
    with pytest.raises(FetchError, match=why):
        site.get()
