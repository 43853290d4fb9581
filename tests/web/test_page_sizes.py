"""Pages of a large installation: none is longer than 100 KB, and nothing is missing from them."""

from __future__ import annotations

import json
import random
import re

import httpx
import pytest
import sqlalchemy as sa
from msgspec import structs

from monitor.channels.email.render import VIEW
from monitor.commands.ratings import RaterScope, rate
from monitor.model import DeliveryState
from monitor.signing import KeyRing
from monitor.store.digests import suppressions
from monitor.store.engine import schema
from monitor.store.topics import judgements
from tests.house import House
from tests.web.conftest import SAME_ORIGIN, pages, public_pages

LIMIT = 100_000
STARTS = ("bar", "cel", "dor", "fin", "gal", "hem")
ENDS = ("ton", "vex", "lim")
WORDS = [start + end for start in STARTS for end in ENDS]


def many_papers(count: int) -> list[tuple[str, str]]:
    """Return different papers about language agents, with long abstracts."""
    chance = random.Random(7)
    return [
        (
            f"Language Agents {number} {' '.join(chance.sample(WORDS, 5))}",
            f"Language agents in case {number}. " + " ".join(chance.choices(WORDS, k=200)) + ".",
        )
        for number in range(count)
    ]


@pytest.fixture
def large(house: House) -> House:
    """A house with a digest that shows 120 papers in full."""
    house.settings["subscriptions"]["lab"]["max"] = 120
    house.make_due(*many_papers(160))
    house.run()
    return house


def read_pages(client: httpx.Client, path: str, onward: str) -> list[str]:
    """Return a page and those that follow it."""
    found: list[str] = []
    while path:
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert len(answer.content) < LIMIT, path
        found.append(answer.text)
        following = re.search(rf'href="([^"]*)"[^>]*>{onward}<', answer.text)
        path = following[1].replace("&amp;", "&") if following else ""
        assert len(found) < 50
    return found


def numbers(shown: list[str]) -> list[str]:
    """Return which of the many papers are shown, in order."""
    text = re.sub("<[^>]*>", "", "".join(re.findall(r"<h3>.*?</h3>|<li>.*?</li>", "".join(shown))))
    return re.findall(r"Language Agents (\d+)", text)


def test_a_long_digest_has_several_pages_with_each_paper_once(large: House) -> None:
    with pages(large) as (_, client):
        shown = read_pages(client, "/digests/lab/2026-11-21", "Next page")
        assert len(shown) > 1
        assert sorted(numbers(shown), key=int) == [str(number) for number in range(160)]
        assert sum(page.count("<article>") for page in shown) == 120
        assert client.get("/digests/lab/2026-11-21?page=99").status_code == 404


def test_the_first_page_of_a_long_digest_has_the_changes_of_references(house: House) -> None:
    refs = house.folder / "refs.jsonl"
    notices = house.folder / "notices.jsonl"
    refs.write_text(json.dumps({"title": "A work of ours", "doi": "10.5555/1"}))
    notice = {"title": "Retracted", "doi": "10.5555/2", "type": "retraction"}
    notices.write_text(json.dumps(notice | {"about": {"doi": "10.5555/1"}}))
    house.settings["sources"] |= {
        "ada-refs": {"kind": "jsonl", "path": str(refs), "role": "library"},
        "notices": {"kind": "jsonl", "path": str(notices)},
    }
    house.settings["subscriptions"]["lab"] |= {"max": 120, "guard": "ada-refs"}
    house.make_due(*many_papers(160))
    house.run()
    with pages(house) as (_, client):
        first, *others = read_pages(client, "/digests/lab/2026-11-21", "Next page")
    assert others
    assert first.index("A work of ours") < first.index('id="topic-1"')
    assert not any("A work of ours" in page for page in others)


def test_the_page_of_a_mail_is_cut_alike(large: House) -> None:
    key = "a key of this installation"
    large.settings["secret_key"] = [key]
    token = KeyRing((key,)).sign(VIEW, "lab", "2026-11-21", "ada@example.org")
    with public_pages(large) as (_, client):
        shown = []
        names = [token]
        while names:
            answer = client.get(f"/v/{names.pop()}")
            assert len(answer.content) < LIMIT
            shown.append(answer.text)
            names += re.findall(rf'href="./([^"]*-page-{len(shown) + 1}.html)"', answer.text)[:1]
        assert sorted(numbers(shown), key=int) == [str(number) for number in range(160)]


