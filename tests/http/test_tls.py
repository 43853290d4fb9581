"""HTTPS is verified."""

from __future__ import annotations

import ssl

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from tests.servers.web import misbehaving_server


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
