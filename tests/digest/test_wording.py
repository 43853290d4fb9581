from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec import structs

from monitor.digest import about, links, wording
from monitor.digest.sections.topics import contents
from monitor.model import (
    AboutSubscription,
    ChangeKind,
    ListedDay,
    MatchReason,
    Paper,
    SourceReport,
    SourceWarning,
    TopicWhy,
)
from tests.digest.samples import NOW, PAPER, REPORT, digest, entry_of, news


@pytest.mark.parametrize(
    ("authors", "text"),
    [
        ((), ""),
        (("A One",), "A One"),
        (("A One", "B Two", "C Three"), "A One, B Two, C Three"),
        (("A One", "B Two", "C Three", "D Four"), "A One, B Two … D Four (4 authors)"),
        (tuple(f"N {n}" for n in range(90)), "N 0, N 1 … N 89 (90 authors)"),
    ],
)
def test_authors_are_shortened(authors: tuple[str, ...], text: str) -> None:
    assert wording.shorten_authors(authors) == text


def test_ordinals() -> None:
    numbers = 1, 2, 3, 4, 11, 13, 21, 112, 1_123
    written = "1st 2nd 3rd 4th 11th 13th 21st 112th 1,123rd"
    assert " ".join(map(wording.format_ordinal, numbers)) == written


UNDATED = {"published": None, "keys": {}}
LISTED = (ListedDay(date(2025, 3, 14), "page", year_guessed=True),)


# It fails since before the digest that came before this one.
UNREAD = SourceReport("down", 0, 0, NOW - timedelta(days=9), NOW - timedelta(days=8), "HTTP 503")
ASKED = SourceReport("checks", 60, 3, NOW, title="Crossref", announces=False)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"announced": datetime(2026, 11, 20, 20, 0, tzinfo=UTC)}, "19 Nov 2026"),
        (UNDATED | {"announced": datetime(2026, 11, 20, 20, 0, tzinfo=UTC)}, "21 Nov 2026"),
        ({"published": datetime(2024, 10, 1, tzinfo=UTC), "precision": "month"}, "Oct 2024"),
        (UNDATED | {"keys": {"arxiv": "2410.05434"}}, "Oct 2024"),
        (UNDATED | {"keys": {"arxiv": ("none", "hep-th/9912001")}}, "Dec 1999"),
        (UNDATED | {"keys": {"arxiv": "hep-th/9912001"}, "year": 2001}, "2001"),
        (UNDATED | {"year": 2014}, "2014"),
        ({"published": datetime(2014, 1, 1, tzinfo=UTC), "precision": "bound"}, "seen 20 Nov 2026"),
        ({"published": datetime(9999, 12, 31, 23, tzinfo=UTC)}, "31 Dec 9999"),
        ({"published": datetime(1, 1, 1, tzinfo=UTC)}, "1 Jan 1"),
        (UNDATED, "seen 20 Nov 2026"),
        (UNDATED | {"listed": LISTED}, "listed 14 Mar 2025"),
        (UNDATED | {"listed": (ListedDay(date(2026, 3, 14), "page", True),)}, "listed 14 Mar"),
        ({"listed": LISTED}, "19 Nov 2026, listed 14 Mar 2025"),
        ({"listed": (*LISTED, ListedDay(date(2026, 5, 3), "b"))}, "19 Nov 2026, listed 3 May"),
        (UNDATED | {"listed": (ListedDay(date(2024, 3, 14), "page"),)}, "listed 14 Mar 2024"),
    ],
)
def test_a_paper_has_its_own_date_and_the_last_day_of_a_list_or_the_day_it_was_seen(
    changes: dict[str, object], text: str
) -> None:
    paper = structs.replace(PAPER, **changes)  # type: ignore[arg-type]
    assert wording.format_date(entry_of(paper), "Asia/Tokyo") == text


def test_the_words_found_are_named_once_and_not_without_end() -> None:
    words = ("Agents", "agent", "AGENT", *(f"w{n}" for n in range(20)))
    entry = entry_of()
    matched = structs.replace(
        entry.matched[0], why=(MatchReason("abstract", words), MatchReason("source", ()))
    )
    (found,) = wording.matched_topics(structs.replace(entry, matched=(matched,)))
    assert found.fields == (("abstract", "Agents, w0, w1, w2, w3, w4, w5, w6 …"),)


