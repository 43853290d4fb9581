"""Each setting has its words where it is declared; the schema and the docs are made from these."""

from __future__ import annotations

import compileall
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from pydantic import Field

from monitor import config
from monitor.config.declared import declared
from monitor.config.schema import schema
from monitor.config.tables import mark, table_of, tables, with_tables, write
from monitor.errors import UsageError
from monitor.resources import resource
from monitor.setting_types import Duration, Required, Section, Unset

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMMAND = "run `make settings`, which is `python -m monitor.config --docs docs`"


def settings_in(part: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each setting of a schema by its place."""
    if isinstance(part, list):
        for item in part:
            yield from settings_in(item, where)
    elif isinstance(part, dict):
        for name, value in part.get("properties", {}).items():
            yield f"{where}.{name}", value
        for name, value in part.items():
            yield from settings_in(value, where if name == "properties" else f"{where}.{name}")


def test_every_built_in_setting_has_words() -> None:
    found = list(settings_in(schema()))
    assert len(found) > 200
    wordless = {
        where
        for where, setting in found
        if setting["description"].partition(". ")[0].lower() == where.rpartition(".")[2]
    }
    assert wordless == set(), "declare each with Field(description=...)"


def test_the_schema_of_the_docs_is_that_of_the_settings() -> None:
    assert json.loads((DOCS / "monitor.schema.json").read_text("utf-8")) == schema(), COMMAND


def test_the_tables_of_the_docs_are_those_of_the_settings() -> None:
    made = tables()
    for path in DOCS.glob("*.md"):
        text = path.read_text("utf-8")
        assert text == with_tables(text, made), COMMAND
    everything = "\n".join(path.read_text("utf-8") for path in DOCS.glob("*.md"))
    marked = re.findall(r"^<!-- the settings of (.+) begin -->$", everything, re.MULTILINE)
    assert sorted(marked) == sorted(made)


def test_a_table_without_a_place_in_the_docs_is_missed(tmp_path: Path) -> None:
    for path in DOCS.glob("*.md"):
        text = path.read_text("utf-8").replace(mark("smtp.oauth", "begin"), "")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"no page in .* has the settings of smtp\.oauth"):
        write(tmp_path)


def test_the_schema_needs_no_docs_and_no_source_code(tmp_path: Path) -> None:
    """As in a wheel of which only compiled files are left, without docstrings."""
    package = tmp_path / "monitor"
    shutil.copytree(ROOT / "monitor", package, ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(package, quiet=1, legacy=True, optimize=2)
    for path in package.rglob("*.py"):
        path.unlink()
    command = [sys.executable, "-OO", "-m", "monitor.config"]
    printed = subprocess.run(command, cwd=tmp_path, env={}, check=True, capture_output=True).stdout
    assert json.loads(printed) == schema(plugins=True)


class Post(Section):
    """Settings of all forms."""

    name: str
    wait: Duration = Field(timedelta(hours=36), description="how long to wait")
    rest: Duration = Field("90m", validate_default=True, description="`5m` | `1h`")
    sender: str = Field(alias="from", description="`ada` or [another](mail.md)")
    title: Annotated[str, Unset("its name")] = Field("", description="the title")
    host: Annotated[str, Required("without `from`")] = Field("", description="the host")
    ways: tuple[str, ...] = ("a", "b")
    once: frozenset[str] = frozenset({"c"})
    share: float = 2
    loud: bool = False
    limits: Mapping[str, int] = Field(default_factory=dict)


def test_a_table_shows_each_setting_with_its_default_as_the_file_has_it() -> None:
    """Without words, a setting has its name."""
    assert table_of("setting", declared(Post)).splitlines() == [
        "| setting | default | meaning |",
        "| --- | --- | --- |",
        "| `wait` | `36h` | how long to wait |",
        r"| `rest` | `90m` | `5m` \| `1h` |",
        "| `from` | required | `ada` or [another](mail.md) |",
        "| `title` | its name | the title |",
        "| `host` | required without `from` | the host |",
        "| `ways` | `[a, b]` | ways |",
        "| `once` | `c` | once |",
        "| `share` | `2` | share |",
        "| `loud` | `false` | loud |",
        "| `limits` | | limits |",
    ]


def test_the_schema_takes_its_own_defaults() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    refused = {
        where: setting["default"]
        for where, setting in settings_in(schema())
        if "default" in setting
        and not jsonschema.Draft202012Validator(setting).is_valid(setting["default"])
    }
    assert refused == {}


def test_the_schema_takes_the_files_we_ship() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(schema())

    check.validate(yaml.safe_load(config.starter()))
    check.validate(yaml.safe_load((resource("seeds") / "monitor.yaml").read_text("utf-8")))
    assert not check.is_valid({"sources": {"s": {"kind": "feed", "ulr": "x"}}})
    assert not check.is_valid({"topics": {"t": {"querry": "x"}}})
    assert not check.is_valid({"stroe": "x"})
    assert check.is_valid({"sources": {"s": {"kind": "from-a-package", "anything": 1}}})


# What begins a block of a Compose file.
OF_COMPOSE = {"services", "secrets", "volumes", "networks"}


def blocks_of_pages() -> list[tuple[str, Any]]:
    """Return each YAML block of the docs that is a part of monitor.yaml, with its page."""
    blocks = []
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        text = re.sub(r"^ +(?=```)", "", page.read_text("utf-8"), flags=re.MULTILINE)
        for block in re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            blocks.append((page.name, yaml.safe_load(block)))
    return [(page, block) for page, block in blocks if block and not block.keys() & OF_COMPOSE]


def test_the_schema_takes_every_block_of_the_docs() -> None:
    """The schema is the file that editors read."""
    jsonschema = pytest.importorskip("jsonschema")
    published = json.loads((DOCS / "monitor.schema.json").read_text("utf-8"))
    check = jsonschema.Draft202012Validator(published)
    blocks = blocks_of_pages()
    faults = [(page, fault.message) for page, block in blocks for fault in check.iter_errors(block)]

    assert len(blocks) > 40
    assert faults == []
    assert not check.is_valid({"sources": {"s": {"kind": "jsonl", "fields": {"title": 1}}}})
