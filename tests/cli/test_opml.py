"""`init --opml`: the feeds that a reader exports become sources."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from monitor.config import load
from monitor.sources.feed.opml import read_opml
from monitor.sources.xml_records import records
from tests.cli.conftest import Say
from tests.house import House

OPML = """<?xml version="1.0"?><opml version="2.0"><head><title>Feeds</title></head><body>
<outline text="Journals"><outline text="Nature &#8211; Müller: {x}" xmlUrl="https://example.org/a"/>
<outline title="Journals of ${HOME}" text="x" xmlUrl="https://example.org/b?key=${HOME}"/>
<outline text="twice" xmlUrl="https://example.org/a"/></outline>
<outline text="arXiv" xmlUrl="https://rss.arxiv.org/rss/cs.CL+stat.ML"/>
<outline text="" xmlUrl="http://example.org/c"/><outline text="" xmlUrl="feed://example.org/d"/>
<outline text="" xmlUrl="https://ada:secret@example.com"/>
<outline text="MANY" xmlUrl="https://[::1/f"/>
<outline text="Daily Page" xmlUrl="http://example.org/e"/>
<outline text="mail" xmlUrl="file:///etc/passwd"/></body></opml>""".replace("MANY", "1 " * 60)


def test_feeds_become_sources_of_a_configuration_that_works(house: House, say: Say) -> None:
    file = house.folder / "feeds.opml"
    file.write_text(OPML)
    answer = say("init", "moved", "--opml", str(file), "--json").json
    names = ["nature-muller-x", "journals-of-home", "arxiv", "example-org", "example-org-2"]
    names += ["example-com", "-".join("1" * 20), "daily-page"]
    assert answer["sources"] == names
    settings = load(Path(answer["path"]), dict(os.environ))
    assert [*settings.sources] == names
    written = Path(answer["path"]).read_text()
    assert "key=$${HOME}" in written  # is not read from the environment
    assert "\n  # daily-papers: {kind: huggingface}" in written
    assert "arxiv: {kind: arxiv, categories: [cs.CL, stat.ML], title: arXiv}" in written
    titles = {name: source.title for name, source in settings.sources.items()}
    assert titles["nature-muller-x"] == "Nature – Müller: {x}"
    assert titles["journals-of-home"] == "Journals of ${HOME}"
    assert titles["example-org"] == ""
    assert titles[names[-2]] == "1 " * 49 + "1"
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


def test_feeds_of_one_title_take_no_more_than_in_proportion_to_their_number() -> None:
    """Compared with reading the same document as XML alone."""
    feed = '<outline text="Journal" xmlUrl="https://example.org/{}"/>'
    feeds = "".join(map(feed.format, range(8000)))
    content = f"<opml><body>{feeds}</body></opml>".encode()
    start = time.process_time()
    for _ in range(20):
        outlines = list(records(content, (), heads={"outline"}))
    middle = time.process_time()
    sources = read_opml(content, [f"journal-{number}" for number in range(2, 4000)])
    end = time.process_time()
    assert len(outlines) == len(sources) == 8000
    assert [*sources][1] == "journal-4000"
    assert end - middle < middle - start
