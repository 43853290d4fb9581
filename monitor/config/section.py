"""What all sections share: names that must exist, paths relative to their file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationInfo,
)

from monitor.config.messages import nearest

EVERY_TOPIC = "*"


@dataclass(frozen=True, slots=True)
class Context:
    """What else stands in the file: names that settings may refer to.

    With `unread` queries are taken as they are written, whatever is wrong with them.
    """

    folder: Path = Path()
    sources: Collection[str] = ()
    topics: Collection[str] = ()
    channels: Collection[str] = ()
    smtp: bool = False
    slack: bool = False
    public_url: bool = False
    unread: bool = False


class Section(BaseModel):
    """Settings with fixed names. They are validated with a `Context` as the context."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def context_of(info: ValidationInfo) -> Context:
    assert isinstance(info.context, Context), "settings are validated with what else is in the file"
    return info.context


def existing_source(name: str, info: ValidationInfo) -> str:
    return _existing("source", name, context_of(info).sources)


def existing_topic(name: str, info: ValidationInfo) -> str:
    return name if name == EVERY_TOPIC else _existing("topic", name, context_of(info).topics)


def existing_channel(name: str, info: ValidationInfo) -> str:
    return _existing("channel", name, context_of(info).channels)


def _existing(what: str, name: str, names: Collection[str]) -> str:
    if name not in names:
        near = nearest(name, names) or f"; no {what} is configured"
        raise ValueError(f"there is no {what} “{name}”{near}")
    return name


def existing_file(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


def existing_folder(path: Path) -> Path:
    if not path.is_dir():
        raise ValueError(f"there is no folder {path}")
    return path
