"""A name of a module is bound once: a second binding silently changes what the first one did."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "monitor"


def bound_names(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield a name each time the statements bind it; branches that exclude each other bind once."""
    for statement in statements:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if not any("overload" in ast.unparse(node) for node in statement.decorator_list):
                    yield statement.name
            case ast.Import() | ast.ImportFrom():
                yield from (
                    alias.asname or alias.name
                    for alias in statement.names
                    # `import a.b` and `import a.c` bind `a` to one module.
                    if alias.asname or "." not in alias.name
                )
            case ast.If():
                yield from most_of((statement.body, statement.orelse))
            case ast.Try():
                handlers = [handler.body for handler in statement.handlers]
                yield from most_of(([*statement.body, *statement.orelse], *handlers))
                yield from bound_names(statement.finalbody)
            case ast.With():
                yield from bound_names(statement.body)
            case ast.Assign() | ast.AnnAssign():
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                )
                yield from (
                    node.id
                    for target in targets
                    for node in ast.walk(target)
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                )


def most_of(branches: Sequence[Sequence[ast.stmt]]) -> Iterator[str]:
    most: Counter[str] = Counter()
    for branch in branches:
        most |= Counter(bound_names(branch))
    yield from most.elements()


def bound_twice(source: str) -> list[str]:
    bound = Counter(bound_names(ast.parse(source).body))
    return [name for name, count in bound.items() if count > 1 and name != "_"]


def test_no_module_binds_a_name_twice():
    twice = {
        str(file.relative_to(PACKAGE)): names
        for file in sorted(PACKAGE.rglob("*.py"))
        if (names := bound_twice(file.read_text(encoding="utf-8")))
    }
    assert not twice


@pytest.mark.parametrize(
    "source",
    [
        "LIMIT = 4\nLIMIT = 10_000",
        "LIMIT: int = 4\nA, LIMIT = 1, 2",
        "def read(): ...\ndef read(): ...",
        "from json import loads as read\nclass read: ...",
        "if True:\n    LIMIT = 4\nLIMIT = 5",
        "try:\n    LIMIT = 4\nfinally:\n    LIMIT = 5",
    ],
)
def test_two_bindings_are_found(source):
    assert len(bound_twice(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "if TYPE_CHECKING:\n    import a\nelse:\n    a = None",
        "try:\n    import a\nexcept ImportError:\n    a = None",
        "@overload\ndef f(x: int): ...\n@typing.overload\ndef f(x: str): ...\ndef f(x): ...",
        "import a.b\nimport a.c",
        "TABLE = {}\nTABLE[1] = 2\nTABLE.value = 3",
        "def f():\n    LIMIT = 4\nLIMIT = 5",
    ],
)
def test_bindings_that_exclude_each_other_count_once(source):
    assert not bound_twice(source)
