"""Feeds of papers: as other readers and our own source read them, and when they are not sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from xml.etree import ElementTree

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.digest.render import JinjaTemplates
from monitor.digest.shown import shown
from monitor.model import ChangeKind, DigestPaper, Paper
from monitor.sources.feed.source import Feed as FeedSource
from tests.sources.scenario import read

HERE = "https://p.example/feed/m.atom"
AT = datetime(2026, 11, 21, 8, 30, 15, 250, tzinfo=UTC)
PLANS = Paper(
    "Plans & <b>goals</b> in $x < y$",
    abstract="We plan.\n\nIt's <script>cheap</script>.",
    authors=("Jane Doe", "Łukasz Kaiser"),
    published=datetime(2026, 11, 20, 18, tzinfo=timezone(timedelta(hours=2))),
    url="https://arxiv.org/abs/2611.00001?a=1&b=2",
    pdf_url="https://arxiv.org/pdf/2611.00001",
    categories=("cs.LG", "stat.ML"),
)


def feed(*papers: Paper, title: str = "marl", address: str = HERE) -> bytes:
    entries = [
        DigestPaper(n, 1, ChangeKind.NEW, shown(paper), AT, (), 0.0, (), search="arxiv")
        for n, paper in enumerate(papers)
    ]
    content = JinjaTemplates().render(
        "pages/feed.xml.j2",
        title=title,
        id="topic/marl",
        host="p.example",
        address=address,
        page="https://p.example/topics/marl",
        updated=AT,
        entries=[(entry, AT - timedelta(hours=n)) for n, entry in enumerate(entries)],
    )
    return content.encode()


def test_a_feed_reader_reads_what_was_written() -> None:
    parsed = feedparser.parse(feed(PLANS), sanitize_html=False)
    assert not parsed.bozo and parsed.version == "atom10"
    assert (parsed.feed.title, parsed.feed.id) == ("marl", "tag:p.example,2026:feed/topic/marl")
    assert {link.rel: link.href for link in parsed.feed.links} == {
        "self": HERE,
        "alternate": "https://p.example/topics/marl",
    }
    [entry] = parsed.entries
    assert (entry.id, entry.title) == ("tag:p.example,2026:paper/0", "Plans & goals in x < y")
    assert entry.summary == "We plan. It's <script>cheap</script>."
    assert entry.title_detail.type == "text/plain"
    assert [author.name for author in entry.authors] == list(PLANS.authors)
    assert [tag.term for tag in entry.tags] == ["cs.LG", "stat.ML"]
    assert entry.link == PLANS.url
    assert (entry.updated, entry.published) == (
        "2026-11-21T08:30:15+00:00",
        "2026-11-20T18:00:00+02:00",
    )


def test_our_own_source_reads_it_as_the_same_paper() -> None:
    reading = read(FeedSource, feed(PLANS), at=AT, now=AT)
    [paper] = reading.papers
    assert not reading.rejected and reading.complete
    assert paper.authors == PLANS.authors and paper.keys["arxiv"] == "2611.00001"
    assert paper.published == PLANS.published and paper.categories == PLANS.categories
    assert paper.abstract.startswith("We plan.")


def test_a_feed_has_all_that_the_standard_wants() -> None:
    """RFC 4287: id, title, updated; an author; an entry without content has a link."""
    root = ElementTree.fromstring(feed(Paper("Untitled")))
    atom = "{http://www.w3.org/2005/Atom}"
    assert root.findtext(f"{atom}author/{atom}name") == "Paper Monitor"
    [entry] = root.findall(f"{atom}entry")
    [link] = entry.findall(f"{atom}link")
    assert link.attrib == {
        "rel": "alternate",
        "href": "https://arxiv.org/search/?searchtype=title&query=Untitled",
        "type": "text/html",
    }
    assert root.findtext(f"{atom}updated") == "2026-11-21T08:30:15+00:00"


def test_ids_stay_when_texts_and_the_address_change() -> None:
    def ids(content: bytes) -> list[str]:
        parsed = feedparser.parse(content)
        return [parsed.feed.id, *(entry.id for entry in parsed.entries)]

    renamed = feed(Paper("Goals"), title="MARL", address=f"{HERE}?token=b")
    assert ids(feed(PLANS)) == ids(renamed)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd"])
def test_W04_no_link_of_a_feed_is_a_script(url: str) -> None:
    content = feed(Paper("A", url=url, pdf_url=url))
    assert b"javascript" not in content and b"file:" not in content


@given(st.text())
def test_any_text_makes_a_feed_that_can_be_read(text: str) -> None:
    paper = Paper(text, abstract=text, authors=(text,), categories=(text,))
    root = ElementTree.fromstring(feed(paper, title=text))
    assert len(root.findall("{http://www.w3.org/2005/Atom}entry")) == 1
