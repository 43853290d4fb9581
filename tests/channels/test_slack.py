"""Slack by token and by webhook, against a server that enforces Slack's limits."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import OpenerDirector

import pytest
from msgspec import structs

from monitor.channels.base import Shared
from monitor.channels.slack import SlackSettings, may_be_private
from monitor.channels.slack.api import Answer, Bot, TooLongError, Webhook, read_refusal
from monitor.channels.slack.blocks import text_of
from monitor.channels.slack.channel import Slack, SlackOptions
from monitor.channels.slack.socket_mode import ask_for_address
from monitor.digest.render import JinjaTemplates
from monitor.digest.wording import escape_mrkdwn
from monitor.model import Delivery, DeliveryState, Digest, DigestGroup, Outcome, Rendered
from monitor.setting_types import SettingsContext
from tests.channels.samples import AT, HOSTILE, Commit, delivery, digest, entry
from tests.servers.slack import APP_TOKEN, TOKEN, Fault, SlackServer
from tests.servers.smtp import closed_port
from tests.servers.web import misbehaving_server


class PlainTemplates:
    """Templates as small as they can be; `padding` makes each paper in full that much longer."""

    def __init__(self, padding: int = 0) -> None:
        self.padding = padding

    def render(self, name: str, **values: Any) -> str:
        if "entry" in values:
            paper = values["entry"].paper
            text = f"<{paper.url}|{escape_mrkdwn(paper.title)}>"
            if name == "slack/title_line.j2":
                return f"• {text}"
            return f"{text}\n{escape_mrkdwn(paper.abstract)}{'x' * self.padding}"
        if name == "slack/contents.j2":
            topics = [f"*{group.topic}*: {group.papers}\n" for group in values["digest"].groups]
            text = "{below} below, in a thread: {threaded}".format(**values)
            return escape_mrkdwn("".join([*topics, text]))
        return "412 papers read from daily."


TEMPLATES = PlainTemplates()


def bot(slack: SlackServer, channel: str = "#papers", token: str = TOKEN) -> Slack:
    return Slack("lab", channel, Bot(token, slack.base_url))


def hook(slack: SlackServer) -> Slack:
    return Slack("lab", "lab", Webhook(slack.webhook))


def planned(part: Rendered, parent: str = "", **changes: Any) -> Delivery:
    values = {"channel": "lab", "recipient": "#papers", "message_id": f"<id-{part.part}@x>"}
    return delivery(part, parent=parent, **{**values, **changes})


def send(channel: Slack, issue: Digest | None = None, templates: Any = TEMPLATES) -> list[Outcome]:
    """Send all parts as the pipeline would: replies know the reference of the first."""
    outcomes: list[Outcome] = []
    for part in channel.render(issue or digest(), templates):
        parent = outcomes[0].reference if outcomes else ""
        outcomes.append(channel.send(planned(part, parent), Commit()))
    return outcomes


def shown(slack: SlackServer) -> str:
    return "\n".join(texts(slack.posts))


def texts(posts: Iterable[dict[str, Any]]) -> list[str]:
    return [text_of(block) for post in posts for block in post["blocks"]]


# ── what is sent ────────────────────────────────────────────────────────────────────


def test_a_digest_is_a_message_with_a_text_for_notifications(slack: SlackServer) -> None:
    [outcome] = send(bot(slack))
    [post] = slack.posts
    assert outcome == Outcome(DeliveryState.SENT, reference=f"C0PAPERS1:{post['ts']}")
    assert post["text"] == "3 papers: agents · 21 Nov"
    assert (post["unfurl_links"], post["unfurl_media"]) == (False, False)
    assert post["metadata"]["event_payload"] == {"message_id": "<id-0@x>"}
    assert "412 papers read from daily." in shown(slack)


def test_L03_a_long_digest_goes_on_in_the_thread_and_loses_nothing(slack: SlackServer) -> None:
    outcomes = send(bot(slack), digest(60, full=40), PlainTemplates(900))
    assert len(outcomes) > 3 and {o.state for o in outcomes} == {DeliveryState.SENT}
    first, *replies = slack.posts
    assert "thread_ts" not in first
    assert {reply["thread_ts"] for reply in replies} == {first["ts"]}
    assert not any(reply.get("reply_broadcast") for reply in replies)
    assert [n for n in range(60) if f"|Paper {n}>" not in shown(slack)] == []
    assert shown(slack).count("x" * 900) == 40


def test_the_first_message_stands_alone_and_the_others_are_in_its_thread(
    slack: SlackServer,
) -> None:
    papers = digest([structs.replace(entry(n), score=100.0 - n) for n in range(12)], full=8)
    rest = DigestGroup("bandits", (structs.replace(entry(99), score=0.5),))
    send(bot(slack), replace(papers, groups=(*papers.groups, rest)))
    first, reply = slack.posts
    types = [block["type"] for block in first["blocks"]]
    assert types == ["header", "section", *["divider", "section"] * 6, "context"]
    assert text_of(first["blocks"][0]) == "13 new papers"
    assert [n for n in range(100) if f"|Paper {n}>" in "".join(texts([first]))] == [0, 1, 2, 3, 99]
    assert "*bandits*: 1\n8 below, in a thread: True" in texts([first])[-2]
    assert "412 papers read from daily." in texts([first])[-1]
    below = texts([reply])
    assert below[0] == "*agents*" and "We study agents." in below[1] and "|Paper 4>" in below[1]
    listed = [n for n in range(12) if f"• <https://papers.example.org/{n}|" in below[-1]]
    assert listed == [*range(7, 12)]


def test_papers_that_do_not_fit_into_the_first_message_follow_in_full(slack: SlackServer) -> None:
    send(bot(slack), digest(5, full=5), PlainTemplates(2_600))
    first, *replies = slack.posts
    assert [n for n in range(5) if f"|Paper {n}>" in "".join(texts([first]))] == [0, 1, 2]
    assert "2 below" in "".join(texts([first]))
    assert "".join(texts(replies)).count("x" * 2_600) == 2


def test_a_quiet_day_is_one_line(slack: SlackServer) -> None:
    send(bot(slack), digest(0))
    [post] = slack.posts
    assert post["text"] == "No new papers · 21 Nov"
    assert texts([post]) == ["412 papers read from daily."]


def test_L04_a_hostile_title_is_shown_and_nobody_is_pinged(slack: SlackServer) -> None:
    issue = digest([entry(1, HOSTILE)])
    issue = replace(
        issue, subscription="<!here>", groups=(replace(issue.groups[0], topic="<@U1>"),)
    )
    for templates in (TEMPLATES, JinjaTemplates()):
        outcomes = send(bot(slack), issue, templates)
        assert {outcome.state for outcome in outcomes} == {DeliveryState.SENT}
    assert shown(slack).count("&lt;!channel&gt; &amp; &lt;@U1") == 2
    assert slack.pings == []


def test_a_webhook_gets_separate_messages_and_its_URL_is_no_name(slack: SlackServer) -> None:
    ours = hook(slack)
    outcomes = send(ours, digest(60, full=40), PlainTemplates(900))
    assert {o.state for o in outcomes} == {DeliveryState.SENT}
    assert len(slack.posts) == len(outcomes) > 3
    assert not any("thread_ts" in post for post in slack.posts)
    unfurled = {(post["unfurl_links"], post["unfurl_media"]) for post in slack.posts}
    assert unfurled == {(False, False)}
    assert (ours.recipients(), ours.outage_group) == (("lab",), "slack webhook lab")


# ── what Slack refuses ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "retry_after, waited",
    [("30", 30), ("0", 0), (None, 30), ("abc", 30), ("86400", 86_400), ("9" * 30, 86_400)],
)
def test_L01_429_is_a_retry_for_the_queue(
    slack: SlackServer, retry_after: str | None, waited: int
) -> None:
    for ours in (bot(slack), hook(slack)):
        headers = {"Retry-After": retry_after} if retry_after else {}
        slack.faults.append(Fault(429, '{"ok": false, "error": "ratelimited"}', headers))
        [outcome] = send(ours)
        assert outcome.state is DeliveryState.RETRY and not outcome.channel_down
        assert outcome.retry_after == timedelta(seconds=waited)
    assert len(slack.requests) == 2, "the queue tries again, nothing below it does"


@pytest.mark.parametrize("open_channel", [bot, hook])
def test_L03_a_message_that_slack_finds_too_long_asks_for_two_parts(
    slack: SlackServer, open_channel: Callable[[SlackServer], Slack]
) -> None:
    slack.most_characters = 1_500
    ours = open_channel(slack)
    waiting = list(ours.render(digest(12, full=12), PlainTemplates(400)))
    while waiting:
        part = waiting.pop(0)
        commit = Commit()
        outcome = ours.send(planned(part), commit)
        assert commit.calls == 1
        if outcome.split:
            assert (outcome.state, outcome.channel_down) == LATER
            waiting += [replace(part, body=body) for body in outcome.split]
        else:
            assert outcome.state is DeliveryState.SENT
    assert [n for n in range(12) if shown(slack).count(f"|Paper {n}>") != 1] == []
    assert len(slack.posts) > 3


def test_L03_one_line_that_slack_finds_too_long_has_failed(slack: SlackServer) -> None:
    slack.most_characters = 1
    for ours in (bot(slack), hook(slack)):
        [part] = ours.render(digest(0), TEMPLATES)
        outcome = ours.send(planned(part), Commit())
        assert (outcome.state, outcome.split) == (DeliveryState.FAILED, None)


# S10, S11: what each code means; `True` is the fault of the line, which is down for all.
REFUSED = (DeliveryState.FAILED, False)
DOWN = (DeliveryState.RETRY, True)
LATER = (DeliveryState.RETRY, False)
UNCLEAR_END = (DeliveryState.UNKNOWN, False)
BY_TOKEN = {
    REFUSED: "channel_not_found not_in_channel is_archived restricted_action "
    "restricted_action_read_only_channel restricted_action_thread_only_channel a_new_code "
    "invalid_blocks invalid_blocks_format no_text invalid_arguments",
    DOWN: "invalid_auth not_authed token_revoked token_expired account_inactive missing_scope "
    "no_permission team_access_not_granted ekm_access_denied org_login_required",
    LATER: "ratelimited rate_limited request_timeout",
    UNCLEAR_END: "fatal_error internal_error service_unavailable",
}
BY_WEBHOOK = {
    DOWN: "no_service no_service_id no_active_hooks invalid_token channel_is_archived "
    "action_prohibited team_disabled channel_not_found a_new_code",
    REFUSED: "invalid_payload no_text",
}


def test_S10_S11_each_code_of_slack_and_each_word_of_a_webhook_has_its_meaning() -> None:
    for meanings, status in ((BY_TOKEN, 200), (BY_WEBHOOK, 404)):
        for meaning, codes in meanings.items():
            for code in codes.split():
                outcome = read_refusal(Answer(status, {}, code, {}), webhook=status == 404)
                assert (outcome.state, outcome.channel_down) == meaning
                assert code in outcome.error
    assert (
        read_refusal(Answer(500, {}, "oops", {}), webhook=True).error == "Slack answered 500 oops"
    )
    for code in ("msg_blocks_too_long", "msg_too_long"):
        with pytest.raises(TooLongError):
            read_refusal(Answer(200, {}, code, {}))


def test_an_answer_that_is_not_slacks_names_its_host_and_the_setting_and_no_secret(
    slack: SlackServer,
) -> None:
    for channel, named in ((bot(slack), "check slack.base_url"), (hook(slack), "the webhook")):
        slack.faults.append(Fault(404, "<h1>Not found</h1>"))
        [outcome] = send(channel)
        assert outcome.channel_down
        assert "127.0.0.1:" in outcome.error and "answered HTTP 404" in outcome.error
        assert outcome.error.endswith(named)
        assert "/" not in outcome.error.replace("HTTP/", ""), "nothing of the path"


def test_L05_a_channel_that_does_not_exist_fails_with_a_hint(slack: SlackServer) -> None:
    [part] = bot(slack).render(digest(), TEMPLATES)
    outcome = bot(slack).send(planned(part, recipient="#nowhere"), Commit())
    assert outcome.state is DeliveryState.FAILED
    assert "channel_not_found (no such channel" in outcome.error


@pytest.mark.parametrize("code", ["thread_not_found", "message_not_found"])
def test_L06_when_the_parent_is_gone_a_new_one_is_posted_and_the_rest_follows(
    slack: SlackServer, code: str
) -> None:
    ours = bot(slack)
    first, second, third = ours.render(digest(60, full=60), PlainTemplates(600))[:3]
    outcome = ours.send(planned(first), Commit())
    slack.delete(slack.posts[0]["ts"])
    if code != "thread_not_found":
        slack.faults.append(Fault.error(code))
    commits = iter([True])  # the store says of a second time that the claim has been lost
    outcomes = [
        ours.send(planned(second, outcome.reference), lambda: next(commits, False)),
        ours.send(planned(third, outcome.reference), Commit()),
    ]
    assert [reply.state for reply in outcomes] == [DeliveryState.SENT] * 2
    parent, reply = slack.posts
    assert "thread_ts" not in parent
    assert reply["thread_ts"] == parent["ts"]


# ── what nobody knows ───────────────────────────────────────────────────────────────


def posted(
    slack: SlackServer, channel: str = "#papers", state: DeliveryState = DeliveryState.SENT
) -> Delivery:
    """Send a digest of one part, with a known end, and return its delivery."""
    ours = bot(slack, channel)
    [part] = ours.render(digest(), TEMPLATES)
    sent = planned(part, recipient=channel)
    assert ours.send(sent, Commit()).state is state
    return sent


UNCLEAR = {
    "ok without ts": Fault(body='{"ok": true}', kept=True),
    "an HTML page": Fault(body="<!doctype html><p>Please log in</p>"),
    "502 of a proxy": Fault(502, "<h1>Bad gateway</h1>"),
    "500": Fault(500, '{"ok": false, "error": "internal_error"}'),
    "fatal_error": Fault.error("fatal_error"),
    "a list": Fault(body="[1]"),
    "nothing": Fault(body=""),
    "a reset after the body": Fault(reset=True, kept=True),
}
OF_HOOKS = ("an HTML page", "502 of a proxy", "nothing", "a reset after the body")


@pytest.mark.parametrize(
    "name, open_channel", [*((n, bot) for n in UNCLEAR), *((n, hook) for n in OF_HOOKS)]
)
def test_L08_an_answer_that_says_nothing_is_unknown(
    slack: SlackServer, name: str, open_channel: Callable[[SlackServer], Slack]
) -> None:
    slack.faults.append(UNCLEAR[name])
    [outcome] = send(open_channel(slack))
    assert (outcome.state, outcome.channel_down) == (DeliveryState.UNKNOWN, False)
    assert outcome.error
    assert len(slack.requests) == 1, "not tried again in place"


def test_a_server_that_is_not_there_is_the_channels_fault() -> None:
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}/"
        for poster in (Bot(TOKEN, url), Webhook(f"{url}services/T0/B0/secret")):
            [outcome] = send(Slack("lab", "#papers", poster))
            assert (outcome.state, outcome.channel_down) == DOWN
            assert "Connection refused" in outcome.error


@pytest.mark.parametrize("channel", ["#papers", "papers", "C0PAPERS1"])
def test_L02_after_a_reset_the_history_says_that_it_was_posted(
    slack: SlackServer, channel: str
) -> None:
    slack.faults.append(UNCLEAR["a reset after the body"])
    sent = posted(slack, channel, DeliveryState.UNKNOWN)
    found = bot(slack, channel).reconcile(sent)
    assert found == Outcome(DeliveryState.SENT, reference=f"C0PAPERS1:{slack.posts[0]['ts']}")


def test_L02_replies_are_looked_for_in_their_thread_and_after_it_in_the_channel(
    slack: SlackServer,
) -> None:
    ours = bot(slack)
    first, second = ours.render(digest(20, full=20), PlainTemplates(600))[:2]
    parent = ours.send(planned(first), Commit()).reference
    slack.faults.append(UNCLEAR["a reset after the body"])
    assert ours.send(planned(second, parent), Commit()).state is DeliveryState.UNKNOWN
    assert bot(slack).reconcile(planned(second, parent)).state is DeliveryState.SENT
    slack.posts[1].pop("thread_ts")
    slack.delete(parent.partition(":")[2])
    assert bot(slack).reconcile(planned(second, parent)).state is DeliveryState.SENT


def test_L02_a_history_of_many_pages_is_read_to_its_end(slack: SlackServer) -> None:
    slack.page = 2
    slack.channels = {f"channel-{n}": f"C{n:08}" for n in range(5)} | slack.channels
    sent = posted(slack)
    for _ in range(6):
        slack.keep({"text": "talk"}, "C0PAPERS1")
    assert bot(slack).reconcile(sent).state is DeliveryState.SENT
    slack.page = 1
    for _ in range(5):  # it is too long now, which tells nothing
        slack.keep({"text": "talk"}, "C0PAPERS1")
    assert bot(slack).reconcile(replace(sent, recipient="C0PAPERS1")) is None


@pytest.mark.parametrize(
    "fault", [Fault.error("missing_scope"), Fault(429), Fault(502, "<h1>"), Fault(reset=True)]
)
def test_L02_what_the_history_does_not_tell_stays_unknown(slack: SlackServer, fault: Fault) -> None:
    sent = posted(slack)
    slack.faults.append(fault)
    assert bot(slack).reconcile(sent) is None


def test_a_history_is_read_from_before_a_moved_calendar(slack: SlackServer) -> None:
    later = replace(posted(slack), created_at=AT + timedelta(days=365 * 50))
    assert bot(slack).reconcile(later).state is DeliveryState.SENT


@pytest.mark.parametrize("open_channel", [bot, hook])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_refused_and_nothing_is_sent_where_it_leads(
    slack: SlackServer, status: int, open_channel: Callable[[SlackServer], Slack]
) -> None:
    with misbehaving_server() as elsewhere:
        elsewhere.answers("/", body=b'{"ok": true, "ts": "1.1"}')
        slack.faults.append(Fault(status, headers={"Location": elsewhere.url("/")}))
        [outcome] = send(open_channel(slack))
    assert elsewhere.requests == []
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert "redirects are refused" in outcome.error


@pytest.mark.parametrize(
    "poster", [Bot(TOKEN, "http://slack.example/"), Webhook("http://slack.example/")]
)
def test_slack_is_reached_through_a_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, poster: Bot | Webhook
) -> None:
    with misbehaving_server() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url(""))
        send(Slack("lab", "#papers", poster))
        [request] = proxy.requests
    assert request.target.startswith("http://slack.example/")


def test_the_sdk_sends_nothing_by_itself(
    slack: SlackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each version of it must send by the methods that ours replace, not by urllib."""

    def open_(self: OpenerDirector, *_: Any, **__: Any) -> None:
        pytest.fail("the SDK has sent something")

    monkeypatch.setattr(OpenerDirector, "open", open_)
    sent = posted(slack)
    assert [outcome.state for outcome in send(hook(slack))] == [DeliveryState.SENT]
    assert bot(slack).check() == ""
    assert bot(slack).reconcile(sent).state is DeliveryState.SENT
    settings = SlackSettings(token=TOKEN, app_token=APP_TOKEN, base_url=slack.base_url)
    slack.socket_url = "wss://slack.example/"
    assert ask_for_address(settings) == (slack.socket_url, "")
    assert {asked.headers["user-agent"] for asked in slack.asked} == {"paper-monitor"}


