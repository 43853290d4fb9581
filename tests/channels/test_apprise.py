"""Services of Apprise, each against a stand-in on loopback that knows its limit."""

from __future__ import annotations

import json
import logging
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email import charset
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import trustme
from apprise.plugins.discord import NotifyDiscord
from apprise.plugins.pushover import NotifyPushover
from apprise.plugins.telegram import NotifyTelegram
from apprise.plugins.zulip import NotifyZulip
from apprise.result import AppriseResult, AppriseResultStatus
from pydantic import ValidationError

from monitor import log
from monitor.channels.apprise import service
from monitor.channels.apprise.channel import AppriseChannel, AppriseOptions
from monitor.channels.base import Shared, open_channel
from monitor.digest.render import JinjaTemplates
from monitor.model import DeliveryState, Digest, Outcome
from monitor.setting_types import SettingsContext
from tests.channels.samples import HOSTILE, NOTICE, Commit, delivery, digest, entry
from tests.servers.smtp import closed_port
from tests.servers.web import Answer, Asked, MisbehavingServer, misbehaving_server

TEMPLATES = JinjaTemplates()
SECRET = "Aabcdef12345678"
SENT = (DeliveryState.SENT, False)
UNKNOWN = (DeliveryState.UNKNOWN, False)
FAILED = (DeliveryState.FAILED, False)
DOWN = (DeliveryState.RETRY, True)
AGAIN = (DeliveryState.RETRY, False)


def channel(url: str, **settings: Any) -> AppriseChannel:
    context = SettingsContext(Path())
    options = AppriseOptions.model_validate({"url": url, **settings}, context=context)
    opened = open_channel(AppriseChannel, "chat", options, Shared(TEMPLATES))
    assert isinstance(opened, AppriseChannel)
    return opened


def send(chat: AppriseChannel, made: Digest | None = None) -> list[Outcome]:
    parts = chat.render(made or digest(), TEMPLATES)
    return [chat.send(delivery(part, channel="chat"), Commit()) for part in parts]


