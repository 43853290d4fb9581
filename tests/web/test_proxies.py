"""The pages behind nginx, Apache and Caddy, with the recipes of docs/pages.md word for word."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import yaml
from structlog.testing import capture_logs

from monitor.app import App
from monitor.commands.heartbeat import RECENT
from monitor.store.digests import suppressions
from tests.channels.test_slack_answers import signed
from tests.house import House
from tests.patience import PATIENCE
from tests.servers.oauth2_proxy import PROVIDER, Oauth2Proxy, oauth2_proxy
from tests.servers.proxies import (
    APACHE_USER,
    HOST,
    PASSWORD,
    PROXY_SECRET,
    Place,
    Proxy,
    blocks,
    running,
)
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import TOKEN, closed_pages, free_port, suppressed
from tests.web.test_pages import beat, crawl
from tests.web.test_reader_links import ADA, BOB, mails, stop_path

TOKEN_RECIPES = ["nginx", "Apache", "Caddy"]
LOGIN_RECIPES = [
    "nginx with oauth2-proxy",
    "Apache with a login module",
    "Caddy with oauth2-proxy",
]
SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
VISITOR = "127.0.0.2"
OWN_ORIGIN = {"Origin": f"https://{HOST}"}
# A visitor's ways to send the header that names the user.
FORGED = {
    "as it is": [("Remote-User", ADA)],
    "underscore": [("remote_user", ADA)],
    "other case": [("remote-USER", ADA)],
    "twice": [("Remote-User", BOB), ("Remote-User", ADA)],
}


@dataclass(frozen=True)
class Site:
    """Pages behind a proxy, and the paths that a mail, a feed reader and a browser know."""

    recipe: str
    app: App
    proxy: Proxy
    paths: dict[str, str]

    @property
    def by_token(self) -> bool:
        return self.recipe in TOKEN_RECIPES

    @contextmanager
    def visitor(self, address: str = VISITOR) -> Iterator[httpx.Client]:
        with self.proxy.visitor(address) as client:
            yield client

    @contextmanager
    def user(self, address: str) -> Iterator[httpx.Client]:
        """Yield a client that is logged in, as an operator where the login is a token."""
        with self.visitor() as client:
            if self.by_token:
                form = {"token": TOKEN, "next": "/"}
                answer = client.post("/login", data=form, headers=OWN_ORIGIN)
                assert answer.status_code == 303
            elif self.recipe.startswith("Apache"):
                client.auth = (address, PASSWORD)
            else:
                sign_in(client, "/", address)
            yield client


def sign_in(client: httpx.Client, path: str, address: str) -> str:
    """Ask for a page, log in with the provider, and return where this leads in the end."""
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"{PROVIDER}?")
    [state] = parse_qs(urlsplit(answer.headers["location"]).query)["state"]
    answer = client.get("/oauth2/callback", params={"state": state, "code": address})
    assert answer.status_code == 302
    return answer.headers["location"]


@pytest.fixture(scope="module")
def mailed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, dict[str, str]]]:
    """An installation that sent Ada and Bob a digest, and the paths in Ada's mail."""
    house = House(tmp_path_factory.mktemp("proxies"))
    with ScriptedSmtp() as smtp:
        house.by_mail(smtp.port, ADA, BOB)
        house.settings |= {
            "public_url": f"https://{HOST}",
            "secret_key": ["a key of this installation"],
            "slack": {"token": "xoxb-test", "signing_secret": SLACK_SECRET},
        }
        house.make_due()
        assert house.run() == {"lab": 1}
        mail = mails(smtp)[ADA]
    html = mail.get_body(("html",)).get_content()
    found = re.findall(rf'href="https://{HOST}((/[vr]/)[^"]+)"', html)
    yield house, {"/u/": stop_path(mail)} | {kind: path for path, kind in found}


