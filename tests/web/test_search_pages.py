"""The search with its filters and pages, and what sources and topics show of their numbers."""

from __future__ import annotations

import re
from datetime import timedelta

import httpx
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from monitor.identity import keys
from monitor.model import Paper
from monitor.store.engine import schema
from monitor.web import site
from tests.house import AGENTS, BANDITS, House
from tests.pipeline.desk import read
from tests.web.conftest import links, pages


def found(answer: httpx.Response) -> list[str]:
    """Return the titles of the papers on a page."""
    return [re.sub("<[^>]*>", "", one) for one in re.findall(r"<h3>(.*?)</h3>", answer.text)]


def cells(row: str) -> tuple[str, list[str]]:
    """Return the first cell of a row of a table, and the others."""
    first, *others = [one.strip() for one in re.findall(r">([^<>]+)<", row) if one.strip()]
    return first, others


def many(house: House, count: int = 60) -> None:
    for day in range(2):
        abstract = "The agents of number {0} speak a language, {0} times."
        numbers = range(day, count, 2)
        papers = [(f"Language Agents Number {n}", abstract.format(n)) for n in numbers]
        house.add(f"{day}.txt", *papers)
        house.run()
        house.clock.move(days=1)


def test_the_pages_of_a_search_have_each_paper_once(house: House) -> None:
    many(house)
    with pages(house) as (_, client):
        titles: list[str] = []
        path = "/papers?q=agent&source=page"
        for _ in range(3):
            answer = client.get(path)
            titles += found(answer)
            older = [one for one in links(answer.text) if "after=" in one and "/papers?" in one]
            path = older[0] if older else ""
        assert path == "" and len(titles) == len(set(titles)) == 60


def test_a_paper_with_code_is_searched_for_and_leads_to_it(house: House) -> None:
    code = "https://github.com/a/plans"
    house.ingest(
        ("Agents", f"They plan in a language. Our code is at {code}."), ("Others", "None.")
    )
    with pages(house) as (_, client):
        answer = client.get("/papers?q=has:code")
        assert found(answer) == ["Agents code"]
        assert answer.text.count(f'href="{code}"') == 1
        assert found(client.get("/papers?q=agents -has:code")) == []
        assert client.get("/papers/1").text.count(f'href="{code}"') == 1


def test_a_paper_says_by_what_its_records_were_recognised(house: House) -> None:
    with pages(house) as (app, client):
        for source in ("a", "b"):
            read(app.runtime.database, source, Paper("Sand Moves", keys={"doi": "10.1000/7"}))
        shown = re.findall('data-label="Recognised by">(.*?)<', client.get("/papers/1").text)
    assert shown == ["first record", "same doi 10.1000/7"]


def test_filters_are_kept_and_shown(house: House) -> None:
    many(house, 8)
    with pages(house) as (_, client):
        days = "since=2026-11-21&until=2026-11-21"
        answer = client.get(f"/papers?{days}&topic=agents&kind=new&source=page")
        assert sorted(found(answer)) == [f"Language Agents Number {n}" for n in (0, 2, 4, 6)]
        assert "<option selected>new</option>" in answer.text
        assert 'value="2026-11-21"' in answer.text
        assert found(client.get("/papers?kind=revised")) == []
        assert "No stored paper matches this" in client.get("/papers?source=none").text
        wrong = client.get("/papers?since=tomorrow").text
        assert "is not a day" in wrong
        assert '<input name="since" type="text" value="tomorrow">' in wrong
        assert "is not a kind of news" in client.get("/papers?kind=older").text


@pytest.mark.parametrize("zone", ["", "Asia/Tokyo", "Pacific/Honolulu"])
@pytest.mark.parametrize(
    ("days", "count"),
    [
        ("since=0001-01-01", 1),
        ("until=9999-12-30", 1),
        ("since=0001-01-01&until=9999-12-31", 1),
        ("since=0001-01-02&until=9999-12-29", 1),
        ("until=0001-01-01", 0),
        ("since=9999-12-31", 0),
    ],
)
def test_the_first_and_the_last_days_of_the_calendar_are_days(
    house: House, zone: str, days: str, count: int
) -> None:
    house.ingest(AGENTS)
    with pages(house) as (_, client):
        if zone:
            client.cookies.set("zone", zone)
        answer = client.get(f"/papers?{days}")
        assert (answer.status_code, len(found(answer))) == (200, count)
        exported = client.get(f"/papers.bib?{days}")
        assert (exported.status_code, exported.text.count("@")) == (200, count)


