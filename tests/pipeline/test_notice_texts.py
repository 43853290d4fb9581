"""What notices say of references, whoever reports it, and the entry that they concern."""

from __future__ import annotations

import json

import pytest

from monitor.model import LibraryEntry, NoticeText, ReferenceEvent
from tests.house import House
from tests.servers.web import MisbehavingServer
from tests.servers.works import crossref, update, work

MOVES = "How Sand Moves in the Wind"
BIB = """@article{byron2024,
  title = {How Sand Moves in the Wind}, author = {Byron, Ada}, year = 2024, doi = {10.1000/moves}
}
"""
PREPRINT = """@misc{byron2024,
  title = {How Sand Moves in the Wind}, author = {Byron, Ada}, year = 2024,
  howpublished = {bioRxiv}, doi = {10.1101/2024.01.01.123456}
}
"""
SAYS = "The editors retract this article. Its figures were copied."


@pytest.fixture
def guarded(house: House) -> House:
    (house.folder / "refs").mkdir()
    (house.folder / "refs/ada.bib").write_text(BIB)
    house.settings["sources"] |= {
        "ada-refs": {"kind": "bibtex", "path": "refs/*.bib", "role": "library"},
        "one": {"kind": "jsonl", "path": "one*.jsonl"},
        "other": {"kind": "jsonl", "path": "other*.jsonl"},
    }
    house.settings["subscriptions"]["lab"]["guard"] = "ada-refs"
    return house


def write(house: House, name: str, **more: object) -> None:
    notice = {"title": f"Retraction: {MOVES}", "type": "retraction", "doi": "10.1000/r"}
    record = notice | {"about": {"doi": "10.1000/moves"}} | more
    (house.folder / name).write_text(json.dumps(record) + "\n")


def told(house: House) -> ReferenceEvent:
    house.run()
    house.next_morning()
    [event] = house.digest().references
    return event


def test_a_retraction_says_by_whom_when_why_and_of_which_entry(guarded: House):
    write(guarded, "one.jsonl", abstract=SAYS, venue="Journal of Sand", published="2026-11-20")
    event = told(guarded)
    assert (event.venue, event.doi, event.dated) == ("Journal of Sand", "10.1000/r", "2026-11-20")
    assert event.text == NoticeText(SAYS, "one")
    assert event.entries == (LibraryEntry("ada-refs", "ada.bib", "byron2024"),)


def test_the_text_may_come_with_a_later_report_of_the_same_notice(guarded: House):
    write(guarded, "one.jsonl")
    guarded.run()
    write(guarded, "other.jsonl", abstract=SAYS)
    event = told(guarded)
    assert (event.source, event.text) == ("one", NoticeText(SAYS, "other"))


def write_reasons(house: House, doi: str = "10.1000/r") -> None:
    columns = "Record ID,Title,Journal,Author,RetractionDate,RetractionDOI,RetractionPubMedID"
    columns += ",OriginalPaperDOI,OriginalPaperPubMedID,RetractionNature,Reason"
    row = f"7,{MOVES},Journal of Sand,Ada Byron,11/9/2026 0:00,{doi},0,10.1000/moves,0"
    rows = [f"{row},Retraction,+Error in Data;+Unreliable Results;", f"{row},Reinstatement,"]
    (house.folder / "rw.csv").write_text("\n".join([columns, *rows]) + "\n")
    watch = {"kind": "jsonl", "path": "rw.csv", "preset": "retraction-watch", "title": "RW"}
    house.settings["sources"]["rw"] = watch


REASONS = NoticeText("Error in Data; Unreliable Results.", "Retraction Watch", is_reasons=True)


def test_reasons_of_another_source_come_before_the_text_of_the_notice(guarded: House):
    write(guarded, "one.jsonl", abstract=SAYS)
    guarded.run()
    write_reasons(guarded, "10.1000/another")
    assert told(guarded).text == REASONS


def test_retraction_watch_gives_reasons(guarded: House):
    write_reasons(guarded)
    write(guarded, "one.jsonl", abstract=SAYS)
    event = told(guarded)
    assert (event.dated, event.venue) == ("2026-11-09", "Journal of Sand")
    assert event.text == REASONS


def test_reasons_are_known_of_a_notice_that_was_stored_before_the_library(guarded: House):
    library = guarded.settings["sources"].pop("ada-refs")
    guard = guarded.settings["subscriptions"]["lab"].pop("guard")
    write(guarded, "one.jsonl", abstract=SAYS)
    write_reasons(guarded)
    guarded.run()
    guarded.settings["sources"]["ada-refs"] = library
    guarded.settings["subscriptions"]["lab"]["guard"] = guard
    assert told(guarded).text == REASONS


def test_a_notice_that_begins_with_the_word_has_no_reasons_of_a_site(guarded: House):
    write(guarded, "one.jsonl", abstract="Reasons: Copied figures.")
    assert told(guarded).text == NoticeText("Reasons: Copied figures.", "one")


def test_crossref_is_asked_for_the_text_of_the_notice(guarded: House, web: MisbehavingServer):
    watch = {"kind": "crossref", "about": "ada-refs", "url": web.url(""), "allow_private": True}
    guarded.settings["sources"]["watch"] = watch
    retracted = work("10.1000/moves", MOVES, **{"updated-by": [update("retraction", "10.1000/r")]})
    notice = work(
        "10.1000/r",
        f"Retraction: {MOVES}",
        abstract=f"<jats:p>{SAYS}</jats:p>",
        **{"update-to": [update("retraction", "10.1000/moves")]},
    )
    crossref(web, retracted, notice)
    event = told(guarded)
    assert (event.after, event.text) == ("doi:10.1000/r", NoticeText(SAYS, "watch"))


def test_a_withdrawn_preprint_says_so_itself_and_any_other_abstract_is_no_notice(guarded: House):
    (guarded.folder / "refs/ada.bib").write_text(PREPRINT)
    says = "The authors have withdrawn this manuscript since its figures were copied."
    record = {"title": MOVES, "about": {}, "type": "preprint", "withdrawn": True}
    record |= {"doi": "10.1101/2024.01.01.123456", "authors": ["Ada Byron"]}
    write(guarded, "one.jsonl", **record, abstract=says)
    assert told(guarded).text == NoticeText(says, "one")


def test_the_abstract_of_a_withdrawn_paper_is_no_notice(guarded: House):
    record = {"title": MOVES, "about": {}, "type": "", "withdrawn": True, "doi": "10.1000/moves"}
    write(guarded, "one.jsonl", **record, abstract="We study how sand moves in the wind.")
    assert told(guarded).text is None
