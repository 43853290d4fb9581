"""How httpx is joined to connections that go only where they may; and the proxies of the day."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import httpcore
import httpx

from monitor.errors import FetchError


def proxy_for(url: httpx.URL) -> httpx.Proxy | None:
    """Return the proxy that the environment names for an address (HTTP_PROXY, NO_PROXY, ...)."""
    proxies = urllib.request.getproxies()
    address = proxies.get(url.scheme) or proxies.get("all") or ""
    if not address or urllib.request.proxy_bypass(url.host):
        return None
    proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
    if proxy.url.scheme not in ("http", "https"):
        raise FetchError(f"a {proxy.url.scheme} proxy is not supported", "use an http proxy")
    return proxy


def core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


class Transport(httpx.BaseTransport):
    """Joins httpx to a connection pool that dials through the guard."""

    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self._pool = pool

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._pool.handle_request(
            httpcore.Request(
                request.method,
                core_url(request.url),
                headers=request.headers.raw,
                content=request.read(),
                extensions=request.extensions,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()
