"""Every error that Paper Monitor raises on purpose, in one tree.

Outcomes that are expected in daily work (a refused recipient, a feed that is down)
are values, `monitor.model.Outcome` and `monitor.model.Run`; these are raised when a
command or step cannot continue.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto

NEAREST_NAMES = 3
_LISTED = 12


class Remedy(Enum):
    """A remedy for which hints name a command or an option, and pages have words of their own."""

    CORRECT_EXAMPLES = auto()
    LIFT_SUPPRESSION = auto()
    LIST_DELIVERIES = auto()
    LIST_TOPICS = auto()
    NAME_PAPER = auto()
    OPEN_PAPER = auto()
    SETTLE_DELIVERY = auto()
    SPLIT_QUERY = auto()
    STOP_UNCONFIGURED = auto()
    WRITE_MORE_LETTERS = auto()


class MonitorError(Exception):
    """Root of the tree: the message is a sentence for the user, `hint` says what to do.

    A hint that names a command or an option has a `remedy`, by which pages say it.
    """

    def __init__(self, message: str, hint: str = "", remedy: Remedy | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.remedy = remedy

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
    """The configuration is invalid; `faults` holds all errors in it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        lines = [f"{f.file}:{f.line}: {f.where}: {f.message}" for f in faults]
        super().__init__("\n".join(lines))
        self.faults = tuple(faults)


class UsageError(MonitorError):
    """A name, number or time that a command or a form was given is invalid."""


def refuse_unknown(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError for a name that no `what` has: its hint are the nearest three, or all."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=NEAREST_NAMES, cutoff=0)
            count = f"the nearest of {len(known):,}" if len(known) > NEAREST_NAMES else "there are"
            hint = f"{count}: {', '.join(near) or 'none'}"
            raise UsageError(f"no {what} is named {name!r}", hint)


def nearest(word: str, words: Iterable[str], otherwise: str = "") -> str:
    """Return “; did you mean x?”, or else what there is to choose from."""
    choices = {choice.casefold(): choice for choice in words}
    if close := difflib.get_close_matches(word.casefold(), choices, n=1):
        return f"; did you mean “{choices[close[0]]}”?"
    if otherwise:
        return f", {otherwise}"
    return f"; there are: {', '.join(choices.values())}" if 0 < len(choices) <= _LISTED else ""


class QueryError(MonitorError):
    """A query that is invalid, or too wide for pages; `position` counts characters from 0."""

    def __init__(
        self, message: str, position: int, hint: str = "", remedy: Remedy | None = None
    ) -> None:
        super().__init__(message, hint, remedy)
        self.position = position


class FetchError(MonitorError):
    """A document could not be fetched; `retry_after` is the pause that the server asked for.

    `status` is that of an error response, 0 where there was none. `body` is its beginning, where
    services explain their errors. It is never part of the message.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        retry_after: timedelta | None = None,
        body: bytes = b"",
        status: int = 0,
    ) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after
        self.body = body
        self.status = status


class WaitError(FetchError):
    """A server asked for a pause that is not over yet; no request was sent."""


class DeferredError(MonitorError):
    """A fetch that this program puts off, and of which nothing is recorded.

    Its host is busy with other requests of ours, or the service stops.
    """


class DocumentError(MonitorError):
    """A document does not have the format of its source."""


class HeldError(MonitorError):
    """A feed re-announced old papers: the operator must confirm before they are stored."""


class StoreError(MonitorError):
    """The store cannot be opened, is damaged, or refuses to record."""


class ValueRefusedError(StoreError):
    """The database refuses a value of a record, such as a number that is too large."""


class StoreBusyError(StoreError):
    """Another process holds what this one needs."""


class NoStoreError(StoreError):
    """There is no store, and the command does not create one."""


class TemplateError(MonitorError):
    """A template that cannot be rendered; the message names the file and line."""
