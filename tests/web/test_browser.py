"""Pages in a browser: what people do with them, with JavaScript and without."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from monitor.app import App
from monitor.signing import KeyRing
from tests.house import House
from tests.web.conftest import closed_pages, one_time_token, page_of, pages, suppressed

KEY = "a key of this installation"
STOP = "/u/" + KeyRing((KEY,)).sign("stop", "lab", "ada@example.org")


@pytest.fixture
def site(lived: House) -> Iterator[tuple[App, httpx.Client]]:
    lived.settings["secret_key"] = [KEY]
    with pages(lived) as opened:
        yield opened


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def page(
    request: pytest.FixtureRequest, browser: Browser, site: tuple[App, httpx.Client]
) -> Iterator[Page]:
    with page_of(browser, site[1], java_script_enabled=request.param) as opened:
        yield opened


@pytest.mark.parametrize("script", [True, False])
def test_the_address_of_web_login_is_opened_and_logs_in(
    browser: Browser, lived: House, script: bool
):
    with (
        closed_pages(lived) as (app, client),
        page_of(browser, client, java_script_enabled=script) as page,
    ):
        page.goto("/deliveries")
        expect(page.get_by_text("paper-monitor web login")).to_be_visible()
        page.goto(f"/login?token={one_time_token(app)}&next=/deliveries")
        if not script:
            page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Deliveries")
        page.get_by_role("button", name="Log out").click()
        page.goto("/deliveries")
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


@pytest.mark.parametrize("page", [True], indirect=True)
def test_a_topic_is_tried_while_it_is_typed(page: Page):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/try")
    page.get_by_role("searchbox").press_sequentially("agent")
    expect(page.locator(".count")).to_contain_text("paper")
    expect(page.locator("mark").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/try\?q=agent$"))
    # A screen reader hears the count, and not each paper again.
    expect(page.get_by_role("status")).to_have_text(
        re.compile(r"^\d+ papers?, [\d.]+% of those stored$")
    )
    page.get_by_label("Times in").fill("Asia/Tokyo")
    page.get_by_role("button", name="Change").click()
    expect(page).to_have_url(re.compile(r"/try\?q=agent$"))
    expect(page.get_by_label("Times in")).to_have_value("Asia/Tokyo")
    assert 0 < sum("part=results" in url for url in asked) < len("agent")


@pytest.mark.parametrize("page", [True], indirect=True)
def test_the_query_that_a_sentence_means_is_filled_in_by_a_button(page: Page):
    page.goto("/try")
    field = page.get_by_role("searchbox")
    field.press_sequentially("language agents that play games together")
    page.get_by_role("button", name="Use this query").click()
    expect(field).to_have_value("language AND agents AND (play OR games)")
    expect(page.get_by_role("button", name="Use this query")).to_have_count(0)


def test_a_reader_stops_pauses_and_resumes(page: Page, site: tuple[App, httpx.Client]):
    page.goto(STOP)
    expect(page.get_by_role("status")).to_contain_text("You are subscribed")
    for button, words, count in (
        ("Pause for a week", "Paused until", 1),
        ("Resume", "You are subscribed", 0),
        ("Unsubscribe", "You are no longer subscribed", 1),
        ("Resume", "You are subscribed", 0),
    ):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("status")).to_contain_text(words)
        assert len(suppressed(site[0])) == count


def test_the_skip_link_is_the_first_that_the_keyboard_reaches(page: Page):
    page.goto("/papers")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#content$"))
