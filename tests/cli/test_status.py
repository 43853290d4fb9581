"""Exit status: 0 done, 1 something failed (it says what), 2 wrong usage or configuration."""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path

import pytest

from monitor.resources import resource
from tests.cli.conftest import SUNDAY, Say
from tests.house import AGENTS, House
from tests.servers.smtp import ScriptedSmtp

WRONG = [
    ("frobnicate", "No such command 'frobnicate'"),
    ("status --frobnicate", "No such option: --frobnicate"),
    ("digest --channel mail", "`channels:` or `email:` of a subscription in"),
    ("digest --erly", "No such option: --erly. Did you mean --early?"),
    ("run --dry-run", "No such option: --dry-run. It is an option of `paper-monitor digest` and"),
    ("status --config", "Option '--config' requires an argument"),
    ("topics try", "there is no query to try"),
    ("explain", "Missing argument 'PAPER'"),
    ("read", "Missing argument 'KIND'"),
    ("ingest nowhere", "no source is named 'nowhere' (there are: page)"),
    ("digest nobody", "no subscription is named 'nobody' (there are: lab)"),
    ("digest --early", "--early needs at least one subscription name"),
    ("digest lab --early --order words", "--order needs --dry-run"),
    ("preview lab --period 1999-01-01", "there is no digest of 'lab' for '1999-01-01'"),
    ("preview --period 2026-11-21", "there is no digest of ''"),
    ("explain 4711", "no paper found for '4711'"),
    ("explain 99999999999999999999999", "no paper found for"),
    ("explain ١", "no paper found for '١'"),
    ("explain arxiv:", "no paper found for"),
    ("read carrier-pigeon dumps/1.txt", "'carrier-pigeon' is neither a kind of source nor"),
    ("deliveries retry 4711", "there is no delivery 4711"),
    ("deliveries retry 99999999999999999999999", "ID needs a whole number from 1, not '9999"),
    ("deliveries retry first", "ID needs a whole number from 1, not 'first'"),
    ("deliveries retry 1", "delivery 1 is sent and is not tried again"),
    ("deliveries resolve 1 sent", "delivery 1 is sent: only an unknown one is resolved"),
    ("deliveries resolve 1 lost", "'lost' is not an answer (there are: sent, resend)"),
    ("deliveries burn", "No such command 'burn'"),
    ("suppressions remove ada", "paper-monitor suppressions lift: Send a recipient digests again"),
    ("people", "paper-monitor subscriptions: Show who gets what and when"),
    ("pause", "paper-monitor suppressions add: Send a recipient nothing more"),
    ("sources", "paper-monitor status: Show the state of everything"),
    ("merge 1 2", "paper-monitor papers merge: "),
    ("topics rty agents", "paper-monitor topics try: "),
    ("delivery", "paper-monitor deliveries: List, retry and resolve"),
    ("check monitor.yaml", "write -c monitor.yaml"),
    (
        "explain nonsense",
        "`paper-monitor papers search WORDS` shows, a DOI or arXiv id, a link",
    ),
    ("deliveries --json list", "unexpected extra argument"),
    ("topics try world models", "('models'); write a query"),
    ("papers --limit 0", "--limit needs a whole number from 1, not '0'"),
    ("papers --limit abc", "--limit needs a whole number from 1, not 'abc'"),
    ("papers --limit 99999999999999999999999", "--limit needs a whole number from 1"),
    ("topics try --like bandit --at-least 0", "--at-least needs a number above 0, up to 1"),
    ("topics try --like bandit --at-least 1.1", "--at-least needs a number above 0, up to 1"),
    ("topics try bandit --at-least 0.3", "--at-least is the bar of a text"),
    ("topics try bandit --threshold nan", "--threshold needs a number from 0, not 'nan'"),
    ("init .", "monitor.yaml already exists"),
    ("status --now yesterday", "--now: 'yesterday' is not a valid ISO 8601 date or time"),
    ("status --now 0001-01-01T00:00+14:00", "--now: '0001-01-01T00:00+14:00' is not a valid"),
    ("digest lab --early --now 9999-12-31", "--now: '9999-12-31' is not a valid"),
    ("topics try (agents", "this parenthesis is never closed\n    (agents\n    ^\n    close it"),
    ("papers OR", "OR has nothing before it"),
    ("papers --format EndNote", "bibtex, ris, csl-json, csv, json; EndNote reads ris)"),
    ("digest lab --dry-run --order best", "'best' is not an order (there are: learned, words"),
    (
        "preview --channel pdf",
        "'pdf' is neither a form nor a channel (there are: page, email, slack, pages)",
    ),
    ("papers rate 1 sideways", "'sideways' is not a verdict (there are: up, down, none)"),
    (
        "read rss dumps/1.txt",
        "'rss' is neither a kind of source nor a source in monitor.yaml (write",
    ),
    ("status --now=", "--now: '' is not a valid"),
    ("topics try bandit --compare (x", "this parenthesis is never closed\n    (x\n    ^"),
    ("suppressions add a@b.org --subscription nobody", "no subscription is named 'nobody'"),
    ("suppressions add a@b.org --until soon", "--until: 'soon' is not a valid ISO 8601 date"),
    ("suppressions add a@b.org --until 2020-01-01", "2020-01-01 is over"),
    ("suppressions lift a@b.org", "is not suppressed for all subscriptions"),
    ("suppressions lift a@b.org --subscription lab", "is not suppressed for the subscription lab"),
    ("papers rated --subscription nobody", "no subscription is named 'nobody'"),
    ("papers rated --topic nothing", "no subscription has a topic 'nothing'"),
    ("papers rated --forget --subscription nobody", "no subscription is named 'nobody'"),
    ("papers rated --forget --subscription lab --topic nothing", "has no topic 'nothing'"),
    ("papers rated --forget", "--forget needs --subscription"),
    ("papers saved --subscription nobody", "no subscription is named 'nobody'"),
    ("papers rate 1 up --topic nothing", "no subscription has a topic 'nothing'"),
    ("papers rate 1 up --file table.csv", "but not both"),
]


