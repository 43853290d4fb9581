"""What publishers' feeds put where an abstract should be."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest

from monitor.model import Paper
from monitor.sources.feed.source import Feed
from tests.sources.scenario import only
from tests.sources.test_feed import rss

PUBMED_PAGE = (
    "<![CDATA[<p>Sand. 2025 Jan 2. doi: 10.1/x.</p><p><b>ABSTRACT</b></p><p>Sand moves.</p>"
    '<p>PMID:<a href="x">38000001</a></p>]]>'
)


def summary(text: str) -> str:
    return f"<description>{text}</description>"


def entry(inside: str) -> Paper:
    return only(Feed, rss(f"<title>T</title><guid>g</guid>{inside}"))


def creators(*names: str) -> str:
    return "".join(f"<dc:creator>{name}</dc:creator>" for name in names)


def content(text: str) -> str:
    return f"<content:encoded>{text}</content:encoded>"


@pytest.mark.parametrize(
    "inside",
    [
        summary("PNAS, Volume 1, Issue 2, May 2025. &lt;br/>Sand moves."),
        summary("Nature, Published online: 2 May 2025; doi:10.1038/s4 Sand moves."),
        summary("Volume 4-5, January–June 2025 . Sand moves."),
        summary("Advanced Sand, EarlyView. ") + content("Sand moves."),
        summary("N/A") + content("Sand moves."),
        summary("&lt;h3>Abstract&lt;/h3>&lt;p>Sand moves.&lt;/p>"),
        summary("Abstract: Sand moves."),
        summary("&lt;p>Abstract: Sand moves.&lt;/p>"),
        "<author>Ada Byron</author><author>Jane Roe</author>"
        + summary("&lt;p>by Ada Byron, Jane Roe&lt;/p> Sand moves."),
        summary("Sand moves ...") + content(PUBMED_PAGE),
        summary("Sand ...") + content("&lt;p>Sand moves.&lt;/p>"),
        summary("CONCLUSION: Sand.") + content(PUBMED_PAGE),
        creators("Ada Byron, Jane Roe, and Cy Oakes")
        + summary(
            "&lt;p>Author(s): Ada Byron, Jane Roe, and Cy Oakes&lt;/p>&lt;p>Sand moves.&lt;/p>"
            "&lt;br/>[Phys. Rev. Lett. 132, 101001] Published Tue Mar 05, 2024"
        ),
        creators("Ada Byron", "Jane Roe")
        + summary(
            "Sensors, Vol. 24, Pages 123: T: A Review Sensors doi: 10.3390/s24010123 Authors:"
            " Ada Byron Jane Roe  Sand moves."
        ),
        summary("Advanced Sand, Volume 36, Issue 10, March 2025. ")
        + content("&lt;p>Teaser.&lt;/p>&lt;br />&lt;h2>ABSTRACT&lt;/h2>&lt;p>Sand moves.&lt;/p>"),
        summary('&lt;span>&lt;div class="boxTitle">Abstract&lt;/div>Sand moves.&lt;/span>'),
        creators("Byron, Ada", "Roe, Jane")
        + summary("&lt;p>T&lt;/p>&lt;p>Byron, Ada; Roe, Jane&lt;/p>&lt;p>Sand moves.&lt;/p>"),
    ],
)
def test_an_abstract_stands_alone(inside: str) -> None:
    assert entry(inside).abstract == "Sand moves."


@pytest.mark.parametrize(
    "text",
    [
        "Science, Volume 383, Issue 6682, Page 4-5, May 2025. &lt;br/>",
        "Volume 38, Issue 1, January 2025, Page 1-20&lt;br/>. ",
        "Volume 38, Issue 1, January 2025, Page 1-20&lt;br/>. .",
        "Journal of Sand DOI: 10.1021/sand.5c01",
        "Ahead of Print.&lt;br/>.",
        ".",
    ],
)
def test_an_issue_is_no_abstract(text: str) -> None:
    assert entry(summary(text)).abstract == ""


def test_the_card_of_elsevier_is_read() -> None:
    paper = entry(
        "<description>&lt;p>Publication date: March 2025&lt;/p>&lt;p>&lt;b>Source:&lt;/b> "
        "Sand Networks, Volume 171&lt;/p>&lt;p>Author(s): Ada Byron, Jane Roe&lt;/p></description>"
    )
    assert (paper.abstract, paper.venue) == ("", "Sand Networks")
    assert paper.authors == ("Ada Byron", "Jane Roe")
    assert paper.published == datetime(2025, 3, 1, tzinfo=UTC)


RSC = (
    "&lt;div>&lt;i>&lt;b>Chem. Sand.&lt;/b>&lt;/i>, 2025, Advance Article&lt;br/>&lt;b>DOI&lt;/b>: "
    "10.1039/D5SC00001A, Edge Article&lt;/div>&lt;div>&amp;nbsp Open Access&lt;/div>&lt;div>This "
    "article is licensed under CC BY.&lt;/div>&lt;div>%sSand moves.&lt;br/>To cite this article "
    "before page numbers are assigned, use the DOI form of citation above.&lt;br/>The content of "
    "this RSS Feed (c) The Royal Society of Chemistry&lt;/div>"
)
COPERNICUS = (
    "&lt;b>T&lt;/b>&lt;br>\nAda Byron and Jane Roe&lt;br>\nSand Chem. Phys.%s"
    "https://doi.org/10.5194/scp-24-1-2025, 2025&lt;br>\n%sSand moves."
)


@pytest.mark.parametrize(
    ("value", "names", "venue", "doi"),
    [
        (
            RSC % "Ada Byron, Jane Roe&lt;br/>",
            ("Ada Byron", "Jane Roe"),
            "Chem. Sand.",
            "1039/d5sc00001a",
        ),
        (RSC % "", (), "Chem. Sand.", "1039/d5sc00001a"),
        (
            COPERNICUS % (", 24, 1–20, ", ""),
            ("Ada Byron", "Jane Roe"),
            "Sand Chem. Phys.",
            "5194/scp-24-1-2025",
        ),
        (
            COPERNICUS
            % (
                " Discuss., ",
                "&lt;b>Preprint under review for SCP&lt;/b> (discussion: open, 0 comments)&lt;br>",
            ),
            ("Ada Byron", "Jane Roe"),
            "Sand Chem. Phys. Discuss.",
            "5194/scp-24-1-2025",
        ),
        (
            "<![CDATA[<p>SandKeys 85: 73-85</p><p>DOI: 10.3897/sandkeys.85.1</p><p>Authors: "
            "Ada Byron, Jane Roe</p><p>Abstract: Sand moves.</p><p><a href='x'>HTML</a></p>]]>",
            ("Ada Byron", "Jane Roe"),
            "SandKeys",
            "3897/sandkeys.85.1",
        ),
    ],
)
def test_a_text_of_lines_is_read_line_by_line(
    value: str, names: tuple[str, ...], venue: str, doi: str
) -> None:
    paper = entry(summary(value))
    assert (paper.abstract, paper.authors, paper.venue) == ("Sand moves.", names, venue)
    assert paper.keys == {"doi": f"10.{doi}"}


def test_an_abstract_that_says_what_it_is_may_have_paragraphs() -> None:
    lines = ("Phase 2: sand", "Authors: Ada Byron", "Abstract: Sand: so it is.", "It moves.")
    paper = entry(summary(f"<![CDATA[{'<br>'.join(lines)}<br><a href='x'>HTML</a>]]>"))
    assert (paper.abstract, paper.venue) == ("Sand: so it is. It moves.", "")


CNKI = "作者：李明;王芳;&lt;br/>摘要：沙在移动。作者认为摘要：有用。"
RSSHUB = (
    "&lt;text>作者：李明1 王芳1,2 &lt;/text>&lt;br>&lt;text>单位：1. 沙学院 2. 风研究所 &lt;/text>"
    "&lt;br>&lt;text>%s&lt;/text>"
)


@pytest.mark.parametrize(
    ("value", "abstract", "names"),
    [
        (CNKI, "沙在移动。作者认为摘要：有用。", ("李明", "王芳")),
        (RSSHUB % " 摘要：沙在移动。", "沙在移动。", ("李明", "王芳")),
        (RSSHUB % "", "", ("李明", "王芳")),
        ("作者:李明，王芳、赵 云&lt;br/>摘要:沙。", "沙。", ("李明", "王芳", "赵 云")),
        ("作者：李明&lt;br/>摘要：沙。", "沙。", ("李明",)),
        ("作者：Li Ming;Wang Fang&lt;br/>摘要：沙。", "沙。", ("Li Ming", "Wang Fang")),
        ("沙在移动。作者认为摘要：有用。", "沙在移动。作者认为摘要：有用。", ()),
        # Where one name ends and the next begins cannot be known.
        ("作者：LI Ming WANG Fang &lt;br>单位：沙学院&lt;br>摘要：沙。", "沙。", ()),
        ("作者：李 明 王 芳 &lt;br>单位：沙学院&lt;br>摘要：沙。", "沙。", ()),
        # Texts without the labels stay whole.
        *(
            (text, text, ())
            for text in (
                "作者：沙在移动。摘要：沙。",
                "作者：李明认为沙在移动",
                "作者：李明 单位：沙学院。沙在移动。",
                "作者研究沙。单位：米。摘要：沙。",
                "摘要：沙。",
            )
        ),
    ],
)
def test_authors_that_open_an_abstract_of_CNKI_are_read(
    value: str, abstract: str, names: tuple[str, ...]
) -> None:
    paper = entry(summary(value))
    assert (paper.abstract, paper.authors) == (abstract, names)
    assert entry("<author>赵云</author>" + summary(value)).authors == ("赵云",)
    item = {"id": "g", "title": "T", "content_html": html.unescape(value)}
    paper = only(Feed, {"items": [item]})
    assert (paper.abstract, paper.authors) == (abstract, names)


CNKI_PAGE = "<link>https://link.cnki.net/doi/10.1/sand</link>"
SHU = ("Guocheng SHU", "Ping LIU")


@pytest.mark.parametrize(
    ("inside", "abstract", "names"),
    [
        (summary("Guocheng SHU;Ping LIU; Sand; it moves."), "Sand; it moves.", SHU),
        (summary("Guocheng SHU1;Ping LIU1,2;&lt;br/>Sand moves."), "Sand moves.", SHU),
        (summary("Guocheng SHU;Ping LIU;"), "", SHU),
        (
            content("&lt;p>Guocheng SHU;Ping LIU;&lt;/p>&lt;p>Sand moves.&lt;/p>"),
            "Sand moves.",
            SHU,
        ),
        (
            CNKI_PAGE + summary("Guocheng Shu;Ping Liu&lt;br/>Sand."),
            "Sand.",
            ("Guocheng Shu", "Ping Liu"),
        ),
        (CNKI_PAGE + summary("李明;王芳;沙;在移动。"), "沙;在移动。", ("李明", "王芳")),
        (CNKI_PAGE + summary("李明;沙在移动。"), "沙在移动。", ("李明",)),
        (
            "<author>李明;</author>" + CNKI_PAGE + summary("李明;沙在移动。"),
            "沙在移动。",
            ("李明",),
        ),
        # Keywords, and sentences.
        *(
            (page + summary(text), text, ())
            for page, text in (
                ("", "Sand Dunes;Wind Fields; we study both."),
                ("", "Guocheng SHU; sand moves."),
                ("", "李明;王芳;沙在移动。"),
                ("<link>https://cnki.net.example.org/a</link>", "李明;王芳;沙在移动。"),
                (CNKI_PAGE, "Objective: To study sand; Methods: Wind."),
                (CNKI_PAGE, "Sand moves; wind blows."),
            )
        ),
    ],
)
def test_authors_with_semicolons_that_open_an_abstract_are_read(
    inside: str, abstract: str, names: tuple[str, ...]
) -> None:
    paper = entry(inside)
    assert (paper.abstract, paper.authors) == (abstract, names)


@pytest.mark.parametrize(
    ("value", "title", "names"),
    [
        ("[ASAP] Sand", "Sand", ()),
        ("Sensors, Vol. 24, Pages 123: Sand: A Review", "Sand: A Review", ()),
        ("Sensors, Vol. 24, Pages 123-130: Sand", "Sand", ()),
        ("The Book of Sand, Vol. 2", "The Book of Sand, Vol. 2", ()),
        ("Sand -- by other means", "Sand -- by other means", ()),
        ("Sand -- by Ada Byron, Jane Roe", "Sand", ("Ada Byron", "Jane Roe")),
        ("&amp;lt;i&amp;gt;E. coli&amp;lt;/i&amp;gt; in sand", "E. coli in sand", ()),
    ],
)
def test_a_title_stands_alone(value: str, title: str, names: tuple[str, ...]) -> None:
    paper = only(Feed, rss(f"<title>{value}</title>"))
    assert (paper.title, paper.authors) == (title, names)


def test_a_title_that_says_by_what_is_whole_where_authors_are_named() -> None:
    feed = rss("<title>Sand -- by Design</title><dc:creator>Ada Byron</dc:creator>")
    assert only(Feed, feed).title == "Sand -- by Design"


PLACES = (
    "<content:encoded><![CDATA[{}]]></content:encoded>",
    "<description><![CDATA[{}]]></description>",
)


@pytest.mark.parametrize(
    "value",
    [
        "<p>Sand moves.</p><div>Abstract</div>",
        "<p>Sand moves.</p><div>Abstract</div><div>PDF</div>",
        "<p>Sand moves.</p><p>A Sand, https://doi.org/10.1039/d5sc1, 2025</p>",
        "<p>Sand moves.</p><p>DOI: 10.1039/d5sc1, Article</p><p>More</p>",
        "See 10.5194/acp-24-1-2024 <br> of sand.",
        "<sec><title>Aim</title><p>Sand moves.</p></sec>",
        "Source: we take sand. It moves.",
        "The word ABSTRACT is of sand, PMID: 12 too.",
        "<p>We read the property itemprop=creator of pages.</p>",
        '<p>Sand moves.</p><span itemprop="creator">',
        "Volume 3D sand, since 2020, moves.",
        "Abstract interpretation of sand.",
        "by Lipschitz continuity, sand moves.",
        "T moves and sand stays.",
        "In mice, volumes of 2025 grew. So did men.",
    ],
)
def test_what_only_looks_like_a_card_is_the_abstract(value: str) -> None:
    words = " ".join(re.sub("<[^>]*>", " ", value).split())
    for place in PLACES:
        assert entry(creators("Li") + place.format(value)).abstract == words


def test_a_journal_is_not_called_as_its_article() -> None:
    assert entry("<prism:publicationName>T</prism:publicationName>").venue == ""
    assert entry("<prism:publicationName>Sand</prism:publicationName>").venue == "Sand"


CARD = (
    '<div class="card"><picture><source srcset="//x.example/1.png 160w" sizes="9px">'
    '<img alt="" itemprop="image"></picture><h3 itemprop="name headline">T</h3>{teaser}'
    '<ul><li itemprop="creator" itemscope><span itemprop="name">Ada Byron</span></li>'
    '<li itemprop="creator" itemscope><span itemprop="name">Jane Roe</span></li></ul>'
    '<span>Article</span><time itemprop="datePublished">21 Nov 2024</time></div>'
)
TEASER = '<div itemprop="description"><p>Sand moves&nbsp;by CO<sub>2</sub>.</p></div>'


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("teaser", "abstract"), [(TEASER, "Sand moves by CO2."), ("", "")])
def test_a_card_that_names_its_parts_is_read_by_their_names(
    place: str, teaser: str, abstract: str
) -> None:
    paper = entry(place.format(CARD.format(teaser=teaser)))
    assert (paper.abstract, paper.authors) == (abstract, ("Ada Byron", "Jane Roe"))
