"""The JSON Schema of monitor.yaml, for editors that complete and check while one types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from monitor.config.settings import KINDS, NAMED, SECTIONS, General
from monitor.plugins import Kinds

Schema = dict[str, Any]
Texts = Mapping[str, str]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(descriptions: Mapping[str, Texts] | None = None) -> Schema:
    """Return the schema of the file with the kinds that are built in; other kinds pass.

    `descriptions` say what the settings of each section mean; "" is the top of the file.
    """
    known, texts = descriptions or {}, {"type": "array", "items": {"type": "string"}}
    properties = {
        **_object(General, {})["properties"],
        "include": {"anyOf": [{"type": "string"}, texts]},
        **{name: _section(name, known.get(name, {})) for name in SECTIONS},
    }
    return {
        "$schema": _DIALECT,
        "title": "Paper Monitor: monitor.yaml",
        "type": "object",
        "additionalProperties": False,
        "properties": _described(properties, known.get("", {})),
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
