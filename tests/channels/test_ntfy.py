"""Notifications by ntfy, against a server that enforces its limits."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.channels import ntfy, short
from monitor.channels.base import Shared, open_channel
from monitor.channels.ntfy import MESSAGE_BYTES, Ntfy, NtfyOptions
from monitor.digest.layout import byte_count
from monitor.digest.render import JinjaTemplates
from monitor.model import Delivery, DeliveryState, Digest, Outcome, Rendered
from monitor.setting_types import SettingsContext
from tests.channels.samples import HOSTILE, NOTICE, Commit, delivery, digest, entry
from tests.servers.ntfy import TOKEN, TOPIC, Fault, NtfyServer, refusal
from tests.servers.smtp import closed_port
from tests.servers.web import misbehaving_server

TEMPLATES = JinjaTemplates()
PAGE = "https://papers.example.org/digests/ada/2026-11-21"
SENT = (DeliveryState.SENT, False)
UNKNOWN = (DeliveryState.UNKNOWN, False)
FAILED = (DeliveryState.FAILED, False)
DOWN = (DeliveryState.RETRY, True)
AGAIN = (DeliveryState.RETRY, False)


@pytest.fixture
def server() -> Iterator[NtfyServer]:
    with NtfyServer() as running:
        yield running


def channel(url: str, **settings: Any) -> Ntfy:
    raw = {"url": url, "topic": TOPIC, "token": TOKEN, "allow_private": True, **settings}
    options = NtfyOptions.model_validate(raw, context=SettingsContext(Path()))
    opened = open_channel(Ntfy, "phone", options, Shared(TEMPLATES))
    assert isinstance(opened, Ntfy)
    return opened


def planned(part: Rendered, **changes: Any) -> Delivery:
    values = {"channel": "phone", "recipient": "phone", "message_id": f"<a1b2c{part.part}@x>"}
    return delivery(part, **{**values, **changes})


def send(phone: Ntfy, made: Digest | None = None) -> list[Outcome]:
    parts = phone.render(made or digest(), TEMPLATES)
    return [phone.send(planned(part), Commit()) for part in parts]


def in_archive(made: Digest, **changes: Any) -> Digest:
    return replace(made, about=replace(made.about, archive_url=PAGE), **changes)


def kind_of(outcome: Outcome) -> tuple[DeliveryState, bool]:
    return outcome.state, outcome.channel_down


# ── what is published ───────────────────────────────────────────────────────────────


def test_a_digest_is_one_notification_with_its_subject_as_title(server: NtfyServer) -> None:
    made = digest([entry(1, "Пути 深層学習 agents"), entry(2)])
    assert send(channel(server.url), made)[0].state is DeliveryState.SENT
    [message] = server.published
    assert message["title"].startswith("2 papers: agents")
    assert "• Пути 深層学習 agents\nA. Author" in message["message"]
    assert "\nhttps://papers.example.org/1\n" in message["message"]
    assert (message["topic"], message["priority"]) == (TOPIC, 3)
    assert "click" not in message and "markdown" not in message
    [asked] = server.asked
    assert asked.headers["content-type"] == "application/json"
    assert TOPIC not in asked.target


def test_a_second_hand_off_replaces_the_first_notification(server: NtfyServer) -> None:
    phone = channel(server.url)
    [part] = phone.render(digest(), TEMPLATES)
    for _ in range(2):
        assert phone.send(planned(part), Commit()).state is DeliveryState.SENT
    assert len(server.published) == 2 and len(server.shown) == 1
    assert server.shown[0]["sequence_id"] == "a1b2c0"
    assert phone.unknown == "resend"


def test_topic_and_token_are_not_stored_with_the_message() -> None:
    stored = [part.body for part in channel("http://127.0.0.1:9").render(digest(), TEMPLATES)]
    assert TOPIC not in json.dumps(stored) and TOKEN not in json.dumps(stored)


def test_priorities_are_those_of_digests_and_of_messages_to_the_operator(
    server: NtfyServer,
) -> None:
    phone = channel(server.url, priority="1", alert_priority="urgent")
    send(phone)
    [part] = phone.render_notice(replace(NOTICE, url=PAGE), TEMPLATES)
    assert phone.send(planned(part), Commit()).state is DeliveryState.SENT
    of_digest, of_notice = server.published
    assert (of_digest["priority"], of_notice["priority"]) == (1, 5)
    assert of_notice["title"] == "arxiv is failing" and of_notice["tags"] == ["warning"]
    assert "It has failed since Tuesday." in of_notice["message"]
    assert of_notice["click"] == PAGE


def test_with_a_page_in_the_archive_a_long_digest_is_cut_between_papers(server: NtfyServer) -> None:
    made = in_archive(digest(400))
    phone = channel(server.url)
    assert kind_of(*send(phone, made)) == SENT
    [message] = server.published
    listed = message["message"].count("• ")
    assert 20 < listed < 400 and message["click"] == PAGE
    assert f"{400 - listed} more papers in the archive: {PAGE}" in message["message"]
    assert message["title"].startswith("400 papers")
    assert byte_count(message["message"]) <= MESSAGE_BYTES
    rest = phone.left_to_archive(made)
    assert sum(len(group.entries) for group in rest) == 400 - listed
    # One more would not have fitted.
    one_more = short.render_digest(
        short.show_at_most(made, listed + 1), TEMPLATES, "txt", ntfy.LIMITS
    )
    assert len(one_more) == 2


def test_at_most_is_kept_where_more_would_fit(server: NtfyServer) -> None:
    made = in_archive(digest(12), at_most=5)
    phone = channel(server.url)
    send(phone, made)
    [message] = server.published
    assert message["message"].count("• ") == 5
    assert "7 more papers in the archive" in message["message"]
    assert sum(len(group.entries) for group in phone.left_to_archive(made)) == 7


def test_a_digest_that_fits_leaves_nothing_to_the_archive(server: NtfyServer) -> None:
    made = in_archive(digest(3))
    phone = channel(server.url)
    send(phone, made)
    assert "archive" not in server.published[0]["message"]
    assert phone.left_to_archive(made) == ()


def test_without_an_archive_further_notifications_have_all_papers(server: NtfyServer) -> None:
    made = digest(120)
    phone = channel(server.url)
    outcomes = send(phone, made)
    assert {kind_of(outcome) for outcome in outcomes} == {SENT} and len(outcomes) > 2
    texts = [message["message"] for message in server.published]
    assert all(byte_count(text) <= MESSAGE_BYTES for text in texts)
    for number in range(120):
        assert sum(f"/{number}\n" in f"{text}\n" for text in texts) == 1, "each once, and whole"
    assert server.published[0]["title"].endswith(f"(1 of {len(texts)})")
    assert len({message["sequence_id"] for message in server.published}) == len(texts)
    assert phone.left_to_archive(made) == ()


@pytest.mark.parametrize(
    "title", [HOSTILE, '"\\' * 150, "深" * 300, "\U0001f600" * 300, "\ud800", "\x00\x1f" * 150]
)
@pytest.mark.parametrize("page", ["", PAGE])
def test_no_title_breaks_the_limit_of_a_message_or_document(
    server: NtfyServer, title: str, page: str
) -> None:
    made = digest([entry(number, title) for number in range(40)])
    made = replace(made, about=replace(made.about, archive_url=page, title=title[:100]))
    assert {kind_of(outcome) for outcome in send(channel(server.url), made)} == {SENT}


def test_a_message_that_a_server_finds_too_long_is_replaced_by_two(server: NtfyServer) -> None:
    server.most_bytes = 1_000
    phone = channel(server.url)
    waiting = [planned(part) for part in phone.render(digest(20), TEMPLATES)]
    while waiting:
        outcome = phone.send(waiting[0], Commit())
        first = waiting.pop(0)
        if outcome.split:
            assert outcome.state is DeliveryState.RETRY and "two follow" in outcome.error
            waiting += [
                replace(
                    first, message_id=f"<{n}{len(waiting)}{first.message_id[1:]}", rendered=part
                )
                for n, part in enumerate(Rendered(n, body) for n, body in enumerate(outcome.split))
            ]
        else:
            assert outcome.state is DeliveryState.SENT, outcome.error
    text = "\n".join(message["message"] for message in server.shown)
    assert [n for n in range(20) if text.count(f"/{n}\n") + text.endswith(f"/{n}") != 1] == []


def test_a_single_line_that_is_too_long_fails(server: NtfyServer) -> None:
    server.most_bytes = 20
    [part] = channel(server.url).render(digest(1), TEMPLATES)
    body = {**part.body, "message": "one line that is longer than that"}
    outcome = channel(server.url).send(planned(replace(part, body=body)), Commit())
    assert kind_of(outcome) == FAILED and "too large" in outcome.error


# ── what is answered ────────────────────────────────────────────────────────────────


def answer(code: int, status: int | None = None) -> Fault:
    made = refusal(status or code // 100, code, "said by ntfy")
    return Fault(made.status, made.body)


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (answer(40101), DOWN, "a token that may write to this topic"),
        (answer(40301), DOWN, "a token that may write to this topic"),
        (answer(40401), DOWN, "answered 404"),
        (answer(50701), DOWN, "choose another topic"),
        (answer(40009), FAILED, "said by ntfy"),
        (answer(42901), AGAIN, "said by ntfy"),
        (answer(50001), UNKNOWN, "answered 500"),
        (Fault(410), DOWN, "permanently gone"),
        (Fault(302, headers={"Location": "https://elsewhere.example.org/"}), DOWN, "redirects"),
        (Fault(503, b"<html>", kept=True), UNKNOWN, "answered 503"),
        (Fault(200, b"<html>Log in to the network"), UNKNOWN, "not as ntfy does"),
        (Fault(200, b"[]"), UNKNOWN, "not as ntfy does"),
        (Fault(200, b"ok" * 100_000), UNKNOWN, "not as ntfy does"),
        (Fault(reset=True, kept=True), UNKNOWN, "did not answer"),
    ],
)
def test_each_answer_has_its_meaning(
    server: NtfyServer, fault: Fault, kind: Any, said: str
) -> None:
    server.faults.append(fault)
    [outcome] = send(channel(server.url))
    assert kind_of(outcome) == kind and said in outcome.error
    assert TOPIC not in outcome.error and TOKEN not in outcome.error
    assert len(server.asked) == 1


def test_a_slow_server_is_left_at_the_deadline(server: NtfyServer) -> None:
    phone = channel(server.url)
    phone.deadline = timedelta(seconds=0.2)
    server.faults.append(Fault(kept=True, hang=True))
    [outcome] = send(phone)
    assert kind_of(outcome) == UNKNOWN and "no answer in time" in outcome.error


def test_the_limit_of_a_day_is_waited_for_as_we_wait_else(server: NtfyServer) -> None:
    server.faults.extend([answer(42908, 429), answer(42901)])
    phone = channel(server.url)
    assert send(phone)[0].retry_after is None
    assert send(phone)[0].retry_after == timedelta(seconds=30)


def test_what_a_server_repeats_of_the_topic_is_masked(server: NtfyServer) -> None:
    server.faults.append(Fault(400, f"no topic {TOPIC}, token {TOKEN}".encode()))
    [outcome] = send(channel(server.url))
    assert "no topic ********, token ********" in outcome.error


def test_no_log_has_topic_or_token(server: NtfyServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    send(channel(server.url))
    assert TOKEN not in caplog.text and TOPIC not in caplog.text


def test_without_a_token_none_is_sent(server: NtfyServer) -> None:
    assert kind_of(*send(channel(server.url, topic="open", token=None))) == SENT
    assert "authorization" not in server.asked[0].headers


def test_check_finds_a_server_that_is_down_or_is_no_ntfy(server: NtfyServer) -> None:
    assert channel(server.url).check() == ""
    with closed_port() as port:
        assert "cannot be reached" in channel(f"http://127.0.0.1:{port}").check()
    with misbehaving_server() as web:
        web.answers("/v1/health", body=b"<html>")
        assert "not as a server of ntfy" in channel(web.url("")).check()
    assert server.published == []


def test_a_server_in_a_private_network_needs_a_permission() -> None:
    [outcome] = send(channel("https://127.0.0.1:8443", allow_private=False))
    assert kind_of(outcome) == DOWN and "allow_private: true" in outcome.error
