"""docs/topics.md says what the language does: each example of the page is tried here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.errors import QueryError
from monitor.match import TopicIndex, parse_query
from monitor.model import Paper

PAGE = Path(__file__).parents[2] / "docs" / "topics.md"
CODE = re.compile(r"`([^`]+)`")


def tables(header: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the tables that begin with `header`."""
    inside = False
    for line in PAGE.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
        elif line == header:
            inside = True
        elif inside and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


EXAMPLES = [
    (CODE.findall(topic)[0], paper, column == 0)
    for topic, *columns in tables("| topic | meets | does not meet |")
    for column, cell in enumerate(columns)
    for paper in CODE.findall(cell)
]
FAULTS = [
    (CODE.findall(topic)[0], int(at), why) for topic, at, why in tables("| topic | at | because |")
]


def paper_of(example: str) -> tuple[Paper, tuple[str, ...]]:
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


@pytest.mark.parametrize(("topic", "example", "met"), EXAMPLES)
def test_each_example_of_the_page_holds(topic: str, example: str, met: bool) -> None:
    paper, sources = paper_of(example)
    index = TopicIndex({"example": topic})
    assert index.errors == {}
    found = list(index.match([paper], [sources]))
    assert bool(found) == met
    assert all(match.why for match in found)


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
