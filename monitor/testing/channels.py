"""The contract of every channel as tests: docs/contributing.md has an example."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, ValidationError

from monitor.channels.base import Channel, Shared, complete, open_channel
from monitor.commands.sample_digest import AT, sample_digest
from monitor.digest.render import JinjaTemplates
from monitor.model import Delivery, DeliveryState, Digest, Notice, Outcome, Rendered
from monitor.setting_types import SettingsContext

# Titles that break what is put together from texts without care.
TITLES = (
    "Agents that plan",
    "<script>alert(1)</script> & \"quotes\" 'and' {braces} {{ 7 * 7 }} *bold* _it_ `code` | [a](b)",
    "\u202eright to left\u200b and \x07 bells, 深層学習, 𝒜, e\u0301",
    "A line\nand another\r\n.\r\nQUIT",
    "long " * 400,
)
FAILURES = {DeliveryState.RETRY, DeliveryState.FAILED, DeliveryState.UNKNOWN}
# Papers enough for a digest in parts, where a channel sends any in parts.
MANY = tuple(f"Paper {number} with a title of some length" for number in range(500))


@dataclass(frozen=True)
class Reply:
    """An answer of a server; with `cut`, it breaks the connection when it has the message."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


class Addressee:
    """A server on loopback that takes messages, or gives the next of `replies`."""

    def __init__(self, accepted: bytes) -> None:
        self.posted: list[bytes] = []
        self.replies: deque[Reply] = deque()
        self._accepted = accepted

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Yield the address to post to."""
        addressee = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                addressee.answer(self)

            def do_POST(self) -> None:
                addressee.answer(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/hooks/a"
            finally:
                server.shutdown()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.posted.append(request.rfile.read(int(request.headers.get("Content-Length", 0))))
        reply = self.replies.popleft() if self.replies else Reply()
        if reply.cut:
            at_once = struct.pack("ii", 1, 0)
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            request.close_connection = True
            return
        body = self._accepted if reply.status == 200 else b""
        request.send_response(reply.status)
        for name, value in reply.headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


class ChannelContract:
    """The contract of a kind of channel. A class derived from it names the kind and its settings.

    `settings` are those of one channel as monitor.yaml has them; `{folder}` in a text is a folder
    of the test. Override `working` and `failing` to have sending tested: each is a context manager
    that yields a channel whose service works, or does not. For a channel that posts to an address,
    override `posting_to`, which covers both; `accepted` is what its service answers.
    """

    kind: ClassVar[type[Any]]
    settings: ClassVar[Mapping[str, Any]]
    accepted: ClassVar[bytes] = b"ok"

    def shared(self, folder: Path) -> Shared:
        """Return what the channel shares with others; override it for a server or a bot."""
        return Shared(JinjaTemplates())

    def open(self, folder: Path, **changed: Any) -> Channel:
        """Open the channel with its settings, some of them changed."""
        kind = complete(getattr(self.kind, "kind", "mine"), self.kind)
        raw = {name: self._fill(value, folder) for name, value in self.settings.items()}
        context = SettingsContext(folder, smtp=True, slack=True)
        options = kind.Options.model_validate(raw | changed, context=context)
        return open_channel(kind, "mine", options, self.shared(folder))

    @contextmanager
    def working(self, folder: Path) -> Iterator[Channel]:
        """Yield a channel whose service takes what is sent."""
        with Addressee(self.accepted).serving() as url:
            yield self.posting_to(folder, url)

    @contextmanager
    def failing(self, folder: Path) -> Iterator[Channel]:
        """Yield a channel whose service is down."""
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        yield self.posting_to(folder, f"http://127.0.0.1:{port}/hooks/a")

    def posting_to(self, folder: Path, url: str) -> Channel:
        """Return a channel that posts to this address."""
        pytest.skip("no service is arranged: override `posting_to`, or `working` and `failing`")

    def parts(self, channel: Channel, digest: Digest | None = None) -> tuple[Rendered, ...]:
        return channel.render(digest or sample_digest(TITLES), JinjaTemplates())

    def delivery(self, channel: Channel, part: Rendered, parent: str = "") -> Delivery:
        """Return a delivery of a part to the channel's first recipient, about to be sent.

        `parent` is the reference of part 0, for channels that thread.
        """
        stored = Rendered(part.part, json.loads(json.dumps(part.body)))
        return Delivery(
            id=1,
            digest_id=1,
            subscription="lab",
            period="2026-11-21",
            channel=channel.name,
            recipient=channel.recipients()[0],
            part=part.part,
            state=DeliveryState.HANDING_OFF,
            attempts=1,
            message_id="<0123456789abcdef@example.org>",
            created_at=AT,
            next_attempt_at=None,
            rendered=stored,
            parent=parent,
        )

    def test_its_settings_are_checked(self, tmp_path: Path) -> None:
        assert issubclass(self.kind.Options, BaseModel)
        with pytest.raises(ValidationError):
            self.open(tmp_path, no_such_setting=1)

    def test_it_has_a_name_recipients_and_an_outage_group(self, tmp_path: Path) -> None:
        channel = self.open(tmp_path)
        assert channel.name == "mine" and channel.outage_group
        assert channel.recipients() and all(channel.recipients())
        assert channel.min_interval >= 0

    def test_rendering_is_pure_and_gives_json(self, tmp_path: Path) -> None:
        channel = self.open(tmp_path)
        before = sorted(tmp_path.rglob("*"))
        parts = self.parts(channel)
        assert parts and [part.part for part in parts] == list(range(len(parts)))
        assert parts == self.parts(channel)
        assert [dict(part.body) for part in parts] == [
            json.loads(json.dumps(part.body)) for part in parts
        ]
        assert sorted(tmp_path.rglob("*")) == before

    def test_each_paper_of_a_digest_is_rendered(self, tmp_path: Path) -> None:
        digest = sample_digest(tuple(f"Unmistakable{number}" for number in range(30)))
        text = json.dumps([dict(part.body) for part in self.parts(self.open(tmp_path), digest)])
        assert [n for n in range(30) if f"Unmistakable{n}" not in text] == []

    def test_a_digest_without_papers_is_rendered(self, tmp_path: Path) -> None:
        assert self.parts(self.open(tmp_path), sample_digest(()))

    def test_a_notice_to_the_operator_is_rendered(self, tmp_path: Path) -> None:
        notice = Notice("A source has been failing", ("since 08:00",), AT)
        parts = self.open(tmp_path).render_notice(notice, JinjaTemplates())
        assert "failing" in json.dumps([dict(part.body) for part in parts])

    def test_what_is_delivered_is_sent_after_one_commit(self, tmp_path: Path) -> None:
        with self.working(tmp_path) as channel:
            committed: list[bool] = []
            first = ""
            for part in self.parts(channel):

                def commit() -> bool:
                    committed.append(True)
                    return True

                outcome = channel.send(self.delivery(channel, part, first), commit)
                assert outcome.state is DeliveryState.SENT, outcome.error
                first = first or outcome.reference
            assert len(committed) == len(self.parts(channel))

    def test_nothing_is_sent_when_another_process_has_taken_over(self, tmp_path: Path) -> None:
        with self.working(tmp_path) as channel:
            part = self.parts(channel)[0]
            outcome = channel.send(self.delivery(channel, part), lambda: False)
            assert outcome.state is DeliveryState.RETRY

    def test_a_service_that_is_down_is_an_outcome_and_no_exception(self, tmp_path: Path) -> None:
        with self.failing(tmp_path) as channel:
            outcome = channel.send(self.delivery(channel, self.parts(channel)[0]), lambda: True)
            assert isinstance(outcome, Outcome) and outcome.state in FAILURES
            assert outcome.error
            assert isinstance(channel.check(), str)

    def _posted_to(self, folder: Path, *replies: Reply) -> tuple[list[Outcome], list[bytes]]:
        """Post a part for each reply, as the pipeline would; return outcomes and what arrived.

        It is an error to commit none or twice, or to ask a server more than once.
        """
        addressee = Addressee(self.accepted)
        addressee.replies.extend(replies)
        outcomes: list[Outcome] = []
        with addressee.serving() as url:
            channel = self.posting_to(folder, url)
            parts = self.parts(channel, sample_digest(MANY if len(replies) > 1 else TITLES))
            if len(parts) < len(replies):
                pytest.skip("its digests have one part")
            committed: list[bool] = []

            def commit() -> bool:
                committed.append(True)
                return True

            for part, _ in zip(parts, replies, strict=False):
                first = outcomes[0].reference if outcomes else ""
                outcomes.append(channel.send(self.delivery(channel, part, first), commit))
            channel.close()
        assert len(committed) == len(addressee.posted) == len(replies)
        return outcomes, addressee.posted

    def test_a_redirect_is_not_followed_and_nothing_counts_as_sent(self, tmp_path: Path) -> None:
        [outcome], _ = self._posted_to(tmp_path, Reply(302, {"Location": "/elsewhere"}))
        assert outcome.state in FAILURES - {DeliveryState.UNKNOWN}, "nothing was posted"
        assert outcome.error

    @pytest.mark.parametrize("seconds", ["7", None])
    def test_429_is_tried_again_when_the_server_says(
        self, tmp_path: Path, seconds: str | None
    ) -> None:
        headers = {"Retry-After": seconds} if seconds else {}
        [outcome], _ = self._posted_to(tmp_path, Reply(429, headers))
        assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, False)
        if seconds:
            assert outcome.retry_after == timedelta(seconds=7)

    @pytest.mark.parametrize("reply", [Reply(500), Reply(cut=True)], ids=["500", "cut"])
    def test_what_the_server_may_have_kept_is_unknown(self, tmp_path: Path, reply: Reply) -> None:
        [outcome], _ = self._posted_to(tmp_path, reply)
        assert outcome.state is DeliveryState.UNKNOWN and outcome.error

    def test_a_part_that_is_refused_says_nothing_of_the_one_before(self, tmp_path: Path) -> None:
        outcomes, posted = self._posted_to(tmp_path, Reply(), Reply(429, {"Retry-After": "1"}))
        assert [one.state for one in outcomes] == [DeliveryState.SENT, DeliveryState.RETRY]
        assert len(set(posted)) == 2, "each part is posted by itself"

    def test_closing_twice_is_harmless(self, tmp_path: Path) -> None:
        channel = self.open(tmp_path)
        channel.close()
        channel.close()

    @staticmethod
    def _fill(value: Any, folder: Path) -> Any:
        return value.replace("{folder}", str(folder)) if isinstance(value, str) else value
