"""A file among the dumps that is no list of papers is stored only if a person says so."""

from __future__ import annotations

from monitor.model import FirstRun, RunOutcome
from monitor.pipeline.ingest import ingest
from tests.house import AGENTS, BANDITS, House
from tests.sources.test_no_lists import LOGIN, NOTES


def test_a_file_that_is_no_list_is_an_incident_that_names_it_and_stores_nothing(
    house: House,
) -> None:
    house.add("1.txt", AGENTS)
    (house.folder / "dumps" / "notes.txt").write_text(NOTES)
    (house.folder / "dumps" / "page.txt").write_text(LOGIN)
    with house.opened() as app:
        outcomes = {run.document: run.outcome for run in ingest(app.runtime, "page")}
    assert [*outcomes.values()] == [RunOutcome.OK, RunOutcome.FAILED, RunOutcome.FAILED]
    [problem] = [text for text in house.problems() if "page" in text]
    assert "notes.txt: it does not look like a list of papers" in problem
    assert "page.txt: it looks like a login page" in problem
    assert "`paper-monitor ingest page --accept`" in problem
    (house.folder / "dumps" / "page.txt").unlink()
    (house.folder / "dumps" / "notes.txt").unlink()
    house.add("2.txt", BANDITS)
    with house.opened() as app:
        ingest(app.runtime, "page")
    assert not [text for text in house.problems() if "list of papers" in text]


def test_accept_stores_what_is_read_of_it(house: House) -> None:
    (house.folder / "dumps" / "notes.txt").write_text(NOTES)
    with house.opened() as app:
        [refused] = ingest(app.runtime, "page")
        [taken] = ingest(app.runtime, "page", accept_as=FirstRun.DELIVER)
        [after] = ingest(app.runtime, "page")
    assert (refused.new, taken.new, after.outcome) == (0, 2, RunOutcome.UNCHANGED)
