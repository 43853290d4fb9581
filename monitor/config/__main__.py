"""`python -m monitor.config` writes the JSON Schema of monitor.yaml, for editors, to stdout.

In a checkout, settings are described as in the tables of docs/configuration.md and of
docs/operations.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from monitor.config.settings import KINDS, NAMED, SECTIONS, General
from monitor.plugins import Kinds

Schema = dict[str, Any]
Texts = Mapping[str, str]

DOCS = Path(__file__).parents[2] / "docs"
# The section of monitor.yaml that a heading is about.
HEADINGS = {
    "The top of the file": "",
    "Mail": "smtp",
    "Pages": "web",
    "Trying again": "retry",
    "Clean-up": "retention",
}


def descriptions(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the section and name of each setting in the tables of a page, and what they say."""
    section, column = "", -1
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if line.startswith("## "):
            section = HEADINGS.get(line[3:], line[3:].lower())
        elif not cells:
            column = -1
        elif column < 0:
            columns = (at for at, cell in enumerate(cells) if re.match("setting( of|$)", cell))
            column = next(columns, len(cells))
        elif column < len(cells):
            plain = re.sub(r"\[([^][]+)\]\([^()]+\)", r"\1", cells[-1]).replace("`", "")
            for name in re.findall(r"`(\w+)`", cells[column]):
                yield section, name, plain[:1].upper() + plain[1:]


def schema() -> Schema:
    """Return the schema of the file with the kinds that are built in; other kinds pass."""
    known: dict[str, dict[str, str]] = defaultdict(dict)
    pages = (DOCS / "configuration.md", DOCS / "operations.md")
    for page in pages if DOCS.is_dir() else ():
        for section, name, meaning in descriptions(page.read_text(encoding="utf-8")):
            before = f"{known[section][name]}. " if name in known[section] else ""
            known[section][name] = before + meaning
    texts = {"type": "array", "items": {"type": "string"}}
    properties = {
        **_object(General, {})["properties"],
        "include": {"anyOf": [{"type": "string"}, texts]},
        **{name: _section(name, known[name]) for name in SECTIONS},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Paper Monitor: monitor.yaml",
        "type": "object",
        "additionalProperties": False,
        "properties": _described(properties, known[""]),
    }


def _described(properties: Schema, texts: Texts) -> Schema:
    described = {name: {"description": text} for name, text in texts.items()}
    return {name: value | described.get(name, {}) for name, value in properties.items()}


def _section(name: str, texts: Texts) -> Schema:
    settings = _object(SECTIONS[name], texts)
    if name in KINDS:
        settings = {"anyOf": list(_kinds(settings["properties"], KINDS[name], texts))}
    if name in NAMED:  # it may stand empty
        return {"type": ["object", "null"], "additionalProperties": settings}
    return {"anyOf": [settings, {"enum": [False, "off"]}]} if name == "web" else settings


def _kinds(common: Schema, kinds: Kinds[Any], texts: Texts) -> Iterator[Schema]:
    names = sorted(kinds.built_in)
    for kind in names:
        settings = _object(kinds.load(kind).Options, texts)
        settings["properties"] = {**common, **settings["properties"]}
        settings["properties"]["kind"] = common["kind"] | {"const": kind}
        yield settings | {"required": ["kind", *settings.get("required", ())]}
    other = common["kind"] | {"not": {"enum": names}}
    yield {"type": "object", "required": ["kind"], "properties": {"kind": other}}


def _object(model: type[BaseModel], texts: Texts) -> Schema:
    """Return the settings of a model, with definitions written where they are used."""
    whole = model.model_json_schema()
    made: Schema = _inline(whole, whole.pop("$defs", {}), texts)
    for ours in ("name", "options"):
        if made["properties"].pop(ours, None) and ours in made["required"]:
            made["required"].remove(ours)
    return made


def _inline(value: Any, definitions: Mapping[str, Any], texts: Texts) -> Any:
    if isinstance(value, list):
        return [_inline(item, definitions, texts) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        definition = definitions[value["$ref"].rpartition("/")[2]]
        value = definition | {key: other for key, other in value.items() if key != "$ref"}
    inlined = {
        key: _inline(item, definitions, texts)
        for key, item in value.items()
        if key != "title" or isinstance(item, dict)  # a setting of this name
    }
    if "properties" in inlined:
        inlined["properties"] = _described(inlined["properties"], texts)
    return inlined


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
