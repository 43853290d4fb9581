"""The sections of a digest: each in its place, in every format, by a template of its name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.channels.email.render import render_digest as render_mail
from monitor.channels.file import render_pages
from monitor.channels.short import Limits
from monitor.channels.short import render_digest as render_short
from monitor.channels.slack.blocks import render_digest as render_slack
from monitor.channels.slack.blocks import text_of
from monitor.channels.webhook.channel import Webhook, WebhookOptions
from monitor.digest.about import name_digest, subject
from monitor.digest.render import JinjaTemplates
from monitor.digest.sections import SECTION_KINDS, body_sections, footer_sections
from monitor.digest.sections.kind import SectionKind
from monitor.digest.sections.topics import TOPICS
from monitor.model import Digest, Paper, ReferenceChange, ReferenceEvent, ReturnedPaper
from monitor.pipeline.fill_sections import list_missed
from monitor.resources import resource
from monitor.setting_types import SettingsContext
from tests.digest.samples import NOW, digest, news

# The templates of sections by what shows them; short messages and chats have one Markdown.
FORMATS = {
    "html": "mail/{}.html.j2",
    "text": "mail/{}.txt.j2",
    "page": "web/{}.html.j2",
    "slack": "slack/{}.j2",
    "short": "short/{}.txt.j2",
    "markdown": "short/{}.md.j2",
    "posted": "short/{}.md.j2",
}
RETRACTED = ReferenceEvent(
    ReferenceChange.RETRACTED, Paper("A work of ours"), ("doi:10.1/a",), NOW, "Crossref", after="x"
)
ANY = Limits(title=200, text=4_000)
CHAT = Webhook(
    "chat",
    WebhookOptions.model_validate(
        {"url": "https://example.org/a", "template": "mattermost"},
        context=SettingsContext(Path("/nowhere")),
    ),
    JinjaTemplates(),
)
WITH_ALL = digest(
    [news(Paper("A new paper"), number=1)],
    references=(RETRACTED,),
    returned=(ReturnedPaper("WebArena", 4),),
)


def written(shown: Digest, templates: JinjaTemplates) -> dict[str, str]:
    """Return the text of a digest in each format."""
    [mail] = render_mail(shown, templates)
    blocks = [block for part in render_slack(shown, templates) for block in part.body["blocks"]]
    return {
        "html": mail.body["html"],
        "text": mail.body["text"],
        "page": "".join(render_pages(shown, templates, "page.html")),
        "slack": "\n".join(map(text_of, blocks)),
        "short": "\n".join(part.text for part in render_short(shown, templates, "txt", ANY)),
        "markdown": "\n".join(part.text for part in render_short(shown, templates, "md", ANY)),
        "posted": "\n".join(str(part.body["json"]) for part in CHAT.render(shown, templates)),
    }


def test_a_digest_names_its_sections_in_their_order():
    assert body_sections(WITH_ALL) == ["references", "topics"]
    assert footer_sections(WITH_ALL) == ["returned"]
    assert body_sections(digest([])) == footer_sections(digest([])) == []


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_shows_each_section_in_its_place(form: str):
    text = written(WITH_ALL, JinjaTemplates())[form]
    body = text[text.index("A paper in your references was retracted") :]
    places = [body.index(words) for words in ("work of ours", "new paper", "Back in the lists")]
    assert places == sorted(places)


@pytest.mark.parametrize("form", FORMATS)
def test_a_section_that_a_digest_lacks_is_not_shown(form: str):
    without = replace(WITH_ALL, references=(), returned=())
    text = written(without, JinjaTemplates())[form]
    assert not re.search("references|Back in", text)


@pytest.mark.parametrize("kind", SECTION_KINDS, ids=lambda kind: kind.name)
def test_each_kind_has_a_template_for_each_format(kind: SectionKind):
    # Slack's messages hold topics paper by paper.
    forms = {**FORMATS} if kind is not TOPICS else {**FORMATS, "slack": "slack/paper.j2"}
    names = [form.format(kind.name) for form in forms.values()]
    assert [name for name in names if not (resource("templates") / name).is_file()] == []


@pytest.mark.parametrize(("form", "name"), FORMATS.items())
@pytest.mark.parametrize("section", ["references", "returned"])
def test_a_users_template_replaces_that_of_a_section(
    tmp_path: Path, section: str, form: str, name: str
):
    file = tmp_path / name.format(section)
    file.parent.mkdir()
    file.write_text("in words of our own")
    templates = JinjaTemplates(tmp_path)
    assert templates.faults() == []
    assert "in words of our own" in written(WITH_ALL, templates)[form]


def test_news_of_a_section_without_papers_names_the_digest():
    only = replace(WITH_ALL, groups=())
    assert name_digest(only) == "Your references"
    assert subject(only) == "Your references: 1 retracted · 21 Nov"
    assert subject(WITH_ALL).startswith("Your references: 1 retracted; 1 paper: marl")


def test_what_was_missed_has_the_papers_and_changes_of_the_pause_alone():
    today = replace(WITH_ALL, references=(), groups=(), returned=(ReturnedPaper("Today's", 2),))
    missed = list_missed(today, [WITH_ALL, WITH_ALL])
    assert [event.work.title for event in missed.references] == ["A work of ours"]
    assert [entry.paper.title for entry in missed.groups[0].entries] == ["A new paper"]
    assert footer_sections(missed) == []
    assert list_missed(WITH_ALL, [WITH_ALL]).has_news is False
