"""A name of a module is bound once: a second binding silently changes what the first one did."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

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
