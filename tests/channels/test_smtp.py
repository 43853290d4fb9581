"""The conversation with a mail server, phase by phase."""

import logging
import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from monitor.channels.email.settings import SmtpSettings, Timeouts
from monitor.channels.email.smtp import Letter, SmtpServer
from monitor.model import DeliveryState
from tests.channels.samples import Commit
from tests.patience import PATIENCE
from tests.servers.smtp import (
    Deaf,
    Drop,
    Patient,
    ScriptedSmtp,
    in_thread,
    inbox,
)

LONG = dict.fromkeys(("connect", "greeting", "mail", "rcpt", "data", "block", "final"), PATIENCE)
CONTENT = b"Subject: a digest\r\n\r\n.a line that begins with a dot\r\nthe end\r\n"


def timeouts(**seconds: float) -> Timeouts:
    return Timeouts(**{phase: timedelta(seconds=n) for phase, n in {**LONG, **seconds}.items()})


def server(port: int, *, idle: float = 60, goodbye: float = 1, **options: Any) -> SmtpServer:
    where = {} if "lmtp" in options else {"host": "localhost", "port": port}
    values = {"tls": "none", "sender": "Papers <papers@example.org>", "timeouts": timeouts()}
    settings = SmtpSettings(**where, **{**values, **options})
    return SmtpServer(settings, idle=idle, quit_timeout=timedelta(seconds=goodbye))


def letter(recipient: str = "ada@example.org", **changes: Any) -> Letter:
    return Letter("papers@example.org", recipient, CONTENT, **changes)


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def certificate(authority: trustme.CA, host: str, **options: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host, **options).configure_cert(context)
    return context


def test_a_letter_goes_by_lmtp_to_a_socket(tmp_path: Path) -> None:
    with ScriptedSmtp(path=str(tmp_path / "lmtp")) as smtp:
        lmtp = server(24, lmtp=smtp.path)
        smtp.script["dot"].extend(["250 2.1.5 ada saved", "452 4.2.2 mailbox full"])
        first, second = (lmtp.send(letter(), Commit()) for _ in range(2))
    assert (first.state, second.state) == (DeliveryState.SENT, DeliveryState.RETRY)
    assert "mailbox full" in second.error
    assert not any(command.lower().startswith(("ehlo", "helo")) for command in smtp.commands)


@pytest.mark.parametrize("content", [CONTENT, CONTENT + b".a line\r\n" * 50_000])
def test_a_letter_arrives_unchanged_for_one_recipient(smtp: ScriptedSmtp, content: bytes) -> None:
    outcome = server(smtp.port).send(replace(letter(), content=content), Commit())
    assert outcome.state is DeliveryState.SENT
    assert outcome.reference == "250 2.0.0 queued as 4F3A"
    [received] = smtp.received
    assert (received.sender, received.recipient) == ("papers@example.org", "ada@example.org")
    assert received.content == content


def test_the_hand_off_is_committed_after_the_text_and_before_the_dot(smtp: ScriptedSmtp) -> None:
    dots = []

    def commit() -> bool:
        dots.append(smtp.saw_dot.is_set())
        assert smtp.commands[-1] == "DATA"
        return True

    assert server(smtp.port).send(letter(), commit).state is DeliveryState.SENT
    assert dots == [False]


def test_K10_a_store_that_cannot_record_the_hand_off_stops_the_dot(smtp: ScriptedSmtp) -> None:
    def disk_full() -> bool:
        raise OSError(28, "No space left on device")

    ours = server(smtp.port)
    with pytest.raises(OSError, match="No space left"):
        ours.send(letter(), disk_full)
    assert smtp.hung_up.wait(PATIENCE)
    assert ours.send(letter(), Commit()).state is DeliveryState.SENT
    assert (len(smtp.received), smtp.connections) == (1, 2)