FAILED = [
    ("init dumps/1.txt", "dumps/1.txt"),
    ("init /proc/nothing", "/proc/nothing: No such file or directory"),
    ("demo dumps/1.txt", "dumps/1.txt: File exists"),
    ("demo /proc/nothing", "/proc/nothing: No such file or directory"),
    ("backup dumps", "dumps is a folder"),
    ("backup dumps/1.txt/kept.db", "there is no folder dumps/1.txt"),
    ("restore none.db", "there is no backup none.db"),
    ("restore dumps", "there is no backup dumps"),
    ("restore dumps/1.txt", "dumps/1.txt is not a store, or is damaged"),
    ("backup data/monitor.db", "is the store itself"),
]


@pytest.mark.parametrize(("line", "said"), WRONG + FAILED, ids=[line for line, _ in WRONG + FAILED])
def test_what_is_refused_is_said_and_changes_nothing(lived: House, say: Say, line: str, said: str):
    heard = say(*line.split())
    assert (heard.status, heard.out) == (1 if (line, said) in FAILED else 2, "")
    assert said.replace(" ", "") in unboxed(heard.err)
    assert "Traceback" not in heard.err
    assert len(say("papers", "--json").json["papers"]) == 2


def unboxed(text: str) -> str:
    """What is said, wherever a frame breaks the line."""
    return re.sub(r"[│╭╮╰╯─ ]|\s+│\s*\n", "", text)


CONFIGURED = [
    *("check", "config", "ingest", "digest", "run", "serve", "papers", "topics try agents"),
    *("status", "deliveries", "explain 1", "preview --no-open", "doctor", "send-test"),
    *("backup kept.db", "restore kept.db", "read page dumps/1.txt"),
    *("deliveries retry 1", "deliveries resolve 1 resend"),
]


