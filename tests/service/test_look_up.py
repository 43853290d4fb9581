"""The service asks about papers, and two processes on one store never ask about one twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.pipeline import look_up
from tests.house import AGENTS, House, all_papers
from tests.patience import wait
from tests.servers.look_up import PLANS, Lie, Work, look_up_services
from tests.service.serve import serving


def pages(house: House) -> list[Path]:
    return list(house.folder.glob("pages/lab/*.html"))


@pytest.mark.parametrize("schedule", ["immediately", "daily 08:00"])
def test_a_digest_of_the_service_has_what_was_looked_up(house: House, schedule: str) -> None:
    house.settings["subscriptions"]["lab"]["schedule"] = schedule
    with look_up_services([PLANS], ["arxiv"]) as services:
        house.settings["look_up"] = services.settings("arxiv")
        house.ingest()
        house.clock.move(days=1)
        house.add_next(AGENTS)
        with serving(house):
            wait(lambda: bool(house.read(all_papers)))
            if schedule != "immediately":
                house.clock.move(hours=2)  # on the hour: the digest waits for ten minutes
            wait(lambda: bool(pages(house)))
        assert "Ada Lindqvist" in pages(house)[0].read_text(encoding="utf-8")
        assert services.count() == 1


def test_a_service_that_never_answers_delays_a_digest_no_longer_than_it_may(house: House) -> None:
    with look_up_services(
        [Work(AGENTS[0], AGENTS[1], arxiv="2610.01234", lie=Lie.ENDLESS)], ["arxiv"]
    ) as services:
        house.settings["look_up"] = services.settings("arxiv")
        house.ingest()
        house.clock.move(days=1)
        house.add_next(AGENTS)
        with serving(house):
            wait(lambda: services.count() == 1)
            house.clock.move(hours=3, minutes=5)
            house.clock.move(minutes=6)
            wait(lambda: bool(pages(house)))


def test_two_processes_ask_about_no_paper_twice(house: House) -> None:
    works = [
        Work(f"{AGENTS[0]}, Lesson {n}", AGENTS[1], ("A. Lind",), arxiv=f"2610.0{n:04}")
        for n in range(12)
    ]
    with look_up_services(works, ["huggingface"]) as services:
        house.settings["look_up"] = services.settings("huggingface")
        house.ingest(*((work.title, work.abstract) for work in works))
        with house.opened() as app:
            look_up.queue(app.runtime)
        both = [house.process("digest", "--now", house.clock.now().isoformat()) for _ in range(2)]
        assert [process.wait() for process in both] == [0, 0]
        assert services.count() == len(works)
        assert all(paper.paper.authors for paper in house.read(all_papers))