def test_the_report_says_what_was_read() -> None:
    made = digest([news()])
    assert wording.reading(made) == "Read since Thu 19 Nov 08:00: 298 papers in 1 source; 229 new"
    assert wording.summary(made) == "1 paper in 1 topic since Thu 19 Nov 08:00"
    first = replace(made, covers_from=None)
    assert wording.reading(first) == "Read: 298 papers in 1 source; 229 new"
    assert wording.summary(digest([])) == "No new papers for your topics since Thu 19 Nov 08:00"


@pytest.mark.parametrize("text", ["word " * 40, "漢字" * 80, "x" * 300, "漢字 and word " * 30, ""])
def test_wrapped_lines_keep_their_width_and_lose_nothing(text: str) -> None:
    lines = wording.wrap(text.strip(), 40, "  ")
    # A wide letter at the end of a broken word may take a column more.
    wide = [sum(2 if letter in "漢字" else 1 for letter in line) for line in lines]
    assert max(wide, default=0) <= 41
    assert all(line.startswith("  ") for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_no_break_spaces_hold_a_line_together() -> None:
    assert wording.wrap("aaa bbb\u00a0…", 8) == ["aaa", "bbb\u00a0…"]


DAY = timedelta(days=1)


def test_a_subject_names_the_topics_and_how_many_papers_each_has() -> None:
    made = digest(
        [news(number=n, topic=topic) for n, topic in enumerate("edcbbaaa")], period="2026-11-21"
    )
    assert about.subject(made) == "8 papers: a 3, b 2, c 1, 2 more topics · 21 Nov"
    assert contents(made) == "a 3 · b 2 · c 1 · d 1 · e 1"


def test_a_digest_is_called_by_its_title_or_by_how_many_papers_it_has() -> None:
    assert about.name_digest(digest([news()])) == "1 new paper"
    assert about.name_digest(digest([])) == "No new papers"
    named = digest([news()], about=AboutSubscription(title="Agents"))
    assert about.name_digest(named) == "Agents"


NEW = ChangeKind.NEW
OLDER = ChangeKind.OLDER
REVISED = ChangeKind.REVISED
WITHDRAWN = ChangeKind.WITHDRAWN


@pytest.mark.parametrize(
    ("kinds", "heading", "subject", "summary"),
    [
        ([WITHDRAWN], "1 withdrawn paper", "1 withdrawn paper: marl", "1 withdrawn paper in"),
        ([REVISED] * 2, "2 revised papers", "2 revised papers: marl", "2 revised papers in"),
        ([NEW, OLDER], "2 new papers", "2 papers: marl", "2 papers in"),
        (
            [WITHDRAWN, NEW, REVISED, NEW],
            "4 papers: 2 new, 1 revised, 1 withdrawn",
            "4 papers: marl",
            "4 papers in",
        ),
    ],
)
def test_a_digest_without_new_papers_says_what_it_has(
    kinds: list[ChangeKind], heading: str, subject: str, summary: str
) -> None:
    made = digest([news(number=n, kind=kind) for n, kind in enumerate(kinds)])
    assert about.name_digest(made) == heading
    assert about.subject(made) == f"{subject} · 21 Nov"
    assert wording.summary(made).startswith(f"{summary} 1 topic")
    titled = replace(made, about=AboutSubscription(title="Agents"))
    assert about.opening(titled) == f"{summary.removesuffix(' in')} since Thu 19 Nov 08:00"
    [group] = made.groups
    left_out = replace(made, groups=(replace(group, more=7),))
    assert ":" not in about.name_digest(left_out)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {},
            "Read: 298 papers from daily-page since Thu 19 Nov 08:00, 229 new; "
            "last on Sat 21 Nov 07:00 (Tokyo).",
        ),
        ({"report": ()}, "No source has been read yet."),
        (
            {"report": [replace(REPORT[0], title=title) for title in "ABC"], "covers_from": None},
            "Read: 894 papers from A, B and C, 687 new; last on Sat 21 Nov 07:00 (Tokyo).",
        ),
        (
            {"report": REPORT * 4, "covers_from": None},
            "Read: 1,192 papers from 4 sources, 916 new; last on Sat 21 Nov 07:00 (Tokyo).",
        ),
        (
            {"report": [*REPORT, UNREAD, SourceReport("new", 0, 0, None)]},
            "Read: 298 papers from daily-page since Thu 19 Nov 08:00, 229 new; "
            "last on Sat 21 Nov 07:00 (Tokyo).",
        ),
        ({"report": [UNREAD]}, "No source has been read since Thu 19 Nov 08:00."),
        (  # what only knows of one's own references has read no papers
            {"report": [*REPORT, ASKED]},
            "Read: 298 papers from daily-page since Thu 19 Nov 08:00, 229 new; "
            "last on Sat 21 Nov 07:00 (Tokyo). Crossref was asked about your references.",
        ),
        (
            {"report": [ASKED, replace(ASKED, title="PubMed")], "covers_from": None},
            "No source has been read yet. Crossref and PubMed were asked about your references.",
        ),
        (
            {"report": [UNREAD, *[ASKED] * 4]},
            "No source has been read since Thu 19 Nov 08:00. "
            "4 services were asked about your references.",
        ),
        (
            {"report": [*REPORT, replace(ASKED, last_read=UNREAD.last_read)]},
            "Read: 298 papers from daily-page since Thu 19 Nov 08:00, 229 new; "
            "last on Sat 21 Nov 07:00 (Tokyo).",
        ),
    ],
)
def test_one_sentence_says_what_was_read(changes: dict[str, object], text: str) -> None:
    assert about.what_was_read(digest([news()], **changes)) == text


