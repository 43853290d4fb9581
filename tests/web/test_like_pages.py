"""A sentence or a paper that is tried on the pages, and the page of a topic that is like one."""

from __future__ import annotations

import html
from itertools import product

from monitor.commands.ratings import RaterScope, rate
from tests.house import AGENTS, BANDITS, House
from tests.web.conftest import SAME_ORIGIN, pages

WEB = ("Agents in the Browser", "An agent clicks in the web browser of a phone.")
NEARLY = ("A Browser of Pages", "The browser shows them.")
TEXT = "agents that use a web browser or a phone"


def test_a_text_is_tried_with_its_words_and_the_bar(house: House) -> None:
    house.run(WEB, NEARLY, BANDITS)
    with pages(house) as (_, client):
        shown = client.get("/try", params={"like": TEXT}).text
        above, below = shown.split("Below the bar of 0.38")
        assert ("Nearness 0.5" in above, above.count("Nearness"), below.count("Nearness")) == (
            True,
            1,
            1,
        )
        assert "<strong>1 paper</strong> of the newest 3 reaches the bar of 0.38" in shown
        assert "at_least: 0.38" in shown and "agents-use-web-browser:" in shown
        assert TEXT in shown.split("<textarea")[1].split("</textarea>")[0]
        refused = client.get("/try", params={"like": "the of and"})
        assert (
            refused.status_code == 400 and "only words that nearly every paper has" in refused.text
        )
        assert client.get("/try", params={"like": "agent " * 4_000}).status_code == 413


def test_papers_like_a_paper_are_a_topic_to_copy(house: House) -> None:
    house.run(WEB, NEARLY, BANDITS)
    with pages(house) as (_, client):
        assert 'href="/try?paper=1"' in client.get("/papers/1").text
        shown = client.get("/try?paper=1").text
        assert "Nearness" in shown and "like:" in shown
        assert f'Papers like <a href="/papers/1">{WEB[0]}</a>' in shown
        assert "of the newest 3 reaches the bar" in shown
        assert client.get("/try?paper=99").status_code == 400
        assert client.get("/try?paper=x").status_code == 400


def test_a_topic_shows_its_words(house: House) -> None:
    house.settings["topics"] = {
        "browsing": {"like": TEXT},
        "both": {"query": "agent", "like": TEXT},
    }
    house.run(WEB, BANDITS)
    with pages(house) as (_, client):
        for name in ("browsing", "both"):
            shown = client.get(f"/topics/{name}").text
            assert "from a nearness of 0.38 on. Version 1" in shown and "browser" in shown
        assert "like=agents%20that%20use" in client.get("/topics/browsing").text
        pressed = client.post("/topics/browsing/relearn", headers=SAME_ORIGIN)
        assert pressed.status_code == 303
        assert "Version 2" in client.get("/topics/browsing").text
        assert client.get("/topics/browsing/relearn").status_code == 405
        listed = client.get("/topics").text
        assert f">like: {TEXT}<" in listed and f">agent, and like: {TEXT}<" in listed


def test_the_bar_moves_and_the_topic_to_copy_with_it(house: House) -> None:
    house.run(WEB, NEARLY, BANDITS)
    with pages(house) as (_, client):
        lower = client.get("/try", params={"like": TEXT, "at_least": "0.2012"}).text
        assert "<strong>2 papers</strong> of the newest 3 reach the bar of 0.201, 2 a day" in lower
        assert "at_least: 0.2012\n" in lower and 'value="0.201"' in lower
        [form] = [part for part in lower.split("<form") if 'name="at_least"' in part]
        assert f'<input type="hidden" name="like" value="{TEXT}">' in form
        assert "Use the automatic bar" in form
        higher = client.get("/try", params={"like": TEXT, "at_least": "0.9"}).text
        assert "<strong>0 papers</strong> of the newest 3 reach the bar of 0.9</p>" in higher
        assert "Nearness" not in higher.split("Below the bar of 0.9")[0]
        assert "Choose it by" not in client.get("/try", params={"like": TEXT}).text


def test_the_bar_of_papers_like_a_paper_moves(house: House) -> None:
    house.run(WEB, NEARLY, BANDITS)
    with pages(house) as (_, client):
        shown = client.get("/try?paper=1&at_least=0.05").text
        assert "<strong>2 papers</strong>" in shown and "at_least: 0.05\n" in shown
        assert '<input type="hidden" name="paper" value="1">' in shown
        assert 'name="like" value' not in shown


def test_what_is_no_bar_is_refused(house: House) -> None:
    bars = ("0", "1.01", "-1", "nan", "inf", "low", "0,3", "9" * 5_000)
    with pages(house) as (_, client):
        for path, bar in product(("/try", "/api/v1/topics/try"), bars):
            answer = client.get(path, params={"like": TEXT, "at_least": bar})
            said = "at_least= needs a number above 0, up to 1, such as 0.35." in answer.text
            assert (answer.status_code, said) == (400, True), (path, bar)
            assert client.get(path, params={"like": TEXT, "at_least": " "}).status_code == 200
            assert client.get(path, params={"q": "agent", "at_least": bar}).status_code == 400


