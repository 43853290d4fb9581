"""A topic is tried on what is stored: counts, quiet days, what another one finds beside it."""

from __future__ import annotations

import pytest

from monitor.commands import query_bounds, topic_trial
from monitor.commands.topic_trial import try_topic
from monitor.match import parse_query
from monitor.model import Topic
from tests.cli.conftest import Say
from tests.house import AGENTS, BANDITS, FOLDING, House

MORE = ("Agents of Language", "A language that agents may speak.")


def test_days_without_papers_stand_in_the_plot_and_not_in_the_json(house: House, say: Say):
    house.add("1.txt", AGENTS, BANDITS)
    say("ingest", "--now", "2026-11-21T09:00")
    house.add("2.txt", MORE)
    say("ingest", "--now", "2026-11-24T09:00")
    result = say("topics", "try", "agents").out.splitlines()
    assert [line.split() for line in result if line.startswith("2026")] == [
        ["2026-11-21", "█" * 40, "1"],
        ["2026-11-22", "0"],
        ["2026-11-23", "0"],
        ["2026-11-24", "█" * 40, "1"],
    ]
    days = say("topics", "try", "agents", "--json").json["per_day"]
    assert [day["day"] for day in days] == ["2026-11-21", "2026-11-24"]


def test_a_topic_is_compared_with_another(lived: House, say: Say):
    result = say("topics", "try", "trial OR agents", "--compare", "exploration OR plan", "--json")
    compared = result.json["compare"]
    assert (compared["query"], compared["papers"]) == ("exploration OR plan", 2)
    assert (compared["gained"], compared["lost"]) == (0, 0)
    result = say("topics", "try", "bandit", "--compare", "agents", "--json").json["compare"]
    assert result["query"] == "language AND agent"
    assert [sample["title"] for sample in result["gained_sample"]] == [BANDITS[0]]
    assert [sample["title"] for sample in result["lost_sample"]] == [AGENTS[0]]
    assert result["lost_sample"][0]["why"][0] == {"field": "title", "words": ["Language", "Agents"]}
    shown = say("topics", "try", "bandit", "--compare", "agents").out
    assert "language AND agent matches 1 paper: 1 gained, 1 lost." in shown


def test_a_threshold_is_tried(lived: House, say: Say):
    asked = ("topics", "try", "agent^3 OR harm OR trial", "--json", "--threshold")
    assert [say(*asked, points).json["papers"] for points in ("1", "2", "3", "4")] == [2, 2, 1, 0]
    assert say(*asked, "6").status == 2


def test_synonyms_and_thresholds_hold_in_searches_and_digests(house: House, say: Say):
    house.settings["topics"] = {"chains": {"query": "title:chain"}}
    assert house.run(FOLDING, BANDITS) == {}
    house.settings["synonyms"] = {"chain": "protein"}
    assert house.next_morning() == {"lab": 1}
    assert house.next_morning() == {"lab": 0}
    assert len(say("papers", "title:chain", "--json").json["papers"]) == 1
    assert say("papers", "title:=chain", "--json").json["papers"] == []
    topic = {"query": "trial OR folding^2", "threshold": 2}
    house.settings["topics"] = {"chains": {"query": "title:chain"}, "t": topic}
    for threshold, sent in ((3, 0), (1, 1), (2, 0)):  # what was sent is not sent again
        topic["threshold"] = threshold
        assert house.next_morning() == {"lab": sent}


