"""One service of the library Apprise: opened from its address, and sent one message.

The library says of a message that it was taken, or that it was not. Why not is in its log alone,
and is read there: only a status, or a connection that was never made, show that nothing was posted.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from email import charset
from functools import cached_property
from typing import Literal

from apprise import Apprise, AppriseAsset, NotifyFormat, NotifyType
from apprise.common import OverflowMode, PersistentStoreMode
from apprise.conversion import convert_between
from apprise.manager_plugins import NotificationManager
from apprise.plugins.base import NotifyBase
from apprise.plugins.gotify import NotifyGotify
from apprise.plugins.telegram import NotifyTelegram
from apprise.result import AppriseResult, AppriseResultStatus

from monitor.channels.base import down
from monitor.channels.post import Answer, outcome_of
from monitor.channels.short import Limits
from monitor.errors import nearest
from monitor.model import DeliveryState, Outcome

Format = Literal["markdown", "text"]

# The library's service for mail, loaded with the others, lets Python write all mails of the process
# as quoted-printable, which breaks long names in Japanese. Python's own way is restored.
NotificationManager().schemas()  # type: ignore[no-untyped-call]
charset.add_charset("utf-8", charset.SHORTEST, charset.BASE64, "utf-8")

# Services that were tried against stand-ins with their limits: tests/channels/test_apprise.py.
TRIED = frozenset(
    {
        "discord",
        "gotify",
        "matrix",
        "mattermost",
        "pushover",
        "rocketchat",
        "signal_api",
        "telegram",
        "workflows",
        "zulip",
    }
)
OWN_KINDS = {"email": "email", "ntfy": "ntfy", "slack": "slack"}
# They show or write what they are given on this machine.
LOCAL = frozenset(
    {"blink1", "dbus", "glib", "gnome", "macosx", "syslog", "windows", "file", "memory"}
)

# Of each limit nine tenths are used, as services count a little otherwise.
_SHARE = 0.9
_LONGEST_SUBJECT = 200
_CONNECT_SECONDS = 10.0
_READ_SECONDS = 20.0

# The library takes several addresses in one text, and here would use the first in part.
_FURTHER_ADDRESS = re.compile(r",\s*[A-Za-z][\w+.-]*://")

# Lines that the library logs of a refused request, and where no connection was made.
_STATUS = re.compile(r"\berror=(\d{3})\b")
_NETWORK = "Socket Exception"
_NOT_CONNECTED = re.compile(
    r"NewConnectionError|ConnectTimeoutError|NameResolutionError|CERTIFICATE_VERIFY_FAILED"
)

# No pictures are fetched, redirects are not followed, and nothing is written to disk.
_ASSET = AppriseAsset(
    app_id="Paper Monitor",
    app_desc="Paper Monitor",
    app_url="",
    image_url_mask="",
    image_url_logo="",
    image_path_mask=False,
    async_mode=False,
    http_redirects=False,
    interpret_escapes=False,
    pgp_autogen=False,
    pem_autogen=False,
    secure_logging=True,
    service_timeout=0,
    storage_mode=PersistentStoreMode.MEMORY,
)

# At DEBUG the library logs addresses with their secrets: its lines are read here and go no further.
_log = logging.getLogger("apprise")
_log.setLevel(logging.DEBUG)
_log.propagate = False
_log.addHandler(logging.NullHandler())


def open_service(url: str, allow: Collection[str] = (), form: Format | None = None) -> Service:
    """Return the service of an address. Raises ValueError, which never shows the address."""
    scheme, is_address, _ = url.partition("://")
    known = NotificationManager()  # type: ignore[no-untyped-call]
    if others := _FURTHER_ADDRESS.findall(url):
        raise ValueError(f"has {len(others) + 1} addresses; write a channel for each")
    if not is_address or re.search(r"\s", url):
        raise ValueError(
            "should be an address of Apprise, as in tgram://BOT_TOKEN/CHAT_ID; "
            "https://appriseit.com lists those of each service"
        )
    if scheme.casefold() in known:
        _permit(_name_of(known[scheme.casefold()]), allow)
    elif scheme.casefold() in LOCAL:
        _permit(scheme.casefold(), allow)
    opened = Apprise.instantiate(url, asset=_ASSET)
    if opened is None and scheme.casefold() in known:
        raise ValueError(
            f"is no address that Apprise takes for {scheme}://; see its form at "
            f"https://appriseit.com/services/{_name_of(known[scheme.casefold()])}/"
        )
    if opened is None and scheme.casefold() in ("http", "https"):
        raise ValueError(
            "is no address of a service that Apprise knows; for JSON to an address of yours: "
            "kind: webhook"
        )
    if opened is None:
        schemes: list[str] = known.schemas()  # type: ignore[no-untyped-call]
        near = nearest(scheme, schemes) or "; https://appriseit.com lists them"
        raise ValueError(f"Apprise has no service {scheme}://{near}")
    _permit(_name_of(type(opened)), allow)
    _refuse_parameters(opened)
    if isinstance(opened, NotifyTelegram) and not opened.targets:
        # The library would send to whoever wrote to the bot first.
        raise ValueError("names no chat; write tgram://BOT_TOKEN/CHAT_ID/?mdv=v2")
    if isinstance(opened, NotifyGotify) and form == "markdown":
        # As `?format=markdown` does; without it Gotify is not told that a text is Markdown.
        opened.notify_format = NotifyFormat.MARKDOWN
    return Service(opened)


def _name_of(plugin: type[NotifyBase]) -> str:
    """Return the name of a service: that of its module, as in `apprise.plugins.matrix.base`."""
    return plugin.__module__.split(".")[2]


def _permit(name: str, allow: Collection[str]) -> None:
    if name in LOCAL:
        raise ValueError(f"“{name}” writes or shows messages on this machine, and is never used")
    if name in OWN_KINDS and name not in allow:
        raise ValueError(f"“{name}” has a kind of its own here: write kind: {OWN_KINDS[name]}")
    if name not in TRIED and name not in allow:
        raise ValueError(
            f"“{name}” has not been tried with Paper Monitor; to use it all the same, write "
            f"allow: [{name}]"
        )


def _refuse_parameters(opened: NotifyBase) -> None:
    """Refuse what would send twice, follow redirects, or call a failure a success."""
    refused = {
        "retry": opened.retry > 0,
        "optional": opened.optional,
        "redirect": opened.redirects,
        "overflow": opened.overflow_mode is not OverflowMode.UPSTREAM,
    }
    for name, is_set in refused.items():
        if is_set:
            raise ValueError(f"may not have {name}=; Paper Monitor decides that itself")
    if len(opened) != 1:
        raise ValueError(f"has {len(opened)} recipients; write a channel for each")


@dataclass(frozen=True)
class Service:
    """A service that is open; it keeps its login between messages."""

    plugin: NotifyBase

    @property
    def name(self) -> str:
        return str(self.plugin.service_name)

    @property
    def seconds_between_messages(self) -> float:
        return float(self.plugin.request_rate_per_sec)

    @property
    def native_format(self) -> Format:
        """Return Markdown where the service shows it, as far as the library knows."""
        markdown = NotifyFormat.MARKDOWN
        return "markdown" if self.plugin.resolve_format(markdown) is markdown else "text"

    @cached_property
    def _apprise(self) -> Apprise:
        apprise = Apprise(asset=_ASSET)
        apprise.add(self.plugin)
        return apprise

    def limits(self, form: Format, most: int | None) -> Limits:
        """Return what a message may have, at most `most` characters.

        Where a service has no titles, they stand above the text and count in its limit.
        """
        text = int(self.plugin.body_maxlen * _SHARE)
        text = text if most is None else min(text, most)
        title = min(self.plugin.title_maxlen or _LONGEST_SUBJECT, _LONGEST_SUBJECT)
        if self.plugin.title_maxlen <= 0 or self.plugin.overflow_amalgamate_title:
            title = min(title, text // 4)
            text -= title + len("# \r\n")
        return Limits(title, text, self._size_in(form))

    def _size_in(self, form: Format) -> Callable[[str], int]:
        """Return how a text is measured: as the library converts it for the service, if longer.

        To a service of HTML some plug-ins send that whatever they are given.
        """
        written = NotifyFormat(form)
        sent = {self.plugin.resolve_format(asked) for asked in (written, NotifyFormat.HTML)}
        if sent == {written}:
            return len

        def size(text: str) -> int:
            return max(
                len(text),
                *(len(convert_between(written, other, text)) for other in sent),  # type: ignore[no-untyped-call]
            )

        return size

    def send(
        self, title: str, text: str, form: Format, *, is_alert: bool, seconds: float
    ) -> AppriseResult | Exception | threading.Thread:
        """Send a message; a thread that is still at it where `seconds` did not do."""
        self.plugin.socket_connect_timeout = _CONNECT_SECONDS
        self.plugin.socket_read_timeout = _READ_SECONDS
        ended: list[AppriseResult | Exception] = []

        def notify() -> None:
            try:
                ended.append(
                    self._apprise.notify(
                        text,
                        title=title,
                        notify_type=NotifyType.WARNING if is_alert else NotifyType.INFO,
                        body_format=NotifyFormat(form),
                        log_level=logging.DEBUG,
                    )
                )
            except Exception as error:  # a plug-in of the library can raise anything
                ended.append(error)

        # An answer that never ends would hold the library's threads, and the end of the process.
        thread = threading.Thread(target=notify, name=f"apprise {self.name}", daemon=True)
        thread.start()
        thread.join(seconds)
        return ended[0] if ended else thread


def read_result(result: AppriseResult, name: str) -> Outcome:
    """Return what a result means. Without a clear refusal the message may have arrived."""
    if result.status is AppriseResultStatus.SUCCESS:
        return Outcome(DeliveryState.SENT)
    logged = [entry for service in result.results for entry in service.logs()]
    logged += result.call_logs()
    network = [entry.message for entry in logged if _NETWORK in entry.message]
    if result.status is AppriseResultStatus.FAILURE:
        if network and all(map(_NOT_CONNECTED.search, network)):
            return down(f"{name} cannot be reached")
        statuses = [found[1] for entry in logged for found in _STATUS.finditer(entry.message)]
        if statuses and not network:
            return outcome_of(Answer(int(statuses[-1]), {}, "", "", name))
    return Outcome(DeliveryState.UNKNOWN, f"Apprise cannot say whether {name} took the message")
