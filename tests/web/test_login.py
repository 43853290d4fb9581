"""How the operator logs in to the pages and out again, and how guessing is slowed down."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest
import sqlalchemy as sa

from monitor.commands import web_login
from monitor.signing import KeyRing
from monitor.store import secrets
from monitor.store.engine import schema
from monitor.web import guesses as guesses_module
from monitor.web.guesses import (
    FREE_GUESSES,
    MAX_WAITING,
    MAX_WAITING_IN_ALL,
    SECONDS_APART,
    Guesses,
)
from monitor.web.server import LIMITS, MAX_ACTIVE_REQUESTS
from tests.house import House
from tests.patience import wait
from tests.web.conftest import (
    PROXY,
    SAME_ORIGIN,
    TOKEN,
    closed_pages,
    log_in,
    one_time_token,
    pages,
    public_pages,
)

KNOWN_KEY = "a key that another account knows"


def try_token(client: httpx.Client, token: str, **headers: str) -> httpx.Response:
    return client.post("/login", data={"token": token}, headers=SAME_ORIGIN | headers)


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    """Return the cookie of an answer as a header: a client sends no Secure one over http."""
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_the_address_of_web_login_logs_in_once(lived: House):
    with closed_pages(lived) as (app, client):
        token = one_time_token(app)
        shown = client.get("/login", params={"token": token, "next": "/papers"})
        assert "set-cookie" not in shown.headers  # looking changes nothing
        assert token in shown.text
        assert log_in(client, token).headers["location"] == "/"
        assert client.get("/deliveries").status_code == 200
        client.cookies.clear()
        again = try_token(client, token)
        assert again.status_code == 403
        assert "used before" in again.text


def test_two_who_use_an_address_at_once_get_one_session(lived: House):
    with closed_pages(lived) as (app, client), ThreadPoolExecutor(8) as pool:
        token = one_time_token(app)
        answers = pool.map(lambda _: try_token(client, token).status_code, range(8))
        assert sorted(answers) == [303] + [403] * 7


def test_an_old_address_or_that_of_another_installation_is_refused(
    lived: House, tmp_path_factory, monkeypatch: pytest.MonkeyPatch
):
    other = House(tmp_path_factory.mktemp("other"))
    other.settings["web"] = {}
    with other.opened() as app:
        foreign = one_time_token(app)
    with closed_pages(lived) as (app, client):
        secrets.make_login_key(app.runtime.database, app.runtime.clock)
        for token in (foreign, "", "a guess", one_time_token(app)[:-1]):
            assert try_token(client, token).status_code == 403, token
        monkeypatch.setattr(web_login, "ADDRESS_LASTS", timedelta(seconds=-1))
        old = try_token(client, one_time_token(app))
        assert (old.status_code, "older than 15 minutes" in old.text) == (403, True)


def test_the_key_is_beside_the_store_for_its_owner_alone(lived: House):
    with pages(lived) as (app, _):
        [key] = lived.folder.rglob("*.login-key")
        assert key.parent == app.runtime.database.path.parent
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        content = key.read_text()
        assert content.encode() not in app.runtime.database.path.read_bytes()
        key.chmod(0o640)
    refused = lived.command("web", "login")
    assert refused.status == 1
    assert "other accounts of this machine" in refused.err
    key.unlink()
    assert lived.command("web", "login").status == 0
    assert key.read_text() != content


def test_on_postgresql_the_key_is_in_the_store(house: House, postgres_url: str):
    house.settings["store"] = postgres_url
    with pages(house) as (_, client):
        assert client.get("/deliveries").status_code == 200
    assert not list(house.folder.rglob("*.login-key"))


def test_web_login_prints_the_address_of_the_pages(lived: House):
    lived.settings["web"] = {"listen": "127.0.0.1:8099"}
    printed = lived.command("web", "login").out
    assert re.fullmatch(r"http://127\.0\.0\.1:8099/login\?token=[\w.~-]+\n", printed)
    lived.settings["public_url"] = "https://papers.example.org"
    address = lived.command("web", "login", "--json").json["url"]
    assert address.startswith("https://papers.example.org/login?token=")
    assert lived.command("web", "login", "--config", "other.yaml").status == 2


def test_web_login_opens_a_browser_whose_command_line_says_nothing(lived: House):
    lived.settings["web"] = {}
    browser = lived.folder / "browser"
    opened = lived.folder / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    done = lived.command("web", "login", "--open", env={"BROWSER": f"{browser} %s"})
    page = Path(unquote(urlsplit(opened.read_text()).path))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert done.out.strip() in page.read_text()
    page.unlink()


@pytest.mark.parametrize(
    ("web", "said"),
    [("off", "the pages are off"), (PROXY, "the proxy in front of the pages logs people in")],
)
def test_web_login_refuses_where_it_could_not_work(lived: House, web: object, said: str):
    lived.settings |= {"web": web, "public_url": "https://papers.example.org"}
    refused = lived.command("web", "login")
    assert refused.status == 2
    assert said in refused.err


def test_the_token_logs_in_and_out_again(lived: House):
    with public_pages(lived) as (_, client):
        assert client.get("/papers").headers["location"] == "/login?next=/papers"
        filtered = client.get("/papers", params={"q": "agent", "kind": "new"})
        assert filtered.headers["location"] == "/login?next=/papers%3Fq%3Dagent%26kind%3Dnew"
        assert try_token(client, "a guess").status_code == 403
        form = {"token": TOKEN, "next": "/papers"}
        right = client.post("/login", data=form, headers=SAME_ORIGIN)
        assert right.headers["location"] == "/papers"
        name, *attributes = right.headers["set-cookie"].split("; ")
        assert name.startswith("__Host-paper-monitor=")
        assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/"} <= set(attributes)
        assert TOKEN not in name
        session = cookie_of(right)
        other = cookie_of(client.post("/login", data=form, headers=SAME_ORIGIN))
        assert client.get("/papers", headers=session).status_code == 200
        onward = client.get("/login?next=/papers?q=agent", headers=session)
        assert onward.headers["location"] == "/papers?q=agent"
        assert client.get("/api/v1/status").status_code == 401
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert client.get("/api/v1/status", headers=bearer).status_code == 200
        out = client.post("/logout", headers=SAME_ORIGIN | session)
        assert "Max-Age=0" in out.headers["set-cookie"]
        # A copy of the cookie is worth nothing any more.
        assert client.get("/papers", headers=session).status_code == 303
        assert client.get("/papers", headers=other).status_code == 200


def test_a_session_outlives_a_restart_and_ends_with_its_token(lived: House):
    with public_pages(lived) as (_, client):
        session = cookie_of(try_token(client, TOKEN))
    with public_pages(lived) as (_, client):
        assert client.get("/papers", headers=session).status_code == 200
    with public_pages(lived, token="another token of the operator") as (_, client):
        assert client.get("/papers", headers=session).status_code == 303
    with public_pages(lived, token=None, **PROXY) as (_, client):
        assert client.get("/papers", headers=session).status_code == 401
        assert client.get("/login").status_code == 404


def test_a_session_ends_after_30_days_whatever_the_browser_keeps(lived: House):
    with pages(lived) as (app, client):
        assert client.get("/papers").status_code == 200
        with app.runtime.database.writing() as tx:
            [until] = tx.scalars(sa.select(schema.web_session.c.until))
            assert timedelta(days=29) < until - datetime.now(UTC) <= timedelta(days=30)
            tx.execute(sa.update(schema.web_session).values(until=datetime.now(UTC)))
        ended = client.get("/papers")
        assert ended.status_code == 303
        # The browser forgets it, and does not guess with it at each request.
        assert "Max-Age=0" in ended.headers["set-cookie"]
        assert client.get("/papers").headers.get("set-cookie") is None


def test_a_stolen_store_or_backup_has_no_cookie_in_it(lived: House):
    with pages(lived) as (app, client):
        [value] = client.cookies.values()
        app.runtime.database.backup(lived.folder / "backup.db")
        store = app.runtime.database.path
        files = [file for file in store.parent.rglob("*") if file.is_file()]
        assert all(value.encode() not in file.read_bytes() for file in files)
    with sa.create_engine(f"sqlite:///{lived.folder / 'backup.db'}").connect() as copy:
        assert copy.scalar(sa.text("SELECT count(*) FROM web_session")) == 0


def test_wrong_guesses_of_a_network_are_answered_one_in_two_seconds_after_twenty():
    guesses = Guesses()
    for _ in range(100):
        assert guesses.delay("2001:db8::1", 0.0) == 0.0
        guesses.was_right("2001:db8::2")
    assert [guesses.delay(f"2001:db8::{n}", 0.0) for n in range(FREE_GUESSES)] == [0.0] * 20
    waits = [guesses.delay("2001:db8::1", 0.0) for _ in range(MAX_WAITING + 2)]
    assert waits[:3] == [SECONDS_APART, 2 * SECONDS_APART, 3 * SECONDS_APART]
    assert waits[MAX_WAITING:] == [None, None]
    assert guesses.delay("2001:db8:0:1::1", 0.0) == 0.0
    assert guesses.delay("2001:db8::1", 10_000.0) == 0.0  # hours later


def test_right_tokens_wait_for_wrong_ones_and_never_for_each_other():
    guesses = Guesses()
    address = "192.0.2.1"
    many = FREE_GUESSES + MAX_WAITING + 20
    assert {guesses.delay(address, 0.0, is_right=True) for _ in range(many)} == {0.0}
    for _ in range(FREE_GUESSES + 2):
        guesses.delay(address, 0.0)
    # The time of an answer says nothing: a wrong guess would wait as long.
    waits = {guesses.delay(address, 0.0, is_right=True) for _ in range(many)}
    assert waits == {guesses.delay(address, 0.0)} == {3 * SECONDS_APART}
    while guesses.delay(address, 0.0) is not None:
        pass
    # Nor does the answer, where a wrong guess would get none.
    assert guesses.delay(address, 0.0, is_right=True) is None


def test_guesses_from_many_addresses_leave_half_of_the_active_requests_to_others(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(guesses_module, "FREE_GUESSES", 0)
    monkeypatch.setattr(guesses_module, "SECONDS_APART", 3600)

    async def guess() -> list[bool]:
        guesses = Guesses()
        addresses = [f"192.0.2.{number}" for number in range(MAX_WAITING_IN_ALL)]
        waiting = [asyncio.ensure_future(guesses.wait(address)) for address in addresses]
        await asyncio.sleep(0)
        answers = [await guesses.wait("198.51.100.1")]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        last = asyncio.ensure_future(guesses.wait("198.51.100.2"))
        await asyncio.sleep(0)
        answers.append(last.done())
        last.cancel()
        return answers

    assert asyncio.run(guess()) == [False, False]
    assert MAX_WAITING_IN_ALL <= MAX_ACTIVE_REQUESTS / 2


WRONG_HEADERS = {
    "bearer": {"Authorization": "Bearer my guess"},
    "cookie": {"Cookie": "__Host-paper-monitor=my_guess"},
}
KINDS_OF_GUESSES = ("token", *WRONG_HEADERS)


class GuessClock:
    """The clock of the guesses: it stands still, and what waits does so until `released`."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.released = threading.Event()

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        while seconds and not self.released.is_set():
            await asyncio.sleep(0.01)


