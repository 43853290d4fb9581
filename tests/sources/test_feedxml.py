"""The fast reader of feeds reads what feedparser reads, or leaves the document to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.model import Document, Reading
from monitor.sources.feed import feedxml
from monitor.sources.feed import source as feed
from monitor.sources.feed.feedxml import each_entry
from tests.sources.scenario import FIXTURES, NOW, opened, samples

XHTML = "http://www.w3.org/1999/xhtml"
ATOM = "http://www.w3.org/2005/Atom"
MODULES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "prism": "http://prismstandard.org/namespaces/basic/2.0/",
    "arxiv": "http://arxiv.org/schemas/atom",
    "atom": ATOM,
    "media": "http://search.yahoo.com/mrss/",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
}


def both(content: bytes, url: str = "", content_type: str = "") -> tuple[Reading | None, Reading]:
    """Return the reading of the fast reader, if it takes the document, and feedparser's."""
    document = Document("feed", content, NOW, content_type, url)
    slow = feed.read_tolerantly(content, document, NOW)
    if each_entry(content, lambda entry: entry, url, content_type) is None:
        return None, slow
    return opened(feed.Feed).read(document), slow


def same(content: bytes, url: str = "", content_type: str = "") -> bool:
    """Hold both readings to be the same; say whether the fast reader took the document."""
    fast, slow = both(content, url, content_type)
    assert fast is None or fast == slow
    return fast is not None


# ── documents ───────────────────────────────────────────────────────────────────────


def fixtures() -> Iterator[Path]:
    for path in sorted(FIXTURES.rglob("*.xml")):
        head = path.read_bytes()[:600]
        if any(root in head for root in (b"<rss", b"<feed", b"<rdf:RDF")):
            yield path


@pytest.mark.parametrize("path", list(fixtures()), ids=lambda path: path.stem)
@pytest.mark.parametrize("url", ["", "https://example.org/feed"])
def test_our_feeds_are_read_alike(path: Path, url: str) -> None:
    content = path.read_bytes()
    assert same(content, url, "application/xml") == (b"<item" in content or b"<entry" in content)


def test_recorded_feeds_are_read_alike_and_fast() -> None:
    folders = map(samples, ("arxiv-rss", "arxiv-api-atom", "biorxiv-rss", "feed-sequence"))
    found = [path for folder in folders for path in sorted(folder.rglob("*.xml"))]
    assert len(found) > 40
    for path in found:
        assert same(path.read_bytes()), path.name


# ── generated feeds ─────────────────────────────────────────────────────────────────

TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "Agents", "a  b\n c", "x < y & z", "<b>bold</b> <i>it</i>", "&lt;p&gt;", "é β 漢",
         "ÃƒÂ©", "Ã©", "caf\u0092s", "$\\alpha$", "Ada L., Bo N. and Cy O.", "Doe, Jane", "a@b.org",
         "Jane (a@b.org)", "10.1000/AbC", "doi:10.1101/2025.01", "arXiv:2508.13426v1",
         "arXiv:2508.13426v1 Announce Type: cross \nAbstract: As.", "oai:arXiv.org:2508.13426v2",
         "http://arxiv.org/abs/2508.13426v1", "https://example.org/p?a=1&b=2#c", "/rel/1?x=1&amp;y",
         "HTTP://Example.org", "http:///x", "//o.example/p", "tag:x,2025:1", "javascript:1",
         "[http://x", "http://[::1", "http://x/é?", "On agents. (arXiv:2107.03419v1 [hep-ex])"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12),
)  # fmt: skip
DATES = st.sampled_from(
    ["", "2025-05-21", "2025-05-21T10:11:12Z", "2025-05-21T10:11:12.123456+05:30",
     "2025-05-21T23:59:59-04:00", "2025-05-21T10:11:12", "Wed, 21 May 2025 10:11:12 +0000",
     "21 May 2025 10:11:12 GMT", "Wed, 21 May 2025 00:00:00 -0430", "Wed, 21 May 2025 1:2:3 EST",
     "2025-02-30", "2025-05-21T24:00:00Z", "2025-05-21T10:11:60Z", "Wed, 31 Feb 2025 10:11:12 GMT",
     "21 May 25", "20250521", "2025-05", "yesterday", "0001-01-01T00:00:00+10:00", "9999-12-31",
     "9999-12-31T23:59:59-10:00", "Wed, 21 May 2025 10:11:12 +9999", "2025-05-21T10:11:12+23:59"]
)  # fmt: skip
_TYPE = st.sampled_from(["text", "html", "TEXT/HTML", "xhtml", "text/plain", "application/pdf", ""])
_WORD = st.sampled_from(["alternate", "Self", "related", "doi", "true", "false"])
ATTRIBUTES = st.dictionaries(
    st.sampled_from(
        ["type", "rel", "href", "title", "term", "scheme", "label", "domain", "isPermaLink", "url",
         "length", "xml:lang", "mode", "src", "lang", "TYPE"]
    ),
    st.one_of(_TYPE, _WORD, TEXTS),
    max_size=3,
)  # fmt: skip
TEXT_FIELDS = st.sampled_from(
    ["title", "description", "summary", "content", "content:encoded", "guid", "id", "link",
     "author", "category", "dc:creator", "dc:title", "dc:identifier", "dc:subject",
     "dc:description",
     "dc:publisher", "dc:rights", "rights", "comments", "prism:doi", "prism:publicationName",
     "arxiv:doi", "arxiv:announce_type", "arxiv:comment", "arxiv:journal_ref", "atom:link",
     "atom:id", "enclosure", "slash:comments", "media:title", "itunes:summary", "source", "body",
     "Title", "dc:contributor", "dc:language", "arxiv:primary_category", "nowhere"]
)  # fmt: skip
DATE_FIELDS = st.sampled_from(
    ["pubDate", "published", "updated", "dc:date", "dcterms:issued", "dcterms:modified", "created",
     "prism:publicationDate", "issued"]
)  # fmt: skip


