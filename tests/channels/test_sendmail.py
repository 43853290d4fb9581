"""Mail handed to a program of this machine: its end is the answer."""

import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.channels.email.sendmail import Sendmail
from monitor.channels.email.settings import SmtpSettings, Timeouts
from monitor.channels.email.smtp import Letter
from monitor.model import DeliveryState
from tests.channels.samples import Commit
from tests.patience import PATIENCE
from tests.servers.sendmail import SendmailProgram

CONTENT = b"Subject: a digest\r\n\r\nabove\r\n.\r\nbelow\r\n"


def letter(recipient: str = "ada@example.org") -> Letter:
    return Letter("papers@example.org", recipient, CONTENT)


def sendmail(program: Path, seconds: float = PATIENCE) -> Sendmail:
    timeouts = Timeouts(final=timedelta(seconds=seconds))
    sender = "Papers <papers@example.org>"
    return Sendmail(SmtpSettings(sendmail=program, sender=sender, timeouts=timeouts))


@pytest.fixture
def mta(tmp_path: Path) -> SendmailProgram:
    return SendmailProgram(tmp_path / "mta")


def test_a_letter_arrives_whole_with_the_envelope_that_it_has(mta: SendmailProgram) -> None:
    commit = Commit()
    outcome = sendmail(mta.path).send(letter(), commit)
    assert (outcome.state, commit.calls) == (DeliveryState.SENT, 1)
    [received] = mta.received
    assert (received.sender, received.recipient) == ("papers@example.org", "ada@example.org")
    assert received.content == CONTENT.replace(b"\r\n", b"\n")


def test_an_address_is_never_an_option_and_the_program_gets_no_secret_of_ours(
    mta: SendmailProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_CLIENT_SECRET", "hush-4711")
    sendmail(mta.path).send(letter("-C/etc/passwd@example.org"), Commit())
    [arguments] = mta.arguments
    assert (arguments[0], arguments[-2:]) == ("-i", ["--", "-C/etc/passwd@example.org"])
    assert "hush-4711" not in mta.environment.values()
    assert mta.environment["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize(
    ("does", "state", "down", "says"),
    [
        ({"status": 65}, DeliveryState.FAILED, False, "status 65"),
        ({"status": 67}, DeliveryState.FAILED, False, "status 67"),
        ({"status": 69}, DeliveryState.RETRY, False, "status 69"),
        ({"status": 75}, DeliveryState.RETRY, False, "status 75"),
        ({"status": 77}, DeliveryState.RETRY, True, "status 77"),
        ({"status": 78}, DeliveryState.RETRY, True, "status 78"),
        ({"status": 127}, DeliveryState.RETRY, True, "status 127"),
        ({"status": 1}, DeliveryState.UNKNOWN, False, "status 1"),
        ({"status": 74}, DeliveryState.UNKNOWN, False, "status 74"),
        ({"signal": signal.SIGKILL}, DeliveryState.UNKNOWN, False, "was ended by signal 9"),
        ({"hangs": True}, DeliveryState.UNKNOWN, False, "did not end within 1 s, and was stopped"),
    ],
)
def test_the_end_of_the_program_is_the_answer(
    mta: SendmailProgram, does: dict[str, Any], state: DeliveryState, down: bool, says: str
) -> None:
    mta.does(says="first\nthe reason of it", **does)
    ours = sendmail(mta.path, seconds=1 if "hangs" in does else PATIENCE)
    outcome = ours.send(letter(), Commit())
    assert (outcome.state, outcome.channel_down) == (state, down)
    assert says in outcome.error
    assert ("the reason of it" in outcome.error) != ("hangs" in does)


MSMTP = """msmtp: recipient address ada@example.org not accepted by the server
msmtp: server message: 550-5.1.1 no such user here,
msmtp: server message: 550 5.1.1 see https://example.org/550
msmtp: could not send mail"""


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (MSMTP, "; ".join(MSMTP.splitlines()[1:3])),
        ("mta: RCPT TO:<a@b.org> (550 5.1.1 no)\n\n", "mta: RCPT TO:<a@b.org> (550 5.1.1 no)"),
        ("msmtp: cannot connect to x, port 587:\nrefused", "refused"),
        ("", ""),
    ],
)
def test_the_reply_of_the_server_is_kept(mta: SendmailProgram, says: str, reason: str) -> None:
    mta.does(65, says=says)
    outcome = sendmail(mta.path).send(letter(), Commit())
    assert outcome.state is DeliveryState.FAILED
    assert outcome.error == (
        f"{mta.path} ended with status 65 (the message or an address was refused) for "
        f"ada@example.org{': ' if reason else ''}{reason}"
    )


def test_a_program_that_is_missing_or_cannot_be_run_takes_nothing(
    mta: SendmailProgram, tmp_path: Path
) -> None:
    commit = Commit()
    mta.path.chmod(0o600)
    for program, problem in ((tmp_path / "gone", "there is no program"), (mta.path, "executable")):
        outcome = sendmail(program).send(letter(), commit)
        assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
        assert problem in outcome.error
        assert problem in sendmail(program).check()
    assert commit.calls == 0
    wrong_format = tmp_path / "text"
    wrong_format.write_text("not a program")
    wrong_format.chmod(0o700)
    outcome = sendmail(wrong_format).send(letter(), commit)
    assert outcome.channel_down and "cannot be run" in outcome.error


def test_what_works_on_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    program = tmp_path / "sendmail"
    program.write_text("#!/bin/sh\ncat >/dev/null\nsleep 600 &\necho $! >" + f"{tmp_path}/pid\n")
    program.chmod(0o700)
    try:
        outcome = sendmail(program).send(letter(), Commit())
        assert outcome.state is DeliveryState.SENT
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
