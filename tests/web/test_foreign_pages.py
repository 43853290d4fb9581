"""Pages of other sites in the operator's browser, which sends its cookies and passwords along."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from structlog.testing import capture_logs

from monitor.app import App
from tests.house import House
from tests.patience import wait
from tests.servers.nginx import nginx
from tests.servers.web import MisbehavingServer
from tests.web.conftest import closed_pages, free_port, page_of, pages, suppressed
from tests.web.test_pages import rows

# Seconds; the machine may be busy.
ANSWERED_WITHIN = 60.0
VICTIM = "victim@example.org"
ADA = "ada@example.org"
PASSWORD = "a password of hers"
FIELDS = f'<input name="recipient" value="{VICTIM}"><button>Win a prize</button>'
# Pages that post the form; each has a button, or posts it when it is loaded.
FORM = f'<form method="post" action="{{url}}">{FIELDS}</form>'
FOREIGN_PAGES = {
    "form": FORM,
    "form without a referrer": f'<meta name="referrer" content="no-referrer">{FORM}',
    "multipart": FORM.replace("action", 'enctype="multipart/form-data" action'),
    "plain text": FORM.replace("action", 'enctype="text/plain" action'),
    "new window": FORM.replace("action", 'target="_blank" action'),
    "frame": FORM.replace("action", 'target="hidden" action') + '<iframe name="hidden"></iframe>',
    "sandbox": f'<iframe sandbox="allow-forms allow-scripts" srcdoc=\'{FORM}'
    "<script>document.forms[0].submit()</script>'></iframe>",
    "fetch": "<button onclick=\"fetch('{url}', {{method: 'POST', mode: 'no-cors', "
    "credentials: 'include', body: new URLSearchParams({{recipient: '" + VICTIM + "'}})}})\">"
    "Win a prize</button>",
    "beacon": "<button onclick=\"navigator.sendBeacon('{url}', "
    "new URLSearchParams({{recipient: '" + VICTIM + "'}}))\">Win a prize</button>",
}
# Chromium sends a password with these; in frames and by scripts of another site it sends none.
WITH_PASSWORD = ("form", "form without a referrer", "multipart", "plain text", "new window")


def post_from(page: Page, web: MisbehavingServer, host: str, kind: str, url: str) -> int:
    """Let a foreign page post its form, and return the status with which it was refused."""
    form = FOREIGN_PAGES[kind].format(url=url)
    html = f"<!doctype html><title>A prize</title>{form}"
    web.answers("/prize", body=html.encode(), headers={"Content-Type": "text/html"})
    path = urlsplit(url).path
    with capture_logs() as logged:
        page.goto(f"http://{host}:{web.port}/prize")
        if kind != "sandbox":
            page.get_by_role("button", name="Win a prize").click()
        wait(lambda: any(line.get("path") == path for line in logged), ANSWERED_WITHIN)
    return next(int(line["status"]) for line in logged if line.get("path") == path)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, httpx.Client]]:
    house = House(tmp_path_factory.mktemp("local"))
    house.by_mail(1, VICTIM)
    with pages(house) as opened:
        yield opened


@pytest.mark.parametrize("kind", FOREIGN_PAGES)
def test_a_page_on_another_port_of_this_machine_changes_nothing(
    browser: Browser, local: tuple[App, httpx.Client], web: MisbehavingServer, kind: str
):
    """Cookies of a host go to all of its ports, and SameSite does not tell ports apart."""
    app, client = local
    base = f"http://127.0.0.1:{client.base_url.port}"
    with page_of(browser, client) as page:
        before = rows(app)
        assert post_from(page, web, "127.0.0.1", kind, f"{base}/deliveries/suppress") == 403
        assert rows(app) == before


@pytest.mark.parametrize("kind", WITH_PASSWORD)
def test_a_page_of_another_site_cannot_use_the_password_that_a_browser_keeps(
    browser: Browser, house: House, web: MisbehavingServer, kind: str
):
    """A browser sends `Authorization: Basic` with each request, whatever page makes it."""
    with basic_auth(house) as (app, base), page_of(browser, http_credentials=LOGIN) as page:
        page.goto(f"{base}/deliveries")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        before = rows(app)
        assert post_from(page, web, "evil.localhost", kind, f"{base}/deliveries/suppress") == 403
        assert rows(app) == before
        # The same form from the page that has it.
        page.goto(f"{base}/deliveries")
        form = page.locator('form[action="/deliveries/suppress"]')
        form.locator('[name="recipient"]').fill(VICTIM)
        form.get_by_role("button").click()
        expect(page.get_by_text(VICTIM).first).to_be_visible()
        assert len(suppressed(app)) == 1


LOGIN = {"username": ADA, "password": PASSWORD}


@contextmanager
def basic_auth(house: House) -> Iterator[tuple[App, str]]:
    """Serve the pages behind nginx, which asks for a password and passes on who gave it."""
    port = free_port()
    base = f"http://papers.localhost:{port}"
    house.settings["public_url"] = base
    house.by_mail(1, VICTIM)
    web = {"user_header": "Remote-User", "operators": [ADA], "trusted_proxies": ["127.0.0.1"]}
    with closed_pages(house, **web) as (app, client):
        server = (
            "location / { auth_basic papers; auth_basic_user_file passwords;"
            f" proxy_pass http://127.0.0.1:{client.base_url.port};"
            " proxy_set_header Host $http_host; proxy_set_header Remote-User $remote_user;"
            " proxy_set_header X-Forwarded-For $remote_addr; }"
        )
        with nginx(server, port, {"passwords": f"{ADA}:{{PLAIN}}{PASSWORD}\n"}):
            yield app, base
