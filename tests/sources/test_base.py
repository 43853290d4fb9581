"""Where documents are: options, globs, files."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from monitor.sources import files
from monitor.sources.base import SourceOptions, documents_in, read_file
from monitor.sources.feed.source import Feed
from monitor.sources.fields.encoding import decode
from tests.sources.scenario import NOW


def names(pattern: Path) -> list[str]:
    return [found.name for found in documents_in(str(pattern))]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "either `url:` or `path:`"),
        ({"url": "http://x", "path": "y"}, "either `url:` or `path:`"),
        ({"url": "file:///x"}, "must begin with http"),
        ({"url": "dumps/*.txt"}, "use `path:` for files"),
        ({"path": "x", "colour": "red"}, "Extra inputs"),
    ],
)
def test_options_that_make_no_sense_are_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        SourceOptions(**settings)  # type: ignore[arg-type]


def test_folders_in_folders_are_searched_with_two_stars(tmp_path: Path) -> None:
    for name in ("2025/b.txt", "2024/c.txt", "a.txt", "2025/deep/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert names(tmp_path / "**" / "*.txt") == [
        "2024/c.txt",
        "2025/b.txt",
        "2025/deep/d.txt",
        "a.txt",
    ]
    assert names(tmp_path / "20*" / "*.txt") == ["2024/c.txt", "2025/b.txt"]


def test_a_file_by_its_name_even_with_a_bracket_in_it(tmp_path: Path) -> None:
    (tmp_path / "dump [1].txt").write_text("x")
    assert names(tmp_path / "dump [1].txt") == ["dump [1].txt"]


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=f"there is no folder {tmp_path}/dumps"):
        names(tmp_path / "dumps" / "*.txt")


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=f"there is no file {tmp_path}/dump.txt"):
        names(tmp_path / "dump.txt")


def test_a_folder_with_no_such_file_yet_is_no_failure(tmp_path: Path) -> None:
    assert names(tmp_path / "*.txt") == []


def test_one_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "b.txt")
    (tmp_path / "c.txt").write_text("x")
    (tmp_path / "d.txt").mkdir()
    first, second, third = documents_in(str(tmp_path / "*.txt"))
    with pytest.raises(FetchError, match=r"cannot read .*a\.txt"):
        first.load()
    with pytest.raises(FetchError, match="not a regular file"):
        second.load()
    document = third.load()
    assert document is not None and document.content == b"x"


def test_a_document_has_the_time_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    os.utime(tmp_path / "a.txt", (1_700_000_000, 1_700_000_000))
    assert read_file(tmp_path / "a.txt").at == datetime.fromtimestamp(1_700_000_000, UTC)


def test_a_file_beyond_the_cap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 3)
    (tmp_path / "a.txt").write_text("four")
    with pytest.raises(FetchError, match="larger than 3 bytes"):
        read_file(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("contact", "mail"),
    [
        ("ops@example.org", "ops@example.org"),
        ("mailto:ops@example.org", "ops@example.org"),
        ("https://example.org/bot", ""),
        ("Ada Byron ada@example.org", ""),
        ("", ""),
    ],
)
def test_F16_services_that_ask_for_an_address_of_mail_get_one_or_nothing(
    contact: str, mail: str
) -> None:
    with closing(HttpClient(version="1", contact=contact)) as door:
        assert Feed("x", SourceOptions(path="x"), door, lambda: NOW).contact == mail


def test_a_url_source_without_a_door_is_a_failure() -> None:
    source = Feed("nature", SourceOptions(url="https://example.org/"), None, lambda: NOW)
    with pytest.raises(FetchError, match="nature was opened without"):
        list(source.find({}))


@pytest.mark.parametrize(
    ("content", "text", "whole"),
    [
        ("naïve α".encode(), "naïve α", True),
        ("naïve".encode("cp1252"), "naïve", True),
        ("one α\n".encode() + "naïve".encode("latin-1"), "one α\nnaïve", True),
        ("é".encode()[:1], "", False),
        ("a\né".encode("utf-16")[:-1], "a\n", False),
        ("α β".encode("utf-8-sig"), "α β", True),
        (b"", "", True),
    ],
)
def test_F12_bytes_to_text(content: bytes, text: str, whole: bool) -> None:
    assert decode(content) == (text, whole)