def test_no_page_grows_with_the_number_of_subscriptions_sources_and_topics(lived: House) -> None:
    lived.settings["topics"] |= {f"topic-{n}": {"query": f"word{n}"} for n in range(600)}
    lab = lived.settings["subscriptions"]["lab"]
    readers = {f"reader-{n}": lab | {"title": f"reader-{n}"} for n in range(600)}
    lived.settings["subscriptions"] |= readers
    page = lived.settings["sources"]["page"]
    lived.settings["sources"] |= {f"folder-{n}": page | {"title": "F" * 60} for n in range(300)}
    with pages(lived) as (_, client):
        shown = read_pages(client, "/status", "Next subscriptions")
        assert set(re.findall(r">(reader-\d+)<", "".join(shown))) == readers.keys()
        shown = read_pages(client, "/sources", "Next sources")
        assert len(set(re.findall(r'href="/sources/(folder-\d+)"', "".join(shown)))) == 300
        shown = read_pages(client, "/topics", "Next topics")
        listed = re.findall(r'href="/topics/([^"?]+)"', "".join(shown))
        assert len(listed) == len(set(listed)) == 601
        for path in ("/", "/digests", "/papers/1", "/deliveries"):
            assert len(client.get(path).content) < LIMIT, path
        assert "All 301 sources" in client.get("/status").text


def test_deliveries_and_suppressions_are_listed_page_by_page(lived: House) -> None:
    with pages(lived) as (app, client):
        now = app.runtime.clock.now()
        with app.runtime.database.writing() as tx:
            [row] = tx.execute(sa.select(schema.delivery)).mappings()
            usual = {name: value for name, value in row.items() if name != "id"}
            usual["error"] = "550 5.1.1 the recipient does not exist here" * 3
            for n in range(400):
                own = {"recipient": f"reader-{n}@example.org", "message_id": f"<{n}@example.org>"}
                state = DeliveryState.UNKNOWN if n % 2 else DeliveryState.FAILED
                tx.execute(sa.insert(schema.delivery).values(usual | own | {"state": state}))
            for n in range(150):
                suppressions.suppress(tx, f"gone-{n}@example.org", "", now, how="operator")
        failed = read_pages(client, "/deliveries?state=failed", "Older deliveries")
        tables = [one.partition("<h2>Failed</h2>")[2].partition("<h2>")[0] for one in failed]
        listed = re.findall(r"<td[^>]*><a [^>]*>(reader-\d+)@", "".join(tables))
        assert sorted(listed) == sorted(f"reader-{n}" for n in range(0, 400, 2))
        stopped = read_pages(client, "/deliveries", "Next recipients")
        assert len(set(re.findall(r"gone-(\d+)@", "".join(stopped)))) == 150
        assert "The newest 40 are here" in client.get("/deliveries").text


def test_saved_papers_are_listed_page_by_page(large: House) -> None:
    with pages(large) as (app, client):
        for number in range(1, 46):
            rate(app.runtime, str(number), "save", RaterScope("lab"))
        with app.runtime.database.writing() as tx:
            saves = judgements.listing(tx)
            for n in range(9):
                others = (structs.replace(save, who=f"reader-{n}@example.org") for save in saves)
                judgements.judge(tx, others)
        shown = read_pages(client, "/saved", "Next papers")
        assert len(shown) == 3
        assert len(set(numbers(shown))) == 45
        assert shown[0].count(">Remove<") == 20 * 3 and "And 7 more." in shown[0]


def test_a_paper_of_many_subscriptions_has_one_row_of_buttons_and_a_menu(lived: House) -> None:
    lab = lived.settings["subscriptions"]["lab"]
    lived.settings["subscriptions"] |= {f"reader-{n}": lab for n in range(20)}
    lived.run()  # the store knows them from now on
    with pages(lived) as (_, client):
        for name in ("reader-19", "reader-3"):
            form = {"subscription": name, "verdict": "up"}
            done = client.post("/papers/1/rate", data=form, headers=SAME_ORIGIN)
            assert done.status_code == 303
        shown = client.get("/papers/1").text
        assert shown.count('action="/papers/1/rate"') == 2
        row, menu = shown.split("<summary>Other subscriptions</summary>")
        assert row.count(">Less like this<") == menu.count(">Less like this<") == 1
        assert "For reader-3: you want more like this" in row
        assert "reader-19: you want more like this" in menu
        assert len(re.findall(r'<option value="(?:reader-\d+|lab)"', menu)) == 20
