"""`init --opml`: the feeds that a reader exports become sources."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.config import load
from tests.cli.conftest import Say
from tests.house import House

OPML = """<?xml version="1.0"?><opml version="2.0"><head><title>Feeds</title></head><body>
<outline text="Journals"><outline text="Nature &#8211; Müller: {x}" xmlUrl="https://example.org/a"/>
<outline title="Journals of ${HOME}" text="x" xmlUrl="https://example.org/b?key=${HOME}"/>
<outline text="twice" xmlUrl="https://example.org/a"/></outline>
<outline text="arXiv" xmlUrl="https://rss.arxiv.org/rss/cs.CL+stat.ML"/>
<outline text="" xmlUrl="http://example.org/c"/><outline text="" xmlUrl="feed://example.org/d"/>
<outline text="" xmlUrl="https://ada:secret@example.com"/><outline xmlUrl="https://[::1/f"/>
<outline text="Daily Page" xmlUrl="http://example.org/e"/>
<outline text="mail" xmlUrl="file:///etc/passwd"/></body></opml>"""


def test_feeds_become_sources_of_a_configuration_that_works(house: House, say: Say) -> None:
    file = house.folder / "feeds.opml"
    file.write_text(OPML)
    answer = say("init", "moved", "--opml", str(file), "--json").json
    names = ["nature-muller-x", "journals-of-home", "arxiv", "example-org", "example-org-2"]
    names += ["example-com", "1", "daily-page"]
    assert answer["sources"] == names
    settings = load(Path(answer["path"]), dict(os.environ))
    assert [*settings.sources] == names
    written = Path(answer["path"]).read_text()
    assert "key=$${HOME}" in written  # is not read from the environment
    assert "arxiv: {kind: arxiv, categories: [cs.CL, stat.ML]}" in written
    assert "\n  # daily-papers: {kind: huggingface}" in written
    assert "  # nature:" in written


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("<html><body/></html>", "is not OPML: the document is an HTML page"),
        ("<opml><body>", "is not OPML: the document ends in the middle"),
        ("<opml><body/></opml>", "lists no feeds"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><opml>&b;</opml>', "is not OPML"),
    ],
)
def test_another_file_is_refused_and_nothing_is_written(
    house: House, say: Say, content: str, fault: str
) -> None:
    file = house.folder / "feeds.opml"
    file.write_text(content)
    refused = say("init", "moved", "--opml", str(file))
    assert (refused.status, fault in " ".join(refused.err.split())) == (2, True)
    assert "No such file" in say("init", "moved", "--opml", "missing.opml").err
    assert not (house.folder / "moved").exists()
