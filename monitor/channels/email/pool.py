"""Several connections to one mail server: as many letters may be under way at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import LifoQueue

from monitor.channels.email.smtp import Letter, SmtpServer
from monitor.model import Outcome


class Connections:
    """A mail server by several connections; each letter takes one that is free.

    The one that was used last is used first, so that a few letters keep few of them open.
    """

    def __init__(self, servers: Sequence[SmtpServer]) -> None:
        """`servers` are one and the same, one for each connection."""
        self.sender = servers[0].sender
        self._servers = tuple(servers)
        self._free: LifoQueue[SmtpServer] = LifoQueue()
        for server in reversed(servers):
            self._free.put(server)

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome:
        server = self._free.get()
        try:
            return server.send(letter, commit_handoff)
        finally:
            self._free.put(server)

    def check(self) -> str:
        return self._servers[0].check()

    def close(self) -> None:
        for server in self._servers:
            server.close()