@pytest.mark.parametrize("line", CONFIGURED)
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("wrong.yaml", "wrong.yaml:1  stroe\n    “stroe” is not a setting"),
        ("wrong.yaml", "wrong.yaml:2  topics.t.query\n"),
        ("none.yaml", "there is no such file; “paper-monitor init” creates one"),
        ("dumps", "this file cannot be read: Is a directory"),
        ("loop.yaml", "cannot be read: Too many levels of symbolic links"),
        ("picture.yaml", "is not UTF-8"),
    ],
)
def test_a_faulty_configuration_is_reported_with_all_its_faults(
    lived: House, say: Say, line: str, file: str, said: str
):
    Path("wrong.yaml").write_text("stroe: x\ntopics: {t: {query: '(a'}}\n")
    Path("loop.yaml").symlink_to("loop.yaml")
    Path("picture.yaml").write_bytes(b"\x89PNG\xff\xfe\x00")
    if line.startswith("read") and not Path(file).exists():
        return  # without a configuration `read` knows kinds only, and says so
    heard = say(*line.split(), "--config", file)
    assert (heard.status, heard.out) == (2, "")
    assert f"{file}:1" in heard.err
    assert said in heard.err


STORED = [
    line
    for line in CONFIGURED[:-2]
    if line.split()[0] not in ("check", "config", "read", "restore")
]


@pytest.mark.parametrize("line", STORED)
@pytest.mark.parametrize(
    "content",
    [b"certainly no store" * 100, b"SQLite format 3\0" + b"\xff" * 8_000, b""],
    ids=["text", "damaged", "emptied"],
)
def test_a_damaged_store_is_reported_and_left_as_it_is(
    lived: House, say: Say, line: str, content: bytes
):
    [store] = lived.folder.rglob("monitor.db")
    for file in lived.folder.rglob("monitor.db-*"):
        file.unlink()
    store.write_bytes(content)
    heard = say(*line.split())
    assert (heard.status, heard.out) == (1, "")
    assert "monitor.db is not a store, or is damaged" in heard.err
    assert "Traceback" not in heard.err
    assert store.read_bytes() == content


@pytest.mark.parametrize("line", ["status", "ingest", "restore kept.db"])
def test_a_store_where_none_can_be(lived: House, say: Say, line: str):
    say("backup", "kept.db")
    lived.settings["store"] = "sqlite:///dumps/1.txt/monitor.db"
    heard = say(*line.split())
    assert (heard.status, heard.out) == (1, "")
    assert "Traceback" not in heard.err
    assert "Not a directory" in heard.err or "cannot be opened" in heard.err


def test_a_document_whose_name_is_no_text(lived: House, say: Say):
    Path(b"dumps/2\xff.txt".decode(errors="surrogateescape")).write_bytes(
        Path("dumps/1.txt").read_bytes() + b"\n"
    )
    assert say("ingest", "--json").json["runs"][0]["document"] == "2?.txt"
    assert say("read", "huggingface-page", b"2\xff".decode(errors="surrogateescape")).status == 1


def test_a_starter_works_as_it_is_and_is_for_its_owner_alone(house: House, say: Say):
    before = os.umask(0)
    try:
        assert say("init", "fresh").status == 0
    finally:
        os.umask(before)
    names = ("fresh", "fresh/dumps", "fresh/monitor.yaml")
    assert [f"{Path(name).stat().st_mode & 0o777:o}" for name in names] == ["700", "700", "600"]
    config = ("--config", "fresh/monitor.yaml")
    assert say("check", *config, "--json").json == {
        "ok": True,
        "faults": [],
        "warnings": [],
        "may_repeat": [],
    }
    assert say("check", *config).out == "fresh/monitor.yaml is valid.\n"
    assert say("digest", *config, "--json", "--now", SUNDAY).status == 0
    left = Path("fresh/monitor.yaml").read_bytes()
    assert say("init", "fresh").status == 2
    assert Path("fresh/monitor.yaml").read_bytes() == left


