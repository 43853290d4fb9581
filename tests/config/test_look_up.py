"""The settings of looking up: short and long forms, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config import load
from monitor.errors import ConfigError

START = "sources: {page: {kind: huggingface-page, path: 'dumps/*.txt'}}\n"


def loaded(folder: Path, text: str):  # type: ignore[no-untyped-def]
    (folder / "dumps").mkdir(exist_ok=True)
    file = folder / "monitor.yaml"
    file.write_text(START + text, encoding="utf-8")
    return load(file)


@pytest.mark.parametrize(
    "text",
    [
        "look_up: [openalex, arxiv]",
        "look_up: {services: [openalex, arxiv]}",
        "look_up: {services: {openalex: {}, arxiv: {}}, wait: 10min}",
        "look_up:\n  services:\n    openalex:\n    arxiv:\n",
    ],
)
def test_a_list_is_short_for_services_without_settings(tmp_path: Path, text: str) -> None:
    settings = loaded(tmp_path, text).look_up
    assert list(settings.services) == ["openalex", "arxiv"]
    assert settings.wait.total_seconds() == 600


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("look_up: [arxive]", "did you mean"),
        ("look_up: [arxiv: {url: https://example.org}]", "should be names, or names with settings"),
        ("look_up: on", "look_up: [huggingface, arxiv]"),
        ("look_up: arxive", "look_up.services.arxive: "),
        ("look_up: {services: {}}", "look_up.services"),
        ("look_up: {services: {arxiv: {urll: x}}}", "did you mean"),
        ("look_up: {services: {arxiv: {api_key: k}}}", "arxiv has no keys"),
        ("look_up: {services: {openalex: {url: ftp://x}}}", "must begin with http"),
        ("look_up: {services: [arxiv], wait: 7h}", "wait"),
    ],
)
def test_a_fault_says_where_it_is_and_what_to_write(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, text)
    [fault] = raised.value.faults
    assert said in f"{fault.where}: {fault.message}"
