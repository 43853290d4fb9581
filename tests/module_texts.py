"""The texts of the package's modules, for tests that look for a second copy of a table."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "monitor"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def texts_of(path: Path) -> tuple[str, ...]:
    """Return the texts of a module without those that document it."""
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return tuple(
        node.value
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documented
    )


def modules_where(has_copy: Callable[[Path], object], *, but: Iterable[str] = ()) -> set[str]:
    """Return the modules, without `but`, that a test calls a second home of a fact."""
    return {
        name
        for path in PACKAGE.rglob("*.py")
        if (name := path.relative_to(PACKAGE).as_posix()) not in but and has_copy(path)
    }
