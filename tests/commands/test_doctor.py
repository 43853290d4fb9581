"""`doctor` says in words what an operator has to set up."""

from __future__ import annotations

import tempfile
from collections import namedtuple
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from monitor.channels.email import sender_dns
from monitor.cli.doctor import check_installation
from monitor.commands.heartbeat import SERVICE, WORKER, Check, sign_of_life, workers
from monitor.store.engine import processes
from tests.cli.conftest import Say
from tests.cli.conftest import say as say
from tests.house import AGENTS, House
from tests.servers.dns import names
from tests.servers.slack import APP_TOKEN, TOKEN, SlackServer
from tests.servers.smtp import ScriptedSmtp

LAB = "lab.institute.edu"
WELL = {
    LAB: ["a site's own text", "v=spf1 include:_spf.provider.net -all"],
    f"s1._domainkey.{LAB}": ["v=DKIM1; p=MIGf"],
    "_dmarc.institute.edu": ["v=DMARC1; p=none"],
}


def test_a_server_that_does_not_wait_for_its_disk_is_said(house: House, postgres_url: str) -> None:
    """That of the tests is one: `fsync` is off there."""
    house.settings["store"] = postgres_url
    check = examined(house)["disk"]
    assert not check.ok
    assert "fsync = on" in check.message


