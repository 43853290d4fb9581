"""What people write from habit is refused with the line that mends it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from monitor.config import load as load_file
from monitor.plugins import CHANNELS
from tests.config.conftest import Faults, Load, Write

DOCS = Path(__file__).parents[2] / "docs"
URL = "url: 'https://example.org/feed'"
MAIL = "smtp: {host: localhost, from: a@b.c}\nsubscriptions: {s: {topics: '*', "
ARXIV = "sources: {s: {kind: arxiv, categories: "
PAUSED = (
    "topics: {{t: {{query: a1}}}}\nchannels: {{c: {{kind: file, path: o}}}}\n"
    "subscriptions: {{s: {{topics: t, channels: c, pause_until: {}}}}}"
)
SLACK = "slack: {token: xoxb-1}\nchannels:\n"
ALL_KINDS = ", ".join(sorted(CHANNELS.built_in))


@pytest.mark.parametrize(
    ("text", "where", "repaired"),
    [
        ("sources: {s: {kind: google-scholar}}", "1: sources.s.kind", "docs/coming-from.md"),
        ("sources: {s: {kind: Scholar}}", "1: sources.s.kind", "Google Scholar has no feed"),
        ("sources: {s: {kind: zotero}}", "1: sources.s.kind", "read it with kind: bibtex"),
        ("sources: {s: {kind: opml}}", "1: sources.s.kind", "paper-monitor init --opml FILE"),
        (ARXIV + "[CS.cl]}}", "1: sources.s.categories", "write cs.CL"),
        (ARXIV + "[cs.lg]}}", "1: sources.s.categories", "write cs.LG"),
        (ARXIV + "[Hep-Th]}}", "1: sources.s.categories", "write hep-th"),
        (MAIL + "schedule: hourly}}", "2: subscriptions.s.schedule", "write immediately for"),
        (MAIL + "schedule: every 2 weeks}}", "2: subscriptions.s.schedule", "write mon 08:00"),
        ("topics: {t: {query: agent}}\nsubscriptions: {s: {topics: all}}",
         "2: subscriptions.s.topics", 'for all topics write topics: ["*"]'),
        (SLACK + "  c: {kind: slack, channel: #lab}\n\n\n", "3: (file)", 'channel: "#papers"'),
        (SLACK + "  c: {kind: slack,\n\n   channel: #lab}\n  d: {kind: file, path: x}", "5: (file)",
         "put the value in double quotes"),
        ("topics:\n  t: {query: 'a # b', any: [c, #d]}\n", "2: (file)", "put the value in double"),
        ("topics:\n  t: {query: 'a', # b\n   all: [c}\n", "3: (file)", "this is not valid YAML"),
        (f"sources:\n  s: {{kind: RSS, {URL}}}", "2: sources.s.kind", "source; write kind: feed"),
        ("timezone: CEST", "1: timezone", "write a city of yours, as in Europe/Berlin"),
        ("timezone: '-05:00'", "1: timezone", "write a city of yours, as in Europe/Berlin"),
        (SLACK + "  c: {kind: slack, channel: #lab}\n", "3: (file)", "# begins a comment"),
        ("topics: agent", "1: topics", "as in topics: {agents: {query: agent}}"),
        ("web: 8080", "1: web", "as in web: {listen: 127.0.0.1:8080}, or on"),
        ("email: {host: m.org, from: a@b.c}", "1: email", "is not a setting here; write smtp:"),
        (SLACK + "  c: {kind: pigeon-post}", "3: channels.c.kind", ALL_KINDS),
        (SLACK + "  c: {kind: Mail}", "3: channels.c.kind", "kind of channel; write kind: email"),
        (MAIL + "email: 'a@b, c@d'}}", "2: subscriptions.s.email", "as a list, [a@b, c@d]"),
        (MAIL + "email: [a@b c@d]}}", "2: subscriptions.s.email", "as a list, [a@b, c@d]"),
        (MAIL + "schedule: monday 08:00}}", "2: subscriptions.s.schedule", "write mon 08:00"),
        ("topics: {t: it's agents}", "1: topics.t", "as in topics: {agents: {query: agent}}"),
    ],
)  # fmt: skip
def test_a_habit_is_answered_with_the_line_to_write(
    faults: Faults, text: str, where: str, repaired: str
) -> None:
    result = faults(text)
    assert [fault for fault in result if fault.startswith(f"{where}: ") and repaired in fault], (
        result
    )
    assert "hush" not in "".join(result)


@pytest.mark.parametrize(
    ("path", "doubt"),
    [
        ("dumps", 'is a folder, not a file; write path: "dumps/*" for all files in it'),
        ("dumps/", 'is a folder, not a file; write path: "dumps/*" for all files in it'),
        ("dumps/**.txt", "can match nothing: "),
        ("dumps/.*", "can match nothing: "),
        ("dumps/*", ""),
        ("dumps/1.txt", ""),
        ("dmups/*.txt", "there is no folder {}/dmups; did you mean “dumps”?"),
        ("x/y/*/*.txt", "there is no folder {}/x/y, create it or correct the path"),
    ],
)
def test_a_path_from_which_nothing_is_read_is_doubted(
    write: Write, tmp_path: Path, path: str, doubt: str
) -> None:
    (write("x", "dumps/1.txt").parent / "more").mkdir()
    warnings = load_file(write(f"sources:\n  s:\n    kind: feed\n    path: '{path}'"), {}).warnings
    found = [f"{w.line}: {w.message}" for w in warnings if w.where == "sources.s.path"]
    assert len(found) == bool(doubt)
    expected = f"4: {doubt}".format(tmp_path)
    assert all(message.startswith(expected) for message in found)


@pytest.mark.parametrize(
    ("text", "where", "instead"),
    [
        ('topics: {t: {query: "two words"}}', "1: topics.t.query", "write '\"two words\"'"),
        ("topics: {t: {query: 'a1 and b1'}}", "1: topics.t.query", "“and” is searched for as a"),
        ("topics: {t: {query: cs.CLL}}", "1: topics.t.query", "did you mean category:cs.CL?"),
        ("topics: {t: {any: [AIDS, HIV]}}", "1: topics.t.any", "write =AIDS"),
        ("topics: {t: {query: 'title:language model'}}", "1: topics.t.query", "title:\"language m"),
        ("sources:", "1: sources", "there are no sources yet"),
        (ARXIV + "[cs.CL, cs.CLL]}}", "1: sources.s.categories", "did you mean “cs.CL”?"),
        (ARXIV + "[astro-ph.GAA]}}", "1: sources.s.categories", "mean “astro-ph.GA”?"),
        (PAUSED.format("2020-01-01"), "3: subscriptions.s.pause_until", "2020-01-01 is past"),
        ("channels: {p: {kind: file, path: o}}", "1: channels.p", "not used by any subscription"),
        (
            "channels: {Team: {kind: file, path: o}, team: {kind: file, path: p}}",
            "1: channels.team",
            "is “Team” in another case: stopping one stops both",
        ),
        ("include: people/*.yaml", "1: include", "there is no file “people/*.yaml”"),
        (
            "topics: {t: {query: a1}, u: {query: b1}}\nchannels: {c: {kind: file, path: o}}\n"
            "subscriptions: {s: {topics: t, channels: c}}",
            "1: topics.u",
            "no subscription has this topic",
        ),
        (
            "sources: {refs: {kind: bibtex, path: x, role: library, first_run: deliver}}",
            "1: sources.refs.first_run",
            "has no effect: a source with role: library announces nothing",
        ),
        (
            "sources: {refs: {kind: bibtex, path: x, role: library}}\n"
            "topics: {t: {query: a1, sources: refs}}",
            "2: topics.t.sources",
            "“refs” has role: library and brings no papers",
        ),
        (
            "sources: {r: {kind: bibtex, path: x, role: library},\nw: {kind: pubmed, about: r}}",
            "2: sources.w.about",
            "has no effect: no subscription has guard: r",
        ),
        (
            "sources: {r: {kind: bibtex, path: x, role: library}}\ntopics: {t: {query: a1}}\n"
            "channels: {c: {kind: file, path: o}}\nsubscriptions: {s: {topics: t, channels: c}}",
            "1: sources.r",
            "no subscription has this library",
        ),
        (
            "topics: {t: {query: a1}}\nchannels: {c: {kind: file, path: o}}\n"
            "subscriptions: {s: {topics: t, channels: c, owned: skip}}",
            "3: subscriptions.s.owned",
            "has no effect without libraries:",
        ),
        ("slack:\n  token: xapp-hush", "2: slack.token", "which begins with xoxb-"),
        ("slack:\n  token: xapp-hush\n  base_url: 'http://[::1]:9/'", "2: slack.token", "xoxb"),
        ("slack:\n  token: xoxp-hush\n  base_url: 'http://[::1]:9/'", "2: slack.token", "xoxb"),
        ("slack:\n  token: https://hooks.slack.com/hush", "2: slack.token", "begins with xoxb-"),
    ],
)  # fmt: skip
def test_what_is_valid_and_hardly_meant_is_a_warning(
    load: Load, text: str, where: str, instead: str
) -> None:
    found = load(text).warnings
    assert [w for w in found if f"{w.line}: {w.where}" == where and instead in w.message], found
    assert "hush" not in "".join(w.message for w in found)


def test_a_known_category_and_a_pause_to_come_are_not_doubted(load: Load) -> None:
    categories = ARXIV + "[cs, cs.CL, hep-th, cond-mat.supr-con, physics.flu-dyn, q-bio]}}"
    for text in (categories, PAUSED.format("2999-01-01")):
        places = {doubt.where for doubt in load(text).warnings}
        assert not places & {"sources.s.categories", "subscriptions.s.pause_until"}


def test_a_topic_may_be_named_all(load: Load) -> None:
    settings = load(
        "topics: {all: {query: a1}, u: {query: b1}}\nchannels: {c: {kind: file, path: o}}\n"
        "subscriptions: {s: {topics: all, channels: c}}"
    )
    assert settings.subscriptions["s"].topics == ("all",)


def test_a_bot_and_what_stands_in_for_slack_have_their_tokens(write: Write) -> None:
    for text in (
        "slack: {token: xoxb-1}",
        "slack: {token: xoxe.xoxb-1}",
        "slack: {token: of-a-gateway, base_url: 'http://127.0.0.1:9/'}",
        "slack: {token: xoxb-1, base_url: 'http://127.0.0.1:9/'}",
    ):
        warnings = load_file(write(text), {}).warnings
        assert not [doubt for doubt in warnings if "token of a bot" in doubt.message]


def test_a_source_that_is_not_configured_is_doubted(load: Load) -> None:
    found = load(
        """
        sources: {daily-page: {kind: feed, path: x}}
        topics: {a: {query: agent source:nature}, b: {query: 'agent source:Daily*'}}
        """
    )
    [doubt] = [one for one in found.warnings if "no source" in one.message]
    assert (doubt.line, doubt.where) == (3, "topics.a.query")
    assert doubt.message == 'no source is named “nature”; for a journal write venue:"nature"'


@pytest.mark.parametrize("word", ["on", "true", "yes", None])
def test_web_is_switched_as_yaml_switches(load: Load, word: str | None) -> None:
    assert load(f"web: {word or ''}").web == load("web: {}").web
    assert load("web: false").web is load("web: off").web is load("web: no").web is None


def test_a_section_of_another_name_is_one_fault(faults: Faults) -> None:
    """Each address needs an SMTP server, which is there under a wrong name."""
    result = faults("email: {host: m.org}\nchannels: {a: {kind: email, to: a@b.c}}")
    assert result == ["1: email: “email” is not a setting here; write smtp:"]


SECRETS = """
secret_key: KEY
smtp: {host: m.org, from: a@b.c, username: u, password: KEY}
web: {token: KEY}
channels: {hook: {kind: slack, webhook: URL}}
store: postgresql+psycopg://monitor:KEY@db/monitor
sources:
  keyed: {kind: pubmed, query: agent, api_key: KEY}
  closed: {kind: feed, url: 'https://ada:KEY@example.org/feed'}