def element(name: str, told: str, attributes: dict[str, str], cdata: bool = False) -> str:
    written = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    inner = f"<![CDATA[{told}]]>" if cdata and "]]>" not in told else escape(told)
    return f"<{name}{written}>{inner}</{name}>"


FIELD = st.one_of(
    st.builds(element, TEXT_FIELDS, TEXTS, st.just({}), st.booleans()),
    st.builds(element, TEXT_FIELDS, TEXTS, ATTRIBUTES),
    st.builds(element, DATE_FIELDS, DATES, st.just({})),
    st.builds("<author><name>{}</name><uri>u</uri></author>".format, TEXTS.map(escape)),
    st.builds("<link href={} rel={}/>".format, TEXTS.map(quoteattr), _WORD.map(quoteattr)),
    st.builds("<category term={}/>".format, TEXTS.map(quoteattr)),
    st.sampled_from(["<!-- c -->", "<?p i?>", "<author/>", "<title/>", "\n  ", "text",
                     f'<title type="xhtml"><div xmlns="{XHTML}">T</div></title>',
                     "<summary>a<b>c</b></summary>", "<item><title>in</title></item>",
                     f'<arxiv:comment xmlns:arxiv="{MODULES["arxiv"]}">5 p</arxiv:comment>',
                     "<author><email>a@b.org</email></author>", "<author>x<name>y</name></author>",
                     "<contributor><name>C</name></contributor>", '<media:thumbnail url="u"/>',
                     '<entry xml:base="http://x/"/>', "<item/>", "<title\n>n</title\t>",
                     "<!-- <item><title>old</title></item> -->", "<?p <item></item> ?>",
                     "<description><![CDATA[a </item><item> <!-- b]]> c</description>",
                     "<summary>&#38;lt; &#x27;&#8217;&#128; &quot;</summary>",
                     "<link href='a>b' title='\"'/>", "<category term = 'a\n\tb&#10;c' />",
                     '<link href="http://x/?a=1&amp;b" rel="alternate" type="text/html"/>',
                     '<link href="http://y/" rel="related" type="text/html" />',
                     "<guid>http://x/a\r\nb</guid>", "<author><name/><name >B</name></author>"])
)  # fmt: skip
ENTRY = st.lists(FIELD, max_size=7)
BESIDE = st.sampled_from(
    ["", "<title>c</title>", "<lastBuildDate>Wed, 21 May 2025 10:11:12 GMT</lastBuildDate>",
     "<updated>2025-05-20T00:00:00Z</updated>", "<dc:date>2025-05-19</dc:date>",
     "<image><title>i</title><url>u</url><link>l</link></image>", "<language>en-us</language>",
     "<skipDays><day>Sunday</day></skipDays>", "<description>d</description>",
     '<atom:link href="x" rel="self"/>', "<author><name>N</name></author>", "<x>y</x>",
     "<textInput><title>t</title></textInput>", "<title>Feed error for query: x</title>",
     "<!-- <item><title>old</title></item> -->", "<title><![CDATA[<item>]]></title>",
     "<dc:date>2025-05-19<title>t</title></dc:date>", '<image nowhere:at="x"/>']
)  # fmt: skip


