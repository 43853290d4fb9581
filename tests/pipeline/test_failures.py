"""A channel, a template or a store that fails: the rest goes on, and it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from monitor.channels.email.channel import Mail
from monitor.channels.file import Pages
from monitor.errors import StoreError
from monitor.model import DeliveryState, Digest, Templates
from monitor.pipeline import flow
from monitor.pipeline.freeze import render_again
from monitor.pipeline.ingest import is_due
from monitor.store.digests import deliveries, freeze_digest
from monitor.store.digests.suppressions import suppress
from monitor.store.engine.database import Database
from monitor.store.sources import runs
from tests.house import AGENTS, APART, FOLDING, House
from tests.servers.smtp import ScriptedSmtp


@pytest.fixture
def both(house: House, smtp: ScriptedSmtp) -> House:
    """A subscription with mail and pages, and an operator with mail; a digest is due."""
    house.by_mail(smtp.port)
    house.settings["subscriptions"]["lab"]["channels"] = ["pages"]
    house.settings["operator"] = {"email": "ops@example.org"}
    house.make_due()
    return house


@contextmanager
def broken(channel: type, *, of_missed: bool = False) -> Iterator[None]:
    """Let the rendering of a kind of channel raise, or that of what a pause withheld."""
    unbroken = channel.render

    def render(self: Any, digest: Digest, templates: Templates) -> Any:
        if of_missed and not digest.was_missed:
            return unbroken(self, digest, templates)
        raise RuntimeError("no such font")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channel, "render", render)
        yield


def pages(house: House) -> list[str]:
    return sorted(path.name for path in house.folder.glob("pages/lab/*.html"))


def mails(smtp: ScriptedSmtp, to: str = "ada@example.org") -> list[str]:
    return [mail.message["Subject"] for mail in smtp.received if mail.recipient == to]


def states(house: House) -> dict[str, DeliveryState]:
    with house.opened() as app, app.runtime.database.reading() as tx:
        listed = deliveries.listing(tx)
        return {one.channel: one.state for one in listed if one.subscription == "lab"}


def retry(house: House) -> None:
    """Send what failed of a digest again, as `deliveries retry` does."""
    with house.opened() as app:
        with app.runtime.database.reading() as tx:
            delivery, *_ = deliveries.listing(tx, [DeliveryState.FAILED])
        assert render_again(app.runtime, delivery.id)
        app.once.deliver()


def test_a_channel_that_cannot_render_stops_no_other_and_is_retried_by_hand(
    both: House, smtp: ScriptedSmtp
):
    with broken(Pages), capture_logs() as logs:
        both.run()
        assert states(both) == {"email": DeliveryState.SENT, "pages": DeliveryState.FAILED}
        [problem] = both.problems()
        assert "channel pages has been unable to render a digest since" in problem
        assert "no such font" in problem
        assert "`paper-monitor deliveries retry 2` sends it" in problem
    [event] = [one for one in logs if one["event"] == "digest not rendered"]
    assert (event["channel"], event["subscription"]) == ("pages", "lab")
    assert event["log_level"] == "error"
    assert len(mails(smtp)) == 1
    assert pages(both) == []
    retry(both)
    assert pages(both) == ["2026-11-21.html"]
    both.run()
    assert len(mails(smtp)) == 1
    assert both.problems() == ()
    assert [subject.partition(" (")[0] for subject in mails(smtp, "ops@example.org")] == [
        "pages cannot render a digest",
        "pages renders digests again",
    ]


def test_a_list_of_missed_papers_that_fails_stops_no_other_channel(both: House):
    with both.opened() as app, app.runtime.database.writing() as tx:
        now = both.clock.at
        suppress(tx, "ada@example.org", "lab", now, until=now + timedelta(hours=30), how="link")
    both.run()
    both.clock.move(days=1)
    with broken(Mail, of_missed=True):
        both.next_morning((f"{APART[0]} for language agents", APART[1]))
    assert pages(both) == ["2026-11-21.html", "2026-11-23.html"]
    [problem] = both.problems()
    assert "channel email has been unable to render a digest since" in problem


def test_a_digest_that_moved_into_the_next_is_not_rendered_again(both: House, smtp: ScriptedSmtp):
    smtp.always["rcpt"] = "550 5.1.1 nobody"
    with broken(Pages):
        both.run()
        smtp.always.clear()
    both.next_morning()
    assert pages(both) == ["2026-11-22.html"]
    assert both.problems() == ()


def test_a_recipient_who_left_meanwhile_gets_nothing(both: House, smtp: ScriptedSmtp):
    both.settings["subscriptions"]["lab"]["email"] = ["ada@example.org", "bob@example.org"]
    with broken(Mail):
        both.run()
    both.settings["subscriptions"]["lab"]["email"] = ["ada@example.org"]
    retry(both)
    assert mails(smtp) == ["1 paper: agents · 22 Nov 06:00"]
    assert mails(smtp, "bob@example.org") == []


def test_a_template_that_fails_on_a_digest_is_a_problem_until_it_works(house: House):
    own = house.folder / "own" / "web"
    own.mkdir(parents=True)
    (own / "digest.html.j2").write_text("{{ digest.no_such_thing }}")
    house.settings["templates"] = "own"
    house.add("1.txt", AGENTS)
    house.run()
    assert house.next_morning() == {"lab": 1}
    assert len(pages(house)) == 1
    [problem] = house.problems()
    assert "template for pages could not be used since" in problem
    assert "digest.html.j2:1" in problem
    (own / "digest.html.j2").write_text("{{ digest.papers }}")
    house.add("2.txt", APART)
    house.next_morning()
    assert house.problems() == ()


def test_a_store_that_refuses_some_digests_names_each_and_sends_the_others(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    lab = house.settings["subscriptions"]["lab"]
    for name in ("one", "two", "three"):
        house.settings["subscriptions"][name] = dict(lab)
    house.make_due()
    freeze = freeze_digest.freeze
    failed = {}

    def full(tx: Any, digest: Digest, *result: Any) -> Any:
        if digest.subscription in ("one", "three"):
            raise StoreError("monitor.db cannot grow: the disk is full", "free some space")
        return freeze(tx, digest, *result)

    monkeypatch.setattr(freeze_digest, "freeze", full)
    with house.opened() as app:
        sent = app.once.digest(failed=failed)
    assert {one.subscription for one in sent} == {"lab", "two"}
    assert failed.keys() == {"one", "three"}
    monkeypatch.undo()
    assert {*house.run()} >= {"one", "three"}


def test_a_store_that_takes_nothing_more_still_tells_who_failed(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    house.make_due()
    failed: dict[str, Exception] = {}
    begin = Database.writing
    composing = False

    @contextmanager
    def full(self: Database) -> Iterator[Any]:
        with begin(self) as tx:
            yield tx
            if composing:
                raise StoreError("monitor.db cannot grow: the disk is full", "free some space")

    monkeypatch.setattr(Database, "writing", full)
    with house.opened() as app:
        app.once.match()
        composing = True
        monkeypatch.setattr(flow, "match", lambda runtime: 0)
        assert app.once.digest(failed=failed) == []
        composing = False
    assert "the disk is full" in str(failed["lab"])
    monkeypatch.undo()
    assert house.run() == {"lab": 1}


def test_each_run_digest_and_delivery_is_one_event(both: House, smtp: ScriptedSmtp):
    smtp.script["rcpt"].append("550 5.1.1 ada@example.org is not here")
    both.add("2.txt", FOLDING)
    both.settings["sources"]["gone"] = {"kind": "feed", "path": "nowhere/*.xml"}
    with capture_logs() as logs:
        both.run()
    read = {one["source"]: one for one in logs if one["event"] == "source read"}
    assert (read["page"]["document"], read["page"]["outcome"]) == ("2.txt", "ok")
    assert (read["page"]["seen"], read["page"]["new"]) == (1, 1)
    assert read["page"]["seconds"] >= 0
    assert (read["page"]["log_level"], read["gone"]["log_level"]) == ("info", "warning")
    [composed] = [o for o in logs if o["event"] == "digest" and o["subscription"] == "lab"]
    assert (composed["period"], composed["papers"], composed["deliveries"]) == ("2026-11-21", 1, 2)
    sent = {
        o["channel"]: o for o in logs if o["event"] == "delivery" and o["subscription"] == "lab"
    }
    assert (sent["pages"]["state"], sent["pages"]["log_level"]) == ("sent", "info")
    assert (sent["email"]["state"], sent["email"]["log_level"]) == ("failed", "error")
    assert sent["email"]["recipient"] == "a***@example.org"
    assert "ada@" not in str(sent["email"])


def test_a_source_that_keeps_failing_is_a_warning_at_the_beginning_and_the_end(house: House):
    house.settings["sources"] = {"page": {"kind": "huggingface-page", "path": "later/*.txt"}}
    with capture_logs() as logs:
        for _ in range(4):
            house.ingest()
            house.clock.move(hours=1)
        (house.folder / "later").mkdir()
        house.ingest()
    loud = [one for one in logs if one["log_level"] not in ("debug", "info")]
    assert [one["event"] for one in loud] == ["source read", "source works again"]
    assert loud[1]["failures"] == 4
    assert len([one for one in logs if one["event"] == "source read"]) == 5


def test_readings_that_find_nothing_new_are_one_line_an_hour(house: House):
    house.add("1.txt", AGENTS)
    with capture_logs() as logs, house.opened() as app:
        for _ in range(182):
            app.once.ingest(["page"])
            house.clock.move(minutes=1)
    lines = [one for one in logs if one["event"] in ("source read", "sources unchanged")]
    loud = [one for one in lines if one["log_level"] != "debug"]
    assert [one["event"] for one in loud] == ["source read", *["sources unchanged"] * 3]
    assert [(one["readings"], one["log_level"]) for one in loud[1:]] == [
        ({"page": 61}, "info"),
        ({"page": 60}, "info"),
        ({"page": 60}, "info"),
    ]
    assert [one["since"] for one in loud[1:]] == [
        f"2026-11-21T0{hour}:01:00+00:00" for hour in (6, 7, 8)
    ]
    assert len(lines) == 182 + 3


def test_looks_that_find_nothing_or_the_same_fault_do_not_fill_the_store(house: House):
    house.add("1.txt", AGENTS)
    for minute in range(60):
        if minute == 30:
            for name in ("2.txt", "3.txt"):
                house.add(name)
        house.ingest()
        house.clock.move(minutes=1)
    found = house.read(runs.since, house.clock.at.replace(year=2000), house.clock.at)
    failures = [("2.txt", "failed"), ("3.txt", "failed")]
    looks = [("1.txt", "ok"), *[(None, "unchanged")] * 2, *failures * 2]
    assert [(run.document, run.outcome) for run in found] == looks


def test_a_folder_is_due_within_a_minute_of_looks_every_twenty_seconds(house: House):
    house.ingest()
    with house.opened() as app:
        waited = 0
        while not is_due(app.runtime, "page"):
            house.clock.move(seconds=20)
            waited += 20
    assert waited <= 40
