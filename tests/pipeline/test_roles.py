"""The role of a source decides in one place what becomes of its records."""

from __future__ import annotations

import ast
from pathlib import Path

from monitor.model import Role
from monitor.pipeline import roles

PIPELINE = Path(roles.__file__).parent


def names_a_role(module: Path) -> bool:
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    return any(
        isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Role" for node in nodes
    )


def test_each_role_has_a_class_of_its_own() -> None:
    assert set(roles._ROLES) == set(Role)
    assert len(set(roles._ROLES.values())) == len(Role)


def test_reading_and_storing_ask_for_no_role() -> None:
    asking = {module.name for module in PIPELINE.glob("*.py") if names_a_role(module)}
    # The others list the sources of a role, or tell what is stored of them apart.
    assert asking == {"cleanup.py", "roles.py", "runtime.py"}
