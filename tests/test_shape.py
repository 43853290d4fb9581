"""The size of things: a module fits a few screens, a function one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "monitor"
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40
# The tables of the store are read as one list.
LONG_MODULES = {"store/schema.py"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_modules_and_functions_are_short(path: Path):
    source = path.read_text(encoding="utf-8")
    if path.relative_to(PACKAGE).as_posix() not in LONG_MODULES:
        assert len(source.splitlines()) <= MAX_MODULE_LINES
    functions = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    long = {f.name: 1 + (f.end_lineno or 0) - f.lineno for f in functions}
    assert {name: lines for name, lines in long.items() if lines > MAX_FUNCTION_LINES} == {}