"""


def test_a_secret_in_plain_text_is_a_warning_with_the_line_to_write(load: Load) -> None:
    key = "hush" * 5
    url = "https://hush.example.org/hook"
    found = load(SECRETS.replace("KEY", key).replace("URL", url)).warnings
    plain = {doubt.where: doubt.message for doubt in found if "in plain text" in doubt.message}
    assert plain.keys() == {
        "secret_key", "smtp.password", "web.token", "channels.hook.webhook", "store",
        "sources.keyed.api_key", "sources.closed.url",
    }  # fmt: skip
    assert 'write "${SMTP_PASSWORD}", and set the environment' in plain["smtp.password"]
    assert '"${HOOK_WEBHOOK}"' in plain["channels.hook.webhook"]
    assert '"${KEYED_API_KEY}"' in plain["sources.keyed.api_key"]
    assert "hush" not in "".join(plain.values())


HOOK = """
channels: {{hook: {{kind: slack, webhook: "{url}"{more}}}}}
sources: {{page: {{kind: feed, url: "https://example.org/feed"}}}}
subscriptions: {{lab: {{topics: "*", channels: hook}}}}
"""


@pytest.mark.parametrize(
    ("url", "more", "said"),
    [
        ("https://hooks.slack.com/services/T0/B0/x", "", ""),
        ("https://hooks.slack-gov.com/services/T0/B0/x", "", ""),
        ("http://127.0.0.1:9/services/x", "", ""),
        ("https://gateway.example.org/slack", ", allow_private: true", ""),
        (
            "https://discord.com/api/webhooks/1/x",
            "",
            "of Discord, not of Slack; write kind: webhook",
        ),
        (
            "https://ptb.discord.com/api/webhooks/1/x/slack",
            "",
            "with template: discord, or kind: ap",
        ),
        (
            "https://lab.webhook.office.com/webhookb2/x",
            "",
            "old connector of Teams, which takes no",
        ),
        ("https://prod-1.westus.logic.azure.com/workflows/x", "", "template: teams"),
        ("https://chat.example.org/hooks/" + "a1" * 13, "", "template: mattermost"),
        ("https://api.telegram.org/bot1:x/sendMessage", "", "tgram://BOT_TOKEN/CHAT_ID"),
        ("https://lab.zulipchat.com/api/v1/external/slack", "", "template: zulip"),
        ("https://ntfy.sh/papers", "", "of ntfy, not of Slack; write kind: ntfy"),
        ("https://hooks.slack.com.example.org/x", "", "is not an address of Slack; for a receiver"),
        ("https://example.org/slack.com", "", "write kind: webhook, for a gateway"),
    ],
)
def test_a_webhook_of_another_service_is_a_warning_that_names_the_kind(
    load: Load, url: str, more: str, said: str
) -> None:
    found = load(HOOK.format(url=url, more=more)).warnings
    warned = [doubt for doubt in found if "plain text" not in doubt.message]
    if not said:
        assert warned == []
        return
    [doubt] = warned
    assert doubt.where == "channels.hook.webhook" and said in doubt.message
    assert urlsplit(url).path not in doubt.message


@pytest.mark.parametrize(
    ("url", "more", "said"),
    [
        ("https://example.org/digests", "", ""),
        (
            "https://discord.com/api/webhooks/1/x",
            "",
            "an address of Discord: add template: discord",
        ),
        ("https://discord.com/api/webhooks/1/x", ", template: discord", ""),
        ("https://discord.com/api/webhooks/1/x", ", template: mine", ""),
        (
            "https://discord.com/api/webhooks/1/x/slack",
            "",
            "add template: discord, and remove /slack from the address",
        ),
        (
            "https://discord.com/api/webhooks/1/x",
            ", template: mattermost",
            "an address of Discord, not of Mattermost; write template: discord",
        ),
        ("https://hooks.slack.com/services/T/B/x", "", "of Slack; write kind: slack with webhook:"),
        ("https://lab.zulipchat.com/api/v1/external/x", "", "Zulip: add template: zulip"),
        ("https://prod-1.westus.logic.azure.com/x", "", "of Microsoft Teams: add template: teams"),
        (
            "https://prod-1.westus.logic.azure.com/x",
            ", template: n8n",
            "of Microsoft Teams, not of n8n; write template: teams",
        ),
        ("https://lab.webhook.office.com/x", "", "docs/webhook.md#microsoft-teams"),
        ("https://lab.webhook.office.com/x", ", template: teams", "make a workflow"),
        ("https://ntfy.sh/papers", "", "an address of ntfy; write kind: ntfy"),
        ("https://api.telegram.org/bot1:x/sendMessage", "", "write kind: apprise with url: "),
    ],
)
def test_a_webhook_to_a_known_service_without_its_template_is_a_warning(
    load: Load, tmp_path: Path, url: str, more: str, said: str
) -> None:
    (tmp_path / "forms" / "webhook").mkdir(parents=True)
    (tmp_path / "forms" / "webhook" / "mine.json.j2").write_text("{}")
    text = HOOK.replace("kind: slack, webhook", "kind: webhook, url").format(url=url, more=more)
    found = load(f"templates: {tmp_path / 'forms'}\n{text}").warnings
    warned = [doubt for doubt in found if "plain text" not in doubt.message]
    if not said:
        assert warned == []
        return
    [doubt] = warned
    assert doubt.where == "channels.hook.url" and said in doubt.message


def test_a_secret_has_the_name_that_the_documentation_has(load: Load) -> None:
    """In the examples of `docs/` and where they are explained."""
    documented = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    slack = "{token: xoxb-1, app_token: xapp-1, signing_secret: s}"
    oauth = "{provider: microsoft, tenant: t, client_id: i, client_secret: s}"
    found = load(
        f"""
        slack: {slack}
        channels: {{lab-slack: {{kind: slack, webhook: 'https://hooks.slack.com/a'}}}}
        smtp: {{host: m.org, username: u, from: a@b.c, oauth: {oauth}}}
        web: {{token: {"t" * 20}, proxy_secret: {"s" * 40}, trusted_proxies: 10.0.0.1}}
        """
    ).warnings
    named = [doubt for doubt in found if "in plain text" in doubt.message]
    assert len(named) == 7
    for doubt in named:
        variable = doubt.message.split('"')[1]
        assert f'"{variable}"' in documented, doubt


def test_a_secret_of_the_environment_is_no_warning(write: Write) -> None:
    text = (
        SECRETS.replace("web: {token: KEY}", "")
        .replace(": KEY", ': "${KEY}"')
        .replace("KEY@", "${KEY}@")
    )
    file = write(text.replace("URL", '"${URL}"'))
    environment = {"KEY": "hush" * 5, "URL": "https://hush.example.org/hook"}
    found = load_file(file, environment | {"PAPER_MONITOR_TOKEN": "hush" * 5}).warnings
    assert not [doubt for doubt in found if "plain text" in doubt.message]


@pytest.mark.parametrize(
    ("web", "is_warned"),
    [("", True), ("web: {token: a-password-that-is-long}", False), ("web: off", False)],
)
def test_public_pages_on_which_nobody_can_log_in_are_a_warning(
    load: Load, web: str, is_warned: bool
) -> None:
    settings = load(f"public_url: https://papers.example.org\n{web}\n")
    warned = [fault.message for fault in settings.warnings if fault.where == "public_url"]
    assert [("web.token" in message) for message in warned] == [True] * is_warned
    for message in warned:  # what it tells to write is YAML
        example = yaml.safe_load(message.partition("as in ")[2])
        assert example == {"web": {"token": "${WEB_TOKEN}"}}


@pytest.mark.parametrize(
    ("url", "is_warned"),
    [
        ("http://papers.example.org", True),
        ("http://192.168.1.7:8080", True),
        ("https://papers.example.org", False),
        ("http://localhost:8080", False),
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:8080", False),
    ],
)
def test_public_pages_without_https_are_a_warning_unless_they_are_of_this_machine(
    load: Load, url: str, is_warned: bool
) -> None:
    settings = load(f"public_url: {url}\nweb: {{token: a-password-that-is-long}}\n")
    warned = [fault.message for fault in settings.warnings if fault.where == "public_url"]
    assert [message.startswith("begins with http://") for message in warned] == [True] * is_warned
