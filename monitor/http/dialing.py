"""Connections that go only where they may and last only as long as they may, and proxies."""

from __future__ import annotations

import logging
import math
import socket
import ssl
import threading
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import httpcore
import httpx

from monitor.errors import DeferredError, FetchError
from monitor.http.addresses import public_addresses
from monitor.http.request import port_of


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host in the order they should be tried; OSError if none."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


# Seconds between two looks whether to go on with a server that sends nothing.
LOOK = 1.0


class TooLateError(Exception):
    """The deadline of one answer has passed."""


class Watch:
    """A deadline that every single operation of a connection respects, over all redirects.

    Once `stopping` is set, each of them ends with a DeferredError.
    """

    def __init__(
        self,
        monotonic: Callable[[], float],
        seconds: float,
        stopping: threading.Event | None = None,
    ) -> None:
        self.monotonic = monotonic
        self._stopping = stopping
        self._seconds = seconds
        self._ends = monotonic() + seconds

    def put_off(self, seconds: float) -> None:
        """Count time for which no server is to blame, as that of waiting for one's turn."""
        self._ends += seconds

    def go_on(self) -> None:
        if self._stopping and self._stopping.is_set():
            raise DeferredError("the program stops")

    def left(self, wished: float | None) -> float:
        self.go_on()
        left = self._ends - self.monotonic()
        if left <= 0:
            raise TooLateError(f"{self._seconds:g} s")
        return left if wished is None else min(wished, left)


@dataclass(frozen=True, slots=True)
class Guard(httpcore.NetworkBackend):
    """Resolves a name once and dials only what it has checked, so DNS cannot change between."""

    dialler: httpcore.NetworkBackend
    resolve: Callable[[str, int], list[str]]
    watch: Watch
    allow_private: bool

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        resolved = self.resolve(host, port)
        addresses = resolved if self.allow_private else public_addresses(host, resolved)
        fault: Exception = OSError("it has no address")
        for address in addresses:
            try:
                stream = self.dialler.connect_tcp(address, port, self.watch.left(timeout))
                return _Stream(stream, self.watch)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                fault = failed
        raise fault

    def check_behind_proxy(self, url: httpx.URL) -> None:
        """The proxy dials, so all that can be refused here is what resolves to a bad address."""
        try:
            addresses = self.resolve(url.host, port_of(url))
        except OSError:
            return  # only the proxy knows the name
        if not self.allow_private:
            public_addresses(url.host, addresses)


class _Stream(httpcore.NetworkStream):
    """A connection whose every read and write ends with the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, watch: Watch) -> None:
        self._stream = stream
        self._watch = watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what comes. A server that sends nothing is not waited for when we are to stop."""
        rest = math.inf if timeout is None else timeout
        while rest > LOOK:
            with suppress(httpcore.ReadTimeout):
                return self._stream.read(max_bytes, self._watch.left(LOOK))
            rest -= LOOK
        return self._stream.read(max_bytes, self._watch.left(rest))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._watch.left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = self._watch.left(timeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._watch)


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


def open_pool(url: httpx.URL, guard: Guard, tls: ssl.SSLContext) -> httpcore.ConnectionPool:
    """Return what connects to the server of an address, through a proxy where there is one."""
    # It logs whole addresses and headers, with the keys in them.
    logging.getLogger("httpcore").setLevel(logging.WARNING)
    proxy = proxy_for(url)
    if proxy is None:
        return httpcore.ConnectionPool(tls, network_backend=guard)
    guard.check_behind_proxy(url)
    # The operator chose the proxy, so it may be in a private network.
    guard = replace(guard, allow_private=True)
    return httpcore.HTTPProxy(
        core_url(proxy.url), proxy.raw_auth, ssl_context=tls, network_backend=guard
    )


def core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )
