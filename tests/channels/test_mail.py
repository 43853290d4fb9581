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

from monitor.channels.email.channel import Mail, Mailbox, message_id, multipart
from monitor.channels.email.render import ATTACHMENT_LIMIT, ReaderLinks, render_digest
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.digest.render import JinjaTemplates
from monitor.errors import UsageError
from monitor.model import AboutSubscription, Delivery, DeliveryState, Digest, Rendered
from monitor.signing import KeyRing
from tests.channels.samples import HOSTILE, NOTICE, Commit, delivery, digest, entry
from tests.servers.smtp import ScriptedSmtp

TEMPLATES = JinjaTemplates()
SENDER = "Papers <papers@example.org>"


def channel(port: int = 1, sender: str = SENDER) -> Mail:
    server = SmtpServer(SmtpSettings(host="localhost", port=port, tls="none", sender=sender))
    return Mail("email", ("ada@example.org", "lab@example.org"), server)


def rendered(issue: Digest | None = None) -> Rendered:
    [part] = channel().render(issue or digest(), TEMPLATES)
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


def test_E9_the_message_byte_by_byte() -> None:
    """What `multipart` writes is in `test_mime`."""
    part = rendered(digest(1))
    boundary = "=_9bfb787c56930adc83b0fdf17a5c23e5"
    body = part.body
    assert body["subject"] == "1 paper: agents · 21 Nov" and "Paper 0\n" in body["text"]
    head = (
        "From: Papers <papers@example.org>\r\n"
        "To: ada@example.org\r\n"
        "Date: Sat, 21 Nov 2026 08:00:00 +0000\r\n"
        "Message-ID: <0123456789abcdef01234567@example.org>\r\n"
        'List-Id: "ada" <ada.example.org>\r\n'
        "Auto-Submitted: auto-generated\r\n"
        "Feedback-ID: ada:digest:paper-monitor\r\n"
    )
    mime = multipart(body["subject"], body["text"], body["html"], boundary)
    assert raw(part).decode() == head + mime.decode()


def test_every_attempt_has_the_same_bytes_and_every_delivery_a_boundary_of_its_own() -> None:
    part = rendered()
    assert raw(part, attempts=0) == raw(part, attempts=3, state=DeliveryState.HANDING_OFF)
    other = parsed(raw(part, message_id="<other@example.org>"))
    assert other.get_boundary() != parsed(raw(part)).get_boundary()


def test_subjects_are_unique_for_each_digest() -> None:
    issues = {
        "3 papers: agents · 21 Nov": digest(),
        "No new papers · 21 Nov": digest(0),
        "1 paper: agents · 21 Nov 09:00": digest(1, period="2026-11-21T09:30"),
        "3 papers: agents · 21 Nov 09:00": digest(period="17"),
        "3 papers for lab: agents · 21 Nov": replace(
            digest(subscription="lab"), about=AboutSubscription(shares_recipients=True)
        ),
    }
    for subject, issue in issues.items():
        assert parsed(raw(rendered(issue)))["Subject"] == subject


def test_E9_a_notice_names_its_time_and_that_a_program_sent_it() -> None:
    [part] = channel().render_notice(NOTICE, TEMPLATES)
    message = parsed(raw(part))
    assert message["Subject"] == "arxiv is failing (Sat 21 Nov 08:00)"
    assert message["Auto-Submitted"] == "auto-generated"
    assert "since Tuesday" in message.get_body(("plain",)).get_content()
    assert message["List-Id"] != parsed(raw(rendered(digest(subscription="operator"))))["List-Id"]


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_E10_list_ids_are_stable_distinct_and_short(one: str, other: str) -> None:
    fields = [
        header_lines(raw(rendered(digest(subscription=name))))["List-Id"] for name in (one, other)
    ]
    ids = [field[field.rindex("<") :] for field in fields]
    assert all(re.fullmatch(r"<[a-z0-9-]{1,63}\.example\.org>", id) for id in ids)
    assert (ids[0] == ids[1]) == (one == other)
    assert all(len(field) <= 255 and field.isascii() and "=?" not in field for field in fields)


@pytest.mark.parametrize("host", ["x" * 60 + ".example.org", ".".join(["department"] * 20)])
def test_E7_M16_what_machines_read_stands_in_clear_on_one_line(host: str) -> None:
    sender = f"Papers <papers@{host}>"
    minted = message_id("a-token", sender)
    about = AboutSubscription(topics=("agents", "RL"), contact="ops+x@bücher.example")
    part = rendered(replace(digest(subscription="Ädä & co"), about=about))
    content = raw(part, sender=sender, message_id=minted, recipient=f"ada@{host}")
    lines = header_lines(content)
    assert len(minted) <= 60 and max(map(len, content.split(b"\r\n"))) <= 998
    for name in ("Message-ID", "List-Id", "List-Unsubscribe", "Feedback-ID", "To", "From"):
        assert lines[name].isascii() and "=?" not in lines[name] and "\r\n" not in lines[name]
    assert lines["Message-ID"] == minted
    assert re.fullmatch(rf"<d-co-[0-9a-f]{{8}}\.{re.escape(host)}>", lines["List-Id"])
    assert lines["To"] == f"ada@{host}"
    assert lines["List-Unsubscribe"] == (
        "<mailto:ops+x@b%C3%BCcher.example?subject=Unsubscribe%20%C3%84d%C3%A4%20%26%20co>"
    )


