"""Two digests are refused since the address does not exist: it is stopped, and it shows."""

from __future__ import annotations

import pytest

from monitor.commands import suppressions as wishes
from monitor.commands.status import Action, status
from monitor.model import Suppression
from monitor.store.digests import incidents, suppressions
from tests.house import AGENTS, APART, FOLDING, House
from tests.servers.smtp import ScriptedSmtp

ADA = "ada@example.org"
OPS = "ops@example.org"
NEWS = [(f"{AGENTS[0]} {word}", f"{word}. {AGENTS[1]}") for word in ("Again", "Apart", "Alone")]


@pytest.fixture
def due(house: House, smtp: ScriptedSmtp) -> House:
    """A digest to one address is due, and the operator gets mail."""
    house.by_mail(smtp.port, ADA)
    house.settings["operator"] = {"email": OPS}
    house.make_due()
    return house


def stopped(house: House) -> list[Suppression]:
    return house.read(suppressions.listing, house.clock.now())


def subjects(smtp: ScriptedSmtp, to: str = OPS) -> list[str]:
    return [mail.message["Subject"] for mail in smtp.received if mail.recipient == to]


def refuse(house: House, smtp: ScriptedSmtp, reply: str, *papers: tuple[str, str]) -> None:
    """Let the next digest be due and refused."""
    house.add_next(*papers)
    smtp.script["rcpt"].append(reply)
    house.run()
    house.clock.move(days=1)


def test_M17_an_address_that_does_not_exist_is_stopped_and_the_operator_learns_why(
    due: House, smtp: ScriptedSmtp
) -> None:
    refuse(due, smtp, "550 5.1.1 no such user")
    assert stopped(due) == []
    refuse(due, smtp, "550 5.1.1 no such user", NEWS[0])
    [row] = stopped(due)
    assert (row.recipient, row.subscription, row.how) == (ADA, "", "refused")
    assert row.reason and row.reason.endswith("550 5.1.1 no such user")

    due.run(NEWS[1])
    assert [mail.recipient for mail in smtp.received if mail.recipient == ADA] == []
    assert subjects(smtp) == [
        f"email to {ADA} is refused (Sun 22 Nov 06:00)",
        f"email to {ADA} is stopped: the address does not exist (Mon 23 Nov 06:00)",
    ]
    assert "550 5.1.1 no such user" in smtp.received[-1].text
    with due.opened() as app:
        [problem] = status(app.runtime).problems
        assert problem.text.startswith(f"email to {ADA} has been stopped since")
        assert (problem.action, problem.target) == (Action.RESUME_RECIPIENT, ADA)
        assert wishes.lift(app.runtime, ADA)
    assert (stopped(due), due.problems()) == ([], ())
    due.next_morning(NEWS[2])
    assert len(subjects(smtp, ADA)) == 1


def test_a_full_mailbox_is_never_stopped(due: House, smtp: ScriptedSmtp) -> None:
    for paper in (APART, *NEWS):
        refuse(due, smtp, "552 5.2.2 mailbox full", paper)
    assert stopped(due) == []


def test_other_recipients_of_the_digest_go_on(due: House, smtp: ScriptedSmtp) -> None:
    due.by_mail(smtp.port, ADA, "bob@example.org")
    for paper in NEWS:
        refuse(due, smtp, "550 5.1.1 no such user", paper)
    smtp.script["rcpt"].clear()
    due.run(FOLDING)
    assert [row.recipient for row in stopped(due)] == [ADA]
    assert len(subjects(smtp, "bob@example.org")) == 3


def test_a_removed_address_is_no_problem_any_more(due: House, smtp: ScriptedSmtp) -> None:
    for paper in NEWS[:2]:
        refuse(due, smtp, "550 5.1.1 no such user", paper)
    due.by_mail(smtp.port, "ada@example.com")
    due.run(NEWS[2])
    assert due.problems() == ()
    assert len(subjects(smtp, "ada@example.com")) == 1
    kinds = {one.kind for one in due.read(incidents.open_incidents)}
    assert kinds == set()


def test_the_word_of_a_server_survives_a_crash(
    due: House, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies before it has recorded the second refusal: the next one hears it again."""
    refuse(due, smtp, "550 5.1.1 no such user")

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    due.add_next(NEWS[0])
    smtp.script["rcpt"].append("550 5.1.1 no such user")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(suppressions, "suppress", die)
        due.run()
    assert stopped(due) == []
    smtp.script["rcpt"].append("550 5.1.1 no such user")
    due.run()
    assert [row.how for row in stopped(due)] == ["refused"]
