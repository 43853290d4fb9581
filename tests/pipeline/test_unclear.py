"""Handed off without a clear end: not composed again, one further hand-off, and never unlisted."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from monitor.channels.base import Channel, ChannelOptions
from monitor.channels.retry_policy import AfterUnknown
from monitor.model import Delivery, DeliveryState, Digest, Outcome, Rendered, Templates
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline.compose import compose
from monitor.pipeline.deliver import deliver, deliver_group
from monitor.pipeline.settle_deliveries import settle_by_hand
from monitor.store.digests import deliveries, incidents
from monitor.store.digests import incidents as stored_incidents
from tests.house import AGENTS, APART, House
from tests.patience import PATIENCE, wait
from tests.servers.smtp import Drop, Hold, Kept, ScriptedSmtp


def ids(smtp: ScriptedSmtp) -> Counter[str]:
    """How many copies arrived of each mail."""
    return Counter(
        line.decode()
        for mail in smtp.received
        for line in mail.content.splitlines()
        if line.startswith(b"Message-ID:")
    )


class Silent(Channel):
    """A channel whose server takes each message and never answers."""

    kind = "silent"
    Options = ChannelOptions
    sent = 0

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        return (Rendered(0, {}),)

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        assert commit_handoff()
        self.sent += 1
        return Outcome(DeliveryState.UNKNOWN, "no answer", channel_down=True)


def test_what_may_have_arrived_is_unknown_also_where_the_channel_is_said_to_be_down(
    house: House,
) -> None:
    house.add("1.txt", AGENTS)
    house.run()
    house.add("2.txt", APART)
    house.clock.move(days=1)
    with house.opened() as app:
        silent = Silent("pages", ChannelOptions(), app.runtime.templates)
        runtime = replace(app.runtime, channels={"pages": silent})
        app.once.ingest()
        compose(runtime, early=True)
        for _ in range(3):
            deliver(runtime, ignore_backoff=True)
    assert silent.sent == 1
    assert house.states() == [DeliveryState.UNKNOWN]


@pytest.mark.parametrize(("unknown", "sent"), [("hold", 1), ("resend", 2)])
def test_a_channel_hands_off_once_more_or_holds_as_its_setting_says(
    house: House, unknown: AfterUnknown, sent: int
) -> None:
    house.make_due(AGENTS)
    with house.opened() as app:
        silent = Silent("pages", ChannelOptions(), app.runtime.templates)
        silent.unknown = unknown
        runtime = replace(app.runtime, channels={"pages": silent})
        app.once.ingest()
        compose(runtime)
        for _ in range(4):
            deliver(runtime, ignore_backoff=True)
            house.clock.move(minutes=20)
    assert silent.sent == sent, "never a third time"
    assert house.states() == [DeliveryState.UNKNOWN]


def outbox(house: House) -> list[Delivery]:
    return house.read(deliveries.listing)[::-1]


def next_digest_has_its_own_paper(due: House, smtp: ScriptedSmtp) -> None:
    """Let another paper come in, then let the server take both digests."""
    due.add("b.txt", APART)
    assert due.next_morning() == {"lab": 1}
    smtp.always.clear()
    due.run_after(hours=1, minutes=30)
    assert due.states() == [DeliveryState.SENT, DeliveryState.SENT]


@pytest.mark.parametrize("schedule", ["daily 08:00", "immediately"])
def test_a_digest_that_may_have_arrived_is_not_composed_again_at_any_slot(
    due: House, smtp: ScriptedSmtp, schedule: str
):
    """Greylisted for days after a mail that the server kept and did not answer."""
    due.settings["subscriptions"]["lab"]["schedule"] = schedule
    smtp.script["dot"].append(Kept())
    due.run()
    smtp.always["rcpt"] = "450 4.2.0 greylisted"
    due.run_after(minutes=20)
    assert due.states() == [DeliveryState.RETRY]
    [problem] = due.problems()
    assert "delivery 1 (" in problem and "sent again automatically" in problem
    next_digest_has_its_own_paper(due, smtp)
    assert sorted(ids(smtp).values()) == [1, 2]
    assert smtp.received[0] in smtp.received[1:], "the copy has the same bytes"
    assert due.problems() == ()


def test_it_is_given_up_so_long_after_its_first_hand_off_and_stays_unknown(
    due: House, smtp: ScriptedSmtp
):
    smtp.script["dot"].append(Drop())
    due.run()
    smtp.always["rcpt"] = "450 4.2.0 greylisted"
    for _ in range(22):
        due.run_after(hours=2)
    assert outbox(due)[0].state is DeliveryState.RETRY
    for _ in range(2):
        due.run_after(hours=2)
    assert outbox(due)[0].state is DeliveryState.UNKNOWN
    smtp.always.clear()
    for _ in range(3):
        due.next_morning()
    assert outbox(due)[0].state is DeliveryState.UNKNOWN
    assert smtp.received == []
    [problem] = due.problems()
    assert "delivery 1 (" in problem and "resolve 1 sent|resend`" in problem
    with due.opened() as app:
        settle_by_hand(app.runtime, 1, "resend")
        app.once.deliver()
    assert outbox(due)[0].state is DeliveryState.SENT
    assert due.problems() == ()


def test_the_time_in_which_the_line_is_down_does_not_count(due: House, smtp: ScriptedSmtp):
    smtp.script["dot"].append(Drop())
    due.run()
    smtp.always["greeting"] = "421 4.3.2 shutting down"
    for _ in range(5):
        due.next_morning()
    assert outbox(due)[0].state is DeliveryState.RETRY
    smtp.always.clear()
    due.run_after(hours=2)
    assert due.states() == [DeliveryState.SENT]
    assert len(smtp.received) == 1


def test_after_a_time_with_no_process_it_is_not_handed_off_too_late(due: House, smtp: ScriptedSmtp):
    smtp.script["dot"].append(Drop())
    due.run()
    smtp.script["rcpt"].append("450 4.2.0 greylisted")
    due.run_after(minutes=20)
    due.run_after(days=3)
    assert due.states() == [DeliveryState.UNKNOWN]
    assert smtp.received == []


@pytest.mark.parametrize("phase", ["rcpt", "dot"])
def test_a_second_hand_off_that_is_refused_for_good_says_nothing_of_the_first(
    due: House, smtp: ScriptedSmtp, phase: str
):
    smtp.script["dot"].append(Kept())
    due.run()
    smtp.always[phase] = "550 5.1.1 no such user"
    due.run_after(minutes=20)
    assert due.states() == [DeliveryState.UNKNOWN]
    assert "550 5.1.1" in outbox(due)[0].error
    smtp.always.clear()
    due.add("b.txt", APART)
    for _ in range(3):
        due.next_morning()
    assert outbox(due)[0].state is DeliveryState.UNKNOWN
    assert sorted(ids(smtp).values()) == [1, 1]
    assert "delivery 1 (" in due.problems()[0]


def test_a_refusal_for_now_after_the_dot_does_not_use_the_further_hand_off_up(
    due: House, smtp: ScriptedSmtp
):
    smtp.script["dot"] += [Kept(), "451 4.7.1 greylisted", "451 4.7.1 greylisted"]
    for _ in range(12):
        due.run()
        due.clock.move(minutes=30)
    assert due.states() == [DeliveryState.SENT]
    assert list(ids(smtp).values()) == [2]


def test_on_hold_what_a_person_has_sent_again_is_not_composed_again(due: House, smtp: ScriptedSmtp):
    due.settings["smtp"]["unknown"] = "hold"
    smtp.script["dot"].append(Drop())
    due.run()
    with due.opened() as app:
        settle_by_hand(app.runtime, 1, "resend")
    smtp.always["rcpt"] = "450 4.2.0 greylisted"
    due.run()
    next_digest_has_its_own_paper(due, smtp)
    assert sorted(ids(smtp).values()) == [1, 1]


def test_of_two_readers_only_the_one_who_may_lack_it_gets_it_again(due: House, smtp: ScriptedSmtp):
    due.by_mail(smtp.port, "ada@example.org", "grace@example.org")
    smtp.script["dot"] += [Kept(), Kept()]
    smtp.script["rcpt"] += ["250 ok", "250 ok", "450 4.2.0 later", "250 ok"]
    due.run()
    due.run_after(minutes=20)
    due.add("b.txt", APART)
    due.next_morning()
    assert set(due.states()) == {DeliveryState.SENT}
    assert Counter(mail.recipient for mail in smtp.received) == {
        "ada@example.org": 3,
        "grace@example.org": 3,
    }
    assert sorted(ids(smtp).values()) == [1, 1, 2, 2]


def test_who_is_taken_out_of_the_configuration_gets_no_second_copy(due: House, smtp: ScriptedSmtp):
    smtp.script["dot"].append(Kept())
    due.run()
    due.settings["subscriptions"]["lab"]["email"] = ["grace@example.org"]
    due.run_after(minutes=20)
    assert due.states() == [DeliveryState.UNKNOWN]
    assert [mail.recipient for mail in smtp.received] == ["ada@example.org"]
    due.settings["subscriptions"]["lab"]["email"] = ["ada@example.org"]
    due.run_after(minutes=20)
    assert due.states() == [DeliveryState.SENT]
    assert list(ids(smtp).values()) == [2]


# ── a server that takes mail and does not answer ────────────────────────────────────

PEOPLE = [f"reader{number}@example.org" for number in range(12)]


def line(house: House) -> tuple[int, list[tuple[str, str, int]]]:
    """The unclear ends in a row, and the open incidents of the mail server."""
    with house.opened() as app, app.runtime.database.reading() as tx:
        found = [
            one
            for one in stored_incidents.open_incidents(tx)
            if one.subject == Subject(SubjectKind.OUTAGE_GROUP, "smtp")
        ]
        return incidents.unclear(tx, "smtp"), [(one.kind, one.error, one.tries) for one in found]


def handed_off(smtp: ScriptedSmtp) -> int:
    return smtp.commands.count("DATA")


@pytest.fixture
def crowd(due: House, smtp: ScriptedSmtp) -> House:
    due.by_mail(smtp.port, *PEOPLE)
    due.settings["operator"] = {"email": "ops@example.org"}
    return due


def test_after_three_unclear_ends_in_a_row_the_line_rests(crowd: House, smtp: ScriptedSmtp):
    smtp.always["dot"] = Kept()
    crowd.run()
    assert handed_off(smtp) == 3
    count, [(kind, error, tries)] = line(crowd)
    assert (count, kind, tries) == (3, IncidentKind.DOWN, 1)
    assert "the last 3 messages handed over had no clear answer" in error
    assert any(problem.startswith("smtp has been down") for problem in crowd.problems())
    crowd.clock.move(minutes=4)
    with crowd.opened() as app:
        app.once.digest(ignore_backoff=False)
    assert handed_off(smtp) == 3, "it rests"


def test_a_line_that_rests_is_tried_with_one_mail_ever_more_rarely(
    crowd: House, smtp: ScriptedSmtp
):
    crowd.settings["smtp"]["connections"] = 4
    smtp.always["dot"] = Kept()
    with crowd.opened() as app:
        app.once.digest(ignore_backoff=False)
    begun = handed_off(smtp)
    assert begun <= 3 + 3, "what was under way, and no more"
    tried = []
    with crowd.opened() as app:
        for minute in range(80):
            crowd.clock.move(minutes=1)
            before = handed_off(smtp)
            deliver_group(app.runtime, "smtp")
            tried += [minute + 1] * (handed_off(smtp) - before)
    assert tried == [5, 15, 35, 75]
    assert max(ids(smtp).values()) <= 2


def test_a_success_ends_it_and_all_get_their_mail_in_the_same_round(
    crowd: House, smtp: ScriptedSmtp
):
    smtp.always["dot"] = Kept()
    crowd.run()
    smtp.always.clear()
    crowd.run_after(minutes=20)
    assert line(crowd) == (0, [])
    got = Counter(mail.recipient for mail in smtp.received if mail.recipient in PEOPLE)
    assert sorted(got.values()) == [1] * 9 + [2] * 3
    assert crowd.problems() == ()
    result = [mail.content for mail in smtp.received if mail.recipient == "ops@example.org"]
    assert sum(b"Subject: Nothing can be sent by mail" in one for one in result) <= 1


def test_after_a_success_the_line_uses_all_its_connections_again(crowd: House, smtp: ScriptedSmtp):
    """The first answer ends the trying with one mail at a time: the others go out side by side."""
    crowd.settings["smtp"]["connections"] = 4
    smtp.always["dot"] = Drop()
    crowd.run()
    tried = handed_off(smtp)
    crowd.clock.move(minutes=20)
    until = threading.Event()
    smtp.always["dot"] = Hold(until, "250 2.0.0 queued")
    smtp.script["dot"].append("250 2.0.0 queued")
    with crowd.opened() as app:
        sending = threading.Thread(target=deliver_group, args=(app.runtime, "smtp"))
        sending.start()
        try:
            wait(lambda: handed_off(smtp) == tried + 1 + 4)
        finally:
            until.set()
            sending.join(PATIENCE)
    assert set(crowd.states()) == {DeliveryState.SENT}


def test_unclear_ends_count_over_rounds_and_processes_and_not_over_a_success(
    due: House, smtp: ScriptedSmtp
):
    due.settings["retry"] = {"give_up": "10m"}  # nothing is handed off once more by itself
    for day in range(2):
        smtp.script["dot"].append(Drop())
        due.run()
        assert line(due) == (day + 1, [])
        due.add(f"{day}.txt", (f"{AGENTS[0]} {day}", f"{AGENTS[1]} Study {day}."))
        due.clock.move(days=1)
    due.run()
    assert line(due)[0] == 0
    assert len([mail for mail in smtp.received if mail.recipient == "ada@example.org"]) == 1


def test_a_refusal_does_not_hide_that_a_server_swallows_mail(crowd: House, smtp: ScriptedSmtp):
    smtp.always["dot"] = Drop()
    smtp.script["rcpt"] += ["250 ok", "450 4.2.0 later", "250 ok", "450 4.2.0 later", "250 ok"]
    crowd.run()
    assert handed_off(smtp) == 3
    assert line(crowd)[0] == 3
