"""BibTeX is read as bibtexparser reads it, and behind what is broken."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import bibtexparser
import pytest

from monitor.sources.bibtex import BibTex, Entry, read_entries
from tests.sources.scenario import read

VALUES = (
    "{A {B {C {D}}} e}", r"{A \{ b \} \\{ c}", '"quoted, {with} = signs"', r'"Schr\"odinger"',
    '"a {"} b"', "2024", "mar", 'mar # " 3"', "{a} # {b}", "{}", '""', "{mail a@b {c}}",
    "{two\n  lines}", "{@article, not one}", "{über}", "{" * 12 + "deep" + "}" * 12,
)  # fmt: skip
BLOCKS = (
    "a comment between\n", "@comment{ {not} read }\n", "@string{mar = {March}}\n", "\n\n",
    '@preamble{"x"}\n', "% @ a sign\n", "@misc(round, title = {Round}, note = {a)b})\n",
    "@misc{nothing}\n", "@misc { spaced , title={x} } @misc{two, title={y}}\n",
)  # fmt: skip


def generated(seed: int) -> str:
    chance = random.Random(seed)

    def block(number: int) -> str:
        if chance.random() < 0.3:
            return chance.choice(BLOCKS)
        names = chance.choices(("title", "Title", "author", "year", "x-y"), k=chance.randint(0, 5))
        fields = (f"{chance.choice(('', '  '))}{n} = {chance.choice(VALUES)}" for n in names)
        end = chance.choice(("\n}\n", ",\n}\n", "}", "} junk\n"))
        return f"\n@{chance.choice(('Article', 'misc'))}{{key{number},\n" + ",\n".join(fields) + end

    return "".join(map(block, range(12)))


def by_the_library(content: str) -> Iterator[tuple[str, dict[str, str], int]]:
    for block in bibtexparser.parse_string(content, parse_stack=()).blocks:
        entry: Any = getattr(block, "ignore_error_block", None) or block
        if isinstance(entry, bibtexparser.model.Entry) and entry.fields:
            fields = {field.key.lower(): field.value for field in reversed(entry.fields)}
            yield entry.entry_type, fields, (entry.start_line or 0) + 1


@pytest.mark.parametrize("seed", range(200))
def test_entries_are_those_of_bibtexparser(seed: int) -> None:
    content = generated(seed)
    records, _ = read_entries(content)
    assert [
        (e.kind, {name: " # ".join(parts) for name, parts in e.fields.items()}, e.line)
        for e in records
        if isinstance(e, Entry) and e.fields
    ] == list(by_the_library(content))


ENTRY = "@article{{k{0},\n  title = {{Paper {0} on {{Sand}}}},\n  year = 2024\n}}\n"


@pytest.mark.parametrize(
    "broken",
    [
        "@article{b, title = {never {closed},\n year = 2024\n}\n",
        "@article{b, title = {no end of the entry}\n",
        '@article{b, title = "never closed, year = 2024\n}\n',
        "@article{b, title {no sign}}\n",
        "@article{b title = {no comma}}\n",
        "@article{b, title = {one} year = {2024}}\n",
        "@string{b\n",
        "@string{b = {never closed\n",
        "@comment{never closed\n",
        "@preamble{\"never closed\n",
        "@(\n",
        "}}}}\n",
        "{{{{\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_F12_what_is_broken_costs_itself_only(broken: str, end: str) -> None:
    content = (ENTRY.format(1) + broken + ENTRY.format(2)).replace("\n", end)
    papers = read(BibTex, content.encode()).papers
    assert [p.title for p in papers if p.raw_id != "b"] == ["Paper 1 on Sand", "Paper 2 on Sand"]


@pytest.mark.parametrize(
    ("broken", "is_fault"),
    [
        ("{k, title = {Sand},, year = 2024\n}", False),
        ("{k, title = {Sand}, % a note, with = signs\n year = 2024\n}", False),
        ('{k"2, title = {Sand}\n}', False),
        ("{k=2, title = {Sand}\n}", False),
        ("{title = {Sand}, year = 2024\n}", False),
        ("{k, title {no sign}, title = {Sand}, year = 2024\n}", True),
        ("{k, title = {Sand}, year = 2024", True),
        ("{k, title = {Sand},\n abstract = {never { closed},\n year = 2024\n}", True),
    ],
)
def test_what_is_whole_of_a_broken_entry_is_read_and_the_fault_reported(
    broken: str, is_fault: bool
) -> None:
    """As pybtex reads it, which has an entry for each of these."""
    reading = read(BibTex, f"@article{broken}\n{ENTRY.format(2)}".encode())
    assert [paper.title for paper in reading.papers] == ["Sand", "Paper 2 on Sand"]
    assert [(r.where, r.why.endswith("; the rest of it is read")) for r in reading.rejected] == [
        ("line 1", True)
    ] * is_fault


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        (r"title = {Sand \\}", "Sand"),
        (r"title = {Sand {\}}", "Sand }"),
        (r"title = {Sand \{}}", "Sand {"),
        (r"title = {Sand {\{a\\}} moves}", "Sand {a\\} moves"),
        (r"title = {Sand \{a, b\}}", "Sand {a, b}"),
        (r"title = {Sand \{a}", "Sand {a"),
        (r"title = {Sand a\}}", "Sand a}"),
        (r"title = {Sand \{ a}, note = {b \} c}", "Sand { a"),
        ("title = {Sand}, note = {C:\\dir\\}", "Sand"),
    ],
)
def test_a_field_ends_where_its_braces_do(fields: str, title: str) -> None:
    """Braces after a backslash count, as for BibTeX, unless the entry is broken then."""
    content = f"@misc{{k,\n {fields},\n author = {{Doe, Jane}},\n year = 2024\n}}\n"
    reading = read(BibTex, content + ENTRY.format(2))
    assert reading.rejected == ()
    paper = reading.papers[0]
    assert (paper.title, paper.authors, paper.year) == (title, ("Jane Doe",), 2024)


def test_nothing_is_inherited_from_an_entry_without_a_key() -> None:
    papers = read(BibTex, b"@misc{, title={A}, year=2020}\n@misc{b, title={B}}").papers
    assert [(paper.title, paper.venue, paper.year) for paper in papers] == [
        ("A", "", 2020),
        ("B", "", None),
    ]
