"""Sources that are asked about the works of libraries: what they say is told, and never stored."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from monitor.model import ReferenceChange, RunOutcome
from monitor.pipeline.ingest import is_due
from monitor.store.papers import papers
from monitor.store.sources import runs
from tests.house import AGENTS, House
from tests.servers.web import Answer, MisbehavingServer
from tests.servers.works import Work, crossref, pubmed, update, work
from tests.sources.libraries import article

RETRACTED = ReferenceChange.RETRACTED
CORRECTED = ReferenceChange.CORRECTED
CONCERN = ReferenceChange.CONCERN
PUBLISHED = ReferenceChange.PUBLISHED

MOVES = {"title": "How Sand Moves in the Wind", "authors": ["Ada Byron"], "doi": "10.1000/moves"}
SINGS = {"title": "Why Some Dunes Sing at Night", "authors": ["Bo Li"], "doi": "10.1000/sings"}


@pytest.fixture
def watched(house: House, web: MisbehavingServer) -> House:
    (house.folder / "refs").mkdir()
    server = {"url": web.url(""), "allow_private": True, "every": "7d"}
    house.settings["sources"] |= {
        "ada-refs": {"kind": "jsonl", "path": "refs/ada.jsonl", "role": "library"},
        "bo-refs": {"kind": "jsonl", "path": "refs/bo.jsonl", "role": "library"},
        "watch": {"kind": "crossref", "about": "ada-refs", **server},
    }
    house.settings["subscriptions"]["lab"]["guard"] = "ada-refs"
    have(house, SINGS, name="bo")
    return house


def have(house: House, *records: dict[str, Any], name: str = "ada") -> None:
    text = "".join(json.dumps(one) + "\n" for one in records)
    (house.folder / "refs" / f"{name}.jsonl").write_text(text, encoding="utf-8")


def told(house: House) -> list[tuple[ReferenceChange, str, str]]:
    """What the next digest says: of which reference, by which notice or in which journal."""
    house.run()
    house.next_morning()
    return [(event.change, event.work.title, event.after) for event in house.digest().references]


def of_watch(house: House) -> tuple[str, str, int]:
    """The outcome, the error and the records of the last run."""
    [run] = house.read(runs.newest_of_source, "watch", 1)
    return run.outcome, run.error, run.seen


def problems(house: House) -> list[str]:
    return [text for text in house.problems() if "watch" in text]


def due(house: House) -> bool:
    with house.opened() as app:
        return is_due(app.runtime, "watch")


def retracted(**more: object) -> Work:
    notices = [update("correction", "10.1000/c"), update("retraction", "10.1000/r")]
    return work("10.1000/moves", MOVES["title"], **{"updated-by": notices, **more})


def test_what_crossref_says_of_a_reference_is_told_once_and_stored_nowhere(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES, SINGS, {"title": "A talk without an identifier"})
    crossref(web, work("10.1000/moves", MOVES["title"]), work("10.1000/sings", SINGS["title"]))
    assert told(watched) == []
    crossref(web, retracted(), work("10.1000/sings", SINGS["title"]))
    assert told(watched) == [
        (RETRACTED, MOVES["title"], "doi:10.1000/r"),
        (CORRECTED, MOVES["title"], "doi:10.1000/c"),
    ]
    assert told(watched) == []
    assert of_watch(watched) == ("ok", "", 4)
    with watched.opened() as app, app.runtime.database.reading() as tx:
        assert papers.count(tx) == 0


def test_a_notice_that_another_source_says_is_retracted_is_told_to_nobody(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    about = {"title": "Note", "type": "retraction", "about": {"doi": "10.1000/c"}}
    (watched.folder / "news.jsonl").write_text(json.dumps(about), encoding="utf-8")
    watched.settings["sources"]["news"] = {"kind": "jsonl", "path": "news.jsonl"}
    crossref(web)
    watched.run()
    corrected = {"updated-by": [update("correction", "10.1000/c")]}
    crossref(web, work("10.1000/moves", MOVES["title"], **corrected))
    assert told(watched) == []


def test_each_notice_under_the_doi_of_its_work_is_told(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    days = [{"updated": {"date-parts": [[2025, 3, day]]}} for day in (4, 4, 5)]
    notices = [update("erratum", "10.1000/moves", **day) for day in days]
    crossref(web, work("10.1000/moves", MOVES["title"], **{"updated-by": notices}))
    told(watched)
    dated = [event.dated for event in watched.digest().references]
    assert dated == ["2025-03-04", "2025-03-05"]


def test_only_the_named_libraries_are_asked_about(watched: House, web: MisbehavingServer) -> None:
    have(watched, MOVES)
    crossref(web)
    watched.run()
    assert [request.query["filter"] for request in web.requests] == ["doi:10.1000/moves"]


def test_works_that_were_not_asked_for_are_told_to_nobody(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    near = {"updated-by": [update("retraction", "10.1000/r")]}
    items = [work("10.1000/other", "How Sand Moves in the Sea", **near)]
    body = json.dumps({"message": {"items": items}}).encode()
    web.decides("*", lambda _: Answer(body=body))
    assert told(watched) == []


def test_a_preprint_that_was_published_is_told_with_journal_and_date(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, {**MOVES, "doi": "10.1101/2025.01.01.123456", "venue": "bioRxiv"})
    relation = {"is-preprint-of": [{"id-type": "doi", "id": "10.1000/moves"}]}
    preprint = work("10.1101/2025.01.01.123456", MOVES["title"], relation=relation)
    journal = {"container-title": ["Journal of Sand"], "issued": {"date-parts": [[2026, 2, 1]]}}
    article = work("10.1000/moves", "Motion of Sand", **journal)
    crossref(web, preprint | {"type": "posted-content"}, article)
    assert told(watched) == [(PUBLISHED, MOVES["title"], "in Journal of Sand, doi:10.1000/moves")]
    [event] = watched.digest().references
    assert event.dated == "2026-02-01"


def test_pubmed_tells_of_references_that_have_a_doi_alone(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    watched.settings["sources"]["watch"]["kind"] = "pubmed"
    cited = {"ErratumIn": 8, "ExpressionOfConcernIn": None}
    records = {
        "1": article(1, str(MOVES["title"]), doi="10.1000/moves", refs=cited),
        "8": article(8, "Erratum", refs={"ErratumFor": 1}, types=["Published Erratum"]),
    }
    pubmed(web, records, {"10.1000/moves": "1"})
    assert told(watched) == [
        (CONCERN, MOVES["title"], f"Expression of concern: {MOVES['title']}"),
        (CORRECTED, MOVES["title"], "PubMed 8"),
    ]


def test_answers_in_files_are_read_for_the_named_libraries_alone(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    watched.settings["sources"]["watch"] = {
        "kind": "crossref",
        "about": "ada-refs",
        "path": "refs/*.json",
    }
    assert told(watched) == []
    answer = {"message": {"items": [retracted(), work("10.1000/sings", SINGS["title"])]}}
    (watched.folder / "refs" / "1.json").write_text(json.dumps(answer), encoding="utf-8")
    assert told(watched)[:1] == [(RETRACTED, MOVES["title"], "doi:10.1000/r")]
    assert of_watch(watched)[0] == "unchanged" and web.requests == []
    assert not due(watched)
    watched.clock.move(minutes=1)
    assert due(watched)
    with watched.opened() as app, app.runtime.database.reading() as tx:
        assert papers.count(tx) == 0


# ── when it is asked ────────────────────────────────────────────────────────────────


def test_it_is_asked_weekly_and_in_an_hour_about_what_is_left(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, *({"title": f"Grain {n}", "doi": f"10.1000/{n:03}"} for n in range(120)))
    crossref(web)
    answer = web._answers["*"]
    left = iter([answer, lambda _: Answer(429, headers={"Retry-After": "60"})])
    web.decides("*", lambda request: next(left)(request))
    watched.ingest()
    assert of_watch(watched)[0] == "failed" and len(web.requests) == 2
    watched.clock.move(minutes=59)
    assert not due(watched)
    watched.clock.move(minutes=1)
    assert due(watched)
    crossref(web)
    watched.ingest()
    assert [request.query["rows"] for request in web.requests[2:]] == ["50", "20"]
    watched.clock.move(days=7, seconds=-1)
    assert not due(watched)
    watched.clock.move(seconds=1)
    assert due(watched)
    watched.ingest()
    assert len(web.requests) == 7


def test_a_library_without_an_identifier_is_said_to_be_so(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, {"title": "A talk without an identifier"})
    watched.ingest()
    assert web.requests == []
    why = "not asked: no work in ada-refs has an identifier to ask for"
    assert of_watch(watched) == (RunOutcome.UNCHANGED, why, 0)
    watched.clock.move(hours=1)
    assert due(watched)
    assert problems(watched) == []


def test_who_guards_a_library_is_told_that_a_service_cannot_be_asked_about_it(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    watched.settings["subscriptions"]["eve"] = {"topics": ["*"], "channels": ["pages"]}
    web.decides("*", lambda _: Answer(500))
    watched.run()
    watched.next_morning(AGENTS)
    failing = {
        name: {read.source: bool(read.failing_since) for read in watched.digest(name).report}
        for name in ("lab", "eve")
    }
    assert failing == {"lab": {"page": False, "watch": True}, "eve": {"page": False}}


def test_a_source_that_is_asked_about_works_is_never_silent(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    crossref(web, work("10.1000/moves", MOVES["title"]))
    for _ in range(30):
        watched.ingest()
        watched.clock.at += timedelta(days=7)
    assert problems(watched) == []


# ── without an answer ───────────────────────────────────────────────────────────────

EMPTY = Answer(body=b"")
CUT_DOWN = Answer(body=b'{"message": {"items": [], "total-results": 5}}')
OTHERS = Answer(
    body=json.dumps({"message": {"items": [work("10.1000/other")], "total-results": 1}}).encode()
)
UNANSWERED = (
    "source watch has not answered about references since 2026-11-28 06:00 UTC: the last 2 times "
    "it was asked about 1 work (such as 10.1000/moves), it answered nothing, or about others"
)


def a_week_later(house: House) -> list[str]:
    house.clock.move(days=7)
    house.ingest()
    return problems(house)


@pytest.mark.parametrize("answer", [EMPTY, CUT_DOWN, OTHERS], ids=["empty", "cut down", "others"])
def test_a_service_that_does_not_answer_twice_is_a_problem_until_it_does(
    watched: House, web: MisbehavingServer, answer: Answer
) -> None:
    have(watched, MOVES)
    web.decides("*", lambda _: answer)
    watched.ingest()
    assert problems(watched) == []
    assert a_week_later(watched) == [UNANSWERED]
    assert a_week_later(watched) == [UNANSWERED]
    watched.run()
    [warning] = [read.troubles for read in watched.digest().report if read.source == "watch"]
    assert [trouble.kind for trouble in warning] == ["unanswered"]
    crossref(web, work("10.1000/moves", MOVES["title"]))
    assert a_week_later(watched) == []


def test_one_round_without_an_answer_is_no_problem(watched: House, web: MisbehavingServer) -> None:
    have(watched, MOVES)
    for _ in range(3):
        web.decides("*", lambda _: EMPTY)
        assert a_week_later(watched) == []
        crossref(web, work("10.1000/moves", MOVES["title"]))
        assert a_week_later(watched) == []


def test_a_source_that_is_asked_about_works_no_more_is_no_problem(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    web.decides("*", lambda _: EMPTY)
    watched.ingest()
    assert a_week_later(watched) == [UNANSWERED]
    del watched.settings["sources"]["watch"]["about"]
    watched.settings["sources"]["watch"]["query"] = "sand"
    web.decides("*", lambda _: OTHERS)
    assert a_week_later(watched) == []


def test_works_that_a_service_never_had_are_no_problem(
    watched: House, web: MisbehavingServer
) -> None:
    """DataCite's DOIs in Crossref, also with a comma; papers of physics in PubMed."""
    have(watched, MOVES, {"title": "A table", "doi": "10.5281/zenodo.7,1"})
    for kind, answers in (("crossref", crossref), ("pubmed", lambda web: pubmed(web, {}, {}))):
        watched.settings["sources"]["watch"]["kind"] = kind
        answers(web)
        assert [a_week_later(watched) for _ in range(3)] == [[]] * 3


