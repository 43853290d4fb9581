"""Looking up papers between matching and composing, with services that answer and that lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.app import App
from monitor.commands.look_up import look_up_papers, unfill
from monitor.commands.status import status
from monitor.digest.look_up_words import describe_look_up
from monitor.errors import UsageError
from monitor.http.host_limits import Gates
from monitor.identity import looked_up
from monitor.identity.looked_up import Judgement
from monitor.look_up import service
from monitor.model import Digest, Paper, UnsentMatch
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.model.look_up import LookUpState, notes_of
from monitor.pipeline import asked_service, flow, look_up, service_round
from monitor.pipeline.compose import compose
from monitor.pipeline.flow import Step, Task
from monitor.setting_types import Variables
from monitor.store.digests import incidents
from monitor.store.engine import schema
from monitor.store.engine.locks import look_up_lock
from monitor.store.papers import identity_rulings, look_ups, papers
from monitor.store.sources.reading_state import Servers
from monitor.store.topics import matches
from tests.counting import statements
from tests.house import AGENTS, APART, FOLDING, House, all_papers
from tests.servers.look_up import Lie, LookUpServices, Work, look_up_services
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import Answer

PLANS = Work(
    AGENTS[0],
    AGENTS[1],
    ("Ada Lindqvist", "Bo Strand"),
    day="2026-10-05",
    arxiv="2610.01234",
    code="https://github.com/example/plans",
    summary="Language agents that share plans in writing need half as many steps.",
)


@pytest.fixture
def services() -> Iterator[LookUpServices]:
    with look_up_services([PLANS]) as running:
        yield running


def asks(house: House, services: LookUpServices, *names: str, **settings: object) -> None:
    """Let a house ask some services, in this order, and send its digests at once."""
    settings.setdefault("wait", "10m")
    house.settings["subscriptions"]["lab"].setdefault("schedule", "immediately")
    house.settings["look_up"] = services.settings(*names) | settings


def only_paper(house: House):  # type: ignore[no-untyped-def]
    [stored] = house.read(all_papers)
    return stored


def waits_for_arxiv(house: House, services: LookUpServices) -> None:
    """Let a paper wait for arXiv, which is not asked yet."""
    asks(house, services, "arxiv")
    house.ingest(AGENTS)
    with house.opened() as app:
        assert look_up.queue(app.runtime)


def states(house: House) -> dict[str, LookUpState]:
    stored = only_paper(house)
    rows = house.read(look_ups.of_papers, [stored.id]).get(stored.id, [])
    return {row.service: row.state for row in rows}


def test_a_digest_has_what_was_looked_up(house: House, services: LookUpServices) -> None:
    asks(house, services, "arxiv", "crossref")
    assert house.run(AGENTS) == {"lab": 1}
    paper = house.digest().groups[0].entries[0].paper
    assert paper.authors == PLANS.authors
    assert paper.keys["arxiv"] == PLANS.arxiv
    assert paper.url == f"https://arxiv.org/abs/{PLANS.arxiv}v1"
    assert services.count() == services.count("arxiv") == 1


def test_a_line_that_a_site_wrote_comes_with_its_record(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "huggingface")
    house.run(AGENTS)
    [entry] = [entry for group in house.digest().groups for entry in group.entries]
    assert entry.note
    assert (entry.note.site, entry.note.line) == ("Hugging Face", PLANS.summary)
    assert entry.paper.links == {"code": PLANS.code}
    with house.opened() as app:
        unfill(app.runtime, AGENTS[0])
    [taken_out] = house.read(look_ups.of_papers, [1])[1]
    assert taken_out.answered.record and list(notes_of([taken_out])) == []


def test_nothing_is_asked_without_the_setting(house: House, services: LookUpServices) -> None:
    house.run(AGENTS)
    assert services.count() == 0
    assert house.read(look_ups.of_papers, [1]) == {}


def test_a_paper_that_no_topic_matches_is_not_asked_about(
    house: House, services: LookUpServices
) -> None:
    asks(house, services)
    house.run(FOLDING)
    assert services.count() == 0


def test_services_are_asked_in_order_until_nothing_is_missing(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "crossref", "huggingface", "openalex")
    house.run(AGENTS)
    assert [request.service for request in services.requests] == ["crossref", "huggingface"]
    assert states(house) == {
        "crossref": LookUpState.NOT_FOUND,
        "huggingface": LookUpState.FILLED,
    }


def test_an_answer_is_no_change_and_no_sighting(house: House, services: LookUpServices) -> None:
    asks(house, services, "huggingface")
    house.run(AGENTS)
    with house.opened() as app, app.runtime.database.reading() as tx:
        [stored] = all_papers(tx)
        origin = papers.origin(tx, stored)
    assert [seen.source for seen in origin.sightings] == ["page"]
    assert [change.kind for change in origin.changes] == ["new"]
    assert house.run_after(days=1) == {}


@pytest.mark.parametrize("lie", [lie for lie in Lie if lie.is_of_a_record])
def test_a_false_record_fills_nothing_in(house: House, lie: Lie) -> None:
    with look_up_services([replace(PLANS, lie=lie)]) as services:
        asks(house, services, "arxiv")
        house.run(AGENTS)
        stored = only_paper(house)
        if lie is not Lie.SENT_BEFORE:  # of the right paper, with wrong ids
            assert not stored.paper.authors and not stored.paper.url
        assert services.count() == services.count("arxiv")


@pytest.mark.parametrize("lie", [lie for lie in Lie if not lie.is_of_a_record])
def test_a_false_answer_delays_and_fills_nothing(
    house: House, lie: Lie, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "DEADLINE", timedelta(seconds=1))
    with look_up_services([replace(PLANS, lie=lie, lies_at=frozenset(["arxiv"]))]) as services:
        asks(house, services, "arxiv", "huggingface")
        assert house.run(AGENTS) == {"lab": 1}
        found = states(house)
        assert found["arxiv"] in (LookUpState.FAILED, LookUpState.NOT_FOUND)
        assert found["huggingface"] is LookUpState.FILLED
        assert only_paper(house).paper.authors == PLANS.authors


def test_an_answer_that_contradicts_another_service_names_it(house: House) -> None:
    first = replace(PLANS, arxiv="", at=frozenset(["semantic-scholar"]))
    other = replace(
        PLANS, abstract=FOLDING[1], arxiv="", doi="10.5555/p", at=frozenset(["crossref"])
    )
    house.settings["sources"]["list"] = {"kind": "jsonl", "path": "1.jsonl", "first_run": "deliver"}
    row = {"title": PLANS.title, "authors": list(PLANS.authors), "abstract": "Of language agents."}
    (house.folder / "1.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with look_up_services([first, other]) as services:
        asks(house, services, "semantic-scholar", "crossref")
        assert house.run() == {"lab": 1}
    rows = house.read(look_ups.of_papers, [only_paper(house).id])
    by_service = {row.service: row for row in rows[1]}
    assert by_service["semantic-scholar"].state is LookUpState.FILLED
    shown = describe_look_up(by_service["crossref"], {"semantic-scholar": "Semantic Scholar"})
    assert "is another one than that of Semantic Scholar (abstracts agree" in shown
    assert not only_paper(house).paper.identifiers("doi")


def test_a_service_that_fails_is_tried_three_times_a_day_apart(house: House) -> None:
    with look_up_services([replace(PLANS, lie=Lie.BROKEN)]) as services:
        asks(house, services, "arxiv")
        house.run(AGENTS)
        assert services.count() == 1
        house.run_after(hours=20)
        assert services.count() == 1
        for _ in range(4):
            house.run_after(hours=25)
        assert services.count() == 3
        assert states(house) == {"arxiv": LookUpState.GIVEN_UP}


def test_a_service_that_fails_for_an_hour_is_an_incident(house: House, smtp: ScriptedSmtp) -> None:
    house.by_mail(smtp.port)
    house.settings["operator"] = {"email": "ops@example.org"}
    with look_up_services([replace(PLANS, lie=Lie.BROKEN)]) as services:
        asks(house, services, "arxiv")
        assert house.run(AGENTS) == {"lab": 1}
        assert house.problems() == ()
        for news in ([APART], []):  # the operator is notified once
            house.run_after(*news, hours=25)
            [problem] = house.problems()
            assert problem.startswith("look-up at arxiv has been failing since")
            notices = [m for m in smtp.received if m.recipient == "ops@example.org"]
            assert len(notices) == 1 and b"arXiv does not answer" in notices[0].content
        services.has([PLANS])
        house.run_after(hours=25)
        assert house.problems() == ()


def test_a_pause_that_a_source_was_asked_for_is_no_attempt(
    house: House, services: LookUpServices
) -> None:
    services.has([replace(PLANS, at=frozenset(["arxiv"]))])
    asks(house, services, "arxiv", "huggingface")
    house.ingest(AGENTS)
    server = services.url("arxiv").removeprefix("http://")
    with house.opened() as app:
        memory = Servers(app.runtime.database, house.clock, Variables())
        memory.record_wait(server, timedelta(minutes=10), "it answered 429")
        assert look_up.look_up(app.runtime) == 0
        assert (services.count("arxiv"), services.count("huggingface")) == (0, 1)
        report = status(app.runtime, probe=False)
        assert report.look_up and report.look_up.services[0].ok
        assert report.look_up.services[0].spent_today == 0
        assert states(house)["arxiv"] is LookUpState.WAITING
        house.clock.move(minutes=11)
        assert look_up.look_up(app.runtime) == 1
    [asked] = [row for row in house.read(look_ups.of_papers, [1])[1] if row.service == "arxiv"]
    assert asked.attempts == 1


def test_a_pause_costs_no_request_of_papers_that_are_tried_again(
    house: House, services: LookUpServices
) -> None:
    """Each would be a request of its own: without the rest, one after the other."""
    asks(house, services, "huggingface")
    services.answers_with("huggingface", Answer(414, b"URI Too Long"))
    house.run(*((f"{AGENTS[0]}, Lesson {number}", AGENTS[1]) for number in range(4)))
    spent = services.count()
    house.clock.move(days=1, hours=1)
    with house.opened() as app:
        server = services.url("huggingface").removeprefix("http://")
        memory = Servers(app.runtime.database, house.clock, Variables())
        memory.record_wait(server, timedelta(hours=6), "it answered 429")
        assert look_up.look_up(app.runtime) == 0
        report = status(app.runtime, probe=False)
        assert report.look_up and report.look_up.services[0].spent_today == 0
    assert services.count() == spent


def test_requests_of_a_day_are_bounded(house: House, services: LookUpServices) -> None:
    works = [Work(f"{AGENTS[0]}, Lesson {n}", AGENTS[1], arxiv=f"2610.0{n:04}") for n in range(5)]
    services.has(works)
    asks(house, services, "huggingface")
    house.settings["look_up"]["services"]["huggingface"]["a_day"] = 2
    house.run(*((work.title, work.abstract) for work in works))
    assert services.count() == 2
    with house.opened() as app:
        report = status(app.runtime, probe=False)
        assert report.look_up
        [service] = report.look_up.services
        assert (service.spent_today, service.a_day, service.waiting) == (2, 2, 3)


def test_a_due_digest_waits_for_answers_only_so_long(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.settings["subscriptions"]["lab"]["schedule"] = "daily 08:00"
    house.ingest()
    house.clock.move(days=1)
    house.ingest(AGENTS)
    with house.opened() as app:
        assert look_up.queue(app.runtime)
        house.clock.at = house.clock.at.replace(hour=8, minute=1)
        assert compose(app.runtime, ignore_backoff=False, awaits_look_up=True) == []
        house.clock.move(minutes=10)
        assert len(compose(app.runtime, ignore_backoff=False, awaits_look_up=True)) == 1
    assert services.count() == 0
    assert not house.digest().groups[0].entries[0].paper.authors


def test_a_due_digest_goes_out_once_it_is_answered(house: House, services: LookUpServices) -> None:
    house.settings["subscriptions"]["lab"]["schedule"] = "daily 08:00"
    asks(house, services, "arxiv")
    house.ingest()
    house.clock.move(days=1)
    house.ingest(AGENTS)
    with house.opened() as app:
        house.clock.at = house.clock.at.replace(hour=8, minute=1)
        look_up.queue(app.runtime)
        assert compose(app.runtime, ignore_backoff=False, awaits_look_up=True) == []
        assert look_up.look_up(app.runtime) == 1
        assert len(compose(app.runtime, ignore_backoff=False, awaits_look_up=True)) == 1
    assert house.digest().groups[0].entries[0].paper.authors == PLANS.authors


def test_a_digest_that_is_sent_immediately_waits_for_a_minute_at_most(
    house: House, services: LookUpServices
) -> None:
    waits_for_arxiv(house, services)
    with house.opened() as app:
        house.clock.move(seconds=59)
        assert compose(app.runtime, ignore_backoff=False, awaits_look_up=True) == []
        house.clock.move(seconds=1)
        assert len(compose(app.runtime, ignore_backoff=False, awaits_look_up=True)) == 1


def test_a_command_asks_for_no_longer_than_a_digest_may_wait(
    house: House, services: LookUpServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = lessons(5)
    took = 25.0
    services.has(works)
    slow = SimpleNamespace(monotonic=lambda: took * services.count())
    for module in (look_up, service_round):
        monkeypatch.setattr(module, "time", slow)
    asks(house, services, "huggingface", wait="2m")
    assert house.run(*((work.title, work.abstract) for work in works)) == {"lab": 5}
    assert 60 < took * services.count() <= 120


def test_a_command_waits_no_longer_for_its_turn_at_a_host(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.ingest(AGENTS)
    with house.opened() as app:
        client = app.runtime.services["arxiv"]._client
        with Gates(client.gate_dir, owner=client.gate_owner).turn("127.0.0.1"):
            assert look_up.look_up(app.runtime, 0.2) == 0
    assert services.count() == 0
    [waiting] = house.read(look_ups.of_papers, [1])[1]
    assert (waiting.state, waiting.attempts) == (LookUpState.WAITING, 0)
    assert waiting.asked_at is None


def test_a_turn_that_ends_at_a_busy_host_leaves_papers_to_their_service(
    house: House, services: LookUpServices
) -> None:
    """The order in which services are written says which of them gets a title."""
    asks(house, services, "arxiv", "huggingface")
    house.ingest(AGENTS)
    with house.opened() as app:
        client = app.runtime.services["arxiv"]._client
        with Gates(client.gate_dir, owner=client.gate_owner).turn("127.0.0.1"):
            assert look_up.look_up(app.runtime, 0.2) == 0
    assert (services.count(), states(house)) == (0, {"arxiv": LookUpState.WAITING})


@pytest.fixture
def asking(house: House, services: LookUpServices, url: str) -> House:
    """Return a house that asks arXiv, and sends its digests at once, with each kind of store."""
    house.settings["store"] = url
    asks(house, services, "arxiv")
    return house


def compose_in_service(app: App) -> int:
    return len(compose(app.runtime, ignore_backoff=False, awaits_look_up=True))


def test_a_digest_waits_for_papers_that_are_matched_and_not_yet_queued(asking: House) -> None:
    asking.ingest(AGENTS)
    with asking.opened() as app:
        assert compose_in_service(app) == 0
        assert look_up.queue(app.runtime)
        assert compose_in_service(app) == 0
        assert look_up.look_up(app.runtime) == 1
        assert compose_in_service(app) == 1
    assert asking.digest().groups[0].entries[0].paper.authors == PLANS.authors


def test_papers_that_are_not_queued_are_waited_for_only_so_long(asking: House) -> None:
    asking.ingest(AGENTS)
    with asking.opened() as app:
        asking.clock.move(seconds=61)
        assert compose_in_service(app) == 1


def test_a_paper_that_is_matched_while_a_digest_is_composed_is_in_the_next(
    asking: House, services: LookUpServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the decision that a digest need not wait and the reading of its papers."""
    later = Work(APART[0], APART[1], ("Cleo Fjord",), arxiv="2610.05678")
    services.has([PLANS, later])
    asking.ingest(AGENTS)
    with asking.opened() as app:
        assert look_up.look_up(app.runtime) == 1

        def unsent(*given: Any) -> list[UnsentMatch]:
            if not arrived:
                arrived.append(True)
                asking.ingest(APART)
            return unsent_before(*given)

        arrived: list[bool] = []
        unsent_before = matches.unsent
        monkeypatch.setattr(matches, "unsent", unsent)
        assert compose_in_service(app) == 1
        assert arrived
        assert [paper.title for paper in papers_of(asking.digest())] == [AGENTS[0]]
        app.once.deliver()
        assert compose_in_service(app) == 0
        assert look_up.look_up(app.runtime) == 1
        assert compose_in_service(app) == 1
    assert [paper.authors for paper in papers_of(asking.digest())] == [later.authors]


