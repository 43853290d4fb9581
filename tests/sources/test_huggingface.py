"""The text of a page of papers: every pair kept, no pair ever shifted."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.model import Reading
from monitor.resources import resource
from monitor.sources.huggingface_page.source import HuggingFacePage
from tests.sources import scenario

SEEDS = sorted(resource("seeds").glob("*.txt"))
SEED = SEEDS[0].read_bytes()
HEADER = (
    "new\n\nGet trending papers in your email inbox!\n\nSubscribe\n\n"
    "byAK and the research community\n\nMar 12\n\n"
)
TITLES = [
    "Learning to Negotiate with Language Agents",
    "Is attention all you need?",
    "nnU-Net revisited: a strong baseline for segmentation",
    "MARL!",
]
ABSTRACTS = [
    f"We study problem {n}. Agents are hard to train when rewards are sparse, as they often are "
    f"in the wild. Our method, number {n}, reaches the state of the art on three benchmarks, and "
    "we release all code and models for others to build upon."
    for n in range(4)
]


read = partial(scenario.read, HuggingFacePage)


def pairs(reading: Reading) -> list[tuple[str, str]]:
    return [(paper.title, paper.abstract) for paper in reading.papers]


def page(*blocks: str, header: str = HEADER) -> str:
    return header + "\n\n".join(blocks) + "\n"


def whole(count: int = 4) -> list[str]:
    return [text for pair in list(zip(TITLES, ABSTRACTS, strict=True))[:count] for text in pair]


# ── what is there is read ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(("number", "count"), [(0, 56), (1, 52), (2, 75), (3, 115)])
def test_every_pair_of_the_seeds_is_read(number: int, count: int) -> None:
    reading = read(SEEDS[number].read_bytes())
    assert len(reading.papers) == count
    assert (reading.rejected, reading.error, reading.complete) == ((), "", True)


SEED_PAIRS = pairs(read(SEED))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", " \t\n"),
        lambda text: text.replace("\n\n", "\n \xa0\t\n"),
        lambda text: text.replace("\n\n", "\n\n\n\n"),
        lambda text: text.replace("\n\n", "\n"),
        lambda text: "\n\n" + text + "\n\n\n",
        lambda text: "\ufeff" + text,
    ],
    ids=["crlf", "cr", "trailing", "blank", "more blank", "no blank", "around", "bom"],
)
def test_line_ends_and_blank_lines_change_nothing(change) -> None:  # type: ignore[no-untyped-def]
    reading = read(change(SEED.decode()))
    assert pairs(reading) == SEED_PAIRS
    assert reading.rejected == () and reading.complete


def test_M14_control_characters_do_not_stay_in_titles() -> None:
    (paper,) = read(page("Agents\x07 with \u202ebidi\u202c and\u2028breaks", ABSTRACTS[0])).papers
    assert paper.title == "Agents with bidi and breaks"


def test_wrapped_lines_are_joined() -> None:
    wrapped = ABSTRACTS[0].replace(". ", ".\n").replace(", ", ",\n")
    reading = read(page("Learning to Negotiate\nwith Language Agents", wrapped, *whole()[2:]))
    assert pairs(reading) == list(zip(TITLES, ABSTRACTS, strict=True))


def test_a_sentence_broken_by_a_blank_line_is_joined() -> None:
    text = " ".join(ABSTRACTS)
    middle = text.index(" they often", 400)
    broken = text[:middle] + "\n\n" + text[middle + 1 :]
    assert pairs(read(page(TITLES[0], broken, *whole()[2:])))[0] == (TITLES[0], text)


@pytest.mark.parametrize(
    ("title", "abstract"),
    [
        ("A Note on Agents", "We prove it."),
        ("A note on agents", "We show that agents need no rewards. The proof is short."),
        ("Who? What? Where? When? A Benchmark of Questions", ABSTRACTS[0]),
        ("Complete genome of a fungus reveals a chromosome-like region within it.", ABSTRACTS[0]),
        ("On " + "very " * 40 + "long titles of old papers and what came of them", ABSTRACTS[0]),
        ("Language Models: " + "A Survey of Surveys, " * 12 + "and More", ABSTRACTS[0]),
        ("R1", ABSTRACTS[0]),
        ("By My Eyes: Grounding Language Models with Sensors", ABSTRACTS[0]),
        ("New Papers on May 12", ABSTRACTS[0]),
        (TITLES[0], ABSTRACTS[0].removesuffix(".") + " at https://example.org/code"),
    ],
)
def test_unusual_shapes_are_distinguished_by_their_neighbours(title: str, abstract: str) -> None:
    reading = read(page(*whole(2), title, abstract, *whole()[4:]))
    expected = list(zip(TITLES, ABSTRACTS, strict=True))
    assert pairs(reading) == [*expected[:2], (title, abstract), *expected[2:]]
    assert reading.rejected == ()


BLOCKS = whole()
IN_TWO_LISTS = page(*BLOCKS[:4], TITLES[2]) + "\n" + HEADER + "\n\n".join(BLOCKS[6:])


@pytest.mark.parametrize(
    ("text", "kept", "where", "alone", "complete"),
    [
        (page(TITLES[0], *BLOCKS[2:]), [1, 2, 3], 11, 0, True),
        (page(*BLOCKS[:2], *BLOCKS[3:]), [0, 2, 3], 15, 3, True),
        # Of an abstract in paragraphs the first is kept.
        (page(*BLOCKS[:2], ABSTRACTS[1], *BLOCKS[4:]), [0, 2, 3], 15, 3, True),
        (page(*BLOCKS[:-1]), [0, 1, 2], 23, 6, False),
        (IN_TWO_LISTS, [0, 1, 3], 19, 4, True),
    ],
)
def test_what_has_no_pair_is_rejected_with_its_line(
    text: str, kept: list[int], where: int, alone: int, complete: bool
) -> None:
    reading = read(text)
    assert pairs(reading) == [(TITLES[n], ABSTRACTS[n]) for n in kept]
    (rejected,) = reading.rejected
    why = "abstract without a title" if alone % 2 else "title without an abstract"
    assert rejected.where == f"line {where}"
    assert rejected.why.startswith(f"{why}: {BLOCKS[alone][:20]}")
    assert len(rejected.why) < 100 and reading.complete == complete


@given(st.sets(st.integers(0, len(SEED_PAIRS) * 2 - 1), max_size=20))
@settings(max_examples=30, deadline=None)
def test_no_pair_is_ever_made_of_two_papers_unless_both_neighbours_are_gone(
    missing: set[int],
) -> None:
    """Without an abstract and the title after it, nothing could tell; all else must be right."""
    missing = {n for n in missing if not (n % 2 == 0 and n - 1 in missing)}
    blocks = SEED.decode().split("\n\n")
    kept = [block for n, block in enumerate(blocks) if n - 5 not in missing]
    lost = {n // 2 for n in missing}
    reading = read("\n\n".join(kept))
    assert pairs(reading) == [p for n, p in enumerate(SEED_PAIRS) if n not in lost]


# ── documents that end early ────────────────────────────────────────────────────────


def test_F02_a_cut_abstract_is_kept_and_the_reading_incomplete() -> None:
    reading = read(page(*whole())[:-60])
    assert len(reading.papers) == 4 and not reading.complete


def test_F02_a_cut_inside_a_character_is_incomplete() -> None:
    content = page(TITLES[0], ABSTRACTS[0] + " Ångström.é").encode()
    reading = read(content[: content.rindex("é".encode()) + 1])
    assert reading.papers[0].abstract.endswith("Ångström.")
    assert not reading.complete


# ── headers and dates ───────────────────────────────────────────────────────────────


def list_days(reading: Reading) -> list[date | None]:
    return [paper.listed[0].day if paper.listed else None for paper in reading.papers]


OTHER_WORDS = "Daily Papers\n\nSign up for our weekly letter\n\nLog in\n\nMarch 12\n\n"


@pytest.mark.parametrize(
    "header", ["", "new\n\n", "new\nSubscribe\nMar 12\n", "Mar 12\n\n", OTHER_WORDS]
)
def test_a_header_without_its_words_changes_no_pair(header: str) -> None:
    reading = read(page(*whole(), header=header))
    assert pairs(reading) == list(zip(TITLES, ABSTRACTS, strict=True)) and not reading.rejected
    [listed] = reading.papers[0].listed
    assert bool(listed.day) == ("Mar" in header)


def test_a_header_in_the_middle_begins_another_list() -> None:
    second = HEADER.replace("Mar 12", "Mar 13")
    reading = read(page(*whole(2)) + "\n" + page(*whole()[4:], header=second))
    days = [day and day.day for day in list_days(reading)]
    assert days == [12, 12, 13, 13] and reading.rejected == ()


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("Mar 12", date(2025, 3, 12)),
        ("March 12", date(2025, 3, 12)),
        ("MAR. 12th", date(2025, 3, 12)),
        ("12 Mar", date(2025, 3, 12)),
        ("Wed, Mar 12", date(2025, 3, 12)),
        ("Wednesday 12 March 2025", date(2025, 3, 12)),
        ("Mar 12, 2025", date(2025, 3, 12)),
        ("Mar 12 2024", date(2024, 3, 12)),
        ("2025-03-12", date(2025, 3, 12)),
        ("2025/03/12", date(2025, 3, 12)),
        ("Sept 3", date(2024, 9, 3)),
        ("Mar 20", date(2025, 3, 20)),
        ("Mar 21", date(2024, 3, 21)),
        ("Dec 31", date(2024, 12, 31)),
        ("Feb 29", date(2024, 2, 29)),
        ("Feb 30", None),
        ("Mar 12, 2099", None),
        ("2025-13-12", None),
    ],
)
def test_the_year_is_the_latest_that_is_not_in_the_future(line: str, day: date | None) -> None:
    papers = read(page(*whole(), header=f"new\n\n{line}\n\n")).papers
    is_guessed = not re.search(r"20\d\d", line)
    for rank, paper in enumerate(papers, start=1):
        [listed] = paper.listed
        assert (listed.day, listed.rank, listed.year_guessed) == (
            day,
            rank,
            is_guessed and bool(day),
        )
    assert {(paper.announced, paper.published) for paper in papers} == {(None, None)}


@pytest.mark.parametrize(
    ("saved", "now", "line", "year"),
    [
        ("2025-03-12", "2025-06-01", "Mar 12", 2025),
        ("2025-03-11T23", "2025-06-01", "Mar 12", 2024),
        ("2031-01-01", "2025-06-01", "Mar 12", 2025),
        ("2025-06-01", "2025-03-01", "Mar 12", 2024),
        ("1970-01-01", "2025-03-01", "Mar 12", 1969),
        ("0001-01-01", "2025-03-01", "Mar 12", None),
        ("2103-01-01", "2103-01-01", "Feb 29", 2096),  # eight years back
    ],
)
def test_the_earlier_of_file_time_and_now_bounds_the_year(
    saved: str, now: str, line: str, year: int | None
) -> None:
    at, until = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (saved, now))
    day, *_ = list_days(read(page(*whole(), header=f"{line}\n\n"), at=at, now=until))
    assert (day and day.year) == year