@pytest.fixture
def guess_clock(monkeypatch: pytest.MonkeyPatch) -> GuessClock:
    clock = GuessClock()
    monkeypatch.setattr(guesses_module, "monotonic", clock.monotonic)
    monkeypatch.setattr(guesses_module, "sleep", clock.sleep)
    return clock


def guess_token(client: httpx.Client, by: str, headers: dict[str, str]) -> None:
    if by == "token":
        try_token(client, "my guess", **headers)
    else:
        client.get("/status", headers=headers | WRONG_HEADERS[by])


@pytest.mark.parametrize("by", KINDS_OF_GUESSES)
def test_who_guesses_too_often_waits_and_nobody_else_does(
    lived: House, guess_clock: GuessClock, by: str
):
    with public_pages(lived, trusted_proxies=["127.0.0.1"]) as (_, client):
        session = cookie_of(try_token(client, TOKEN))

        def guess(visitor: str) -> None:
            guess_token(client, by, {"X-Forwarded-For": visitor})

        guess_clock.waits.clear()
        for _ in range(FREE_GUESSES):
            guess("198.51.100.9")
        # Behind the same proxy, and of the same address: sessions, and the guesses of others.
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(guess, "198.51.100.9")
            try:
                wait(lambda: len(guess_clock.waits) > FREE_GUESSES)
                guess("198.51.100.10")
                own = {"X-Forwarded-For": "198.51.100.9"} | session
                assert client.get("/papers", headers=own).status_code == 200
                assert not waiting.done()
            finally:
                guess_clock.released.set()
            waiting.result()
        assert guess_clock.waits == [*[0.0] * FREE_GUESSES, SECONDS_APART, 0.0]


