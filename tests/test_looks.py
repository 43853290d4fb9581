"""Page and mail in a browser: nothing too wide, nothing fetched, readable in the dark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from monitor.app import open_app
from monitor.channels.email.channel import Mail
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import SmtpServer
from monitor.channels.file import render_pages
from monitor.cli.start import play
from monitor.clocks import clock_at
from monitor.config import load
from monitor.digest.render import JinjaTemplates
from tests.channels.samples import digest, entry
from tests.channels.test_file import pages as file_pages
from tests.channels.test_file import send
from tests.channels.test_page_index import fill
from tests.house import SATURDAY, newest_digest
from tests.patience import PATIENCE

WIDTHS = (320, 375, 700)
SCHEMES = ("light", "dark")
AXE = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
# A mail has the landmarks of the program that shows it.
IN_MAILS = ("landmark-one-main", "region")
TAGS = "all => all.map(one => one.tagName)"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A digest of the demo as a page, as a mail, and the index; the second page of a long one."""
    folder = tmp_path_factory.mktemp("demo")
    play(folder, SATURDAY)
    with (
        open_app(load(folder / "monitor.yaml"), clock_at(SATURDAY)) as app,
        app.runtime.database.reading() as tx,
    ):
        found = newest_digest(tx, "agents-team")
    about = replace(found.about, rate_url="https://papers.example.org/r/abc")
    found = replace(found, about=about)
    server = SmtpServer(SmtpSettings(host="localhost", sender="papers@example.org"))
    [part] = Mail("email", (), server).render(found, JinjaTemplates())
    mail = folder / "mail.html"
    second = folder / "second.html"
    mail.write_text(part.body["html"], encoding="utf-8")
    entries = [entry(number, f"Paper {number} on planning") for number in range(400)]
    pages = render_pages(digest(entries, full=25), JinjaTemplates(), "2026-11-21.html")
    second.write_text(pages[1], encoding="utf-8")
    page, *_ = sorted((folder / "pages" / "agents-team").glob("*.html"), key=lambda p: len(p.name))
    index = folder / "pages" / "index.html"
    many = folder / "many"
    fill(many, date(2026, 6, 1), 173)
    send(file_pages(many))
    months = {"index of many": many / "index.html", "month": many / "index-2026-07.html"}
    return {"page": page, "second page": second, "mail": mail, "index": index, **months}


@pytest.fixture
def view(browser: Browser) -> Iterator[Page]:
    with browser.new_page(viewport={"width": 375, "height": 800}) as page:
        page.set_default_timeout(PATIENCE * 1000)
        yield page


@pytest.mark.parametrize("what", ["page", "mail", "index", "index of many", "month"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_fetches_nothing_and_can_be_read(
    view: Page, shown: dict[str, Path], what: str, scheme: str, width: int
):
    view.set_viewport_size({"width": width, "height": 800})
    view.emulate_media(color_scheme=scheme)
    asked: list[str] = []
    complaints: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    view.on("console", lambda message: complaints.append(message.text))
    view.goto(shown[what].as_uri())
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == [shown[what].as_uri()]
    assert complaints == []
    dark = lightness(view, "document.body", "backgroundColor") < 0.3
    assert dark is (scheme == "dark")
    text = lightness(view, "document.querySelector('h1')", "color")
    assert (text > 0.7) if dark else (text < 0.3)


def lightness(view: Page, element: str, colour: str) -> float:
    """Return how light a colour is, from 0 to 1 (the luma of Rec. 709)."""
    result = view.evaluate(f"getComputedStyle({element}).{colour}.match(/[0-9.]+/g).map(Number)")
    red, green, blue = result[:3]
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


@pytest.mark.parametrize("what", ["page", "second page", "mail", "index", "index of many", "month"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(view: Page, shown: dict[str, Path], what: str, scheme: str):
    view.emulate_media(color_scheme=scheme)
    view.goto(shown[what].as_uri())
    found = Axe().run(view, options=AXE).response["violations"]
    wrong = [
        (one["id"], node["target"], node.get("failureSummary"))
        for one in found
        if not (what == "mail" and one["id"] in IN_MAILS)
        for node in one["nodes"]
    ]
    assert wrong == []


def test_the_links_to_rate_a_paper_can_be_touched_on_a_phone(view: Page, shown: dict[str, Path]):
    """And take neither the place of others nor, where there is a mouse, any room."""
    boxes = (
        "all => all.map(one => one.getBoundingClientRect()).map(b => [b.top, b.bottom, b.width])"
    )
    for width, least in ((375, 44), (700, 14)):
        view.set_viewport_size({"width": width, "height": 800})
        view.goto(shown["mail"].as_uri())
        rows = view.eval_on_selector_all(".text > p:has(a[href$=\\/more]) a", boxes)
        assert len(rows) >= 3
        heights = [bottom - top for top, bottom, _ in rows]
        assert min(heights) >= least and max(heights) < least + 6
        assert width > 375 or min(width for *_, width in rows) >= 44
        others = view.eval_on_selector_all(".text a:not([href*='/r/abc'])", boxes)
        overlapping = [
            row for row in rows for other in others if row[0] < other[1] and other[0] < row[1]
        ]
        assert not overlapping


@pytest.mark.parametrize("what", ["page", "mail"])
def test_headings_and_links_come_in_the_order_in_which_they_are_read(
    view: Page, shown: dict[str, Path], what: str
):
    """One heading of the first level, none skipped; each title's link follows its heading."""
    view.goto(shown[what].as_uri())
    levels = [int(tag[1]) for tag in view.eval_on_selector_all("h1,h2,h3,h4", TAGS)]
    links = view.eval_on_selector_all("a[href]", "all => all.map(one => one.tabIndex)")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert set(links) == {0}