def test_a_work_that_a_service_had_and_has_no_more_is_a_problem_while_it_is_in_the_library(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES)
    crossref(web, work("10.1000/moves", MOVES["title"]))
    assert a_week_later(watched) == []
    crossref(web)
    assert a_week_later(watched) == []
    assert a_week_later(watched) == [UNANSWERED.replace("11-28", "12-12")]
    have(watched, SINGS)
    watched.ingest()
    watched.clock.move(hours=2)
    watched.ingest()
    assert problems(watched) == []


def test_a_record_that_is_deleted_among_others_is_no_problem(
    watched: House, web: MisbehavingServer
) -> None:
    have(watched, MOVES, SINGS)
    crossref(web, work("10.1000/moves"), work("10.1000/sings"))
    assert a_week_later(watched) == []
    crossref(web, work("10.1000/moves"))
    assert [a_week_later(watched) for _ in range(3)] == [[]] * 3


def test_a_batch_without_an_answer_among_others_is_a_problem(
    watched: House, web: MisbehavingServer
) -> None:
    dois = [f"10.1000/{n:03}" for n in range(120)]
    have(watched, *({"title": f"Grain {n}", "doi": doi} for n, doi in enumerate(dois)))
    crossref(web, *map(work, dois))
    answer = web._answers["*"]
    assert a_week_later(watched) == []
    web.decides("*", lambda asked: EMPTY if dois[0] in asked.query["filter"] else answer(asked))
    assert a_week_later(watched) == []
    assert "asked about 50 works (such as 10.1000/000)" in a_week_later(watched)[0]