def test_a_very_wide_topic_is_tried_on_the_newest_papers(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.ingest(*((f"Agents of kind {n}", f"Work of {n}.") for n in range(300)))
    monkeypatch.setattr(topic_trial, "MATCHING", 100)
    with house.opened() as app:
        result = try_topic(app.runtime, Topic("", "agents"), parse_query("work"))
        whole = try_topic(app.runtime, Topic("", "kind 299 OR kind 7"))
    assert (result.papers, result.share) == (300, 1.0)
    assert sum(result.per_day.values()) == 100
    assert result.warnings[-1].startswith("only the newest 100 papers were searched")
    assert result.compare
    assert (result.compare.papers, result.compare.gained, result.compare.lost) == (300, 0, 0)
    assert (whole.papers, whole.warnings) == (2, ())


def test_a_search_in_a_shell_is_not_bounded(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.run(AGENTS, BANDITS, FOLDING)
    monkeypatch.setattr(query_bounds, "MOST_ENTRIES", 1)
    monkeypatch.setattr(query_bounds, "MOST_READ", 1)
    query = 'agents OR pl* OR th* OR zz* OR "agents th*"~100 OR bandit'
    assert len(say("papers", query, "--json").json["papers"]) == 3
    assert say("topics", "try", query, "--json").json["papers"] == 3
    assert say("papers", query, "--format", "csv").status == 0


def test_a_trial_suggests_what_a_topic_misses(house: House, say: Say) -> None:
    house.ingest(
        ("An LLM agent", "It plans."),
        ("Large language models (LLMs) plan", "Their training."),
        ("A large language model plans", "It is trained."),
        ("Large language models at work", "A language model of size."),
    )
    result = say("topics", "try", "title:LLM^2 -robot", "--json").json
    assert result["papers"] == 2
    assert result["suggestions"] == [
        {
            "kind": "pair",
            "term": "LLM",
            "alternative": '"large language model"',
            "query": 'title:(LLM OR "large language model")^2 -robot',
            "position": 6,
            "papers": 2,
            "looked_at": 4,
        }
    ]
    shown = say("topics", "try", "title:LLM").out
    assert 'LLM → "large language model" +2' in shown
    assert "query: 'title:(LLM OR \"large language model\")'" in shown
    changed = result["suggestions"][0]["query"]
    again = say("topics", "try", changed, "--json").json
    assert (again["papers"], again["suggestions"]) == (4, [])


def test_what_synonyms_already_find_is_not_suggested(house: House, say: Say) -> None:
    house.settings["synonyms"] = {"LLM": "large language model"}
    house.settings["topics"] = {"t": {"query": "LLM", "threshold": 1}}
    house.ingest(("An LLM", "Plans."), ("Large language models", "Data set and dataset."))
    for query in ("LLM", "t"):
        result = say("topics", "try", query, "--json").json
        assert (result["papers"], result["suggestions"]) == (2, [])


def test_suggestions_are_counted_among_the_newest(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.ingest(*((f"A data set of kind {n}", "A dataset.") for n in range(30)), AGENTS)
    house.ingest(*((f"The dataset of sort {n}", "Of data.") for n in range(30)))
    monkeypatch.setattr(topic_trial, "COUNTED", 40)
    [suggestion] = say("topics", "try", '"data set"', "--json").json["suggestions"]
    assert (suggestion["alternative"], suggestion["papers"]) == ("dataset", 30)
    assert suggestion["looked_at"] == 40


TEXT = "agents that use a web browser or a phone"
WEB = ("Agents in the Browser", "An agent clicks in the web browser of a phone.")
NEARLY = ("A Browser of Pages", "The browser shows them.")


def test_a_text_shows_where_its_bar_lies_and_the_bar_moves(house: House, say: Say):
    house.settings["topics"]["browsing"] = {"like": TEXT}
    house.ingest(WEB, NEARLY, BANDITS)
    shown = say("topics", "try", "--like", TEXT).out
    assert "1 paper of the newest 3 reaches the bar of 0.38, 1 a day." in shown
    assert "Browser, Agents, phone, web: four of your words" in " ".join(shown.split())
    above, below = shown.split("bar 0.38 ─")
    assert WEB[0] in above and NEARLY[0] in below
    for named in (("browsing",), ("--like", TEXT)):
        lower = say("topics", "try", *named, "--at-least", "0.2").out
        assert "2 papers of the newest 3 reach the bar of 0.2, 2 a day." in lower
        assert lower.index(NEARLY[0]) < lower.index("bar 0.2 ─"), "the line is below all of them"
    high = say("topics", "try", "browsing", "--at-least", "1").out
    assert "0 papers of the newest 3 reach the bar of 1." in high
    assert high.index("bar 1 ─") < high.index(WEB[0])
    nothing = say("topics", "try", "--like", "quokkas and wombats").out
    assert "No stored paper has one of the words." in nothing


def test_answers_propose_words_to_add_and_to_drop(house: House, say: Say):
    guis = [(f"A GUI in the browser {n}", "Agents click on a GUI of the web.") for n in range(3)]
    calls = [(f"Phone calls in a browser {n}", "A phone on the web rings.") for n in range(3)]
    house.settings["topics"] = {"browsing": {"like": {"text": TEXT, "at_least": 0.1}}}
    house.ingest(*guis, *calls)
    assert "By the answers" not in say("topics", "words", "browsing").out
    for number in range(1, 7):
        verdict = "up" if number < 4 else "down"
        assert say("papers", "rate", f"{number}", verdict, "--subscription", "lab").status == 0
    for command in ("words", "relearn"):
        shown = say("topics", command, "browsing").out
        [add] = [line for line in shown.splitlines() if "add to the text:" in line]
        [drop] = [line for line in shown.splitlines() if ", drop:" in line]
        assert ("GUI" in add, "phone" in drop) == (True, True)
