"""Asking services, once a month, what became of papers that readers saved, and telling these."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from monitor.commands.ratings import rate_any
from monitor.commands.status import status
from monitor.model import ReferenceChange
from monitor.model.look_up import LookUpState
from monitor.pipeline.asked_service import ATTEMPTS
from monitor.store.digests import deliveries, digests
from monitor.store.papers import look_ups, papers
from monitor.store.papers.look_ups import Purpose
from tests.house import House, all_papers
from tests.servers.look_up import Lie, LookUpServices, Work, look_up_services
from tests.servers.smtp import ScriptedSmtp

ADA = "ada@example.org"
BO = "bo@example.org"
SAND = Work(
    "Language Agents that Count Grains of Sand",
    "We let language agents count grains of sand on a beach, and compare what they found with "
    "what a sieve finds. They agree on beaches of up to a thousand grains, and not on others.",
    ("Ada Lindqvist", "Bo Strand"),
    day="2026-10-05",
    doi="10.5555/sand",
    venue="Journal of Sand",
)
PREPRINT = replace(SAND, doi="", arxiv="2610.01234", venue="", kind="preprint")
RETRACTION = ("retraction", "10.5555/sand.r", "2026-11-25")
CORRECTION = ("correction", "10.5555/sand.c", "2026-11-25")


@pytest.fixture
def services() -> Iterator[LookUpServices]:
    with look_up_services([SAND]) as running:
        yield running


def write(house: House, name: str, *works: Work) -> None:
    rows = [
        {
            "title": work.title,
            "abstract": work.abstract,
            "authors": work.authors,
            "published": work.day,
            "venue": work.venue,
            "url": f"https://example.org/{work.doi or work.arxiv}",
            **({"doi": work.doi} if work.doi else {}),
            **({"arxiv_id": work.arxiv} if work.arxiv else {}),
        }
        for work in works
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (house.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


@pytest.fixture
def shared(house: House, services: LookUpServices, smtp: ScriptedSmtp) -> House:
    """An installation with two readers of one subscription, which had one paper yesterday."""
    house.settings["sources"] = {
        "list": {"kind": "jsonl", "path": "*.jsonl", "first_run": "deliver"}
    }
    house.by_mail(smtp.port, ADA, BO)
    asks(house, services, "crossref", "openalex")
    write(house, "1", SAND)
    house.run()
    assert services.count() == 0  # it lacks nothing
    return house


def asks(house: House, services: LookUpServices, *names: str, **settings: object) -> None:
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.settings["look_up"] = services.settings(*names, **settings)


def save(house: House, who: str, verdict: str = "save", title: str = SAND.title) -> None:
    with house.opened() as app:
        rate_any(app.runtime, title, verdict, ["lab"], who)


def told(house: House) -> list[tuple[str, str]]:
    """Return the changes in the last digest, and for whom each is."""
    return [(event.change.value, event.reader) for event in house.digest().references]


def mails_about(smtp: ScriptedSmtp, words: str) -> list[str]:
    """Return who got a mail with some words, in the order of sending."""
    found = [mail for mail in smtp.received if words.encode() in mail.content]
    return [mail.recipient for mail in found]


def states(house: House) -> dict[str, LookUpState]:
    [stored] = house.read(all_papers)
    rows = house.read(look_ups.of_papers, [stored.id], Purpose.CHANGES).get(stored.id, [])
    return {row.service: row.state for row in rows}


def test_the_reader_who_saved_a_paper_alone_is_told_that_it_was_retracted(
    shared: House, services: LookUpServices, smtp: ScriptedSmtp
) -> None:
    save(shared, ADA)
    services.has([replace(SAND, notices=(RETRACTION,))])
    shared.run_after(hours=1)
    assert told(shared) == [("retracted", ADA)]
    assert mails_about(smtp, "saved or rated was retracted") == [ADA]
    assert [one.recipient for one in newest_deliveries(shared)] == [ADA]


def newest_deliveries(house: House) -> tuple[Any, ...]:
    def of_newest(tx: Any) -> tuple[Any, ...]:
        [newest] = digests.newest(tx, ["lab"], 1)
        return deliveries.of_digests(tx, [newest.id])[newest.id]

    return house.read(of_newest)


def test_a_change_is_told_once_and_a_service_asked_once_a_month(
    shared: House, services: LookUpServices
) -> None:
    save(shared, ADA)
    services.has([replace(SAND, notices=(CORRECTION,))])
    shared.run_after(hours=1)
    assert told(shared) == [("corrected", ADA)]
    assert (services.count("crossref"), services.count("openalex")) == (1, 1)
    for _ in range(29):
        assert shared.run_after(days=1) == {}
    assert services.count() == 2
    assert shared.run_after(days=2) == {}
    assert services.count() == 4


@pytest.mark.parametrize("verdict", ["up", "save"])
def test_a_paper_that_was_taken_back_is_asked_about_no_more(
    shared: House, services: LookUpServices, verdict: str
) -> None:
    save(shared, ADA, verdict)
    shared.run_after(hours=1)
    assert services.count() == 2
    save(shared, ADA, "none")
    shared.run_after(days=40)
    assert services.count() == 2
    save(shared, ADA, "down")
    shared.run_after(days=40)
    assert services.count() == 2


def test_a_change_that_waits_is_not_told_after_the_paper_was_taken_back(
    shared: House, services: LookUpServices
) -> None:
    shared.settings["subscriptions"]["lab"]["schedule"] = "daily 08:00"
    save(shared, ADA)
    services.has([replace(SAND, notices=(RETRACTION,))])
    shared.run_after(minutes=1)
    assert services.count() == 2
    save(shared, ADA, "none")
    shared.run_after(days=1)
    assert told(shared) == []


def test_two_readers_who_saved_one_paper_are_both_told_and_it_is_asked_once(
    shared: House, services: LookUpServices, smtp: ScriptedSmtp
) -> None:
    save(shared, ADA)
    save(shared, BO.upper(), "up")
    services.has([replace(SAND, notices=(RETRACTION,))])
    shared.run_after(hours=1)
    assert services.count("crossref") == 1
    assert sorted(told(shared)) == [("retracted", ADA), ("retracted", BO)]
    assert sorted(mails_about(smtp, "saved or rated was retracted")) == [ADA, BO]


def test_who_saves_a_paper_later_is_told_what_is_known_without_asking_again(
    shared: House, services: LookUpServices, smtp: ScriptedSmtp
) -> None:
    save(shared, ADA)
    services.has([replace(SAND, notices=(RETRACTION,))])
    shared.run_after(hours=1)
    shared.clock.move(days=1)
    save(shared, BO)
    shared.run_after(hours=1)
    assert services.count() == 2
    assert mails_about(smtp, "saved or rated was retracted") == [ADA, BO]
    assert shared.run_after(hours=1) == {}


def test_a_preprint_is_told_to_be_published(house: House, smtp: ScriptedSmtp) -> None:
    with look_up_services([PREPRINT]) as services:
        house.settings["sources"] = {
            "list": {"kind": "jsonl", "path": "*.jsonl", "first_run": "deliver"}
        }
        house.by_mail(smtp.port, ADA)
        asks(house, services, "huggingface", "semantic-scholar")
        write(house, "1", PREPRINT)
        house.run()
        save(house, ADA)
        house.run_after(hours=1)
        assert services.count("huggingface") == 0
        assert services.count("semantic-scholar") == 1
        services.has([replace(PREPRINT, doi="10.5555/sand", venue="Journal of Sand")])
        house.run_after(days=31)
        [event] = house.digest().references
        assert (event.change, event.doi) == (ReferenceChange.PUBLISHED, "10.5555/sand")
        assert event.source == "Semantic Scholar"


def test_a_preprint_is_told_to_be_published_where_crossref_relates_it(
    house: House, smtp: ScriptedSmtp
) -> None:
    draft = replace(SAND, doi="10.1101/2026.10.05.123456", venue="bioRxiv", kind="posted-content")
    with look_up_services([replace(draft, becomes="10.5555/sand")]) as services:
        house.settings["sources"] = {
            "list": {"kind": "jsonl", "path": "*.jsonl", "first_run": "deliver"}
        }
        house.by_mail(smtp.port, ADA)
        asks(house, services, "crossref")
        write(house, "1", draft)
        house.run()
        save(house, ADA)
        house.run_after(hours=1)
        [event] = house.digest().references
        assert (event.change, event.doi) == (ReferenceChange.PUBLISHED, "10.5555/sand")


def test_an_answer_changes_nothing_of_the_paper(shared: House, services: LookUpServices) -> None:
    before = stored(shared)
    save(shared, ADA)
    services.has([replace(SAND, retracted=True, authors=("Eve",), notices=(RETRACTION,))])
    shared.run_after(hours=1)
    assert stored(shared) == before
    assert states(shared) == {
        "crossref": LookUpState.REPORTED,
        "openalex": LookUpState.REPORTED,
    }
    assert told(shared) == [("retracted", ADA)]


def stored(house: House) -> tuple[object, ...]:
    def read(tx: Any) -> tuple[object, ...]:
        [paper] = all_papers(tx)
        origin = papers.origin(tx, paper)
        return paper, origin.sightings, origin.changes

    return house.read(read)


def test_the_record_of_another_work_says_nothing(shared: House, services: LookUpServices) -> None:
    other = replace(
        SAND,
        title="Tides of a Harbour in Winter",
        abstract="We measure tides through one winter, and find that they follow the moon.",
        authors=("Cy Fjord",),
        notices=(RETRACTION,),
    )
    save(shared, ADA)
    services.has([other])
    shared.run_after(hours=1)
    assert set(states(shared).values()) == {LookUpState.NOT_FOUND}
    assert told(shared) == []


def test_a_correction_from_long_before_a_paper_was_saved_is_no_news(
    shared: House, services: LookUpServices
) -> None:
    save(shared, ADA)
    services.has([replace(SAND, notices=(("correction", "10.5555/sand.c", "2026-03-01"),))])
    shared.run_after(hours=1)
    assert told(shared) == []


def test_nothing_is_asked_without_the_setting(shared: House, services: LookUpServices) -> None:
    del shared.settings["look_up"]
    save(shared, ADA)
    shared.run_after(days=40)
    assert services.count() == 0
    assert states(shared) == {}


def test_nothing_is_asked_by_title(house: House, services: LookUpServices) -> None:
    asks(house, services, "openalex")
    unnamed = replace(SAND, doi="", arxiv="")
    house.settings["sources"] = {
        "list": {"kind": "jsonl", "path": "*.jsonl", "first_run": "deliver"}
    }
    house.settings["topics"] = {"none": {"query": "seaweed"}}
    write(house, "1", unnamed)
    house.run()
    save(house, "operator")
    house.run_after(days=40)
    assert services.count() == 0


def test_half_of_the_requests_of_a_day_are_left_to_the_news(
    shared: House, services: LookUpServices
) -> None:
    works = [
        replace(SAND, title=f"{SAND.title}, Beach {n}", doi=f"10.5555/b,{n}") for n in range(4)
    ]
    services.has(works)
    write(shared, "2", *works)
    asks(shared, services, "crossref", a_day=4)
    shared.run_after(hours=1)
    for work in works:
        save(shared, ADA, title=work.title)
    shared.run_after(hours=1)
    assert services.count() == 2  # a DOI with a comma is asked about alone
    shared.run_after(days=1)
    assert services.count() == 4


def test_a_request_that_fails_is_repeated_three_times_a_month(shared: House) -> None:
    with look_up_services([replace(SAND, lie=Lie.BROKEN)]) as broken:
        asks(shared, broken, "crossref")
        save(shared, ADA)
        for _ in range(ATTEMPTS + 3):
            shared.run_after(hours=25)
        assert broken.count() == ATTEMPTS
        assert states(shared) == {"crossref": LookUpState.GIVEN_UP}
        broken.has([replace(SAND, notices=(RETRACTION,))])
        shared.run_after(days=31)
        assert told(shared) == [("retracted", ADA)]


def test_a_broken_service_keeps_no_other_from_answering(shared: House) -> None:
    broken = replace(SAND, retracted=True, lie=Lie.HALF, lies_at=frozenset(["crossref"]))
    with look_up_services([broken]) as services:
        asks(shared, services, "crossref", "openalex")
        save(shared, ADA)
        shared.run_after(hours=1)
        assert told(shared) == [("retracted", ADA)]


def test_what_the_operator_saved_is_told_where_one_person_alone_reads(
    house: House, services: LookUpServices, smtp: ScriptedSmtp
) -> None:
    house.settings["sources"] = {
        "list": {"kind": "jsonl", "path": "*.jsonl", "first_run": "deliver"}
    }
    asks(house, services, "crossref")
    write(house, "1", SAND)
    house.run()
    save(house, "operator")
    services.has([replace(SAND, notices=(RETRACTION,))])
    house.by_mail(smtp.port, ADA, BO)
    house.run_after(hours=1)
    assert told(house) == []
    house.by_mail(smtp.port, ADA)
    house.run_after(hours=1)
    assert told(house) == [("retracted", "operator")]


@pytest.fixture
def guarded(shared: House) -> House:
    """The same, with a library of which a retraction may be read in `notices/`."""
    for name in ("refs", "notices"):
        (shared.folder / name).mkdir()
    entry = {"title": SAND.title, "doi": SAND.doi, "authors": SAND.authors}
    (shared.folder / "refs" / "ada.json").write_text(json.dumps([entry]), encoding="utf-8")
    notices = {"kind": "jsonl", "path": "notices/*.json", "first_run": "baseline"}
    shared.settings["sources"] |= {
        "refs": {"kind": "jsonl", "path": "refs/*.json", "role": "library"},
        "notices": notices,
    }
    shared.settings["subscriptions"]["lab"]["guard"] = "refs"
    return shared


def read_notice(house: House) -> None:
    notice = {"title": "Retraction", "type": "retraction", "about": {"doi": SAND.doi}}
    (house.folder / "notices" / "1.json").write_text(json.dumps([notice]), encoding="utf-8")


def test_what_a_guard_tells_all_is_not_told_again_to_who_saved_the_paper(
    guarded: House, services: LookUpServices
) -> None:
    read_notice(guarded)
    save(guarded, ADA)
    services.has([replace(SAND, notices=(RETRACTION,))])
    guarded.run_after(hours=1)
    assert told(guarded) == [("retracted", "")]
    assert guarded.run_after(hours=1) == {}


def test_a_guard_tells_later_only_those_who_did_not_save_the_paper(
    guarded: House, services: LookUpServices
) -> None:
    save(guarded, ADA)
    services.has([replace(SAND, notices=(RETRACTION,))])
    guarded.run_after(hours=1)
    assert told(guarded) == [("retracted", ADA)]
    read_notice(guarded)
    guarded.run_after(hours=1)
    assert told(guarded) == [("retracted", "")]
    assert [one.recipient for one in newest_deliveries(guarded)] == [BO]


def test_a_quiet_digest_still_comes_to_who_is_not_told(
    shared: House, services: LookUpServices, smtp: ScriptedSmtp
) -> None:
    shared.settings["subscriptions"]["lab"] |= {"schedule": "daily 08:00", "quiet": "send"}
    shared.run_after(days=1)
    save(shared, ADA)
    services.has([replace(SAND, notices=(RETRACTION,))])
    before = len(smtp.received)
    shared.run_after(days=1)
    assert len(smtp.received) == before + 2
    assert mails_about(smtp, "saved or rated was retracted") == [ADA]


def test_status_counts_followed_papers(shared: House, services: LookUpServices) -> None:
    save(shared, ADA)
    services.has([replace(SAND, notices=(RETRACTION,))])
    shared.run_after(hours=1)
    with shared.opened() as app:
        report = status(app.runtime, probe=False).look_up
    assert report and report.saved
    assert (report.saved.papers, report.saved.changed) == (1, 1)
    assert report.saved.last_asked == shared.clock.at