def test_a_source_that_announces_nothing_is_none_that_was_read() -> None:
    asked = digest([news()], report=(*REPORT, ASKED))
    assert wording.reading(asked) == wording.reading(digest([news()], report=REPORT))


NOTICE = structs.replace(PAPER, title="Retraction notice: Learning a multi-agent policy")


def test_the_archive_counts_notices_as_the_mail_does() -> None:
    assert wording.format_news(13, 0, 1) == "12 papers and 1 notice"
    assert wording.format_news(2, 1, 2) == "2 notices, 1 change of references"
    assert wording.format_news(3, 1) == "3 papers, 1 change of references"
    assert (wording.format_news(0, 0), wording.format_news(0, 2)) == (
        "0 papers",
        "2 changes of references",
    )


@pytest.mark.parametrize(
    ("kinds", "notices", "heading", "counted"),
    [
        ("n", 1, "1 new paper and 1 notice", "1 paper and 1 notice"),
        ("nn", 0, "2 new papers", "2 papers"),
        ("", 2, "2 notices", "2 notices"),
        ("w", 1, "1 withdrawn paper and 1 notice", "1 withdrawn paper and 1 notice"),
        ("nnw", 2, "3 papers: 2 new, 1 withdrawn; 2 notices", "3 papers and 2 notices"),
    ],
)
def test_a_notice_is_counted_beside_the_papers(
    kinds: str, notices: int, heading: str, counted: str
) -> None:
    of = {"n": ChangeKind.NEW, "w": ChangeKind.WITHDRAWN}
    papers = [(PAPER, of[kind]) for kind in kinds] + [(NOTICE, ChangeKind.NEW)] * notices
    made = digest([news(one, number=n, kind=kind) for n, (one, kind) in enumerate(papers, 1)])
    assert about.name_digest(made) == heading
    assert about.subject(made).startswith(f"{counted}: marl")
    assert wording.summary(made).startswith(f"{counted} in 1 topic")
    titled = digest(
        [news(one, number=n, kind=kind) for n, (one, kind) in enumerate(papers, 1)],
        about=AboutSubscription("Agents"),
    )
    assert about.opening(titled).startswith(counted)


def warned(kind: str) -> SourceReport:
    return SourceReport("rxiv", 9, 0, NOW, troubles=(SourceWarning(kind, NOW - DAY, "2 of 9"),))


LAST = "last read Sat 21 Nov 08:00"


@pytest.mark.parametrize(
    ("source", "text", "note"),
    [
        (SourceReport("rxiv", 1204, 1, NOW), f"1,204 papers, 1 new; {LAST}", ""),
        (SourceReport("rxiv", 0, 0, NOW), f"nothing new; {LAST}", ""),
        (SourceReport("rxiv", 0, 0, None), "not read yet", "rxiv has not been read yet."),
        (
            SourceReport("rxiv", 0, 0, NOW - 4 * DAY, NOW - 3 * DAY, "HTTP 503", title="bioRxiv"),
            "failing since Wed 18 Nov 08:00: HTTP 503; last read Tue 17 Nov 08:00",
            "bioRxiv has not been readable since Wednesday; its news will follow.",
        ),
        (  # a folder of which some files are bad
            SourceReport("rxiv", 78, 5, NOW, NOW - 3 * DAY, "a.txt: the document is empty"),
            f"failing since Wed 18 Nov 08:00: a.txt: the document is empty; {LAST}",
            "Part of rxiv has not been readable since Wednesday; its news will follow.",
        ),
        (
            SourceReport("rxiv", 0, 0, None, NOW - 30 * DAY, "HTTP 503"),
            "failing since Thu 22 Oct 08:00: HTTP 503",
            "rxiv has not been readable since 22 Oct; its news will follow.",
        ),
        (
            warned("thin"),
            f"9 papers, 0 new; {LAST}; thin since Fri 20 Nov 08:00: 2 of 9",
            "rxiv has brought fewer papers than usual since Friday.",
        ),
        (
            warned("new"),
            f"9 papers, 0 new; {LAST}; new since Fri 20 Nov 08:00: 2 of 9",
            "rxiv has been out of order since Friday.",
        ),
    ],
)
def test_quiet_and_broken_sources_never_look_alike_and_readers_get_no_details(
    source: SourceReport, text: str, note: str
) -> None:
    assert wording.source_line(source, "Asia/Tokyo") == text
    assert about.digest_notes(digest([], report=(source,))) == [*filter(None, [note])]


