"""Compressed answers, and those that are not: their length would tell a guess that is right."""

from __future__ import annotations

import random
import string

import httpx

from tests.house import House
from tests.web.conftest import TOKEN, log_in, pages, public_pages
from tests.web.test_page_sizes import many_papers

OWN = {"Sec-Fetch-Site": "same-origin"}
FOREIGN = {"Sec-Fetch-Site": "cross-site"}
PLAIN = OWN | {"Accept-Encoding": "identity"}


# The title of a source, which the menu of the search shows to readers alone.
SECRET = "".join(random.Random(5).choices(string.ascii_letters + string.digits, k=100))


def lengths_of_guesses(client: httpx.Client, headers: dict[str, str]) -> list[int]:
    """Return how long the search is with the secret in its address, and with a wrong guess.

    Both addresses are equally long, and the page repeats them.
    """
    letters = random.Random(7).choices(string.ascii_letters + string.digits, k=len(SECRET))
    found = []
    for guess in (SECRET, "".join(letters)):
        page = client.get("/papers", params={"q": guess}, headers=headers)
        assert page.text.count(SECRET) > (guess == SECRET)
        found.append(int(page.headers["content-length"]))
    return found


def test_no_length_tells_another_site_whether_its_guess_of_a_secret_is_right(lived: House):
    lived.settings["sources"]["page"]["title"] = SECRET
    with public_pages(lived, token=TOKEN) as (_, client):
        log_in(client, TOKEN)
        client.headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in client.cookies.items())
        right, wrong = lengths_of_guesses(client, FOREIGN)
        assert right == wrong
        right, wrong = lengths_of_guesses(client, {})
        assert right == wrong
        right, wrong = lengths_of_guesses(client, OWN)
        assert right < wrong  # which is why


def test_a_page_an_export_and_the_style_are_compressed(house: House):
    house.make_due(*many_papers(120))
    house.run()
    with pages(house) as (_, client):
        for path in ("/digests/lab/2026-11-21", "/papers.json", "/static/style.css", "/nothing"):
            plain = client.get(path, headers=PLAIN)
            answer = client.get(path, headers=OWN)
            assert plain.headers.get("content-encoding") is None
            assert answer.headers["content-encoding"] == "gzip"
            assert answer.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
            assert answer.content == plain.content
            assert answer.num_bytes_downloaded < 0.55 * plain.num_bytes_downloaded, path
        assert "content-encoding" not in client.get("/robots.txt", headers=OWN).headers
        head = client.head("/digests/lab/2026-11-21", headers=OWN)
        assert head.content == b"" and head.headers["content-encoding"] == "gzip"


def test_robots_are_asked_to_read_nothing_with_and_without_a_login(lived: House):
    with public_pages(lived) as (_, client):
        answer = client.get("/robots.txt")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.text == "User-agent: *\nDisallow: /\n"
