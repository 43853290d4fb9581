"""`papers look-up` and `papers unfill` from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from monitor.look_up import SERVICES
from tests.cli.conftest import Say
from tests.house import AGENTS, APART, BANDITS, House
from tests.servers.look_up import PLANS, Lie, LookUpServices, Work, look_up_services
from tests.servers.web import Answer


@pytest.fixture
def services(lived: House) -> Iterator[LookUpServices]:
    with look_up_services([PLANS], ["arxiv", "openalex"]) as running:
        lived.settings["look_up"] = running.settings("arxiv")
        lived.write()
        yield running


def test_the_requests_are_shown_before_any_is_sent(services: LookUpServices, say: Say) -> None:
    shown = say("papers", "look-up", "--missing", "--dry-run", "--json")
    [request] = shown.json["requests"]
    assert request["service"] == "arxiv" and request["url"].startswith(services.url("arxiv"))
    assert "1 request about" in say("papers", "look-up", "--missing", "--dry-run").out
    refused = say("papers", "look-up", AGENTS[0], "--limit", "1")
    assert (refused.status, "--limit goes with --missing" in refused.err) == (2, True)
    assert services.count() == 0


def test_what_is_asked_of_saved_papers_is_shown_and_what_was_said_is_listed(
    lived: House, services: LookUpServices, say: Say
) -> None:
    say("papers", "look-up", AGENTS[0])
    say("papers", "save", AGENTS[0])
    before = services.count()
    shown = say("papers", "look-up", "--saved", "--dry-run", "--json")
    [request] = shown.json["requests"]
    assert request["url"].endswith("/api/query?id_list=2610.01234&max_results=1")
    assert services.count() == before
    lived.settings["look_up"] = services.settings("arxiv", "openalex")
    shown = say("papers", "look-up", "--saved", "--dry-run")
    assert "2 requests about 1 paper. Nothing was sent." in shown.out
    lived.settings["look_up"] = services.settings("arxiv")
    assert say("papers", "look-up", "--saved").status == 2
    assert "not asked" in say("papers", "saved").out
    say("run")
    assert services.count() == before + 1
    assert "arXiv: nothing new" in " ".join(say("papers", "saved").out.split())
    assert "arXiv: nothing new, asked" in " ".join(say("explain", AGENTS[0]).out.split())
    assert "Once a month about 1 saved or rated paper." in say("status").out


def test_a_paper_is_looked_up_and_taken_out(services: LookUpServices, say: Say) -> None:
    done = say("papers", "look-up", AGENTS[0], "--json")
    [paper] = done.json["papers"]
    assert (done.status, paper["filled"][0]["service"]) == (0, "arxiv")
    assert [one["state"] for one in paper["services"]] == ["filled"]
    told = " ".join(say("explain", AGENTS[0]).out.split())
    assert "Affiliations Sand & Sons; Dune Lab" in told
    assert "authors, affiliations, date" in told
    assert f"by its abstract, {paper['filled'][0]['when'][:10]} " in told
    out = say("papers", "unfill", AGENTS[0], "--json").json
    assert [one["state"] for one in out["papers"][0]["services"]] == ["refused"]
    assert "Sand & Sons" not in say("explain", AGENTS[0]).out
    again = say("papers", "unfill", AGENTS[0])
    assert (again.status, "nothing of this paper was filled in" in again.err) == (2, True)


def test_a_service_that_failed_is_asked_again_at_once(services: LookUpServices, say: Say) -> None:
    services.answers_with("arxiv", Answer(500, b"oops"))
    for count in (1, 2):
        done = say("papers", "look-up", AGENTS[0])
        assert (done.status, services.count()) == (1, count)
        assert "no answer yet" in done.out and "ask again" in done.out


def test_without_services_nothing_is_said_to_be_asked(lived: House, say: Say) -> None:
    for line in (["--missing"], ["--missing", "--dry-run"], [AGENTS[0]]):
        refused = say("papers", "look-up", *line)
        assert refused.status == 2
        assert "no service is asked about papers" in refused.err


def test_a_service_that_lies_fills_nothing_in(lived: House, say: Say) -> None:
    work = Work(AGENTS[0], AGENTS[1], arxiv="2610.01234", lie=Lie.NAMESAKE)
    with look_up_services([work], ["arxiv"]) as running:
        lived.settings["look_up"] = running.settings("arxiv")
        lived.write()
        shown = say("papers", "look-up", AGENTS[0])
    assert "with nothing else to tell it by" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    "line",
    [
        "preview --no-open",
        "digest --dry-run",
        "topics try agents",
        "papers look-up --missing --dry-run",
        "papers look-up --saved --dry-run",
        "check",
        "explain 1",
    ],
)
def test_who_looks_and_tries_asks_nothing(
    lived: House, services: LookUpServices, say: Say, line: str
) -> None:
    lived.add_next(APART)
    say("ingest")
    assert say(*line.split()).status == 0
    assert services.count() == 0
    say("run")
    assert services.count() > 0


def test_doctor_asks_each_service_for_one_paper(services: LookUpServices, say: Say) -> None:
    known = SERVICES["arxiv"].known
    services.has([Work(known.title, arxiv=known.keys["arxiv"])])
    assert service_check(say) == (True, "answers")
    assert [request.query["id_list"] for request in services.requests] == [known.keys["arxiv"]]
    services.has([PLANS])
    assert service_check(say) == (False, f"does not know “{known.title}”")
    services.answers_with("arxiv", Answer(500, b"oops"))
    ok, message = service_check(say)
    assert not ok and "500" in message


def service_check(say: Say) -> tuple[bool, str]:
    [check] = [c for c in say("doctor", "--json").json["checks"] if c["name"] == "service arxiv"]
    return check["ok"], check["message"]


def test_what_only_a_library_has_is_never_sent(
    lived: House, services: LookUpServices, say: Say
) -> None:
    """Also if a subscription guards it, and somebody asks about all papers."""
    title = "Unpublished Notes about Language Agents"
    (lived.folder / "refs.jsonl").write_text(json.dumps({"title": title}) + "\n", "utf-8")
    library = {"kind": "jsonl", "path": "refs.jsonl", "role": "library"}
    lived.settings["sources"]["refs"] = library
    lived.settings["subscriptions"]["lab"]["guard"] = "refs"
    lived.add_next(APART)
    say("run")
    say("papers", "look-up", "--missing")
    assert "Only libraries have this paper" in say("explain", title).out
    assert say("papers", "look-up", title).status == 2
    sent = " ".join(" ".join(request.query.values()) for request in services.requests)
    assert "apart" in sent and "unpublished" not in sent.casefold()


def test_papers_that_an_answer_joined_are_named_in_words(
    lived: House, services: LookUpServices, say: Say
) -> None:
    plans = replace(PLANS, title=APART[0], abstract=APART[1])
    services.has([plans])
    list_ = {"kind": "jsonl", "path": "list.jsonl", "first_run": "deliver"}
    lived.settings["sources"]["list"] = list_
    row = {"title": "Bounds on Harm", "abstract": APART[1], "arxiv_id": PLANS.arxiv}
    row["authors"] = list(PLANS.authors)
    (lived.folder / "list.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    say("run")
    lived.add_next(APART)
    say("run")
    status = " ".join(say("status").out.split())
    assert "was joined with another by the answer of arXiv; " in status
    told = " ".join(say("explain", "Bounds on Harm").out.split())
    assert "joined with another paper" in told
    assert "same arxiv 2610.01234" in told.partition("Joined paper")[2][:80]


def test_one_service_that_is_chosen_is_asked_alone(
    lived: House, services: LookUpServices, say: Say
) -> None:
    lived.settings["look_up"] = services.settings("openalex", "arxiv")
    services.has([])
    say("papers", "look-up", AGENTS[0], "--service", "arxiv")
    assert [request.service for request in services.requests] == ["arxiv"]
    say("run")
    assert services.count("openalex") == 0
    say("papers", "look-up", AGENTS[0])
    assert services.count("openalex") == 1


def test_nothing_is_asked_if_nothing_is_missing(services: LookUpServices, say: Say) -> None:
    services.has([PLANS, Work(*BANDITS, ("Cy Fjord",), arxiv="2610.00002")])
    assert len(say("papers", "look-up", "--missing", "--json").json["papers"]) == 2
    services.requests.clear()
    say("papers", "save", AGENTS[0])  # a service is due to be asked about it
    assert say("papers", "look-up", "--missing", "--json").json == {"papers": []}
    assert services.count() == 0


def test_who_asks_about_one_paper_asks_about_no_saved_one(
    services: LookUpServices, say: Say
) -> None:
    say("papers", "look-up", AGENTS[0])
    say("papers", "save", AGENTS[0])  # a service is due to be asked about it
    services.requests.clear()
    say("papers", "look-up", BANDITS[0])
    assert ["search_query" in request.query for request in services.requests] == [True]