@pytest.mark.parametrize(
    "options, closed_after, gone, connections",
    [
        ({}, None, [], 1),
        ({"per_connection": 2}, None, [], 3),
        ({"idle": 0}, None, [], 5),
        ({}, 3, [], 2),
        ({}, None, ["250 ok", Drop()], 2),
    ],
)
def test_M12_a_connection_serves_several_letters_and_is_renewed_also_where_it_was_closed(
    smtp: ScriptedSmtp, options: Any, closed_after: int | None, gone: Any, connections: int
) -> None:
    smtp.messages_per_connection = closed_after
    smtp.script["mail"] += gone
    ours = server(smtp.port, **options)
    for number in range(5):
        assert ours.send(letter(f"{number}@example.org"), Commit()).state is DeliveryState.SENT
    assert (len(smtp.received), smtp.connections) == (5, connections)


def test_STARTTLS_and_login_with_a_proper_server(authority: trustme.CA, ca_file: Path) -> None:
    def check(mechanism: str, login: bytes, password: bytes) -> bool:
        return (login, password) == (b"papers", "grün".encode())

    with inbox(
        tls_context=certificate(authority, "localhost"),
        require_starttls=True,
        auth_required=True,
        auth_callback=check,
    ) as (port, received):
        secured = {"tls": "starttls", "ca_file": ca_file, "username": "papers"}
        right = server(port, password="grün", **secured)
        assert right.send(letter(), Commit()).state is DeliveryState.SENT
        right.close()
        wrong = server(port, password="rot", **secured)
        assert wrong.send(letter(), Commit()).channel_down
    assert len(received) == 1


def test_implicit_TLS_and_login_by_LOGIN_where_PLAIN_is_not_offered(
    authority: trustme.CA, ca_file: Path
) -> None:
    tls = certificate(authority, "localhost")
    with ScriptedSmtp(("AUTH LOGIN",), tls, implicit_tls=True) as smtp:
        secured = {"tls": "implicit", "ca_file": ca_file}
        ours = server(smtp.port, username="papers", password="secret", **secured)
        assert ours.send(letter(), Commit()).state is DeliveryState.SENT
        assert smtp.commands[1:4] == ["AUTH LOGIN", "cGFwZXJz", "c2VjcmV0"]
        ours.close()


# ── the channel's faults: nobody is marked as failed ────────────────────────────────


@pytest.mark.parametrize("phase", ["rcpt", "dot"])
def test_M05_policy_refusals_for_everyone_open_the_circuit_and_disable_nobody(
    smtp: ScriptedSmtp, phase: str
) -> None:
    smtp.always[phase] = "550 5.7.1 blocked by policy"
    ours = server(smtp.port)
    outcomes = [ours.send(letter(f"{n}@example.org"), Commit()) for n in range(4)]
    assert [o.state for o in outcomes] == [DeliveryState.RETRY] * 4
    assert [o.channel_down for o in outcomes] == [False, False, True, False]


def test_M05_closed_mailboxes_among_open_ones_do_not_open_the_circuit(smtp: ScriptedSmtp) -> None:
    ours = server(smtp.port)
    for number in range(5):
        for _ in range(2):
            smtp.script["rcpt"].append("550 5.7.133 members only")
            outcome = ours.send(letter(f"closed-{number}@example.org"), Commit())
            assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, False)
        assert ours.send(letter("ada@example.org"), Commit()).state is DeliveryState.SENT


def test_M09_no_mail_and_no_password_when_STARTTLS_is_stripped() -> None:
    with ScriptedSmtp(extensions=("AUTH PLAIN LOGIN",)) as smtp:
        ours = server(smtp.port, tls="starttls", username="papers", password="secret")
        outcome = ours.send(letter(), Commit())
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert "no STARTTLS" in outcome.error
    assert [command.split()[0].upper() for command in smtp.commands] == ["EHLO"]


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
@pytest.mark.parametrize(
    "host, days, trusted, reason",
    [
        ("mx.elsewhere.example", 9, True, "ostname mismatch"),
        ("localhost", -1, True, "expired"),
        ("localhost", 9, False, "certificate"),
    ],
)
def test_M09_a_certificate_that_is_not_theirs_is_refused(
    authority: trustme.CA, ca_file: Path, tls: Any, host: str, days: int, trusted: bool, reason: str
) -> None:
    today = datetime.now(UTC)
    valid = {"not_before": today - timedelta(days=9), "not_after": today + timedelta(days=days)}
    context = certificate(authority, host, **valid)
    with ScriptedSmtp(("STARTTLS", "AUTH PLAIN"), context, tls == "implicit") as smtp:
        secured = {"tls": tls, "ca_file": ca_file if trusted else None}
        ours = server(smtp.port, username="papers", password="secret", **secured)
        outcome = ours.send(letter(), Commit())
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert reason in outcome.error
    assert not [command for command in smtp.commands if command.startswith("AUTH")]


