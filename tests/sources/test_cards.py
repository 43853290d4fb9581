"""What publishers' feeds put where an abstract should be."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from monitor.model import Paper
from monitor.sources.feed import Feed
from monitor.sources.shared.entries import identifiers
from tests.sources.scenario import read
from tests.sources.test_feed import rss

WHOLE = "<![CDATA[<p>Sand. 2025 Jan 2. doi: 10.1/x.</p><p><b>ABSTRACT</b></p><p>Sand moves.</p>"


def said(text: str) -> str:
    return f"<description>{text}</description>"


def entry(inside: str) -> Paper:
    (paper,) = read(Feed, rss(f"<title>T</title><guid>g</guid>{inside}").encode()).papers
    return paper


@pytest.mark.parametrize(
    ("inside", "abstract"),
    [
        (said("Nature, Published online: 2 May 2025; doi:10.1038/s4 Sand."), "Sand."),
        (said("Science, Volume 383, Issue 6682, Page 4-5, May 2025. &lt;br/>"), ""),
        (said("PNAS, Volume 1, Issue 2, May 2025. &lt;br/>Sand moves."), "Sand moves."),
        (said("Volume 38, Issue 1, January 2025, Page 1-20&lt;br/>. "), ""),
        (
            "<description>Advanced Sand, EarlyView. </description>"
            "<content:encoded>Sand moves.</content:encoded>",
            "Sand moves.",
        ),
        (said("Journal of Sand DOI: 10.1021/sand.5c01"), ""),
        (said("&lt;h3>Abstract&lt;/h3>&lt;p>Sand moves.&lt;/p>"), "Sand moves."),
        (said("Abstract: Sand moves."), "Sand moves."),
        (said("Abstract interpretation of sand."), "Abstract interpretation of sand."),
        (
            "<author>Ada Byron</author><author>Jane Roe</author>"
            "<description>&lt;p>by Ada Byron, Jane Roe&lt;/p> Sand moves.</description>",
            "Sand moves.",
        ),
        (
            f"<description>Sand moves ...</description><content:encoded>{WHOLE}"
            '<p>PMID:<a href="x">38000001</a></p>]]></content:encoded>',
            "Sand moves.",
        ),
        (
            "<description>In mice, volumes of 2025 grew. So did men.</description>",
            "In mice, volumes of 2025 grew. So did men.",
        ),
    ],
)
def test_an_abstract_stands_alone(inside: str, abstract: str) -> None:
    assert entry(inside).abstract == abstract


def test_the_card_of_elsevier_is_read() -> None:
    paper = entry(
        "<description>&lt;p>Publication date: March 2025&lt;/p>&lt;p>&lt;b>Source:&lt;/b> "
        "Sand Networks, Volume 171&lt;/p>&lt;p>Author(s): Ada Byron, Jane Roe&lt;/p></description>"
    )
    assert (paper.abstract, paper.venue) == ("", "Sand Networks")
    assert paper.authors == ("Ada Byron", "Jane Roe")
    assert paper.published == datetime(2025, 3, 1, tzinfo=UTC)


def test_a_title_does_not_say_that_it_is_new() -> None:
    assert read(Feed, rss("<title>[ASAP] Sand</title>").encode()).papers[0].title == "Sand"


@pytest.mark.parametrize(
    ("told", "keys"),
    [
        ("pubmed:38000001", {"pmid": "38000001"}),
        ("https://pubmed.ncbi.nlm.nih.gov/38000001/?utm_source=x", {"pmid": "38000001"}),
        (
            "10.1130/0091-7613(1995)023<0967:AM>2.3.CO;2",
            {"doi": "10.1130/0091-7613(1995)023<0967:am>2.3.co;2"},
        ),
        ("(doi:10.1016/0160-4120(81))", {"doi": "10.1016/0160-4120(81)"}),
        ("https://doi.org/10.1000/x<br>", {"doi": "10.1000/x"}),
    ],
)
def test_identifiers_in_the_forms_they_have(told: str, keys: dict[str, str]) -> None:
    assert identifiers((told,))[0] == keys