def test_many_guesses_at_once_hold_up_nothing(lived: House, guess_clock: GuessClock):
    guesses = LIMITS.per_address - 5
    with public_pages(lived) as (_, client), ThreadPoolExecutor(guesses) as pool:
        wrong = {"Authorization": "Bearer a guess"}
        answers = [
            pool.submit(lambda: client.get("/status", headers=wrong).status_code)
            for _ in range(guesses)
        ]
        try:
            wait(lambda: len(guess_clock.waits) >= FREE_GUESSES + MAX_WAITING)
            assert client.get("/healthz").status_code == 503  # no service has ever run
        finally:
            guess_clock.released.set()
        counts = [answer.result() for answer in answers]
        assert counts.count(401) == FREE_GUESSES + MAX_WAITING
        assert counts.count(429) == guesses - FREE_GUESSES - MAX_WAITING


def test_a_right_token_is_never_refused_because_of_others_at_once(lived: House):
    at_once = LIMITS.per_address - 5
    with public_pages(lived) as (_, client), ThreadPoolExecutor(at_once) as pool:

        def ask(token: str) -> int:
            authorization = {"Authorization": f"Bearer {token}"}
            return client.get("/api/v1/", headers=authorization).status_code

        assert [*pool.map(ask, [TOKEN] * 10 * at_once)] == [200] * 10 * at_once
        mixed = [TOKEN, TOKEN, "a guess"] * (FREE_GUESSES - 1)
        assert [*pool.map(ask, mixed)] == [200, 200, 401] * (FREE_GUESSES - 1)


