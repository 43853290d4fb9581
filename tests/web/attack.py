"""Attacks on the pages: every address and form, by each role, in 14 kinds of request.

`python -m tests.web.attack` makes all requests and prints how many there were and how they were
answered; with `--docs` it writes this table to docs/guarantees.md. What a role may do is listed
here, apart from `monitor.web.access`.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import sqlalchemy as sa

from monitor.app import App
from monitor.model import DeliveryState, Paper
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.model.look_up import Answered, LookUpState
from monitor.pipeline import incidents
from monitor.signing import KeyRing
from monitor.store.engine import schema
from monitor.store.papers import look_ups
from tests.faults import docs
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.patience import PATIENCE
from tests.servers.smtp import ScriptedSmtp
from tests.web.conftest import PUBLIC, TOKEN, closed_pages, one_time_token
from tests.web.test_pages import rows

KEY = "a key of this installation"
PROXY_SECRET = "a secret of the proxy"
# An operator, a reader of `lab`, and a reader of `faculty`.
ADA = "ada@example.org"
BOB = "bob@example.org"
CAROL = "carol@example.org"
# The papers of their libraries.
OWNED = BOBS, CAROLS = "A Reference of Bob's Own", "What Carol Alone Cites"
# What only an answer to a login may contain.
PRIVATE = (ADA, BOB, CAROL, AGENTS[0], BANDITS[0], FOLDING[0], "language AND agent", *OWNED)
DIGEST = "{subscription}/{period}"
FORMATS = ("bib", "ris", "csl.json", "csv", "json")
LINK = "/r/{token}/{paper}/{direction}"
ONE_LINK = "/r/{token}/{paper}"

ANYONE = 0
READER = 1
OPERATOR = 2
NEVER = 3

# Who may open the pages of each route, and an address of it. In braces: what `examples` has.
ADDRESSES: dict[str, tuple[int, str]] = {
    "/": (READER, "/"),
    "/status": (OPERATOR, "/status"),
    "/healthz": (ANYONE, "/healthz"),
    **{f"/papers.{end}": (READER, f"/papers.{end}") for end in FORMATS},
    **{f"/papers/{{id}}.{end}": (READER, f"/papers/1.{end}") for end in FORMATS},
    **{f"/digests/{DIGEST}.{end}": (READER, f"/digests/lab/{{period}}.{end}") for end in FORMATS},
    "/feed/topic/{name}.atom": (READER, "/feed/topic/agents.atom"),
    "/feed/{name}.atom": (READER, "/feed/lab.atom"),
    "/feed/papers/search.atom": (READER, "/feed/papers/search.atom?q=agent"),
    "/feed/papers/saved.atom": (READER, "/feed/papers/saved.atom"),
    "/metrics": (OPERATOR, "/metrics"),
    "/digests": (READER, "/digests"),
    f"/digests/{DIGEST}": (READER, "/digests/lab/{period}"),
    "/papers": (READER, "/papers?q=agent"),
    "/papers/{id}": (READER, "/papers/1"),
    "/references": (READER, "/references"),
    "/references.csv": (READER, "/references.csv"),
    "/references.bib": (READER, "/references.bib"),
    "/saved": (READER, "/saved"),
    "/saved.bib": (READER, "/saved.bib"),
    "/topics": (READER, "/topics"),
    "/topics/{name}": (READER, "/topics/agents"),
    "/try": (READER, "/try?q=agent"),
    "/sources": (OPERATOR, "/sources"),
    "/sources/{name}": (OPERATOR, "/sources/page"),
    "/deliveries": (OPERATOR, "/deliveries"),
    "/subscriptions": (OPERATOR, "/subscriptions"),
    "/subscriptions.csv": (OPERATOR, "/subscriptions.csv"),
    "/subscriptions/{name}": (OPERATOR, "/subscriptions/lab"),
    "/people/{address:path}": (OPERATOR, f"/people/{BOB}"),
    "/me": (READER, "/me"),
    "/login": (ANYONE, "/login"),
    "/u/{token}": (ANYONE, "/u/{stop}"),
    "/v/{token}": (ANYONE, "/v/{view}"),
    LINK: (ANYONE, "/r/{rate}/1/more"),
    ONE_LINK: (ANYONE, "/r/{rate}/1"),
    "/api/v1/status": (OPERATOR, "/api/v1/status"),
    "/api/v1/papers": (READER, "/api/v1/papers?q=agent"),
    "/api/v1/papers/rated": (OPERATOR, "/api/v1/papers/rated"),
    "/api/v1/papers/saved": (READER, "/api/v1/papers/saved"),
    "/api/v1/references": (READER, "/api/v1/references"),
    "/api/v1/": (READER, "/api/v1/"),
    "/api/v1/openapi.json": (READER, "/api/v1/openapi.json"),
    "/api/v1/digests": (READER, "/api/v1/digests"),
    "/api/v1/sources": (OPERATOR, "/api/v1/sources"),
    "/api/v1/topics": (READER, "/api/v1/topics"),
    "/api/v1/subscriptions": (READER, "/api/v1/subscriptions"),
    "/api/v1/explain/{id}": (OPERATOR, "/api/v1/explain/1"),
    "/api/v1/topics/try": (OPERATOR, "/api/v1/topics/try?q=agent"),
    "/api/v1/deliveries": (OPERATOR, "/api/v1/deliveries"),
    "/api/v1/suppressions": (OPERATOR, "/api/v1/suppressions"),
    "/static/{name}": (ANYONE, "/static/style.css"),
    "/robots.txt": (ANYONE, "/robots.txt"),
}
# Further addresses of these routes.
MORE_ADDRESSES: tuple[tuple[int, str], ...] = (
    (OPERATOR, "/digests/faculty/{period}"),
    (OPERATOR, "/digests/faculty/{period}?as=mail"),
    (OPERATOR, "/digests/faculty/{period}.json"),
    (OPERATOR, "/api/v1/digests?subscription=faculty"),
    (OPERATOR, "/api/v1/subscriptions?who=faculty"),
    (OPERATOR, "/feed/faculty.atom"),
    (OPERATOR, "/references?library=carol-refs"),
    (OPERATOR, "/references.csv?library=carol-refs"),
    (OPERATOR, "/references.bib?library=carol-refs"),
    (OPERATOR, "/api/v1/references?library=carol-refs"),
    (READER, "/references?library=bob-refs&state=retracted"),
    (READER, "/digests/lab/{period}?as=mail"),
    (READER, "/try?like=agents+of+language&at_least=0.2"),
    (READER, "/try?paper=1&at_least=0.2"),
    (OPERATOR, "/api/v1/topics/try?like=agents+of+language&at_least=0.2"),
    (READER, "/feed/lab.atom?token={stop}"),
    (ANYONE, "/feed/lab.atom?token={feed}"),
    (READER, "/feed/papers/saved.atom?token={feed}"),
    (READER, "/feed/papers/search.atom?q=agent&token={feed}"),
    (ANYONE, "/login?token=a-guess&next=//other.example"),
    (NEVER, "/u/{rate}"),
    (NEVER, "/v/{stop}"),
    (NEVER, "/r/{stop}/1/more"),
    (ANYONE, "/r/{rate}/1/save"),
    (NEVER, "/r/{stop}/1/save"),
    (NEVER, "/r/{stop}/1"),
)


@dataclass(frozen=True)
class Form:
    """A form of a route: who may send it, and what is in it; a signed link is its own proof."""

    route: str
    least: int
    target: str
    fields: Mapping[str, str]
    is_signed: bool = False


DOWN = {"verdict": "down"}
SAVE = {"verdict": "save"}
FORMS = (
    Form("/channels/{name}/retry", OPERATOR, "/channels/smtp/retry", {}),
    Form("/deliveries/{id}/settle", OPERATOR, "/deliveries/{unknown}/settle", {"fate": "sent"}),
    Form("/deliveries/{id}/retry", OPERATOR, "/deliveries/{failed}/retry", {}),
    Form("/deliveries/suppress", OPERATOR, "/deliveries/suppress", {"recipient": BOB}),
    Form("/sources/{name}/read", OPERATOR, "/sources/page/read", {}),
    Form("/subscriptions/{name}/test", OPERATOR, "/subscriptions/lab/test", {}),
    Form("/deliveries/lift", OPERATOR, "/deliveries/lift", {"recipient": BOB}),
    Form("/papers/{id}/rate", READER, "/papers/1/rate", SAVE | {"subscription": "lab"}),
    Form("/papers/{id}/merge", OPERATOR, "/papers/2/merge", {"other": "3"}),
    Form("/papers/{id}/split", OPERATOR, "/papers/2/split", {"record": "{record}"}),
    Form("/papers/{id}/unmark", OPERATOR, "/papers/1/unmark", {}),
    Form("/papers/{id}/look-up", OPERATOR, "/papers/1/look-up", {}),
    Form("/papers/{id}/unfill", OPERATOR, "/papers/2/unfill", {}),
    Form("/topics/{name}/relearn", OPERATOR, "/topics/near/relearn", {}),
    Form("/saved/remove", READER, "/saved/remove", {"paper": "1", "subscription": "lab"}),
    Form("/me", READER, "/me", {"subscription": "lab", "wish": "stop"}),
    Form("/u/{token}", ANYONE, "/u/{stop}", {"wish": "stop"}, is_signed=True),
    Form("/u/{token}", NEVER, "/u/{rate}", {"wish": "stop"}, is_signed=True),
    Form(LINK, ANYONE, "/r/{rate}/1/less", DOWN, is_signed=True),
    Form(LINK, NEVER, "/r/{stop}/1/less", DOWN, is_signed=True),
    Form(LINK, ANYONE, "/r/{rate}/1/save", SAVE, is_signed=True),
    Form(LINK, NEVER, "/r/{stop}/1/save", SAVE, is_signed=True),
    Form(ONE_LINK, ANYONE, "/r/{rate}/1", {"verdict": "up"}, is_signed=True),
    Form(ONE_LINK, NEVER, "/r/{stop}/1", DOWN, is_signed=True),
    Form("/slack/actions", NEVER, "/slack/actions", {"payload": "{}"}, is_signed=True),
    Form("/zone", READER, "/zone", {"zone": "Asia/Tokyo"}),
    Form("/login", ANYONE, "/login", {"token": "{login}"}),
    Form("/logout", READER, "/logout", {}),
)


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks: a role, and the headers that prove it."""

    name: str
    role: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """The headers of a form, by what sends it."""

    name: str
    headers: Mapping[str, str]
    is_own_page: bool = False
    has_token: bool = False


