"""`include:` lays more files beside the first: a file a person, each name once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from monitor import config
from monitor.config import content
from monitor.errors import ConfigError
from tests.config.conftest import Write, check

MAIN = """
    include: {include}
    sources: {{page: {{kind: huggingface-page, path: dumps/*.txt}}}}
    topics: {{agents: {{query: agent}}}}
    channels: {{pages: {{kind: file, path: out}}}}
"""


def test_included_files_hold_more_of_the_same(write: Write, tmp_path: Path) -> None:
    path = write(MAIN.format(include="[people/*.yaml, more/topics.yaml]"))
    write(
        """
        channels: {ada-pages: {kind: file, path: ada}}
        subscriptions: {ada: {topics: [agents, robots], channels: [pages, ada-pages]}}
        """,
        "people/ada.yaml",
    )
    write("topics: {robots: {query: robot}}", "more/topics.yaml")
    settings = config.load(path, {})

    assert list(settings.topics) == ["agents", "robots"]
    assert settings.subscriptions["ada"].channels == ("pages", "ada-pages")
    folders = {name: channel.options.path for name, channel in settings.channels.items()}
    assert folders == {"pages": tmp_path / "out", "ada-pages": tmp_path / "people" / "ada"}


def test_examples_are_named_as_the_folder_of_the_configuration_sees_them(
    write: Write, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere" / "b.yaml"
    main = MAIN.format(include=f"[people/*.yaml, ../a.yaml, {elsewhere}]")
    path = write(main, "main/monitor.yaml")
    topic = "topics: {{{0}: {{like: {{file: {1}}}}}}}"
    absolute = tmp_path / "main" / "x.bib"
    home = Path("~/x.bib").expanduser()
    files = (
        ("main/people/c.yaml", "./refs.bib", "people/refs.bib"),
        ("main/people/d.yaml", str(absolute), str(absolute)),
        ("main/people/e.yaml", "~/x.bib", str(home)),
        ("a.yaml", "refs.bib", "../refs.bib"),
        ("elsewhere/b.yaml", "refs.bib", str(elsewhere.with_name("refs.bib"))),
    )
    for name, file, _ in files:
        write(topic.format(Path(name).stem, file), name)
    topics = config.load(path, {}).topics
    for name, _, found in files:
        like = topics[Path(name).stem].like
        assert like and like.file == found


def test_a_fault_of_an_included_file_is_reported_there(write: Write, tmp_path: Path) -> None:
    path = write(MAIN.format(include="people/*.yaml") + "    stroe: x\n")
    ada = write("subscriptions:\n  ada: {topics: [agnets], channels: pages}", "people/ada.yaml")
    bo = write("topics: [", "people/bo.yaml")

    assert [(f.file, f.line, f.where) for f in check(path, {})] == [
        (str(path), 6, "stroe"),
        (str(ada), 2, "subscriptions.ada.topics"),
        (str(bo), 1, "(file)"),
    ]


def test_the_same_name_twice_is_a_fault_at_the_second_place(write: Write) -> None:
    path = write(MAIN.format(include="people/*.yaml"))
    ada = write("topics:\n  agents: {query: policy}\n  robots: {query: a1}", "people/ada.yaml")
    bo = write("topics: {robots: {query: b1}, agents: {query: c1}}", "people/bo.yaml")

    assert [(f.file, f.line, f.message) for f in check(path, {})] == [
        (str(ada), 2, f"“agents” is already in {path}, line 4"),
        (str(bo), 1, f"“robots” is already in {ada}, line 3"),
        (str(bo), 1, f"“agents” is already in {path}, line 4"),
    ]


def test_an_included_file_holds_entries_only(write: Write) -> None:
    path = write(MAIN.format(include="ada.yaml"))
    write("smtp: {host: x}\ninclude: more.yaml\ntopics: agent", "ada.yaml")

    assert [(fault.line, fault.where) for fault in check(path, {})] == [
        (1, "smtp"),
        (2, "include"),
        (3, "topics"),
    ]


def test_a_glob_does_not_include_the_file_itself_nor_any_file_twice(write: Write) -> None:
    path = write(MAIN.format(include="['*.yaml', ada.yaml, './ada.yaml']"))
    write("topics: {robots: {query: robot}}", "ada.yaml")

    assert list(config.load(path, {}).topics) == ["agents", "robots"]


def test_variables_are_put_into_included_files(write: Write) -> None:
    path = write(MAIN.format(include="ada.yaml"))
    write("topics: {robots: {query: '${WORD}'}}", "ada.yaml")

    assert config.load(path, {"WORD": "robot"}).topics["robots"].query == "robot"
    (fault,) = check(path, {})
    assert fault.where == "topics.robots.query"


@pytest.mark.parametrize(
    ("include", "fault"),
    [
        ("ada.yaml", "there is no file “ada.yaml”"),
        ("{a: b}", "should be a list of files, as in [people/*.yaml]"),
    ],
)
def test_what_is_included_must_be_files_that_are_there(
    write: Write, include: str, fault: str
) -> None:
    (found,) = check(write(MAIN.format(include=include)), {})
    assert (found.line, found.where, found.message) == (2, "include", fault)


def problem(path: Path) -> str:
    """The message of the only fault."""
    with pytest.raises(ConfigError) as refused:
        config.load(path, {})
    [fault] = refused.value.faults
    return fault.message


def test_a_device_or_a_pipe_is_not_included(write: Write, tmp_path: Path) -> None:
    """The first has no end, and the second would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("/dev/zero", "pipe", "link"):
        path = write(MAIN.format(include=name))
        assert problem(path) == "this file cannot be read: it is not a regular file"
        config.watch(path, {})


def test_a_link_to_a_file_is_included(write: Write, tmp_path: Path) -> None:
    write("topics: {robots: {query: robot}}", "more.yaml")
    (tmp_path / "link.yaml").symlink_to("more.yaml")
    path = write(MAIN.format(include="link.yaml"))
    assert list(config.load(path, {}).topics) == ["agents", "robots"]


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    assert problem(Path("/dev/zero")) == "this file cannot be read: it has more than 50 MB"
    (tmp_path / "large.yaml").touch()
    os.truncate(tmp_path / "large.yaml", content.MAX_BYTES + 1)
    assert "more than 50 MB" in problem(tmp_path / "large.yaml")


def test_the_configuration_may_come_from_a_pipe(write: Write, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = write(MAIN.format(include="[]")).read_bytes()
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(pipe.write_bytes, text)
        assert list(config.load(pipe, {}).topics) == ["agents"]
        written.result()


def test_a_pipe_that_nobody_writes_to_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(content, "PIPE_SECONDS", 0.2)
    assert "did not end within" in problem(tmp_path / "pipe")