def test_an_answer_without_most_of_the_works_that_were_known_is_none(
    watched: House, web: MisbehavingServer
) -> None:
    dois = [f"10.1000/{n:03}" for n in range(10)]
    have(watched, *({"title": f"Grain {n}", "doi": doi} for n, doi in enumerate(dois)))
    for known, is_problem in ((10, False), (5, False), (4, False), (4, True), (5, False)):
        crossref(web, *map(work, dois[:known]))
        assert bool(a_week_later(watched)) is is_problem, known


@pytest.mark.parametrize("works", [{"pmid": "1"}, {"doi": "10.1000/moves"}])
def test_pubmed_that_does_not_answer_is_a_problem_until_it_does(
    watched: House, web: MisbehavingServer, works: dict[str, str]
) -> None:
    have(watched, {"title": MOVES["title"], **works})
    watched.settings["sources"]["watch"]["kind"] = "pubmed"
    found = json.dumps({"esearchresult": {"count": "5", "idlist": []}}).encode()
    nothing = Answer(body=b"<PubmedArticleSet></PubmedArticleSet>")
    search = Answer(body=found)
    web.decides("*", lambda asked: search if asked.target.startswith("/esearch") else nothing)
    assert a_week_later(watched) == []
    assert "has not answered about references" in a_week_later(watched)[0]
    records = {"1": article(1, str(MOVES["title"]), doi="10.1000/moves")}
    pubmed(web, records, {"10.1000/moves": "1"})
    assert a_week_later(watched) == []
