"""A configuration file from a text, and its faults as one reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from monitor import config
from monitor.config import Settings
from monitor.errors import ConfigError, Fault

Write = Callable[..., Path]
Faults = Callable[..., list[str]]
Load = Callable[..., Settings]


def check(path: Path, variables: Mapping[str, str]) -> tuple[Fault, ...]:
    """Return all faults of a configuration; () when it can be used."""
    try:
        config.load(path, variables)
    except ConfigError as error:
        return error.faults
    return ()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "monitor.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def load(write: Write) -> Load:
    def load(text: str, variables: Mapping[str, str] | None = None) -> Settings:
        return config.load(write(text), variables or {})

    return load


@pytest.fixture
def faults(write: Write) -> Faults:
    """`line: where: message` of each fault."""

    def faults(text: str, variables: Mapping[str, str] | None = None) -> list[str]:
        every = check(write(text), variables or {})
        return [f"{fault.line}: {fault.where}: {fault.message}" for fault in every]

    return faults