def test_notes_are_neither_long_nor_many() -> None:
    notes = about.digest_notes(digest([], notes=("x" * 5_000,) * 90))
    assert len(notes) < 12 and max(map(len, notes)) <= 400
    assert notes[-1] == "And 82 more notes."


def test_remarks_are_no_problems_also_in_digests_of_earlier_versions() -> None:
    parked = "The topic “x” is parked."
    ordered = "Sorted by 3 papers that you marked."
    now = digest([], notes=(parked, ordered), remarks=(ordered,))
    before = digest([], notes=("Ordered by 3 papers you marked.", "Left out: 1 paper.", parked))
    assert list(map(about.is_problem, about.digest_notes(now))) == [True, False]
    assert list(map(about.is_problem, about.digest_notes(before))) == [False, False, True]


def test_a_reader_learns_why_a_digest_came() -> None:
    few = AboutSubscription("", ("agents", "RL"), "weekdays 08:00")
    assert about.because(digest([], about=few)) == (
        "You get this because you are subscribed to agents and RL. "
        "It is sent every weekday at 08:00 (Tokyo)."
    )
    many = AboutSubscription("Agents", tuple("abcdefg"), "daily 08:00")
    assert about.because(digest([], about=many)) == (
        "You get this because you are subscribed to “Agents”: a, b, c, d and 3 more topics. "
        "It is sent every day at 08:00 (Tokyo)."
    )
    # Changes of references are no topic, whether a digest says so or, of 0.2.0, lists them as one.
    four = ("a", "b", "c", "d")
    guarded = AboutSubscription("", four, "daily 08:00", guards=True)
    before = AboutSubscription("", (*four, "changes of your references"), "daily 08:00")
    for one in (guarded, before):
        assert about.because(digest([], about=one)).startswith(
            "You get this because you are subscribed to "
            "a, b, c, d and changes of your references. It is sent"
        )
    five = replace(guarded, topics=(*four, "e"))
    assert "a, b, c, d, 1 more topic and changes of your" in about.because(digest([], about=five))
    alike = AboutSubscription("Agents", ("Agents",), "daily 08:00")
    assert about.because(digest([], about=alike)).startswith(
        "You get this because you are subscribed to Agents. "
    )
    assert about.because(digest([])) == "", "an older digest does not know"


