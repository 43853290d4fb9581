"""The settings of the server of embeddings, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config.redact import masked, sends_to
from monitor.errors import ConfigError
from tests.config.test_look_up import loaded

URL = "http://localhost:11434/v1"


def test_it_is_off_unless_written(tmp_path: Path):
    settings = loaded(tmp_path, "")
    assert settings.embeddings is None
    assert sends_to(settings) == []


def test_the_server_is_named_and_its_key_is_not(tmp_path: Path):
    text = f"embeddings: {{url: {URL}/, model: all-minilm, api_key: sesame}}\nlook_up: [arxiv]\n"
    settings = loaded(tmp_path, text)
    assert settings.embeddings and settings.embeddings.url == URL
    assert settings.embeddings.a_day == 2_000
    assert [(one["service"], one["address"]) for one in sends_to(settings)] == [
        ("arxiv", "https://export.arxiv.org"),
        ("embeddings", URL),
    ]
    assert "sesame" not in f"{masked(settings)}{settings!r}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("embeddings: on", "embeddings: {url:"),
        ("embeddings: {url: http://localhost/v1}", "model"),
        ("embeddings: {model: all-minilm}", "url"),
        ("embeddings: {url: localhost/v1, model: m}", "must begin with http"),
        ("embeddings: {url: 'http://models.example.org/v1', model: m}", "unencrypted; write https"),
        (f"embeddings: {{url: {URL}, modell: m}}", "did you mean"),
        (f"embeddings: {{url: {URL}, model: ''}}", "model"),
        (f"embeddings: {{url: {URL}, model: m, a_day: -1}}", "a_day"),
    ],
)
def test_a_fault_says_where_it_is_and_what_to_write(tmp_path: Path, text: str, said: str):
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, text)
    assert said in "".join(f"{fault.where}: {fault.message}\n" for fault in raised.value.faults)
