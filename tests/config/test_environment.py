"""`${NAME}` and NAME_FILE: what is put in, what is refused, and that no secret shows itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor import config
from monitor.errors import ConfigError
from tests.config.conftest import Faults, Load, Write

SECRET = "hush-4711"
SMTP = 'smtp: {host: localhost, from: a@example.org, username: u, password: "${PW}"}'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("${A}", "one"),
        ("a ${A} and ${B} b", "a one and two b"),
        ("$${A} stays", "${A} stays"),
        ("$A, $$ and $5 stay", "$A, $$ and $5 stay"),
        ("${C}", "${A}"),
    ],
)
def test_where_a_variable_stands(load: Load, written: str, expected: str) -> None:
    variables = {"A": "one", "B": "two", "C": "${A}"}
    assert load(f"contact: '{written}'", variables).contact == expected


@pytest.mark.parametrize(
    ("written", "variables", "fault"),
    [
        ("${PW}", {}, "the environment variable PW is not set, nor is PW_FILE"),
        ("${PW}", {"PW": ""}, "the environment variable PW is set, but empty"),
        ("${PW}", {"PW": SECRET, "PW_FILE": "/x"}, "both PW and PW_FILE are set; set one of them"),
        ("${PW", {"PW": SECRET}, "${ begins the name of an environment variable and } ends it"),
        ("${}", {}, "${ begins the name of an environment variable and } ends it"),
        ("${PW:-x}", {"PW": SECRET}, "${ begins the name of an environment variable and } ends"),
    ],
)
def test_W06_a_variable_without_a_value_is_a_fault_naming_it(
    faults: Faults, written: str, variables: dict[str, str], fault: str
) -> None:
    (found,) = faults(SMTP.replace("${PW}", written), variables)
    assert found.startswith(f"1: smtp.password: {fault}")
    assert SECRET not in found


def test_W06_all_variables_that_are_not_set_are_reported_at_once(faults: Faults) -> None:
    found = faults('contact: "${A} ${B}"\nstore: "${C}"')
    assert [line.split(" is not set")[0].split()[-1] for line in found] == ["A", "B", "C"]


@pytest.mark.parametrize("content", [SECRET, f"{SECRET}\n", f"{SECRET}\r\n"])
def test_W06_a_docker_secret_is_read_without_its_last_newline(
    load: Load, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content.encode())
    assert load(SMTP, {"PW_FILE": str(file)}).smtp.password.reveal() == SECRET


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "No such file or directory"),
        (b"", "which is empty"),
        (b"\n", "which is empty"),
        (b"\xff", "which is not UTF-8 text"),
    ],
)
def test_W06_a_secret_file_that_gives_nothing_is_a_fault(
    faults: Faults, tmp_path: Path, content: bytes | None, fault: str
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    (found,) = faults(SMTP, {"PW_FILE": str(file)})
    assert found.startswith(f"1: smtp.password: PW_FILE names {file}")
    assert fault in found


@pytest.mark.parametrize(
    "text",
    [
        'smtp: {host: x, from: a@b.c, port: "${PW}"}',
        'smtp: {host: x, from: "${PW}"}',
        'timezone: "${PW}"',
        'store: "${PW}"',
        'store: "mysql://m:${PW}@db/x"',
        'slack: {token: t, base_url: "http://${PW}"}',
        'channels: {c: {kind: "${PW}"}}',
        'channels: {c: {kind: slack, webhook: "http://x/${PW}"}}',
        'sources: {s: {kind: feed, url: "ftp://x/${PW}"}}',
        'sources: {s: {kind: feed, path: x, every: "${PW}"}}',
        'sources: {s: {kind: feed, url: "https://x/${PW}", nope: 1}}',
        'sources: {s: "${PW}"}',
        'sources: "${PW}"',
        'topics: {t: {query: "titel:${PW}"}}',
        'templates: "${PW}"',
        'include: ["${PW}"]',
        "subscriptions: {s: {topics: ['${PW}'], schedule: '${PW}', email: '${PW}'}}",
        f"smtp: {{password: {SECRET}}}",
        f"smtp: {{password: [{SECRET}]}}",
        f"smtp: {{password: *{SECRET}}}",
        f"smtp: {{password: !{SECRET} x}}",
        f'smtp:\n  password: "{SECRET}" x',
        f"smtp: {SECRET}",
        f"slack: {{token: {{a: {SECRET}}}}}",
        f"channels: {{c: {{kind: slack, webhook: 'http://x/{SECRET}'}}}}",
        f"store: postgresql://m:{SECRET}@db",
        f'store: "postgresql://m:{SECRET}@[db/m"',
    ],
)
def test_W06_a_secret_never_stands_in_a_fault(faults: Faults, text: str) -> None:
    """Neither one of the environment nor one in the file itself."""
    found = faults(text, {"PW": SECRET})
    assert found
    assert SECRET not in "\n".join(found)


@pytest.mark.parametrize("value", ["hush (4711", r"hush\1", "Hush+4711"])
def test_W06_a_secret_is_hidden_in_a_fault_whatever_its_signs_and_letters(
    faults: Faults, value: str
) -> None:
    [found] = faults('sources: {s: {kind: "a ${PW}", path: x}}', {"PW": value})
    assert "a ${PW}" in found and "hush" not in found.lower()


FULL = """
    store: postgresql://m:hush-4711@db/x
    contact: "${CONTACT}"
    sources:
      feed: {kind: feed, url: "https://u:hush-4711@example.org/feed"}
      keyed: {kind: feed, url: "https://example.org/feed?key=${KEY}"}
    channels:
      hook: {kind: slack, webhook: "https://hooks.slack.com/${KEY}"}
      lab: {kind: slack, channel: "#papers"}
    smtp: {host: localhost, from: a@example.org, username: u, password: hush-4711}
    slack: {token: "${KEY}"}
