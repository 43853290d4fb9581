"""A stand-in for Slack's Web API and incoming webhooks that enforces Slack's limits.

`faults` holds what goes wrong next, once each, before or after the message was kept; `always` is
what goes wrong with every request after these.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlparse

from tests.servers.web import Answer, Asked, misbehaving_server

TOKEN = "xoxb-test-token"
APP_TOKEN = "xapp-test-token"
TEAM = "T0LAB"
HOOK = "/services/T0/B0/a-secret-path"
WHOLE_MESSAGE = 13_200
_CONTROL = re.compile(r"<[!@#][^>]*>")


@dataclass(frozen=True)
class Fault:
    """An answer out of turn. `kept`: the message stands all the same; `reset`: no answer at all."""

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    kept: bool = False
    reset: bool = False

    @classmethod
    def error(cls, code: str) -> Fault:
        return cls(body=json.dumps({"ok": False, "error": code}))


def texts_of(block: dict[str, Any]) -> list[str]:
    if block["type"] == "context":
        return [element["text"] for element in block["elements"]]
    return [block["text"]["text"]] if "text" in block else []


def is_valid(block: dict[str, Any]) -> bool:
    """Whether a block has the form of its type, and no more than that may hold."""
    lengths = [len(text) for text in texts_of(block)]
    if not 0 < len(block.get("block_id", "x")) <= 255:
        return False
    if "accessory" in block and not (block["type"] == "section" and is_menu(block["accessory"])):
        return False
    match block["type"]:
        case "divider":
            return block == {"type": "divider"}
        case "header":
            return block["text"]["type"] == "plain_text" and 0 < lengths[0] <= 150
        case "section":
            return block["text"]["type"] == "mrkdwn" and 0 < lengths[0] <= 3000
        case "context":
            return 0 < len(lengths) <= 10 and all(0 < length <= 3000 for length in lengths)
    return False


def is_menu(element: dict[str, Any]) -> bool:
    """Whether an element is an overflow menu within its limits."""
    options = element.get("options", [])
    return (
        element["type"] == "overflow"
        and 0 < len(element["action_id"]) <= 255
        and 1 <= len(options) <= 5
        and all(
            one["text"]["type"] == "plain_text"
            and 0 < len(one["text"]["text"]) <= 75
            and 0 < len(one["value"]) <= 150
            for one in options
        )
        and len({one["value"] for one in options}) == len(options)
    )


@dataclass
class SlackServer:
    channels: dict[str, str] = field(default_factory=lambda: {"papers": "C0PAPERS1"})
    posts: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    pings: list[str] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    always: Fault | None = None
    most_characters: int = WHOLE_MESSAGE
    page: int = 200
    kept: int = 0
    scopes: str | None = None
    whispers: list[dict[str, Any]] = field(default_factory=list)
    # Where Socket Mode listens: see `slack_socket`.
    socket_url: str = ""

    def __enter__(self) -> Self:
        self._running = misbehaving_server()
        web = self._running.__enter__()
        web.decides("*", self._answer)
        self.settle = web.settle
        self.base_url, self.webhook = web.url("/api/"), web.url(HOOK)
        return self

    def __exit__(self, *reason: Any) -> None:
        self._running.__exit__(*reason)

    def delete(self, ts: str) -> None:
        self.posts = [post for post in self.posts if post["ts"] != ts]

    def post(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = str(request.get("channel", ""))
        channel = self.channels.get(wanted.lstrip("#"), wanted)
        if channel not in self.channels.values():
            return {"ok": False, "error": "channel_not_found"}
        thread = request.get("thread_ts")
        if thread and thread not in {post["ts"] for post in self.posts}:
            return {"ok": False, "error": "thread_not_found"}
        error = self.refusal(request)
        if error:
            return {"ok": False, "error": error}
        return {"ok": True, "channel": channel, "ts": self.keep(request, channel)}

    def keep(self, request: dict[str, Any], channel: str) -> str:
        self.kept += 1
        ts = f"{1_900_000_000 + self.kept}.{self.kept:06}"
        self.posts.append({**request, "channel": channel, "ts": ts})
        self.pings += _CONTROL.findall(json.dumps(request, ensure_ascii=False))
        return ts

    def refusal(self, request: dict[str, Any]) -> str:
        blocks = request.get("blocks") or []
        texts = [text for block in blocks for text in texts_of(block)]
        if not request.get("text"):
            return "no_text"
        ids = [block["block_id"] for block in blocks if "block_id" in block]
        if len(blocks) > 50 or not all(map(is_valid, blocks)) or len(set(ids)) < len(ids):
            return "invalid_blocks"
        if sum(map(len, texts)) > self.most_characters:
            return "msg_blocks_too_long"
        return ""

    def listed(self, method: str, request: dict[str, str]) -> dict[str, Any]:
        match method:
            case "auth.test":
                return {"ok": True, "team": "lab", "team_id": TEAM}
            case "conversations.list":
                found = [{"id": i, "name": name} for name, i in self.channels.items()]
                return self.paged("channels", found, request)
            case "conversations.history":
                found = [p for p in self.posts if not p.get("thread_ts")]
            case "conversations.replies":
                found = [p for p in self.posts if request["ts"] in (p["ts"], p.get("thread_ts"))]
                if not found:
                    return {"ok": False, "error": "thread_not_found"}
            case _:
                return {"ok": False, "error": "unknown_method"}
        if request["channel"] not in self.channels.values():
            return {"ok": False, "error": "channel_not_found"}
        found = [p for p in found if float(p["ts"]) >= float(request.get("oldest", 0))]
        if request.get("include_all_metadata") != "1":
            found = [{k: v for k, v in p.items() if k != "metadata"} for p in found]
        return self.paged("messages", found[::-1], request)

    def paged(self, name: str, found: list[Any], request: dict[str, str]) -> dict[str, Any]:
        start = int(request.get("cursor", 0))
        end = start + min(self.page, int(request.get("limit", 100)))
        cursor = str(end) if end < len(found) else ""
        return {"ok": True, name: found[start:end], "response_metadata": {"next_cursor": cursor}}

    def _answer(self, request: Asked) -> Answer:
        if request.method != "POST":
            return Answer(404)
        path = urlparse(request.target).path
        self.requests.append(path)
        self.asked.append(request)
        fault = self.faults.popleft() if self.faults else self.always
        if fault is None:
            return self._reply(path, request)
        if fault.kept:
            self._reply(path, request)
        return Answer(fault.status, fault.body.encode(), fault.headers, reset=fault.reset)

    def _reply(self, path: str, request: Asked) -> Answer:
        if path == HOOK:
            message = json.loads(request.body)
            error = self.refusal(message)
            if not error:
                self.keep(message, "webhook")
            return Answer(400, error.encode()) if error else Answer(body=b"ok")
        if not path.startswith("/api/"):
            return Answer(404, b"no_service")
        answer = self._method(path.removeprefix("/api/"), request)
        scopes = {"X-OAuth-Scopes": self.scopes} if self.scopes else {}
        return Answer(body=json.dumps(answer).encode(), headers=scopes)

    def _method(self, method: str, request: Asked) -> dict[str, Any]:
        token = APP_TOKEN if method == "apps.connections.open" else TOKEN
        if request.headers["authorization"] != f"Bearer {token}":
            return {"ok": False, "error": "invalid_auth"}
        if method == "apps.connections.open":
            return {"ok": True, "url": self.socket_url}
        if method == "chat.postEphemeral":
            self.whispers.append(json.loads(request.body))
            return {"ok": True}
        if method == "chat.postMessage":
            return self.post(json.loads(request.body))
        query = parse_qs(request.body.decode()) | parse_qs(urlparse(request.target).query)
        return self.listed(method, {name: values[0] for name, values in query.items()})