def test_the_number_of_results_is_shown_on_the_first_page(house: House) -> None:
    many(house, 25)
    house.add("3.txt", BANDITS)
    house.run()
    with pages(house) as (_, client):

        def counts(path: str) -> list[str]:
            return re.findall("<h2[^>]*>([^<]*papers?|Results)</h2>", client.get(path).text)

        assert counts("/papers") == ["26 papers"]
        assert counts("/papers?q=language agents") == ["25 papers"]
        assert counts("/papers?q=bandit*") == ["1 paper"]
        assert counts("/papers?q=zebra") == []
        [older] = [one for one in links(client.get("/papers?q=agents").text) if "after=" in one]
        assert counts(older) == ["Results"]


@pytest.mark.parametrize("most", [200, 1])
def test_topics_are_chosen_by_their_titles(
    house: House, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Where there are too many topics for a list, by a title that is typed."""
    monkeypatch.setattr(site, "MOST_LISTED", most)
    house.settings["topics"]["agents"]["title"] = "Agents of language"
    for name in ("old", "older"):
        house.settings["topics"][name] = {"query": "zebra", "title": "Others"}
    many(house, 2)
    house.ingest(BANDITS)
    with pages(house) as (_, client):
        shown = client.get("/papers?topic=agents").text
        if most > 1:
            assert '<option value="agents" selected>Agents of language</option>' in shown
            assert '<option value="older">Others (older)</option>' in shown
        else:
            assert '<input name="topic" value="agents"' in shown
        for title in ("agents", "agents OF language"):
            assert len(found(client.get("/papers", params={"topic": title}))) == 2
        for title, which in (("others", "More than one"), ("none", "No")):
            refused = client.get("/papers", params={"topic": title})
            assert f"{which} topic is called “{title}”: the page Topics has the names." in (
                refused.text
            )
            assert refused.status_code == 400
        assert client.get("/papers.csv?topic=none").status_code == 400


# The filters of pages: a field, a name, and the title that its thing has.
FILTERS = [
    ("/papers", "source", "page", "Daily papers"),
    ("/subscriptions", "topic", "agents", "Agents of language"),
    ("/deliveries", "subscription", "lab", "Reading group"),
    ("/digests", "subscription", "lab", "Reading group"),
]


def entitled(house: House) -> House:
    """Let a house have titles, a second subscription and a second source."""
    settings = house.settings
    settings["topics"]["agents"]["title"] = "Agents of language"
    settings["sources"]["page"]["title"] = "Daily papers"
    settings["sources"]["other"] = settings["sources"]["page"] | {"path": "other/*.txt"}
    settings["subscriptions"]["lab"]["title"] = "Reading group"
    settings["subscriptions"]["old"] = settings["subscriptions"]["lab"] | {"title": "Others"}
    settings["sources"]["other"]["title"] = "Others"
    return house


def test_filters_show_titles_and_of_equal_ones_the_name(house: House) -> None:
    entitled(house)
    house.settings["sources"]["other"]["title"] = "Daily papers"
    house.settings["subscriptions"]["old"]["title"] = "Reading group"
    house.run(AGENTS)
    with pages(house) as (_, client):
        for path, field, name, title in FILTERS:
            shown = client.get(path, params={field: name}).text
            text = title if field == "topic" else f"{title} ({name})"
            assert f'<option value="{name}" selected>{text}</option>' in shown


def test_filters_too_long_for_a_list_take_titles(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "MOST_LISTED", 1)
    entitled(house).run(AGENTS)
    house.settings["topics"]["none"] = {"query": "zebra"}
    with pages(house) as (_, client):
        for path, field, name, title in FILTERS:
            by_name = client.get(path, params={field: name})
            assert (
                f'<input name="{field}" value="{name}" placeholder="title or name"' in by_name.text
            )
            by_title = client.get(path, params={field: title.upper()})
            assert by_title.status_code == 200
            if path == "/papers":
                assert found(by_title) == found(by_name) == [AGENTS[0]]
            else:
                assert f'value="{name}"' in by_title.text


def test_a_day_is_that_of_the_viewer(house: House) -> None:
    house.add("1.txt", AGENTS)
    house.run()  # at 06:00 UTC
    with pages(house) as (_, client):
        assert len(found(client.get("/papers?until=2026-11-20"))) == 0
        client.cookies.set("zone", "Pacific/Honolulu")
        assert len(found(client.get("/papers?until=2026-11-20"))) == 1


def test_a_source_shows_a_thin_day_and_what_it_rejected_or_did_not_decide(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(_: object) -> str:
        raise IndexError("list <index> out of range")

    house.settings["sources"]["page"] = {"kind": "jsonl", "path": "dumps/*.jsonl"}
    (house.folder / "dumps" / "1.jsonl").write_text('{"title": "Plans"}\n{"abstract": "no"}\n')
    with monkeypatch.context() as patched, capture_logs():
        patched.setattr(keys, "fingerprint", raising)
        house.ingest()
    with pages(house) as (app, client):
        today = house.clock.now().date()
        first = house.clock.now() - timedelta(days=70)
        usual = {"source": "page", "asked": 24, "offered": True, "fresh": 30}
        rows = [usual | {"day": today - timedelta(days=n)} for n in range(1, 60)]
        rows[6]["fresh"] = 2
        with app.runtime.database.writing() as tx:
            tx.execute(sa.update(schema.source).values(first_read_at=first))
            tx.execute(sa.insert(schema.source_day), rows)
        shown = client.get("/sources/page").text
    assert f"Far fewer than usual on {today - timedelta(days=7)}." in shown
    assert 'class="usual"' in shown and "2, far fewer than usual" in shown
    assert "2 records rejected" in shown and "record has no title" in shown
    assert "Records not decided" in shown
    assert "IndexError: list &lt;index&gt; out of range" in shown


def test_an_incident_that_is_over_is_in_the_history_of_a_source(house: House) -> None:
    path = house.settings["sources"]["page"]["path"]
    house.settings["sources"]["page"]["path"] = "nowhere/*.txt"
    house.ingest()
    with pages(house) as (_, client):
        assert "Failing since" in client.get("/sources/page").text
    house.settings["sources"]["page"]["path"] = path
    house.add("1.txt", AGENTS)
    house.clock.move(days=1)
    house.ingest()
    with pages(house) as (_, client):
        shown = client.get("/sources/page").text
        assert "Failing since" not in shown and "failing from" in shown
        assert "there is no folder" in shown
        house.clock.move(days=31)
        assert "failing from" not in client.get("/sources/page").text


def test_a_source_says_that_it_is_a_library_or_read_for_one(house: House) -> None:
    house.settings["sources"] |= {
        "refs": {"kind": "bibtex", "path": "refs.bib", "role": "library"},
        "notices": {"kind": "crossref", "path": "notices/*.json", "about": "refs"},
    }
    with pages(house) as (_, client):
        assert "Library refs<" in client.get("/sources/refs").text
        of_notices = client.get("/sources/notices").text
        assert "Source notices, read only for changes of refs<" in of_notices
        assert "Source page<" in client.get("/sources/page").text


def test_a_topic_and_a_trial_show_what_each_part_matches(house: House) -> None:
    many(house, 30)
    house.add("2.txt", BANDITS)
    house.run()
    house.settings["topics"]["agents"]["query"] = "language AND (agents OR zyzzyva) -bandits"
    with pages(house) as (_, client):
        for path in ("/topics/agents", "/try?q=language (agents OR zyzzyva) -bandits"):
            shown = client.get(path).text
            rows = dict(map(cells, re.findall(r"<tr>.*<code>.*</tr>", shown)))
            assert rows["language"] == ["30", "matches nearly every paper"]
            assert rows["zyzzyva"] == ["0", "matches none"]
            assert rows["bandits"] == ["1", "excluded"]
        for query in ("language", "agents"):  # the word, and not the topic of this name
            assert "Matches per term" not in client.get(f"/try?q={query}").text


def test_a_sentence_is_doubted_on_the_pages_with_a_button_for_what_is_meant(house: House) -> None:
    sentence = "language agents that play games together"
    house.settings["topics"]["games"] = {"query": sentence}
    house.run(AGENTS)
    meant = 'name="q" value="language AND agents AND (play OR games)"'
    with pages(house) as (_, client):
        tried = client.get("/try", params={"q": sentence}).text
        topic = client.get("/topics/games").text
        assert all(meant in shown and "all 6 words must occur" in shown for shown in (tried, topic))
        followed = client.get("/try", params={"q": "language AND agents AND (play OR games)"}).text
        assert "Use this query" not in followed and "must occur" not in followed
        assert "Use this query" not in client.get("/topics/agents").text
