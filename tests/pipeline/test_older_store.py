"""A store of the version before: its digests are shown, and its open deliveries are sent."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from monitor.cli.rehearsals import write_digests
from monitor.model import DeliveryState
from monitor.pipeline.freeze import render_again
from monitor.store import retention
from monitor.store.digests import deliveries, digests
from monitor.store.engine import schema
from monitor.store.papers import papers
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.pipeline import older_store
from tests.servers.smtp import ScriptedSmtp

AGAIN = f"{FOLDING[0]}, Again and Apart"


@pytest.fixture(params=["sqlite", "postgresql"])
def older(request: pytest.FixtureRequest, house: House, smtp: ScriptedSmtp) -> House:
    """An installation on a store that version 0012 left, on the morning after."""
    url = f"sqlite:///{house.folder / 'monitor.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("empty_postgres_url")
    older_store.settings(house, smtp.port, url)
    older_store.restore(url, house.folder)
    house.clock.move(days=1, hours=1)
    return house


def written(rows: str, period: str) -> dict[str, object]:
    """What the old version wrote of the digest of a period in a table."""
    found = older_store.rows(Path())
    [digest] = [row["id"] for row in found["digest"] if row["period"] == period]
    return {row["channel"]: row for row in found[rows] if row["digest_id"] == digest}


def test_an_open_delivery_is_sent_as_it_was_written(older: House, smtp: ScriptedSmtp) -> None:
    with older.opened() as app:
        app.once.deliver()
    [mail] = smtp.received
    sent = mail.message
    assert sent["Message-ID"] == written("delivery", older_store.OPEN)["email"]["message_id"]
    body = written("rendered", older_store.OPEN)["email"]["body"]
    assert sent["Subject"] == body["subject"]
    for kind, part in (("plain", "text"), ("html", "html")):
        content = sent.get_body((kind,)).get_content().replace("\r\n", "\n")
        assert content.rstrip("\n") == body[part].rstrip("\n")


def test_a_page_that_could_not_be_rendered_is_rendered_from_what_was_frozen(older: House) -> None:
    with older.opened() as app:
        with app.runtime.database.reading() as tx:
            [failed] = deliveries.listing(tx, [DeliveryState.FAILED])
        assert render_again(app.runtime, failed.id)
        app.once.digest()
    assert set(older.states()) == {DeliveryState.SENT}
    page = (older.folder / "pages" / "lab" / f"{older_store.OPEN}.html").read_text("utf-8")
    assert f"{AGAIN}</" in page.replace("<mark>", "").replace("</mark>", "")


@pytest.mark.parametrize("period", [older_store.EMPTIED, older_store.SENT, older_store.OPEN])
def test_each_digest_is_shown_as_it_was_composed(older: House, period: str) -> None:
    with older.opened() as app:
        [report] = write_digests(app.runtime, "lab", period)
        with app.runtime.database.reading() as tx:
            digest = digests.of_period(tx, "lab", period)
    entries = [entry for group in digest.groups for entry in group.entries]
    assert all(entry.paper.abstract and entry.matched[0].why for entry in entries)
    page = Path(report.deliveries[0].recipient).read_text("utf-8")
    assert report.papers == page.count("<article>") + page.count("<li>") == len(entries)


def list_again(older: House) -> None:
    """Write the documents that the old version read."""
    older.add("1.txt", AGENTS)
    for number, paper in enumerate((BANDITS, FOLDING), 2):
        further = f"{paper[0]}, Again and Apart", paper[1].replace("We", "They")
        older.add(f"{number}.txt", paper, further)


def test_a_source_that_becomes_a_library_leaves_its_papers_known(older: House) -> None:
    page = older.settings["sources"]["page"]
    older.settings["sources"]["again"] = dict(page)
    page["role"] = "library"
    list_again(older)
    runs = older.ingest()
    assert [run.new for run in runs if run.source == "again"] == [0, 0, 0]
    assert [(run.seen, run.new) for run in runs if run.source == "page"] == [(1, 0), (2, 0), (2, 0)]
    older.run()
    assert older.next_morning() == {"lab": 0}


def test_all_documents_read_again_bring_nothing_new(older: House, smtp: ScriptedSmtp) -> None:
    list_again(older)
    assert [(run.seen, run.new, run.revised) for run in older.ingest()] == [
        (1, 0, 0),
        *[(2, 0, 0)] * 2,
    ]
    with older.opened() as app:
        app.once.digest()
        older.clock.move(days=1)
        app.once.digest()
        with app.runtime.database.reading() as tx:
            days = (digests.of_period(tx, "lab", f"2026-11-{day}") for day in (22, 23))
            assert [digest.papers for digest in days if digest] == [0]
            stored = papers.load(tx, range(1, 6)).values()
    assert len(smtp.received) == 1, "the mail that the old version left"
    assert {paper.paper.announced for paper in stored} == {None}
    assert all(paper.paper.listed for paper in stored)


def test_bodies_of_the_old_version_are_deleted_when_their_time_has_come(older: House) -> None:
    with older.opened() as app:
        app.once.deliver()
        before = older.clock.now() + timedelta(days=1)
        with app.runtime.database.ingesting() as tx:
            assert retention.prune_bodies(tx, before, 9) > 0
            assert retention.prune_bodies(tx, before, 9) == 0
            content = tx.scalars(sa.select(schema.digest.c.content).order_by(schema.digest.c.id))
            assert [bool(one) for one in content] == [False, False, True]
            [sent] = [one for one in deliveries.listing(tx) if one.state is DeliveryState.FAILED]
        [report] = write_digests(app.runtime, "lab", older_store.SENT)
    page = Path(report.deliveries[0].recipient).read_text("utf-8")
    assert digests.TEXTS_REMOVED in page
    assert "<mark>" in page, "what was shown in full is explained again"
    assert (sent.period, sent.channel, report.papers) == (older_store.OPEN, "pages", 2)
