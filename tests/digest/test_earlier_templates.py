"""Templates that users copied from an earlier version, and changed, keep working."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.channels.email.render import HTML_LIMIT, TEXT_LIMIT, render_digest
from monitor.channels.file import render_pages
from monitor.digest.render import JinjaTemplates
from tests.digest.samples import digest, news

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
