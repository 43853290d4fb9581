"""A stand-in for oauth2-proxy with its four addresses that recipes use.

A code of the provider is the address of the person it logs in. A session cookie holds that address
in the clear. The answers are those with `--reverse-proxy` and `--set-xauthrequest`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookies import SimpleCookie
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.servers.web import Answer, Asked, misbehaving_server

PROVIDER = "https://login.example.net/authorize"
SESSION = "_oauth2_proxy"
CSRF = "_oauth2_proxy_csrf"


class Oauth2Proxy:
    """`checked` has the path and the visitor's address of each question to `/oauth2/auth`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.checked: list[tuple[str, str]] = []
        self._redirects: dict[str, str] = {}

    def answer(self, request: Asked) -> Answer:
        url = urlsplit(request.target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        cookies = SimpleCookie(request.headers.get("cookie", ""))
        if url.path == "/oauth2/auth":
            return self._check(request.headers, cookies)
        if url.path in ("/oauth2/start", "/oauth2/sign_in"):
            return self._start(request.headers, query)
        if url.path == "/oauth2/callback":
            return self._end(query, cookies)
        return Answer(404)

    def _check(self, headers: Mapping[str, str], cookies: SimpleCookie) -> Answer:
        self.checked.append((headers.get("x-forwarded-uri", ""), headers.get("x-real-ip", "")))
        if SESSION not in cookies:
            return Answer(401)
        return Answer(202, headers={"X-Auth-Request-Email": cookies[SESSION].value})

    def _start(self, headers: Mapping[str, str], query: Mapping[str, str]) -> Answer:
        """Lead to the provider; what leads back may not be another site."""
        host = headers.get("host", "")
        redirect = query.get("rd", headers.get("x-auth-request-redirect", ""))
        redirect = redirect.removeprefix(f"https://{host}")
        if not redirect.startswith("/") or redirect.startswith(("//", "/oauth2/")):
            redirect = "/"
        state = secrets.token_urlsafe()
        self._redirects[state] = redirect
        back = f"https://{host}/oauth2/callback"
        to_provider = f"{PROVIDER}?{urlencode({'state': state, 'redirect_uri': back})}"
        return _lead(to_provider, f"{CSRF}={state}")

    def _end(self, query: Mapping[str, str], cookies: SimpleCookie) -> Answer:
        state = query.get("state", "")
        if CSRF not in cookies or cookies[CSRF].value != state or state not in self._redirects:
            return Answer(403)
        return _lead(self._redirects[state], f"{SESSION}={query['code']}")


def _lead(to: str, cookie: str) -> Answer:
    return Answer(
        302, headers={"Location": to, "Set-Cookie": f"{cookie}; Path=/; Secure; HttpOnly"}
    )


@contextmanager
def oauth2_proxy() -> Iterator[Oauth2Proxy]:
    """Run the stand-in on a free port of loopback until the block ends."""
    with misbehaving_server() as web:
        stand_in = Oauth2Proxy(f"127.0.0.1:{web.port}")
        web.decides("*", stand_in.answer)
        yield stand_in
