from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.digest import about
from monitor.model import AboutSubscription, SourceReport, SourceWarning
from tests.digest.samples import NOW, REPORT, digest, news

DAY = timedelta(days=1)


def test_a_subject_names_the_topics_and_how_many_papers_each_has() -> None:
    made = digest(
        [news(number=n, topic=topic) for n, topic in enumerate("edcbbaaa")], period="2026-11-21"
    )
    assert about.subject(made) == "8 papers: a 3, b 2, c 1, 2 more topics · 21 Nov"
    assert about.contents(made) == "a 3 · b 2 · c 1 · d 1 · e 1"


def test_a_digest_is_called_by_its_title_or_by_how_many_papers_it_has() -> None:
    assert about.name_digest(digest([news()])) == "1 new paper"
    assert about.name_digest(digest([])) == "No new papers"
    named = digest([news()], about=AboutSubscription(title="Agents"))
    assert about.name_digest(named) == "Agents"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {},
            "Read: 298 papers from daily-page since Thu 19 Nov 08:00, 229 new; "
            "last on Sat 21 Nov 07:00 (Asia/Tokyo).",
        ),
        ({"report": ()}, "No source has been read yet."),
        (
            {"report": [replace(REPORT[0], title=title) for title in "ABC"], "covers_from": None},
            "Read: 894 papers from A, B and C, 687 new; last on Sat 21 Nov 07:00 (Asia/Tokyo).",
        ),
        (
            {"report": REPORT * 4, "covers_from": None},
            "Read: 1,192 papers from 4 sources, 916 new; last on Sat 21 Nov 07:00 (Asia/Tokyo).",
        ),
    ],
)
def test_one_sentence_says_what_was_read(changes: dict[str, object], text: str) -> None:
    assert about.what_was_read(digest([news()], **changes)) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            SourceReport("rxiv", 0, 0, NOW, NOW - 3 * DAY, "HTTP 503", title="bioRxiv"),
            "bioRxiv could not be read since Wednesday; its papers will follow.",
        ),
        (
            SourceReport("rxiv", 0, 0, NOW, NOW - 30 * DAY, "HTTP 503"),
            "rxiv could not be read since 22 Oct; its papers will follow.",
        ),
        (SourceReport("rxiv", 0, 0, None), "rxiv has not been read yet."),
        (
            SourceReport("rxiv", 0, 0, NOW, troubles=(SourceWarning("thin", NOW - DAY, "2 of 9"),)),
            "rxiv has brought fewer papers than usual since Friday.",
        ),
        (
            SourceReport("rxiv", 0, 0, NOW, troubles=(SourceWarning("new", NOW - DAY, "x=1"),)),
            "rxiv has been out of order since Friday.",
        ),
    ],
)
def test_readers_get_no_details_of_what_fails(source: SourceReport, text: str) -> None:
    assert about.digest_notes(digest([], report=(source,))) == [text]


def test_notes_are_neither_long_nor_many() -> None:
    notes = about.digest_notes(digest([], notes=("x" * 5_000,) * 90))
    assert len(notes) < 12 and max(map(len, notes)) <= 400
    assert notes[-1] == "And 82 more notes."


def test_a_reader_learns_why_a_digest_came() -> None:
    few = AboutSubscription("", ("agents", "RL"), "weekdays 08:00")
    assert about.because(digest([], about=few)) == (
        "You get this because ada is subscribed to agents and RL, weekdays 08:00 Asia/Tokyo."
    )
    many = AboutSubscription("Agents", tuple("abcdefg"), "daily 08:00")
    assert about.because(digest([], about=many)) == (
        "You get this because of the subscription “Agents” to a, b, c, d and 3 more topics, "
        "daily 08:00 Asia/Tokyo."
    )
    assert about.because(digest([])) == "", "an older digest does not know"
