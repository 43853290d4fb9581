"""Several connections to one mail server: as many letters may be under way at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import LifoQueue
from typing import Protocol

from monitor.channels.email.session import Letter
from monitor.model import Outcome, Step


class MailServer(Protocol):
    """What takes letters: a server by SMTP or LMTP, or a program of this machine."""

    sender: str

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome: ...

    def check(self) -> str: ...

    def steps(self) -> tuple[Step, ...]: ...

    def close(self) -> None: ...


class Connections:
    """A mail server by several connections; each letter takes one that is free.

    The one that was used last is used first, so that a few letters keep few of them open.
    """

    def __init__(self, servers: Sequence[MailServer]) -> None:
        """`servers` are one and the same, one for each connection."""
        self.sender = servers[0].sender
        self._servers = tuple(servers)
        self._free: LifoQueue[MailServer] = LifoQueue()
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

    def steps(self) -> tuple[Step, ...]:
        return self._servers[0].steps()

    def close(self) -> None:
        for server in self._servers:
            server.close()
