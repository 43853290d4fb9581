"""A stand-in for Slack's Web API and incoming webhooks that enforces Slack's limits.

`faults` holds what goes wrong next, once each, before or after the message was kept; `always` is
what goes wrong with every request after these.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlparse

from tests.patience import wait

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    begun = 0
    ended = 0
    ending = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.begun += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self.ending:
            self.ended += 1
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked was killed, perhaps: that is what is tested, and nobody's news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@dataclass
class SlackServer:
    channels: dict[str, str] = field(default_factory=lambda: {"papers": "C0PAPERS1"})
    posts: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
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
        handler = type("Handler", (_Handler,), {"slack": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        port = self._server.server_address[1]
        self.base_url = f"http://127.0.0.1:{port}/api/"
        self.webhook = f"http://127.0.0.1:{port}{HOOK}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def settle(self) -> None:
        """Wait until all is answered that was asked before: requests are taken in their order."""
        with socket.create_connection(self._server.server_address) as last:
            last.sendall(b"GET / HTTP/1.0\r\n\r\n")
            last.recv(1)
        wait(lambda: self._server.ended == self._server.begun)

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


class _Handler(BaseHTTPRequestHandler):
    slack: SlackServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        path = urlparse(self.path).path
        self.slack.requests.append(path)
        fault = self.slack.faults.popleft() if self.slack.faults else self.slack.always
        if fault is None or fault.kept:
            status, kind, body = self._answer(path, raw)
        if fault is not None and fault.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        if fault is not None:
            self._send(fault.status, "text/html", fault.body, fault.headers)
        else:
            scopes = {"X-OAuth-Scopes": self.slack.scopes} if self.slack.scopes else {}
            self._send(status, kind, body, scopes)

    def _answer(self, path: str, raw: str) -> tuple[int, str, str]:
        if path == HOOK:
            request = json.loads(raw)
            error = self.slack.refusal(request)
            if not error:
                self.slack.keep(request, "webhook")
            return (400, "text/html", error) if error else (200, "text/html", "ok")
        if not path.startswith("/api/"):
            return 404, "text/html", "no_service"
        return 200, "application/json", json.dumps(self._method(path.removeprefix("/api/"), raw))

    def _method(self, method: str, raw: str) -> dict[str, Any]:
        if method == "apps.connections.open":
            if self.headers["Authorization"] != f"Bearer {APP_TOKEN}":
                return {"ok": False, "error": "invalid_auth"}
            return {"ok": True, "url": self.slack.socket_url}
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return {"ok": False, "error": "invalid_auth"}
        if method == "chat.postEphemeral":
            self.slack.whispers.append(json.loads(raw))
            return {"ok": True}
        if method == "chat.postMessage":
            return self.slack.post(json.loads(raw))
        query = parse_qs(raw) | parse_qs(urlparse(self.path).query)
        return self.slack.listed(method, {name: values[0] for name, values in query.items()})

    def _send(self, status: int, kind: str, body: str, headers: dict[str, str]) -> None:
        content = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Tests speak for themselves."""