@pytest.mark.parametrize(
    "name, changed, says",
    [
        ("DMARC", {}, "at _dmarc.institute.edu"),
        ("SPF", {LAB: ["a site's own text"]}, "has none: publish a TXT record"),
        ("SPF", {LAB: ["v=spf1 -all", "v=spf1 mx -all"]}, "has 2, so none counts"),
        ("SPF", {LAB: ["v=spf1 +all"]}, "lets anybody send"),
        ("DKIM", {f"s1._domainkey.{LAB}": None}, "let your mail server sign"),
        ("DMARC", {"_dmarc.institute.edu": None}, 'at least "v=DMARC1; p=none"'),
        ("DMARC", {"_dmarc.institute.edu": ["v=DMARC10"]}, "has none"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    name: str, changed: dict[str, list[str] | None], says: str
) -> None:
    texts = {at: values for at, values in {**WELL, **changed}.items() if values is not None}
    with names(texts) as server:
        records = sender_dns.look(LAB, partial(sender_dns.ask, server=server))
    assert [at for at, (ok, _) in records.items() if not ok] == [name] * bool(changed)
    assert says in records[name][1]


def examined(house: House, **changes: object) -> dict[str, Check]:
    with house.opened() as app:
        changed = replace(app, runtime=replace(app.runtime, **changes))
        return {check.name: check for check in check_installation(changed)}


def test_the_domain_that_mail_is_from_is_looked_at_where_the_dns_answers(
    house: House, smtp: ScriptedSmtp
) -> None:
    """Names that no mail comes from are not looked up."""

    def silent(name: str) -> None:
        raise sender_dns.NoAnswerError("timed out")

    house.by_mail(smtp.port, **{"from": f"Papers <papers@{LAB}>"})
    with names({LAB: WELL[LAB]}) as server:
        checks = examined(house, dns=partial(sender_dns.ask, server=server))
    assert checks["channel email"].ok
    failed = [name for name, check in checks.items() if name.startswith("mail") and not check.ok]
    assert failed == ["mail DKIM", "mail DMARC"]
    check = examined(house, dns=silent)["mail DNS"]
    assert check.ok and "timed out" in check.message
    unused = ("example.org", "mail.example.com", "localhost", "host.test")
    assert sender_dns.is_somebodys(LAB) and not any(map(sender_dns.is_somebodys, unused))


def test_a_failure_is_said_once_for_the_channels_of_a_server(
    house: House, smtp: ScriptedSmtp
) -> None:
    house.by_mail(smtp.port)
    house.settings["channels"]["team"] = {"kind": "email", "to": "team@example.org"}
    house.settings["subscriptions"]["lab"]["channels"] = ["team"]
    smtp.always["greeting"] = "421 4.3.0 closed for repairs"
    checks = examined(house)
    wrong = {name: check.message for name, check in checks.items() if not check.ok}
    [first, second] = wrong.values()
    assert "closed for repairs" in first
    assert second.startswith("uses the server of channel ")


def test_doctor_and_status_say_that_a_disk_is_nearly_full(
    on_sqlite: None, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert examined(house)["disk"].ok
    usage = namedtuple("usage", "total used free")
    for free, is_short in ((200 << 20, False), ((200 << 20) - 1, True), (1 << 20, True)):
        monkeypatch.setattr("monitor.commands.status.disk_usage", lambda _, b=free: usage(9, 9, b))
        check = examined(house)["disk"]
        problems = house.problems()
        assert (check.ok, problems == ()) == (not is_short, not is_short), "one threshold for both"
    assert "free at least 200 MB" in check.message
    [problem] = problems
    assert problem.startswith(
        "the disk is nearly full: 1.0 MB free beside the store; free at least"
    )


@pytest.mark.parametrize(
    ("url", "is_warned"), [("http://papers.example.org", True), ("http://localhost:8080", False)]
)
def test_check_doctor_and_status_warn_of_logins_without_https(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch, url: str, is_warned: bool
) -> None:
    house.run()
    house.settings |= {"public_url": url, "web": {"token": "${WEB_TOKEN}"}}
    monkeypatch.setenv("WEB_TOKEN", "a-password-that-is-long")
    now = ("--now", house.clock.now().isoformat())
    lines = {"check": (), "doctor": now, "status": now}
    asked = {name: say(name, *at, "--json") for name, at in lines.items()}
    assert {name: result.status for name, result in asked.items()} == dict.fromkeys(asked, 0)
    said = [
        *(f"{fault['where']} {fault['message']}" for fault in asked["check"].json["warnings"]),
        *(f"{check['name']} {check['message']}" for check in asked["doctor"].json["checks"]),
        *asked["status"].json.get("warnings", ()),
    ]
    warned = [text for text in said if text.startswith("public_url begins with http://")]
    assert (len(warned), len(set(warned))) == ((3, 1) if is_warned else (0, 0))
    for name in ("doctor", "status"):
        shown = " ".join(say(name, *now).out.split())
        assert ("! public_url" in shown) is is_warned, name


def test_a_clock_behind_what_was_recorded_is_said(house: House) -> None:
    """With a cron of one's own there are no signs of life, and runs are all that is recorded."""
    house.run(AGENTS)
    assert examined(house)["clock"].ok
    house.clock.move(hours=-1)
    check = examined(house)["clock"]
    assert not check.ok and "a record of 2026-11-21 06:00 UTC: correct the clock" in check.message
    house.clock.move(hours=1)
    with house.opened() as app, app.runtime.database.writing() as tx:
        processes.beat(tx, SERVICE, datetime.now(UTC) + timedelta(hours=2))
    check = examined(house)["clock"]
    assert not check.ok and "correct the clock" in check.message


@pytest.mark.parametrize(
    "folder, mode, warning", [(0o755, 0o644, True), (0o700, 0o644, False), (0o755, 0o640, False)]
)
def test_files_that_everyone_can_read_are_a_warning(folder: int, mode: int, warning: bool) -> None:
    with tempfile.TemporaryDirectory() as made:  # everyone may enter the folders above it
        house = House(Path(made))
        house.run()
        store = house.folder / "data" / "monitor.db"
        config = house.config
        for path in (store, config):
            path.chmod(mode)
            path.parent.chmod(folder)
        with house.opened() as app:
            config.chmod(mode)
            check = next(c for c in check_installation(app) if c.name == "permissions")
    assert (check.ok, check.warning) == (True, warning)
    assert (
        f"can read {store} and {config}: chmod 600 {store} {config}" in check.message
    ) is warning


@pytest.mark.parametrize(
    ("scopes", "app_token", "failed", "says"),
    [
        ("chat:write,channels:history", APP_TOKEN, [], "Socket Mode can connect"),
        ("channels:read", APP_TOKEN, ["channel team"], "chat:write"),
        (None, "xapp-old", ["slack answers"], "slack.app_token is wrong"),
    ],
)
def test_whether_slack_takes_digests_and_whether_it_gives_answers_are_said(
    house: House, slack: SlackServer, scopes: str, app_token: str, failed: list[str], says: str
) -> None:
    slack.scopes = scopes
    house.settings["slack"] = {"token": TOKEN, "base_url": slack.base_url, "app_token": app_token}
    house.settings["channels"]["team"] = {"kind": "slack", "channel": "C0PAPERS1"}
    checks = examined(house)
    assert [name for name in ("channel team", "slack answers") if not checks[name].ok] == failed
    assert says in str(checks) and app_token not in str(checks)


def test_a_killed_worker_is_no_fault_while_another_does_its_work(house: House) -> None:
    """It is named for a day all the same; where none is left, it is one."""
    with house.opened() as app:
        with app.runtime.database.writing() as tx:
            processes.beat(tx, "worker@cellar/7", datetime.now(UTC) - timedelta(hours=2))
        [check] = workers(app.runtime.database)
        assert (check.name, check.ok) == ("worker cellar/7", False)
        sign_of_life(app.runtime.database, WORKER)
        checks = {check.name: check for check in workers(app.runtime.database)}
    assert len(checks) == 2 and all(check.ok for check in checks.values())
    result = checks["worker cellar/7"].message
    assert "stopped unexpectedly; another worker has taken over" in result
