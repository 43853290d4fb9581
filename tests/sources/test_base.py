"""Where documents are: options, globs, files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from monitor.errors import FetchError
from monitor.model import Document
from monitor.sources import files
from monitor.sources.base import Found, SourceOptions
from monitor.sources.feed.source import Feed
from monitor.sources.fields.encoding import decode
from monitor.sources.files import documents_in, read_file
from tests.sources.scenario import NOW


def names(pattern: Path) -> list[str]:
    return [found.name for found in documents_in(str(pattern))]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    paths = ("2024/b.txt", "2025/c.txt", "2025/deep/d.csv", "a.txt", "e [1].txt", ".hidden")
    for name in paths:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.txt", ["2024/b.txt", "2025/c.txt", "a.txt", "e [1].txt"]),
        ("20*/*.txt", ["2024/b.txt", "2025/c.txt"]),
        ("**", ["2024/b.txt", "2025/c.txt", "2025/deep/d.csv", "a.txt", "e [1].txt"]),
        ("e [1].txt", ["e [1].txt"]),
        ("*.xml", []),  # there may be one later
    ],
)
def test_files_are_found_by_a_pattern(tree: Path, pattern: str, found: list[str]) -> None:
    assert names(tree / pattern) == found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("**.txt", "can match nothing"),
        ("2024**/*.txt", "can match nothing"),
        ("20**", "can match nothing"),
        (".*", "can match nothing"),
        ("2024/.*.txt", "can match nothing"),
        ("2024", r"2024 is a folder \(its files are `.*/2024/\*`\)"),
        ("dumps/*.txt", "there is no folder .*/dumps"),
        ("dump.txt", "there is no file .*/dump.txt"),
    ],
)
def test_a_pattern_that_finds_nothing_is_a_failure(tree: Path, pattern: str, reason: str) -> None:
    with pytest.raises(FetchError, match=reason):
        names(tree / pattern)


def test_one_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "b.txt")
    (tmp_path / "c.txt").write_text("x")
    os.utime(tmp_path / "c.txt", (1_700_000_000, 1_700_000_000))
    (tmp_path / "d.txt").mkdir()
    first, second, third = documents_in(str(tmp_path / "*.txt"))
    with pytest.raises(FetchError, match=r"cannot read .*a\.txt"):
        first.load()
    with pytest.raises(FetchError, match="not a regular file"):
        second.load()
    document = third.load()
    assert document is not None and document.content == b"x"
    assert document.at == datetime.fromtimestamp(1_700_000_000, UTC)


# ── links ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a file beside the folder `in`, which has two files and links to it."""
    outside = tmp_path / "outside.txt"
    outside.write_text("root:secret")
    (tmp_path / "in" / "sub").mkdir(parents=True)
    for name in ("in/a.txt", "in/sub/d.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "in" / "b.txt").symlink_to(outside)
    (tmp_path / "in" / "c.txt").symlink_to("sub/d.txt")
    return outside


def contents(documents: Iterable[Found]) -> list[bytes | str]:
    """Return the content of each document, as a document and as a dump, or why it has none."""
    read: list[bytes | str] = []
    for one in documents:
        try:
            document = (one.dump or one.load)()
            assert document is not None
            if isinstance(document, Document):
                read.append(document.content)
            else:
                with document.open() as file:
                    read.append(file.read())
        except FetchError as fault:
            read.append(str(fault))
    return read


@pytest.mark.parametrize("dumps", [False, True])
def test_a_link_out_of_the_folder_is_refused_and_the_other_files_are_read(
    outside: Path, dumps: bool
) -> None:
    folder = outside.parent / "in"
    first, link, inside = contents(documents_in(f"{folder}/*.txt", dumps))
    assert (first, inside) == (b"x", b"x")
    assert link == (
        f"{folder}/b.txt is a link that leads out of {folder}"
        " (`follow_links: true` in the source allows it)"
    )
    allowed = documents_in(f"{folder}/*.txt", dumps, follow_links=True)
    assert contents(allowed) == [b"x", b"root:secret", b"x"]


def test_a_linked_folder_that_a_wildcard_matches_leads_out_as_well(outside: Path) -> None:
    elsewhere = outside.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "e.txt").write_text("secret")
    (outside.parent / "in" / "sub2").symlink_to(elsewhere)
    first, second = contents(documents_in(f"{outside.parent}/in/sub*/*.txt"))
    assert first == b"x" and "sub2/e.txt is a link that leads out" in str(second)


def test_the_folder_and_a_file_named_in_full_may_be_links(outside: Path) -> None:
    folder = outside.parent / "link"
    folder.symlink_to(outside.parent / "in")
    assert contents(documents_in(f"{folder}/a*.txt")) == [b"x"]
    assert contents(documents_in(f"{folder}/b.txt")) == [b"root:secret"]


def test_a_link_is_refused_that_takes_the_place_of_a_file_between_two_looks(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is a link while it is opened, and a file again when its name is looked at."""
    path = outside.parent / "in" / "a.txt"
    real_open = os.open

    def open_while_it_is_a_link(name: Path, flags: int) -> int:
        path.rename(path.with_suffix(".kept"))
        path.symlink_to(outside)
        try:
            return real_open(name, flags)
        finally:
            path.unlink()
            path.with_suffix(".kept").rename(path)

    monkeypatch.setattr(os, "open", open_while_it_is_a_link)
    (document,) = contents(documents_in(f"{outside.parent}/in/a*.txt"))
    assert "was replaced again and again" in str(document)


def test_a_file_beyond_the_cap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 3)
    (tmp_path / "a.txt").write_text("four")
    with pytest.raises(FetchError, match="larger than 3 bytes"):
        read_file(tmp_path / "a.txt")


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
        *(("a β".encode(form), "a β", True) for form in ("utf-8-sig", "utf-16", "utf-32")),
        *(
            ("a plain text".encode(form), "a plain text", True)
            for form in ("utf-16-le", "utf-16-be")
        ),
        (b"", "", True),
    ],
)
def test_F12_bytes_to_text(content: bytes, text: str, whole: bool) -> None:
    assert decode(content) == (text, whole)


def test_a_folder_that_cannot_be_listed_is_a_fault_and_not_empty() -> None:
    """Its mode does not stop root, so that the test looks as somebody else."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        folder = Path(name) / "refs"
        folder.mkdir()
        (folder / "a.bib").write_text("x")
        folder.chmod(0o311)
        user = os.geteuid()
        try:
            os.seteuid(user or 65534)
            with pytest.raises(FetchError, match=r"cannot read .*refs: Permission denied"):
                names(folder / "*.bib")
        finally:
            os.seteuid(user)
            folder.chmod(0o700)
