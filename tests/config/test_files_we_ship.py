"""The files that come with Paper Monitor: the starter, the demo's, the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor import config
from monitor.config.__main__ import schema
from monitor.resources import resource

DOCS = Path(__file__).parents[2] / "docs"


def test_the_starter_works_as_it_is_with_no_environment(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    file.write_text(config.starter(), encoding="utf-8")
    (tmp_path / "dumps").mkdir()
    settings = config.load(file, {})

    assert settings.warnings == ()
    assert settings.sources["daily-page"].options.path == f"{tmp_path}/dumps/*.txt"
    assert [entry.kind for entry in settings.channels.values()] == ["file"]
    assert config.topics_of(settings, settings.subscriptions["me"]) == tuple(settings.topics)


def test_what_is_commented_out_in_the_starter_works_too(tmp_path: Path) -> None:
    lines = config.starter().splitlines()
    section = next(number for number, line in enumerate(lines) if "where papers come from" in line)
    opened = [line.replace("# ", "", 1) if _is_setting(line) else line for line in lines[section:]]
    file = tmp_path / "monitor.yaml"
    file.write_text("\n".join(lines[:section] + opened), encoding="utf-8")
    settings = config.load(file, {"SMTP_PASSWORD": "p", "SLACK_BOT_TOKEN": "t"})

    assert {"arxiv", "nature", "daily-page"} == set(settings.sources)
    assert settings.subscriptions["me"].email == ("ada@example.org",)
    assert settings.smtp is not None
    assert settings.slack is not None
    assert settings.operator is not None


def _is_setting(line: str) -> bool:
    text = line.strip().removeprefix("# ").lstrip()
    return line.strip().startswith("# ") and text.split(" ")[0].endswith(":")


def test_the_schema_of_the_docs_is_the_one_in_force() -> None:
    """`python -m monitor.config > docs/monitor.schema.json` makes it anew."""
    assert json.loads((DOCS / "monitor.schema.json").read_text("utf-8")) == schema()


def test_every_setting_is_described_where_editors_show_it() -> None:
    assert list(_undescribed(schema(), "")) == []


def _undescribed(part: Any, where: str) -> Iterator[str]:
    if isinstance(part, list):
        for item in part:
            yield from _undescribed(item, where)
    elif isinstance(part, dict):
        properties = part.get("properties", {})
        yield from (
            f"{where}.{name}" for name in properties if not properties[name].get("description")
        )
        for name, value in part.items():
            yield from _undescribed(value, f"{where}.{name}")


def test_the_schema_is_also_made_outside_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = schema()["properties"].keys()
    monkeypatch.setattr("monitor.config.__main__.DOCS", tmp_path / "docs")
    assert schema()["properties"].keys() == properties


def test_the_schema_takes_the_files_we_ship() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    check = jsonschema.Draft202012Validator(schema())

    check.validate(yaml.safe_load(config.starter()))
    check.validate(yaml.safe_load((resource("seeds") / "monitor.yaml").read_text("utf-8")))
    assert not check.is_valid({"sources": {"s": {"kind": "feed", "ulr": "x"}}})
    assert not check.is_valid({"topics": {"t": {"querry": "x"}}})
    assert not check.is_valid({"stroe": "x"})
    assert check.is_valid({"sources": {"s": {"kind": "from-a-package", "anything": 1}}})
