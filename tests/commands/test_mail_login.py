"""`mail login`, and whole days with a mail account without a password."""

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from monitor.cli.mail import log_in
from monitor.commands.remedies import send_tests
from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime
from tests.house import House
from tests.servers.oauth import CLIENT_SECRET, TokenServer, refusal
from tests.servers.smtp import ScriptedSmtp

PAPER = ("Language agents that plan", "We study agents.")
MICROSOFT = {"provider": "microsoft", "tenant": "example.org", "client_id": "app"}
GOOGLE = {"provider": "google", "client_id": "app", "client_secret": CLIENT_SECRET}


def by_oauth(house: House, endpoint: TokenServer, mx: ScriptedSmtp, oauth: dict[str, Any]) -> None:
    settings = {"username": "papers@example.org", "oauth": {**oauth, "token_url": endpoint.url}}
    house.by_mail(mx.port, **settings if oauth else {})


class Person:
    """Notes what is said, consents at Google, and pastes the address at which the browser ends."""

    def __init__(self, endpoint: TokenServer, **changed: str) -> None:
        self.endpoint = endpoint
        self.changed = changed
        self.heard: list[str] = []
        self.slept: list[float] = []

    def log_in(self, runtime: Runtime) -> str:
        return log_in(runtime, self.heard.append, self.ask, self.slept.append)

    @property
    def text(self) -> str:
        return "\n".join(self.heard)

    def ask(self, question: str) -> str:
        [address] = [line for line in self.text.splitlines() if line.startswith("https://acc")]
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        self.endpoint.codes["the-code"] = query["code_challenge"]
        found = {"state": query["state"], "code": "the-code", **self.changed}
        return f"{query['redirect_uri']}?" + "&".join(f"{k}={v}" for k, v in found.items())


def test_a_code_is_entered_elsewhere_and_mail_goes_out(
    house: House, endpoint: TokenServer, mx: ScriptedSmtp
) -> None:
    by_oauth(house, endpoint, mx, MICROSOFT)
    person = Person(endpoint)
    with house.opened() as app:
        pending = [refusal("authorization_pending"), refusal("slow_down")]
        endpoint.script += [endpoint.answer("/devicecode", {}), *pending]
        assert person.log_in(app.runtime) == ""
    assert "enter the code ABCD-EFGH" in person.text
    assert person.slept == [1.0, 6.0]
    assert "SMTP.Send offline_access" in endpoint.asked[1]["scope"]
    house.run(PAPER)
    house.next_morning()
    assert len(mx.received) >= 1
    used = [asked["refresh_token"] for asked in endpoint.asked if "refresh_token" in asked]
    assert used == [f"refresh-token-{n + 1}" for n in range(len(used))]  # each replaced the last


def test_the_command_walks_through_the_login_and_ends_with_its_json(
    house: House, endpoint: TokenServer, mx: ScriptedSmtp
) -> None:
    by_oauth(house, endpoint, mx, {**GOOGLE, "client_secret": "${CLIENT_SECRET}"})
    person = Person(endpoint)
    env = {"CLIENT_SECRET": CLIENT_SECRET}
    pipe = subprocess.PIPE
    with house.process("mail", "login", "--json", env=env, stdin=pipe) as process:
        assert process.stdin and process.stdout and process.stderr
        for line in process.stderr:
            person.heard.append(line.rstrip("\n"))
            if "address bar." in line:
                break
        listed = Path(f"/proc/{process.pid}/cmdline")
        shown = listed.read_text() if listed.exists() else ""
        process.stdin.write(person.ask("The address") + "\n")
        process.stdin.close()
        assert json.loads(process.stdout.read()) == {"ok": True, "missing": None}
        shown += person.text + process.stderr.read()
    assert process.returncode == 0
    hidden = (CLIENT_SECRET, "access-token", "refresh-token-", "code_verifier")
    assert not any(secret in shown for secret in hidden)


REFUSED = {
    "this is not the address": (GOOGLE, {"state": "another"}),
    "declined": (GOOGLE, {"error": "access_denied"}),
    "needs no login": ({**MICROSOFT, "client_secret": CLIENT_SECRET}, {}),
    "smtp: has no oauth:": ({}, {}),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_a_login_that_cannot_succeed_is_refused(
    house: House, endpoint: TokenServer, mx: ScriptedSmtp, problem: str
) -> None:
    oauth, pasted = REFUSED[problem]
    by_oauth(house, endpoint, mx, oauth)
    with house.opened() as app, pytest.raises(UsageError, match=problem):
        Person(endpoint, **pasted).log_in(app.runtime)


def test_a_revoked_consent_is_shown_with_what_to_do_and_the_next_login_sends_the_digest(
    house: House, endpoint: TokenServer, mx: ScriptedSmtp
) -> None:
    by_oauth(house, endpoint, mx, GOOGLE)
    with house.opened() as app:
        Person(endpoint).log_in(app.runtime)
    house.run()
    endpoint.refresh_tokens.clear()
    house.next_morning(PAPER)
    with house.opened() as app:
        [test] = send_tests(app.runtime)
        assert "the consent was revoked" in test.error
        assert "mail login" in test.error
        Person(endpoint).log_in(app.runtime)
    house.run_after(hours=1)
    [digest] = (mail.message["Subject"] for mail in mx.received)
    assert "test message" not in digest


def test_a_backup_has_the_refresh_token_only_if_it_is_asked_for(
    house: House, endpoint: TokenServer, mx: ScriptedSmtp, tmp_path: Path
) -> None:
    by_oauth(house, endpoint, mx, GOOGLE)
    with house.opened() as app:
        Person(endpoint).log_in(app.runtime)
        app.runtime.database.backup(tmp_path / "without.db")
        app.runtime.database.backup(tmp_path / "with.db", with_tokens=True)
    assert b"refresh-token" not in (tmp_path / "without.db").read_bytes()
    assert b"refresh-token" in (tmp_path / "with.db").read_bytes()
    with sqlite3.connect(tmp_path / "without.db") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
