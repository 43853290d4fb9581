"""docs/commands.md has a section for each command, with its options and the keys of its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from monitor.cli import GROUPS, app
from tests.cli.conftest import whole
from tests.cli.test_json import EVERY

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
GENERAL = SECTIONS.pop("Common to all commands")


def commands(group: Any, *names: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield " ".join((*names, name)), command


COMMANDS = dict(commands(whole()))


def options(command: Any) -> set[str]:
    names = (name for one in command.params for name in (*one.opts, *one.secondary_opts))
    return {name for name in names if name.startswith("--")}


def test_each_command_has_its_section_and_no_section_is_left_over() -> None:
    assert SECTIONS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_shows_how_the_command_is_written_and_its_options(name: str) -> None:
    named = set(re.findall(r"`(--[a-z-]+)", re.sub(r"`[a-z]+ --json`", "", SECTIONS[name])))
    if "with `--json` it never is" in SECTIONS[name]:
        named.add("--json")
    assert named == options(COMMANDS[name])
    first = SECTIONS[name].strip().splitlines()[0]
    assert re.sub(r"\[(list|search|serve)\]", r"\1", first).startswith(f"paper-monitor {name}")
    arguments = [one for one in COMMANDS[name].params if one.param_type_name == "argument"]
    for argument in arguments:
        assert (argument.metavar or "sent|resend") in first


@pytest.mark.parametrize(("line", "shape"), [(line, shape) for line, _, shape in EVERY])
def test_a_section_shows_every_key_of_its_json(line: str, shape: Any) -> None:
    words = line.split()
    default = GROUPS[words[0]][1] if words[0] in GROUPS else ""
    names = (line, words[0], " ".join(words[:2]), f"{words[0]} {default}")
    name = next(name for name in names if '"' in SECTIONS.get(name, ""))
    shown = set(re.findall(r'"(\w+)"', SECTIONS[name]))
    for key in set(keys_in(shape)):
        assert key in shown or (name == "run" and key not in ("runs", "digests")), key


def keys_in(shape: Any) -> Iterator[str]:
    for key, value in shape.items() if isinstance(shape, dict) else ():
        yield key
        yield from keys_in(value)
    for value in shape if isinstance(shape, list) else ():
        yield from keys_in(value)


def test_what_holds_for_all_is_documented() -> None:
    words = "--config --json --now --help --version --install-completion PAPER_MONITOR_CONFIG"
    assert [word for word in words.split() if word not in GENERAL] == []


def test_help_names_no_types_of_the_program() -> None:
    for name in ("papers search", "deliveries resolve", "topics try"):
        answer = CliRunner().invoke(app, [*name.split(), "--help"])
        assert answer.exit_code == 0 and "<" not in answer.output
