"""A stand-in for a server of ntfy that enforces its limits and replaces messages by sequence id.

After `server/server.go` and `server/errors.go` of ntfy: a message of 4,096 bytes is an attachment,
which this server does not take, and a document may have twice as many. `faults` holds what goes
wrong next, once each; `always` is what goes wrong with every request after these.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Self

from tests.servers.web import Answer, Asked, misbehaving_server

TOPIC = "papers-7Kq2Xw"
TOKEN = "tk_abcdefghijklmnopqrstuvwxyz012"
MESSAGE_SIZE_LIMIT = 4_096
_NAME = re.compile(r"[-_A-Za-z0-9]{1,64}")


@dataclass(frozen=True)
class Fault:
    """An answer out of turn. `kept`: the message stands all the same; `reset`: no answer at all."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    kept: bool = False
    reset: bool = False
    hang: bool = False


@dataclass
class NtfyServer:
    """`published` are all messages as they came; `shown` has those that a phone shows."""

    published: list[dict[str, Any]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    always: Fault | None = None
    most_bytes: int = MESSAGE_SIZE_LIMIT

    def __enter__(self) -> Self:
        self._running = misbehaving_server()
        web = self._running.__enter__()
        web.decides("*", self._answer)
        self.settle, self.url = web.settle, web.url("")
        return self

    def __exit__(self, *reason: Any) -> None:
        self._running.__exit__(*reason)

    @property
    def shown(self) -> list[dict[str, Any]]:
        return list({message["sequence_id"]: message for message in self.published}.values())

    def _answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        if (asked.method, asked.target) == ("GET", "/v1/health"):
            return Answer(body=b'{"healthy":true}')
        fault = self.faults.popleft() if self.faults else self.always
        if fault:
            if fault.kept:
                self._publish(asked)
            return Answer(
                fault.status, fault.body, fault.headers, reset=fault.reset, hang=fault.hang
            )
        return self._publish(asked)

    def _publish(self, asked: Asked) -> Answer:
        if (asked.method, asked.target) != ("POST", "/"):
            return refusal(404, 40401, "page not found")
        if len(asked.body) >= 2 * self.most_bytes:
            return refusal(413, 41303, "JSON body too large")
        try:
            message = json.loads(asked.body)
            is_valid = isinstance(message.get("priority", 3), int)
        except (ValueError, AttributeError):
            is_valid = False
        if not is_valid:
            return refusal(400, 40024, "invalid request: request body must be valid JSON")
        if not _NAME.fullmatch(message.get("topic", "")):
            return refusal(400, 40009, "invalid request: topic invalid")
        if asked.headers.get("authorization") not in (None, f"Bearer {TOKEN}"):
            return refusal(401, 40101, "unauthorized")
        if message["topic"] == TOPIC and "authorization" not in asked.headers:
            return refusal(403, 40301, "forbidden")
        if not 1 <= message.get("priority", 3) <= 5:
            return refusal(400, 40007, "invalid priority parameter")
        if not _NAME.fullmatch(message["sequence_id"]):
            return refusal(400, 40049, "invalid request: sequence ID invalid")
        if len(message["message"].encode()) >= self.most_bytes:
            return refusal(400, 40014, "invalid request: attachments not allowed")
        self.published.append(message)
        kept = {"id": f"m{len(self.published)}", "event": "message", **message}
        return Answer(body=json.dumps(kept).encode())


def refusal(status: int, code: int, error: str) -> Answer:
    return Answer(status, json.dumps({"code": code, "http": status, "error": error}).encode())
