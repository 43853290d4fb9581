"""A stand-in for Slack's Socket Mode: what is pressed goes out on a connection of the app's."""

from __future__ import annotations

import itertools
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.patience import wait
from tests.servers.slack import TEAM, SlackServer


@dataclass
class SlackSocket:
    """`acknowledged` are the ids of envelopes, and `sent` those that wait for that.

    With `breaks` above zero, so many connections are reset as soon as something is sent on them.
    """

    slack: SlackServer
    breaks: int = 0
    connections: list[ServerConnection] = field(default_factory=list)
    made: int = 0
    sent: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)

    def press(self, payload: dict[str, Any]) -> str:
        """Send a press as Slack does: again, on another connection, until it is acknowledged."""
        envelope = str(uuid4())
        message = {"envelope_id": envelope, "type": "interactive", "payload": payload}
        wait(lambda: self._try(envelope, message))
        return envelope

    def _try(self, envelope: str, message: dict[str, Any]) -> bool:
        if envelope in self.acknowledged:
            return True
        if self.connections and envelope not in self.sent:
            self.send(envelope, message)
        return False

    def send(self, envelope: str, message: dict[str, Any]) -> None:
        connection = self.connections[-1]
        self.sent.add(envelope)
        with suppress(ConnectionClosed, OSError):
            connection.send(json.dumps(message))
        if self.breaks:
            self.breaks -= 1
            self.sent.discard(envelope)  # unanswered: it goes out once more
            self.reset(connection)

    def move(self) -> None:
        """Ask the app to connect elsewhere, as Slack does every few hours."""
        self.connections[-1].send(json.dumps({"type": "disconnect", "reason": "refresh_requested"}))

    def reset(self, connection: ServerConnection) -> None:
        """Break a connection off without a word."""
        if connection in self.connections:
            self.connections.remove(connection)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.socket.close()

    def handle(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        self.made += 1
        connection.send(json.dumps({"type": "hello", "num_connections": len(self.connections)}))
        with suppress(ConnectionClosed, OSError):
            for raw in connection:
                answer = json.loads(raw)
                self.acknowledged.add(answer["envelope_id"])
        if connection in self.connections:
            self.connections.remove(connection)


@contextmanager
def socket_mode(slack: SlackServer) -> Iterator[SlackSocket]:
    """Serve Socket Mode on a free port, and let the stand-in of the Web API lead there."""
    stand_in = SlackSocket(slack)
    with serve(stand_in.handle, "127.0.0.1", 0) as server:
        port = server.socket.getsockname()[1]
        slack.socket_url = f"ws://127.0.0.1:{port}/link"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield stand_in
        finally:
            server.shutdown()


_moments = itertools.count(1_764_000_000)


def press(post: dict[str, Any], verdict: str, paper: int = 0, **changed: Any) -> dict[str, Any]:
    """Return what Slack sends when somebody chooses in the menu of a message's n-th paper."""
    menus = [block for block in post["blocks"] if "accessory" in block]
    block = menus[paper]
    [option] = [o for o in block["accessory"]["options"] if o["value"] == verdict]
    action = {
        "type": "overflow",
        "action_id": block["accessory"]["action_id"],
        "block_id": block["block_id"],
        "selected_option": option,
        "action_ts": f"{next(_moments)}.000100",
    }
    return {
        "type": "block_actions",
        "team": {"id": TEAM},
        "channel": {"id": post["channel"]},
        "user": {"id": "U0ADA"},
        "message": {"ts": post["ts"]},
        "actions": [action],
        **changed,
    }
