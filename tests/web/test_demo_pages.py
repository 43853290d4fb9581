"""The pages of the demo: open to everybody, to look at, and to nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from monitor.config import WebSettings
from monitor.web.access import AccessRules, Refusal, Role, admit, refuse_way
from monitor.web.listening import bound
from monitor.web.server import serving_pages
from monitor.web.site import Site as Pages
from tests.house import AGENTS
from tests.web.attack import ADA, ADDRESSES, FORMS, OPERATOR, READER, Site, served
from tests.web.conftest import TOKEN, free_port
from tests.web.test_access import asked
from tests.web.test_pages import rows

BANNER = "This is the demo"
NO_HEADERS: dict[str, str] = {}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Pages as they are configured, with a token and a proxy."""
    with served(tmp_path_factory.mktemp("own"), is_public=True) as site:
        yield site


@pytest.fixture(scope="module")
def demo(own: Site) -> Iterator[Site]:
    """The same installation served as the demo, under the name of any host."""
    web = WebSettings.open_to_all(f"0.0.0.0:{free_port()}")
    with (
        bound(web) as listening,
        serving_pages(own.app.runtime, listening, is_demo=True),
        closing(replace(own, port=web.address[1], host="any.example", connections={})) as site,
    ):
        yield site


def test_a_guest_sees_what_readers_of_all_digests_see_and_nothing_of_operators(demo: Site):
    for least, path in ADDRESSES.values():
        reply = demo.ask("GET", demo.fill(path), NO_HEADERS)
        assert reply.status == 403 if least == OPERATOR else not reply.is_refused, path
        if least == READER and "<body>" in reply.text:
            assert BANNER in reply.text, path
            assert 'method="post"' not in reply.text, path
    for subscription in ("lab", "faculty"):
        address = demo.fill(f"/digests/{subscription}/{{period}}.json")
        assert AGENTS[0] in demo.ask("GET", address, NO_HEADERS).text


def test_how_to_begin_is_said_on_the_first_page_to_which_the_others_lead(demo: Site):
    first, other = (demo.ask("GET", path, NO_HEADERS).text for path in ("/", "/digests"))
    assert BANNER in first and "<code>monitor.yaml</code>" in first
    assert BANNER in other and '<a href="/">How yours begins</a>' in other
    assert "monitor.yaml" not in other


def test_looking_at_the_demo_changes_nothing(demo: Site):
    before = rows(demo.app)
    for _, path in ADDRESSES.values():
        demo.ask("GET", demo.fill(path), NO_HEADERS)
    assert rows(demo.app) == before


def test_no_form_of_the_demo_is_taken_whoever_sends_it(demo: Site):
    before = rows(demo.app)
    page = {"Sec-Fetch-Site": "same-origin", "Origin": "http://any.example"}
    for headers in (page, page | {"Authorization": f"Bearer {TOKEN}"}, page | demo.proxied(ADA)):
        for form in FORMS:
            reply = demo.ask("POST", demo.fill(form.target), headers)
            assert reply.status == 403 and "nothing can be changed here" in reply.text, form
    assert rows(demo.app) == before


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_than_those_for_looking_are_refused(demo: Site, method: str):
    assert demo.ask(method, "/", NO_HEADERS).status == 403


def test_there_is_no_login_and_the_token_of_the_service_opens_nothing(demo: Site):
    login = demo.ask("GET", "/login?next=/papers", NO_HEADERS)
    assert (login.status, login.headers["location"]) == (303, "/papers")
    for headers in ({"Authorization": f"Bearer {TOKEN}"}, demo.proxied(ADA)):
        assert demo.ask("GET", "/status", headers).status == 403
    # A session of the service, in the same browser, stays as it is.
    assert "set-cookie" not in demo.ask("GET", "/", {"Cookie": "paper-monitor=session"}).headers


def test_other_machines_see_the_demo_and_not_the_pages_of_a_configuration():
    request = replace(asked(peer="203.0.113.5"), headers={"host": "192.0.2.1:8080"})
    open_rules = AccessRules(is_demo=True)
    rules = AccessRules()
    assert refuse_way(open_rules, request) is None
    viewer = admit(open_rules, request)
    assert not isinstance(viewer, Refusal)
    assert (viewer.role, viewer.is_guest, viewer.is_operator) == (Role.READER, True, False)
    assert isinstance(refuse_way(rules, request), Refusal)
    assert isinstance(admit(rules, request), Refusal)


def test_no_setting_opens_the_pages_of_a_configuration(own: Site):
    assert not Pages(own.app.runtime).rules.is_demo
    assert own.ask("GET", "/papers", NO_HEADERS).is_refused
