"""The settings of mail: the server or program that takes it, and its account."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from monitor.setting_types import (
    ExistingFile,
    FilePath,
    HttpsUrl,
    Line,
    Secret,
    Section,
    Sender,
    Timeout,
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
    """How long the mail server may take in each phase; `block` is for each 64 KB of the text."""

    connect: Timeout = timedelta(seconds=30)
    # For all answers up to MAIL: EHLO, STARTTLS, the login.
    greeting: Timeout = timedelta(seconds=300)
    mail: Timeout = timedelta(seconds=300)
    rcpt: Timeout = timedelta(seconds=300)
    data: Timeout = timedelta(seconds=120)
    block: Timeout = timedelta(seconds=180)
    # With a shorter one the server may accept a mail that we then send again (RFC 5321, 6.1).
    final: Timeout = timedelta(seconds=600)


class OAuthSettings(Section):
    """How tokens for the mail server are got, in place of a password."""

    provider: Literal["microsoft", "google", "other"]
    tenant: Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]+$")] | None = None
    client_id: Line = ""
    client_secret: Secret | None = None
    refresh_token: Secret | None = None
    key_file: ExistingFile | None = None
    token_url: HttpsUrl | None = None
    scope: Line | None = None

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


class SmtpSettings(Section):
    """Who takes mail: a server (`host` or `lmtp`) or a program of this machine (`sendmail`).

    `port` follows from `tls` unless it is set; `sender` is `from:`.
    """

    model_config = ConfigDict(populate_by_name=True)

    host: Line = ""
    sendmail: FilePath | None = None
    lmtp: Annotated[Line, AfterValidator(_lmtp)] | None = None
    port: int = Field(587, ge=1, le=65535)
    tls: Literal["starttls", "implicit", "none"] = "starttls"
    username: Line | None = None
    password: Secret | None = None
    oauth: OAuthSettings | None = None
    sender: Sender = Field(alias="from")
    ca_file: ExistingFile | None = None
    unknown: Literal["resend", "hold"] = "resend"
    connections: int = Field(1, ge=1, le=32)
    per_connection: int = Field(50, ge=1)
    per_minute: int | None = Field(None, ge=1)
    timeouts: Timeouts = Field(default_factory=Timeouts)
    insecure: bool = False

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