@pytest.mark.parametrize(
    ("schedule", "zone", "words"),
    [
        ("immediately", "Europe/Berlin", "as soon as there is news"),
        ("daily 8:05", "UTC", "every day at 08:05 (UTC)"),
        ("weekdays 08:00", "America/New_York", "every weekday at 08:00 (New York)"),
        ("mon 07:00", "Asia/Tokyo", "Mondays at 07:00 (Tokyo)"),
        ("thu+mon+sat 07:00", "Etc/GMT+5", "Mondays, Thursdays and Saturdays at 07:00 (Etc/GMT+5)"),
        ("sat-mon 07:00", "UTC", "Mondays, Saturdays and Sundays at 07:00 (UTC)"),
        ("monthly 1 08:00", "UTC", "on the 1st of each month at 08:00 (UTC)"),
        ("monthly 12 08:00", "UTC", "on the 12th of each month at 08:00 (UTC)"),
        ("monthly 22 08:00", "UTC", "on the 22nd of each month at 08:00 (UTC)"),
        ("monthly 30 08:00", "UTC", "on the 30th of each month, or its last day, at 08:00 (UTC)"),
        ("monthly 31 08:00", "UTC", "on the last day of each month at 08:00 (UTC)"),
        ("0 8 31 * *", "UTC", "on the 31st of each month that has one at 08:00 (UTC)"),
        ("0 8 28 * *", "UTC", "on the 28th of each month at 08:00 (UTC)"),
        ("30 9 * * mon-fri", "UTC", "every weekday at 09:30 (UTC)"),
        ("0 18,6 * * *", "UTC", "every day at 06:00 and 18:00 (UTC)"),
        ("0 */4 * * *", "UTC", "by the cron line 0 */4 * * * (UTC)"),
        ("0 8 1 * mon", "UTC", "by the cron line 0 8 1 * mon (UTC)"),
        ("0 8 * * mon#1", "UTC", "by the cron line 0 8 * * mon#1 (UTC)"),
        ("0 8 1,15 * *", "UTC", "by the cron line 0 8 1,15 * * (UTC)"),
        ("0 8 1 5 *", "UTC", "by the cron line 0 8 1 5 * (UTC)"),
        ("whenever", "UTC", "whenever (UTC)"),
    ],
)  # fmt: skip
def test_a_schedule_is_written_in_words(schedule: str, zone: str, words: str) -> None:
    assert about.describe_schedule(schedule, zone) == words


@pytest.mark.parametrize(
    ("period", "short", "full"),
    [
        ("2026-11-21", "21 Nov", "Saturday 21 November 2026"),
        ("2026-11-23", "21 Nov 08:00", "Saturday 21 November 2026, 08:00"),  # ahead of its day
        ("2026-11-20", "21 Nov 08:00", "Saturday 21 November 2026, 08:00"),  # made up for
        ("2026-11-21T07:30", "21 Nov 08:00", "Saturday 21 November 2026, 08:00"),
        ("12", "21 Nov 08:00", "Saturday 21 November 2026, 08:00"),  # as soon as there is news
    ],
)
def test_a_digest_is_dated_by_when_it_was_composed(period: str, short: str, full: str) -> None:
    made = digest([news()], period=period, due_at=NOW + 2 * DAY)
    assert about.subject(made).endswith(f" · {short}")
    assert wording.full_date(made, made.timezone) == full
    assert wording.short_date(made, "UTC").startswith("20 Nov"), "another day in another zone"


TITLE = "Agents & “plans” for 100% of café robots"


def link_of(paper: Paper, search: str = "") -> tuple[str, str]:
    found = links.title_link(entry_of(paper).paper, search)
    return found.url, found.search


def more(paper: Paper) -> dict[str, str]:
    return {link.text: link.url for link in links.more_links(entry_of(paper))}


def test_links_of_the_text_are_named_by_what_they_are() -> None:
    paper = Paper(
        "Plans (project page: plans.github.io)",
        "Code: https://github.com/a/plans and https://github.com/a/tools. The data are at "
        "https://doi.org/10.5281/zenodo.1 or https://www.zenodo.org/records/1. It is available at "
        "https://www.plans.example.edu/all. Code: http://GitHub.com/A/Plans/.",
        url="https://plans.github.io/",
        pdf_url="https://x.org/1.pdf",
        keys={"doi": "10.5281/zenodo.1"},
        links={"video": "https://youtu.be/1", "demo": "javascript:alert(1)"},
    )
    assert more(paper) == {
        "PDF": "https://x.org/1.pdf",
        "DOI 10.5281/zenodo.1": "https://doi.org/10.5281/zenodo.1",
        "video": "https://youtu.be/1",
        "code": "https://github.com/a/plans",
        "code 2": "https://github.com/a/tools",
        "data": "https://www.zenodo.org/records/1",
        "plans.example.edu": "https://www.plans.example.edu/all",
    }


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/a/plans", "code"),
        ("https://www.gitlab.com/a/plans", "code"),
        ("https://huggingface.co/a/plans", "code"),
        ("https://github.com:443/a/plans", "code"),
        ("https://github.com.evil.example/a/plans", "code (github.com.evil.example)"),
        ("https://gitlab.evil.example/a/plans", "code (gitlab.evil.example)"),
        ("https://github.com@evil.example/a/plans", "code (evil.example)"),
        ("https://xn--gthub-n4a.com/a/plans", "code (xn--gthub-n4a.com)"),
        ("https://g\u0131thub.com/a/plans", "code (xn--gthub-n4a.com)"),
        ("https://" + 70 * "\u0131" + ".com/", "code (" + 70 * r"\u0131" + ".com)"),
        ("https://bit.ly/plans", "code (bit.ly)"),
        ("https://plans.github.io/", "code (plans.github.io)"),
    ],
)
def test_code_on_a_host_that_is_no_known_forge_is_named_with_the_host(
    address: str, name: str
) -> None:
    assert more(Paper("Plans", links={"code": address})) == {name: address}


