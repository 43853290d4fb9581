"""No private address is dialled."""

from __future__ import annotations

import ipaddress

import pytest

from monitor.errors import FetchError
from monitor.http.addresses import is_refused
from monitor.http.client import HttpClient
from tests.http.doors import PUBLIC, Public
from tests.servers.web import MisbehavingServer, misbehaving_server


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
    for public in (PUBLIC, "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"):
        assert not is_refused(ipaddress.ip_address(public))


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


SCHEMES = ("file:///etc/passwd", "ftp://example.org/", "gopher://x/", "//x", "", "http://", "x")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        *((url, "not an http or https address") for url in SCHEMES),
        ("http://[::1", "not a valid address"),
        ("http://example.org:8080/", "port other than 80 and 443"),
    ],
)
def test_addresses_that_are_not_of_a_public_website_are_refused(
    door: HttpClient, url: str, why: str
) -> None:
    with pytest.raises(FetchError, match=why):
        door.get(url)


def test_F05_the_address_that_was_checked_is_the_one_dialled(
    web: MisbehavingServer, public: Public
) -> None:
    """A name that changes its answer between check and connect gains nothing."""
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    door, dialler = public(lambda _: next(answers))
    web.answers("/feed", body=b"x")
    assert door.get("http://feeds.example/feed").content == b"x"
    assert dialler.dialled == [PUBLIC]
    with pytest.raises(FetchError, match="not a public address"):
        door.get("http://feeds.example/feed")
    assert dialler.dialled == [PUBLIC]


def test_F05_of_several_addresses_only_public_ones_are_dialled(
    web: MisbehavingServer, public: Public
) -> None:
    door, dialler = public(lambda _: ["10.0.0.1", PUBLIC, "::1"])
    web.answers("/")
    door.get("http://feeds.example/")
    assert dialler.dialled == [PUBLIC]


def test_a_name_without_an_address_is_a_failure_in_words(
    web: MisbehavingServer, public: Public
) -> None:
    def unknown(_: str) -> list[str]:
        raise OSError(-2, "Name or service not known")

    door, _ = public(unknown)
    with pytest.raises(FetchError, match=r"^feeds.example: Name or service not known$"):
        door.get("http://feeds.example/")


def test_a_refused_connection_is_a_failure(door: HttpClient) -> None:
    with misbehaving_server() as gone:
        url = gone.url("/")
    with pytest.raises(FetchError, match="refused"):
        door.get(url, allow_private=True)
