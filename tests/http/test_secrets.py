"""No secret in a message or a log line."""

from __future__ import annotations

import logging

import pytest

from monitor.errors import FetchError
from monitor.http.addresses import redact_url
from monitor.http.client import HttpClient
from tests.servers.web import MisbehavingServer


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
