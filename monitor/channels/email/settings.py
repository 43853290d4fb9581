"""The settings of mail: the server or program that takes it, and its account."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from monitor.channels.retry_policy import AFTER_UNKNOWN_WORDS, AfterUnknown
from monitor.setting_types import (
    ExistingFile,
    FilePath,
    HttpsUrl,
    Line,
    Required,
    Secret,
    Section,
    Sender,
    Timeout,
    Unset,
    Variable,
    is_loopback,
)

_PORTS = {"starttls": 587, "implicit": 465, "none": 25}
_LMTP_PORT = 24
_LMTP = re.compile(r"/.+|(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\])(:(?P<port>\d{1,5}))?")
_TOKEN_URLS = {
    "microsoft": "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
    "google": "https://oauth2.googleapis.com/token",
}
_APP_SCOPE = "https://outlook.office365.com/.default"
_SCOPES = {
    "microsoft": "https://outlook.office.com/SMTP.Send offline_access",
    "google": "https://mail.google.com/",
}


class Timeouts(Section):
    """How long the mail server may take in each phase, as in RFC 5321, 4.5.3.2."""

    connect: Timeout = Field(
        timedelta(seconds=30), description="time limit for the connection, with TLS if implicit"
    )
    greeting: Timeout = Field(
        timedelta(minutes=5),
        description="time limit for each answer before a mail: greeting, EHLO, STARTTLS, login",
    )
    mail: Timeout = Field(timedelta(minutes=5), description="time limit for the answer to MAIL")
    rcpt: Timeout = Field(timedelta(minutes=5), description="time limit for the answer to RCPT")
    data: Timeout = Field(timedelta(minutes=2), description="time limit for the answer to DATA")
    block: Timeout = Field(
        timedelta(minutes=3), description="time limit for sending each 64 KB of the text"
    )
    # With a shorter one the server may accept a mail that we then send again (RFC 5321, 6.1).
    final: Timeout = Field(
        timedelta(minutes=10),
        description="time limit for the answer to the whole mail; too short a limit causes "
        "duplicates",
    )


class OAuthSettings(Section):
    """How tokens for the mail server are got, in place of a password."""

    provider: Literal["microsoft", "google", "other"] = Field(
        description="[`microsoft`](mail/microsoft-365.md), [`google`](mail/google.md) or `other`"
    )
    tenant: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]+$")] | None,
        Required("for `microsoft`"),
    ] = Field(None, description="the organisation's domain or id")
    client_id: Annotated[Line, Required("without `key_file`")] = Field(
        "", description="the id of the registered application"
    )
    client_secret: Annotated[Secret | None, Variable("SMTP_CLIENT_SECRET")] = Field(
        None,
        description="a secret. `microsoft` and `other`: without `refresh_token`, the program has "
        "its own permission (client credentials)",
    )
    refresh_token: Annotated[Secret | None, Unset("from `mail login`")] = Field(
        None, description="a secret; if the endpoint replaces it, the newest is in the store"
    )
    key_file: ExistingFile | None = Field(
        None,
        description="`google`: the JSON key of a service account with domain-wide delegation; "
        "needs `pip install 'paper-monitor[google]'`",
    )
    token_url: Annotated[HttpsUrl | None, Unset("the provider's; required for `other`")] = Field(
        None, description="the token endpoint; https, or http to this machine"
    )
    scope: Annotated[Line | None, Unset("the provider's; required for `other`")] = Field(
        None, description="what is asked for, separated by spaces"
    )

    @property
    def endpoint(self) -> str:
        """The URL that tokens are asked from."""
        return self.token_url or _TOKEN_URLS[self.provider].format(tenant=self.tenant)

    @property
    def requested_scope(self) -> str:
        if self.is_app_permission and self.provider == "microsoft":
            return self.scope or _APP_SCOPE
        return self.scope or _SCOPES.get(self.provider, "")

    @property
    def is_app_permission(self) -> bool:
        """Whether the program itself has the permission (client credentials), without a login.

        At Google every client has a secret, also one with a login.
        """
        return bool(self.client_secret) and not self.refresh_token and self.provider != "google"

    @property
    def needs_login(self) -> bool:
        return not (self.is_app_permission or self.key_file)

    @model_validator(mode="after")
    def _check_provider(self) -> OAuthSettings:
        if self.provider == "microsoft" and not (self.tenant or self.token_url):
            raise ValueError("tenant: is missing: the domain or the id of the organisation")
        if self.provider == "other" and not (self.token_url and self.scope):
            raise ValueError("provider: other needs token_url: and scope:")
        if self.provider == "other" and not (self.client_secret or self.refresh_token):
            raise ValueError("provider: other needs client_secret:, or else refresh_token:")
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


def _host(text: str) -> str:
    """Refuse a host with a port, a scheme or brackets, to which nothing can connect."""
    is_url = "://" in text
    if not is_url and text.count(":") != 1 and not text.startswith("["):
        return text
    try:
        parts = urlsplit(text if is_url else f"//{text}")
        host = parts.hostname
        port = parts.port
    except ValueError:
        host = None
        port = None
    instead = f"host: {host or 'smtp.example.org'}" + (f", port: {port}" if port else "")
    raise ValueError(f"should be only the name of a host; write {instead}")


class SmtpSettings(Section):
    """Who takes mail: a server (`host` or `lmtp`) or a program of this machine (`sendmail`)."""

    model_config = ConfigDict(populate_by_name=True)

    host: Annotated[
        Annotated[Line, AfterValidator(_host)], Required("without `sendmail` or `lmtp`")
    ] = Field("", description="the mail server")
    sendmail: Annotated[FilePath | None, Required("without `host` or `lmtp`")] = Field(
        None,
        description="a local program that takes mail, such as `/usr/sbin/sendmail`; see "
        "[Mail by Postfix](mail/postfix.md)",
    )
    lmtp: Annotated[
        Annotated[Line, AfterValidator(_lmtp)] | None, Required("without `host` or `sendmail`")
    ] = Field(
        None,
        description="an LMTP server: the path of a socket, or `host:24`; `tls` is then `none` by "
        "default",
    )
    sender: Sender = Field(
        alias="from",
        description="the sender: `papers@example.org` or `Papers <papers@example.org>`",
    )
    tls: Literal["starttls", "implicit", "none"] = Field(
        "starttls",
        description="`starttls` (always enforced), `implicit`, or `none` (only for `localhost`)",
    )
    port: Annotated[int, Unset("by `tls`")] = Field(
        587,
        ge=1,
        le=65535,
        description="587 for `starttls`, 465 for `implicit`, 25 for `none`",
    )
    username: Line | None = Field(None, description="the account; needs `password` or `oauth`")
    password: Secret | None = Field(None, description="a secret; needs `username`")
    oauth: OAuthSettings | None = Field(None, description="tokens instead of a password")
    ca_file: Annotated[ExistingFile | None, Unset("the system's")] = Field(
        None, description="an existing file of trusted certificates"
    )
    unknown: AfterUnknown = Field("resend", description=AFTER_UNKNOWN_WORDS)
    connections: int = Field(
        1, ge=1, le=32, description="parallel connections, at most 32; ask your provider"
    )
    per_connection: int = Field(50, ge=1, description="mails sent before a connection is renewed")
    per_minute: Annotated[int | None, Unset("no limit")] = Field(
        None, ge=1, description="mails per process and minute, evenly spaced"
    )
    timeouts: Annotated[Timeouts, Unset("by phase")] = Field(
        default_factory=Timeouts, description="time limit of each phase"
    )
    insecure: bool = Field(
        False, description="allow `tls: none` to another machine; then no password is allowed"
    )

    @model_validator(mode="before")
    @classmethod
    def _usual_port(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        tls = raw.get("tls", "none" if raw.get("lmtp") else "starttls")
        return {"tls": tls, "port": _PORTS.get(str(tls), 587), **raw}

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
    def _check_account_and_encryption(self) -> SmtpSettings:
        """RFC 8314: nothing unencrypted beyond this machine, and a password never."""
        if sum(map(bool, (self.host, self.sendmail, self.lmtp))) != 1:
            raise ValueError("needs host:, or else one of sendmail: and lmtp:")
        if self.sendmail and (self.username or self.password or self.oauth):
            raise ValueError("sendmail: takes no username:, password: and oauth:")
        if self.oauth and (self.password or not self.username):
            raise ValueError("oauth: needs username:, the mailbox, and no password:")
        if bool(self.username) != bool(self.password or self.oauth):
            raise ValueError("username: and password: must be set together; one of them is missing")
        host, _ = self.address
        beyond = not (self.sendmail or host.startswith("/") or is_loopback(host))
        if self.tls == "none" and beyond:
            if self.password or self.oauth:
                raise ValueError("tls: none would send the password unencrypted; use starttls")
            if not self.insecure:
                raise ValueError(
                    f"tls: none would send mail unencrypted to {host}; "
                    "use starttls, or set insecure: true to allow it"
                )
        return self
