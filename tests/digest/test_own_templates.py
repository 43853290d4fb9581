"""Users' templates are compiled, and files that are never read are named."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.channels.email.render import HTML_LIMIT, TEXT_LIMIT, render_digest
from monitor.channels.file import render_pages
from monitor.channels.webhook.channel import Webhook, WebhookOptions
from monitor.commands.sample_digest import long_digest
from monitor.digest.render import JinjaTemplates
from monitor.resources import resource
from monitor.setting_types import SettingsContext
from tests.digest.samples import digest, news


def faults(folder: Path, **files: str) -> list[tuple[str, int, str]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = JinjaTemplates(folder).faults()
    return [(str(Path(one.file).relative_to(folder)), one.line, one.message) for one in found]


@pytest.mark.parametrize(
    ("name", "text", "line", "says"),
    [
        ("mail/paper.html.j2", "<p>\n{% if %}", 2, "Expected an expression"),
        ("slack/paper.j2", "{{ entry|headlines }}", 1, "No filter named 'headlines'"),
        ("web/digest.html.j2", '{% extends "shipped/web/digst.html.j2" %}', 1, "web/digest.html"),
        ("mail/papers.html.j2", "", 1, "no template has this name; did you mean “mail/paper.html"),
        ("mail/digest.html", "", 1, "no template has this name; did you mean “mail/digest.html.j2"),
        ("digest.html.j2", "", 1, "did you mean"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, name: str, text: str, line: int, says: str
):
    [fault] = faults(tmp_path, **{name: text})
    assert fault[:2] == (name, line)
    assert says in fault[2]


def test_what_another_template_names_is_read_and_other_files_are_left_alone(tmp_path: Path):
    files = {
        "mail/paper.html.j2": '{% import "mail/own.j2" as o %}{% include "none" ignore missing %}',
        "mail/own.j2": '{% extends "shipped/mail/paper.html.j2" %}',
        "README.md": "how we write",
        ".git/mail/x.j2": "{%",
        "mail/paper.html.j2~": "{%",
    }
    assert faults(tmp_path, **files) == []


def test_ours_have_no_faults(tmp_path: Path):
    assert JinjaTemplates().faults() == []
    named = JinjaTemplates(resource("templates")).faults()
    # The pages of the service are no templates of users: a folder with them is refused.
    assert {Path(one.file).parent.name for one in named} == {"pages"}


def test_a_changed_template_counts_at_the_next_rendering_also_where_it_is_included(tmp_path: Path):
    paper = tmp_path / "mail" / "paper.txt.j2"
    paper.parent.mkdir()
    templates = JinjaTemplates(tmp_path)
    seen = []
    for number, text in enumerate(("first", "second")):
        paper.write_text(text)
        os.utime(paper, (number, number))
        seen.append(templates.render("mail/digest.txt.j2", digest=digest([news()]), full=25))
    assert ["first" in text for text in seen] == [True, False]
    assert ["second" in text for text in seen] == [False, True]


def test_a_template_of_ours_can_be_imported(tmp_path: Path) -> None:
    own = tmp_path / "mail" / "paper.txt.j2"
    own.parent.mkdir()
    ours = "shipped/mail/title_line.txt.j2"
    own.write_text(f'{{% import "{ours}" as line with context %}}-> {{{{ line }}}}')
    shown = digest([news()])
    text = JinjaTemplates(tmp_path).render("mail/digest.txt.j2", digest=shown, full=25)
    assert shown.groups[0].entries[0].paper.title in text.partition("-> ")[2]


EARLIER = Path(__file__).with_name("earlier_templates")


@pytest.mark.parametrize("papers", [0, 1, 300])
def test_templates_of_an_earlier_version_write_mails_and_pages(papers: int) -> None:
    templates = JinjaTemplates(EARLIER)
    assert templates.faults() == []
    made = digest([news(number=n, topic=f"topic {n % 3}") for n in range(papers)])
    [mail] = render_digest(made, templates)
    assert "Papers for ada" in mail.body["html"], "they are those of the user"
    assert len(mail.body["html"].encode()) <= HTML_LIMIT
    assert len(mail.body["text"].encode()) <= TEXT_LIMIT
    html = "".join(render_pages(made, templates, "page.html"))
    attached = mail.body.get("attachment", {}).get("text", "")
    assert html.count("Learning a multi-agent") == papers
    assert mail.body["text"].count("Learning a") + attached.count("Learning a") == papers
    if papers:
        entry = made.groups[0].entries[0]
        for name in ("slack/paper.j2", "slack/title_line.j2", "slack/header.j2", "slack/footer.j2"):
            assert templates.render(name, digest=made, entry=entry)


def test_a_copy_of_the_markdown_of_an_earlier_version_writes_what_it_did() -> None:
    [before, now] = [
        Webhook("chat", WebhookOptions.model_validate(raw, context=SettingsContext()), templates)
        for templates in (JinjaTemplates(EARLIER), JinjaTemplates())
        for raw in [{"url": "https://example.org/a", "template": "mattermost"}]
    ]
    made = replace(long_digest(), full=3)
    text, new = (
        "".join(str(part.body["json"]) for part in chat.render(made, chat.templates))
        for chat in (before, now)
    )
    assert "\\nagents: 50 papers" in text and "**agents** (50)" not in text
    assert "**agents** (50)" in new and "\\nagents: 50 papers" not in new
    for shown in ("What to do: ", "part 140](", "Matches Agents: agents in the title", "Back in"):
        assert shown in text and shown in new