def test_a_link_whose_host_a_browser_reads_differently_is_not_shown() -> None:
    assert more(Paper("Plans", links={"code": "https://evil.example\\@github.com/a"})) == {}


def test_six_links_are_shown_beside_a_title() -> None:
    paper = Paper("Plans", " ".join(f"Code: https://github.com/a/{n}." for n in range(9)))
    assert len(links.own_links(entry_of(paper))) == 6


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"url": "https://x.org/1", "keys": {"arxiv": "2410.00001"}}, "https://x.org/1"),
        ({"keys": {"arxiv": "2410.00001"}}, "https://arxiv.org/abs/2410.00001"),
        ({"keys": {"arxiv": ("cs/0101001", "2410.00001")}}, "https://arxiv.org/abs/cs/0101001"),
        ({"keys": {"doi": "10.1002/(x)<1::a>"}}, "https://doi.org/10.1002/(x)%3C1::a%3E"),
        ({"keys": {"openreview": "a-B_1"}}, "https://openreview.net/forum?id=a-B_1"),
        ({"keys": {"pmid": "123"}}, "https://pubmed.ncbi.nlm.nih.gov/123/"),
        ({"pdf_url": "https://x.org/1.pdf"}, "https://x.org/1.pdf"),
        ({"url": "javascript:alert(1)", "keys": {"pmid": "1"}}, "https://pubmed.ncbi.nlm.nih.gov/1/"),
    ],
)  # fmt: skip
def test_a_title_leads_to_the_paper(fields: dict[str, object], url: str) -> None:
    assert link_of(Paper(TITLE, **fields)) == (url, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("search", "site", "begin"),
    [
        (
            "huggingface",
            "Hugging Face",
            "https://huggingface.co/papers?q=Agents+%26+%E2%80%9Cplans",
        ),
        ("arxiv", "arXiv", "https://arxiv.org/search/?searchtype=title&query=Agents+%26+"),
        ("google-scholar", "Google Scholar", "https://scholar.google.com/scholar?q=%22Agents+"),
        ("", "Google Scholar", "https://scholar.google.com/scholar?q=%22Agents+"),
    ],
)
def test_a_paper_without_a_link_leads_to_a_search_that_is_named(
    search: str, site: str, begin: str
) -> None:
    url, named = link_of(Paper(TITLE), search)
    assert (url[: len(begin)], named) == (begin, site)
    assert "100%25" in url and url.isascii()


def test_what_belongs_to_a_paper_is_linked_and_named() -> None:
    paper = Paper(
        TITLE,
        keys={"arxiv": "2410.00001", "doi": "10.1/x"},
        links={"code": "https://github.com/a/b", "project": "javascript:alert(1)"},
    )
    assert more(paper) == {
        "PDF": "https://arxiv.org/pdf/2410.00001",
        "arXiv 2410.00001": "https://arxiv.org/abs/2410.00001",
        "DOI 10.1/x": "https://doi.org/10.1/x",
        "code": "https://github.com/a/b",
    }
    assert more(structs.replace(paper, pdf_url="https://x.org/p"))["PDF"] == "https://x.org/p"
    assert more(Paper(TITLE)) == {}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        " https://example.org",
        "https://example.org/a b",
        "https://example.org/\u202eb",
        "java\nscript:alert(1)",
        "data:text/html,<script>",
        "//example.org/x",
        "https://",
        "https://[::1",
        "ftp://example.org",
        "https://example.org/" + "x" * 2000,
    ],
)
def test_W04_only_http_urls_are_linked_to(url: str) -> None:
    assert links.web_url(url) == ""


# ── the reason, where it says something ─────────────────────────────────────────────

GNN = structs.replace(
    PAPER,
    title="A GNN for molecules",
    abstract="Molecules are graphs. Graph neural networks (GNNs) are known. "
    "We propose a GNN that is deep and fast on nine benchmarks.",
)
LONG_FORM = "GNN (Graph neural networks)"


def reason(*matched: TopicWhy, paper: Paper = GNN) -> str:
    return wording.short_why(structs.replace(entry_of(paper), matched=matched))


