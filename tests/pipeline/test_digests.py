"""From matches to digests: what is due, once, to whom it concerns; and nothing is lost."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.cli.rehearsals import dry_run
from monitor.clocks import clock_ahead
from monitor.commands.explain import explain
from monitor.model import ChangeKind, Digest, DigestPaper, Revision
from monitor.pipeline.cleanup import upkeep
from monitor.pipeline.compose import rehearse
from monitor.store.digests import deliveries, digests
from monitor.store.sources import runs
from tests.house import AGENTS, APART, FOLDING, House, newest_digest
from tests.servers.smtp import ScriptedSmtp


def pages(house: House) -> list[str]:
    return sorted(str(p.relative_to(house.folder)) for p in house.folder.glob("pages/*/*.html"))


def test_a_digest_goes_out_once_from_the_first_slot_on(house: House):
    house.add("a.txt", AGENTS, FOLDING)
    assert house.run() == {}
    assert house.run_after(hours=1, minutes=59) == {}
    assert house.run_after(minutes=1) == {"lab": 1}
    assert house.run() == {}
    house.clock.move(hours=-1)  # D05: set back, it repeats nothing
    assert house.run() == {}
    house.clock.move(hours=1)
    assert house.next_morning() == {"lab": 0}
    assert pages(house) == ["pages/lab/2026-11-21.html"], "a quiet day is recorded alone"


def test_D05_a_clock_that_jumps_forward_while_we_run_is_asked_about(
    house: House, smtp: ScriptedSmtp
):
    """Nothing is composed or let go, the operator hears of it, and it goes on by itself."""
    house.by_mail(smtp.port)
    house.settings["operator"] = {"email": "ops@example.org"}
    house.settings["retention"] = {"runs": "30d"}
    house.add("a.txt", AGENTS)
    house.run()
    with house.opened() as app:
        jumped = replace(app.runtime, ahead=lambda: timedelta(days=40))
        app = replace(app, runtime=jumped)
        house.clock.move(days=40)
        for _ in range(3):
            app.once.digest()
            upkeep(app.runtime)
        [mail] = smtp.received
        assert mail.recipient == "ops@example.org"
        assert b"Subject: The clock has jumped" in mail.content
        assert b"40 days" in mail.content
        with app.runtime.database.reading() as tx:
            assert runs.newest_of_each_source(tx)
        house.clock.move(days=-39)
    assert house.run() == {"lab": 1}
    assert house.problems() == ()


def test_D05_the_clock_is_measured_against_the_time_that_has_passed(
    monkeypatch: pytest.MonkeyPatch,
):
    assert abs(clock_ahead()) < timedelta(minutes=1)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 40 * 86_400)
    assert clock_ahead() > timedelta(days=39)


def test_D04_another_zone_gives_no_second_digest_for_the_same_date(house: House):
    lab = house.settings["subscriptions"]["lab"]
    lab["timezone"] = "Asia/Tokyo"
    house.make_due()
    house.run()
    lab["timezone"] = "America/Los_Angeles"
    for _ in range(48):
        house.run_after(hours=1)
    dates = [digest.period for digest in house.read(digests.newest, ["lab"], 9)]
    assert dates == ["2026-11-23", "2026-11-22"]


def test_news_asks_for_revisions(house: House):
    house.settings["topics"]["agents"]["news"] = ["new", "revised"]
    house.add("a.txt", AGENTS)
    house.run()
    assert house.next_morning() == {"lab": 1}
    reworked = AGENTS[1].replace("four benchmarks", "nine benchmarks and a user study")
    house.add("b.txt", (AGENTS[0], reworked))
    assert house.next_morning() == {"lab": 1}
    digest = house.digest()
    [entry] = digest.groups[0].entries
    assert (entry.kind, entry.revised) == (ChangeKind.REVISED, Revision(sentences=1))
    page = (house.folder / f"pages/lab/{digest.period}.html").read_text()
    assert "abstract: 1 sentence changed" in page


def test_quiet_send_asks_for_the_one_line_message(house: House, smtp: ScriptedSmtp):
    house.by_mail(smtp.port)
    house.settings["subscriptions"]["lab"]["quiet"] = "send"
    house.add("a.txt", FOLDING)
    house.run()
    assert house.next_morning() == {"lab": 0}
    [mail] = smtp.received
    assert mail.recipient == "ada@example.org"


def test_pause_until_holds_digests_back_and_loses_nothing(house: House):
    house.settings["subscriptions"]["lab"]["pause_until"] = "2026-11-25"
    house.add("a.txt", AGENTS)
    house.run()
    assert [house.next_morning() for _ in range(4)] == [{}, {}, {}, {}]
    assert house.run_after(hours=2) == {"lab": 1}
    assert pages(house) == ["pages/lab/2026-11-25.html"]


def test_a_dry_run_lists_digests_in_the_order_of_the_subscriptions(house: House):
    lab = house.settings["subscriptions"].pop("lab")
    house.settings["topics"]["silent"] = {"query": "trombone"}
    for name, topic in (("first", "agents"), ("empty", "silent"), ("last", "agents")):
        house.settings["subscriptions"][name] = {**lab, "topics": [topic]}
    house.add("a.txt", AGENTS)
    with house.opened() as app:
        app.once.ingest()
        app.once.match()
        rehearsed = rehearse(app.runtime, early=True)
    assert [(one.subscription, one.papers) for one in rehearsed] == [
        ("first", 1),
        ("empty", 0),
        ("last", 1),
    ]


def test_a_dry_run_changes_nothing(house: House):
    house.make_due()
    with house.opened() as app:
        [sent] = dry_run(app.runtime)
        page = Path(sent.deliveries[0].recipient)
    assert sent.papers == 1
    assert AGENTS[0].split()[0] in page.read_text()
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert deliveries.counts(tx) == {}
        assert newest_digest(tx) is None
    assert house.run() == {"lab": 1}


def test_removing_a_subscription_holds_its_mail_and_re_adding_resumes(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port)
    smtp.always["rcpt"] = "450 4.2.0 greylisted"
    house.add("a.txt", AGENTS)
    house.run()
    house.next_morning()
    lab = house.settings["subscriptions"].pop("lab")
    house.settings["subscriptions"]["other"] = {
        **lab,
        "topics": ["agents"],
        "schedule": "monthly 1 08:00",
    }
    smtp.always.clear()
    house.run_after(hours=1)
    assert smtp.received == []
    house.settings["subscriptions"]["lab"] = lab
    house.run_after(hours=1)
    assert [mail.recipient for mail in smtp.received] == ["ada@example.org"]


def test_the_footer_says_what_was_read_and_what_failed(house: House):
    house.settings["sources"]["gone"] = {"kind": "huggingface-page", "path": "gone/*.txt"}
    house.add("a.txt", AGENTS, FOLDING)
    house.run()
    assert house.next_morning() == {"lab": 1}
    digest = house.digest()
    by_name = {report.source: report for report in digest.report}
    assert (by_name["page"].seen, by_name["page"].new) == (2, 2)
    assert by_name["gone"].failing_since == house.clock.at - timedelta(days=1)
    assert "gone" in (house.folder / "pages/lab/2026-11-21.html").read_text()


def test_an_alert_that_cannot_go_out_is_composed_once_and_grows_only_by_news(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port)
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    smtp.always["greeting"] = "421 4.3.0 later"
    house.add("a.txt", AGENTS)
    assert [house.run() for _ in range(3)] == [{"lab": 1}] * 3
    assert house.read(digests.count, "lab") == 1
    house.add("b.txt", APART)
    smtp.always.clear()
    assert house.run() == {"lab": 2}
    assert house.run() == {}
    assert len(smtp.received) == 1


@pytest.mark.parametrize("pages_of_service", [False, True])
def test_papers_beyond_at_most_are_delivered_and_left_to_the_archive(
    house: House, smtp: ScriptedSmtp, pages_of_service: bool
):
    house.by_mail(smtp.port)
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"]["lab"] = lab | {"channels": ["pages"], "at_most": 1}
    if pages_of_service:
        house.settings["public_url"] = "https://papers.example.org"
    house.make_due(AGENTS, APART)
    assert house.run() == {"lab": 2}
    digest = house.digest()
    assert (digest.papers, len(digest.groups[0].entries), digest.more) == (2, 2, 0)
    [page] = pages(house)
    assert (house.folder / page).read_text().count("to Plan Together") == 2
    [mail] = smtp.received
    assert (b"more-papers.txt" in mail.content) is not pages_of_service
    assert (b"1 more paper in the archive" in mail.content) is pages_of_service
    with house.opened() as app:
        sent = [explain(app.runtime, str(entry.paper_id)).digests[0] for entry in entries(digest)]
    assert [one.left_to_archive for one in sent] == [False, True]
    said = house.command("explain", str(entries(digest)[1].paper_id)).out
    assert "2nd in its topic, left to the archive" in " ".join(said.split())
    assert house.next_morning() == {"lab": 0}, "it was news once"


def test_nothing_is_left_to_the_archive_by_a_page(house: House):
    house.settings["subscriptions"]["lab"]["at_most"] = 1
    house.make_due(AGENTS, APART)
    assert house.run() == {"lab": 2}
    last = entries(house.digest())[1].paper_id
    with house.opened() as app:
        assert not explain(app.runtime, str(last)).digests[0].left_to_archive
    assert "archive" not in house.command("explain", str(last)).out


def test_without_max_each_topic_that_matched_has_a_paper_in_full(house: House):
    lab = house.settings["subscriptions"]["lab"]
    words = ["amber", "basil", "cobalt", "dahlia", "ember", "falcon", "garnet"]
    words += ["hazel", "indigo", "jasper", "kelp", "lotus", "marble"]
    house.settings["topics"] = {word: {"query": word} for word in words}
    papers = [(f"On the {word} problem", f"We study {word}. It is solved.") for word in words]
    house.make_due(*papers)
    house.run()
    digest = house.digest()
    assert (len(digest.groups), digest.full, len(digest.best(digest.full))) == (13, 13, 13)
    lab["max"] = 12
    again = [(f"Another {word} question", f"We ask of {word}. We answer.") for word in words]
    house.run(*again)
    house.next_morning()
    assert (house.digest().full, len(house.digest().groups)) == (12, 13)


def entries(digest: Digest) -> list[DigestPaper]:
    return [entry for group in digest.groups for entry in group.entries]
