"""The contract of every channel: built-in channels keep it, and so does the example in the docs."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from monitor import config, testing
from monitor.channels.apprise.channel import AppriseChannel
from monitor.channels.base import Channel, Shared, complete, open_channel
from monitor.channels.email.channel import Mail
from monitor.channels.email.sendmail import Sendmail
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.file import Pages
from monitor.channels.ntfy import Ntfy
from monitor.channels.post import DEFAULT_WAIT
from monitor.channels.slack import SlackSettings
from monitor.channels.slack.channel import Slack
from monitor.channels.webhook.channel import Webhook
from monitor.digest.render import JinjaTemplates
from monitor.errors import UsageError
from monitor.model import DeliveryState
from monitor.testing import ChannelContract
from monitor.testing.channels import Reply
from tests.servers.sendmail import SendmailProgram
from tests.servers.slack import TOKEN, SlackServer
from tests.servers.smtp import ScriptedSmtp, closed_port

SENDER = "Papers <papers@example.org>"
EXAMPLE = Path(__file__).parent.parent.parent / "docs" / "examples" / "plugin-channel"


class TestPages(ChannelContract):
    kind = Pages
    settings: ClassVar[dict[str, Any]] = {"path": "{folder}/pages"}

    @contextmanager
    def working(self, folder: Path) -> Iterator[Channel]:
        yield self.open(folder)

    @contextmanager
    def failing(self, folder: Path) -> Iterator[Channel]:
        (folder / "pages").write_text("a file where the folder should be")
        yield self.open(folder)


class TestMail(ChannelContract):
    kind = Mail
    settings: ClassVar[dict[str, Any]] = {"to": ["ada@example.org"]}
    port = 1

    def shared(self, folder: Path) -> Shared:
        settings = SmtpSettings(host="127.0.0.1", port=self.port, tls="none", sender=SENDER)
        return Shared(JinjaTemplates(), smtp=SmtpServer(settings))

    @contextmanager
    def working(self, folder: Path) -> Iterator[Channel]:
        with ScriptedSmtp() as server:
            self.port = server.port
            channel = self.open(folder)
            yield channel
            channel.close()

    @contextmanager
    def failing(self, folder: Path) -> Iterator[Channel]:
        with closed_port() as self.port:
            yield self.open(folder)


class TestMailByLmtp(TestMail):
    """A socket in place of host and port."""

    def shared(self, folder: Path) -> Shared:
        settings = SmtpSettings(lmtp=str(folder / "lmtp"), sender=SENDER)
        return Shared(JinjaTemplates(), smtp=SmtpServer(settings))

    @contextmanager
    def working(self, folder: Path) -> Iterator[Channel]:
        with ScriptedSmtp(path=str(folder / "lmtp")):
            yield self.open(folder)


class TestMailBySendmail(TestMail):
    def shared(self, folder: Path) -> Shared:
        settings = SmtpSettings(sendmail=folder / "mta" / "sendmail", sender=SENDER)
        return Shared(JinjaTemplates(), smtp=Sendmail(settings))

    @contextmanager
    def working(self, folder: Path) -> Iterator[Channel]:
        SendmailProgram(folder / "mta")
        yield self.open(folder)


class TestWebhook(ChannelContract):
    kind = Webhook
    settings: ClassVar[dict[str, Any]] = {"url": "https://example.org/hooks/a"}

    def posting_to(self, folder: Path, url: str) -> Channel:
        return self.open(folder, url=url, allow_private=True)


class TestWebhookOfDiscord(TestWebhook):
    """In several parts, by a template."""

    settings: ClassVar[dict[str, Any]] = TestWebhook.settings | {"template": "discord"}


class TestSlackBot(ChannelContract):
    kind = Slack
    settings: ClassVar[dict[str, Any]] = {"channel": "#papers"}
    accepted = b'{"ok": true, "channel": "C0PAPERS1", "ts": "1.1"}'
    address = "http://127.0.0.1:9/"

    def posting_to(self, folder: Path, url: str) -> Channel:
        self.address = f"{url}/api/"
        return self.open(folder)

    def shared(self, folder: Path) -> Shared:
        slack = SlackSettings(token=TOKEN, base_url=self.address)
        return Shared(JinjaTemplates(), slack=slack)

    @contextmanager
    def working(self, folder: Path) -> Iterator[Channel]:
        with SlackServer() as server:
            self.address = server.base_url
            yield self.open(folder)

    @contextmanager
    def failing(self, folder: Path) -> Iterator[Channel]:
        with closed_port() as port:
            self.address = f"http://127.0.0.1:{port}/"
            yield self.open(folder)


class TestSlackWebhook(ChannelContract):
    kind = Slack
    settings: ClassVar[dict[str, Any]] = {"webhook": "http://127.0.0.1:9/services/a"}

    def posting_to(self, folder: Path, url: str) -> Channel:
        return self.open(folder, webhook=url)

    @contextmanager
    def working(self, folder: Path) -> Iterator[Channel]:
        with SlackServer() as server:
            yield self.open(folder, webhook=server.webhook)

    @contextmanager
    def failing(self, folder: Path) -> Iterator[Channel]:
        with closed_port() as port:
            yield self.open(folder, webhook=f"http://127.0.0.1:{port}/services/a")


class TestNtfy(ChannelContract):
    kind = Ntfy
    settings: ClassVar[dict[str, Any]] = {"topic": "papers-7Kq2", "token": "tk_abcdef"}
    accepted = b'{"id": "sPs71M8A2T", "event": "message", "topic": "papers-7Kq2"}'

    def posting_to(self, folder: Path, url: str) -> Channel:
        return self.open(folder, url=url.removesuffix("/hooks/a"), allow_private=True)


class TestApprise(ChannelContract):
    kind = AppriseChannel
    settings: ClassVar[dict[str, Any]] = {"url": "gotify://chat.example.org/Aabcdef12345678"}

    def posting_to(self, folder: Path, url: str) -> Channel:
        host = urlsplit(url).netloc
        return self.open(folder, url=f"gotify://{host}/Aabcdef12345678", limit="500")

    @pytest.mark.parametrize("seconds", ["7", None])
    def test_429_is_tried_again_when_the_server_says(
        self, tmp_path: Path, seconds: str | None
    ) -> None:
        """Apprise does not pass on what the server says: it is our own wait."""
        headers = {"Retry-After": seconds} if seconds else {}
        [outcome], _ = self._posted_to(tmp_path, Reply(429, headers))
        assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, False)
        assert outcome.retry_after == DEFAULT_WAIT


sys.path.insert(0, str(EXAMPLE))
from test_mattermost import TestMattermost  # noqa: E402

sys.path.remove(str(EXAMPLE))

__all__ = ["TestMattermost"]


@pytest.mark.parametrize("file", ["mattermost.py", "test_mattermost.py"])
def test_the_page_shows_the_example_as_it_is(file: str) -> None:
    page = (EXAMPLE.parent.parent / "contributing.md").read_text("utf-8")
    assert f"```python\n{(EXAMPLE / file).read_text('utf-8')}```\n" in page


def test_the_page_names_the_entry_point_and_a_configuration_that_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (EXAMPLE.parent.parent / "contributing.md").read_text("utf-8")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    ((name, value),) = project["entry-points"]["monitor.channels"].items()
    assert f'[project.entry-points."monitor.channels"]\n       {name} = "{value}"\n' in page

    info = tmp_path / "example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[monitor.channels]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = re.findall(r"^       (channels:\n(?: {9}.*\n)+)", page, re.MULTILINE)
    (tmp_path / "monitor.yaml").write_text(lines[0])
    secret = {"MATTERMOST_WEBHOOK": "https://chat.example.org/hooks/a"}
    channels = config.load(tmp_path / "monitor.yaml", secret).channels
    assert channels["team"].options.webhook.reveal() == secret["MATTERMOST_WEBHOOK"]  # type: ignore[attr-defined]


Mattermost = TestMattermost.kind


def test_a_channel_gets_the_defaults() -> None:
    options = Mattermost.Options(webhook="http://127.0.0.1:9/hooks/a")
    channel = open_channel(Mattermost, "team", options, Shared(JinjaTemplates()))
    assert (channel.outage_group, Channel.min_interval) == ("mattermost team", 0.0)
    assert (channel.recipients(), channel.check()) == (("team",), "")
    assert channel.reconcile(None) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("lacking", ["Options", "render", "send", "base class"])
def test_a_channel_that_lacks_a_member_is_refused_by_its_name(lacking: str) -> None:
    own = vars(Mattermost).items()
    members = {name: value for name, value in own if name != lacking and name[:1] != "_"}
    bases = () if lacking == "base class" else (Channel,)
    with pytest.raises(UsageError, match=f"the channel kind “mine” has no {lacking} "):
        complete("mine", type("Mine", bases, members))


@pytest.mark.parametrize("suite", [testing.ChannelContract, testing.SourceContract])
def test_what_a_contract_says_to_define_exists(suite: type[object]) -> None:
    names = set(re.findall(r"`(\w+)`", suite.__doc__ or ""))
    assert names and names <= {*dir(suite), *suite.__annotations__}