def test_digests_frozen_before_have_the_whole_reason() -> None:
    frozen = MatchReason("title", ("GNN",), ((2, 5),), (LONG_FORM,))
    entry = structs.replace(entry_of(GNN), matched=(TopicWhy("graphs", (frozen,)),))
    assert wording.short_why(entry) == ""
    before = f"graphs: {LONG_FORM} in the title"
    assert wording.short_why(structs.replace(entry, excerpt_rule=0)) == before


def test_digests_frozen_before_have_no_links_of_the_text_and_all_that_stood_below_a_title() -> None:
    links_of = "The code is at https://github.com/ada/gnn."
    paper = structs.replace(GNN, abstract=links_of, links={"project": "https://gnn.example.org/"})
    entry = entry_of(paper)
    sent = structs.replace(entry, excerpt_rule=0)
    assert [link.text for link in links.own_links(entry)] == ["project page", "code"]
    assert [link.text for link in links.own_links(sent)] == ["project page"]
    authors = wording.shorten_authors(paper.authors)
    assert wording.byline(sent, "UTC") == f"{authors} · {wording.place(sent, 'UTC')}"
    assert wording.byline(entry, "UTC") != wording.byline(sent, "UTC")


@pytest.mark.parametrize("field", ["votes", "lists", "source"])
def test_what_stands_beside_a_title_already_is_no_reason_of_its_own(field: str) -> None:
    shown_above = MatchReason(field, ("42",))
    assert reason(TopicWhy("often", (shown_above,))) == ""
    other = MatchReason("venue", ("Nature",))
    assert reason(TopicWhy("often", (shown_above, other))) == "Nature in the venue"


def title_reason(word: str, paper: Paper = GNN, *abbreviations: str) -> MatchReason:
    start = paper.title.index(word)
    spans = ((start, start + len(word)),)
    return MatchReason("title", (word,), spans, (*abbreviations, word), abbreviations)


def test_no_reason_is_given_where_the_marks_show_it() -> None:
    assert reason(TopicWhy("graphs", (title_reason("molecules"),), "Graphs")) == ""
    assert reason() == ""


def test_the_marks_of_another_topic_do_not_show_why_it_is_in_this_one() -> None:
    hidden = MatchReason("abstract", ("networks",), (), ("networks",))
    other = TopicWhy("chemistry", (title_reason("molecules"),), "Chemistry")
    assert reason(TopicWhy("nets", (hidden,), "Nets"), other) == (
        "networks in the abstract · also matches Chemistry"
    )


def test_the_words_of_a_title_are_a_reason_where_titles_have_no_marks() -> None:
    entry = entry_of(GNN)
    in_title = TopicWhy("graphs", (title_reason("molecules"),))
    only = structs.replace(entry, matched=(in_title,))
    assert wording.short_why(only) == ""
    assert wording.short_why(only, marked_title=False) == "molecules in the title"
    deep = GNN.abstract.index("deep")
    abstract = MatchReason("abstract", ("deep",), ((deep, deep + 4),), ("deep",))
    both = structs.replace(entry, matched=(TopicWhy("graphs", (*in_title.why, abstract)),))
    assert wording.short_why(both, marked_title=False) == ""


def test_the_other_topics_of_a_paper_are_named_and_never_its_heading() -> None:
    why = (title_reason("molecules"),)
    others = [TopicWhy(name, why, name.upper()) for name in ("b", "c", "d", "e", "f")]
    assert reason(TopicWhy("a", why, "A"), others[0]) == "also matches B"
    assert reason(TopicWhy("a", why, "A"), *others) == "also matches B, C, D, 2 more topics"


def test_an_abbreviation_is_explained_unless_the_text_shown_does_it() -> None:
    topic = TopicWhy("graphs", (title_reason("GNN", GNN, LONG_FORM),))
    assert reason(topic) == LONG_FORM
    assert reason(topic, TopicWhy("b", topic.why)) == f"{LONG_FORM} · also matches b"
    shown = structs.replace(GNN, abstract="We propose deep graph neural networks (GNNs).")
    assert reason(topic, paper=shown) == ""


