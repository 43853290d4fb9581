"""Help, messages and pages are plain English: docs/contributing.md has the words to use."""

from __future__ import annotations

import ast
import inspect
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cli.conftest import whole

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "monitor").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
# A pattern of what not to write, and what to write instead.
AVOID = {
    r"\b(?:is|are|was|were|be|been) told\b": "is notified",
    r"\btells? (?:who|what|how|of|that|nobody|everybody|each|all|the)\b": "shows, reports, says",
    r"\bamiss\b": "wrong",
    r"\btaken up\b": "applied",
    r"\bhardly meant\b": "probably not intended",
    r"\bin words\b": "explained",
    r"\bsays? so\b": "reports it",
    r"\bSay the version\b": "Show the version",
    r"(?<!clock )\bis right\b(?! now)": "is valid",
    r"\b(?:topics?|query|queries|papers?|it|that|which) meets?\b": "matches",
    r"\b(?:cannot|can) be met\b": "can match",
    r"\bis (?:failing|down|held|waiting) since\b": "has been failing since",
    r"\bis not asked before\b": "will not be asked again before",
    r"\bnothing is to be sent\b": "nothing is due",
    r"\bwants to know\b": "needs",
    r"(?<!there )\bis no (?:kind|store|answer|feed|date|ISO|fault)\b": "is not a",
    r"\bof our days\b": "valid",
    r"\bmeans nothing\b": "is unintelligible",
    r"\bhere stands\b": "is",
    r"\bstands (?:here|there|beside|behind|only|twice|in|by itself)\b": "is",
    r"\bso many\b": "a number, or at most",
    r"\bof unknown end\b": "uncertain",
    r"(?:continues?|resumes?|again|service goes on) by (?:itself|themselves)\b": "automatically",
    r"\bwell again\b": "works again, has recovered",
    r"\bnobody knows\b": "unknown",
    r"\banew\b": "again",
    r"\bfor good\b": "permanently",
    r"\bmend(?:s|ed|ing)?\b": "repair, correct",
}
# Of comments and docstrings alone.
AVOID_IN_CODE = AVOID | {
    r"\b(?:no|some|every)body\b": "a row, process or server by its name",
    r"\bas it stands\b": "unchanged",
    r"\bthat is none\b": "that is not one",
    r"\A(?:# )?What (?=[^?]*\Z)": "a noun",
}
# Quotations and code are not judged.
QUOTED = re.compile(r"```.*?```|`[^`]*`|“[^”]*”|^ {4}[^\n]*$", re.DOTALL | re.MULTILINE)


def unwanted(text: str, avoid: Mapping[str, str] = AVOID) -> list[str]:
    """Return what is not plain in a text, with what to write instead."""
    return [
        f"“{found[0]}”: write {plain}"
        for pattern, plain in avoid.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def helps(command: Any, name: str = "paper-monitor") -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for word, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{name} {word}")


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that a person may read: of two words or more, and no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str(text)) if " " in text and id(node) not in docstrings:
                yield node.lineno, text


def test_help_is_plain() -> None:
    texts = dict(helps(whole()))
    assert len(texts) > 100
    assert {name: unwanted(text) for name, text in texts.items() if unwanted(text)} == {}


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The comments and docstrings of a module, each with its line."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield node.lineno, inspect.cleandoc(text)


# A type with more fields has a comment above each of them.
FEW_FIELDS = 8


def long_types(tree: ast.Module) -> Iterator[tuple[str, list[ast.AnnAssign]]]:
    """The dataclasses and Structs of more than a few fields, by name."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name, decorator_list=decorators, bases=bases):
                fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
                marks = " ".join(map(ast.unparse, (*decorators, *bases)))
                if len(fields) > FEW_FIELDS and re.search(r"\b(?:dataclass|Struct)\b", marks):
                    yield name, fields


def uncommented_fields(source: str) -> list[str]:
    """The fields of long types without a comment above them."""
    lines = source.split("\n")
    return [
        f"{name}.{ast.unparse(field.target)}"
        for name, fields in long_types(ast.parse(source))
        for field in fields
        if not lines[field.lineno - 2].lstrip().startswith("# ")
    ]


def test_messages_are_plain() -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{line}: {hit}"
        for path in MODULES
        for line, text in literals(path)
        for hit in unwanted(text)
    ]
    assert hits == []


def test_comments_and_docstrings_are_plain() -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{line}: {hit}"
        for path in MODULES
        for line, text in sentences(path)
        for hit in unwanted(QUOTED.sub(" ", text), AVOID_IN_CODE)
    ]
    assert hits == []


def test_pages_are_plain() -> None:
    hits = {path.name: unwanted(QUOTED.sub(" ", path.read_text("utf-8"))) for path in PAGES}
    assert {name: words for name, words in hits.items() if words} == {}


def test_what_is_not_plain_is_noticed() -> None:
    assert unwanted("the operator is told once; the topic meets 5 papers") == [
        "“is told”: write is notified",
        "“topic meets”: write matches",
    ]


def test_each_field_of_a_long_type_has_a_comment() -> None:
    hits = {
        str(path.relative_to(ROOT)): fields
        for path in MODULES
        if (fields := uncommented_fields(path.read_text("utf-8")))
    }
    assert hits == {}


def test_a_field_without_a_comment_is_noticed() -> None:
    commented = "".join(f"    # The {n}th.\n    f{n}: int\n" for n in range(FEW_FIELDS))
    for head in ("@dataclass(frozen=True)\nclass Wide:", "class Wide(msgspec.Struct):"):
        assert uncommented_fields(f"{head}\n{commented}") == []
        assert uncommented_fields(f"{head}\n{commented}    f8: int\n") == ["Wide.f8"]
