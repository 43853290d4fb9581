"""The OpenAPI document of `/api/v1/`: its addresses, their parameters, and what they answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import date, datetime
from enum import StrEnum
from re import findall
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
OBJECT: Schema = {"type": "object"}
# Several identifiers of one scheme are a list.
KEYS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "array"]}}


@dataclass(frozen=True, slots=True)
class Address:
    """An address with its description, those of its parameters by name, and its JSON Schema."""

    path: str
    about: str
    parameters: Mapping[str, str]
    answer: Schema


_PLAIN: Mapping[Any, Schema] = {
    str: TEXT,
    int: NUMBER,
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
}


def schema_of(hint: Any) -> Schema:
    """Return the schema of a value of a type, as `json_output.plain` turns it into JSON."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(argument) for argument in arguments]}
    if origin is Literal:
        return {"enum": [*arguments]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    if isinstance(origin, type) and issubclass(origin, Collection):
        return array(schema_of(arguments[0]))
    if isinstance(hint, type) and issubclass(hint, tuple):  # a named one
        return {"type": "array"}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"type": "string", "enum": [str(member) for member in hint]}
    if isinstance(hint, type) and (issubclass(hint, Struct) or is_dataclass(hint)):
        return fixed({name: schema_of(of) for name, of in get_type_hints(hint).items()})
    return {}


def picked(kind: type, names: str) -> dict[str, Schema]:
    """Return the schemas of named attributes, as `json_output.pick` returns them."""
    hints = get_type_hints(kind)
    schemas = {}
    for name in names.split():
        attribute = getattr(kind, name, None)
        getter = attribute.fget if isinstance(attribute, property) else None
        schemas[name] = schema_of(get_type_hints(getter)["return"] if getter else hints[name])
    return schemas | ({"error": or_null(TEXT)} if "error" in schemas else {})


def fixed(properties: Mapping[str, Schema], optional: Collection[str] = ()) -> Schema:
    """Return the schema of an object with these properties alone, all but some always there."""
    required = [name for name in properties if name not in optional]
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def document(addresses: Iterable[Address], version: str) -> Schema:
    """Return the OpenAPI document of these addresses."""
    error = fixed({"error": TEXT, "position": NUMBER}, optional=("position",))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Paper Monitor",
            "version": version,
            "description": "The JSON of commands. Readers get what is their own.",
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "refused": {
                    "description": "why the request was refused",
                    "content": {"application/json": {"schema": error}},
                }
            },
        },
        "security": [{"token": []}],
        "paths": {address.path: {"get": _operation(address)} for address in addresses},
    }


def _operation(address: Address) -> Schema:
    in_path = findall(r"\{(\w+)\}", address.path)
    parameters = [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in in_path,
            "description": words,
            "schema": NUMBER if name in ("limit", "after", "before") else TEXT,
        }
        for name, words in address.parameters.items()
    ]
    return {
        "summary": address.about,
        "operationId": "_".join(findall(r"\w+", address.path.partition("/v1/")[2])) or "index",
        "parameters": parameters,
        "responses": {
            "200": {
                "description": address.about,
                "content": {"application/json": {"schema": address.answer}},
            },
            "default": {"$ref": "#/components/responses/refused"},
        },
    }
