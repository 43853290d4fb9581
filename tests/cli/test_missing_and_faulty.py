"""Without a store, or with a faulty configuration: what still answers, and what it creates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import SUNDAY, Say
from tests.house import House
from tests.servers.ntfy import NtfyServer
from tests.servers.web import misbehaving_server

READING = [
    *("status", "deliveries", "deliveries list", "papers", "explain 1", "preview --no-open"),
    *("digest --dry-run", "backup kept.db", "deliveries retry 1", "deliveries resolve 1 sent"),
    *("papers merge 1 2", "papers split 1 page", "papers unmark 1", "papers doubtful"),
]
NEEDS_NONE = ["check", "config", "topics try agents", "send-test", "doctor"]


def files(house: House) -> set[str]:
    house.write()
    return {str(path.relative_to(house.folder)) for path in house.folder.rglob("*")}


@pytest.mark.parametrize("line", [*READING, *NEEDS_NONE])
def test_a_store_that_is_not_there_yet_is_said_where_it_is_needed_and_never_created(
    house: House, say: Say, on_sqlite: None, line: str
):
    before = files(house)
    heard = say(*line.split())
    if line in READING:
        assert (heard.status, heard.out) == (1, "")
        assert "there is no store yet at" in heard.err
        assert "monitor.db (`paper-monitor run` creates it)" in heard.err
    assert heard.status == (line in READING)
    assert {name for name in files(house) - before if not name.startswith("pages")} == set()


def test_a_topic_that_is_tried_on_no_papers_says_why_beside_the_count(
    house: House, say: Say, on_sqlite: None
):
    heard = say("topics", "try", "agents")
    assert "matches 0 papers." in heard.out
    assert "the store is empty; run `paper-monitor run` to read the sources" in heard.out
    tried = say("topics", "try", "agents", "--json")
    assert tried.json["warnings"] and not tried.err


def test_doctor_is_content_with_what_was_not_run_yet_and_the_health_check_is_not(
    house: House, say: Say, on_sqlite: None
):
    before = files(house)
    answer = say("doctor", "--alive", "--json")
    [check] = answer.json["checks"]
    assert (answer.status, check["name"], check["ok"]) == (1, "store", False)
    assert "there is no store yet at" in check["message"]
    assert files(house) == before
    checks = {check["name"]: check for check in say("doctor", "--json").json["checks"]}
    assert all(check["ok"] for check in checks.values())
    assert "no store yet at" in checks["store"]["message"]
    assert "not read yet; run `paper-monitor run`" in checks["source page"]["message"]
    say("digest")  # creates the store, and reads nothing
    assert say("doctor").status == 0


def test_doctor_tries_a_channel_that_says_something_before_it_is_sent_a_message(
    house: House, say: Say
):
    with NtfyServer() as ntfy, misbehaving_server() as web:
        secret = web.url("/Aabcdef12345678").replace("http", "gotify")
        house.settings["channels"] |= {
            "phone": {"kind": "ntfy", "url": ntfy.url, "topic": "papers"},
            "chat": {"kind": "apprise", "url": secret},
        }
        house.settings["channels"]["phone"]["allow_private"] = True
        checks = {check["name"]: check for check in say("doctor", "--json").json["checks"]}
    assert checks["channel phone"]["message"] == "reachable; nothing was sent"
    assert checks["channel chat"] == {
        "name": "channel chat", "ok": True, "message": "not tried; use send-test"
    }  # fmt: skip
    assert ntfy.published == web.requests == []


def test_a_store_that_is_gone_is_missed(lived: House, say: Say, on_sqlite: None):
    for file in lived.folder.glob("data/monitor.db*"):
        if file.is_file():
            file.unlink()
    for line in ("run", "serve", "status", "doctor", "topics try agents"):
        heard = say(*line.split())
        assert (heard.status, heard.out) == (1, "")
        assert "is missing, and its folder monitor.db.owners shows that it was in use" in heard.err
    assert say("doctor", "--alive").status == 1
    assert not (lived.folder / "data" / "monitor.db").exists()


STILL_ANSWER = ["status", "deliveries", "explain 1", "papers", "papers --json", "backup kept.db"]
FAULTS = {
    "wrong.yaml:1  topics.t.query": "topics: {t: {query: '(a'}}\n",
    "wrong.yaml:1  timezone": "timezone: Europe/Atlantis\n",
    "wrong.yaml:2  channels.x.kind": "channels:\n  x: {kind: pigeon}\n",
    "wrong.yaml:2  subscriptions.me.channels": (
        "subscriptions:\n  me: {topics: [none], channels: [nowhere], email: a@b.org}\n"
    ),
    "wrong.yaml:1  smtp.password": 'smtp: {host: h, password: "${NOT_SET}", from: a@b.org}\n',
    "wrong.yaml:2  (file)": "topics:\n  - : [\n",
    "wrong.yaml:3  (file)": "store: sqlite:///data/monitor.db  # here\n\n\ttopics:\n",
    "wrong.yaml:1  include": "include: nowhere.yaml\n",
}


@pytest.mark.parametrize("line", STILL_ANSWER)
@pytest.mark.parametrize("place", FAULTS)
def test_what_reads_the_store_answers_and_warns_of_the_fault(
    lived: House, say: Say, line: str, place: str
):
    if "store" in lived.settings:
        Path("wrong.yaml").write_text(f"store: {lived.settings['store']}\n")
        pytest.skip("the store stands in another line there")
    Path("wrong.yaml").write_text(FAULTS[place])
    heard = say(*line.split(), "--config", "wrong.yaml")
    assert heard.status == 0
    assert place in heard.err
    assert heard.out


def test_what_is_valid_is_still_shown_with_the_status_of_the_command(lived: House, say: Say):
    with lived.opened() as app, app.runtime.database.writing() as tx:
        tx.exec_driver_sql("UPDATE delivery SET state = 'unknown'")
    lived.settings["topics"]["broken"] = {"query": "(("}
    lived.settings["channels"]["broken"] = {"kind": "slack"}
    assert say("explain", "4711").status == 2
    heard = say("status", "--json", "--now", SUNDAY)
    assert heard.status == 1
    assert [one["name"] for one in heard.json["sources"]] == ["page"]
    assert [one["name"] for one in heard.json["subscriptions"]] == ["lab"]
    assert "topics.broken.query" in heard.err and "channels.broken" in heard.err


UNSURE = [
    "store: mysql://monitor@db/monitor\n",
    'store: "${NOT_SET}"\ntimezone: UTC\n',
    "stroe: sqlite:///data/other.db\n",
    "store: sqlite:///a.db\nstore: sqlite:///b.db\n",
    "{store: sqlite:///data/other.db, topics: [}\n",
    "store: sqlite:///data/monitor.db\nstore: sqlite:///data/other.db\ntopics: [\n",
    "store:\n  sqlite:///data/other.db\ntopics: [\n",
    "",
]


@pytest.mark.parametrize("text", UNSURE)
@pytest.mark.parametrize("line", [*STILL_ANSWER, "doctor --alive"])
def test_where_the_store_cannot_be_read_nothing_answers(
    lived: House, say: Say, text: str, line: str
):
    Path("wrong.yaml").write_text(text)
    heard = say(*line.split(), "--config", "wrong.yaml")
    assert (heard.status, heard.out) == (2, "")
    assert "wrong.yaml:" in heard.err
