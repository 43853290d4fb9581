"""What the operator reads of an incident: a plain subject, its meaning for readers, and a page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from monitor.app import App
from monitor.commands.status import status
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline import incidents
from monitor.store.digests.incidents import Incident, open_incident
from tests.house import House

NOW = datetime.fromisoformat("2026-11-26T07:00Z")
PAGE = Subject(SubjectKind.SOURCE, "page")
SMTP = Subject(SubjectKind.OUTAGE_GROUP, "smtp")
LATE = "Readers get their papers late; none is lost."


@pytest.fixture
def app(house: House) -> Iterator[App]:
    house.settings["timezone"] = "Europe/Berlin"
    house.settings |= {"public_url": "https://papers.example.org", "web": {}}
    house.settings["sources"]["page"]["title"] = "Daily page"
    house.settings["subscriptions"]["lab"]["title"] = "Reading group"
    with house.opened() as opened:
        yield opened


def incident(subject: Subject, kind: str, *, hours: int | None = None) -> Incident:
    """An incident of an hour ago with the error 404, ended after `hours`."""
    since = NOW - timedelta(hours=1)
    ended = None if hours is None else since + timedelta(hours=hours)
    names = subject.about, subject.name, subject.recipient
    return Incident(1, *names, kind, since, "404", None, ended, None, 1, None)


@pytest.mark.parametrize(
    ("subject", "kind", "began", "meaning", "ended", "path"),
    [
        (
            *(PAGE, "failing", "Daily page cannot be read"),
            *("Its papers will arrive late.", "Daily page can be read again", "/sources/page"),
        ),
        (
            *(Subject(SubjectKind.SOURCE, "a source/that has gone"), "held"),
            "a source/that has gone repeats old papers",
            *("Its papers wait until this is settled.", "a source/that has gone is read again"),
            "/sources/a%20source%2Fthat%20has%20gone",
        ),
        (
            *(Subject(SubjectKind.SUBSCRIPTION, "lab"), "not composed"),
            *("There is no digest for Reading group", LATE),
            *("Reading group has digests again", "/subscriptions/lab"),
        ),
        (
            *(SMTP, "down", "Nothing can be sent by mail", "Digests wait."),
            *("Digests are sent by mail again", "/deliveries?state=waiting"),
        ),
        (
            *(Subject(SubjectKind.OUTAGE_GROUP, "slack webhook x"), "down"),
            *("Nothing can be sent by slack webhook x", "Digests wait."),
            *("Digests are sent by slack webhook x again", "/deliveries?state=waiting"),
        ),
        (
            *(Subject(SubjectKind.TEMPLATES, "pages"), "replaced"),
            "Your template for pages cannot be used",
            "Digests look as they do without it.",
            *("Your template for pages is in use again", "/"),
        ),
        (
            *(
                Subject(SubjectKind.RECIPIENT, "email", "a@x.org"),
                "refused",
                "email to a@x.org is refused",
            ),
            *("This recipient lacks a digest.", "email to a@x.org is accepted again"),
            "/deliveries?person=a%40x.org",
        ),
        (
            *(Subject(SubjectKind.SLACK_ANSWERS), "failing", "Choices in Slack are not received"),
            "Whoever rates a paper there sees an error.",
            *("Choices in Slack are received again", "/"),
        ),
        (
            *(
                Subject(SubjectKind.SOURCE, "source to ada"),
                "failing",
                "source to ada cannot be read",
            ),
            *("Its papers will arrive late.", "source to ada can be read again"),
            "/sources/source%20to%20ada",
        ),
        (
            *(
                Subject(SubjectKind.RECIPIENT, "source", "a@x.org"),
                "refused",
                "source to a@x.org is refused",
            ),
            *("This recipient lacks a digest.", "source to a@x.org is accepted again"),
            "/deliveries?person=a%40x.org",
        ),
        (
            *(Subject(SubjectKind.OUTAGE_GROUP, "smoke"), "odd", "smoke is odd", ""),
            *("smoke has recovered", "/"),
        ),
    ],
)
def test_a_notice_says_what_happened_what_it_means_and_where_to_look(
    app: App, subject: Subject, kind: str, began: str, meaning: str, ended: str, path: str
) -> None:
    notice = incidents.describe_to_operator(app.runtime, incident(subject, kind), NOW)
    over = incidents.describe_to_operator(app.runtime, incident(subject, kind, hours=1), NOW)
    assert [notice.subject, over.subject] == [began, ended]
    assert notice.lines[0] == "Since Thu 26 Nov 07:00 (Berlin): 404"
    assert notice.lines[1].startswith(meaning)
    assert notice.lines[1].casefold().endswith(f"one more message when {ended}.".casefold())
    assert over.lines == ("It lasted from Thu 26 Nov 07:00 until Thu 26 Nov 08:00 (Berlin).", "404")
    assert {notice.url, over.url} == {f"https://papers.example.org{path}"}


def test_what_is_known_only_afterwards_is_one_message(app: App) -> None:
    over = incident(Subject(SubjectKind.STORE), IncidentKind.UNAVAILABLE, hours=1)
    notice = incidents.describe_to_operator(app.runtime, over, NOW)
    assert notice.subject == "The store was unavailable"
    assert notice.lines[1:] == ("404", "Digests may have been late.")
    gap = incidents.describe_to_operator(app.runtime, incident(PAGE, "gap"), NOW)
    assert "one more message" not in " ".join(gap.lines), "the end of a gap is not announced"


def test_every_kind_has_its_words(app: App) -> None:
    for kind in IncidentKind:
        notice = incidents.describe_to_operator(app.runtime, incident(PAGE, kind), NOW)
        assert len(notice.lines) == 2 and "recovered" not in notice.lines[1], kind


def test_choices_in_slack_have_a_remedy_of_their_own(app: App) -> None:
    subject = Subject(SubjectKind.SLACK_ANSWERS)
    with app.runtime.database.writing() as tx:
        open_incident(tx, subject, IncidentKind.FAILING, NOW, "Slack: invalid_auth")
    [problem] = status(app.runtime, probe=False).problems
    assert problem.text.startswith("answers in Slack has been failing since")
    assert problem.heading == "choices in Slack are not received"
    assert "tokens of Slack" in problem.remedy
    assert (problem.page, problem.action) == ("/", None)


def test_without_pages_there_is_no_address(house: House) -> None:
    with house.opened() as app:
        notice = incidents.describe_to_operator(app.runtime, incident(SMTP, "down"), NOW)
    assert notice.url == ""


def test_subscriptions_are_called_by_their_titles(app: App) -> None:
    names = ("lab", "one that has gone", "@operator", "@test lab", "@test one that has gone")
    titles = ["Reading group", "one that has gone", "notice"]
    titles += ["test to Reading group", "test to one that has gone"]
    assert [incidents.title_of(app.runtime, name) for name in names] == titles