def test_only_slacks_own_hosts_need_a_setting_to_be_private() -> None:
    for url in (
        "https://slack.com/api/",
        "https://hooks.slack.com/x",
        "https://slack-gov.com/api/",
    ):
        assert (may_be_private(url, None), may_be_private(url, True)) == (False, True)
    for url in (
        "http://127.0.0.1:80/",
        "https://chat.lab.example/hooks/x",
        "https://notslack.com/",
    ):
        assert (may_be_private(url, None), may_be_private(url, False)) == (True, False)


def test_a_private_address_that_is_not_allowed_is_refused(
    slack: SlackServer, tmp_path: Path
) -> None:
    settings = SlackSettings(token=TOKEN, base_url=slack.base_url, allow_private=False)
    shared = Shared(JinjaTemplates(), slack=settings)
    for own in ({"channel": "#papers"}, {"webhook": slack.webhook, "allow_private": False}):
        context = SettingsContext(tmp_path, slack=True)
        options = SlackOptions.model_validate(own, context=context)
        [outcome] = send(Slack.open("lab", options, shared))
        assert (outcome.state, outcome.channel_down) == DOWN
        assert "allow_private" in outcome.error
    assert slack.requests == []


def test_W06_no_secret_is_shown_or_logged(
    slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("slack_sdk").setLevel(logging.DEBUG)
    bad = Slack("lab", "lab", Webhook("htp://hooks.example/services/a-secret-path"))
    errors = [outcome.error for ours in (bot(slack), hook(slack), bad) for outcome in send(ours)]
    slack.faults.append(Fault(500, "oops"))
    errors += [outcome.error for outcome in send(hook(slack))]
    for text in (*errors, caplog.text, repr(bot(slack)), repr(hook(slack))):
        assert TOKEN not in text and "a-secret-path" not in text


def test_papers_beyond_at_most_are_in_the_archive_or_without_pages_in_the_thread(
    slack: SlackServer,
) -> None:
    made = replace(digest(50, full=12), titles=40, at_most=30)
    send(bot(slack), made)
    assert [n for n in range(50) if f"|Paper {n}>" not in shown(slack)] == []
    slack.posts.clear()
    page = "https://papers.example.org/digests/ada/2026-11-21"
    send(bot(slack), replace(made, about=replace(made.about, archive_url=page)), JinjaTemplates())
    assert [n for n in range(50) if f"|Paper {n}>" in shown(slack)] == list(range(30))
    assert f"<{page}|20 more papers in the archive>" in shown(slack)


def test_titles_below_papers_in_full_have_a_line_of_their_own(slack: SlackServer) -> None:
    send(bot(slack), replace(digest(8, full=7), titles=40), JinjaTemplates())
    assert "_More_\n• <" in shown(slack)
    slack.posts.clear()
    send(bot(slack), replace(digest(8, full=5), titles=40), JinjaTemplates())
    assert "More" not in shown(slack), "the others are in the first message"