def kind_of(outcome: Outcome) -> tuple[DeliveryState, bool]:
    return outcome.state, outcome.channel_down


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library pauses between two messages itself; the pipeline waits before it is called."""
    monkeypatch.setattr("apprise.plugins.base.NotifyBase.throttle", lambda *_, **__: None)


# ── ten services ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Stand:
    """A service: its address, where its text is in a request, how many characters it takes.

    `patched` is the class whose fixed address is replaced, `at` by which path.
    """

    url: str
    text_of: Callable[[Asked], str]
    most: int
    path: str
    patched: Any = None
    at: str = ""
    answers: Any = None
    tls: bool = False


def _json(*names: str) -> Callable[[Asked], str]:
    def text_of(asked: Asked) -> str:
        found = json.loads(asked.body)
        for name in names:
            found = found[int(name)] if name.isdigit() else found[name]
        return str(found)

    return text_of


def _form(name: str) -> Callable[[Asked], str]:
    return lambda asked: parse_qs(asked.body.decode())[name][0]


def _matrix(asked: Asked) -> Answer:
    return Answer(
        body=json.dumps(
            {
                "access_token": "t",
                "home_server": "h",
                "user_id": "@u:h",
                "room_id": "!r:h",
                "event_id": "$e",
            }
        ).encode()
    )


def _card(asked: Asked) -> str:
    body = json.loads(asked.body)["attachments"][0]["content"]["body"]
    return "\n".join(block["text"] for block in body if "text" in block)


BOT = "123456789:abcdefg_hijklmnop"
HOOK = "123456789012345678/" + "a1" * 34
STANDS = {
    "discord": Stand(
        f"discord://{HOOK}", _json("content"), 2_000, "/api/", NotifyDiscord, "/api/webhooks"
    ),
    "telegram": Stand(
        f"tgram://{BOT}/12315544/?mdv=v2", _json("text"), 4_096, "/bot", NotifyTelegram, "/bot"
    ),
    "matrix": Stand(
        "matrix://user:pass@{host}/#room",
        lambda asked: json.loads(asked.body).get("formatted_body") or _json("body")(asked),
        65_000,
        "/_matrix/client/v3/rooms/",
        answers=_matrix,
    ),
    "mattermost": Stand("mmost://{host}/3ccdd1134747", _json("text"), 16_383, "/hooks/"),
    "rocketchat": Stand(
        f"rocket://{'a' * 25}/{'b' * 24}@{{host}}/#general", _json("text"), 5_000, "/hooks/"
    ),
    "gotify": Stand(f"gotify://{{host}}/{SECRET}", _json("message"), 32_768, "/message"),
    "pushover": Stand(
        f"pover://{'u' * 30}@{'a' * 30}",
        _form("message"),
        1_024,
        "/1/",
        NotifyPushover,
        "/1/messages.json",
    ),
    "signal_api": Stand(
        "signal://{host}/+15551234567/+15557654321", _json("message"), 32_768, "/v2/send"
    ),
    "zulip": Stand(
        f"zulip://bot@org/{'a' * 32}/papers",
        _form("content"),
        10_000,
        "/api/v1/",
        NotifyZulip,
        "/api/v1/messages",
    ),
    "workflows": Stand(
        "workflows://{host}/643a03213/abc123?verify=no", _card, 28_000, "/", tls=True
    ),
}


@contextmanager
def standing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, MisbehavingServer, Stand]]:
    """Yield the address of a service, its server, and what is known of it."""
    stand = STANDS[name]
    tls = None
    if stand.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    with misbehaving_server(tls) as web:
        answers = stand.answers or (lambda _: Answer(body=b'{"ok": true, "status": 1}'))
        web.decides("*", answers)
        if stand.patched:
            monkeypatch.setattr(stand.patched, "notify_url", web.url(stand.at))
        yield stand.url.format(host=f"127.0.0.1:{web.port}"), web, stand


def messages(web: MisbehavingServer, stand: Stand) -> list[str]:
    return [stand.text_of(asked) for asked in web.requests if asked.target.startswith(stand.path)]


def test_the_services_tried_here_are_those_that_are_permitted() -> None:
    assert set(STANDS) == service.TRIED and len(STANDS) >= 8


@pytest.mark.parametrize("name", STANDS)
def test_a_digest_is_shared_among_messages_within_the_limit_each_paper_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standing(name, monkeypatch) as (url, web, stand):
        outcomes = send(channel(url), digest(150))
        assert {kind_of(outcome) for outcome in outcomes} == {SENT}
        texts = messages(web, stand)
    assert len(texts) == len(outcomes) and all(len(text) <= stand.most for text in texts)
    for number in range(150):
        link = f"https://papers.example.org/{number}"
        found = sum(
            text.replace("\\", "").count(f"{link}{end}") for text in texts for end in '\n)"\r'
        )
        found += sum(text.rstrip().endswith(link) for text in texts)
        assert found == 1, f"{link} is {found} times there"


@pytest.mark.parametrize("name", STANDS)
@pytest.mark.parametrize("format", ["text", "markdown"])
def test_a_hostile_title_breaks_no_limit_and_mentions_nobody(
    name: str, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles = [HOSTILE, "@everyone <@1> @here **x** [y](https://z.example) `", "<b>&" * 80]
    with standing(name, monkeypatch) as (url, web, stand):
        made = digest([entry(n, title) for n, title in enumerate(titles)])
        outcomes = send(channel(url, format=format), made)
        assert {kind_of(outcome) for outcome in outcomes} == {SENT}
        for text in messages(web, stand):
            assert len(text) <= stand.most
            for mention in ("@everyone", "@here", "<@1>", "<!channel>", "<@U1"):
                assert mention not in text


@pytest.mark.parametrize("name", STANDS)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(400, b"{}"), FAILED),
        (Answer(401, b"{}"), DOWN),
        (Answer(404, b"{}"), DOWN),
        (Answer(410, b"{}"), DOWN),
        (Answer(302, b"{}", headers={"Location": "/elsewhere"}), DOWN),
        (Answer(500, b"{}"), UNKNOWN),
        (Answer(reset=True), UNKNOWN),
    ],
    ids=["400", "401", "404", "410", "302", "500", "reset"],
)
def test_each_answer_has_its_meaning(
    name: str, answer: Answer, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standing(name, monkeypatch) as (url, web, stand):

        def decide(asked: Asked) -> Answer:
            if asked.target.startswith(stand.path):
                return answer
            return stand.answers(asked) if stand.answers else Answer()

        web.decides("*", decide)
        [outcome] = send(channel(url), digest(1))
        assert kind_of(outcome) == kind and outcome.error
        assert not [one for one in web.requests if one.target == "/elsewhere"]
        assert len(messages(web, stand)) <= 1 or answer.status == 500


@pytest.mark.parametrize("name", ["gotify", "matrix", "mattermost", "rocketchat", "signal_api"])
def test_a_service_that_cannot_be_reached_was_sent_nothing(name: str) -> None:
    with closed_port() as port:
        url = STANDS[name].url.format(host=f"127.0.0.1:{port}")
        [outcome] = send(channel(url), digest(1))
    assert kind_of(outcome) == DOWN and "cannot be reached" in outcome.error


# ── the channel ─────────────────────────────────────────────────────────────────────


@pytest.fixture
def gotify(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, MisbehavingServer]]:
    with standing("gotify", monkeypatch) as (url, web, _):
        yield url, web


def test_a_limit_is_kept_where_the_service_takes_more(
    gotify: tuple[str, MisbehavingServer],
) -> None:
    url, web = gotify
    outcomes = send(channel(url, limit="500"), digest(20))
    texts = messages(web, STANDS["gotify"])
    assert len(texts) == len(outcomes) > 3 and all(len(text) <= 500 for text in texts)
    assert json.loads(web.requests[0].body)["title"].endswith(f"(1 of {len(texts)})")


def test_with_at_most_the_others_are_left_to_the_archive(
    gotify: tuple[str, MisbehavingServer],
) -> None:
    url, web = gotify
    made = digest(30)
    page = "https://papers.example.org/digests/ada/2026-11-21"
    made = replace(made, at_most=10, about=replace(made.about, archive_url=page))
    chat = channel(url)
    send(chat, made)
    [text] = messages(web, STANDS["gotify"])
    assert text.count("• ") == 10 and f"20 more papers in the archive: {page}" in text
    assert sum(len(group.entries) for group in chat.left_to_archive(made)) == 20


def test_a_notice_to_the_operator_is_sent(gotify: tuple[str, MisbehavingServer]) -> None:
    url, web = gotify
    chat = channel(url)
    [part] = chat.render_notice(NOTICE, TEMPLATES)
    assert kind_of(chat.send(delivery(part), Commit())) == SENT
    sent = json.loads(web.requests[0].body)
    assert sent["title"] == "arxiv is failing" and "since Tuesday" in sent["message"]


@pytest.mark.parametrize(("form", "is_shown"), [("markdown", True), ("text", False), (None, False)])
def test_gotify_shows_markdown_where_the_format_is_set(
    gotify: tuple[str, MisbehavingServer], form: str | None, is_shown: bool
) -> None:
    url, web = gotify
    send(channel(url, format=form), digest(1))
    sent = json.loads(web.requests[0].body)
    assert ("extras" in sent) == is_shown and ("](https://" in sent["message"]) == is_shown


def test_an_answer_that_does_not_end_holds_up_nothing_but_its_channel(
    gotify: tuple[str, MisbehavingServer],
) -> None:
    url, web = gotify
    door = threading.Event()
    web.answers("/message", body=b"x", hold=door)
    chat = channel(url)
    chat.deadline_seconds = 0.3
    [outcome] = send(chat, digest(1))
    assert kind_of(outcome) == UNKNOWN and "did not answer within 0.3 seconds" in outcome.error
    [outcome] = send(chat, digest(1))
    assert kind_of(outcome) == DOWN and "not ended its answer" in outcome.error
    assert len(web.requests) == 1
    door.set()
    assert chat._unanswered
    chat._unanswered.join()
    web.answers("/message", body=b"{}")
    assert kind_of(*send(chat, digest(1))) == SENT


def test_a_plug_in_that_raises_leaves_the_message_unknown(
    gotify: tuple[str, MisbehavingServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_error(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"broken, with {SECRET}")

    monkeypatch.setattr("apprise.plugins.gotify.NotifyGotify.send", raise_error)
    [outcome] = send(channel(gotify[0]), digest(1))
    assert kind_of(outcome) == UNKNOWN and SECRET not in outcome.error


@pytest.mark.parametrize("status", set(AppriseResultStatus) - {AppriseResultStatus.SUCCESS})
def test_a_result_without_a_clear_refusal_is_unknown(status: AppriseResultStatus) -> None:
    assert kind_of(service.read_result(AppriseResult(status), "Gotify")) == UNKNOWN


def test_no_log_and_no_error_has_a_secret(
    gotify: tuple[str, MisbehavingServer],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, web = gotify
    caplog.set_level(logging.DEBUG)
    log._quieten_libraries()
    lines = list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    chat = channel(url)
    logging.getLogger("monitor").debug("a line of ours")
    errors = [outcome.error for outcome in send(chat, digest(1))]
    web.answers("/message", status=404)
    errors += [outcome.error for outcome in send(chat, digest(1))]
    assert lines == ["a line of ours"] and SECRET not in " ".join(errors)
    assert SECRET not in repr(chat.options) and SECRET not in str(chat.options.model_dump())
    stored = [part.body for part in chat.render(digest(1), TEMPLATES)]
    assert SECRET not in json.dumps(stored)


def test_nothing_is_written_to_disk_and_no_picture_is_named(
    gotify: tuple[str, MisbehavingServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    url, web = gotify
    send(channel(url), digest(1))
    assert list(tmp_path.iterdir()) == [] and b"github" not in web.requests[0].body


# ── settings ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("12345/67890", "as in tgram://BOT_TOKEN/CHAT_ID"),
        ("telegram://12345/67890", "did you mean “tgram”?"),
        ("nothing-like-it://x", "https://appriseit.com lists them"),
        ("tgram://", "https://appriseit.com/services/telegram/"),
        (f"tgram://{BOT}/1/2", "has 2 recipients; write a channel for each"),
        (f"tgram://{BOT}/", "names no chat; write tgram://BOT_TOKEN/CHAT_ID/"),
        (f"gotify://h/{SECRET},gotify://i/{SECRET}", "has 2 addresses; write a channel for each"),
        (f"gotify://h/{SECRET}, tgram://{BOT}/1", "has 2 addresses; write a channel for each"),
        ("https://example.org/x", "for JSON to an address of yours: kind: webhook"),
        ("mailto://ada:secret@example.org", "write kind: email"),
        (
            "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
            "kind: slack",
        ),
        ("json://ada:secret@example.org", "write allow: [custom_json]"),
        (f"gotify://h/{SECRET}?retry=3", "may not have retry="),
        (f"gotify://h/{SECRET}?redirect=yes", "may not have redirect="),
        (f"gotify://h/{SECRET}?optional=yes", "may not have optional="),
        (f"gotify://h/{SECRET}?overflow=split", "may not have overflow="),
        ("file:///etc/passwd", "is never used"),
        ("syslog://", "is never used"),
        ("dbus://", "is never used"),
        ("windows://", "is never used"),
        ("macosx://", "is never used"),
        ("gnome://", "is never used"),
    ],
)
def test_a_wrong_address_is_answered_with_what_to_write(url: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        channel(url)
    message = caught.value.errors()[0]["msg"]
    assert said in message
    for secret in (SECRET, BOT, "secret"):
        assert secret not in message


@pytest.mark.parametrize("name", sorted(service.LOCAL))
def test_what_is_of_this_machine_is_not_permitted_by_allow(name: str) -> None:
    with pytest.raises(ValueError, match="never used"):
        service._permit(name, [name])


def test_a_service_that_was_not_tried_is_used_if_it_is_allowed() -> None:
    assert channel("mailto://ada:secret@example.org", allow="email").service.name == "E-Mail"


def test_a_channel_may_repeat_unless_uncertain_messages_are_held() -> None:
    url = f"gotify://h/{SECRET}"
    assert channel(url).options.may_repeat and channel(url).unknown == "resend"
    held = channel(url, unknown="hold")
    assert not held.options.may_repeat and held.unknown == "hold"


def test_without_the_package_the_command_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "monitor.channels.apprise.service", None)
    with pytest.raises(ValidationError, match=r"pip install 'paper-monitor\[apprise\]'"):
        channel(f"gotify://h/{SECRET}")


def test_mails_of_the_process_are_written_as_without_the_library() -> None:
    assert charset.CHARSETS["utf-8"] == (charset.SHORTEST, charset.BASE64, "utf-8")
