"""The contract of every channel as tests: docs/contributing.md has an example."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
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


class ChannelContract:
    """The contract of a kind of channel. A class derived from it names the kind and its settings.

    `settings` are those of one channel as monitor.yaml has them; `{folder}` in a text is a folder
    of the test. Override `working` and `failing` to have sending tested: each is a context manager
    that yields a channel whose service works, or does not.
    """

    kind: ClassVar[type[Any]]
    settings: ClassVar[Mapping[str, Any]]

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

    def working(self, folder: Path) -> AbstractContextManager[Channel]:
        """Return a context with a channel whose service takes what is sent."""
        pytest.skip("no service is arranged: override `working`")

    def failing(self, folder: Path) -> AbstractContextManager[Channel]:
        """Return a context with a channel whose service is down."""
        pytest.skip("no failure is arranged: override `failing`")

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

    def test_closing_twice_is_harmless(self, tmp_path: Path) -> None:
        channel = self.open(tmp_path)
        channel.close()
        channel.close()

    @staticmethod
    def _fill(value: Any, folder: Path) -> Any:
        return value.replace("{folder}", str(folder)) if isinstance(value, str) else value
