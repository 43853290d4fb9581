"""The JSON Schema of monitor.yaml, for editors that complete and check while one types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from monitor import plugins
from monitor.config.channel_settings import (
    ChannelSettings,
    OperatorSettings,
    RetrySettings,
    SlackSettings,
    SmtpSettings,
)
from monitor.config.kinds import channel_options, source_options
from monitor.config.settings import (
    General,
    SourceSettings,
    SubscriptionSettings,
    TopicSettings,
)
from monitor.config.store_settings import RetentionSettings
from monitor.config.web_settings import WebSettings

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> Schema:
    """Return the schema of the file with the kinds that are built in; other kinds pass."""
    properties = {
        **_properties(General),
        "include": {"anyOf": [{"type": "string"}, _list({"type": "string"})]},
        "sources": _entries(_kinds(SourceSettings, plugins.SOURCES, source_options)),
        "topics": _entries(_object(TopicSettings)),
        "channels": _entries(_kinds(ChannelSettings, plugins.CHANNELS, channel_options)),
        "subscriptions": _entries(_object(SubscriptionSettings)),
        "operator": _object(OperatorSettings),
        "retry": _object(RetrySettings),
        "retention": _object(RetentionSettings),
        "smtp": _object(SmtpSettings),
        "slack": _object(SlackSettings),
        "web": {"anyOf": [_object(WebSettings), {"enum": [False, "off"]}]},
    }
    return {
        "$schema": _DIALECT,
        "title": "Paper Monitor: monitor.yaml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _entries(entry: Schema) -> Schema:
    """Names with their settings; a section may stand empty."""
    return {"type": ["object", "null"], "additionalProperties": entry}


def _object(model: type[BaseModel]) -> Schema:
    whole = model.model_json_schema()
    required = [name for name in whole.get("required", ()) if name != "name"]
    made = {"type": "object", "additionalProperties": False, "properties": _properties(model)}
    if "description" in whole:
        made["description"] = whole["description"]
    return made | ({"required": required} if required else {})


def _kinds(
    entry: type[BaseModel],
    kinds: Mapping[str, str],
    options_of: Callable[[str], type[BaseModel]],
) -> Schema:
    others = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string", "not": {"enum": sorted(kinds)}}},
    }
    return {"anyOf": [*(_kind(entry, kind, options_of(kind)) for kind in sorted(kinds)), others]}


def _kind(entry: type[BaseModel], kind: str, options: type[BaseModel]) -> Schema:
    made = _object(options)
    properties = _properties(entry) | {"kind": {"const": kind}} | made["properties"]
    required = ["kind", *made.get("required", ())]
    return made | {"properties": properties, "required": required}


def _properties(model: type[BaseModel]) -> Schema:
    """Return the settings of a model, with definitions written where they are used."""
    whole = model.model_json_schema()
    definitions = whole.get("$defs", {})
    return {
        name: _inline(value, definitions)
        for name, value in whole["properties"].items()
        if name not in ("name", "options")
    }


def _inline(value: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inline(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        found = definitions[value["$ref"].rpartition("/")[2]]
        value = found | {key: other for key, other in value.items() if key != "$ref"}
    return {key: _inline(item, definitions) for key, item in value.items() if key != "title"}
