"""Which refusals say that an address does not exist, in the words of servers."""

from pathlib import Path

import pytest

from monitor.channels.email.unknown_address import says_unknown
from monitor.model import DeliveryState, Outcome
from tests.channels.samples import Commit
from tests.channels.test_sendmail import MSMTP, sendmail
from tests.channels.test_sendmail import letter as mail
from tests.channels.test_smtp import letter, server
from tests.servers.sendmail import SendmailProgram
from tests.servers.smtp import ScriptedSmtp

ADA = "ada@example.org"
PAPERS = "papers@example.org"

UNKNOWN = [
    # Gmail
    "550 5.1.1 The email account that you tried to reach does not exist. Please try\n"
    "5.1.1 double-checking the recipient's email address for typos or\n"
    "5.1.1 unnecessary spaces. For more information, go to\n"
    "5.1.1  https://support.google.com/mail/?p=NoSuchUser 4fb4d7f4-6d8si15 - gsmtp",
    # Exchange, of organisations and online
    "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
    "550 5.1.1 RESOLVER.ADR.RecipNotFound; not found",
    # Postfix, of its own users and of a server behind it
    f"550 5.1.1 <{ADA}>: Recipient address rejected: User unknown in local recipient table",
    f"550 5.1.1 <{ADA}>: Recipient address rejected: undeliverable address: host "
    "mx.example.org[192.0.2.5.1.1] said: 550 5.1.1 User unknown (in reply to RCPT TO command)",
    # sendmail, qmail, Exim, and what has no enhanced code
    f"550 5.1.1 <{ADA}>... User unknown",
    "550 sorry, no mailbox here by that name (#5.1.1)",
    "550 Unknown user",
    "550 No such user here",
    f"550 {ADA}: user not found",
    "550 The mailbox does not exist",
]

NOT_UNKNOWN = [
    "450 4.1.1 user unknown in local recipient table",
    "550 5.2.2 mailbox full",
    "552 5.2.2 The email account that you tried to reach is over quota",
    "550 5.2.1 The email account that you tried to reach is disabled",
    "550 5.7.1 No such user!",
    "550 5.7.1 blocked; the next server said: 550 5.1.1 user unknown",
    "550 5.1.1 refused by policy (#5.7.1)",
    "550 5.1.8 Bad sender's mailbox address: user unknown",
    "550 5.4.1 Recipient address rejected: Access denied",
    "554 5.7.1 Relay access denied",
    "550 5.5.0 Requested action not taken: mailbox unavailable",
    "550 Requested action not taken: mailbox unavailable",
    "550 too many unknown users from your address",
    "554 user unknown",
    "551 User not local; please try <eve@example.org>",
    "550 Unrouteable address",
    "550 blocked by 5.1.1.4",
    # Exim looks up the sender when the recipient is named.
    f"550-Verification failed for <{PAPERS}>\n550-Response: 550 5.1.1 user unknown\n"
    "550 Sender verify failed",
    f"550 callout to {PAPERS}: no such user",
]


def says(reply: str, *, to_recipient: bool = True) -> bool:
    code = int(reply[:3])
    text = reply[4:]
    return says_unknown(code, text, PAPERS, ADA, to_recipient=to_recipient)


@pytest.mark.parametrize("reply", UNKNOWN)
def test_M17_an_address_that_does_not_exist_is_known_by_the_servers_words(reply: str) -> None:
    assert says(reply)


@pytest.mark.parametrize("reply", NOT_UNKNOWN)
def test_M17_other_refusals_say_nothing_about_the_address(reply: str) -> None:
    assert not says(reply)


def test_the_words_of_the_address_itself_say_nothing() -> None:
    reply = "550 sender.unknown.user@example.org is over quota"
    assert not says_unknown(
        550, reply[4:], PAPERS, "sender.unknown.user@example.org", to_recipient=True
    )


def test_after_the_text_only_an_enhanced_code_is_about_the_address() -> None:
    assert says(UNKNOWN[1], to_recipient=False)
    assert not says("550 user unknown", to_recipient=False)
    assert not says("550 5.6.0 message refused", to_recipient=False)


@pytest.mark.parametrize(
    ("phase", "reply", "refused"),
    [
        ("rcpt", "550 5.1.1 user unknown", True),
        ("rcpt", "550 user unknown", True),
        ("rcpt", "550 5.2.2 full", False),
        ("data", "554 5.5.1 no valid recipients, user unknown", False),
        ("data", "550 user unknown", False),
        ("dot", "550 5.1.10 RecipientNotFound", True),
        ("dot", "550 user unknown", False),
        ("dot", "554 5.6.0 no", False),
    ],
)
def test_M17_by_SMTP_the_phase_says_what_a_refusal_is_about(
    smtp: ScriptedSmtp, phase: str, reply: str, refused: bool
) -> None:
    smtp.script[phase].append(reply)
    ours = server(smtp.port)
    outcome = ours.send(letter(), Commit())
    assert (outcome.state, outcome.address_refused) == (DeliveryState.FAILED, refused)
    bob = ours.send(letter("bob@example.org"), Commit())
    assert (bob.state, bob.address_refused) == (DeliveryState.SENT, False)


def test_M17_a_refused_sender_is_no_refused_address(smtp: ScriptedSmtp) -> None:
    smtp.always["mail"] = "550 5.1.1 user unknown"
    outcome = server(smtp.port).send(letter(), Commit())
    assert (outcome.channel_down, outcome.address_refused) == (True, False)


@pytest.mark.parametrize("phase", ["rcpt", "dot"])
def test_M17_by_LMTP_the_reply_after_the_text_is_the_recipients(tmp_path: Path, phase: str) -> None:
    with ScriptedSmtp(path=str(tmp_path / "lmtp")) as smtp:
        smtp.script[phase] += ["550 user unknown", "552 5.2.2 mailbox full"]
        ours = server(24, lmtp=smtp.path)
        first, second = (ours.send(letter(), Commit()) for _ in range(2))
    assert (first.state, first.address_refused) == (DeliveryState.FAILED, True)
    assert (second.state, second.address_refused) == (DeliveryState.FAILED, False)


@pytest.mark.parametrize(
    ("status", "written", "refused"),
    [
        (67, "", True),
        (67, "ada: no such person", True),
        (67, "mta: 550 5.1.1 user unknown", True),
        (67, "mta: 550 5.2.2 mailbox full", False),
        (65, MSMTP, True),
        (65, MSMTP.replace("5.1.1", "5.7.1"), False),
        (65, "mta: RCPT TO:<ada@example.org> (550 5.1.1 no)", True),
        (65, MSMTP.replace("recipient address ada", "envelope from address papers"), False),
        (65, "msmtp: the server did not accept the mail\nserver message: 550 5.1.1 no", False),
        (65, "", False),
        (75, "mta: 550 5.1.1 user unknown", False),
        (0, "mta: 550 5.1.1 user unknown", False),
    ],
)
def test_M17_a_program_says_it_by_its_status_or_with_the_servers_reply(
    tmp_path: Path, status: int, written: str, refused: bool
) -> None:
    program = SendmailProgram(tmp_path / "mta")
    program.does(status, says=written)
    outcome: Outcome = sendmail(program.path).send(mail(), Commit())
    assert outcome.address_refused is refused
