"""What readers of a topic are told of a paper that is withdrawn, or was so by mistake."""

from __future__ import annotations

import re
from typing import Any

import pytest

from monitor.commands.identity import split, unmark
from monitor.identity.notices import notice
from tests.house import AGENTS, House, all_papers, newest_mail
from tests.pipeline.test_guard import write
from tests.servers.slack import SlackServer
from tests.servers.smtp import ScriptedSmtp

PAPER: dict[str, Any] = {
    "title": AGENTS[0],
    "abstract": AGENTS[1],
    "authors": ["Ada Byron", "Bo Chen"],
    "doi": "10.5555/plans.1",
    "id": "plans",
}
NOTICE_PAGE = "https://journal.example.org/notice/7"
NOTICE: dict[str, Any] = {
    "title": f"Retraction: {AGENTS[0]}",
    "type": "retraction",
    "about": {"doi": PAPER["doi"]},
    "doi": "10.5555/notice.7",
    "url": NOTICE_PAGE,
    "id": "notice",
}
MISTAKEN = "Withdrawn by mistake: The Daily Notices’s notice was about something else."


@pytest.fixture
def told(house: House) -> House:
    """A house with readers of a topic, who are told of withdrawals."""
    for name in ("news", "notices"):
        (house.folder / name).mkdir()
    house.settings["sources"] = {
        "news": {"kind": "jsonl", "path": "news/*.jsonl", "first_run": "deliver"},
        "notices": {
            "kind": "jsonl",
            "path": "notices/*.jsonl",
            "title": "The Daily Notices",
            "first_run": "deliver",
        },
    }
    house.settings["topics"]["agents"]["news"] = ["new", "withdrawn"]
    return house


def _tell(house: House) -> None:
    """The paper is in a digest."""
    write(house, "news/a.jsonl", PAPER)
    house.make_due()
    house.run()


def _withdraw(house: House) -> None:
    """The paper is in one digest, its retraction in the next."""
    _tell(house)
    write(house, "notices/a.jsonl", NOTICE)
    house.next_morning()


def _undo(house: House) -> tuple[str, ...]:
    with house.opened() as app:
        return unmark(app.runtime, "1").notified


def test_mail_names_who_says_that_a_paper_is_withdrawn(told: House, smtp: ScriptedSmtp) -> None:
    told.by_mail(smtp.port)
    _withdraw(told)
    plain, html = (
        smtp.received[-1].message.get_body((kind,)).get_content() for kind in ("plain", "html")
    )
    assert "withdrawn according to The Daily Notices" in " ".join(plain.split())
    assert "withdrawn according to The Daily Notices" in " ".join(html.split())
    assert smtp.received[-1].message["Subject"].startswith("1 withdrawn paper: agents")
    assert plain.startswith("1 withdrawn paper")
    assert re.search("<h1[^>]*>1 withdrawn paper</h1>", html)
    assert "new paper" not in plain + html
    assert re.search(f'<a href="{NOTICE_PAGE}"[^>]*>notice</a>', html)
    assert NOTICE_PAGE in plain


def test_slack_names_who_says_that_a_paper_is_withdrawn(told: House, slack: SlackServer) -> None:
    told.by_slack(slack)
    _withdraw(told)
    posts = str(slack.posts)
    assert "withdrawn according to The Daily Notices" in posts
    assert f"<{NOTICE_PAGE}|notice>" in posts
    assert "1 withdrawn paper" in posts
    assert posts.count("1 new paper") == 1, "of the digest before"


def test_pages_name_who_says_that_a_paper_is_withdrawn(told: House) -> None:
    _withdraw(told)
    text = "".join(page.read_text() for page in (told.folder / "pages").rglob("2*.html"))
    assert "withdrawn according to The Daily Notices" in text
    assert f'<a href="{NOTICE_PAGE}">notice</a>' in text
    assert text.count("<h1>1 withdrawn paper</h1>") == text.count("<h1>1 new paper</h1>") == 1


def test_mail_corrects_a_withdrawal_that_was_a_mistake(told: House, smtp: ScriptedSmtp) -> None:
    """Readers of a topic, who have no library."""
    told.by_mail(smtp.port)
    _withdraw(told)
    assert _undo(told) == ("lab",)
    told.next_morning()
    plain = smtp.received[-1].message.get_body(("plain",)).get_content()
    assert MISTAKEN in " ".join(plain.split())
    assert AGENTS[0] in plain
    assert MISTAKEN in told.read(newest_mail)
    before = len(smtp.received)
    told.next_morning()
    assert len(smtp.received) == before


def test_slack_corrects_a_withdrawal_that_was_a_mistake(told: House, slack: SlackServer) -> None:
    told.by_slack(slack)
    _withdraw(told)
    _undo(told)
    told.next_morning()
    assert MISTAKEN in str(slack.posts)


def test_nobody_is_corrected_who_was_told_nothing(told: House) -> None:
    _tell(told)
    write(told, "notices/a.jsonl", NOTICE)
    told.ingest()
    assert _undo(told) == ()
    told.next_morning()
    text = "".join(page.read_text() for page in (told.folder / "pages").rglob("2*.html"))
    assert "mistake" not in text


def test_readers_are_told_when_a_false_record_is_split_off(told: House) -> None:
    _tell(told)
    record = {**PAPER, "withdrawn": True, "id": "gone", "url": NOTICE_PAGE}
    write(told, "notices/a.jsonl", record)
    told.next_morning()
    with told.opened() as app:
        split(app.runtime, "1", ["notices/gone"])
    told.next_morning()
    text = "".join(page.read_text() for page in (told.folder / "pages").rglob("2*.html"))
    assert MISTAKEN in text


@pytest.mark.parametrize("is_same", [True, False])
def test_a_paper_is_not_withdrawn_by_the_report_of_a_namesake(told: House, is_same: bool) -> None:
    """Many papers have such a title; the source gives no authors and no identifiers."""
    title = "Deep Reinforcement Learning"
    other = "Tactics of chess are learned from games that people played by letter for a century."
    abstract = AGENTS[1] if is_same else other
    report = {"title": title, "abstract": AGENTS[1], "withdrawn": True, "id": "first"}
    write(told, "news/a.jsonl", report)
    told.run()
    write(told, "news/b.jsonl", {"title": title, "abstract": abstract, "id": "second"})
    told.run()
    with told.opened() as app, app.runtime.database.reading() as tx:
        [paper] = [one.paper for one in all_papers(tx) if not notice(one.paper)]
    assert paper.withdrawn is is_same