def papers_of(digest: Digest) -> list[Paper]:
    return [entry.paper for group in digest.groups for entry in group.entries]


def test_what_was_filled_in_can_be_taken_out_for_good(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.run(AGENTS)
    with house.opened() as app:
        done = unfill(app.runtime, AGENTS[0])
        assert not (done.stored.paper.authors or done.stored.paper.url or done.stored.paper.keys)
        [again] = look_up_papers(app.runtime, [done.stored])
        assert not again.stored.paper.authors
        with pytest.raises(UsageError, match="nothing of this paper was filled in"):
            unfill(app.runtime, AGENTS[0])
    assert services.count() == 1


def test_an_identifier_that_was_looked_up_gives_way_to_a_records_own(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.run(AGENTS)
    house.settings["sources"]["list"] = {"kind": "jsonl", "path": "list.jsonl"}
    (house.folder / "list.jsonl").write_text(
        '{"title": "Quite Another Paper of Agents", "arxiv_id": "2610.01234"}\n', encoding="utf-8"
    )
    house.run()
    owner = house.read(papers.by_key, "arxiv", "2610.01234")
    assert owner is not None and owner.paper.title == "Quite Another Paper of Agents"


def test_topics_that_ask_for_authors_match_again_once(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.settings["topics"]["ada"] = {"query": "author:lindqvist"}
    house.run(AGENTS)
    [entry] = [entry for group in house.digest().groups for entry in group.entries]
    assert {matched.topic for matched in entry.matched} == {"agents", "ada"}
    assert house.run_after(days=1) == {}


RETITLED = {
    "title": "Written Plans Help Cooperating Models",
    "arxiv_id": PLANS.arxiv,
    "authors": list(PLANS.authors),
    "abstract": AGENTS[1].replace("Planning together", "To plan in a group"),
}


def send_retitled(house: House, **other: object) -> None:
    """Send a paper that has the identifier of the one that is looked up later."""
    house.settings["topics"]["agents"]["query"] = "agents"
    house.settings["sources"]["list"] = {
        "kind": "jsonl",
        "path": "list.jsonl",
        "first_run": "deliver",
    }
    (house.folder / "list.jsonl").write_text(json.dumps(RETITLED | other) + "\n", encoding="utf-8")
    assert house.run() == {"lab": 1}


def test_a_paper_that_was_sent_under_another_title_is_not_sent_again(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    send_retitled(house)
    assert house.run(AGENTS) == {}
    stored = only_paper(house)
    assert stored.paper.title == RETITLED["title"]
    with house.opened() as app:
        report = status(app.runtime, probe=False)
        assert report.look_up
        assert [(one.paper, one.service) for one in report.look_up.joined] == [(stored.id, "arxiv")]
        unfill(app.runtime, str(stored.id))
    assert {stored.paper.title for stored in house.read(all_papers)} == {
        RETITLED["title"],
        AGENTS[0],
    }
    assert house.run_after(hours=1) == {"lab": 1}
    [entry] = [entry for group in house.digest().groups for entry in group.entries]
    assert entry.paper.title == AGENTS[0]
    assert not entry.paper.keys
    assert house.run_after(hours=1) == {}


@pytest.mark.parametrize(
    "other",
    [
        {"abstract": "Tides follow the moon.", "authors": ["C. Fjord"]},
        {"abstract": "", "authors": []},  # nothing but the identifier speaks of one work
    ],
)
def test_an_identifier_of_another_paper_takes_no_news_away(
    house: House, services: LookUpServices, other: dict[str, object]
) -> None:
    """The answer has the right title, and the identifier of a paper that was sent before."""
    asks(house, services, "arxiv")
    send_retitled(house, title="Tides of Agents", **other)
    assert house.run(AGENTS) == {"lab": 1}
    paper = next(one for one in house.read(all_papers) if one.paper.title == AGENTS[0])
    assert not (paper.paper.authors or paper.paper.keys)
    [asked] = house.read(look_ups.of_papers, [paper.id])[paper.id]
    assert asked.state is LookUpState.CONTRADICTED
    assert asked.answered.other is not None


def test_a_request_that_a_crash_cut_off_is_repeated_after_an_hour(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.ingest(AGENTS)
    with house.opened() as app:
        look_up.queue(app.runtime)
        now = house.clock.now()
        with app.runtime.database.writing() as tx:
            [waiting] = look_ups.due(tx, "arxiv", now, 1)
            assert look_ups.begin(tx, [waiting], "dead", now, now + asked_service.DUE_AFTER_CRASH)
            assert not look_ups.begin(tx, [waiting], "other", now, now)
        assert look_up.look_up(app.runtime) == 0
        house.clock.move(minutes=59)
        assert look_up.look_up(app.runtime) == 0
        assert services.count() == 0
        house.clock.move(minutes=2)
        assert look_up.look_up(app.runtime) == 1
    id = only_paper(house).id
    [row] = house.read(look_ups.of_papers, [id])[id]
    assert row.attempts == 2


def test_while_one_process_asks_another_does_not(house: House, services: LookUpServices) -> None:
    asks(house, services, "arxiv")
    house.ingest(AGENTS)
    with house.opened() as app, look_up_lock(app.runtime.database):
        assert look_up.look_up(app.runtime) == 0
    assert services.count() == 0


def test_one_refused_question_is_no_failure_of_the_service(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    services.answers_with("arxiv", Answer(414, b"URI Too Long"))
    house.run(AGENTS)
    assert states(house) == {"arxiv": LookUpState.FAILED}
    with house.opened() as app:
        report = status(app.runtime, probe=False)
    assert report.look_up and report.look_up.services[0].ok


def test_what_a_library_says_that_all_readers_may_see_is_not_asked_for(
    house: House, services: LookUpServices
) -> None:
    entry = {
        "title": AGENTS[0],
        "abstract": AGENTS[1],
        "authors": list(PLANS.authors),
        "arxiv_id": PLANS.arxiv,
        "year": 2026,
    }
    (house.folder / "refs.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    house.settings["sources"]["refs"] = {"kind": "jsonl", "path": "refs.jsonl", "role": "library"}
    asks(house, services, "arxiv")
    house.settings["subscriptions"]["lab"]["guard"] = "refs"
    house.run(AGENTS)
    assert services.count() == 0
    assert house.digest().groups[0].entries[0].paper.authors == PLANS.authors
    house.settings["subscriptions"]["other"] = {"topics": ["*"], "channels": ["pages"]}
    house.run_after(hours=1)
    assert services.count() == 1, "not all readers may see the library"


def test_a_paper_does_not_wait_for_a_service_that_was_removed(
    house: House, services: LookUpServices
) -> None:
    waits_for_arxiv(house, services)
    asks(house, services, "huggingface")
    assert house.run() == {"lab": 1}
    assert states(house) == {"huggingface": LookUpState.FILLED}


def test_what_waits_is_dropped_when_it_is_turned_off(
    house: House, services: LookUpServices
) -> None:
    waits_for_arxiv(house, services)
    del house.settings["look_up"]
    with house.opened() as app:
        flow.do(app.runtime, Task(Step.CLEAN_UP), lambda task: None)
    assert states(house) == {}


def test_an_answer_that_joined_papers_is_kept_when_they_are_looked_up_again(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    send_retitled(house)
    assert house.run(AGENTS) == {}
    stored = only_paper(house)
    with house.opened() as app:
        look_up_papers(app.runtime, [stored])
        unfill(app.runtime, str(stored.id))
    assert len(house.read(all_papers)) == 2


def test_papers_that_were_parted_are_not_joined_by_the_same_answer(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv", "huggingface")
    send_retitled(house)
    assert house.run(AGENTS) == {}
    with house.opened() as app:
        unfill(app.runtime, str(only_paper(house).id))
    asked = services.count("arxiv")
    assert house.run_after(hours=1) == {"lab": 1}
    assert services.count("arxiv") == asked
    parted = next(one for one in house.read(all_papers) if one.paper.title == AGENTS[0])
    with house.opened() as app:
        look_up_papers(app.runtime, [parted])
    assert services.count("arxiv") == asked
    rows = house.read(look_ups.of_papers, [parted.id])[parted.id]
    # Its abstract went to the other paper.
    assert {row.service: row.state for row in rows} == {
        "arxiv": LookUpState.REFUSED,
        "huggingface": LookUpState.UNCONFIRMED,
    }


def test_papers_that_a_person_keeps_apart_are_not_joined(
    house: House, services: LookUpServices
) -> None:
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    send_retitled(house)
    house.ingest(AGENTS)
    ids = [stored.id for stored in house.read(all_papers)]
    with house.opened() as app, app.runtime.database.writing() as tx:
        names = identity_rulings.names_of(tx, ids)
        ours, theirs = (names[id] for id in ids)
        identity_rulings.rule(tx, ours, theirs, identity_rulings.DIFFERENT, house.clock.now())
    asks(house, services, "arxiv")
    assert house.run() == {"lab": 1}
    rows = house.read(look_ups.of_papers, ids)
    states_of_all = [row.state for of_paper in rows.values() for row in of_paper]
    assert states_of_all == [LookUpState.CONTRADICTED]


def test_an_answer_that_raises_stops_no_digest(
    house: House, services: LookUpServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*given: object) -> None:
        raise ValueError("nobody thought of it")

    asks(house, services, "arxiv", "huggingface")
    monkeypatch.setattr(look_up, "judge", raises)
    assert house.run(AGENTS) == {"lab": 1}
    assert set(states(house).values()) == {LookUpState.FAILED}


def test_what_crashes_cut_off_three_times_is_given_up(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv", "huggingface")
    house.ingest(AGENTS)
    with house.opened() as app:
        look_up.queue(app.runtime)
        for _ in range(asked_service.ATTEMPTS):
            now = house.clock.now()
            with app.runtime.database.writing() as tx:
                [waiting] = look_ups.due(tx, "arxiv", now, 1)
                look_ups.begin(tx, [waiting], "dead", now, now + asked_service.DUE_AFTER_CRASH)
            house.clock.move(hours=2)
        assert look_up.look_up(app.runtime) == 1
    assert states(house) == {
        "arxiv": LookUpState.GIVEN_UP,
        "huggingface": LookUpState.FILLED,
    }
    assert services.count("arxiv") == 0


def test_a_paper_that_lacks_nothing_is_asked_about_at_the_first_service(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "openalex", "arxiv", "huggingface", "crossref")
    house.run(AGENTS)
    stored = only_paper(house)
    with house.opened() as app:
        services.requests.clear()
        look_up_papers(app.runtime, [stored])
    assert [request.service for request in services.requests] == ["arxiv"]


def lessons(count: int) -> list[Work]:
    """Return different papers, about which arXiv is asked ten at once."""
    return [
        Work(f"{AGENTS[0]}, Lesson {n}", AGENTS[1], ("Ada Lindqvist",), arxiv=f"2610.0{n:04}")
        for n in range(count)
    ]


def ingest_works(house: House, works: list[Work]) -> dict[str, int]:
    """Ingest papers that services have; return the id of each by its title."""
    house.ingest(*((work.title, work.abstract) for work in works))
    return {stored.paper.title: stored.id for stored in house.read(all_papers)}


def states_by_title(house: House, ids: dict[str, int]) -> dict[str, LookUpState]:
    rows = house.read(look_ups.of_papers, ids.values())
    return {title: row.state for title, id in ids.items() for row in rows[id]}


def test_papers_are_looked_up_in_few_statements(house: House, services: LookUpServices) -> None:
    asks(house, services, "arxiv")
    works = lessons(40)
    services.has(works)
    ingest_works(house, works)
    with house.opened() as app, statements() as executed:
        assert look_up.look_up(app.runtime) == 40
    assert services.count() == 4
    assert len(executed) / 40 <= 4, "each was read, written and asked about alone"


def test_an_answer_that_raises_about_one_paper_is_stored_about_the_others(
    house: House, services: LookUpServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = lessons(5)
    bad = works[2].title

    def judge(paper: Paper, *others: Any) -> Judgement:
        if paper.title == bad:
            raise ValueError("no case for this")
        return looked_up.judge(paper, *others)

    asks(house, services, "arxiv")
    services.has(works)
    ids = ingest_works(house, works)
    monkeypatch.setattr(look_up, "judge", judge)
    with house.opened() as app:
        assert look_up.look_up(app.runtime) == 4
    assert services.count() == 1
    found = states_by_title(house, ids)
    assert found.pop(bad) is LookUpState.FAILED
    assert set(found.values()) == {LookUpState.FILLED}


def test_of_two_papers_that_one_answer_gives_one_identifier_one_gains_it(
    house: House, services: LookUpServices
) -> None:
    tides = Work(
        "Tides of Language Agents in Shallow Harbours",
        f"Agents drift. {FOLDING[1]}",
        ("Cleo Fjord",),
        arxiv="2610.05678",
    )
    asks(house, services, "arxiv")
    services.has([replace(PLANS, lie=Lie.SENT_BEFORE, other=tides), tides])
    ids = ingest_works(house, [PLANS, tides])
    with house.opened() as app:
        assert look_up.look_up(app.runtime) == 1
    assert services.count() == 1
    found = states_by_title(house, ids)
    assert sorted(found.values()) == [LookUpState.CONTRADICTED, LookUpState.FILLED]
    rows = house.read(look_ups.of_papers, ids.values())
    [refused] = [r for of in rows.values() for r in of if r.state is LookUpState.CONTRADICTED]
    [winner] = [id for title, id in ids.items() if found[title] is LookUpState.FILLED]
    assert refused.answered.other == winner


def test_after_a_downtime_a_digest_waits_from_when_its_papers_were_matched(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.settings["subscriptions"]["lab"]["schedule"] = "daily 08:00"
    house.ingest()
    house.clock.move(days=1, hours=5)
    house.ingest(AGENTS)
    with house.opened() as app:
        assert look_up.queue(app.runtime)
        house.clock.move(minutes=9)
        assert compose(app.runtime, ignore_backoff=False, awaits_look_up=True) == []
        house.clock.move(minutes=1)
        assert len(compose(app.runtime, ignore_backoff=False, awaits_look_up=True)) == 1


def test_a_paper_that_was_sent_before_is_not_asked_about(
    house: House, services: LookUpServices
) -> None:
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    assert house.run(AGENTS) == {"lab": 1}
    asks(house, services, "arxiv")
    house.run_after(hours=1)
    assert services.count() == 0


@pytest.mark.parametrize(("days", "count"), [(6, 1), (8, 0)])
def test_old_news_is_not_asked_about(
    house: House, services: LookUpServices, days: int, count: int
) -> None:
    house.settings["subscriptions"]["lab"]["pause_until"] = "2027-01-01"
    house.run(AGENTS)
    asks(house, services, "arxiv")
    house.run_after(days=days)
    assert services.count() == count


def test_a_title_without_words_to_ask_for_waits_for_the_next_service(house: House) -> None:
    title = "语言 智能体 α 协作 规划"
    work = Work(title, AGENTS[1], ("Ada Lindqvist",), arxiv="2610.01234")
    with look_up_services([work]) as services:
        asks(house, services, "arxiv", "huggingface")
        house.run((title, AGENTS[1]))
        assert states(house) == {"arxiv": LookUpState.NOT_FOUND, "huggingface": LookUpState.FILLED}
        assert services.count("arxiv") == 0


@pytest.mark.parametrize("is_revised", [False, True])
def test_what_a_record_says_by_now_stays_when_an_answer_is_taken_out(
    house: House, services: LookUpServices, is_revised: bool
) -> None:
    services.has([replace(PLANS, authors=("Ada Lindqvist",))])
    asks(house, services, "arxiv")
    house.settings["sources"]["list"] = {"kind": "jsonl", "path": "*.jsonl", "first_run": "deliver"}
    row = {"title": AGENTS[0], "abstract": AGENTS[1], "raw_id": "1"}
    (house.folder / "1.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert house.run() == {"lab": 1}
    assert only_paper(house).paper.authors == ("Ada Lindqvist",)
    own: dict[str, Any] = {"authors": ["Eve Quist"]}
    if is_revised:  # then its link and categories replace those of the answer
        own |= {"categories": ["planning"], "url": "https://example.org/1"}
        own["abstract"] = f"{AGENTS[1]} We also tried it on a fifth benchmark, of maps."
    (house.folder / "2.jsonl").write_text(json.dumps(row | own), encoding="utf-8")
    house.run_after(hours=1)
    with house.opened() as app:
        unfill(app.runtime, AGENTS[0])
    paper = only_paper(house).paper
    assert (paper.authors, paper.published) == (("Eve Quist",), None)
    assert paper.url == ("https://example.org/1" if is_revised else "")
    assert paper.categories == (("planning",) if is_revised else ())


def test_what_waits_for_a_service_of_another_configuration_in_use_stays(
    house: House, services: LookUpServices
) -> None:
    waits_for_arxiv(house, services)
    asks(house, services, "huggingface")
    with house.opened() as app:
        with app.runtime.database.writing() as tx:
            shared = Subject(SubjectKind.STORE)
            now = house.clock.now()
            incidents.open_incident(tx, shared, IncidentKind.SHARED, now, "two configurations")
        look_up.drop_removed_services(app.runtime)
    assert states(house) == {"arxiv": LookUpState.WAITING}


def test_a_paper_that_was_cleaned_up_is_not_asked_about(
    house: House, services: LookUpServices
) -> None:
    """Neither if a person asks, nor if it waited before."""
    waits_for_arxiv(house, services)
    with house.opened() as app:
        with app.runtime.database.writing() as tx:
            tx.execute(sa.update(schema.paper).values(purged_at=house.clock.now()))
        assert look_up.look_up(app.runtime) == 0
        assert states_of(house, 1) == []
        look_up.ask_about(app.runtime, [1])
        assert states_of(house, 1) == []
    assert services.count() == 0


def states_of(house: House, id: int) -> list[LookUpState]:
    return [row.state for row in house.read(look_ups.of_papers, [id]).get(id, [])]


def test_a_digest_waits_for_a_request_that_is_under_way(
    house: House, services: LookUpServices
) -> None:
    waits_for_arxiv(house, services)
    with house.opened() as app:
        now = house.clock.now()
        with app.runtime.database.writing() as tx:
            waiting = look_ups.due(tx, "arxiv", now, 1)
            look_ups.begin(tx, waiting, "another", now, now + asked_service.DUE_AFTER_CRASH)
        assert compose(app.runtime, ignore_backoff=False, awaits_look_up=True) == []


def test_a_digest_does_not_wait_for_what_is_asked_too_late(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "arxiv")
    house.settings["look_up"]["services"]["arxiv"]["a_day"] = 0
    house.ingest(AGENTS)
    with house.opened() as app:
        assert look_up.look_up(app.runtime) == 0
        assert states(house) == {"arxiv": LookUpState.WAITING}
        assert len(compose(app.runtime, ignore_backoff=False, awaits_look_up=True)) == 1


def test_other_papers_wait_while_a_person_asks_about_one(
    house: House, services: LookUpServices
) -> None:
    works = lessons(3)
    services.has(works)
    asks(house, services, "huggingface")
    ids = ingest_works(house, works)
    with house.opened() as app:
        assert look_up.queue(app.runtime)
        chosen = next(one for one in house.read(all_papers) if one.paper.title == works[0].title)
        look_up_papers(app.runtime, [chosen])
    assert services.count() == 1
    found = states_by_title(house, ids)
    assert found.pop(works[0].title) is LookUpState.FILLED
    assert set(found.values()) == {LookUpState.WAITING}


def test_no_request_is_begun_while_the_process_stops(
    house: House, services: LookUpServices
) -> None:
    waits_for_arxiv(house, services)
    with house.opened() as app:
        app.runtime.stopping.set()
        assert look_up.look_up(app.runtime) == 0
        report = status(app.runtime, probe=False)
        assert report.look_up and report.look_up.services[0].spent_today == 0
