"""Pages of a large installation: none is longer than 100 KB, and nothing is missing from them."""

from __future__ import annotations

import random
import re

import httpx
import pytest

from monitor.channels.email.reader_links import VIEW
from monitor.signing import KeyRing
from tests.house import House
from tests.web.conftest import pages, public_pages

LIMIT = 100_000
WORDS = [f"{a}{b}" for a in ("bar", "cel", "dor", "fin", "gal", "hem") for b in ("ton", "vex", "lim")]


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
    house.add("1.txt", *many_papers(160))
    house.run()
    house.clock.move(days=1)
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
    text = re.sub("<[^>]*>", "", "".join(re.findall(r"<h3>.*?</h3>|<li>.*?<br>", "".join(shown))))
    return re.findall(r"Language Agents (\d+)", text)


def test_a_long_digest_has_several_pages_with_each_paper_once(large: House) -> None:
    with pages(large) as (_, client):
        shown = read_pages(client, "/digests/lab/2026-11-21", "Next page")
        assert len(shown) > 1
        assert sorted(numbers(shown), key=int) == [str(number) for number in range(160)]
        assert sum(page.count("<article>") for page in shown) == 120
        assert client.get("/digests/lab/2026-11-21?page=99").status_code == 404


def test_the_page_of_a_mail_is_cut_alike(large: House) -> None:
    large.settings["secret_key"] = ["a key of this installation"]
    token = KeyRing(("a key of this installation",)).sign(
        VIEW, "lab", "2026-11-21", "ada@example.org"
    )
    with public_pages(large) as (_, client):
        shown, names = [], [token]
        while names:
            answer = client.get(f"/v/{names.pop()}")
            assert len(answer.content) < LIMIT
            shown.append(answer.text)
            names += re.findall(rf'href="./([^"]*-page-{len(shown) + 1}.html)"', answer.text)[:1]
        assert sorted(numbers(shown), key=int) == [str(number) for number in range(160)]