@contextmanager
def opened_site(recipe: str, mailed: tuple[House, dict[str, str]], **web: object) -> Iterator[Site]:
    """Serve the pages as docs/pages.md says for a recipe, behind its proxy."""
    house, paths = mailed
    heading = "Behind a proxy" if recipe in TOKEN_RECIPES else "Logins by a proxy"
    written = blocks(heading)[0].replace("${WEB_TOKEN}", TOKEN)
    settings = yaml.safe_load(written.replace("${PROXY_SECRET}", PROXY_SECRET))
    house.settings["public_url"] = settings["public_url"]
    with (
        closed_pages(house, **settings["web"], **web) as (app, _),
        oauth2_proxy() as login,
        running(recipe, free_port(), app.settings.web.listen, login.address) as proxy,
    ):
        opened = Site(recipe, app, proxy, paths)
        with opened.user(ADA) as ada:
            answer = ada.get("/topics/agents")
            found = re.search(r'href="(/feed/[^"]+)"', answer.text)
            assert found, f"{answer.status_code} {answer.text[:500]}"
        yield Site(recipe, app, proxy, paths | {"/feed/": found[1]})


@pytest.fixture(scope="module", params=[*TOKEN_RECIPES, *LOGIN_RECIPES])
def site(request: pytest.FixtureRequest, mailed: tuple[House, dict[str, str]]) -> Iterator[Site]:
    with opened_site(request.param, mailed) as opened:
        yield opened


@pytest.mark.parametrize("kind", ["/u/", "/v/", "/r/", "/feed/"])
def test_signed_paths_need_no_login(site: Site, kind: str) -> None:
    with site.visitor() as visitor:
        answer = visitor.get(site.paths[kind])
        assert answer.status_code == 200
        expected = "atom+xml" if kind == "/feed/" else "text/html"
        assert expected in answer.headers["content-type"]
        cut_off = visitor.get(site.paths[kind][:-2])
        assert cut_off.status_code == (403 if kind == "/feed/" else 404)
        assert not cut_off.has_redirect_location


def test_a_mail_program_unsubscribes_with_one_click(site: Site) -> None:
    runtime = site.app.runtime
    with runtime.database.writing() as tx:
        suppressions.lift(tx, ADA, "lab", runtime.clock.now())
    form = {"List-Unsubscribe": "One-Click"}
    with site.visitor() as visitor:
        assert visitor.post(site.paths["/u/"], data=form).status_code == 200
    [row] = suppressed(site.app)
    assert (row.recipient, row.how) == (ADA, "one-click")


def test_health_styles_and_metrics_answer_without_the_login(
    site: Site, mailed: tuple[House, dict[str, str]]
) -> None:
    with site.visitor() as visitor:
        beat(site.app, datetime.now(UTC))
        mailed[0].clock.at += RECENT
        assert visitor.get("/healthz").json()["ok"]
        assert visitor.get("/static/style.css").headers["content-type"].startswith("text/css")
        assert visitor.get("/metrics").status_code == 401
        token = {"Authorization": f"Bearer {TOKEN}"}
        assert visitor.get("/metrics", headers=token).status_code == (200 if site.by_token else 401)


def test_answers_of_slack_arrive(site: Site) -> None:
    with site.visitor() as visitor:
        post = signed({"type": "view_closed"}, secret=SLACK_SECRET)
        assert visitor.post("/slack/actions", **post).status_code == 200
        forged = signed({"type": "view_closed"}, secret="another secret")
        assert visitor.post("/slack/actions", **forged).status_code == 401
        long = signed({"type": "view_closed", "message": "x" * 900_000}, secret=SLACK_SECRET)
        assert visitor.post("/slack/actions", **long).status_code == 200


