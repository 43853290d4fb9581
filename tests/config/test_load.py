"""A file without faults: what it says, what it leaves out, and where its paths lead."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from monitor.channels.email.channel import EmailOptions
from monitor.channels.file import FileOptions
from monitor.channels.slack.channel import SlackOptions
from monitor.config import load as load_file
from monitor.config import topics_of
from monitor.config.redact import masked
from monitor.model import ChangeKind, FirstRun, Topic
from tests.config.conftest import Load, Write

EVERYTHING = """
    store: postgresql+psycopg://monitor:hush@db/monitor
    timezone: Europe/Berlin
    contact: ops@example.org
    sources:
      daily-page: {kind: huggingface-page, path: "dumps/*.txt", first_run: baseline}
      nature: {kind: feed, url: "https://www.nature.com/nature.rss", every: 6h}
    topics:
      agents: {query: '("language model" OR LLM) AND agent'}
      marl:
        query: '"multi-agent" AND title:reinforcement'
        sources: [daily-page]
        news: [new, revised]
        since: 30d
    channels:
      lab-slack: {kind: slack, channel: "#papers"}
      hook: {kind: slack, webhook: "https://hooks.slack.com/services/T/B/hush"}
      pages: {kind: file, path: out/}
      team: {kind: email, to: [ada@example.org, bo@example.org]}
    subscriptions:
      ada:
        topics: [agents, marl]
        email: ada@example.org
        schedule: weekdays 08:00
        timezone: Asia/Tokyo
        max: 10
        pause_until: 2026-12-24
      lab: {topics: ["*"], channels: [lab-slack, hook, pages, team], quiet: send}
    operator: {email: ops@example.org, channels: pages}
    smtp:
      host: smtp.example.org
      username: papers
      password: hush
      from: Papers <papers@example.org>
      unknown: hold
    slack: {token: xoxb-hush}
