"""docs/topics.md says what the language does: each example of the page is tried here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks import seed_topics
from monitor.errors import QueryError
from monitor.match import Synonyms, TopicIndex, parse_query
from monitor.match.language.lists import lists_query
from monitor.match.meaning.evaluate import View, matches_topic, points
from monitor.model import LikeText, Paper, Topic

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "topics.md"
CODE = re.compile(r"`([^`]+)`")


def tables(header: str, page: Path = PAGE) -> Iterator[list[str]]:
    """Yield the cells of each row of the tables of a page that begin with `header`."""
    inside = False
    for line in page.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
        elif line == header:
            inside = True
        elif inside and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def examples(header: str) -> list[tuple[str, str, bool]]:
    return [
        (CODE.findall(topic)[0], paper, column == 0)
        for topic, *columns in tables(header)
        for column, cell in enumerate(columns)
        for paper in CODE.findall(cell)
    ]


EXAMPLES = examples("| topic | matches | does not match |")
WITH_SYNONYMS = examples("| topic with synonyms | matches | does not match |")
SENTENCES = examples("| sentence | matches | does not match |")
FAULTS = [
    (CODE.findall(topic)[0], int(at), why) for topic, at, why in tables("| topic | at | because |")
]


def paper_of(example: str) -> tuple[Paper, tuple[str, ...]]:
    title, parted, abstract = example.partition(" / ")
    if parted:
        return Paper(title, abstract=abstract), ()
    match = re.fullmatch(r"(abstract|author|category|source|venue|announce)=(.*)", example)
    if not match:
        return Paper(example), ()
    field, value = match.groups()
    match field:
        case "author":
            return Paper("Untitled", authors=(value,)), ()
        case "category":
            return Paper("Agents", categories=(value,)), ()
        case "source":
            return Paper("Untitled"), (value,)
        case _:
            return Paper("Untitled", **{field: value}), ()


@pytest.mark.parametrize(("topic", "example", "expected"), EXAMPLES)
def test_each_example_of_the_page_holds(topic: str, example: str, expected: bool) -> None:
    paper, sources = paper_of(example)
    index = TopicIndex({"example": topic})
    assert index.errors == {}
    found = list(index.match([paper], [sources]))
    assert bool(found) == expected
    assert all(match.why for match in found)


def block_of(section: str, words: str = "") -> dict[str, Any]:
    """Return the section of the one block of YAML that begins with it and has these words."""
    blocks = re.findall(rf"```yaml\n({section}:\n.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [block] = (block for block in blocks if words in block)
    return yaml.safe_load(block)[section]


@pytest.mark.parametrize(("topic", "example", "expected"), WITH_SYNONYMS)
def test_each_example_of_synonyms_holds(topic: str, example: str, expected: bool) -> None:
    options = block_of("synonyms").items()
    groups = [[word, *([other] if isinstance(other, str) else other)] for word, other in options]
    query = parse_query(topic, Synonyms(groups))
    assert matches_topic(query, View(Paper(example))) == expected


def test_the_threshold_of_the_page_holds() -> None:
    options = block_of("topics", "threshold")["agents"]
    query = parse_query(options["query"], threshold=options["threshold"])
    page = PAGE.read_text("utf-8").replace("\n", " ")
    [shown] = re.findall(r'matches ("Agent.*?), not ("Reward.*?)\.', page)
    for titles, expected in zip(shown, (True, False), strict=True):
        for title, weight in re.findall(r'"([^"]+)" \((\d+)\)', titles):
            assert points(query, View(Paper(title))) == int(weight)
            assert matches_topic(query, View(Paper(title))) == expected


def test_the_lists_of_the_page_are_what_it_says() -> None:
    options = block_of("topics", "any:")["language-agents"]
    found = lists_query(options["any"], (), options["none"], (), options["categories"])
    assert f"`{found}`" in PAGE.read_text("utf-8").replace("\n", " ")


def test_the_twenty_topics_find_what_the_page_says() -> None:
    options = {
        row[0]: row[1:4]
        for row in tables(
            "| topic on the seeds | papers | missed | wrong | judged |",
            DOCS / "decisions" / "0008-substrings.md",
        )
    }
    found = {
        f"`{row.topic}`": [str(len(papers)) for papers in (row.found, row.missed, row.wrong)]
        for row in seed_topics.rows(seed_topics.papers())
    }
    assert options == found
    assert len(options) == 20


@pytest.mark.parametrize(("topic", "position", "because"), FAULTS)
def test_each_fault_of_the_page_is_refused(topic: str, position: int, because: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(topic)
    assert refused.value.position == position
    assert refused.value.message.startswith(because)


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) > 100
    assert len(FAULTS) > 15


def test_the_short_list_is_understood() -> None:
    for row in tables("| write | to find |"):
        for topic in CODE.findall(row[0]):
            parse_query(topic)


@pytest.mark.parametrize(("sentence", "title", "expected"), SENTENCES)
def test_a_paper_is_near_to_a_sentence_or_not(sentence: str, title: str, expected: bool) -> None:
    topic = Topic("", "", like=LikeText(sentence))
    assert bool([*TopicIndex({"": topic}).match([Paper(title)])]) is expected
