"""A sentence or a paper that is tried on the pages, and the page of a topic that is like one."""

from __future__ import annotations

from tests.house import BANDITS, House
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
        assert "at_least: 0.38" in shown and "agents-that-use-a-web-browser-or-a-phone:" in shown
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
        assert f"like: {TEXT}" in listed
