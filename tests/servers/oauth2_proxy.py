"""A stand-in for oauth2-proxy with its four addresses that recipes use.

A code of the provider is the address of the person it logs in. A session cookie holds that address
in the clear. The answers are those with `--reverse-proxy` and `--set-xauthrequest`.
"""

from __future__ import annotations

import secrets
import threading
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

PROVIDER = "https://login.example.net/authorize"
SESSION, CSRF = "_oauth2_proxy", "_oauth2_proxy_csrf"


class Oauth2Proxy:
    """`checked` has the path and the visitor's address of each question to `/oauth2/auth`."""

    def __init__(self) -> None:
        self.checked: list[tuple[str, str]] = []
        self._redirects: dict[str, str] = {}

    def __enter__(self) -> Self:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                status, headers = stand_in.answer(self)
                self.close_connection = True  # a body may be left that nothing reads
                self.send_response(status)
                for name, value in [*headers, ("Content-Length", "0"), ("Connection", "close")]:
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]]]:
        """Return the status and the headers of an answer; bodies are empty."""
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        cookies = SimpleCookie(request.headers.get("Cookie", ""))
        if url.path == "/oauth2/auth":
            return self._check(request, cookies)
        if url.path in ("/oauth2/start", "/oauth2/sign_in"):
            return self._start(request, query)
        if url.path == "/oauth2/callback":
            return self._end(query, cookies)
        return 404, []

    def _check(
        self, request: BaseHTTPRequestHandler, cookies: SimpleCookie
    ) -> tuple[int, list[tuple[str, str]]]:
        self.checked.append(
            (request.headers.get("X-Forwarded-Uri", ""), request.headers.get("X-Real-IP", ""))
        )
        if SESSION not in cookies:
            return 401, []
        return 202, [("X-Auth-Request-Email", cookies[SESSION].value)]

    def _start(
        self, request: BaseHTTPRequestHandler, query: dict[str, str]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Lead to the provider; what leads back may not be another site."""
        redirect = query.get("rd", request.headers.get("X-Auth-Request-Redirect", ""))
        host = request.headers.get("Host", "")
        redirect = redirect.removeprefix(f"https://{host}")
        if not redirect.startswith("/") or redirect.startswith(("//", "/oauth2/")):
            redirect = "/"
        state = secrets.token_urlsafe()
        self._redirects[state] = redirect
        back = f"https://{host}/oauth2/callback"
        to_provider = f"{PROVIDER}?{urlencode({'state': state, 'redirect_uri': back})}"
        cookie = f"{CSRF}={state}; Path=/; Secure; HttpOnly"
        return 302, [("Location", to_provider), ("Set-Cookie", cookie)]

    def _end(
        self, query: dict[str, str], cookies: SimpleCookie
    ) -> tuple[int, list[tuple[str, str]]]:
        state = query.get("state", "")
        if CSRF not in cookies or cookies[CSRF].value != state or state not in self._redirects:
            return 403, []
        session = f"{SESSION}={query['code']}; Path=/; Secure; HttpOnly"
        return 302, [("Location", self._redirects[state]), ("Set-Cookie", session)]