def test_a_page_leads_to_the_login_and_back(site: Site) -> None:
    path = "/papers?q=language+agents&source=page"
    with site.visitor() as visitor:
        if site.by_token:
            answer = visitor.get(path)
            assert answer.status_code == 303
            onward = parse_qs(urlsplit(answer.headers["location"]).query)["next"][0]
            form = {"token": TOKEN, "next": onward}
            answer = visitor.post("/login", data=form, headers=OWN_ORIGIN)
            assert answer.headers["location"] == path
        elif site.recipe.startswith("Apache"):
            answer = visitor.get(path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Basic")
            visitor.auth = (BOB, PASSWORD)
        else:
            assert sign_in(visitor, path, BOB) == path
        assert visitor.get(path).status_code == 200


def test_an_operator_may_see_everything(site: Site) -> None:
    with site.user(ADA) as ada:
        pages_seen = crawl(ada, ("/", "/status", "/deliveries", "/api/v1/deliveries"))
    statuses = {path: page.status_code for path, page in pages_seen.items()}
    assert {path: status for path, status in statuses.items() if status != 200} == {}
    assert any(path.startswith("/digests/lab/") for path in statuses)


def test_only_a_form_of_our_own_pages_changes_something(site: Site) -> None:
    form = {"zone": "Europe/Berlin", "next": "/papers"}
    with site.user(ADA) as ada:
        answer = ada.post("/zone", data=form, headers=OWN_ORIGIN)
        assert (answer.status_code, answer.headers["location"]) == (303, "/papers")
        for origin in ("https://evil.example", f"https://{HOST}.evil.example", "null"):
            foreign = {"Origin": origin, "Sec-Fetch-Site": "cross-site"}
            assert ada.post("/zone", data=form, headers=foreign).status_code == 403
        assert ada.post("/zone", data=form).status_code == 403


@pytest.mark.parametrize("headers", FORGED.values(), ids=FORGED)
def test_a_visitor_cannot_name_a_user(site: Site, headers: list[tuple[str, str]]) -> None:
    with site.visitor() as visitor:
        for path in ("/", "/deliveries"):
            assert visitor.get(path, headers=headers).status_code in (302, 303, 401)
        assert visitor.get("/api/v1/deliveries", headers=headers).status_code == 401
        assert visitor.get(site.paths["/u/"], headers=headers).status_code == 200
    if not site.by_token:
        with site.user(BOB) as bob:
            assert bob.get("/deliveries", headers=headers).status_code == 403
            assert bob.get("/papers", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "target",
    [
        "/u/../deliveries",
        "/deliveries/../u/x",
        "/u/..%2fdeliveries",
        "/u/%2e%2e/deliveries",
        "/%75/../deliveries",
        "//deliveries",
        "/u//../deliveries",
        "/deliveries;/u/",
        "/deliveries?/u/",
        "/./deliveries",
        "/deliveries%3f/u/",
        f"https://{HOST}/deliveries",
    ],
)
def test_no_spelling_of_a_path_avoids_the_login(site: Site, target: str) -> None:
    """A proxy and the pages may disagree about a path, as long as no login comes of it."""
    connection = http.client.HTTPSConnection("127.0.0.1", site.proxy.port, timeout=PATIENCE)
    connection.sock = site.proxy.connect(VISITOR)
    connection.putrequest("GET", target, skip_host=True)
    for name, value in (("Host", HOST), ("Remote-User", ADA)):
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status != 200
    assert "Deliveries" not in text


class Recorder(BaseHTTPRequestHandler):
    """Answer with the headers of a request, in place of the pages."""

    def do_GET(self) -> None:
        body = json.dumps(self.headers.items()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass(frozen=True)
class Recorded:
    """A proxy before a server that shows what it got, and the login beside it."""

    recipe: str
    proxy: Proxy
    login: Oauth2Proxy


@pytest.fixture(scope="module", params=[*TOKEN_RECIPES, *LOGIN_RECIPES])
def recorded(request: pytest.FixtureRequest) -> Iterator[Recorded]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server, oauth2_proxy() as login:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        with running(request.param, free_port(), address, login.address) as proxy:
            yield Recorded(request.param, proxy, login)
        server.shutdown()


@pytest.mark.parametrize("site", TOKEN_RECIPES, indirect=True)
def test_a_wrong_login_is_the_visitors_whatever_it_claims(site: Site) -> None:
    form = {"token": "a guess of a visitor", "next": "/"}
    forged = OWN_ORIGIN | {"X-Forwarded-For": "6.6.6.6", "X-Real-IP": "7.7.7.7"}
    with site.visitor() as visitor, capture_logs() as logged:
        assert visitor.post("/login", data=form, headers=forged).status_code == 403
    assert [line["address"] for line in logged if line["event"] == "login failed"] == [VISITOR]


@pytest.mark.parametrize("forged", [["6.6.6.6"], ["6.6.6.6, 127.0.0.1"], ["6.6.6.6", "7.7.7.7"]])
@pytest.mark.parametrize("users", FORGED.values(), ids=FORGED)
def test_without_a_login_the_pages_get_nothing_that_a_visitor_claims(
    recorded: Recorded, users: list[tuple[str, str]], forged: list[str]
) -> None:
    by_login = recorded.recipe in LOGIN_RECIPES
    headers = [("X-Forwarded-For", address) for address in forged]
    headers += [*users, ("X-Proxy-Secret", "a guess of a visitor")]
    with recorded.proxy.visitor(VISITOR) as visitor:
        for path in ("/u/x", "/slack/actions", "/feed/lab.atom", "/healthz", "/metrics"):
            received = [(n.lower(), v) for n, v in visitor.get(path, headers=headers).json()]
            assert [v for n, v in received if n == "x-forwarded-for"] == [VISITOR]
            assert [v for n, v in received if n == "host"] == [HOST]
            if by_login:
                assert [v for n, v in received if n == "x-proxy-secret"] == [PROXY_SECRET]
                assert "remote-user" not in dict(received)


@pytest.mark.parametrize("recorded", ["Apache with a login module"], indirect=True)
def test_a_password_for_the_proxy_does_not_reach_the_pages(recorded: Recorded) -> None:
    with recorded.proxy.visitor(VISITOR, auth=(ADA, PASSWORD)) as visitor:
        received = dict(visitor.get("/papers").json())
    assert received["Remote-User"] == ADA
    assert "Authorization" not in received


@pytest.mark.parametrize(
    "recorded", ["nginx with oauth2-proxy", "Caddy with oauth2-proxy"], indirect=True
)
def test_the_login_is_asked_about_the_page_and_the_visitor(recorded: Recorded) -> None:
    path = "/papers?q=language+agents&source=page"
    with recorded.proxy.visitor(VISITOR) as visitor:
        visitor.get(path, headers={"X-Real-IP": "6.6.6.6", "X-Forwarded-Uri": "/static/x"})
    assert recorded.login.checked[-1] == (path, VISITOR)


@pytest.mark.parametrize("heading", ["Traefik", "Traefik with oauth2-proxy"])
def test_what_traefik_is_told_of_exists(heading: str) -> None:
    """Traefik does not run here: only the names in its recipes are checked."""
    http_ = yaml.safe_load(blocks(heading)[0])["http"]
    for router in http_["routers"].values():
        assert router["service"] in http_["services"]
        assert set(router.get("middlewares", ())) <= set(http_.get("middlewares", ()))


@pytest.fixture
def socket_path() -> Iterator[str]:
    """A path in a folder whose group is that of a proxy, as docs/pages.md says."""
    with tempfile.TemporaryDirectory(prefix="paper-monitor-socket-") as name:
        if os.geteuid() == 0:
            shutil.chown(name, group=APACHE_USER)
            Path(name).chmod(0o2750)
        yield f"{name}/web.sock"


@pytest.mark.parametrize("recipe", [*TOKEN_RECIPES, *LOGIN_RECIPES])
def test_pages_on_a_unix_socket_are_reached_and_know_the_visitor(
    recipe: str, mailed: tuple[House, dict[str, str]], socket_path: str
) -> None:
    with opened_site(recipe, mailed, listen=f"unix:{socket_path}") as site:
        test_a_page_leads_to_the_login_and_back(site)
        test_signed_paths_need_no_login(site, "/u/")
        test_a_visitor_cannot_name_a_user(site, FORGED["twice"])
        with site.user(ADA) as ada:
            assert ada.get("/deliveries").status_code == 200
        if site.by_token:
            test_a_wrong_login_is_the_visitors_whatever_it_claims(site)


def test_a_free_port_may_begin_as_a_port_of_a_recipe_does(tmp_path: Path) -> None:
    [recipe] = blocks("Apache with a login module")
    assert "<VirtualHost 127.0.0.1:41805>" in Place(tmp_path, 41805, "127.0.0.1:21000").fill(recipe)