"""


def test_everything_that_design_shows_is_understood(load: Load, tmp_path: Path) -> None:
    (tmp_path / "dumps").mkdir()
    settings = load(EVERYTHING)
    ada = settings.subscriptions["ada"]
    lab = settings.subscriptions["lab"]

    assert settings.file == tmp_path / "monitor.yaml"
    assert settings.store == "postgresql+psycopg://monitor:hush@db/monitor"
    assert (settings.timezone, settings.contact) == ("Europe/Berlin", "ops@example.org")
    assert settings.topics["marl"].topic() == Topic(
        "marl",
        '"multi-agent" AND title:reinforcement',
        ("daily-page",),
        frozenset({ChangeKind.NEW, ChangeKind.REVISED}),
        timedelta(days=30),
    )
    assert (ada.name, ada.topics, ada.email) == ("ada", ("agents", "marl"), ("ada@example.org",))
    assert (ada.schedule, ada.timezone, ada.max) == ("weekdays 08:00", "Asia/Tokyo", 10)
    assert ada.pause_until == date(2026, 12, 24)
    assert lab.channels == ("lab-slack", "hook", "pages", "team")
    assert lab.quiet == "send"
    assert settings.sources["daily-page"].first_run is FirstRun.BASELINE
    assert settings.operator.channels == ("pages",)
    assert settings.smtp.password.reveal() == "hush"
    assert (settings.smtp.sender, settings.smtp.unknown) == ("Papers <papers@example.org>", "hold")
    assert settings.slack.token.reveal() == "xoxb-hush"
    assert settings.slack.base_url == "https://slack.com/api/"
    assert [doubt for doubt in settings.warnings if "plain text" not in doubt.message] == []


def test_channels_have_the_options_of_their_kind(load: Load, tmp_path: Path) -> None:
    options = {name: entry.options for name, entry in load(EVERYTHING).channels.items()}
    hook = options["hook"]

    assert options["lab-slack"] == SlackOptions.model_construct(channel="#papers", webhook=None)
    assert hook.webhook.reveal() == "https://hooks.slack.com/services/T/B/hush"
    assert options["pages"] == FileOptions.model_construct(path=tmp_path / "out")
    assert options["team"] == EmailOptions.model_construct(to=("ada@example.org", "bo@example.org"))


def test_what_is_left_out_has_a_default(load: Load, tmp_path: Path) -> None:
    settings = load("""
        sources:
          page: {kind: huggingface-page, path: page.txt}
          feed: {kind: feed, url: "https://example.org/feed"}
          refs: {kind: bibtex, path: refs.bib, role: library}
          watch: {kind: pubmed, about: refs}
        topics: {agents: {query: agent}}
        channels: {pages: {kind: file, path: out}}
        subscriptions: {lab: {topics: agents, channels: pages}}
    """)
    lab = settings.subscriptions["lab"]
    agents = settings.topics["agents"]

    assert settings.store == f"sqlite:///{tmp_path}/data/monitor.db"
    assert (settings.timezone, settings.contact, settings.templates) == ("UTC", "", None)
    assert (settings.operator, settings.smtp, settings.slack) == (None, None, None)
    assert settings.sources["page"].every == timedelta(minutes=1)
    assert settings.sources["feed"].every == timedelta(hours=1)
    assert settings.sources["watch"].every == timedelta(days=7)
    assert settings.sources["feed"].first_run is None
    assert (agents.sources, agents.news, agents.since) == (
        (),
        frozenset({ChangeKind.NEW}),
        timedelta(days=7),
    )
    assert (lab.schedule, lab.timezone, lab.max) == ("daily 08:00", "UTC", 12)
    assert (lab.quiet, lab.pause_until) == ("skip", None)


def test_a_star_stands_for_all_topics_in_the_order_of_the_file(load: Load) -> None:
    settings = load(EVERYTHING)

    assert topics_of(settings, settings.subscriptions["lab"]) == ("agents", "marl")
    assert topics_of(settings, settings.subscriptions["ada"]) == ("agents", "marl")


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("sqlite:///data/monitor.db", "sqlite:///{folder}/data/monitor.db"),
        ("sqlite:////var/lib/monitor.db", "sqlite:////var/lib/monitor.db"),
        ("postgresql+psycopg://m@db/monitor", "postgresql+psycopg://m@db/monitor"),
        ("postgresql://m@db/monitor", "postgresql+psycopg://m@db/monitor"),
        ("postgres://m:p@db:5432/monitor", "postgresql+psycopg://m:p@db:5432/monitor"),
    ],
)
def test_forms_of_store(load: Load, tmp_path: Path, store: str, expected: str) -> None:
    assert load(f"store: {store}").store == expected.format(folder=tmp_path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("dumps/*.txt", "{folder}/dumps/*.txt"),
        ("page.txt", "{folder}/page.txt"),
        ("/var/dumps/*.txt", "/var/dumps/*.txt"),
        ("~/dumps/*.txt", "{home}/dumps/*.txt"),
    ],
)
def test_paths_are_relative_to_the_file(
    load: Load, tmp_path: Path, path: str, expected: str
) -> None:
    settings = load(f'sources: {{page: {{kind: huggingface-page, path: "{path}"}}}}')
    options = settings.sources["page"].options

    assert options.path == expected.format(folder=tmp_path, home=Path.home())


def test_a_folder_with_brackets_is_no_glob(write: Write, tmp_path: Path) -> None:
    text = 'sources: {page: {kind: huggingface-page, path: "dumps/*.txt"}}'
    options = load_file(write(text, "lab [old]/monitor.yaml"), {}).sources["page"].options
    assert options.path == f"{tmp_path}/lab [[]old]/dumps/*.txt"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "UTC"),
        ({"TZ": ""}, "UTC"),
        ({"TZ": "Asia/Tokyo"}, "Asia/Tokyo"),
        ({"TZ": ":Asia/Tokyo"}, "Asia/Tokyo"),
    ],
)
def test_timezone_falls_back_to_tz_and_then_utc(
    load: Load, variables: dict[str, str], expected: str
) -> None:
    assert load("contact: ''", variables).timezone == expected


@pytest.mark.parametrize(("tls", "port"), [("starttls", 587), ("implicit", 465), ("none", 25)])
def test_the_port_follows_from_tls(load: Load, tls: str, port: int) -> None:
    smtp = load(f"smtp: {{host: localhost, tls: {tls}, from: a@example.org}}").smtp

    assert smtp.port == port


def test_E27_E29_E34_every_number_of_sending_can_be_set_and_is_shown(load: Load) -> None:
    settings = load("""
        smtp:
          host: localhost
          from: a@example.org
          per_connection: 10
          per_minute: 30
          timeouts: {connect: 5s, block: 90s, final: 1h}
        retry: {waits: [1min, 5min-15m], give_up: 1d, rest: 2m-30m}
    """)
    assert (settings.smtp.per_connection, settings.smtp.per_minute) == (10, 30)
    shown = masked(settings)
    assert " ".join(shown["smtp"]["timeouts"].values()) == "5s 5m 5m 5m 2m 90s 1h"
    assert shown["retry"] == {"waits": ["1m", "5m-15m"], "give_up": "1d", "rest": "2m-30m"}


def test_E27_without_a_word_the_times_are_those_of_the_standard(load: Load) -> None:
    smtp = masked(load("smtp: {host: localhost, from: a@example.org}"))["smtp"]
    assert " ".join(smtp["timeouts"].values()) == "30s 5m 5m 5m 2m 3m 10m"


@pytest.mark.parametrize(
    "smtp",
    [
        "{host: 127.0.0.1, tls: none, from: a@example.org, username: u, password: p}",
        "{host: '::1', tls: none, from: a@example.org}",
        "{host: mail.example.org, tls: none, insecure: true, from: a@example.org}",
    ],
)
def test_E26_mail_in_clear_is_for_this_machine_or_said_on_purpose(load: Load, smtp: str) -> None:
    assert load(f"smtp: {smtp}").smtp is not None


def test_values_stay_as_they_were_written(load: Load) -> None:
    """YAML would make 123, False, 750 and a date of them."""
    settings = load("""
        topics: {no: {query: 2024}, yes: {query: off}, 08-31: {query: agent}}
        smtp: {host: localhost, username: 12:30, password: 0123, from: a@example.org}
    """)

    assert [topic.query for topic in settings.topics.values()] == ["2024", "off", "agent"]
    assert list(settings.topics) == ["no", "yes", "08-31"]
    assert (settings.smtp.username, settings.smtp.password.reveal()) == ("12:30", "0123")


def test_a_section_may_stand_empty(load: Load) -> None:
    """As when all that stands in it is commented out."""
    settings = load("sources:\ntopics:\nchannels:\nsubscriptions:\nsmtp:\nslack:\noperator:\n")

    assert settings.sources == {}
    assert settings.smtp is None


def test_a_value_may_be_said_once_and_used_again(load: Load) -> None:
    settings = load("""
        topics:
          one: {query: agent, news: &all [new, revised]}
          two: {query: policy, news: *all}
    """)

    assert settings.topics["two"].news == {ChangeKind.NEW, ChangeKind.REVISED}


@pytest.mark.parametrize(
    "query",
    [
        "language model",
        "'language model'",
        "'\"language model\"'",
        "'agent AND policy'",
        "'agent'",
        "'agent -robot'",
        '"agent -robot"',
        '"title:agent robot"',
    ],
)
def test_quotes_that_are_meant_are_no_warning(load: Load, query: str) -> None:
    found = load(f"topics: {{t: {{query: {query}}}}}").warnings

    assert not any("quotes" in warning.message for warning in found)
