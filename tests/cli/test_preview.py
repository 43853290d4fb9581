"""Digests and users' templates can be seen before anything is sent."""

from __future__ import annotations

import email
import email.policy
import json
from pathlib import Path

from tests.cli.conftest import SUNDAY, Say
from tests.house import House
from tests.servers.web import misbehaving_server


def test_a_digest_is_written_as_mail_and_as_slack_messages(lived: House, say: Say) -> None:
    lived.ingest(("Agents of Language", "A language that agents may speak."))
    [mail] = say("preview", "lab", "--channel", "email", "--json").json["digests"]
    page = Path(mail["path"])
    assert "Agents of Language" in " ".join(page.read_text("utf-8").split())
    sent = email.message_from_bytes(
        page.with_suffix(".eml").read_bytes(), policy=email.policy.default
    )
    html = sent.get_body(("html",))
    assert html is not None and "<h3" in html.get_content()
    assert sent["Subject"].startswith(f"{mail['papers']} paper")
    [slack] = say("preview", "lab", "--channel", "slack", "--json").json["digests"]
    messages = json.loads(Path(slack["path"]).read_text("utf-8"))
    assert all(message["text"] and message["blocks"] for message in messages)


def test_slack_messages_have_the_menus_that_are_sent(lived: House, say: Say) -> None:
    lived.ingest(("Agents of Language", "A language that agents may speak."))
    for slack, menus in (({"token": "xoxb-1"}, False), ({"app_token": "xapp-1"}, True)):
        lived.settings["slack"] = {"token": "xoxb-1"} | slack
        lived.write()
        [shown] = say("preview", "lab", "--channel", "slack", "--json").json["digests"]
        assert ("action_id" in Path(shown["path"]).read_text("utf-8")) is menus


def test_what_a_webhook_would_post_is_printed_and_nothing_is_posted(lived: House, say: Say) -> None:
    with misbehaving_server() as web:
        url = {"kind": "webhook", "url": web.url("/hook"), "allow_private": True}
        lived.settings["channels"] |= {"team": url, "chat": url | {"template": "discord"}}
        lab = lived.settings["subscriptions"]["lab"]
        lived.settings["subscriptions"] |= {
            "lab": lab | {"channels": ["pages", "team", "chat"]},
            "other": lab,
        }
        lived.ingest(("Agents of Language", "A language that agents may speak."))
        printed = say("preview", "lab", "--channel", "team", "--now", SUNDAY)
        body = json.loads(printed.out)
        assert body["data"]["sections"][0]["papers"][0]["title"] == "Agents of Language"
        assert '\n  "version": 1,\n' in printed.out
        assert (printed.status, printed.err) == (0, "Nothing was sent.\n")
        message = json.loads(say("preview", "lab", "--channel", "chat").out)
        assert message["flags"] == 4 and "Agents of Language" in message["content"]
        listed = say("preview", "--channel", "team", "--json", "--now", SUNDAY).json["digests"]
        assert [one["subscription"] for one in listed] == ["lab"], "those that use the channel"
        assert json.loads(Path(listed[0]["path"]).read_text("utf-8")) == [body]
        [page] = say("preview", "lab", "--channel", "pages", "--json").json["digests"]
        assert Path(page["path"]).suffix == ".html", "of a folder of pages, a page"
        assert web.requests == []


def test_templates_are_shown_with_the_sample_papers(lived: House, say: Say) -> None:
    folder = lived.folder / "own"
    (folder / "mail").mkdir(parents=True)
    (folder / "mail" / "paper.html.j2").write_text("<h3>!! {{ entry.paper.title }}</h3>")
    lived.settings["templates"] = str(folder)
    lived.write()
    heard = say("templates", "preview", "--no-open", "--json")
    paths = [Path(one["path"]) for one in heard.json["digests"]]
    assert {path.parent.parent.name for path in paths} == {"page", "email", "slack"}
    [mail] = [path for path in paths if path.parts[-3:-1] == ("email", "agents-team")]
    assert mail.read_text("utf-8").count("!! ") == 20
    (folder / "mail" / "paper.html.j2").write_text("\n{{ entry.nothing }}")
    assert say("templates", "preview", "--no-open").status == 1


def test_pages_open_in_the_browser_and_without_one_nothing_is_said(
    lived: House, tmp_path: Path
) -> None:
    opened = tmp_path / "opened.txt"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n', encoding="utf-8")
    script.chmod(0o755)
    shown = lived.command("preview", "lab", env={"BROWSER": f"{script} %s"})
    assert opened.read_text("utf-8").startswith("file:///")
    alone = lived.command("preview", "lab", env={"PATH": str(tmp_path), "DISPLAY": ""})
    assert (shown.status, alone.status, alone.err) == (0, 0, "")