def document(root: str, entries: list[list[str]], beside: list[str], behind: list[str]) -> str:
    names = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in MODULES.items())
    body = "".join(beside)
    kind = "entry" if root == "feed" else "item"
    told = "".join(f"<{kind}>{''.join(fields)}</{kind}>" for fields in entries)
    after = "".join(behind)
    match root:
        case "feed":
            return f'<feed xmlns="{ATOM}" {names}>{body}{told}{after}</feed>'
        case "rdf":
            rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
            told = told.replace("<item>", '<item rdf:about="http://example.org/a">')
            return (
                f'<rdf:RDF xmlns:rdf="{rdf}" xmlns="http://purl.org/rss/1.0/" {names}>'
                f"<channel>{body}</channel>{told}{after}</rdf:RDF>"
            )
        case _:
            return f'<rss version="{root}" {names}><channel>{body}{told}{after}</channel></rss>'


@given(
    st.sampled_from(["2.0", "0.91", "feed", "rdf"]),
    st.lists(ENTRY, min_size=1, max_size=3),
    st.lists(BESIDE, max_size=3),
    st.lists(BESIDE, max_size=1),
    st.sampled_from(["", "https://example.org/a/feed?x=1", "https://example.org"]),
    st.sampled_from(["", "application/rss+xml", "text/xml", "text/xml; charset=utf-8"]),
    st.sampled_from(["", "<?xml version='1.0' encoding='UTF-8'?>\n", "<?xml version='1.0'?>"]),
)
@settings(max_examples=400, deadline=None)
def test_generated_feeds_are_read_alike(
    root: str,
    entries: list[list[str]],
    beside: list[str],
    behind: list[str],
    url: str,
    content_type: str,
    declaration: str,
) -> None:
    same((declaration + document(root, entries, beside, behind)).encode(), url, content_type)


@given(st.lists(FIELD, min_size=1, max_size=2), st.sampled_from(["2.0", "feed", "rdf"]))
@settings(max_examples=400, deadline=None)
@example(["<title/>", "<dc:title>second</dc:title>"], "rdf")
def test_single_fields_are_read_alike(fields: list[str], root: str) -> None:
    same(document(root, [["<title>T</title>", *fields]], [], []).encode())


@pytest.mark.parametrize(
    ("link", "alike"),
    [
        (
            '<link rel="alternate" href="http://x/1"/>',
            '<link rel="alternate" href="http://x/2?a&amp;b"/>',
        ),
        ('<link title="a href=" href="http://x/1"/>', '<link title="a href=" rel="http://x/1"/>'),
        ('<link title=\'href="\' href="http://x/1"/>', '<link title=\'href="\' rel="http://x/1"/>'),
        ('<link href="http://x/1" rel="related"/>', '<link href="http://x/\n2" rel="related"/>'),
        ('<link href="http://x/1" rel="related"/>', '<link href="http://x/2" rel="alternate"/>'),
    ],
)
def test_links_that_look_alike_are_each_read(link: str, alike: str) -> None:
    entries = [[f"<title>{n}</title>", one] for n, one in enumerate((link, link, alike, link))]
    assert same(document("feed", entries, [], []).encode())


@pytest.mark.parametrize("aside", ["<!-- {} -->", "<title><![CDATA[{}]]></title>", "<?p {} ?>"])
@pytest.mark.parametrize("within", ["<item>", "<![CDATA[", "</item>", "<item>old</item>"])
@pytest.mark.parametrize("block", [1, feedxml.BLOCK])
def test_what_looks_like_an_entry_is_none(
    aside: str, within: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents are cut where an entry ends: in the middle of an aside that says so, too."""
    monkeypatch.setattr(feedxml, "BLOCK", block)
    told, ends = aside.format(within), "</item>" in within
    entries = [["<title>A</title>"], ["<title>B</title>"]]
    assert same(document("2.0", entries, [told], []).encode()) == (block > 1)
    within_entry = [[*entries[0], told], entries[1]]
    assert same(document("2.0", within_entry, [], []).encode()) == (block > 1 or not ends)
    assert same(document("2.0", entries, [], [told]).encode()) == (block > 1 and not ends)


@pytest.mark.parametrize(
    "content",
    ["<item><title>T</title></item>", "<entry/>", "<updated>2025-05-21</updated>", "<a/>"],
)
def test_what_is_no_feed_is_left_to_the_tolerant_reader(content: str) -> None:
    assert not same(content.encode())


def test_F06_an_entry_of_megabytes_is_left_to_the_tolerant_reader() -> None:
    """Elements are held until their entry ends: so many are not."""
    huge = "<title>T</title>" + "<category>c</category>" * 80_000
    content = document("2.0", [["<title>T</title>"], [huge]], [], []).encode()
    assert each_entry(content, lambda entry: entry) is None
    assert each_entry(content.replace(huge.encode(), b""), lambda entry: entry) is not None
