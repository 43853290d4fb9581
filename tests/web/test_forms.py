"""A form that is refused: its page is shown again, with the reason and what was filled in."""

from __future__ import annotations

import re
from html import unescape

import httpx
import pytest

from monitor.commands import query_bounds
from monitor.resources import resource
from monitor.web import site
from tests.house import House
from tests.web.conftest import PROXY, SAME_ORIGIN, closed_pages

# A page, a form of it, what is filled in, and why it is refused.
REFUSED = [
    ("/papers/1", "/papers/1/merge", {"other": "no such <paper>"}, "No paper found for"),
    ("/papers/1", "/papers/1/merge", {"other": "1"}, "These are already one paper"),
    ("/deliveries?state=sent", "/deliveries/suppress",
     {"recipient": "<bob>", "subscription": "lab"}, "is not a recipient of the subscription lab"),
    ("/papers?q=agents", "/zone", {"zone": "Atlantis"}, "is not a time zone"),
]  # fmt: skip
FORM = re.compile('<form method="post".*?</form>', re.DOTALL)
FIELD = re.compile("<(?:input|textarea|select)[ >].*?(?:(?=<input)|</select>|</label>)", re.DOTALL)


def fields_of(html: str) -> dict[str, list[str]]:
    """Return the values that the fields of a page have, by name."""
    values: dict[str, list[str]] = {}
    for attributes in re.findall(r"<input ([^>]*)>", html):
        field = dict(re.findall(r'([a-z]+)="([^"]*)"', attributes))
        values.setdefault(field.get("name", ""), []).append(unescape(field.get("value", "")))
    return values


def reasons(answer: httpx.Response) -> list[str]:
    found = re.findall('<div class="fault" role="alert">(.*?)</div>', answer.text, re.DOTALL)
    return [unescape(reason) for reason in found]


def headings(answer: httpx.Response) -> list[str]:
    return re.findall("<h1.*?</h1>", answer.text, re.DOTALL)


def send(client: httpx.Client, page: str, path: str, form: dict[str, str]) -> httpx.Response:
    headers = SAME_ORIGIN | {"Referer": str(client.base_url.join(page))}
    return client.post(path, data=form, headers=headers)


@pytest.mark.parametrize(("page", "path", "form", "why"), REFUSED)
def test_a_form_that_is_refused_stays_on_its_page_and_keeps_what_was_typed(
    asked: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    path: str,
    form: dict[str, str],
    why: str,
) -> None:
    monkeypatch.setattr(site, "MOST_LISTED", 0)  # names are typed, and not chosen
    before = asked.get(page)
    answer = send(asked, page, path, form)
    assert answer.status_code == 409
    assert [why in reason for reason in reasons(answer)] == [True]
    assert headings(answer) == headings(before)
    fields = fields_of(answer.text)
    assert [name for name, value in form.items() if value not in fields[name]] == []
    assert fields["next"][-1] == page  # of the form in the footer
    assert reasons(asked.get(page)) == []  # it is shown once


def test_a_button_that_is_refused_stays_on_its_page(asked: httpx.Client) -> None:
    for page in ("/deliveries", "/people/bob%40example.org", "/status"):
        answer = send(asked, page, "/deliveries/1/retry", {})
        is_there = asked.get(page).status_code == 200
        assert (answer.status_code, len(reasons(answer))) == (409, is_there)
        assert "Delivery 1 is sent" in answer.text
    answer = send(asked, "/papers/1", "/papers/1/rate", {"subscription": "lba", "verdict": "up"})
    assert (answer.status_code, "There is no subscription “lba”" in answer.text) == (404, True)
    assert len(reasons(answer)) == 1


@pytest.mark.parametrize("referer", ["", "https://example.org/deliveries", "/nowhere", "/feeds"])
def test_a_form_of_no_page_of_ours_is_answered_with_the_reason_alone(
    asked: httpx.Client, referer: str
) -> None:
    answer = (
        send(asked, referer, "/zone", {"zone": "Atlantis"})
        if referer
        else asked.post("/zone", data={"zone": "Atlantis"}, headers=SAME_ORIGIN)
    )
    assert answer.status_code == 409
    assert "This did not work" in answer.text and "is not a time zone" in answer.text


def test_a_referer_that_is_no_address_is_answered_with_the_reason_alone(
    asked: httpx.Client,
) -> None:
    headers = SAME_ORIGIN | {"Referer": "http://["}
    answer = asked.post("/zone", data={"zone": "Atlantis"}, headers=headers)
    assert (answer.status_code, "is not a time zone" in answer.text) == (409, True)


def test_a_reader_is_shown_no_page_of_operators(lived: House) -> None:
    with closed_pages(lived, **PROXY) as (_, client):
        client.headers["Remote-User"] = "ada@example.org"
        for page, is_shown in (("/papers", True), ("/deliveries", False)):
            answer = send(client, page, "/zone", {"zone": "Atlantis"})
            assert (answer.status_code, bool(reasons(answer))) == (409, is_shown)
            assert "Stop sending to" not in answer.text


def test_every_field_of_a_form_keeps_what_was_typed() -> None:
    """Hidden ones are not typed; a password is not sent back, and the login page says why."""
    count = 0
    for file in sorted((resource("templates") / "pages").glob("*.j2")):
        for form in FORM.findall(file.read_text("utf-8")):
            for field in FIELD.findall(form):
                if 'type="hidden"' not in field and 'type="password"' not in field:
                    assert "typed" in field, (file.name, field)
                    count += 1
    assert count >= 7


def test_a_subscription_that_is_not_there_is_answered_on_the_page_of_digests(
    asked: httpx.Client,
) -> None:
    answer = asked.get("/digests", params={"subscription": "lba"})
    assert answer.status_code == 404
    assert reasons(answer) and "There is no subscription “lba”" in answer.text
    assert headings(answer) == headings(asked.get("/digests"))


@pytest.mark.parametrize("path", ["/try", "/papers"])
@pytest.mark.parametrize("word", ["language ", "猫は魚を "])
def test_a_query_that_is_too_long_for_a_page_comes_back_with_the_reason(
    asked: httpx.Client, path: str, word: str
) -> None:
    text = (word * 18_432)[:18_432] if word.isascii() else (word * 18_432)[: 18_432 // 3]
    most = query_bounds.MOST_CHARACTERS
    answer = asked.get(path, params={"q": text})
    assert answer.status_code == (413 if len(text) > most else 200)
    assert fields_of(answer.text)["q"][0].strip() == text.strip()
    if len(text) > most:
        assert [f"{len(text.strip()):,}" in reason for reason in reasons(answer)] == [True]
        assert "Split it into several topics" in answer.text
        assert "paper-monitor topics" not in answer.text
