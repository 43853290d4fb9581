"""What a mail says, byte by byte, and how it goes through the whole channel."""

import email
import email.policy
import re
from dataclasses import replace
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.channels.email.channel import HTML_LIMIT, Mail, Mailbox, message_id
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.retry_policy import Timeouts
from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, Digest, Rendered
from tests.channels.samples import HOSTILE, NOTICE, Commit, PlainTemplates, delivery, digest, entry
from tests.servers.smtp import ScriptedSmtp

SENDER = "Papers <papers@example.org>"


def channel(port: int = 1, sender: str = SENDER) -> Mail:
    server = SmtpServer("localhost", port, tls="none", sender=sender, timeouts=Timeouts(quit=1))
    return Mail("email", ("ada@example.org", "lab@example.org"), server)


def rendered(issue: Digest | None = None, padding: int = 0) -> Rendered:
    [part] = channel().render(issue or digest(), PlainTemplates(padding))
    return part


def raw(part: Rendered | None = None, sender: str = SENDER, **changes: Any) -> bytes:
    sent: Delivery = delivery(part or rendered(), **changes)
    return channel(sender=sender).message(sent, Mailbox.parse(sent.recipient))


def parsed(content: bytes) -> EmailMessage:
    return email.message_from_bytes(content, policy=email.policy.default)


def header_lines(content: bytes) -> dict[str, str]:
    """Header fields as they stand in the bytes: folded ones stay folded."""
    head = content.partition(b"\r\n\r\n")[0].decode()
    fields = re.split(r"\r\n(?![ \t])", head)
    assert len({field.partition(":")[0] for field in fields}) == len(fields), "a field twice"
    return dict(field.split(": ", 1) for field in fields)


