"""Every page in a browser: nothing is too wide, cut off, too small to hit or shuts anybody out.

The pages are those of the routes and all that they lead to, so that a new one is looked at, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from monitor.model import DeliveryState
from monitor.resources import resource
from monitor.store.engine import schema
from tests.house import House
from tests.test_looks import AXE, IN_MAILS
from tests.web.attack import ADA, BOB, FORMS, Site, served
from tests.web.conftest import closed_pages, page_of
from tests.web.crawling import html_pages

HERE = "http://papers.test"
# axe, which takes longest, looks at one width of each layout.
NARROW = (320, 375)
WIDE = 1280
# Of a page in the dark nothing but its colours is another one.
COLOURS = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}
SCHEMES = {"light": AXE, "dark": COLOURS}
FAULT = urlencode(
    {"q": '(agent OR robot) AND title:"reinforcement learning" AND NOT (benchmark OR'}
)
# Further addresses: what is wrong with a form, an address or a token.
WRONG = ("/nothing", f"/papers?{FAULT}", f"/try?{FAULT}", "/papers?since=x", "/?after=x")
REASON = "550 5.1.1 <bob@example.org>: Recipient-address-rejected: the-mailbox-does-not-exist"
# Text of which something is hidden at the side, but for what scrolls and what is hidden on purpose.
CUT = """() => [...document.querySelectorAll("body *")].filter(element => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    const isHidden = element.closest(".hidden, .skip, svg, thead, input, select") || !box.width;
    const clips = ["hidden", "clip"].includes(style.overflowX);
    return !isHidden && (box.right > innerWidth + 1 && !element.closest(".scroll")
        || clips && element.scrollWidth > element.clientWidth + 1);
}).map(element => element.outerHTML.slice(0, 200))"""
SMALL = """() => [...document.querySelectorAll(
    "button, input:not([type=hidden]), select, summary, nav a, th a, header a:not(.skip)"
)].filter(target => {
    const box = target.getBoundingClientRect();
    return box.width && box.height < 24;
}).map(target => target.outerHTML.slice(0, 200))"""
UNNAMED = """() => [...document.querySelectorAll(".scroll td")].filter(cell => {
    const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex];
    const isAction = head.querySelector(".hidden");
    return !isAction && cell.dataset.label !== head.textContent;
}).map(cell => cell.outerHTML.slice(0, 200))"""
RUN_AXE = "async options => (await axe.run(options)).violations"
SCROLLING = """() => [...document.querySelectorAll("body *")].filter(
    element => element.scrollWidth > element.clientWidth + 1 && element.clientWidth
        && ["auto", "scroll"].includes(getComputedStyle(element).overflowX)
).map(element => element.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Pages with a delivery of each state, a long reason, and a recipient who gets nothing."""
    folder = tmp_path_factory.mktemp("troubled")
    with served(folder, is_public=True) as site:
        (folder / f"dumps/{'a-file-that-is-no-page-' * 4}.txt").write_bytes(b"%PDF-1.7")
        site.app.once.ingest()
        delivery = schema.delivery
        with site.app.runtime.database.writing() as tx:
            failed = delivery.c.state.in_([DeliveryState.FAILED, DeliveryState.UNKNOWN])
            tx.execute(sa.update(delivery).where(failed).values(error=REASON))
        operator = site.visitors()[-1]
        own_page = site.kinds()[0]
        for form in FORMS:
            if form.route in ("/deliveries/suppress", "/papers/{id}/rate"):
                assert site.send(form, operator, own_page).status == 303
        yield site


@contextmanager
def opened_by(browser: Browser, site: Site, headers: Mapping[str, str]) -> Iterator[Page]:
    """Open a browser whose requests have headers that no browser sends, those of a proxy."""

    def answer(route: Route) -> None:
        assert route.request.url.startswith(f"{HERE}/")
        target = route.request.url.removeprefix(HERE)
        if not headers and "/static/pages.js" in target:  # it presses the button that logs in
            return route.abort()
        site.close()  # a connection that was idle while axe worked is closed by now
        reply = site.ask("GET", target, headers)
        kept = {"content-type": reply.headers["content-type"]}
        route.fulfill(status=reply.status, headers=kept, body=reply.text)
        return None

    with page_of(browser, base_url=HERE, bypass_csp=True) as page:
        page.route("**/*", answer)
        yield page


def complaints(page: Page, path: str) -> list[str]:
    """Return what is wrong with a page at each width, in light and in dark."""
    page.goto(path)
    page.evaluate(Axe().axe_script)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    wrong = [f"column without name: {cell}" for cell in page.evaluate(UNNAMED)]
    for width in (*NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": 800})
        for scheme, rules in SCHEMES.items() if width in (NARROW[0], WIDE) else ():
            page.emulate_media(color_scheme=scheme)
            for violation in page.evaluate(RUN_AXE, rules):
                elements = [node["html"][:200] for node in violation["nodes"]]
                if not ("as=mail" in path and violation["id"] in IN_MAILS):
                    wrong.append(f"{width} {scheme} {violation['id']}: {elements}")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{width} too wide")
        wrong += [f"{width} cut: {element}" for element in page.evaluate(CUT)]
        wrong += [f"{width} small: {element}" for element in page.evaluate(SMALL)]
        if width < 600:
            wrong += [f"{width} scrolls: {element}" for element in page.evaluate(SCROLLING)]
    return wrong


def complaints_of(
    browser: Browser, site: Site, headers: Mapping[str, str], paths: Iterable[str]
) -> dict[str, list[str]]:
    with opened_by(browser, site, headers) as page:
        return {path: wrong for path in paths if (wrong := complaints(page, path))}


def all_complaints(
    browser: Browser, site: Site, headers: Mapping[str, str]
) -> dict[str, list[str]]:
    paths = html_pages(site, headers, map(site.fill, WRONG))
    assert len(paths) > len(WRONG)
    return complaints_of(browser, site, headers, paths)


def test_narrow_pages_have_one_layout() -> None:
    style = (resource("templates") / "pages/style.css").read_text("utf-8")
    ends = re.findall(r"@media[^{]*-width: ([\d.]+)(px|rem)", style)
    assert ends
    for number, unit in ends:
        assert not NARROW[0] <= float(number) * (16 if unit == "rem" else 1) < NARROW[1]


@pytest.mark.parametrize("user", [ADA, BOB, ""], ids=["operator", "reader", "nobody"])
def test_no_page_shuts_anybody_out(browser: Browser, troubled: Site, user: str):
    headers = troubled.proxied(user) if user else {}
    assert all_complaints(browser, troubled, headers) == {}


def test_nor_does_one_of_an_empty_installation(browser: Browser, house: House):
    house.settings |= {"sources": {}, "topics": {}, "channels": {}, "subscriptions": {}}
    with closed_pages(house) as (app, client):
        port = client.base_url.port or 0
        own = f"http://127.0.0.1:{port}"
        with closing(Site(app, port, own, f"127.0.0.1:{port}", "", {})) as site:
            assert all_complaints(browser, site, site.log_in()) == {}


def add_many(house: House) -> None:
    """Add papers with authors, code and addresses, most of which a digest has by title alone."""
    house.settings["topics"]["others"] = {"query": "robot", "title": "Robots"}
    house.settings["subscriptions"]["lab"] |= {"max": 5}
    house.settings["sources"]["more"] = {"kind": "jsonl", "path": "more.jsonl"}
    papers = [
        {
            "id": f"{about}-{number}",
            "title": f"On {about} {number}",
            "abstract": f"We show that {about} do {number} things: https://github.com/a/b{number}.",
            "authors": ["Ada Lovelace", "Charles Babbage", "Mary Somerville", "Alan Turing"][:part],
            "arxiv": f"2411.{number:05}",
            "url": f"https://papers.example.org/{about[0]}{number}",
        }
        for about, first in (("Agents of a Language", 1000), ("Robots", 2000))
        for number, part in zip(range(first, first + 28), [0, 1, 2, 4] * 7, strict=True)
    ]
    (house.folder / "more.jsonl").write_text("\n".join(map(json.dumps, papers)))


def test_nor_does_a_long_digest(browser: Browser, tmp_path: Path):
    with served(tmp_path, is_public=True, prepare=add_many) as site:
        headers = site.proxied(ADA)
        digests = [
            path
            for path in html_pages(site, headers)
            if path.startswith(("/digests/", site.fill("/v/{view}")))
        ]
        assert len(digests) > 4
        assert complaints_of(browser, site, headers, digests) == {}


@pytest.mark.parametrize("width", [320, 375])
def test_a_phone_shows_first_why_a_delivery_failed(browser: Browser, troubled: Site, width: int):
    with opened_by(browser, troubled, troubled.proxied(ADA)) as page:
        page.set_viewport_size({"width": width, "height": 800})
        page.goto("/deliveries?state=failed")
        [card] = page.locator("tbody tr", has_text="550 5.1.1").all()
        reason = card.locator(".reason")
        outside = card.bounding_box()
        expect(reason).to_contain_text(REASON)
        first = reason.bounding_box()
        others = [cell.bounding_box() for cell in card.locator("th, td:not(.reason)").all()]
        assert outside and first and outside["x"] + outside["width"] <= width
        assert all(first["y"] + first["height"] <= other["y"] for other in others if other)