def test_papers_beside_a_bar_behind_the_nearest_are_shown(house: House) -> None:
    near = [(f"Agents in the browser {n}", "In the web browser of a phone.") for n in range(58)]
    house.run(*near, NEARLY, BANDITS)
    with pages(house) as (_, client):
        shown = client.get("/try", params={"like": TEXT, "at_least": "0.35"}).text
        nearest, beside = shown.split("5 more papers reach the bar.")
        assert (nearest.count("Nearness"), beside.count("Nearness")) == (50, 4)
        above, below = beside.split("Below the bar of 0.35")
        assert (above.count("Nearness"), below.count("of Pages")) == (3, 1)
        asked = client.get("/api/v1/topics/try", params={"like": TEXT, "at_least": "0.35"}).json()
    assert (asked["line"], asked["papers"], len(asked["nearest"])) == (50, 58, 50)
    assert [paper["matches"] for paper in asked["beside_bar"]] == [True, True, True, False]


def test_the_page_of_a_topic_proposes_words_by_the_answers_of_readers(house: House) -> None:
    guis = [(f"A GUI in the browser {n}", "Agents click on a GUI of the web.") for n in range(3)]
    games = [(f"Phone calls in a browser {n}", "A phone on the web rings.") for n in range(3)]
    house.settings["topics"] = {"browsing": {"like": {"text": TEXT, "at_least": 0.1}}}
    house.run(*guis, *games)
    with pages(house) as (app, client):
        assert "By the answers of readers" not in client.get("/topics/browsing").text
        for number in range(1, 7):
            rate(app.runtime, f"{number}", "up" if number < 4 else "down", RaterScope("lab"))
        for _ in range(2):
            shown = client.get("/topics/browsing").text
            proposed = shown.split("By the answers of readers, ")[1].split("</p>")[0]
            assert "add <code>GUI</code>" in proposed and "drop <code>phone</code>" in proposed
            assert client.post("/topics/browsing/relearn", headers=SAME_ORIGIN).status_code == 303


def test_a_topic_of_examples_alone_has_no_text_to_edit(house: House) -> None:
    (house.folder / "refs.bib").write_text(
        "@article{a, title={Agents in the Browser}, author={Ada B}, year={2024}}"
    )
    house.settings["topics"] = {
        "examples": {"like": {"file": "refs.bib"}},
        "moved": {"like": {"text": TEXT, "at_least": 0.4}},
        "both": {"like": {"text": TEXT, "file": "refs.bib"}},
    }
    house.run(WEB)
    with pages(house) as (_, client):
        assert "Edit a copy" not in client.get("/topics/examples").text
        shown = client.get("/topics/moved").text
        assert 'phone&amp;at_least=0.4">Edit a copy</a>' in shown
        assert (
            "Edit a copy of its text</a>, without its examples" in client.get("/topics/both").text
        )


def test_a_topic_whose_examples_cannot_be_read_has_the_button_to_learn_again(house: House) -> None:
    (house.folder / "refs.bib").write_text("")
    house.settings["topics"] = {"examples": {"like": {"file": "refs.bib"}}}
    house.run(WEB)
    with pages(house) as (_, client):
        shown = client.get("/topics/examples").text
        assert "Then an operator presses “Learn the words again”." in shown
        assert "<button>Learn the words again</button>" in shown and "paper-monitor" not in shown
        assert "until this is corrected" in shown and "<mark> </mark>" not in shown


def test_a_doi_as_a_query_leads_to_the_page_of_the_paper(house: House) -> None:
    house.run(WEB)
    with pages(house) as (_, client):
        for path in ("/papers", "/try"):
            shown = client.get(path, params={"q": "10.1000/x.1"}).text
            assert "To open a paper, put its identifier or address after /papers/." in shown
            assert "paper-monitor explain" not in shown


def test_the_api_tries_a_text(house: House) -> None:
    house.settings["topics"]["browsing"] = {"like": TEXT}
    house.settings["topics"]["both"] = {"like": TEXT, "query": "browser"}
    house.run(WEB, NEARLY, BANDITS)
    with pages(house) as (_, client):

        def ask(**query: str) -> dict[str, object]:
            answer = client.get("/api/v1/topics/try", params=query)
            return answer.json() | {"status": answer.status_code}

        tried = ask(like=TEXT, at_least="0.2")
        assert (tried["status"], tried["papers"], tried["line"], tried["bar"]) == (200, 2, 2, 0.2)
        assert (tried["a_day"], tried["looked_at"]) == (2.0, 3)
        assert ask(q="browsing", at_least="0.2")["papers"] == 2
        assert ask(q="browsing")["papers"] == 1
        assert [ask(q="both", at_least=bar)["papers"] for bar in ("0.9", "0.01")] == [0, 2]
        assert ask(q="agent", like=TEXT) == {
            "error": "give either q= or like=, not both.",
            "status": 400,
        }
        assert "write like= with the text" in str(ask(q="agent", at_least="0.3")["error"])
        assert "only words that nearly every paper has" in str(ask(like="the of and")["error"])
        long = ask(like="agent " * 4_000)
        assert (long["status"], long["position"]) == (400, 16_000)


def test_the_page_of_a_paper_says_which_words_are_of_the_text(house: House) -> None:
    house.settings["topics"] = {
        "browsing": {"like": TEXT},
        "both": {"query": "clicks", "like": TEXT},
    }
    house.run(WEB, AGENTS)
    with pages(house) as (_, client):
        shown = html.unescape(client.get("/papers/1").text)
    assert "<dd>Browser, Agents, phone, web: four of your words</dd>" in shown
    assert "<dd>abstract: clicks; Browser, Agents, phone, web: four of your words</dd>" in shown
