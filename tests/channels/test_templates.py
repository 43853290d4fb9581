"""The channels with the templates that are shipped."""

import email
import email.policy
import re
from html.parser import HTMLParser

import pytest

from monitor.channels.email.channel import Mail, Mailbox
from monitor.channels.email.render import HTML_LIMIT, TEXT_LIMIT
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.file import Pages
from monitor.channels.slack.blocks import text_of
from monitor.channels.slack.channel import Slack
from monitor.digest.render import JinjaTemplates
from monitor.model import DeliveryState, Digest, Outcome
from tests.channels.samples import HOSTILE, NOTICE, Commit, delivery, digest, entry
from tests.servers.slack import TOKEN, SlackServer

SCRIPT = '<script>alert(1)</script> "><img src=x onerror=alert(1)> '
LONG = "Learning to plan with language agents in multi-agent worlds under partial information"


@pytest.fixture(scope="module")
def templates() -> JinjaTemplates:
    return JinjaTemplates()


@pytest.fixture(scope="module")
def crowded() -> Digest:
    abstract = "We study agents. " + "They act in large worlds, and we watch them. " * 30
    return digest([entry(n, f"{LONG}, part {n} &c.", abstract) for n in range(400)], full=400)


def mail() -> Mail:
    return Mail(
        "email",
        ("ada@example.org",),
        SmtpServer(SmtpSettings(host="localhost", sender="p@example.org")),
    )


class _Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        assert not [name for name, _ in attrs if name.startswith("on")]


def test_M15_a_crowded_mail_is_under_its_limit_and_has_every_paper(
    templates: JinjaTemplates, crowded: Digest
) -> None:
    [part] = mail().render(crowded, templates)
    html, text = part.body["html"], part.body["text"]
    assert len(html.encode()) <= HTML_LIMIT and len(text.encode()) <= TEXT_LIMIT
    listed = " ".join(part.body["attachment"]["text"].split())
    for shown in (html, " ".join(text.split())):
        in_mail = [n for n in range(400) if f"part {n} " in shown]
        assert in_mail + [n for n in range(400) if f"part {n} " in listed] == list(range(400))
    sent = mail().message(delivery(part), Mailbox.parse("ada@example.org"))
    message = email.message_from_bytes(sent, policy=email.policy.default)
    kinds = [p.get_content_type() for p in message.iter_parts()]
    assert kinds == ["multipart/alternative", "text/plain"]


def test_M14_W04_what_is_hostile_is_inert_in_every_channel(
    templates: JinjaTemplates, tmp_path: object
) -> None:
    issue = digest([entry(1, SCRIPT + HOSTILE)], subscription="<!channel>")
    [page] = Pages("pages", tmp_path, templates).render(issue, templates)  # type: ignore[arg-type]
    [letter] = mail().render(issue, templates)
    for html in (page.body["html"], letter.body["html"]):
        tags = _Tags(html)
        assert not tags.seen & {"script", "img", "iframe", "form"}
        assert all(re.match(r"(https?://|#|\./|$)", link) for link in tags.links)
    with SlackServer() as slack:
        ours = Slack("lab", channel="#papers", token=TOKEN, base_url=slack.base_url)
        for part in ours.render(issue, templates):
            outcome = ours.send(delivery(part, recipient="#papers"), Commit())
            assert outcome.state is DeliveryState.SENT
        assert slack.pings == []


def test_L03_a_crowded_digest_fits_slack_and_has_every_paper(
    templates: JinjaTemplates, crowded: Digest
) -> None:
    with SlackServer() as slack:
        ours = Slack("lab", channel="#papers", token=TOKEN, base_url=slack.base_url)
        parent = ""
        for part in ours.render(crowded, templates):
            sent = delivery(part, recipient="#papers", parent=parent)
            outcome = ours.send(sent, Commit())
            assert outcome.state is DeliveryState.SENT, outcome.error
            parent = parent or outcome.reference
        shown = "\n".join(text_of(b) for post in slack.posts for b in post["blocks"])
    assert [n for n in range(400) if f"part {n} &amp;c." not in shown] == []


def test_a_page_and_its_index(templates: JinjaTemplates, tmp_path: object) -> None:
    ours = Pages("pages", tmp_path, templates)  # type: ignore[arg-type]
    issue = digest(3, period="2026-11-21T09:30")
    [part] = ours.render(issue, templates)
    sent = delivery(part, subscription="ada", period=issue.period)
    page = ours.page(sent)
    assert ours.send(sent, Commit()) == Outcome(DeliveryState.SENT, reference=str(page))
    index = (page.parent.parent / "index.html").read_text("utf-8")
    [link] = [link for link in _Tags(index).links if link.endswith(".html")]
    assert (page.parent.parent / link).read_text("utf-8").count("Paper 2") >= 1


def test_a_quiet_digest_and_a_notice_in_every_channel(
    templates: JinjaTemplates, tmp_path: object
) -> None:
    slack = Slack("lab", webhook="https://hooks.example.org/services/x")
    for channel in (mail(), slack, Pages("pages", tmp_path, templates)):  # type: ignore[arg-type]
        [quiet] = channel.render(digest(0), templates)
        assert "412" in str(quiet.body)
        [notice] = channel.render_notice(NOTICE, templates)
        assert "It has failed since Tuesday." in str(notice.body)
