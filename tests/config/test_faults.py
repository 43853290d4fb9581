"""Every fault a user can write: where it is said to be, and how it is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor import config
from monitor.errors import ConfigError
from tests.config.conftest import Faults, Write, check


def test_all_faults_are_reported_at_once(faults: Faults) -> None:
    assert faults("""
        timezone: Europe/Berln
        sources:
          page: {kind: huggingface-pag, path: x}
        topics:
          marl: {querry: agent, since: 7}
        subscriptions:
          ada: {topics: mral, email: ada, schedule: sometimes, max: many, quiet: skpi}
    """) == [
        "2: timezone: “Europe/Berln” is not a time zone; did you mean “Europe/Berlin”?",
        "4: sources.page.kind: “huggingface-pag” is not a kind of source"
        "; did you mean “huggingface-page”?",
        "6: topics.marl.querry: “querry” is not a setting here; did you mean “query”?",
        "6: topics.marl.since: “7” is not a duration; write 30m, 6h, 1d or 7d",
        "6: topics.marl.query: is missing",
        "8: subscriptions.ada.email: “ada” is not an e-mail address, as in ada@example.org",
        "8: subscriptions.ada.topics: there is no topic “mral”; did you mean “marl”?",
        "8: subscriptions.ada.schedule: “sometimes” is not a schedule; write daily 08:00, "
        "weekdays 08:00, mon+thu 08:00, monthly 1 08:00, immediately, or a cron line such as "
        "30 9 * * mon-fri",
        "8: subscriptions.ada.max: should be a whole number, not “many”",
        "8: subscriptions.ada.quiet: should be skip or send, not “skpi”",
    ]


CHANNEL = "channels: {p: {kind: file, path: out}}\ntopics: {t: {query: agent}}\n"
SOURCES = "refs: {kind: bibtex, path: x, role: library}, page: {kind: feed, path: x}"
LIBRARY = f"sources: {{{SOURCES}}}\n{CHANNEL}"
HTTPS = "url: https://a.example.org"


def _hook(settings: str) -> str:
    return f"channels: {{c: {{kind: webhook, {settings}}}}}"


MAIL = "smtp: {host: localhost, from: a@example.org}\n" + CHANNEL


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        # names and forms
        ("topics:\n  t:", "2: topics.t: should be settings (name: value)"),
        ("topics: {t: {name: x, query: agent}}", "1: topics.t.name: “name” is not a setting here"),
        ("topics: {t: {query: [agent]}}", "1: topics.t.query: should be a text, not a list"),
        ("topics: {'@t': {query: agent}}", "1: topics.@t: a name may not begin with @"),
        ("topics: {'*': {query: agent}}", "1: topics.*: a name may not begin with @, *"),
        ("topics: {'': {query: agent}}", "1: topics.: this name is empty"),
        ("subscriptions: {a/b: {}}", "1: subscriptions.a/b: a name may not begin with"),
        ("topics: {[a]: b}", "1: topics: a name must be plain text"),
        # sources
        ("sources: {s: {path: x}}", "1: sources.s.kind: is missing; there are: arxiv, "),
        ("sources: {s: {kind: feed}}", "1: sources.s: give either `url:` or `path:`"),
        ("sources: {s: {kind: feed, url: x}}", "1: sources.s: `url:` must begin with http"),
        (
            "smtp: {host: a, from: c@d.org, oauth: {provider: other, client_secrt: x}}",
            "1: smtp.oauth.client_secrt: “client_secrt” is not a setting here; did you mean",
        ),
        (
            "sources: {s: {kind: feed, path: x, allow_private: perhaps}}",
            "1: sources.s.allow_private: should be true or false, not “perhaps”",
        ),
        # topics
        ("topics: {t: {query: }}", "1: topics.t.query: is empty"),
        (
            "sources: {daily: {kind: feed, path: x}}\n"
            "topics: {t: {query: agent, sources: [dialy]}}",
            "2: topics.t.sources: there is no source “dialy”; did you mean “daily”?",
        ),
        (
            "topics: {t: {query: agent, news: [new, revisd]}}",
            "1: topics.t.news: should be new, revised, withdrawn or older, not “revisd”",
        ),
        ("topics: {t: {query: agent, news: []}}", "1: topics.t.news: needs at least one"),
        (
            f"topics: {{t: {{query: agent, title: {'x' * 101}}}}}",
            "1: topics.t.title: should have at most 100 characters, not 101",
        ),
        # channels
        ("channels: {c: {kind: file}}", "1: channels.c.path: is missing"),
        (
            "channels: {c: {kind: file, path: x, mode: 0755}}",
            "1: channels.c.mode: “0755” is not a mode of files; write 0600, 0640 or 0644",
        ),
        (
            "channels: {c: {kind: file, path: x, every: 6h}}",
            "1: channels.c.every: “every” is not a setting here; there are: kind, path",
        ),
        (_hook("url: a.example.org"), "1: channels.c.url: should be a URL that begins with https"),
        (
            _hook("url: http://n8n.example.org"),
            "1: channels.c: url: should begin with https://; for",
        ),
        (
            _hook("url: http://127.0.0.1:5678/a"),
            "1: channels.c: url: should begin with https://; for",
        ),
        (_hook("url: https://10.0.0.4/a"), "1: channels.c: url: leads into a private network; for"),
        (
            _hook(f"{HTTPS}:8443/a"),
            "1: channels.c: url: has the port 8443, and only 443 is usual; for a machine of your "
            "own network, add allow_private: true, or if that port is meant",
        ),
        (_hook(f"{HTTPS}, secret: hush"), "1: channels.c.secret: should be whsec_ and 24 to 64"),
        (_hook(f"{HTTPS}, secret: []"), "1: channels.c.secret: needs at least one"),
        (
            _hook(f"{HTTPS}, template: discrod"),
            "1: channels.c.template: there is no webhook/discrod",
        ),
        (
            _hook(f"{HTTPS}, timeout: 30"),
            "1: channels.c.timeout: “30” is not a duration; write 30s",
        ),
        (_hook(f"{HTTPS}, timeout: 1h"), "1: channels.c.timeout: should be at most 5m"),
        (_hook(f"{HTTPS}, unknown: retry"), "1: channels.c.unknown: should be resend or hold, not"),
        (_hook(f"{HTTPS}, headers: {{Host: a}}"), "1: channels.c.headers: “Host” is set by Paper"),
        (_hook(f"{HTTPS}, headers: {{X Y: a}}"), "1: channels.c.headers: “X Y” is not the name of"),
        (
            _hook(f"{HTTPS}, headers: {{X: ü}}"),
            "1: channels.c.headers: the value of “X” has letters",
        ),
        ("channels: {c: {kind: slack}}", "1: channels.c: needs either channel: or webhook:"),
        (
            _hook(f"{HTTPS}, webhook: x"),
            "1: channels.c.webhook: “webhook” is not a setting here; write url:",
        ),
        # ntfy
        (
            "channels: {c: {kind: ntfy, topic: abc, password: x}}",
            "1: channels.c.password: “password” is not a setting here; make a token: ntfy token",
        ),
        ("channels: {c: {kind: ntfy}}", "1: channels.c.topic: is missing"),
        (
            "channels: {c: {kind: ntfy, url: 'https://ntfy.sh/papers', topic: papers}}",
            "1: channels.c.url: should be the server alone, https://ntfy.sh; the topic is topic:",
        ),
        (
            "channels: {c: {kind: ntfy, topic: 'ntfy.sh/papers'}}",
            "1: channels.c.topic: should be the topic alone; the server is url:",
        ),
        (
            "channels: {c: {kind: ntfy, topic: my papers}}",
            "1: channels.c.topic: is no topic: these are 1 to 64 of A-Z, a-z, 0-9, - and _",
        ),
        (
            "channels: {c: {kind: ntfy, topic: papers, token: Bearer tk_1}}",
            "1: channels.c.token: should be the access token alone, as in tk_..., without",
        ),
        (
            "channels: {c: {kind: ntfy, topic: papers, priority: '6'}}",
            "1: channels.c.priority: should be min, low, default, high or max, not “6”",
        ),
        (
            "channels: {c: {kind: ntfy, topic: papers, url: 'http://ntfy.example.org'}}",
            "1: channels.c: `url:` would send topic and token unencrypted; write https://, or",
        ),
        (
            "channels: {c: {kind: ntfy, topic: papers, url: 'https://ada:hush@ntfy.example.org'}}",
            "1: channels.c.url: holds a password; write an access token of ntfy as token:",
        ),
        (
            "channels: {c: {kind: ntfy, topic: papers, url: ntfy.sh}}",
            "1: channels.c.url: should be the address of the server, as in https://ntfy.sh",
        ),
        # Apprise; more addresses are in tests/channels/test_apprise.py
        ("channels: {c: {kind: apprise}}", "1: channels.c.url: is missing"),
        (
            "channels: {c: {kind: apprise, url: 'telegram://1/2'}}",
            "1: channels.c: url: Apprise has no service telegram://; did you mean “tgram”?",
        ),
        (
            "channels: {c: {kind: apprise, url: 'gotify://h/Aabcdef12345678', limit: '20'}}",
            "1: channels.c.limit: should be 200 or more, not “20”",
        ),
        (
            "channels: {c: {kind: apprise, url: 'gotify://h/Aabcdef12345678', format: html}}",
            "1: channels.c.format: should be markdown or text, not “html”",
        ),
        (
            "channels: {c: {kind: apprise, url: 'gotify://h/Aabcdef12345678?retry=2'}}",
            "1: channels.c: url: may not have retry=; Paper Monitor decides that itself",
        ),
        (
            "channels: {c: {kind: apprise, url: 'syslog://'}}",
            "1: channels.c: url: “syslog” writes or shows messages on this machine, and is never",
        ),
        (
            "channels: {c: {kind: slack, channel: '#a', webhook: 'https://example.org/x'}}",
            "1: channels.c: has channel: and webhook:; remove one of them",
        ),
        (
            "channels:\n  c:\n    kind: slack\n    channel: #papers",
            '2: channels.c: channel: is empty; # begins a comment, so write channel: "#papers"',
        ),
        (
            "channels: {c: {kind: slack, channel: papers}}",
            "1: channels.c: channel: needs the token of a bot, in a slack: section",
        ),
        (
            "channels: {c: {kind: email, to: a@example.org}}",
            "1: channels.c.to: e-mail needs an smtp: section",
        ),
        ("channels: {email: {kind: file, path: x}}", "1: channels.email: this name is reserved"),
        # subscriptions
        (
            CHANNEL + "subscriptions: {s: {topics: [], channels: p}}",
            "3: subscriptions.s.topics: needs at least one",
        ),
        (
            CHANNEL + "subscriptions: {s: {channels: p}}",
            "3: subscriptions.s: has no topics; add topics: or guard:",
        ),
        (
            LIBRARY + "subscriptions: {s: {channels: p, guard: page}}",
            "4: subscriptions.s.guard: “page” is no library; give this source role: library",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: [t, t], channels: p}}",
            "3: subscriptions.s.topics: “t” is in this list twice",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: t}}",
            "3: subscriptions.s: has no destination; add email: or channels:",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: t, channels: [q]}}",
            "3: subscriptions.s.channels: there is no channel “q”",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: t, channels: [email]}}",
            "3: subscriptions.s.channels: there is no channel “email”; addresses are under email:",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: t, channels: p, pause_until: tomorrow}}",
            "3: subscriptions.s.pause_until: should be a date such as 2026-08-31, not “tomorrow”",
        ),
        (
            LIBRARY + "subscriptions: {s: {topics: t, channels: p, libraries: [refs, resf]}}",
            "4: subscriptions.s.libraries: there is no library “resf”; did you mean “refs”?",
        ),
        (
            LIBRARY + "subscriptions: {s: {topics: t, channels: p, libraries: page}}",
            "4: subscriptions.s.libraries: “page” is no library; give this source role: library",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: t, channels: p, libraries: refs}}",
            "3: subscriptions.s.libraries: there is no library “refs”; no source has role: library",
        ),
        (
            "sources: {refs: {kind: bibtex, path: x, role: library},\n"
            "w: {kind: crossref, about: ref}}",
            "2: sources.w.about: there is no library “ref”; did you mean “refs”?",
        ),
        (
            "sources: {w: {kind: pubmed, about: w, query: x}}",
            "1: sources.w.about: “w” is no library; give this source role: library",
        ),
        (
            "sources: {refs: {kind: bibtex, path: x, role: library},\n"
            "w: {kind: pubmed, about: refs, role: library}}",
            "2: sources.w.role: cannot be used together with about:",
        ),
        (
            "sources: {w: {kind: openalex, query: sand, role: reference}}",
            "1: sources.w.role: reference needs `path:`",
        ),
        (
            "sources: {w: {kind: oai, url: https://example.org/oai, role: library}}",
            "1: sources.w.role: library needs `path:`",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: t, channels: p, max: 0}}",
            "3: subscriptions.s.max: should be 1 or more, not “0”",
        ),
        (
            CHANNEL + "subscriptions: {s: {topics: t, channels: p, max: 401}}",
            "3: subscriptions.s.max: should be 400 or less, not “401”",
        ),
        # addresses
        (
            MAIL + 'subscriptions: {s: {topics: t, email: "a@example.org,b@example.org"}}',
            "4: subscriptions.s.email: “a@example.org,b@example.org” should be one address;",
        ),
        (
            MAIL + 'subscriptions: {s: {topics: t, email: "Ada <a@example.org>"}}',
            "4: subscriptions.s.email: “Ada <a@example.org>” should be an address alone",
        ),
        (
            MAIL + 'subscriptions: {s: {topics: t, email: "a@example.org\\r\\nBcc: b@c.d"}}',
            "4: subscriptions.s.email: ",
        ),
        *(
            (
                MAIL + f"subscriptions: {{s: {{topics: t, email: {text}}}}}",
                f"4: subscriptions.s.email: “{text}” is not an e-mail address",
            )
            for text in ("ada@exa..org", "ada@.org", "ada@example.", ".ada@example.org")
        ),
        # smtp and slack
        ("smtp: {host: x}", "1: smtp.from: is missing"),
        ("smtp: {from: a@b.c}", "1: smtp: needs host:, or else one of sendmail: and lmtp:"),
        (
            "smtp: {host: x, sendmail: /usr/sbin/sendmail, from: a@b.c}",
            "1: smtp: needs host:, or else one of sendmail: and lmtp:",
        ),
        (
            "smtp: {sendmail: /usr/sbin/sendmail, username: u, password: p, from: a@b.c}",
            "1: smtp: sendmail: takes no username:, password: and oauth:",
        ),
        ("smtp: {lmtp: 'x y', from: a@b.c}", "1: smtp.lmtp: “x y” should be the path of a socket"),
        (
            "smtp: {lmtp: 'mx:24', from: a@b.c}",
            "1: smtp: tls: none would send mail unencrypted to mx",
        ),
        *(
            (
                f"smtp: {{host: '{host}', from: a@b.c}}",
                f"1: smtp.host: should be only the name of a host; write host: {instead}",
            )
            for host, instead in [
                ("a:2525", "a, port: 2525"),
                ("smtp://u:secret@a.org:25/", "a.org, port: 25"),
                ("https://a.org", "a.org"),
                ("[::1]:25", "::1, port: 25"),
                ("a:b", "smtp.example.org"),
            ]
        ),
        ("smtp: {host: x, from: Papers p@x.org}", "1: smtp.from: “Papers p@x.org” is not a send"),
        ("smtp: {host: x, from: a@b.c, port: 70000}", "1: smtp.port: should be 65535 or less"),
        ("smtp: {host: x, from: a@b.c, tls: ssl}", "1: smtp.tls: should be starttls, implicit or"),
        ("smtp: {host: x, from: a@b.c, ca_file: gone}", "1: smtp.ca_file: there is no file /"),
        ("smtp: {host: x, from: a@b.c, username: u}", "1: smtp: username: and password: must be"),
        (
            "slack: {token: t, base_url: 'http://example.org/'}",
            "1: slack.base_url: should be a URL that begins with https://, "
            "or http:// to this machine",
        ),
        (
            "smtp: {host: localhost, from: a@b.c, timeouts: {final: 10}}",
            "1: smtp.timeouts.final: “10” is not a duration; write 30s, 5m or 1h",
        ),
        (
            "smtp: {host: localhost, from: a@b.c, timeouts: 10m}",
            "1: smtp.timeouts: should be settings (name: value), not a text",
        ),
        (
            "retry: {waits: [5m-15m, 15]}",
            "1: retry.waits: “15” is not a duration; write 30m, 6h, 1d or 7d",
        ),
        ("retry: {rest: 1h-5m}", "1: retry.rest: “1h-5m” ends before it begins"),
        ("retry: {waits: []}", "1: retry.waits: needs at least one"),
        # the top
        ("store: mysql://db/x", "1: store: should be sqlite:///data/monitor.db or postgresql+psy"),
        ("store: postgresql://db", "1: store: should be sqlite:///data/monitor.db or postgresql"),
        ("store: 'sqlite:///:memory:'", "1: store: needs a file, as in sqlite:///data/monitor"),
        ("store: sqlite://", "1: store: needs a file, as in sqlite:///data/monitor.db"),
        ("store: 'sqlite:///a.db?mode=ro'", "1: store: needs a file, as in sqlite:///data/monitor"),
        ("store: data/monitor.db", "1: store: should be sqlite:///data/monitor.db or postgresql+"),
        ("templates: gone", "1: templates: there is no folder /"),
        ('contact: "a\\nX-Evil: b"', "1: contact: contains a control character or a line break"),
    ],
)
def test_faults_in_plain_words(faults: Faults, text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(text)), faults(text)


def test_E26_mail_in_clear_is_refused(faults: Faults) -> None:
    (mail,) = faults("smtp: {host: mail.example.org, tls: none, from: a@b.c}")
    assert "tls: none would send mail unencrypted to mail.example.org" in mail
    account = "insecure: true, username: u, password: p"
    (password,) = faults(f"smtp: {{host: b.c, tls: none, from: a@b.c, {account}}}")
    assert "tls: none would send the password unencrypted" in password


def test_D07_weekdays_by_number_are_refused_with_a_hint(faults: Faults) -> None:
    (found,) = faults(
        CHANNEL + 'subscriptions: {ada: {topics: t, channels: p, schedule: "30 9 * * 1-5"}}'
    )
    assert found.startswith("3: subscriptions.ada.schedule: ")
    assert "mon-fri" in found


def test_D08_a_wrong_zone_names_the_subscription(faults: Faults) -> None:
    assert faults(
        CHANNEL + "subscriptions: {ada: {topics: t, channels: p, timezone: Asia/Tokio}}"
    ) == [
        "3: subscriptions.ada.timezone: “Asia/Tokio” is not a time zone; did you mean “Asia/Tokyo”?"
    ]


@pytest.mark.parametrize("zone", ["../etc/passwd", "/etc/localtime", "Europe", "", "CET+1CEST"])
def test_what_is_no_zone_is_a_fault(faults: Faults, zone: str) -> None:
    assert faults(f"timezone: '{zone}'")[0].startswith(f"1: timezone: “{zone}” is not a time zone")


def test_a_wrong_TZ_of_the_process_is_a_fault_reported_once(faults: Faults) -> None:
    text = CHANNEL + "subscriptions: {ada: {topics: t, channels: p}}"
    (found,) = faults(text, {"TZ": "Mars/Olympus"})

    assert "“${TZ}” is not a time zone" in found


# ── topics ──────────────────────────────────────────────────────────────────────────


def test_a_wrong_query_is_shown_with_a_caret_under_the_position(faults: Faults) -> None:
    (found,) = faults("topics:\n  marl:\n    query: 'agent AND (policy'")

    assert found.splitlines() == [
        "3: topics.marl.query: this parenthesis is never closed",
        "    agent AND (policy",
        "              ^",
        "    close it with )",
    ]


def test_the_caret_knows_wide_characters_and_folded_lines(faults: Faults) -> None:
    (found,) = faults("topics:\n  t:\n    query: |\n      强化学习\n      AND (policy")
    _, query, caret, _ = found.splitlines()

    assert query == "    强化学习 AND (policy"
    assert caret.index("^") == len("    ") + 2 * len("强化学习") + len(" AND ")


def test_a_long_query_is_shown_around_its_fault(faults: Faults) -> None:
    (found,) = faults(f"topics: {{t: {{query: '{'agent OR ' * 50}titel:x{' OR agent' * 50}'}}}}")
    _, query, caret, _ = found.splitlines()

    assert len(query) < 130
    assert "titel:x" in query
    assert query[caret.index("^") - 1 :].strip().startswith("titel:x")


@pytest.mark.parametrize(
    "text",
    [
        'topics:\n  t:\n    query: "multi-agent" AND x',
        '\n\ntopics: {t: {query: "a b" AND c}}',
        '\n\nname: "hush" b',
        "topics:\n  t:\n    query: 'Parkinson's disease'",
    ],
)
def test_quotes_that_yaml_swallowed_are_explained(faults: Faults, text: str) -> None:
    (fault,) = faults(text)
    assert fault.startswith("3: (file): YAML takes the first pair of quotes as the whole value")
    assert fault.endswith("query: '\"multi-agent\" AND agent'") and "hush" not in fault
    assert "write an apostrophe inside twice (Parkinson''s)" in fault


# ── YAML ────────────────────────────────────────────────────────────────────────────

# A few lines that would grow into gigabytes.
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a:\n\t- x", "2: (file): this line is indented with a tab"),
        ("a: &x\nb: *y", "2: (file): a value that begins with * must be in single quotes"),
        ("a: @x", "1: (file): a value that begins with @, ` or % must be in single quotes"),
        ("store: !x y", "1: store: a value that begins with ! must be in single quotes"),
        ("a: b: c", "1: (file): this line has a second “: ”"),
        ('a: "x\nb: y', "2: (file): the quotes opened on line 1 are never closed"),
        ('a: "\\q"', "1: (file): a backslash in double quotes has a special meaning"),
        ("a: b\n---\nc: d", "2: (file): a second document begins here"),
        ("a:\n  b: c\n d: e", "3: (file): this is not valid YAML"),
        ("a: [b, c", "1: (file): this is not valid YAML"),
        ("a: b\n\x07", "2: (file): there is a control character here"),
        ("a: &a [*a]", "1: (file): it is nested too deeply, or refers to itself"),
        (LAUGHS, "1: (file): it is nested too deeply, or refers to itself"),
        ("a: " + "[" * 5_000, "1: (file): "),
        ("- a", "1: (file): this file contains no settings (name: value)"),
        ("# nothing yet", "1: (file): this file is empty"),
    ],
)
def test_yaml_that_cannot_be_read_is_a_fault_with_its_line(
    faults: Faults, text: str, fault: str
) -> None:
    assert faults(text)[0].startswith(fault)


def test_a_key_that_stands_twice_is_a_fault_at_its_second_place(faults: Faults) -> None:
    assert faults("""
        topics:
          marl: {query: agent}
          marl: {query: policy}
        contact: a
        contact: b
    """) == [
        "4: topics.marl: “marl” is defined twice; it is already on line 3",
        "6: contact: “contact” is defined twice; it is already on line 5",
    ]


def test_bytes_that_are_no_text_are_a_fault_and_a_byte_order_mark_is_none(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    file.write_bytes("topics:\n  t: {query: café}".encode("latin-1"))
    (fault,) = check(file, {})
    assert (fault.line, fault.message) == (2, "this is not UTF-8 text; save the file as UTF-8")
    file.write_bytes(b"\xef\xbb\xbfcontact: ops@example.org")
    assert check(file, {}) == ()


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    (missing,) = check(tmp_path / "gone.yaml", {})
    (folder,) = check(tmp_path, {})

    assert missing.file == str(tmp_path / "gone.yaml")
    assert missing.message.startswith("there is no such file")
    assert folder.message == "this file cannot be read: Is a directory"


def test_load_raises_all_faults_as_one_error(write: Write) -> None:
    path = write("stroe: x\ntimezne: y")

    with pytest.raises(ConfigError) as raised:
        config.load(path, {})
    assert [fault.where for fault in raised.value.faults] == ["stroe", "timezne"]
    assert str(raised.value).startswith(f"{path}:1: stroe: “stroe” is not a setting here; did you")


_WORDS = st.sampled_from(
    [
        *("sources", "topics", "channels", "subscriptions", "smtp", "slack", "operator", "include"),
        *("kind", "feed", "email", "path", "query", "to", "token", "host", "from", "store"),
        *(
            "since",
            "agent",
            "${X}",
            "*",
            "@a",
            "a@example.org",
            "7d",
            "timezone",
            "ca_file",
            "~",
            "null",
        ),
    ]
)
_VALUES = st.recursive(
    st.one_of(st.none(), _WORDS, st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_WORDS, inner, max_size=4)
    ),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None)
@given(top=st.dictionaries(_WORDS, _VALUES, max_size=6))
def test_nothing_that_can_be_written_ends_in_anything_but_faults(
    tmp_path_factory: pytest.TempPathFactory, top: dict[str, object]
) -> None:
    import yaml

    file = tmp_path_factory.mktemp("any") / "monitor.yaml"
    file.write_text(yaml.safe_dump(top, allow_unicode=True), encoding="utf-8")

    for fault in check(file, {"X": "hush"}):
        assert fault.line >= 1
        assert "hush" not in fault.message