@given(st.text())
def test_E12_message_ids_belong_to_the_token_and_the_senders_domain(token: str) -> None:
    token = token.encode("utf-8", "replace").decode()
    minted = message_id(token, SENDER)
    assert minted == message_id(token, SENDER) != message_id(f"{token}.", SENDER)
    assert re.fullmatch(r"<[0-9a-f]{24}@example\.org>", minted)
    assert message_id(token, "").endswith("@localhost>"), "it needs no sender"


def test_M14_hostile_titles_and_names_are_cleaned_and_the_digest_goes_out() -> None:
    issue = replace(digest([entry(1, HOSTILE + "\ud800")]), subscription=HOSTILE)
    with ScriptedSmtp() as mx:
        outcome = channel(mx.port).send(delivery(rendered(issue)), Commit())
        assert outcome.state is DeliveryState.SENT
        [received] = mx.received
    assert received.sender == "papers@example.org"
    lines = header_lines(received.content)
    assert "Bcc" not in lines
    assert set(lines) == {
        "From", "To", "Date", "Message-ID", "List-Id", "Auto-Submitted",
        "Feedback-ID", "Subject", "MIME-Version", "Content-Type",
    }  # fmt: skip
    subject = str(parsed(received.content)["Subject"])
    assert subject == "1 paper: agents · 21 Nov"
    for part in parsed(received.content).iter_parts():
        assert "\x00" not in part.get_content() and "gnp.😀" in part.get_content()


def test_M15_lists_too_long_for_one_attachment_follow_in_numbered_mails() -> None:
    papers = [entry(n, f"Paper {n} {'ü' * 280}") for n in range(900)]
    found = [part.body for part in channel().render(digest(papers), TEMPLATES)]
    assert max(len(body["attachment"]["text"].encode()) for body in found) <= ATTACHMENT_LIMIT
    numbers = [body["subject"].partition("Nov")[2] for body in found]
    assert numbers == ["", " (2 of 3)", " (3 of 3)"]
    assert "part 2 of 3" in found[1]["text"].lower()
    everything = "".join(body["text"] + body["attachment"]["text"] for body in found)
    assert [n for n in range(900) if everything.count(f"Paper {n} ") != 1] == []
    note = "815 more papers are listed in the attached more-papers.txt."
    assert note in found[0]["html"]
    assert not re.search(f"<i[^>]*>{note}", found[0]["html"]), "it is no problem"
    parts = list(parsed(raw(Rendered(1, found[1]))).iter_parts())
    assert [part.get_content_type() for part in parts] == ["text/plain", "text/plain"]
    assert [part.get_filename() for part in parts] == [None, "more-papers.txt"]


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
        assert "MAIL FROM:<papers@example.org> SMTPUTF8 BODY=8BITMIME" in mx.commands


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


def test_a_sender_that_not_every_server_takes_is_refused_at_start() -> None:
    with pytest.raises(UsageError, match=r"smtp\.from"):
        channel(sender="Jörg <jörg@example.org>")


def test_a_senders_name_may_have_any_letters() -> None:
    for name in ("Papers", "Lab, the", "Bücher, neue", "新しい論文のお知らせ"):
        unquoted = () if "," in name else (f"{name} <papers@example.org>",)
        for sender in (*unquoted, f'"{name}" <papers@example.org>'):
            content = raw(sender=sender)
            assert header_lines(content)["From"].isascii()
            [address] = parsed(content)["From"].addresses
            assert (address.display_name, address.addr_spec) == (name, "papers@example.org")


LEFT = "20 more papers in the archive"


def test_papers_beyond_at_most_are_left_to_the_archive_with_a_link_and_their_count() -> None:
    made = replace(digest(50, full=12), titles=40, at_most=30)
    links = ReaderLinks(
        "https://papers.example.org", KeyRing(("a key of 32 letters, long enough",))
    )
    [part] = render_digest(made, TEMPLATES, links)
    body = links.fill(part.body, "ada@example.org")
    assert "attachment" not in body
    view = re.search(r"https://papers.example.org/v/[^\s\"]+", body["text"])
    assert view and f"{LEFT}:\n{view[0]}" in body["text"]
    assert f'<a href="{view[0]}"' in body["html"] and LEFT in body["html"]
    assert [n for n in range(50) if f"Paper {n}\n" in body["text"]] == list(range(30))


def test_without_pages_what_is_beyond_at_most_is_attached_by_title() -> None:
    made = replace(digest(50, full=12), titles=40, at_most=30)
    [part] = render_digest(made, TEMPLATES)
    assert "20 more papers are listed in the attached more-papers.txt." in part.body["text"]
    listed = part.body["attachment"]["text"]
    assert [n for n in range(50) if f"Paper {n}\n" in listed] == list(range(30, 50))
    assert "archive" not in part.body["html"]