"""
VARIABLES = {"KEY": SECRET, "CONTACT": "ops@example.org"}


def test_W06_secrets_are_masked(load: Load) -> None:
    settings = load(FULL, VARIABLES)
    shown = config.masked(settings)

    hook = settings.channels["hook"].options
    for text in (json.dumps(shown), repr(settings), repr(hook), str(hook.webhook)):
        assert SECRET not in text
    assert shown["store"] == "postgresql+psycopg://m:********@db/x"
    assert shown["contact"] == "${CONTACT}"
    assert shown["sources"]["feed"]["url"] == "https://u:********@example.org/feed"
    assert shown["sources"]["keyed"]["url"] == "https://example.org/feed?key=${KEY}"
    assert shown["channels"]["hook"]["webhook"] == "********"
    assert shown["smtp"]["password"] == shown["slack"]["token"] == "********"
    assert shown["smtp"]["from"] == "a@example.org"


def test_W06_an_address_in_a_list_is_masked_and_variables_of_include_do_not_matter(
    load: Load, write: Write
) -> None:
    write("topics: {t: {query: x}}", "more.yaml")
    text = 'include: ["${MORE}"]\nsynonyms: {feed: ["https://u:hush-4711@example.org/"]}'
    shown = config.masked(load(text, {"MORE": "more.yaml"}))
    assert shown["synonyms"] == {"feed": ["https://u:********@example.org/"]}
    assert "t" in shown["topics"] and "include" not in shown


def test_no_library_error_with_a_secret_hangs_on_the_error(write: Write) -> None:
    path = write(SMTP.replace("localhost", "''"))

    with pytest.raises(ConfigError) as raised:
        config.load(path, {"PW": SECRET})
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_watch_sees_the_file_its_includes_and_its_secrets(write: Write, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("one")
    path = write("include: people/*.yaml\n" + SMTP)
    people = write("topics: {a: {query: '${Q}'}}", "people/ada.yaml")
    variables = {"PW_FILE": str(secret), "Q_FILE": str(tmp_path / "query")}
    variables["PAPER_MONITOR_TOKEN_FILE"] = str(tmp_path / "token")
    seen = {config.watch(path, variables)}

    assert {config.watch(path, variables)} == seen
    for number, (file, text) in enumerate(
        (
            (secret, "two"),
            (people, "topics: {b: {query: '${Q}'}}"),
            (people.with_name("bo.yaml"), "topics: {c: {query: agent}}"),
            (tmp_path / "token", "one that is long enough"),
            (tmp_path / "query", "agent"),
            (path, "include: people/*.yaml\ntopics: ["),
        ),
        2,
    ):
        file.write_text(text)
        seen.add(config.watch(path, variables))
        assert len(seen) == number
    path.unlink()
    assert config.watch(path, variables) not in seen


PAGES = {
    "PAPER_MONITOR_PUBLIC_URL": "https://papers.example.org",
    "PAPER_MONITOR_LISTEN": "0.0.0.0:9000",
    "PAPER_MONITOR_TOKEN": f"{SECRET}-and-long",
}


def pages(settings: config.Settings) -> tuple[str | None, str, bool]:
    """The address of the pages, where they listen, and whether they have a token."""
    return settings.public_url, settings.web.listen, bool(settings.web.token)


def test_where_pages_are_may_come_from_the_environment(load: Load) -> None:
    assert pages(load("contact: c", PAGES)) == ("https://papers.example.org", "0.0.0.0:9000", True)
    written = "public_url: https://b.example.org\nweb: {listen: 127.0.0.1:8081}"
    assert pages(load(written, PAGES)) == ("https://b.example.org", "127.0.0.1:8081", True)
    assert load("web: off", PAGES).web is None
    empty = dict.fromkeys(PAGES, "")
    assert pages(load("contact: c", empty)) == (None, "127.0.0.1:8080", False)


def test_a_token_of_the_environment_is_named_and_not_shown(faults: Faults) -> None:
    (found,) = faults("contact: c", {"PAPER_MONITOR_TOKEN": "short"})
    assert "web.token" in found and "short" not in found
