"""How names of persons are put in order, and that nothing else in the package parses them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from monitor.identity.authors import people
from monitor.match.meaning.names import matches_name, spellings
from monitor.sources.fields.names import split_names
from monitor.text import given_name_first, split_inverted
from tests.module_texts import modules_where, texts_of, tree_of

HOME = "text/person_names.py"
PARSING = ("commands", "digest", "diff", "identity", "match", "sources", "text")


@pytest.mark.parametrize(
    ("written", "in_order"),
    [
        ("Doe, J. R.", "J. R. Doe"),
        ("van der Berg, Jane", "Jane van der Berg"),
        ("Doe, Jane, Jr.", "Jane Doe, Jr."),
        ("Doe, Jane R Jr", "Jane R Doe Jr"),
        ("Doe, Jane R 3rd", "Jane R Doe 3rd"),
        ("Jane Doe, Jr.", "Jane Doe, Jr."),
        ("Petrov, V.", "V. Petrov"),
        ("Petrova, Anna V", "Anna V Petrova"),
        ("Rahman, Abdul Md", "Abdul Md Rahman"),
        ("ATLAS Collaboration, ", "ATLAS Collaboration"),
        ("The A, B, and C group", "The A, B, and C group"),
    ],
)
def test_given_names_come_first_and_suffixes_last(written: str, in_order: str) -> None:
    assert given_name_first(written) == in_order


@pytest.mark.parametrize("suffix", ["Jr.", "jr", "Sr.", "III", "2nd", "PhD"])
def test_each_reader_of_names_knows_the_same_suffixes(suffix: str) -> None:
    assert split_names([f"John Smith, {suffix}, Jane Doe"]) == [f"John Smith, {suffix}", "Jane Doe"]
    if suffix != "2nd":  # identity compares letters only
        assert people((f"John Smith {suffix}",)) == people(("John Smith",))


@pytest.mark.parametrize("author", ["King, Martin, III", "Martin King, Jr.", "Martin King 3rd"])
def test_a_search_finds_an_author_whatever_the_suffix(author: str) -> None:
    [asked] = spellings("Martin King")
    [name] = spellings(author)
    assert matches_name(asked, name)
    assert not matches_name(spellings("Lewis King")[0], name)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("Hsiao, V.", ("Hsiao", "V.", "")),
        ("van der Berg, Jane", ("van der Berg", "Jane", "")),
        ("García López, María José", ("García López", "María José", "")),
        ("Doe, Jane, Jr.", ("Doe", "Jane", "Jr.")),
        ("King, Jr.", None),
        ("Plans, Inc.", None),
        ("ATLAS Collaboration, ", None),
        ("Smith & Sons, London", None),
        ("Doe, Jane and Roe, Richard", None),
        ("Doe, jane", None),
        ("Doe, Jane, Roe", None),
        ("Jane Doe", None),
    ],
)
def test_a_family_name_before_a_comma_is_known(
    written: str, parts: tuple[str, str, str] | None
) -> None:
    assert split_inverted(written) == parts


def has_suffixes(path: Path) -> bool:
    return any(re.search(r"(?i)(?<![a-z])(?:jr|phd)(?![a-z])|\[JS\]r", t) for t in texts_of(path))


def has_particles(path: Path) -> bool:
    some = {"bin", "degli", "della", "ter", "van", "vom"}
    return any(len(some & set(re.findall(r"[a-z]+", text))) > 1 for text in texts_of(path))


def has_cyrillic(path: Path) -> bool:
    return any("абв" in text for text in texts_of(path))


def cuts_at_a_comma(path: Path) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("partition", "rpartition", "split", "rsplit")
        and any(isinstance(a, ast.Constant) and str(a.value).strip() == "," for a in node.args)
        for node in ast.walk(tree_of(path))
    )


def test_no_module_has_a_second_list_of_suffixes_or_particles() -> None:
    # Others are a field of foreign search engines, `jr(...)`, and types of works, `phdthesis`.
    others = ["match/language/mistakes.py", "digest/citation.py"]
    assert modules_where(has_suffixes, but=[HOME, *others]) == set()
    assert modules_where(has_particles, but=[HOME]) == set()
    assert modules_where(has_cyrillic, but=[HOME]) == set()


def test_no_module_turns_names_round_by_itself() -> None:
    others = {
        "text/tables.py",  # its own syntax
        "digest/schedule.py",  # days
        "digest/about.py",  # hours and weekdays
        "identity/blocking.py",  # stored blocks; and Jr. changes them
        "identity/reasons.py",  # reasons that are stored
        "sources/europepmc.py",  # a list of names
        "sources/pubmed.py",  # a list of ids
    }
    cut = modules_where(cuts_at_a_comma, but={HOME, *others})
    assert {name for name in cut if name.startswith(PARSING)} == set()