def test_M10_a_wrong_password_is_tried_once_and_reported_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    repeated = "535 5.7.8 no: AUTH PLAIN AHBhcGVycwB0b3Atc2VjcmV0 (top-secret)"
    with ScriptedSmtp(("AUTH PLAIN LOGIN CRAM-MD5",), always={"auth": repeated}) as smtp:
        ours = server(smtp.port, username="papers", password="top-secret")
        outcome = ours.send(letter(), Commit())
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert "535 5.7.8" in outcome.error
    assert len([command for command in smtp.commands if command.startswith("AUTH")]) == 1
    for text in (outcome.error, repr(ours), caplog.text):
        assert "top-secret" not in text and "dG9wLXNlY3JldA" not in text
        assert "AHBhcGVycwB0b3Atc2VjcmV0" not in text


# ── the recipient's faults ──────────────────────────────────────────────────────────


# The phases of the conversation, with the time that each is given (E27), and whose fault it is.
BEFORE_THE_DOT = {"greeting": True, "mail": True, "rcpt": False, "data": False}


@pytest.mark.parametrize("phase", BEFORE_THE_DOT)
def test_E27_each_phase_has_a_time_of_its_own(smtp: ScriptedSmtp, phase: str) -> None:
    """The phase that keeps us waiting is over in its time, and the longer ones are not waited."""
    smtp.script[phase].append(Patient(60, "250 late"))
    patient = dict.fromkeys(BEFORE_THE_DOT, 60.0) | {phase: 0.1}
    ours = server(smtp.port, timeouts=timeouts(**patient))
    commit = Commit()
    outcome = in_thread(lambda: ours.send(letter(), commit))()
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, BEFORE_THE_DOT[phase])
    assert commit.calls == 0
    assert "timed out" in outcome.error


def test_E27_E33_a_server_that_stops_reading_the_text_is_tried_again(smtp: ScriptedSmtp) -> None:
    """More than any buffer holds: each piece has its time, and nothing was handed over."""
    smtp.script["data"].append(Deaf("354 go on"))
    long = replace(letter(), content=b"x" * 62 + b"\r\n")
    long = replace(long, content=long.content * 300_000)
    ours = server(smtp.port, timeouts=timeouts(data=60, block=0.1))
    commit = Commit()
    outcome = in_thread(lambda: ours.send(long, commit))()
    assert (outcome.state, outcome.channel_down, commit.calls) == (DeliveryState.RETRY, False, 0)
    assert ours.send(letter(), Commit()).state is DeliveryState.SENT


@pytest.mark.parametrize(
    "phase, reply, state",
    [
        ("rcpt", "450 4.2.0 greylisted", DeliveryState.RETRY),
        ("rcpt", "550 5.1.1 no such user", DeliveryState.FAILED),
        ("rcpt", "299 2.9.9 so be it", DeliveryState.SENT),
        ("rcpt", "251 forwarded", DeliveryState.SENT),
        ("rcpt", "499 never heard", DeliveryState.RETRY),
        ("rcpt", "354 what", DeliveryState.RETRY),
        *((phase, "421 4.3.2 closing", DeliveryState.RETRY) for phase in ("rcpt", "data")),
        *((phase, Drop(), DeliveryState.RETRY) for phase in ("rcpt", "data")),
        ("data", "399 go on", DeliveryState.SENT),
        ("data", "250 what", DeliveryState.RETRY),
        ("data", "499 never heard", DeliveryState.RETRY),
        ("data", "599 never heard", DeliveryState.FAILED),
        ("dot", "299 so be it", DeliveryState.SENT),
        ("dot", "421 4.3.2 closing", DeliveryState.RETRY),
        ("dot", "499 never heard", DeliveryState.RETRY),
        ("dot", "599 never heard", DeliveryState.FAILED),
        ("dot", "199 never heard", DeliveryState.UNKNOWN),
    ],
)
def test_M02_M03_M04_E28_the_first_digit_of_an_answer_counts_for_its_letter_alone(
    smtp: ScriptedSmtp, phase: str, reply: Any, state: DeliveryState
) -> None:
    smtp.script[phase].append(reply)
    ours = server(smtp.port)
    commit = Commit()
    outcome = ours.send(letter(), commit)
    assert (outcome.state, outcome.channel_down) == (state, False)
    if state is not DeliveryState.SENT:
        says = "broke off" if isinstance(reply, Drop) else reply
        assert says in outcome.error and commit.calls == (phase == "dot")
    assert ours.send(letter("lab@example.org"), Commit()).state is DeliveryState.SENT
    if isinstance(reply, Drop) or reply.startswith("421"):
        assert smtp.connections == 2


