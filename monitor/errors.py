"""Every error that Paper Monitor raises on purpose, in one tree.

Outcomes that are expected in daily work (a refused recipient, a feed that is down)
are values, `monitor.model.Outcome` and `monitor.model.Run`; these are for what stops
the thing that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


class MonitorError(Exception):
    """Root of the tree: the message is a sentence for the user, `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the configuration: `where` is a dotted place such as `sources.nature.url`."""

    file: str
    line: int
    where: str
    message: str


class ConfigError(MonitorError):
    """The configuration cannot be used; `faults` holds all that is wrong with it at once."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        lines = [f"{f.file}:{f.line}: {f.where}: {f.message}" for f in faults]
        super().__init__("\n".join(lines))
        self.faults = tuple(faults)


class UsageError(MonitorError):
    """What was asked for on the command line does not exist or makes no sense."""


class QueryError(MonitorError):
    """A topic that cannot be understood; `position` counts characters from 0."""

    def __init__(self, message: str, position: int, hint: str = "") -> None:
        super().__init__(message, hint)
        self.position = position


class FetchError(MonitorError):
    """The network gave no usable answer; `retry_after` is the server's wish, if it had one.

    `body` is the beginning of what came with a status that refuses: services say their own
    errors there. It is never part of the message.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        retry_after: timedelta | None = None,
        body: bytes = b"",
    ) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after
        self.body = body


class WaitError(FetchError):
    """A server asked not to be asked before a time that has not come: nothing was sent to it."""


class DocumentError(MonitorError):
    """A document that is not what its source's kind reads, as a whole."""


class HeldError(MonitorError):
    """A reading that would tell old papers anew: a person is asked before it is taken in."""


class StoreError(MonitorError):
    """The store cannot be opened, is damaged, or refuses to record."""


class StoreBusyError(StoreError):
    """Another process holds what this one needs."""


class NoStoreError(StoreError):
    """A command that only reads found no store: nothing was ever run with this configuration."""


class TemplateError(MonitorError):
    """A template that cannot be rendered; the message names the file and line."""