# The connection was closed without an answer.
CLOSED = 0
# 405 and 413 are for other methods and longer requests than any page has.
REFUSALS = (CLOSED, 400, 401, 403, 404, 405, 413, 421, 429)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def is_refused(self) -> bool:
        to_login = self.headers.get("location", "").startswith("/login?next=")
        return self.status in REFUSALS or to_login


@dataclass
class Count:
    """How the requests of `visitors` were answered; `faults` names those answered wrongly."""

    visitors: tuple[Visitor, ...]
    answered: int = 0
    refused: int = 0
    changed: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, request: str, reply: Reply, *, is_allowed: bool) -> None:
        if reply.is_refused:
            self.refused += 1
        else:
            self.answered += 1
        shown = [text for text in PRIVATE if text in reply.text] if reply.is_refused else []
        if reply.is_refused == is_allowed or reply.status == 500 or shown:
            self.faults.append(f"{request}: {reply.status} {shown}")


@dataclass
class Site:
    """Pages that are served, and what an attacker who read a mail or a log knows of them."""

    app: App
    port: int
    own: str
    host: str
    token: str
    examples: Mapping[str, str]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    connections: dict[str, http.client.HTTPConnection] = field(default_factory=dict)

    @property
    def is_public(self) -> bool:
        return bool(self.token)

    def fill(self, text: str) -> str:
        """Return a text with examples in place of the names in braces."""
        for name, value in self.examples.items():
            text = text.replace(f"{{{name}}}", value)
        return text.replace("{login}", self.token or one_time_token(self.app))

    def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: str = "",
        source: str = "127.0.0.1",
    ) -> Reply:
        """Send a request, with the Host of these pages unless `headers` has another one."""
        connection = self.connections.get(source)
        if connection is None:
            connection = http.client.HTTPConnection(
                "127.0.0.1", self.port, PATIENCE, source_address=(source, 0)
            )
            self.connections[source] = connection
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in ({"Host": self.host} | dict(headers)).items():
            connection.putheader(name, value.replace("{visitor}", self._visitor_address()))
        if body or method == "POST":
            connection.putheader("Content-Type", "application/x-www-form-urlencoded")
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body.encode() if body else None)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)

    def send(self, form: Form, visitor: Visitor, kind: Kind) -> Reply:
        """Send a form as a visitor, in one of the kinds."""
        fields = {name: self.fill(value) for name, value in form.fields.items()}
        headers = dict(visitor.headers) | dict(kind.headers)
        return self.ask("POST", self.fill(form.target), headers, urlencode(fields))

    def send_raw(self, request: str) -> Reply:
        """Send a request as it is written, and return what comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(request.encode("latin-1"))
            received = b"".join(iter(lambda: connection.recv(65_536), b"")).decode("latin-1")
        head = received.partition("\r\n\r\n")[0]
        if not head:
            return Reply(CLOSED, {}, "")
        status, *lines = head.splitlines()
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
        return Reply(int(status.split(" ")[1]), headers, received)

    def _visitor_address(self) -> str:
        """Return another address at each call: no guess waits for the ones before it."""
        return f"10.0.{'.'.join(map(str, divmod(next(self.numbers) % 65_536, 256)))}"

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()

    def log_in(self) -> dict[str, str]:
        """Return the cookie of a new session."""
        form = urlencode({"token": self.fill("{login}")})
        reply = self.ask("POST", "/login", {"Sec-Fetch-Site": "same-origin"}, form)
        assert reply.status == 303, reply.text
        return {"Cookie": reply.headers["set-cookie"].partition(";")[0]}

    def proxied(self, user: str = "") -> dict[str, str]:
        """Return the headers by which the proxy passes on what a visitor sends."""
        passed = {"X-Proxy-Secret": PROXY_SECRET, "X-Forwarded-For": "{visitor}"}
        return passed | ({"Remote-User": user} if user else {})

    def visitors(self) -> tuple[Visitor, ...]:
        by_cookie = Visitor("operator by cookie", OPERATOR, self.log_in())
        if not self.is_public:
            return Visitor("no login", ANYONE), by_cookie
        return (
            Visitor("no login", ANYONE),
            Visitor("reader", READER, self.proxied(BOB)),
            Visitor("operator by proxy", OPERATOR, self.proxied(ADA)),
            by_cookie,
        )

    def kinds(self) -> tuple[Kind, ...]:
        """Return the 14 kinds of Origin, Sec-Fetch-Site and Authorization of a form."""
        scheme, _, host = self.own.partition("://")
        other_scheme = f"{'http' if scheme == 'https' else 'https'}://{host}"
        site = "Sec-Fetch-Site"
        foreign = {"Origin": "https://evil.example"}
        other_port = f"{scheme}://{host.partition(':')[0]}:9"
        right = {"Authorization": f"Bearer {self.token or 'a guess'}"}
        wrong = {"Authorization": "Bearer a guess"} | (self.proxied() if self.is_public else {})
        basic = {"Authorization": "Basic YWRhOnNlY3JldA=="}
        return (
            Kind("own page", {site: "same-origin", "Origin": self.own}, is_own_page=True),
            Kind("own page, Sec-Fetch-Site alone", {site: "same-origin"}, is_own_page=True),
            Kind("own page, Origin alone", {"Origin": self.own}, is_own_page=True),
            Kind("neither header", {}),
            Kind("another site", foreign | {site: "cross-site"}),
            Kind("another site, Origin alone", foreign),
            Kind("another port", {"Origin": other_port, site: "same-site"}),
            Kind("another scheme", {"Origin": other_scheme}),
            Kind("Origin: null", {"Origin": "null"}),
            Kind("typed address", {"Origin": self.own, site: "none"}),
            Kind("own Origin, cross-site", {"Origin": self.own, site: "cross-site"}),
            Kind("another site, Basic", foreign | {site: "cross-site"} | basic),
            Kind("another site, wrong token", foreign | wrong),
            Kind("another site, right token", foreign | right, has_token=self.is_public),
        )


@contextmanager
def served(
    folder: Path, *, is_public: bool, prepare: Callable[[House], None] = lambda house: None
) -> Iterator[Site]:
    """Serve the pages of an installation with deliveries in each state that a form changes.

    `prepare` adds to it before anything is read.
    """
    house = House(folder)
    with ScriptedSmtp() as smtp:
        house.by_mail(smtp.port, ADA, BOB)
        faculty = {"topics": ["*"], "email": [CAROL], "guard": "carol-refs"}
        house.settings["subscriptions"]["faculty"] = faculty
        house.settings["subscriptions"]["lab"]["guard"] = "bob-refs"
        _add_libraries(house)
        house.settings["topics"]["near"] = {"like": "protein folding by physics"}
        house.settings["secret_key"] = [KEY]
        if is_public:
            house.settings["public_url"] = PUBLIC
        house.add("1.txt", AGENTS, BANDITS, FOLDING)
        prepare(house)
        house.run()
        house.next_morning()
    # Nothing answers there: the pages only let papers wait.
    nowhere = {"url": "http://127.0.0.1:9", "allow_private": True}
    house.settings["look_up"] = {"services": {"arxiv": nowhere}}
    web: dict[str, Any] = {}
    if is_public:
        house.settings["slack"] = {"token": "xoxb-test", "signing_secret": "a secret of Slack's"}
        web = {
            "token": TOKEN,
            "user_header": "Remote-User",
            "operators": [ADA],
            "trusted_proxies": ["127.0.0.1"],
            "proxy_secret": PROXY_SECRET,
        }
    with closed_pages(house, **web) as (app, client):
        port = client.base_url.port or 0
        token = TOKEN if is_public else ""
        own = PUBLIC if is_public else f"http://127.0.0.1:{port}"
        with closing(Site(app, port, own, urlsplit(own).netloc, token, _examples(app))) as site:
            yield site


def _add_libraries(house: House) -> None:
    """Give each reader a library with one paper, which was retracted."""
    notices = []
    for number, (name, title) in enumerate(zip(("bob-refs", "carol-refs"), OWNED, strict=True)):
        doi = f"10.5555/owned.{number}"
        entry = {"title": title, "doi": doi, "id": f"entry{number}"}
        (house.folder / f"{name}.jsonl").write_text(json.dumps(entry))
        library = {"kind": "jsonl", "path": f"{name}.jsonl", "role": "library"}
        house.settings["sources"][name] = library
        notice = {"title": "Retraction", "type": "retraction", "doi": f"{doi}.notice"}
        notices.append(json.dumps(notice | {"about": {"doi": doi}}))
    (house.folder / "notices.jsonl").write_text("\n".join(notices))
    house.settings["sources"]["notices"] = {"kind": "jsonl", "path": "notices.jsonl"}


def _examples(app: App) -> dict[str, str]:
    """Return names for addresses and forms, after a delivery of each state was made."""
    delivery = schema.delivery.c
    with app.runtime.database.writing() as tx:
        ids = list(tx.scalars(sa.select(delivery.id).order_by(delivery.id)))
        for id_, state in zip(ids, (DeliveryState.UNKNOWN, DeliveryState.FAILED), strict=False):
            tx.execute(sa.update(schema.delivery).where(delivery.id == id_).values(state=state))
        now = app.runtime.clock.now()
        look_ups.wait(tx, [(2, "arxiv")], now)
        [waiting] = look_ups.due(tx, "arxiv", now, 1)
        [asked] = look_ups.begin(tx, [waiting], "", now, now)
        filled = Answered(Paper("", venue="Here"), fields=("venue",))
        look_ups.settle(tx, asked, LookUpState.FILLED, filled)
        incidents.add_failure(
            tx,
            app.runtime,
            Subject(SubjectKind.OUTAGE_GROUP, "smtp"),
            IncidentKind.DOWN,
            now,
            "421 later",
        )
        period = tx.scalars(sa.select(schema.digest.c.period)).first()
        tx.execute(sa.update(schema.paper).filter_by(id=1).values(withdrawn=True))
        sighting = schema.sighting.c
        record = tx.scalars(sa.select(sighting.raw_id).where(sighting.paper_id == 3)).first()
    ring = KeyRing((KEY,))
    return {
        "period": str(period),
        "unknown": str(ids[0]),
        "failed": str(ids[1]),
        "record": f"page/{record}",
        "stop": ring.sign("stop", "lab", BOB),
        "view": ring.sign("view", "lab", str(period), BOB),
        "rate": ring.sign("rate", "lab", str(period), BOB),
        "feed": ring.sign("feed", "subscription", "lab"),
    }


def addresses(site: Site) -> list[tuple[int, str]]:
    return [(least, site.fill(one)) for least, one in (*ADDRESSES.values(), *MORE_ADDRESSES)]


def open_addresses(site: Site, count: Count) -> None:
    """Open each address in each role, by GET and HEAD."""
    by_token = Visitor("operator by token", OPERATOR, {"Authorization": f"Bearer {TOKEN}"})
    for visitor in (*count.visitors, by_token) if site.is_public else count.visitors:
        for least, address in addresses(site):
            for method in ("GET", "HEAD"):
                reply = site.ask(method, address, visitor.headers)
                allowed = visitor.role >= least
                count.add(f"{visitor.name}: {method} {address}", reply, is_allowed=allowed)
                if visitor.role != OPERATOR and not reply.is_refused:
                    others = [
                        name for name in (ADA, CAROL, "faculty", CAROLS) if name in reply.text
                    ]
                    count.faults += [f"{visitor.name} sees {name} on {address}" for name in others]


def send_forms(site: Site, count: Count) -> None:
    """Send each form in each role and kind; those to be refused first, and look at the store."""
    for kind in site.kinds():
        for visitor in site.visitors():
            requests = [(form, _may_send(visitor, kind, form)) for form in FORMS]
            before = rows(site.app)
            for is_allowed in (False, True):
                for form, is_right in requests:
                    if is_right is is_allowed:
                        reply = site.send(form, visitor, kind)
                        name = f"{visitor.name}, {kind.name}: POST {form.target}"
                        count.add(name, reply, is_allowed=is_allowed)
                if not is_allowed and rows(site.app) != before:
                    count.changed += 1
                    count.faults.append(f"{visitor.name}, {kind.name}: a form changed the store")


def _may_send(visitor: Visitor, kind: Kind, form: Form) -> bool:
    """Return whether a form is handled: a header of the proxy comes before a token."""
    if form.is_signed:
        return form.least == ANYONE
    by_proxy = "Remote-User" in visitor.headers
    role = OPERATOR if kind.has_token and not by_proxy else visitor.role
    return role >= form.least and (kind.is_own_page or kind.has_token)


# What a request may ask for in place of the name of these pages, and whether it is answered.
def hosts(site: Site) -> tuple[tuple[str, bool], ...]:
    name = site.host.partition(":")[0]
    return (
        (name, True),
        (f"{name}:443", True),
        (name.upper(), True),
        ("localhost:1", not site.is_public),
        ("[::1]:8080", not site.is_public),
        ("127.0.0.1", not site.is_public),
        ("evil.example", False),
        (f"{name}.evil.example", False),
        (f"evil.{name}", False),
        (f"{name}.", False),
        (f"{name}/static/?", False),
        (f"{name}/static/#", False),
        (f"{name}?", False),
        (f"evil.example@{name}", False),
        (f"{name}@evil.example", False),
        (f"{name}:80:80", False),
        (f"{name}, evil.example", False),
        (f"{name} evil.example", False),
        ("0x7f.1", False),
        ("2130706433", False),
        ("0.0.0.0", False),
        ("[::ffff:127.0.0.1]", False),
        ("", False),
    )


def ask_for_hosts(site: Site, count: Count) -> None:
    """Open each address under each name, without a login and as the operator."""
    first, *_, by_cookie = count.visitors
    for host, is_ours in hosts(site):
        for visitor in (first, by_cookie):
            for least, address in addresses(site):
                reply = site.ask("GET", address, dict(visitor.headers) | {"Host": host})
                name = f"{visitor.name}, Host: {host}: GET {address}"
                count.add(name, reply, is_allowed=is_ours and visitor.role >= least)
                if not is_ours and reply.status not in (400, 421):
                    count.faults.append(f"{name}: {reply.status}")


FORWARDED = {
    "Forwarded": "for=198.51.100.7;host=evil.example;proto=http",
    "X-Forwarded-For": "127.0.0.1, 198.51.100.7",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Port": "9",
    "X-Forwarded-Prefix": "/static/",
    "X-Forwarded-Server": "evil.example",
    "X-Real-IP": "127.0.0.1",
    "Via": "1.1 evil.example",
}
# Headers that other software takes for the name or address of a user, or for another path.
IGNORED = {
    "X-Forwarded_User": ADA,
    "Remote_User": ADA,
    "X-Remote-User": ADA,
    "X-Original-URL": "/static/style.css",
    "X-Rewrite-URL": "/static/style.css",
    "X-HTTP-Method-Override": "GET",
    "X-Host": "localhost",
    "Client-IP": "127.0.0.1",
}
ANOTHER_PEER = "127.0.0.2"


def send_headers_of_proxies(site: Site, count: Count) -> None:
    """Open each address with each header: through the proxy, and from two that are no proxies.

    One has another address than the proxy, the other the same address and no secret.
    """
    secret = {"X-Proxy-Secret": PROXY_SECRET}
    names = {**FORWARDED, **({"Remote-User": ADA} if site.is_public else {})}
    for name, value in names.items():
        for least, address in addresses(site):
            for sender, headers, source in (
                ("no secret", {}, "127.0.0.1"),
                ("a wrong secret", {"X-Proxy-Secret": "a guess"}, "127.0.0.1"),
                ("another address", secret, ANOTHER_PEER),
            ):
                reply = site.ask("GET", address, headers | {name: value}, source=source)
                count.add(f"{sender}, {name}: GET {address}", reply, is_allowed=False)
            if site.is_public and name in FORWARDED:
                reply = site.ask("GET", address, secret | {name: value})
                count.add(f"proxy, {name}: GET {address}", reply, is_allowed=least == ANYONE)
                if "evil.example" in reply.text.replace("next=//other.example", ""):
                    count.faults.append(f"proxy, {name}: {address} names another host")
    for name, value in IGNORED.items():
        for least, address in addresses(site):
            reply = site.ask("GET", address, {name: value})
            count.add(f"{name}: GET {address}", reply, is_allowed=least == ANYONE)


def spellings(path: str, host: str) -> tuple[str, ...]:
    """Return other spellings of a path: some servers and proxies take them for the same one."""
    bare = path[1:]
    letter = path[1:2]
    return (
        f"http://{host}{path}",
        f"http://evil.example{path}",
        f"http://evil.example/static/..{path}",
        f"//{bare}",
        f"//{host}{path}",
        f"/./{bare}",
        f"/%2e/{bare}",
        f"/%2f{bare}",
        f"/\\{bare}",
        f"/%5c{bare}",
        f"/%{ord(letter or '/'):02x}{bare[1:]}",
        f"/{bare.upper()}" if bare else "/%2f",
        f"{path}/",
        f"{path}%2f",
        f"{path}%00",
        f"{path}%20",
        f"{path}%0d%0aSet-Cookie:%20a=b",
        f"{path};/static/",
        f"{path}?/static/",
        f"{path}#/static/",
        f"{path}%23/static/",
        f"{path}%3f/static/",
        *(f"/{open_}/..{path}" for open_ in ("static", "login", "healthz", "u", "slack", "feed")),
        *(f"/static/{dots}{path}" for dots in ("%2e%2e", "..%2f..", ".%2e", "..;", "%252e%252e")),
        f"/static%2f..{path}",
        f"/static/..%2f{bare}",
    )


METHODS = ("HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND", "get")
# Heads of requests that servers may read in two ways. In braces: the host and a path.
HEADS = (
    "GET {path} HTTP/1.0\r\n\r\n",
    "GET {path}\r\n\r\n",
    "GET {path} HTTP/1.1\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost : {host}\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\n evil.example\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}/static/?\r\n\r\n",
    "GET /static/style.css HTTP/1.1\nGET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For : 127.0.0.1\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nX: a\rRemote-User: ada@example.org\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nX: a\x00\r\n\r\n",
    "GET  {path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "GET {path} HTTP/2.0\r\nHost: {host}\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked"
    "\r\n\r\n0\r\n\r\nGET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n",
    "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n",
    "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "POST /login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: paper-monitor=\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer\r\n\r\n",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer \r\n\r\n",
)


# Pages of each kind: for readers, for operators, and for programs.
SPELLED = (
    "/",
    "/papers/1",
    "/digests/lab/{period}",
    "/deliveries",
    "/metrics",
    "/api/v1/deliveries",
)


def spell_differently(site: Site, count: Count) -> None:
    """Ask for pages that need a login by other spellings, methods and heads, without one."""
    for path in map(site.fill, SPELLED):
        starts = [f"GET {spelling}" for spelling in spellings(path, site.host)]
        starts += [f"{method} {path}" for method in METHODS]
        usual = (f"{start} HTTP/1.1\r\nHost: {{host}}\r\n\r\n" for start in starts)
        for unfilled in (*usual, *HEADS):
            head = unfilled.replace("{host}", site.host).replace("{path}", path)
            reply = site.send_raw(f"{head[:-2]}Connection: close\r\n\r\n")
            # Without its last slash, it may be the path of another page.
            to_own = reply.headers.get("location", "").startswith(f"{site.own}/")
            count.add(repr(head), reply, is_allowed=reply.status == 307 and to_own)


ATTACKS = {
    "each address, in each role": open_addresses,
    "each form, in each role, 14 kinds": send_forms,
    "each address, for other hosts": ask_for_hosts,
    "each address, with headers of proxies": send_headers_of_proxies,
    "six pages, by other spellings and methods": spell_differently,
}


def play(site: Site) -> dict[str, Count]:
    """Return the count of each attack. Forms may change what they are allowed to."""
    counts = {}
    for name, attack in ATTACKS.items():
        counts[name] = Count(site.visitors())
        before = rows(site.app)
        attack(site, counts[name])
        counts[name].changed += attack is not send_forms and rows(site.app) != before
    return counts


def table(counts: Mapping[str, Mapping[str, Count]]) -> str:
    """Return the counts of each site as a table of docs/guarantees.md."""
    lines = [
        "| attack | site | requests | answered | refused | wrongly | store changed |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for site, of_site in counts.items():
        for attack, count in of_site.items():
            requests = count.answered + count.refused
            faults = len(count.faults)
            numbers = (requests, count.answered, count.refused, faults, count.changed)
            lines.append(f"| {attack} | {site} | {' | '.join(f'{n:,}' for n in numbers)} |")
    return "\n".join(lines)


SITES = {"on this machine": False, "with `public_url`": True}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--docs", action="store_true", help="write the table to the docs")
    write = options.parse_args().docs
    counts: dict[str, dict[str, Count]] = {}
    for name, is_public in SITES.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            served(Path(folder), is_public=is_public) as site,
        ):
            counts[name] = play(site)
    faults = [fault for of in counts.values() for count in of.values() for fault in count.faults]
    sys.stdout.write(table(counts) + "\n" + "\n".join(faults) + "\n")
    if write:
        docs.write("attacks", table(counts))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