@pytest.mark.parametrize("phase", ["greeting", "mail", "starttls", "auth"])
@pytest.mark.parametrize("reply", ["421 4.3.2 closing", "451 4.3.0 later", "550 5.7.1 no", Drop()])
def test_M01_E35_a_refusal_before_anybody_is_named_is_the_channels_fault(
    authority: trustme.CA, ca_file: Path, phase: str, reply: Any
) -> None:
    tls = certificate(authority, "localhost")
    with ScriptedSmtp(("STARTTLS", "AUTH PLAIN"), tls, always={phase: reply}) as smtp:
        secured = {"tls": "starttls", "ca_file": ca_file, "username": "u", "password": "secret"}
        outcome = server(smtp.port, **secured).send(letter(), Commit())
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert smtp.received == [] and f"localhost:{smtp.port}" in outcome.error


# ── after the dot ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", [Drop(), "354 what", "nonsense", Patient(60, "250 late")])
def test_M06_connection_dropped_after_the_dot_is_unknown_and_not_tried_again_in_place(
    smtp: ScriptedSmtp, action: Any
) -> None:
    smtp.script["dot"].append(action)
    ours = server(smtp.port, timeouts=timeouts(final=0.5))
    outcome = in_thread(lambda: ours.send(letter(), Commit()))()
    assert (outcome.state, outcome.channel_down) == (DeliveryState.UNKNOWN, False)
    assert smtp.connections == 1 and smtp.commands.count("DATA") == 1
    assert ours.send(letter("lab@example.org"), Commit()).state is DeliveryState.SENT
    assert smtp.connections == 2


def test_M07_a_late_final_answer_is_waited_for_longer_than_the_other_ones(
    smtp: ScriptedSmtp,
) -> None:
    """What was in force before it is the time of a piece of the text."""
    smtp.script["dot"].append(Patient(0.5, "250 2.0.0 at last"))
    ours = server(smtp.port, timeouts=timeouts(block=0.1))
    assert ours.send(letter(), Commit()).state is DeliveryState.SENT


@pytest.mark.parametrize("goodbye", ["421 busy", Drop(), Patient(60, "221 late")])
def test_M08_what_QUIT_answers_changes_nothing(smtp: ScriptedSmtp, goodbye: Any) -> None:
    smtp.always["quit"] = goodbye
    ours = server(smtp.port, goodbye=0.1, per_connection=1)

    def send_twice() -> list[DeliveryState]:
        states = [ours.send(letter(), Commit()).state for _ in range(2)]
        ours.close()
        return states

    assert in_thread(send_twice)() == [DeliveryState.SENT] * 2
    assert len(smtp.received) == 2


def test_many_threads_share_one_connection_one_letter_at_a_time(smtp: ScriptedSmtp) -> None:
    ours = server(smtp.port)
    sending = [
        in_thread(lambda n=n: ours.send(letter(f"{n}@example.org"), Commit())) for n in range(8)
    ]
    assert {wait().state for wait in sending} == {DeliveryState.SENT}
    assert (len(smtp.received), smtp.connections) == (8, 1)
