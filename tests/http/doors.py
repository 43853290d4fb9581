"""Clients of a public address that is on loopback, and a clock that only sleeping moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

import httpcore

from monitor.http.client import HttpClient
from monitor.http.response import Response
from tests.servers.web import MisbehavingServer

PUBLIC = "93.184.216.34"


class Dialler(httpcore.NetworkBackend):
    """Dials a server on loopback whatever public address was asked for, and remembers it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.dialled: list[str] = []

    def connect_tcp(self, host: str, port: int, timeout=None, *_: object, **__: object):  # type: ignore[no-untyped-def]
        self.dialled.append(host)
        return httpcore.SyncBackend().connect_tcp("127.0.0.1", self.port, timeout)


# Opens a client whose names have these addresses, and its dialler.
Public = Callable[..., tuple[HttpClient, Dialler]]


class Site:
    """A server on loopback, and a client that may reach it."""

    def __init__(self, web: MisbehavingServer, door: HttpClient) -> None:
        self.web = web
        self.door = door
        self.answers = web.answers

    def get(self, path: str = "/", **limits: Any) -> Response:
        return self.door.get(self.web.url(path), allow_private=True, **limits)

    def save(self, file: BinaryIO, **limits: Any) -> Response:
        return self.door.save(self.web.url("/"), file, allow_private=True, **limits)

    def headers(self, number: int = 0) -> dict[str, str]:
        """Return the headers of a request that it received."""
        return dict(self.web.requests[number].headers)


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
