"""When the next digest comes, or why none: in `status`, `/`, `/subscriptions`, `/me` and mails."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import httpx
import pytest

from monitor.commands.suppressions import SubscriptionChange, apply_change, suppress
from monitor.store.digests import deliveries
from tests.cli.conftest import Say
from tests.house import AGENTS, APART, SATURDAY, House, newest_mail
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import PROXY, public_pages

ADA = "ada@example.org"
BOB = "bob@example.org"
OP = "op@example.org"
TODAY = "Sat 21 Nov 08:00"
TOMORROW = "Sun 22 Nov 08:00"
AFTER_PAUSE = "paused until 25 Nov 2026, then Wed 25 Nov 08:00"
OWN_PAUSE = "paused until 28 Nov 2026 06:00, then Sat 28 Nov 08:00"


@pytest.fixture
def lab(house: House, smtp: ScriptedSmtp) -> House:
    """Ada and Bob get a digest each day at eight; it is six."""
    house.by_mail(smtp.port, ADA, BOB)
    house.settings["timezone"] = "UTC"
    house.settings["subscriptions"]["lab"]["schedule"] = "daily 08:00"
    return house


def shown_for_all(house: House, say: Say) -> set[str]:
    """Return what `status`, `subscriptions`, `/`, `/subscriptions` and its page say."""
    now = f"{house.clock.at:%Y-%m-%dT%H:%M:%SZ}"
    said = [say(command, "--now", now).out for command in ("status", "subscriptions")]
    cells = [re.split(r" {3,}", line.strip()) for out in said for line in out.splitlines()]
    named = [row for row in cells if row[0] == "lab"]
    assert len(named) == 2, said
    shown = {named[0][1], named[1][3]}
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        for path in ("/", "/subscriptions"):
            shown.add(only(client, path, OP, r'data-label="Next">(.*?)</td>'))
        shown.add(only(client, "/subscriptions/lab", OP, "<dt>next</dt><dd>(.*?)</dd>"))
    return {text.replace(" (UTC)", "") for text in shown}


def shown_to(house: House, *readers: str) -> list[str]:
    """Return what `/me` says to each reader, and `/people/` of them to an operator."""
    told = []
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        for reader in readers:
            pattern = r"Next digest: (.*?) (?:·|</p>)"
            told.append(only(client, "/me", reader, pattern))
            assert only(client, f"/people/{reader}", OP, pattern) == told[-1]
    return told


def reader_page(house: House, reader: str) -> str:
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        return client.get("/me", headers={"Remote-User": reader}).text


def only(client: httpx.Client, path: str, viewer: str, pattern: str) -> str:
    answer = client.get(path, headers={"Remote-User": viewer})
    [found] = re.findall(pattern, answer.text)
    return str(found)


def mailed(house: House) -> str:
    """Return what the newest mail says, in both of its parts."""
    html = house.read(newest_mail)
    [said] = re.findall(r"Next digest: (.*?)\.</p>", html)
    with house.opened() as app, app.runtime.database.reading() as tx:
        last = deliveries.listing(tx)[0]
        text = " ".join(deliveries.get(tx, last.id).rendered.body["text"].split())
    assert f"Next digest: {said}." in text
    return str(said).replace(" (UTC)", "")


def everywhere(house: House, say: Say) -> set[str]:
    return shown_for_all(house, say) | {*shown_to(house, ADA, BOB)}


def test_the_next_slot(lab: House, say: Say) -> None:
    lab.run(AGENTS)
    assert everywhere(lab, say) == {TODAY}
    lab.run_after(hours=2)
    assert everywhere(lab, say) | {mailed(lab)} == {TOMORROW}


def test_an_early_digest_does_not_put_off_the_next(lab: House, say: Say) -> None:
    lab.ingest(AGENTS)
    with lab.opened() as app:
        app.once.digest(["lab"], early=True)
    assert everywhere(lab, say) | {mailed(lab)} == {TODAY}


def test_an_early_digest_of_an_older_version_has_taken_the_next_slot(lab: House, say: Say) -> None:
    lab.ingest(AGENTS)
    with lab.opened() as app:
        app.once.digest(["lab"], ahead=True)
    assert everywhere(lab, say) | {mailed(lab)} == {TOMORROW}


def test_a_slot_that_was_missed_is_due_until_it_has_its_digest(lab: House, say: Say) -> None:
    lab.run(AGENTS)
    lab.clock.move(days=2, hours=3)
    assert everywhere(lab, say) == {"due since Mon 23 Nov 08:00"}
    lab.run()
    assert everywhere(lab, say) | {mailed(lab)} == {"Tue 24 Nov 08:00"}


def test_the_end_of_a_pause_and_the_slot_after_it(lab: House, say: Say) -> None:
    lab.settings["subscriptions"]["lab"]["pause_until"] = "2026-11-25"
    lab.run(AGENTS)
    assert everywhere(lab, say) == {AFTER_PAUSE}
    now = f"{lab.clock.at:%Y-%m-%dT%H:%M:%SZ}"
    line = say("run", "--now", now).out.splitlines()[-1]
    assert line == f"lab: 1 paper waits. Next digest: {AFTER_PAUSE} (UTC)."
    lab.clock.move(days=4)  # no slot of the pause was missed
    assert everywhere(lab, say) == {"Wed 25 Nov 08:00"}
    lab.clock.move(hours=1)
    assert lab.problems() == ()


def test_the_news_of_an_alert(lab: House, say: Say) -> None:
    lab.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    lab.run(AGENTS)
    assert shown_for_all(lab, say) == {"as soon as there is news"}
    own = lab.read(newest_mail), reader_page(lab, ADA)
    assert [text.count("as soon as there is news") for text in own] == [1, 1], "said once"
    assert "Next digest" not in "".join(own) and "0 papers waiting" in own[1]
    lab.settings["subscriptions"]["lab"]["pause_until"] = "2026-11-25"
    then = "paused until 25 Nov 2026, then as soon as there is news"
    assert everywhere(lab, say) == {then}


def test_none_once_each_recipient_has_stopped(lab: House, say: Say) -> None:
    lab.run(AGENTS)
    stop(lab, ADA)
    assert shown_for_all(lab, say) == {TODAY}
    assert shown_to(lab, ADA, BOB) == ["none: stopped", TODAY]
    stop(lab, BOB, of="")
    assert everywhere(lab, say) == {"none: stopped"}
    now = f"{lab.clock.at:%Y-%m-%dT%H:%M:%SZ}"
    assert '"next_due": null' in say("status", "--json", "--now", now).out


def test_the_end_of_ones_own_pause(lab: House, say: Say) -> None:
    lab.run(AGENTS)
    pause(lab, ADA, SubscriptionChange.WEEK)
    assert shown_for_all(lab, say) == {TODAY}
    assert shown_to(lab, ADA, BOB) == [OWN_PAUSE, TODAY]
    stop(lab, BOB)  # Ada is the first who gets one again
    assert shown_for_all(lab, say) == {OWN_PAUSE}
    assert shown_to(lab, ADA, BOB) == [OWN_PAUSE, "none: stopped"]
    lab.settings["subscriptions"]["lab"]["pause_until"] = "2026-12-24"
    then = "paused until 24 Dec 2026, then Thu 24 Dec 08:00"
    assert shown_to(lab, ADA, BOB) == [then, "none: stopped"]


def test_what_is_said_is_what_then_happens(lab: House, smtp: ScriptedSmtp) -> None:
    """A digest comes to a reader at the slot after their pause, and not before."""
    lab.run(AGENTS)
    pause(lab, ADA, SubscriptionChange.WEEK)
    received: list[tuple[datetime, str]] = []
    for day in range(8):
        for hour in (7, 8):
            lab.clock.at = SATURDAY.replace(hour=hour) + timedelta(days=day)
            before = len(smtp.received)
            if hour == 7 and day >= 6:
                lab.ingest((f"{APART[0]} {day}", f"{APART[1]} For {day} agents."))
            lab.run()
            received += [(lab.clock.at, mail.recipient) for mail in smtp.received[before:]]
    eight = SATURDAY.replace(hour=8)
    assert {(at - eight).days for at, reader in received if reader == BOB} == {0, 6, 7}
    # What came during the pause, and what came since.
    assert [(at - eight).days for at, reader in received if reader == ADA] == [7, 7]


def test_a_new_subscription_has_its_first_slot_before_the_store_knows_it(
    lab: House, say: Say
) -> None:
    lab.run()
    known = lab.settings["subscriptions"]["lab"]
    lab.settings["subscriptions"]["new"] = known | {"schedule": "mon 07:00"}
    now = f"{lab.clock.at:%Y-%m-%dT%H:%M:%SZ}"
    said = say("subscriptions", "new", "--json", "--now", now).json
    assert [one["next"] for one in said["subscriptions"]] == ["2026-11-23T07:00:00+00:00"]


def stop(house: House, recipient: str, of: str = "lab") -> None:
    with house.opened() as app:
        suppress(app.runtime, recipient, of)


def pause(house: House, recipient: str, change: SubscriptionChange) -> None:
    with house.opened() as app:
        apply_change(app.runtime, "lab", recipient, change, "page")
