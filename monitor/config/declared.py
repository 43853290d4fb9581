"""A setting as its model declares it: its name in the file, its words and its default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError

from monitor.setting_types import Required, Unset

# Fields of an entry that the file does not have: its name is a key, and the settings of its kind
# are beside the others.
_NOT_IN_THE_FILE = ("name", "options")


@dataclass(frozen=True, slots=True)
class Declared:
    """A setting of a model.

    `words` are Markdown, and `default` is JSON, as the file has it. `unset` says what applies where
    the setting is not set, and `required_when` when it is required, if these do not follow from
    `default` and `is_required`. `section` is the model of the settings in it.
    """

    name: str
    words: str
    default: Any
    unset: str
    is_required: bool
    required_when: str
    section: type[BaseModel] | None


def declared(model: type[BaseModel]) -> Iterator[Declared]:
    """Yield the settings of a model in their order; the words of one without are its name."""
    for field_name, field in model.model_fields.items():
        if field_name in _NOT_IN_THE_FILE:
            continue
        name = field.alias or field_name
        yield Declared(
            name=name,
            words=field.description or name,
            default=_default(model, field_name),
            unset=next((each.words for each in field.metadata if isinstance(each, Unset)), ""),
            is_required=field.is_required(),
            required_when=next(
                (each.when for each in field.metadata if isinstance(each, Required)), ""
            ),
            section=section_of(field),
        )


def _default(model: type[BaseModel], field_name: str) -> Any:
    """Return the default of a field as JSON; one that is yet to be validated stays as it is."""
    values = model.model_construct()
    try:
        made = values.model_dump(mode="json", include={field_name}, warnings=False)
    except PydanticSerializationError:
        return getattr(values, field_name)
    return made.get(field_name)


def fields_of(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Return the settings of a model by their names in the file."""
    fields = model.model_fields.items()
    return {field.alias or name: field for name, field in fields if name not in _NOT_IN_THE_FILE}


def section_of(field: FieldInfo | None) -> type[BaseModel] | None:
    """Return the model of the settings in a setting, None for a plain value."""
    types = (field.annotation, *get_args(field.annotation)) if field else ()
    models = (each for each in types if isinstance(each, type) and issubclass(each, BaseModel))
    return next(models, None)
