"""Today's page of papers: a card for each, in every form that a page is saved in."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from textwrap import fill

import pytest

from monitor.model import Paper, Reading
from monitor.sources.huggingface_page.source import HuggingFacePage
from tests.sources import scenario

SAVED = datetime(2026, 10, 2, 12, tzinfo=UTC)
PAGES = sorted((scenario.FIXTURES / "huggingface_page").iterdir())
LINKED = ("addresses.txt", "browser.txt", "markdown.md", "html.md")
# Titles as all fixtures have them: the arXiv id, the date, and a word of the abstract.
PAPERS = {
    "SandRAG: Grains That Answer Questions": ("2605.90001", date(2026, 5, 29), "code1"),
    "4D Dunes: 3 Authors, 12 Deserts and a Map of Every Grain": (
        "2609.90002",
        date(2026, 9, 9),
        "code2",
    ),
    "Weekly": ("2502.90003", date(2025, 2, 27), "code3"),
    "[Re] Sand & Wind: α-Stable Storms 🏜️": ("2310.90004", date(2023, 10, 26), "code4"),
}
ABSTRACT = (
    "Dunes move over the plain as grains roll and fall, and until now no measure followed one "
    "grain through a whole storm. We follow it, and find it again."
)


UNSHOWN = "neither a link, authors nor a date shows that this is a paper"


read = partial(scenario.read, HuggingFacePage, at=SAVED, now=SAVED)


def card(number: int, title: str, date: str = "May 29", authors: str = "3 authors") -> str:
    """A card of a search as a browser copies it; the next number of votes is that of comments."""
    return f"{number}7\n\n{title}\n\n{ABSTRACT}\n\n{authors}\n\n·\n\n{date}\n\n{number}\n\n"


def page(
    *cards: str, header: str = "Daily Papers\n\nDaily\n\nWeekly\n\nMonthly\n\nOct 2\n\n"
) -> str:
    return header + "".join(cards)


def markdown(identifier: str, title: str, abstract: str = ABSTRACT) -> str:
    link = f"https://huggingface.co/papers/{identifier}"
    return f"### [{title}]({link})\n\n[{abstract}]({link})\n\n- 3 authors\n\n· May 29\n\n"


def titles(reading: Reading) -> list[str]:
    return [paper.title for paper in reading.papers]


def published(paper: Paper) -> date | None:
    return paper.published.date() if paper.published else None


# ── every form, of every page ───────────────────────────────────────────────────────


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" authors", "\u200b\xa0authors").replace(
            "Oct 2", "\u200bOct\xa02"
        ),
    ],
    ids=["as saved", "crlf", "invisible"],
)
def test_each_card_is_one_paper_and_nothing_else_is(path: Path, change) -> None:  # type: ignore[no-untyped-def]
    reading = read(change(path.read_text(encoding="utf-8")))
    assert titles(reading) == list(PAPERS)
    assert (reading.rejected, reading.error, reading.complete) == ((), "", True)
    for paper in reading.papers:
        identifier, day, code = PAPERS[paper.title]
        link = f"https://huggingface.co/papers/{identifier}"
        is_linked = path.name.endswith(LINKED)
        assert paper.keys == ({"arxiv": identifier} if is_linked else {})
        assert paper.url == (link if is_linked else "")
        if path.name.startswith(("search", "trending")):
            assert published(paper) == day
            assert paper.abstract.startswith("Dunes move over the plain")
            assert paper.abstract.endswith(f"at https://sand.example/{code}.")
        else:  # these show neither
            assert (paper.published, paper.abstract) == (None, "")
        is_of_a_day = path.name.startswith(("daily", "search"))
        assert [listed.day for listed in paper.listed] == [
            date(2026, 10, 2) if is_of_a_day else None
        ]
        assert paper.announced is None


DUNES = ("Dunes on the Move", "Grains That Follow Each Other", "A Storm Without Wind")


def lines_of(form: str) -> str:
    """Return a page with a paper a title, each in a form with PAPER, TITLE and ABSTRACT."""
    return "".join(
        form.replace("PAPER", f"https://huggingface.co/papers/2410.0{number}111")
        .replace("TITLE", title)
        .replace("ABSTRACT", f"{ABSTRACT} {ABSTRACT}")
        for number, title in enumerate(DUNES, start=1)
    )


@pytest.mark.parametrize(
    "form",
    [
        "PAPER\nTITLE\nABSTRACT\n",
        "PAPER\n\nTITLE\n\nABSTRACT\n\n",
        "PAPER\nTITLE\n8 authors\n",
        "PAPER\nSubmitted by\nrider\n57\nTITLE\nABSTRACT\n8 authors · May 30\n",
        "Submitted by\nrider\n57\nPAPER\nTITLE\nABSTRACT\n8 authors · May 30\n",
        "TITLE\nPAPER\nABSTRACT\n",
        "TITLE\nABSTRACT\nPAPER\n",
    ],
)
def test_addresses_on_lines_of_their_own_are_those_of_their_papers(form: str) -> None:
    reading = read(lines_of(form))
    assert (reading.rejected, reading.error) == ((), "")
    assert [(paper.title, paper.keys["arxiv"]) for paper in reading.papers] == [
        (title, f"2410.0{number}111") for number, title in enumerate(DUNES, start=1)
    ]


def test_a_page_says_which_addresses_belong_to_no_paper() -> None:
    reading = read(lines_of("Submitted by\nrider\n57\nTITLE\nABSTRACT\n8 authors\nPAPER\n"))
    assert [paper.title for paper in reading.papers] == list(DUNES)
    assert [rejected.why for rejected in reading.rejected] == [
        f"address that belongs to no paper: https://huggingface.co/papers/2410.0{n}111"
        for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("line", "links"),
    [
        ("[GitHub 131](https://github.com/ada/dunes)", {"code": "https://github.com/ada/dunes"}),
        (
            "- [GitHub 131](https://github.com/ada/dunes) · [arXiv Page](https://arxiv.org/abs/1) "
            "· [Project page](https://dunes.example/)",
            {"code": "https://github.com/ada/dunes", "project": "https://dunes.example/"},
        ),
        ("GitHub 131\n\nhttps://github.com/ada/dunes", {"code": "https://github.com/ada/dunes"}),
        ("[GitHub 131](javascript:alert(1))", {}),
        ("GitHub 131", {}),
    ],
)
def test_the_code_of_a_card_is_read(line: str, links: dict[str, str]) -> None:
    cards = markdown("2410.01111", DUNES[0]) + f"{line}\n\n" + markdown("2410.02111", DUNES[1])
    first, second = read(cards).papers
    assert (first.links, second.links) == (links, {})


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_piece_of_the_dump_of_a_text_browser_keeps_no_numbers(count: int) -> None:
    cards = [f"   [{n + 10}]{title}\n\n   {ABSTRACT}\n\n" for n, title in enumerate(DUNES)]
    assert titles(read("".join(cards[:count]))) == list(DUNES[:count])


def test_a_number_before_a_title_is_that_of_its_link() -> None:
    indented = fill(ABSTRACT, 72, subsequent_indent="   ")
    cards = "".join(
        f"   [{n}]{n}7\n\n[{n + 1}]Camels {n}, and\nwhere they go\n\n   [{n + 2}]{indented}\n\n"
        f"   [{n + 3}]3 authors · May 29 [{n + 4}]1\n\n"
        for n in (30, 35, 40)
    )
    reading = read("   [29]Subscribe\n\n   Oct 2\n\n" + cards)
    assert titles(reading) == [f"Camels {n}, and where they go" for n in (30, 35, 40)]
    assert {paper.abstract for paper in reading.papers} == {ABSTRACT}
    addresses = "References\n\n  31. https://huggingface.co/papers/2605.90001\n"
    assert read(cards + addresses).papers[0].keys == {"arxiv": "2605.90001"}


@pytest.mark.parametrize(
    ("address", "identifier"),
    [
        ("https://huggingface.co/papers/2605.90001v2", "2605.90001"),
        ("https://hf.co/papers/2605.90001?ref=x", "2605.90001"),
        ("/papers/2605.90001", "2605.90001"),
        ("file:///papers/2605.90001", "2605.90001"),
        ("https://evil.example/papers/2605.90001", ""),
        ("/papers/2699.90001", ""),
        ("/papers/trending", ""),
    ],
)
def test_the_id_is_read_from_addresses_of_papers(address: str, identifier: str) -> None:
    (paper,) = read(f"### [Camels]({address})\n\n3 authors\n").papers
    assert (paper.raw_id, paper.keys.get("arxiv", "")) == (identifier, identifier)


@pytest.mark.parametrize(
    ("text", "abstract"),
    [
        (
            markdown("2605.90001", "Camels", f"For x in [0, 1) and (0, 1], see [3]. {ABSTRACT}"),
            f"For x in [0, 1) and (0, 1], see [3]. {ABSTRACT}",
        ),
        (
            f"### [Camels](/papers/2605.90001)\n\n{fill(ABSTRACT)}\nModels are at\n"
            "https://huggingface.co/dunes/sand\n\n3 authors\n",
            f"{ABSTRACT} Models are at https://huggingface.co/dunes/sand",
        ),
        (markdown("2605.90001", "**Camels**", f"_{ABSTRACT}_"), ABSTRACT),
    ],
)
def test_brackets_and_addresses_in_an_abstract_stay(text: str, abstract: str) -> None:
    (paper,) = read(text).papers
    assert (paper.title, paper.abstract) == ("Camels", abstract)


# ── dates ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "day"),
    [
        (card(1, "Camels", "May 29"), date(2026, 5, 29)),
        (card(1, "Camels", "Published on May 29, 2024"), date(2024, 5, 29)),
        (card(1, "Camels", "May 29, 2024 12"), date(2024, 5, 29)),
        (card(1, "Camels", "Oct 3"), date(2025, 10, 3)),
        (card(1, "Camels", "2 days ago"), None),
        (card(1, "Camels", "Feb 30"), None),
        (card(1, "Camels", "May 29, 2027"), None),
        (markdown("2505.90001", "Camels").replace("May 29", "Apr 30"), date(2025, 4, 30)),
    ],
)
def test_a_paper_is_no_later_than_its_list_and_the_month_of_its_id(
    text: str, day: date | None
) -> None:
    (paper,) = read(page(text)).papers
    assert published(paper) == day


def test_a_date_without_a_paper_is_given_to_none() -> None:
    lost = "Some words\n\nthat are no card\n\n57\n\nMay 1, 2020\n\n"
    reading = read(page(card(1, "Camels", "2 days ago"), lost, card(2, "Dunes")))
    assert [published(paper) for paper in reading.papers] == [None, date(2026, 5, 29)]
    assert [r.where for r in reading.rejected] == ["line 25", "line 27", "line 31"]
    assert reading.rejected[2].why == "date that belongs to no paper: May 1, 2020"


# ── what is no paper ────────────────────────────────────────────────────────────────


def test_what_nothing_shows_to_be_a_paper_is_rejected_with_its_line() -> None:
    privacy = f"Your privacy\n\n{ABSTRACT}\n\nPrevious\n"
    reading = read(page(*(card(n, f"Camels {n}") for n in range(3)), privacy))
    assert titles(reading) == ["Camels 0", "Camels 1", "Camels 2"]
    assert [(r.where, r.why) for r in reading.rejected] == [
        ("line 53", f"{UNSHOWN}: Your privacy"),
        ("line 55", f"abstract without a title: {ABSTRACT[:60]}..."),
    ]
    assert not reading.error


def test_a_name_alone_before_a_date_is_no_paper_where_others_have_abstracts() -> None:
    lost = "7\n\nDune Lab\n\n· Published on May 1, 2020\n\n"
    reading = read(page(*(card(n, f"Camels {n}") for n in range(3)), lost))
    assert titles(reading) == ["Camels 0", "Camels 1", "Camels 2"]
    assert [r.why for r in reading.rejected] == ["title without an abstract: Dune Lab"]
    assert {published(paper) for paper in reading.papers} == {date(2026, 5, 29)}


def test_words_after_a_linked_title_are_no_abstract() -> None:
    text = "".join(f"* [Camels {n}](/papers/2605.9000{n}) in sand\n" for n in range(3)) + "Next\n"
    reading = read(text)
    assert [(p.title, p.abstract) for p in reading.papers] == [
        (f"Camels {n}", "") for n in range(3)
    ]
    assert [r.where for r in reading.rejected] == ["line 1", "line 2", "line 3"]


def test_an_organisation_before_a_date_is_no_paper() -> None:
    named = card(1, "Camels", authors="Dune Lab")
    for text in (named, named.replace("·\n\n", ""), named.replace("\n\n·\n\n", " · ")):
        papers = read(page(text, card(2, "Dunes"))).papers
        assert [paper.title for paper in papers] == ["Camels", "Dunes"]
        assert {published(paper) for paper in papers} == {date(2026, 5, 29)}


def test_furniture_between_a_title_and_its_abstract_parts_no_paper() -> None:
    text = card(1, "Camels").replace(ABSTRACT, f"#1 Paper of the day\n\nSOTA\n\n{ABSTRACT}")
    assert [(p.title, p.abstract) for p in read(page(text)).papers] == [("Camels", ABSTRACT)]


def test_a_page_of_which_over_a_tenth_is_rejected_is_partial_and_names_the_first() -> None:
    reading = read(page(card(1, "Camels"), "Some words\n\nPrevious\n\nOthers\n\nNext\n"))
    assert titles(reading) == ["Camels"] and not reading.complete
    assert reading.error.startswith("2 of 16 blocks cannot be read: line 25: neither a link")


def test_a_page_in_which_no_paper_is_sure_is_refused_with_its_line() -> None:
    reading = read(page("57\n\nCamels\n\n12\n\nDunes\n\nsome authors\n\n4\n\nSand\n\nPrevious\n"))
    assert reading.papers == () and not reading.complete
    assert reading.error == "no paper in the document is sure: line 13: title without an abstract"
    assert len(reading.rejected) == 4


def test_a_paper_that_is_listed_twice_is_read_once_with_all_that_is_known() -> None:
    short = "### [Camels](https://huggingface.co/papers/2605.90001)\n\n- 3 authors\n\n"
    reading = read(short + markdown("2605.90001", "Camels") + short)
    (paper,) = reading.papers
    assert (paper.abstract, published(paper)) == (ABSTRACT, date(2026, 5, 29))
    assert len(read(page(card(1, "Camels"), card(1, "Camels"))).papers) == 1


def test_one_stray_word_of_a_card_changes_no_page_of_titles_and_abstracts() -> None:
    plain = "".join(f"Camels {n}\n\n{ABSTRACT} {n}.\n\n" for n in range(10))
    assert len(read(plain + "PDF\n\n" + plain.replace("Camels", "Dunes")).papers) == 20


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_F02_a_cut_leaves_all_papers_before_it_as_they_were(path: Path) -> None:
    content = path.read_text(encoding="utf-8")
    if "browser" in path.name:  # has the addresses at its end
        content = content[: content.index("References")]
    whole = read(content).papers
    for end in range(0, len(content), 97):
        *before, _ = read(content[:end]).papers or [None]
        assert before == list(whole[: len(before)])