def test_each_part_of_an_and_is_named_and_of_the_others_as_many_as_make_three() -> None:
    named = MatchReason("title", (), terms=("b", "c", "d"), required=("c",))
    in_abstract = MatchReason("abstract", (), terms=("e", "as", "f"), required=("as",))
    labels = MatchReason("category", ("cs.AI", "cs.LG"), required=("cs.LG",))

    def line(*why: MatchReason) -> str:
        return wording.why_line(structs.replace(entry_of(GNN), matched=(TopicWhy("t", why),)))

    assert line(named, in_abstract) == "t: b, c in the title; as in the abstract"
    parts = "t: c in the title; as in the abstract; category cs.LG"
    assert line(named, in_abstract, labels) == parts
    many = MatchReason("title", (), terms=tuple("abcde"), required=tuple("abde"))
    assert line(many, in_abstract) == "t: a, b, d, e in the title; as in the abstract"
    same = MatchReason("abstract", (), terms=("agents",), required=("agents",))
    cut = structs.replace(named, terms=("b", "c", "d", "agent"))
    assert line(cut, same) == "t: b, c, agent in the title", "said in one form"
    old = structs.replace(named, required=())
    assert line(old, structs.replace(in_abstract, required=())) == "t: b, c, d in the title"


def test_the_words_of_a_field_are_cut_around_those_that_are_required() -> None:
    words = tuple(f"w{n}" for n in range(12))
    why = MatchReason("title", words, required=("w11 (all of it)",))
    (found,) = wording.matched_topics(
        structs.replace(entry_of(GNN), matched=(TopicWhy("t", (why,)),))
    )
    assert found.fields == (("title", "w0, w1, w2, w3, w4, w5, w6, w11 …"),)


def test_where_nothing_shown_is_marked_the_words_are_named_in_one_form() -> None:
    why = (
        MatchReason("abstract", ("agents", "agent"), terms=("agents", "agent")),
        MatchReason("author", ("Ada One",)),
    )
    assert reason(TopicWhy("a", why, "Agents of A")) == "agents in the abstract; author Ada One"


def test_a_paper_listed_by_title_has_what_is_known_below_it_or_nothing() -> None:
    assert wording.byline(entry_of(), "UTC") == "Ada One, Bo Two, Cy Three · 19 Nov 2026"
    bare = structs.replace(PAPER, authors=(), published=None, keys={}, listed=LISTED)
    assert wording.byline(entry_of(bare), "UTC") == ""


def test_the_number_of_papers_stands_once_in_heading_and_opening() -> None:
    one = digest([news()])
    two = digest([news(), news(number=2, topic="rl")])
    assert (about.name_digest(one), about.opening(one)) == ("1 new paper", "Since Thu 19 Nov 08:00")
    assert about.opening(two) == "In 2 topics since Thu 19 Nov 08:00"
    titled = replace(two, about=AboutSubscription(title="Ada"))
    assert about.opening(titled) == "2 papers in 2 topics since Thu 19 Nov 08:00"
    assert about.opening(replace(one, covers_from=None)) == ""
    assert about.opening(digest([])) == wording.summary(digest([]))
    assert about.subject(one) == "1 paper: marl · 21 Nov"


def test_the_words_of_a_text_are_named_as_the_readers_own() -> None:
    title = MatchReason(
        "title", ("Browser", "agents"), (), ("Browser", "agents"), near=("Browser", "agents")
    )
    abstract = MatchReason(
        "abstract", ("browsers", "GUI", "web"), (), ("GUI", "web"), near=("GUI", "web")
    )
    entry = structs.replace(entry_of(GNN), matched=(TopicWhy("surf", (title, abstract), "Surf"),))
    assert wording.why_line(entry) == "Surf: Browser, agents, GUI, …: four of your words"
    assert wording.short_why(entry) == "Browser, agents, GUI, …: four of your words"
    [found] = wording.matched_topics(entry)
    assert (found.near, found.fields) == ("Browser, agents, GUI, web: four of your words", ())
    safe = MatchReason(
        "abstract", ("safe", "GUI"), (), ("safe", "GUI"), required=("safe",), near=("GUI",)
    )
    both = structs.replace(entry, matched=(TopicWhy("surf", (safe,)),))
    assert wording.why_line(both) == "surf: safe in the abstract; GUI: one of your words"
    [found] = wording.matched_topics(both)
    assert (found.near, found.fields) == ("GUI: one of your words", (("abstract", "safe"),))


@pytest.mark.parametrize(
    ("a_day", "said"),
    [
        (0.0, ""),
        (0.004, "one in 250 days"),
        (0.4, "one in 2 days"),
        (0.66, "one in 2 days"),
        (0.857, "0.9 a day"),
        (1.0, "1 a day"),
        (3.24, "3.2 a day"),
        (1_234.5, "1,234 a day"),
    ],
)
def test_a_rate_is_said_as_papers_a_day_or_days_a_paper(a_day: float, said: str) -> None:
    assert wording.format_rate(a_day) == said
