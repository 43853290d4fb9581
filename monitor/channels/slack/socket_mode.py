"""Choices made in Slack's menus: by a connection that we open (Socket Mode), or by signed requests.

With Socket Mode no address of ours need be public. The SDK speaks its protocol; when to connect
again is decided by `monitor.service.slack_listener`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import structlog
from slack_sdk.errors import SlackClientError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.builtin.client import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from monitor.channels.slack import SlackSettings
from monitor.channels.slack.api import WebApi
from monitor.channels.slack.clients import SILENT
from monitor.channels.slack.menus import TAKEN_WITHIN
from monitor.model import Outcome

log = structlog.get_logger()

# Requests that may wait, each for `TAKEN_WITHIN`, until what was pressed is stored.
_ACKNOWLEDGING = 4
_HINTS = {
    "invalid_auth": "slack.app_token is wrong",
    "not_allowed_token_type": "slack.app_token is no app-level token",
    "missing_scope": "the app-level token needs the scope connections:write",
}


def ask_for_address(slack: SlackSettings) -> tuple[str, str]:
    """Return an address to connect to, and the problem where there is none.

    No connection is made: Slack would send it answers that the service waits for.
    """
    assert slack.app_token
    api = WebApi(slack.app_token.reveal(), slack.base_url, slack.allow_private)
    answer = api.call("apps.connections.open")
    if isinstance(answer, Outcome):
        return "", answer.error
    if answer.data.get("ok") is True:
        return str(answer.data.get("url", "")), ""
    reason = answer.code or f"HTTP {answer.status}"
    return "", f"{reason} ({_HINTS[reason]})" if reason in _HINTS else reason


class _Client(SocketModeClient):
    """The SDK's client; it connects again when Slack announces the end of a connection."""

    def __init__(self, slack: SlackSettings) -> None:
        assert slack.app_token
        super().__init__(
            slack.app_token.reveal(),
            logger=SILENT,
            auto_reconnect_enabled=False,
            concurrency=_ACKNOWLEDGING,
        )
        self._slack = slack

    def issue_new_wss_url(self) -> str:
        """Ask without the SDK, which would follow a redirect with the token, and sleep."""
        address, problem = ask_for_address(self._slack)
        if problem:
            raise SlackClientError(problem)
        return address


class SocketMode:
    """One connection. `take` gets the payload of each interaction, one at a time.

    Slack is answered when an interaction is taken, or a second later where that takes longer: it
    waits three seconds, and then sends the same again.
    """

    def __init__(self, slack: SlackSettings, take: Callable[[Any], None]) -> None:
        self._take = take
        self._taking = ThreadPoolExecutor(1, thread_name_prefix="slack answers")
        self._client = _Client(slack)
        self._client.socket_mode_request_listeners.append(self._on_request)

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected()

    def connect(self) -> str:
        """Connect, and return why that failed, or ""."""
        try:
            self._client.connect_to_new_endpoint()
        except (OSError, SlackClientError, ValueError) as error:
            return str(error) or type(error).__name__
        return "" if self.is_connected else "the connection could not be made"

    def close(self) -> None:
        """Disconnect; what was acknowledged is still taken."""
        self._client.close()
        self._taking.shutdown()

    def _on_request(self, client: Any, request: SocketModeRequest) -> None:
        if request.type == "interactive":
            taking = self._taking.submit(self._take_next, request.payload)
            wait((taking,), TAKEN_WITHIN)
        try:
            client.send_socket_mode_response(SocketModeResponse(request.envelope_id))
        except (OSError, SlackClientError) as error:
            # Slack sends it again on another connection; taken twice, it is one answer.
            log.info("slack not acknowledged", error=str(error))

    def _take_next(self, payload: Any) -> None:
        try:
            self._take(payload)
        except Exception as error:  # it stops no later rating, and has no caller to report to
            log.error("slack answer failed", error=str(error), exc_info=error)


def is_signed(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Return whether the signature is that of these bytes; never raises.

    The SDK raises for a time that is not a number or a huge one, and for bytes that are not UTF-8.
    """
    try:
        return SignatureVerifier(secret).is_valid_request(body, dict(headers))
    except (OverflowError, TypeError, ValueError):
        return False
