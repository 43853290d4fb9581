"""Attacks on the pages over real sockets, from the machine itself and through a proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.routing import Route
from structlog.testing import capture_logs

from monitor.web.application import make_application
from monitor.web.site import Site as Pages
from tests.faults.docs import PAGE
from tests.servers.nginx import nginx
from tests.web.attack import (
    ADDRESSES,
    ANYONE,
    FORMS,
    PRIVATE,
    SITES,
    Kind,
    Site,
    Visitor,
    addresses,
    play,
    served,
    table,
)
from tests.web.conftest import free_port
from tests.web.test_pages import rows


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with served(tmp_path, is_public=SITES[request.param]) as opened:
        yield opened


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("local"), is_public=False) as opened:
        yield opened


def test_every_route_has_its_role_in_the_table(local: Site):
    """A page that is added to the application has to be added to the attack."""
    application = make_application(Pages(local.app.runtime))
    routes = {
        (method, route.path.replace(":int", ""))
        for route in application.routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert all(isinstance(route, Route) for route in application.routes)
    listed = {("GET", path) for path in ADDRESSES} | {("POST", form.route) for form in FORMS}
    assert routes == listed


def test_W09_each_role_gets_its_own_pages_and_forms_of_other_sites_change_nothing(
    request: pytest.FixtureRequest, site: Site
):
    name = request.node.callspec.params["site"]
    counts = play(site)
    assert [fault for count in counts.values() for fault in count.faults] == []
    assert sum(count.changed for count in counts.values()) == 0
    lines = table({name: counts}).splitlines()[2:]
    missing = [line for line in lines if line not in PAGE.read_text("utf-8")]
    assert missing == [], "run `python -m tests.web.attack --docs`"


def test_each_form_changes_something_when_it_comes_from_the_right_page(site: Site):
    """Without this, a form that is refused could have changed nothing anyway."""
    operator = site.visitors()[-1]
    own_page = site.kinds()[0]
    for form in FORMS:
        # The zone is a cookie alone; an operator by cookie has no address, and so no digests.
        if form.least > operator.role or form.route in ("/zone", "/me"):
            continue
        before = rows(site.app)
        reply = site.send(form, operator, own_page)
        assert reply.status in (200, 303), (form, reply.text)
        assert rows(site.app) != before, form


def test_a_stranger_behind_a_plain_proxy_sees_nothing(local: Site):
    """nginx sends no X-Forwarded-* by default, and its own name for the upstream as Host."""
    port = free_port()
    no_login = Visitor("stranger", ANYONE)
    with nginx(f"location / {{ proxy_pass http://127.0.0.1:{local.port}; }}", port):
        outside = replace(local, port=port, host="papers.example.org", connections={})
        before = rows(local.app)
        for least, address in addresses(local):
            reply = outside.ask("GET", address, {})
            assert reply.is_refused == (least != ANYONE), (address, reply.status)
            assert not [text for text in PRIVATE if text in reply.text and reply.is_refused]
        own = f"http://127.0.0.1:{local.port}"
        kinds = (*local.kinds(), Kind("as nginx names it", {"Origin": own}))
        for form in FORMS:
            if not form.is_signed and form.route != "/login":
                for kind in kinds:
                    assert outside.send(form, no_login, kind).is_refused, (form, kind)
        assert rows(local.app) == before
        outside.close()


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "utf-16", "unicode_escape"])
def test_a_form_is_read_as_utf_8_whatever_its_charset_says(local: Site, charset: str):
    """Other codecs of Python take long, or raise errors that nobody expects of a form."""
    token = local.fill("{login}")
    for value, status in (("-" + "a" * 60_000, 403), ("\\ud800+2AA-", 403), (token, 303)):
        part = f'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n{value}\r\n--b--\r\n'
        reply = local.send_raw(
            f"POST /login HTTP/1.1\r\nHost: {local.host}\r\nSec-Fetch-Site: same-origin\r\n"
            f"Content-Type: multipart/form-data; boundary=b; charset={charset}\r\n"
            f"Content-Length: {len(part)}\r\nConnection: close\r\n\r\n{part}"
        )
        assert reply.status == status, value[:20]


ONWARD = (
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\r\n/evil.example",
    "/\t\\evil.example",
    "/\x00/evil.example",
    "\t//evil.example",
    " //evil.example",
    "/%09/evil.example",
    "/%5cevil.example",
    "/.//evil.example",
    "https://evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "/papers\r\nSet-Cookie: paper-monitor=tossed",
    "/papers\nLocation: https://evil.example",
    "/\u2028/evil.example",
)


@pytest.mark.parametrize("onward", ONWARD)
def test_a_login_leads_to_no_other_site_and_splits_no_answer(local: Site, onward: str):
    own_page = {"Sec-Fetch-Site": "same-origin"}
    form = urlencode({"token": local.fill("{login}"), "next": onward})
    replies = [local.ask("POST", "/login", own_page, form)]
    session = {"Cookie": replies[0].headers["set-cookie"].partition(";")[0]}
    in_zone = urlencode({"zone": "Asia/Tokyo", "next": onward})
    replies += [
        local.ask("GET", f"/login?{urlencode({'next': onward})}", session),
        local.ask("POST", "/zone", own_page | session, in_zone),
    ]
    for reply in replies:
        assert reply.status == 303
        assert re.fullmatch(r"/(?:[!-.0-\[\]-~][!-\[\]-~]*)?", reply.headers["location"])
        assert "tossed" not in reply.headers.get("set-cookie", "")


def test_a_path_in_the_log_moves_no_cursor(local: Site):
    with capture_logs() as logged:
        local.ask("GET", "/papers%1b%5b2J%0a%0dfake%c2%9b", {})
    [path] = [line["path"] for line in logged if line["event"] == "request refused"]
    assert path == "/papers%1B%5B2J%0A%0Dfake%C2%9B"