def test_a_failed_login_is_logged_with_the_address_and_without_the_guess(lived: House, capsys):
    with public_pages(lived, trusted_proxies=["127.0.0.1"]) as (_, client):
        visitor = {"X-Forwarded-For": "198.51.100.9"}
        for by in KINDS_OF_GUESSES:
            guess_token(client, by, visitor)
    logged = [line for line in "".join(capsys.readouterr()).splitlines() if "login failed" in line]
    assert len(logged) == 3
    assert all("198.51.100.9" in line and "guess" not in line for line in logged)


def plant(key: Path, how: str) -> None:
    """Leave a key that another account knows, where it can write to the folder of the store."""
    elsewhere = key.with_name("elsewhere")
    elsewhere.write_text(KNOWN_KEY)
    elsewhere.chmod(0o600)
    if how == "link":
        key.symlink_to(elsewhere)
    elif how == "pipe":
        os.mkfifo(key, 0o600)
    elif how == "readable":
        elsewhere.rename(key).chmod(0o644)
    elif how == "writable":
        elsewhere.rename(key).chmod(0o620)
    elif os.geteuid() == 0:
        os.chown(elsewhere.rename(key), 65_534, 65_534)
    else:
        pytest.skip("only root can give a file to another account")


@pytest.mark.parametrize("how", ["link", "pipe", "readable", "writable", "of another account"])
def test_a_key_that_another_account_left_logs_nobody_in(lived: House, how: str):
    with closed_pages(lived) as (app, client):
        plant(app.runtime.database.path.with_name("monitor.db.login-key"), how)
        until = str(int(time.time()) + 600)
        forged = KeyRing((KNOWN_KEY,)).sign("login", "a name", until)
        answer = try_token(client, forged)
        assert answer.status_code == 503
        assert "login-key" not in answer.text  # the log and the command say it
        assert client.get("/deliveries").headers["location"] == "/login?next=/deliveries"
    refused = lived.command("web", "login")
    assert (refused.status, "login-key" in refused.err) == (1, True)
