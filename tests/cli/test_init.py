"""`init` with what every newcomer edits first: the file works, and what is wrong is refused."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.channels.email.server_url import read_server_url
from monitor.config import load, starter
from tests.cli.conftest import Say
from tests.house import House
from tests.servers.smtp import ScriptedSmtp

ROOT = Path(__file__).parents[2]
FILE = Path("new/monitor.yaml")
TO_ADA = ("--email", "ada@example.org")
QUERY = '("language model" OR LLM) AND agent -robot'


def test_each_option_takes_the_place_of_an_example(say: Say) -> None:
    words = [
        "--topic",
        QUERY,
        "--topic",
        "robot's hand NOT ${HOME}",
        *TO_ADA,
        "--email",
        "bob@example.org",
    ]
    words += ["--smtp", "smtps://ada@smtp.example.org", "--schedule", "mon+thu 07:30"]
    said = say("init", "new", *words, "--slack-webhook", "LAB_HOOK", "--json")
    assert said.status == 0, said.err
    hook = "https://hooks.slack.com/services/T/B/x"
    settings = load(FILE, {"SMTP_PASSWORD": "a", "LAB_HOOK": hook})
    assert {name: topic.query for name, topic in settings.topics.items()} == {
        "language-model-llm-agent": QUERY,
        "robots-hand": "robot's hand NOT ${HOME}",
    }
    me = settings.subscriptions["me"]
    assert me.email == ("ada@example.org", "bob@example.org")
    assert (me.channels, me.schedule) == (("pages", "slack"), "mon+thu 07:30")
    assert settings.smtp and settings.smtp.password and settings.smtp.password.reveal() == "a"
    smtp = settings.smtp
    assert (smtp.host, smtp.port, smtp.tls) == ("smtp.example.org", 465, "implicit")
    assert (smtp.username, smtp.sender) == ("ada", "Papers <ada@example.org>")
    assert settings.warnings == ()
    written = said.json
    assert [topic["query"] for topic in written["topics"]] == [QUERY, "robot's hand NOT ${HOME}"]
    assert written["unset"] == ["SMTP_PASSWORD", "LAB_HOOK"]
    assert written["smtp"] == {
        "host": "smtp.example.org",
        "tls": "implicit",
        "username": "ada",
    }
    assert (written["slack_webhook"], written["schedule"]) == ("LAB_HOOK", "mon+thu 07:30")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--topic", "agent"),
        (*TO_ADA, "--smtp", "localhost"),
        ("--slack-webhook", "LAB_HOOK"),
        ("--schedule", "weekdays 09:00"),
    ],
)
def test_the_comments_of_the_starter_stay(say: Say, words: tuple[str, ...]) -> None:
    """But for those of the examples that a part replaces, a third of the file."""
    assert say("init", "new", *words).status == 0
    written = FILE.read_text(encoding="utf-8")
    comments = [line for line in starter().splitlines() if re.match(r"# ──| +#", line)]
    missing = [line for line in comments if line not in written.splitlines()]
    assert missing in ([], ["    # email: ada@example.org      # needs smtp: below"])
    assert yaml.safe_load(written).keys() >= yaml.safe_load(starter()).keys()


def test_the_four_commands_of_the_readme_lead_to_a_delivered_digest(
    house: House, say: Say, smtp: ScriptedSmtp
) -> None:
    """With a server and a source that are here. The first of them installs."""
    _, section = (ROOT / "README.md").read_text(encoding="utf-8").split("in four commands:\n\n")
    block = section.split("\n\n")[0].splitlines()
    lines = [shlex.split(line, comments=True) for line in block]
    assert [line[:2] for line in lines] == [
        ["python3", "-m"],
        *(["paper-monitor", command] for command in ("init", "run", "digest")),
    ]
    init = [word.replace("smtp.example.org", f"127.0.0.1:{smtp.port}") for word in lines[1]]
    said = say(*init[1:])
    assert said.status == 0
    for command in lines[2:]:
        written = " ".join(command).replace(" -c ", " --config ")
        assert re.search(rf"^  {written}  +# ", said.out, re.MULTILINE), "init names it, too"
    feed = (
        '<rss version="2.0"><channel><title>F</title><item><title>A language model agent</title>'
        "<link>https://example.org/1</link></item></channel></rss>"
    )
    (house.folder / "papers" / "dumps" / "feed.xml").write_text(feed)
    file = house.folder / "papers" / "monitor.yaml"
    source = 'news: {kind: feed, path: "dumps/*.xml", first_run: deliver}'
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("daily-papers: {kind: huggingface}", source), encoding="utf-8")
    for command in lines[2:]:
        assert say(*command[1:]).status == 0
    [mail] = smtp.received
    assert mail.recipient == "ada@example.org"
    assert "A language model agent" in mail.text


def test_the_next_commands_name_a_variable_only_where_it_is_missing(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*TO_ADA, "--smtp", "ada@smtp.example.org")
    monkeypatch.delenv("SMTP_PASSWORD", raising=False)
    said = say("init", "new", *words)
    assert "read -rs SMTP_PASSWORD && export SMTP_PASSWORD  " in said.out
    [fault] = say("check", "--config", str(FILE), "--json").json["faults"]
    assert fault["where"] == "smtp.password" and "SMTP_PASSWORD is not set" in fault["message"]
    monkeypatch.setenv("SMTP_PASSWORD", "a")
    assert say("init", "other", *words, "--json").json["unset"] == []
    assert say("check", "--config", "other/monitor.yaml", "--json").json["ok"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--topic", "agent AND (web"), "--topic: this parenthesis is never closed agent AND (web"),
        (
            ("--topic", "papers about language agents that play games together"),
            "write language AND agents AND (play OR games)",
        ),
        (("--topic", b"caf\xe9 agent".decode(errors="surrogateescape")), "is not a text in UTF-8"),
        (("--topic", ""), "--topic: the topic is empty"),
        (TO_ADA, "--email needs --smtp, the server that sends your mail"),
        (("--smtp", "smtp.example.org"), "--smtp needs --email"),
        (("--email", "ada", "--smtp", "localhost"), "--email: “ada” is not an e-mail address"),
        ((*TO_ADA, *TO_ADA, "--smtp", "localhost"), "--email: “ada@example.org” is in this list"),
        ((*TO_ADA, "--smtp", "http://example.org"), "--smtp: this is not a mail server"),
        ((*TO_ADA, "--smtp", "two words.org"), "--smtp: this is not a mail server"),
        (("--schedule", "Mondays at 8"), "--schedule: “Mondays at 8” is not a schedule; write mon"),
        (("--slack-webhook", "https://hooks.slack.com/services/geheim"), "takes the name of an"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(
    house: House, say: Say, words: tuple[str, ...], error: str
) -> None:
    said = say("init", "new", *words)
    assert said.status == 2
    assert error in re.sub(r"[\s^]+", " ", said.err) and "geheim" not in said.err
    assert not (house.folder / "new").exists()


@pytest.mark.parametrize(
    "server", ["smtps://ada:geheim@smtp.example.org", "ada:ge/heim@localhost", "smtp://a:b@c:x"]
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(say: Say, server: str) -> None:
    said = say("init", "new", *TO_ADA, "--smtp", server)
    assert said.status == 2 and not FILE.exists()
    assert "it comes from the environment variable SMTP_PASSWORD" in " ".join(said.err.split())
    assert "heim" not in said.err


@pytest.mark.parametrize(
    ("server", "settings"),
    [
        ("smtp.example.org", {"host": "smtp.example.org"}),
        ("smtp.example.org:2525", {"host": "smtp.example.org", "port": "2525"}),
        ("a.org:465", {"host": "a.org", "tls": "implicit", "port": "465"}),
        ("ada@x.org@a.org", {"host": "a.org", "username": "ada@x.org"}),
        (
            "SMTPS://ada%40x.org@a.org/",
            {"host": "a.org", "tls": "implicit", "username": "ada@x.org"},
        ),
        ("smtp://localhost:25", {"host": "localhost", "tls": "none", "port": "25"}),
        ("smtp://[::1]", {"host": "::1", "tls": "none"}),
        ("smtps://127.0.0.1", {"host": "127.0.0.1", "tls": "implicit"}),
    ],
)
def test_a_server_is_written_as_a_name_or_an_address(
    say: Say, monkeypatch: pytest.MonkeyPatch, server: str, settings: dict[str, Any]
) -> None:
    assert read_server_url(server) == settings
    monkeypatch.setenv("SMTP_PASSWORD", "a")
    assert say("init", "new", *TO_ADA, "--smtp", server).status == 0
    assert say("check", "--config", str(FILE)).status == 0


def test_names_of_topics_are_made_of_the_words_that_are_looked_for(say: Say) -> None:
    queries = (
        "title:(web OR gui) agent",
        "title:web gui agent NOT robot",
        "category:cs.CL RAG",
        "中文",
    )
    words = (word for query in queries for word in ("--topic", query))
    written = say("init", "new", *words, "--json").json
    assert [topic["name"] for topic in written["topics"]] == [
        *("web-gui-agent", "web-gui-agent-2", "cs-cl-rag", "topic"),
    ]


def test_a_sentence_is_a_topic_of_its_own(say: Say) -> None:
    sentence = "agents that use a web browser: ${HOME}"
    said = say("init", "new", "--topic", "RAG", "--like", sentence, "--like", "RAG", "--json")
    assert said.json["topics"] == [
        {"name": "rag", "query": "RAG"},
        {"name": "agents-use-web-browser", "like": sentence},
        {"name": "rag-2", "like": "RAG"},
    ]
    topic = load(FILE).topics["agents-use-web-browser"]
    assert topic.like and topic.like.text == sentence
    refused = say("init", "other", "--topic", "agents that use a web browser")
    assert refused.status == 2 and "--like 'agents that use a web browser'" in refused.err
    empty = say("init", "other", "--like", "the of and")
    assert empty.status == 2 and "--like" in empty.err and not Path("other").exists()


def test_a_doubtful_query_is_written_with_the_warning_of_check(say: Say) -> None:
    said = say("init", "new", "--topic", "agents & robots")
    assert said.status == 0 and "“&” is read as AND" in said.err
    assert say("check", "--config", str(FILE)).err == said.err