def test_a_starter_without_a_connection_says_what_happens_next(
    say: Say, monkeypatch: pytest.MonkeyPatch
):
    with socket.socket() as nobody:  # bound, and it listens to nobody
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        assert "\n  paper-monitor run --config fresh/monitor.yaml  " in say("init", "fresh").out
        ran = say("run", "--config", "fresh/monitor.yaml")
    error, what_next = ran.err.splitlines()
    assert ran.status == 1
    assert error.startswith("daily-papers, https://huggingface.co")
    assert error.endswith("Connection refused")
    assert what_next == "What could not be read is tried again at the next run; no papers are lost."
    assert ran.out.endswith(
        "Nothing is due, and no papers are waiting.\n"
        "daily-papers could not be read: see paper-monitor status --config fresh/monitor.yaml\n"
    )


def test_check_and_doctor_refuse_templates_that_cannot_be_used(house: House, say: Say):
    own = house.folder / "own" / "mail"
    own.mkdir(parents=True)
    (own / "paper.html.j2").write_text("{% if %}")
    (own / "papers.txt.j2").write_text("")
    house.settings["templates"] = "own"
    heard = say("check", "--json")
    assert (heard.status, heard.json["ok"]) == (2, False)
    assert [fault["where"] for fault in heard.json["faults"]] == ["templates", "templates"]
    assert "did you mean “mail/paper.txt.j2”?" in say("check").err
    checks = [one for one in say("doctor", "--json").json["checks"] if one["name"] == "templates"]
    assert [one["ok"] for one in checks] == [False, False]
    house.ingest()
    assert "Expected an expression" in say("status").out


def test_check_renders_templates_with_a_sample_digest(house: House, say: Say):
    own = house.folder / "own"
    (own / "mail").mkdir(parents=True)
    house.settings["templates"] = "own"
    (own / "mail" / "paper.html.j2").write_text("<h3>\n{{ entry.nothing }}</h3>")
    [fault] = say("check", "--json").json["faults"]
    assert (fault["file"], fault["line"]) == (str(own / "mail" / "paper.html.j2"), 2)
    assert "fails with a sample digest: " in fault["message"] and "nothing" in fault["message"]
    shutil.rmtree(own / "mail")
    for name in ("title_line.txt.j2", "notice.md.j2"):
        (own / "short").mkdir()
        (own / "short" / name).write_text("\n{{ nothing }}")
        [fault] = say("check", "--json").json["faults"]
        assert (fault["file"], fault["line"]) == (str(own / "short" / name), 2)
        shutil.rmtree(own / "short")
    shutil.copytree(resource("templates") / "mail", own / "mail")
    (own / "mail" / "footer.html.j2").write_text("{{ digest|was_read }}")
    assert say("check").status == 0, "one that lacks what is new works"


def test_a_digest_that_fails_is_named_and_makes_the_status_1(
    lived: House, say: Say, monkeypatch: pytest.MonkeyPatch
):
    def render(*_: object) -> None:
        raise RuntimeError("no such font")

    monkeypatch.setattr("monitor.channels.file.Pages.render", render)
    lived.ingest(("Agents of Language", "A language that agents may speak."))
    for command in ("run", "digest"):
        heard = say(command, "--json", "--now", SUNDAY)
        assert (heard.status, heard.json["digests"]) == (1, [])
        assert heard.json["failed"] == [{"subscription": "lab", "error": "no such font"}]
    heard = say("digest", "--now", SUNDAY)
    assert (heard.status, "lab failed: no such font" in heard.err) == (1, True)
    assert "Nothing is due" not in heard.out


def test_run_says_1_while_a_line_is_down(house: House, say: Say, smtp: ScriptedSmtp):
    house.by_mail(smtp.port)
    house.run(AGENTS)
    smtp.always["greeting"] = "421 4.3.0 later"
    assert say("run", "--json", "--now", SUNDAY).status == 1
    again = say("run", "--json", "--now", SUNDAY)  # the line rests, nothing is attempted
    [one] = again.json["digests"]
    assert (again.status, one["deliveries"][0]["state"]) == (1, "planned")
    assert smtp.connections == 1
