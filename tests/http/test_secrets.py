"""No secret in a message or a log line."""

from __future__ import annotations

import logging

import pytest

from monitor.errors import FetchError
from monitor.http.addresses import mask_url, redact_url
from monitor.http.client import HttpClient
from tests.http.doors import Site
from tests.servers.web import MisbehavingServer


def test_addresses_are_shown_without_secrets() -> None:
    assert (
        redact_url("https://ada:pw@h.example:8443/p?api_key=1#x") == "https://h.example:8443/p?..."
    )
    assert redact_url("http://[::1]/p") == "http://[::1]/p"
    assert redact_url("http://[bad") == "this address"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x/feed?api_key=hush&page=2", "https://x/feed?api_key=********&page=2"),
        ("https://x/feed?page=2&token=hush#top", "https://x/feed?page=2&token=********#top"),
        ("https://x/feed?KEY=hush", "https://x/feed?KEY=********"),
        ("https://x/feed?apikey=hush;n=1", "https://x/feed?apikey=********;n=1"),
        ("https://x/feed?api%5Fkey=hush", "https://x/feed?api%5Fkey=********"),
        ("https://x/?X-Amz-Signature=hush", "https://x/?X-Amz-Signature=********"),
        ("https://x/?X-Amz-Credential=hush", "https://x/?X-Amz-Credential=********"),
        ("https://x/?AWSAccessKeyId=hush", "https://x/?AWSAccessKeyId=********"),
        ("https://x/?subscription-key=hush", "https://x/?subscription-key=********"),
        ("https://x/?client_secret=hush", "https://x/?client_secret=********"),
        ("https://x/?sig=hush", "https://x/?sig=********"),
        ("https://x/?access_token[]=hush", "https://x/?access_token[]=********"),
        ("https://x/#access_token=hush", "https://x/#access_token=********"),
        ("postgresql://db/m?user=a&password=hush", "postgresql://db/m?user=a&password=********"),
        ("https://x/?to=https%3A%2F%2Fy%2F%3Fkey%3Dhush", "https://x/?to=********"),
        ("https://ada:hush@x/", "https://ada:********@x/"),
        ("https://ada:hush${KEY}@x/", "https://ada:********@x/"),
        ("https://ada:hush@[x/", "********"),
        ("https://x/?key=${FEED_KEY}", "https://x/?key=${FEED_KEY}"),
        ("https://x/?keyword=ants&author=Wu&design=1&key=", None),
        ("https://x/?q=a+b%20c&to=https%3A%2F%2Fy%2F", None),
        ("not an address?key=value", None),
    ],
)
def test_secrets_in_the_query_of_an_address_are_masked(url: str, shown: str | None) -> None:
    assert mask_url(url) == (shown or url)


def test_what_a_server_says_with_a_refusal_is_kept_and_bounded(site: Site) -> None:
    for body, kept in ((b"bad set", b"bad set"), (b"x" * 100_000, b"")):
        site.answers("/", status=400, body=body)
        with pytest.raises(FetchError) as fault:
            site.get()
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
