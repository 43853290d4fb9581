"""Feeds of all forms: what an entry says, and what a document must not do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from monitor.model import Paper, Reading
from monitor.sources.feed.source import Feed
from monitor.sources.fields.dates import parse_date
from monitor.sources.fields.identifiers import identifiers, values_of
from monitor.sources.fields.markup import text
from monitor.sources.fields.names import split_names
from tests.sources import scenario

read = partial(scenario.read, Feed)


def rss(*items: str, version: str = "2.0") -> str:
    names = (
        'xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/" '
        'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
        'xmlns:arxiv="http://arxiv.org/schemas/atom"'
    )
    body = "".join(f"<item>{item}</item>" for item in items)
    return f'<rss version="{version}" {names}><channel><title>c</title>{body}</channel></rss>'


def one(item: str, **how: Any) -> Paper:
    (found,) = read(rss(item), **how).papers
    return found


ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>'
GML = 'xmlns:gml="http://www.opengis.net/gml"'


HIDDEN_TAGS = rss("<title>+ADw-b+AD4-Sand</title>")


def json_feed(*items: Mapping[str, Any]) -> str:
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items})


# ── an entry of each form ───────────────────────────────────────────────────────────


def test_a_title_beyond_all_measure_is_cut_and_its_entry_kept() -> None:
    found = one(f"<title>{'agent ' * 30_000}</title><description>A text.</description>")
    assert len(found.title) in range(19_990, 20_001)
    assert found.abstract == "A text."


@pytest.mark.parametrize(
    "content",
    [
        [{"title": "Agents", "link": "https://e.org/", "author": "Ada L.", "summary": "Act."}],
        {"entries": [
            {"name": "Agents", "url": "https://e.org/", "author": {"name": "Ada L."},
             "summary": {"content": "<p>Act.</p>"}}
        ]},
        {"papers": [
            {"title": "Agents", "external_url": "https://e.org/", "authors": ["Ada L."],
             "abstract": "Act."}
        ]},
        {"elements": [
            {"title": "Agents", "link": "https://e.org/", "authors": ["Ada L."],
             "contents": "<p>Act.</p>"}
        ]},
    ],
)  # fmt: skip
def test_json_that_looks_like_a_feed_is_read_as_one(content: Any) -> None:
    (found,) = read(json.dumps(content)).papers
    assert (found.title, found.url) == ("Agents", "https://e.org/")
    assert (found.authors, found.abstract) == (("Ada L.",), "Act.")


@pytest.mark.parametrize(
    "fields",
    [
        "<guid>oai:arXiv.org:2508.13426v3</guid><arxiv:announce_type>replace</arxiv:announce_type>",
        "",  # the summary says it, too
    ],
)
def test_arxiv_says_how_it_announced(fields: str) -> None:
    found = one(
        f"<title>Agents</title><link>https://arxiv.org/abs/2508.13426</link>{fields}"
        "<description>arXiv:2508.13426v3 Announce Type: replace \nAbstract: They act.</description>"
        "<pubDate>Wed, 12 Mar 2025 00:00:00 -0400</pubDate>"
    )
    assert (found.abstract, found.announce, found.version) == ("They act.", "replace", 3)
    assert found.keys == {"arxiv": "2508.13426"} and found.announced == found.published


@pytest.mark.parametrize(
    ("suffix", "how", "version"),
    [("", "new", 1), (" UPDATED", "replace", 2), (" CROSS LISTED", "cross", 1)],
)
def test_the_suffix_of_old_arxiv_titles_is_read_and_left_out(
    suffix: str, how: str, version: int
) -> None:
    found = one(f"<title>Agents. (arXiv:2107.03419v{version} [hep-ex]{suffix})</title>")
    assert (found.title, found.announce, found.version) == ("Agents", how, version)
    assert found.keys == {"arxiv": "2107.03419"} and found.categories == ("hep-ex",)


# ── text ────────────────────────────────────────────────────────────────────────────


def test_F06_a_word_without_end_is_read_in_linear_time() -> None:
    """feedparser alone takes minutes to look for a mail address in it."""
    assert one(f"<title>T</title><author>{'a' * 200_000}</author>").title == "T"


def test_labels_are_few_and_short() -> None:
    categories = [f"<category>{n}</category>" for n in range(60)]
    assert len(one(f"<title>T</title>{''.join(categories)}").categories) == 50
    assert one(f"<title>T</title><category>{'x' * 101}</category>").categories == ()


@pytest.mark.parametrize(
    ("content", "abstract"),
    [
        ("<h1>Agents</h1><p>They act.</p>", "They act."),
        ("<p>Agents act.</p>", "Agents act."),
        ("<p>Agents2 act</p>", "Agents2 act"),
        ("<p>They act</p>", "They act"),
        ("Agents", ""),
        # the card of an overview page
        ("<h3>Agents</h3><li>Ada Lovelace</li><span>Article</span><time>21 Nov 2022</time>", ""),
    ],
)
def test_the_heading_of_a_whole_page_is_left_out(content: str, abstract: str) -> None:
    item = f"<title>Agents</title><content:encoded><![CDATA[{content}]]></content:encoded>"
    assert one(item).abstract == abstract


# ── names, identifiers, links, dates ────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (["Ada L."], ["Ada L."]),
        (["Ada L., Bo N. and Cy O."], ["Ada L.", "Bo N.", "Cy O."]),
        (["Ada L.; Bo N."], ["Ada L.", "Bo N."]),
        (["LAPALU, N., SIMON, A., Lu, P.-L."], ["LAPALU, N.", "SIMON, A.", "Lu, P.-L."]),
        (["Doe, Jane", "Roe, Rik"], ["Doe, Jane", "Roe, Rik"]),
        (["Doe, Jane"], ["Doe, Jane"]),
        (["van der Berg, Anna Maria"], ["van der Berg, Anna Maria"]),
        (["Doe, Jane and Roe, Rae"], ["Doe, Jane", "Roe, Rae"]),
        (["Doe, Jane, Jr. and Roe, Rae"], ["Doe, Jane, Jr.", "Roe, Rae"]),
        (["García López, Ana & Roe, Rae B."], ["García López, Ana", "Roe, Rae B."]),
        (["Engel, Michael S., Grimaldi, D. A."], ["Engel, Michael S.", "Grimaldi, D. A."]),
        (["Ada Lovel, Bo Nilsen, and Cy Oakes"], ["Ada Lovel", "Bo Nilsen", "Cy Oakes"]),
        (["Plato, Doe, Roe, Poe"], ["Plato", "Doe", "Roe", "Poe"]),
        (["John Smith, Jr."], ["John Smith, Jr."]),
        (["A. Lovel, B. Nilsen and C. Oakes, D. Poe"],
         ["A. Lovel", "B. Nilsen", "C. Oakes", "D. Poe"]),
        (["Ada Lovel, Bo Nilsen and Cy Oakes, Di Poe"],
         ["Ada Lovel", "Bo Nilsen", "Cy Oakes", "Di Poe"]),
        (["张三,李四"], ["张三", "李四"]),
        (["Ada L. | Bo N."], ["Ada L.", "Bo N."]),
        (["John Smith, Jr., Ada L."], ["John Smith, Jr.", "Ada L."]),
        (["Ada L., et al."], ["Ada L."]),
        (["李明；王芳"], ["李明", "王芳"]),
        (["李明，王芳"], ["李明", "王芳"]),
        (["李明、王芳"], ["李明", "王芳"]),
        (["Margaret Al-Hakim, Bo N."], ["Margaret Al-Hakim", "Bo N."]),
        (["A.Lovel, B.C.Nilsen, C.Oakes, D.D.Poe"],
         ["A.Lovel", "B.C.Nilsen", "C.Oakes", "D.D.Poe"]),
        (["I.Grosu, L.Tugulan"], ["I.Grosu", "L.Tugulan"]),
        (["Yu.I.Manin, J.-P.Serre"], ["Yu.I.Manin", "J.-P.Serre"]),
        (["D.O'Shea, E.Roe"], ["D.O'Shea", "E.Roe"]),
        (["St.John, R., St.Clair, P."], ["St.John, R.", "St.Clair, P."]),
        (["O, K., E, W."], ["O, K.", "E, W."]),
        (["Ada Lovel , Bo Nilsen, Cy Oakes"], ["Ada Lovel", "Bo Nilsen", "Cy Oakes"]),
        (["<a href='x'>LHCb collaboration</a>: <a href='y'>R. Aaij</a>, et al. "
          "(909 additional authors not shown)"],
         ["LHCb collaboration", "R. Aaij"]),
        (["ada@example.org"], []),
        (["", " ", "-"], []),
    ],
)  # fmt: skip
def test_author_fields_are_parted_into_names(value: list[str], names: list[str]) -> None:
    assert split_names(map(text, value)) == names


def test_a_name_of_arXiv_never_begins_with_the_family_name() -> None:
    item = "<title>T</title><dc:creator>Sukarno, Suharto</dc:creator>"
    assert one(item).authors == ("Sukarno, Suharto",)
    link = "<link>https://arxiv.org/abs/2401.00001</link>"
    assert one(item + link).authors == ("Sukarno", "Suharto")


@pytest.mark.parametrize(
    ("value", "keys", "version"),
    [
        ("oai:arXiv.org:2508.13426v1", {"arxiv": "2508.13426"}, 1),
        ("https://arxiv.org/abs/hep-th/9901001v3", {"arxiv": "hep-th/9901001"}, 3),
        ("doi:10.1101/2023.12.16.571984", {"doi": "10.1101/2023.12.16.571984"}, None),
        ("https://www.biorxiv.org/content/10.1101/2023.12.16.571984v2.full?rss=1",
         {"doi": "10.1101/2023.12.16.571984"}, 2),
        ("https://dl.acm.org/doi/abs/10.1145/3292500.3330919?af=R",
         {"doi": "10.1145/3292500.3330919"}, None),
        ("https://www.frontiersin.org/articles/10.3389/fnins.2023.1/full",
         {"doi": "10.3389/fnins.2023.1"}, None),
        ("https://doi.org/10.1002%2Fabc", {"doi": "10.1002/abc"}, None),
        ("https://pubmed.ncbi.nlm.nih.gov/38000001/?utm_source=x", {"pmid": "38000001"}, None),
        ("10.1130/0091-7613(1995)023<0967:AM>2.3.CO;2",
         {"doi": "10.1130/0091-7613(1995)023<0967:am>2.3.co;2"}, None),
        ("(doi:10.1016/0160-4120(81))", {"doi": "10.1016/0160-4120(81)"}, None),
        ("https://doi.org/10.1000/x<br>", {"doi": "10.1000/x"}, None),
        ("https://example.org/10/2", {}, None),
        # Brackets that are taken off its end one by one take minutes of this.
        ("10.1000/" + ")" * 200_000, {}, None),
        ("", {}, None),
    ],
)  # fmt: skip
def test_F13_identifiers_lose_their_version(
    value: str, keys: dict[str, str], version: int | None
) -> None:
    assert identifiers([value]) == (keys, version)


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("/p/1", "https://example.org/p/1"),
        ("  https://example.org/p\n ", "https://example.org/p"),
        ("https:\n//example.org/a\n/b\r\n/c", "https://example.org/a/b/c"),
        (f"https://example.org/{'9' * 3_000}", ""),
        ("//other.example/p", "https://other.example/p"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("http://[bad", ""),
        ("ftp://example.org/p", ""),
        ("https://:80/p", ""),
        ("", ""),
    ],
)
def test_links_are_absolute_and_of_the_web(link: str, url: str) -> None:
    item = f"<title>T</title><link>{link}</link>"
    assert one(item, url="https://example.org/feed/").url == url


@pytest.mark.parametrize(
    ("item", "raw_id"),
    [
        ("<guid>abc</guid><link>https://e.org/</link>", "abc"),
        ("<link>https://E.org/p#x</link>", "https://e.org/p#x"),
        ("<link>https://E.org/p?utm_source=a#Echobox=1</link>", "https://e.org/p?utm_source=a"),
        ("", ""),
    ],
)
def test_F13_an_entry_is_named_by_guid_else_link_else_nothing(item: str, raw_id: str) -> None:
    assert one(f"<title>T</title>{item}").raw_id == raw_id


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("Wed, 12 Mar 2025 00:00:00 GMT", "2025-03-12"),
        ("Mon, 01 Jan 0001 00:00:00 GMT", None),
        ("Fri, 31 Dec 1989 00:00:00 GMT", None),
        ("Thu, 01 Jan 2099 00:00:00 GMT", None),
        ("Tue, 03 Jun 2025 00:00:00 GMT", "2025-06-03"),
        ("Wed, 04 Jun 2025 00:00:00 GMT", None),
        ("Wed, 99 Mar 2025 00:00:00 GMT", None),
        ("soon", None),
        ("THU , 21 MAR 2024 09:16:55 -0400", "2024-03-21"),
        ("Thu, 21 Mar 2024 09:16:55", "2024-03-21"),
        ("2024/03/21", "2024-03-21"),
        ("March 21, 2024", "2024-03-21"),
        ("2024-03", "2024-03-01"),
        ("2024", None),
        ("2024-00-00", None),
        ("0000-01-01", None),
        ("Mon, 01 Jan 0000 00:00:00 GMT", None),
        ("01-Jan-0000", None),
        ("Mon Jan  1 00:00:00 0000", None),
        ("Thu, 21 Mar 24 09:16:55 -0000", "2024-03-21"),
    ],
)
def test_F15_dates_are_read_as_people_write_them_if_they_can_be_meant(
    value: str, day: str | None
) -> None:
    published = one(f"<title>T</title><pubDate>{value}</pubDate>").published
    assert (published and f"{published:%Y-%m-%d}") == day


def test_the_time_of_a_scrape_is_never_a_date_of_publication() -> None:
    (found,) = read(
        f"{ATOM}<entry><id>1</id><title>T</title><updated>2025-01-02</updated></entry></feed>"
    ).papers
    assert found.published is None and found.updated == datetime(2025, 1, 2, tzinfo=UTC)


def test_dates_without_a_zone_are_utc() -> None:
    assert parse_date("2025-03-12") == datetime(2025, 3, 12, tzinfo=UTC)
    assert parse_date("12 Mar 2025 08:00:00 -0000") == datetime(2025, 3, 12, 8, tzinfo=UTC)
    assert parse_date("9999-12-31T23:59:59-23:59") is None


def test_the_year_0000_is_no_date() -> None:
    for value in ("0000-01-01", "01 Jan 0000 08:00:00", "1 Jan 0000 08:00:00 +0000"):
        assert parse_date(value) is None
    for value in ("20250312 0000", "2025-03-12 00:00:00-0000", "Wed, 12 Mar 25 00:00:00 -0000"):
        assert parse_date(value) == datetime(2025, 3, 12, tzinfo=UTC)


# ── documents ───────────────────────────────────────────────────────────────────────


def test_F3_a_feed_without_entries_is_a_success() -> None:
    assert read(rss()) == Reading()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "empty"),
        ("Rate exceeded.", "neither RSS, Atom nor JSON Feed"),
        ("<!-- x --> <!DOCTYPE html><html/>", "HTML page"),
        ("<data><item><title>x</title></item></data>", "neither RSS"),
        ('{"error": "rate limited"}', "no list of items"),
        ('{"items": []}', "no list of items"),
        ('{"items": [1, 2]}', "no record is a paper: entry is not an object"),
        ("{not json", "cannot be read"),
        ("[" * 100_000, "cannot be read|too deeply"),
        ('<rss version="2.0"><channel><title>c', "before its first entry"),
        (rss("<pubDate>x</pubDate>"), "no record is a paper: entry has no title and no text"),
        (
            '<feed xmlns="http://www.w3.org/2005/Atom" '
            'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"><title>t</title>'
            "<opensearch:totalResults>314</opensearch:totalResults></feed>",
            "314 entries",
        ),
        (
            f"{ATOM}<entry><id>http://arxiv.org/api/errors#bad_id</id><title>Error</title>"
            "<summary>incorrect id format</summary></entry></feed>",
            "arXiv answered with an error: incorrect id format",
        ),
        (
            "<rss version='2.0'><channel><title>Feed error for query: /rss/cs.ZZ</title>"
            "<description>Invalid archive cs.ZZ</description></channel></rss>",
            "arXiv answered with an error: Invalid archive cs.ZZ",
        ),
    ],
)
def test_F01_F6_an_answer_that_is_no_feed_is_an_error(content: str, why: str) -> None:
    reading = read(content)
    assert re.search(why, reading.error) and not reading.complete and reading.papers == ()


def items(count: int) -> list[str]:
    return [f"<title>Paper {n}</title><description>Text {n}.</description>" for n in range(count)]


@pytest.mark.parametrize(
    ("content", "where", "rejected"),
    [
        *((rss(*items(6)), where, []) for where in ("</rss>", "</channel>")),
        *((rss(*items(6)), where, ["entry 6"]) for where in ("</item></channel>", "5.</desc")),
        (json_feed(*({"title": f"Paper {n}"} for n in range(7))), "6", []),
    ],
)
def test_F02_a_truncated_feed_keeps_what_is_whole(
    content: str, where: str, rejected: list[str]
) -> None:
    reading = read(content[: content.rindex(where)])
    titles = [f"Paper {n}" for n in range(6 - len(rejected))]
    assert [paper.title for paper in reading.papers] == titles
    assert not reading.complete
    assert [r.where for r in reading.rejected] == rejected


@pytest.mark.parametrize(
    "content",
    [
        rss("<title>T</title><link>/papers/1</link>").replace(
            "<title>c</title>", "<title>c</title><link>https://e.org/list/</link>"
        ),
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>c</title><link href="https://e.org/"/>'
        '<link rel="self" href="https://e.org/list/new.atom"/><entry><title>T</title><id>x:1</id>'
        '<link href="../papers/1"/></entry></feed>',
        '{"home_page_url": "https://e.org/", "items": [{"title": "T", "url": "papers/1"}]}',
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://e.org/papers/"><title>c</title>'
        '<entry><title>T</title><link href="1"/></entry></feed>',
    ],
)
def test_links_are_relative_to_the_feed_where_nobody_knows_its_address(content: str) -> None:
    (paper,) = read(content).papers
    assert paper.url == "https://e.org/papers/1"


def test_a_page_that_counts_its_readers_is_not_the_one_that_is_meant() -> None:
    found = one(
        "<title>T</title><link>https://feedproxy.example/~3/x</link><fb:origLink "
        'xmlns:fb="http://rssnamespace.org/feedburner/ext/1.0">https://doi.org/10.1000/x</fb:origLink>'
    )
    assert found.url == "https://doi.org/10.1000/x" and found.keys == {"doi": "10.1000/x"}


def test_an_entry_without_a_title_is_called_by_how_its_text_begins() -> None:
    reading = read(
        json_feed({"content_html": "<p>Hello, world!</p>"}, {"content_text": "ab " * 99})
    )
    assert [paper.title for paper in reading.papers] == ["Hello, world!", "ab " * 33 + "…"]
    assert reading.papers[1].abstract == ("ab " * 99).strip() and reading.complete


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('<!DOCTYPE r [<!ENTITY a "x">]><rss version="2.0"/>', "declares entities"),
        (f'<?xml version="1.0" encoding="UTF-7"?>{HIDDEN_TAGS}', "in UTF-7, which is not read"),
        (f'<?x encoding="utf-8" encoding="utf7"?>{HIDDEN_TAGS}', "in UTF-7, which is not read"),
        (f'<?xml version="1.0" encoding="idna"?>{HIDDEN_TAGS}', "in IDNA, which is not read"),
        ('<!DOCTYPE r [<!ELEMENT r ANY>]><rss version="2.0"/>', "declares entities"),
        ('<!ENTITY x SYSTEM "file:///etc/passwd"><rss version="2.0"/>', "declares entities"),
        ("<rss version='2.0'>" + "<a>" * 100_000, "deeper than 256"),
        (rss(*["<title>x</title>"]).replace("<item>", "<a>" * 300 + "</a>" * 300 + "<item>"),
         "deeper than 256"),
        (rss(*["<title>x</title>"] * 5_001), "more than 5,000 entries"),
        (json_feed(*[{"title": "x"}] * 5_001), "more than 5,000 entries"),
        (rss("<title>x</title>" + "<dc:creator>Ada</dc:creator>" * 40_000), "than 20,000 elements"),
        ("<rss version='2.0'>" + "a<b " * 600_000, "large and not well-formed"),
        ('<!DOCTYPE r [<!ENTITY a "x">]><rss/>'.encode("utf-16"), "declares entities"),
    ],
)  # fmt: skip
def test_F06_documents_that_would_hurt_are_refused(content: str | bytes, why: str) -> None:
    assert why in read(content).error


def test_F06_a_feed_is_refused_that_its_server_says_is_in_UTF_7() -> None:
    reading = read(HIDDEN_TAGS, content_type="application/rss+xml; charset=UTF-7")
    assert reading.papers == () and "in UTF-7" in reading.error
    reading = read(HIDDEN_TAGS, content_type="application/rss+xml; charset=UTF-8")
    assert [paper.title for paper in reading.papers] == ["+ADw-b+AD4-Sand"]


HUGE = "<![CDATA[<div>]]>" * 60_000


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("<pubDate>x</pubDate>", "entry has no title and no text"),
        *(
            (f"<title>T</title><{name}>{HUGE}</{name}>", "entry is larger than 262,144 characters")
            for name in ("description", "prism:publicationName", "category")
        ),
    ],
)
def test_F06_one_entry_that_is_no_paper_is_rejected_and_the_others_are_kept(
    item: str, why: str
) -> None:
    reading = read(rss(items(1)[0], item, items(1)[0]))
    assert len(reading.papers) == 2 and reading.complete
    assert [(r.where, r.why) for r in reading.rejected] == [("entry 2", why)]


@pytest.mark.parametrize(
    ("content", "complete"),
    [
        (rss("<title>Poincaré</title>").encode("utf-8-sig"), True),
        (rss("<title>Poincaré</title>").encode("utf-16"), True),
        (rss("<title>Poin\x0bcar\x01é</title>"), True),
        # Behind a DOCTYPE that is never fetched, XML lets names of characters fall away.
        (
            '<!DOCTYPE rss SYSTEM "http://e.org/rss.dtd">' + rss("<title>Poincar&eacute;</title>"),
            False,
        ),
        (rss("<title>Poincaré</title><description>Q & A</description>"), False),
        (rss("<title>Poincaré</title><description><![CDATA[<!ENTITY x]]></description>"), True),
        (rss("<title>Poincar&#xe9;&#xD800;&#0;&#x110000;&#55296;</title>"), True),
        # feedparser breaks at this.
        (rss(f"<title>Poincaré</title><gml:Point {GML}><gml:pos>1 2</gml:pos></gml:Point>"), True),
    ],
)
def test_F10_F12_unusual_feeds_are_read(content: str | bytes, complete: bool) -> None:
    reading = read(content)
    assert [paper.title for paper in reading.papers] == ["Poincaré"]
    assert reading.complete == complete


def test_F06_a_feed_that_breaks_its_reader_is_an_error() -> None:
    """Nobody writes this; but whatever feedparser does not expect must come out as an error."""
    licence = "<creativecommons_license>x<channel/></creativecommons_license>"
    reading = read(rss(f"<title>T</title><dc:rights>{licence}</dc:rights>"))
    assert "the feed broke its reader: KeyError" in reading.error


@pytest.mark.parametrize(
    "field",
    ["<prism:doi a='1'>10.1000/x</prism:doi>", "<dc:identifier a='1'/>", "<arxiv:doi a='1'/>",
     "<prism:publicationDate a='1'>2025</prism:publicationDate>", "<arxiv:comment a='1'/>",
     "<prism:publicationName a='1'>J</prism:publicationName>", "<author><name/></author>",
     "<arxiv:announce_type a='1'/>", "<author><uri/></author><dc:creator/>"],
)  # fmt: skip
def test_a_field_in_another_form_costs_itself_only(field: str) -> None:
    assert one(f"<title>T</title>{field}<x>&nbsp;</x>").title == "T"


def test_the_bytes_of_a_document_are_never_taken_for_a_path(tmp_path: Path) -> None:
    (tmp_path / "feed.xml").write_text(rss(*items(2)))
    assert "neither RSS" in read(str(tmp_path / "feed.xml")).error


def test_F12_identifiers_and_links_hold_nothing_that_cannot_be_stored_or_shown() -> None:
    found = one(
        "<title>T</title><guid>a\u200b\u202eb</guid><link>https://example.org/a\u007f\u200bb?x</link>"
        "<prism:doi>10.1000/a%00%0e\u202eb</prism:doi><dc:identifier>arXiv:2401.01234v"
        + "9" * 5_000
        + "</dc:identifier>"
    )
    assert (found.raw_id, found.url) == ("ab", "https://example.org/ab?x")
    assert found.keys == {"arxiv": "2401.01234", "doi": "10.1000/ab"} and found.version is None


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        (
            ("oai:arXiv.org:2508.13426v1", "https://arxiv.org/abs/2508.13426v2",
             "http://arxiv.org/pdf/2508.13426", "https://doi.org/10.48550/ARXIV.2508.13426"),
            {"arxiv": "2508.13426"},
        ),
        (
            ("10.1000/AbC.7", "https://doi.org/10.1000/abc.7", "doi:10.1000%2FABC.7",
             "10.1000/abc\u200b.7", "https://example.org/doi/10.1000/ABC.7/full"),
            {"doi": "10.1000/abc.7"},
        ),
        (("https://pubmed.ncbi.nlm.nih.gov/123/", "pubmed:123", "PMID: 123"), {"pmid": "123"}),
    ],
)  # fmt: skip
def test_F07_one_identifier_however_it_is_written(
    value: tuple[str, ...], keys: dict[str, str]
) -> None:
    assert identifiers(value)[0] == keys
    assert all(identifiers([one])[0] == keys for one in value)
    all_keys, version = identifiers(("10.1101/2026.01.02.345678v2", *value))
    assert version == 2
    assert all(key in values_of(all_keys, scheme) for scheme, key in keys.items())


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("https://a.example/1?utm_source=rss&amp;utm_medium=feed", "https://a.example/1"),
        (
            "https://a.example/1?id=%20a&amp;UTM_Source=rss&amp;b=#x",
            "https://a.example/1?id=%20a&b=#x",
        ),
        ("https://a.example/utm_1?q=utm_source", "https://a.example/utm_1?q=utm_source"),
        ("https://a.example/1?utm_id=3#utm_source", "https://a.example/1#utm_source"),
    ],
)
def test_links_are_shown_without_tracking_parameters(written: str, shown: str) -> None:
    """The name of an entry without a guid is still the link as it is written."""
    paper = one(f"<title>Sand</title><link>{written}</link>")
    assert paper.url == shown
    assert paper.raw_id == written.replace("&amp;", "&")


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("García López, Ana María", ("Ana María García López",)),
        ("García López, Ana María and Roe, Rae", ("García López, Ana María", "Roe, Rae")),
        ("Ada Lovel, Bo Nilsen", ("Ada Lovel", "Bo Nilsen")),
    ],
)
def test_the_parts_of_a_name_say_whether_a_comma_is_within_it(
    written: str, names: tuple[str, ...]
) -> None:
    person = "<f:givenName>Ana María</f:givenName><f:familyName>García López</f:familyName>"
    maker = f'<f:Person xmlns:f="http://xmlns.com/foaf/0.1/">{person}</f:Person>'
    creator = f'<c:creator xmlns:c="http://purl.org/dc/elements/1.1/">{written}</c:creator>'
    assert one(f"<title>Sand</title><guid>g</guid>{creator}{maker}").authors == names
