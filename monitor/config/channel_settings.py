"""Where digests are sent: channels, the mail server, the Slack bot, retries, the operator."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SerializeAsAny,
    SkipValidation,
    model_validator,
)

from monitor.channels.retry_policy import PATIENCE, TIMEOUTS
from monitor.config.section import (
    Section,
    existing_channel,
    existing_file,
)
from monitor.setting_types import (
    SOME,
    Duration,
    FilePath,
    HttpsUrl,
    Line,
    OneOrMore,
    Recipients,
    Secret,
    Sender,
    Span,
    Spans,
    Timeout,
    is_loopback,
)

SLACK = "https://slack.com/api/"


_PORTS = {"starttls": 587, "implicit": 465, "none": 25}
_LMTP_PORT = 24
_LMTP = re.compile(r"/.+|(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\])(:(?P<port>\d{1,5}))?")


class ChannelSettings(Section):
    """One way out. `options` are those of its kind; `name` is what subscriptions call it."""

    name: str
    kind: Line
    options: SkipValidation[SerializeAsAny[BaseModel]] = Field(repr=False)


class DestinationSettings(Section):
    """Ways to reach somebody: e-mail addresses, channels, or both."""

    email: Recipients = ()
    channels: OneOrMore[Annotated[str, AfterValidator(existing_channel)]] = ()

    @model_validator(mode="after")
    def _some_way(self) -> DestinationSettings:
        if not self.email and not self.channels:
            raise ValueError("has no destination; add email: or channels:")
        return self


class OperatorSettings(DestinationSettings):
    """Who is notified when an incident begins and ends."""


class TimeoutSettings(Section):
    """How long the mail server may take in each phase; `block` is for each 64 KB of the text."""

    connect: Timeout = timedelta(seconds=TIMEOUTS.connect)
    greeting: Timeout = timedelta(seconds=TIMEOUTS.greeting)
    mail: Timeout = timedelta(seconds=TIMEOUTS.mail)
    rcpt: Timeout = timedelta(seconds=TIMEOUTS.rcpt)
    data: Timeout = timedelta(seconds=TIMEOUTS.data)
    block: Timeout = timedelta(seconds=TIMEOUTS.block)
    final: Timeout = timedelta(seconds=TIMEOUTS.final)


class OAuthSettings(Section):
    """How tokens for the mail server are got, in place of a password."""

    provider: Literal["microsoft", "google", "other"]
    tenant: Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]+$")] | None = None
    client_id: Line = ""
    client_secret: Secret | None = None
    refresh_token: Secret | None = None
    key_file: Annotated[FilePath, AfterValidator(existing_file)] | None = None
    token_url: HttpsUrl | None = None
    scope: Line | None = None

    @model_validator(mode="after")
    def _check_provider(self) -> OAuthSettings:
        if self.provider == "microsoft" and not (self.tenant or self.token_url):
            raise ValueError("tenant: is missing: the domain or the id of the organisation")
        if self.provider == "other" and not (self.token_url and self.scope):
            raise ValueError("provider: other needs token_url: and scope:")
        if self.provider == "other" and not (self.client_secret or self.refresh_token):
            raise ValueError("provider: other needs client_secret:, or else refresh_token:")
        return self

    @model_validator(mode="after")
    def _check_key(self) -> OAuthSettings:
        if not self.key_file and not self.client_id:
            raise ValueError("client_id: is missing")
        others = self.client_id or self.client_secret or self.refresh_token
        if self.key_file and (self.provider != "google" or others):
            raise ValueError("key_file: is for a service account of Google, and stands alone")
        return self


def _lmtp(text: str) -> str:
    if not _LMTP.fullmatch(text):
        raise ValueError(f"“{text}” should be the path of a socket, or host:24")
    return text


class SmtpSettings(Section):
    """Who takes mail: a server (`host` or `lmtp`) or a program of this machine (`sendmail`).

    `port` follows from `tls` unless it is set; `sender` is `from:`.
    """

    host: Line = ""
    sendmail: FilePath | None = None
    lmtp: Annotated[Line, AfterValidator(_lmtp)] | None = None
    port: int = Field(587, ge=1, le=65535)
    tls: Literal["starttls", "implicit", "none"] = "starttls"
    username: Line | None = None
    password: Secret | None = None
    oauth: OAuthSettings | None = None
    sender: Sender = Field(alias="from")
    ca_file: Annotated[FilePath, AfterValidator(existing_file)] | None = None
    unknown: Literal["resend", "hold"] = "resend"
    connections: int = Field(1, ge=1, le=32)
    per_connection: int = Field(50, ge=1)
    per_minute: int | None = Field(None, ge=1)
    timeouts: TimeoutSettings = Field(default_factory=TimeoutSettings)
    insecure: bool = False

    @model_validator(mode="before")
    @classmethod
    def _usual_port(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and raw.get("lmtp") and "tls" not in raw:
            raw = {**raw, "tls": "none"}
        if isinstance(raw, dict) and "port" not in raw:
            return {**raw, "port": _PORTS.get(str(raw.get("tls", "starttls")), 587)}
        return raw

    @property
    def address(self) -> tuple[str, int]:
        """The host and port of the server, or the path of a socket as the host."""
        parts = _LMTP.fullmatch(self.lmtp or "")
        if parts is None:
            return self.host, self.port
        if parts["host"] is None:
            return parts[0], _LMTP_PORT
        return parts["host"].strip("[]"), int(parts["port"] or _LMTP_PORT)

    @model_validator(mode="after")
    def _check_one_way(self) -> SmtpSettings:
        if sum(map(bool, (self.host, self.sendmail, self.lmtp))) != 1:
            raise ValueError("needs host:, or else one of sendmail: and lmtp:")
        if self.sendmail and (self.username or self.password or self.oauth):
            raise ValueError("sendmail: takes no username:, password: and oauth:")
        if self.oauth and (self.password or not self.username):
            raise ValueError("oauth: needs username:, the mailbox, and no password:")
        return self

    @model_validator(mode="after")
    def _check_encryption(self) -> SmtpSettings:
        """RFC 8314: nothing in clear beyond this machine, and a password never."""
        if bool(self.username) != bool(self.password or self.oauth):
            raise ValueError("username: and password: must be set together; one of them is missing")
        host, _ = self.address
        beyond = not (self.sendmail or host.startswith("/") or is_loopback(host))
        if self.tls == "none" and beyond:
            if self.password or self.oauth:
                raise ValueError("tls: none would send the password in clear; use starttls")
            if not self.insecure:
                raise ValueError(
                    f"tls: none would send mail in clear to {host}; "
                    "use starttls, or set insecure: true to allow it"
                )
        return self


def _app_token(secret: Secret) -> Secret:
    if not secret.reveal().startswith("xapp-"):
        raise ValueError("is no app-level token: these begin with xapp-")
    return secret


class SlackSettings(Section):
    """The bot that posts to channels, and how it hears what is chosen in menus there.

    With `app_token`, by a connection that it opens itself (Socket Mode). With `signing_secret`,
    by requests that Slack sends to `public_url` with /slack/actions.
    """

    base_url: HttpsUrl = SLACK
    token: Secret
    app_token: Annotated[Secret, AfterValidator(_app_token)] | None = None
    signing_secret: Secret | None = None


class RetrySettings(Section):
    """When a delivery is tried again that was not taken, and how long a channel that is down rests.

    Each wait is a range; the last one repeats.
    """

    waits: Annotated[Spans, SOME] = PATIENCE.waits
    give_up: Duration = PATIENCE.give_up
    rest: Span = PATIENCE.rest