# ── the message ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("length", [60, 78, 100, 300])
def test_M16_what_machines_read_stands_in_one_clear_line_however_long(length: int) -> None:
    """`EmailMessage` would fold it, or write it in encoded words, and then it matches nothing."""
    name, host = "n" * length, ".".join(["d" * 50] * min(length // 60 + 1, 4) + ["example"])
    content = raw(
        rendered(digest(subscription=name)),
        sender=f"papers@{host}",
        message_id=f"<{'m' * length}@example.org>",
        recipient=f"ada@{host}",
    )
    lines = header_lines(content)
    assert lines["Message-ID"] == f"<{'m' * length}@example.org>"
    assert lines["To"] == f"ada@{host}"
    assert lines["List-Id"].endswith(f".{host}>")
    for field in ("Message-ID", "To", "List-Id", "From", "Date"):
        assert "=?" not in lines[field] and "\n" not in lines[field]
    assert max(map(len, content.split(b"\r\n"))) <= 998


def test_the_message_byte_by_byte() -> None:
    assert raw(rendered(digest(1))).decode() == (
        "From: Papers <papers@example.org>\r\n"
        "To: ada@example.org\r\n"
        "Date: Sat, 21 Nov 2026 08:00:00 +0000\r\n"
        "Message-ID: <0123456789abcdef01234567@example.org>\r\n"
        "List-Id: <ada.example.org>\r\n"
        "Auto-Submitted: auto-generated\r\n"
        "Subject: ada: 1 paper, 2026-11-21\r\n"
        "MIME-Version: 1.0\r\n"
        "Content-Type: multipart/alternative;\r\n"
        ' boundary="=_9bfb787c56930adc83b0fdf17a5c23e5"\r\n'
        "\r\n"
        "--=_9bfb787c56930adc83b0fdf17a5c23e5\r\n"
        'Content-Type: text/plain; charset="utf-8"\r\n'
        "Content-Transfer-Encoding: 7bit\r\n"
        "\r\n"
        "Paper 0\r\n"
        "412 papers read.\r\n"
        "\r\n"
        "--=_9bfb787c56930adc83b0fdf17a5c23e5\r\n"
        'Content-Type: text/html; charset="utf-8"\r\n'
        "Content-Transfer-Encoding: 7bit\r\n"
        "\r\n"
        "<!doctype html>\r\n"
        "<p>Paper 0</p>\r\n"
        "<p>412 papers read.</p>\r\n"
        "\r\n"
        "--=_9bfb787c56930adc83b0fdf17a5c23e5--\r\n"
    )


def test_every_attempt_has_the_same_bytes_and_every_delivery_a_boundary_of_its_own() -> None:
    part = rendered()
    assert raw(part, attempts=0) == raw(part, attempts=3, state=DeliveryState.HANDING_OFF)
    other = parsed(raw(part, message_id="<other@example.org>"))
    assert other.get_boundary() != parsed(raw(part)).get_boundary()


def test_text_comes_first_and_html_last() -> None:
    kinds = [part.get_content_type() for part in parsed(raw()).iter_parts()]
    assert kinds == ["text/plain", "text/html"]


def test_subjects_are_unique_for_each_digest() -> None:
    issues = {
        "ada: 3 papers, 2026-11-21": digest(),
        "ada: no papers, 2026-11-21": digest(0),
        "lab: 1 paper, 2026-11-21 09:30": digest(1, subscription="lab", period="2026-11-21T09:30"),
        "ada: 3 papers, 2026-11-21 #17": digest(period="17"),
    }
    for subject, issue in issues.items():
        assert parsed(raw(rendered(issue)))["Subject"] == subject


def test_a_notice_names_its_time() -> None:
    [part] = channel().render_notice(NOTICE, PlainTemplates())
    message = parsed(raw(part))
    assert message["Subject"] == "arxiv is failing (2026-11-21 08:00 UTC)"
    assert "since Tuesday" in message.get_body(("plain",)).get_content()
    assert message["List-Id"] != parsed(raw(rendered(digest(subscription="operator"))))["List-Id"]


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_list_ids_are_stable_distinct_and_plain(one: str, other: str) -> None:
    fields = [
        header_lines(raw(rendered(digest(subscription=name))))["List-Id"] for name in (one, other)
    ]
    assert all(re.fullmatch(r"<[a-z0-9-]{1,63}\.example\.org>", field) for field in fields)
    assert (fields[0] == fields[1]) == (one == other)


@pytest.mark.parametrize("host", ["x" * 60 + ".example.org", ".".join(["department"] * 20)])
def test_E7_M16_what_machines_read_stands_in_clear_on_one_line(host: str) -> None:
    sender = f"Papers <papers@{host}>"
    minted = message_id("a-token", sender)
    lines = header_lines(raw(sender=sender, message_id=minted, recipient=f"ada@{host}"))
    assert len(minted) <= 60
    for name in ("Message-ID", "List-Id", "To", "From"):
        assert "=?" not in lines[name] and "\r\n" not in lines[name]
    assert lines["Message-ID"] == minted
    assert lines["List-Id"] == f"<ada.{host}>"
    assert lines["To"] == f"ada@{host}"


@given(st.text())
def test_E12_message_ids_belong_to_the_token_and_the_senders_domain(token: str) -> None:
    token = token.encode("utf-8", "replace").decode()
    minted = message_id(token, SENDER)
    assert minted == message_id(token, SENDER) != message_id(f"{token}.", SENDER)
    assert re.fullmatch(r"<[0-9a-f]{24}@example\.org>", minted)


def test_a_message_id_needs_no_sender() -> None:
    assert message_id("token", "").endswith("@localhost>")


@pytest.mark.parametrize(
    "titles", [["Größe"], ["ein sehr langer Titel über Größe " * 200], ["x" * 5000], ["新しい"]]
)
def test_E23_no_line_is_longer_than_998_octets_and_all_is_seven_bit(titles: list[str]) -> None:
    content = raw(rendered(digest([entry(1, title) for title in titles])))
    assert content.isascii()
    assert max(map(len, content.split(b"\r\n"))) <= 998
    assert re.search(rb"(?<!\r)\n|\r(?!\n)", content) is None
    for part in parsed(content).iter_parts():
        assert all(title in part.get_content() for title in titles)


def test_M14_hostile_titles_and_names_are_cleaned_and_the_digest_goes_out() -> None:
    issue = replace(digest([entry(1, HOSTILE + "\ud800")]), subscription=HOSTILE)
    with ScriptedSmtp() as mx:
        outcome = channel(mx.port).send(delivery(rendered(issue)), Commit())
        assert outcome.state is DeliveryState.SENT
        [received] = mx.received
    lines = header_lines(received.content)
    assert "Bcc" not in lines
    assert set(lines) == {
        "From", "To", "Date", "Message-ID", "List-Id", "Auto-Submitted",
        "Subject", "MIME-Version", "Content-Type",
    }  # fmt: skip
    subject = str(parsed(received.content)["Subject"])
    assert subject.startswith("Re: Bcc: x@y gnp.😀") and len(subject) < 200
    for part in parsed(received.content).iter_parts():
        assert "\x00" not in part.get_content() and "gnp.😀" in part.get_content()


def test_a_line_that_begins_with_a_dot_stays() -> None:
    with ScriptedSmtp() as mx:
        part = rendered(digest([entry(1, "..\n.\n. three dots")]))
        assert channel(mx.port).send(delivery(part), Commit()).state is DeliveryState.SENT
        assert b"\r\n..\r\n.\r\n. three dots\r\n" in mx.received[0].content


# ── size ────────────────────────────────────────────────────────────────────────────


def html_and_text(issue: Digest, padding: int) -> tuple[str, str]:
    body = rendered(issue, padding).body
    assert len(body["html"].encode()) <= HTML_LIMIT
    return body["html"], body["text"]


def test_M15_400_matches_stay_under_80_KB_and_none_is_lost() -> None:
    html, text = html_and_text(digest(400, full=400), padding=2_000)
    assert all(f"Paper {n}" in html and f"Paper {n}" in text for n in range(400))
    assert html.count("x" * 2_000) >= 25
    assert "412 papers read." in html


def test_M15_what_fits_is_left_as_it_is() -> None:
    html, _ = html_and_text(digest(25), padding=2_000)
    assert html.count("x" * 2_000) == 25


def test_M15_when_even_titles_are_too_many_the_best_stay_and_the_rest_are_counted() -> None:
    issue = digest([entry(n, f"Paper {n} {'ü' * 1_000}") for n in range(400)])
    html, text = html_and_text(issue, padding=0)
    shown = [n for n in range(400) if f"Paper {n} " in html]
    assert shown == list(range(len(shown))) and 30 < len(shown) < 400
    assert f"{400 - len(shown)} more papers are in the text part" in html
    assert all(f"Paper {n} " in text for n in range(400))


# ── addresses ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "written, sent",
    [
        ("ada@example.org", "ada@example.org"),
        ("x@bücher.example", "x@xn--bcher-kva.example"),
        ("x@Straße.example", "x@xn--strae-oqa.example"),
        ("ada+papers@EXAMPLE.org", "ada+papers@example.org"),
    ],
)
def test_M13_domains_become_A_labels(written: str, sent: str) -> None:
    assert str(Mailbox.parse(written)) == sent
    with ScriptedSmtp() as mx:
        outcome = channel(mx.port).send(delivery(rendered(), recipient=written), Commit())
        assert outcome.state is DeliveryState.SENT
        assert mx.received[0].recipient == sent
        assert header_lines(mx.received[0].content)["To"] == sent


def test_M13_a_local_part_beyond_ASCII_goes_only_where_SMTPUTF8_is_offered() -> None:
    wanted = delivery(rendered(), recipient="jörg@bücher.example")
    with ScriptedSmtp() as mx:
        outcome = channel(mx.port).send(wanted, Commit())
        assert outcome.state is DeliveryState.FAILED and "SMTPUTF8" in outcome.error
    with ScriptedSmtp(extensions=("SMTPUTF8",)) as mx:
        assert channel(mx.port).send(wanted, Commit()).state is DeliveryState.SENT
        assert mx.received[0].recipient == "jörg@xn--bcher-kva.example"


@pytest.mark.parametrize(
    "address", ["", "ada", "@example.org", "a b@example.org", "a@", "a@exa mple.org",
                "a>\r\nRCPT TO:<b@example.org", "ada@example.org\r\nBcc: b@example.org", "a@.."]
)  # fmt: skip
def test_what_is_no_address_fails_alone_and_reaches_no_server(address: str) -> None:
    with ScriptedSmtp() as mx:
        outcome = channel(mx.port).send(delivery(rendered(), recipient=address), Commit())
        assert (outcome.state, outcome.channel_down) == (DeliveryState.FAILED, False)
        assert outcome.error
        assert mx.connections == 0


@pytest.mark.parametrize("sender", ["", "Papers", "Papers <nobody>", "Jörg <jörg@example.org>"])
def test_a_sender_that_is_no_address_is_refused_at_start(sender: str) -> None:
    with pytest.raises(UsageError, match=r"smtp\.from"):
        channel(sender=sender)


def test_a_senders_name_may_have_any_letters() -> None:
    for name in ("Papers", "Lab, the", "Bücher, neue", "新しい論文のお知らせ"):
        for sender in (f"{name} <papers@example.org>", f'"{name}" <papers@example.org>'):
            content = raw(sender=sender)
            assert header_lines(content)["From"].isascii()
            [address] = parsed(content)["From"].addresses
            assert (address.display_name, address.addr_spec) == (name, "papers@example.org")


# ── the channel ─────────────────────────────────────────────────────────────────────


def test_one_recipient_a_transaction_over_one_connection() -> None:
    with ScriptedSmtp() as mx:
        mail = channel(mx.port)
        for recipient in mail.recipients():
            sent = delivery(rendered(), recipient=recipient)
            assert mail.send(sent, Commit()).state is DeliveryState.SENT
        mail.close()
        assert [received.recipient for received in mx.received] == list(mail.recipients())
        assert mx.connections == 1
        assert mx.commands[-1].upper() == "QUIT"


def test_all_mail_of_one_server_is_one_group_and_nothing_can_be_found_out_later() -> None:
    assert channel().outage_group == "smtp"
    assert channel().reconcile(delivery(rendered(), state=DeliveryState.UNKNOWN)) is None
