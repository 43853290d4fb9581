"""Kinds by name: what is built in, what a package brings, and what goes wrong with either."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor import config, plugins
from monitor.errors import UsageError
from tests.config.conftest import check
from tests.test_plugin_example import ran

Install = Callable[..., None]

MODULE = """
from typing import ClassVar

from pydantic import BaseModel

from monitor.channels.base import Channel
from monitor.model import FirstRun, Reading
from monitor.sources.base import Source, SourceOptions


class DiaryOptions(SourceOptions):
    pages: int = 1


class Diary(Source):
    kind: ClassVar[str] = "diary"
    Options: ClassVar[type[SourceOptions]] = DiaryOptions
    default_first_run: ClassVar[FirstRun] = FirstRun.BASELINE
    dated: ClassVar[bool] = False

    def read(self, document):
        return Reading()


class PigeonOptions(BaseModel):
    path: str


class Pigeon(Channel):
    Options = PigeonOptions

    def render(self, digest, templates):
        return ()

    def send(self, delivery, handing_off):
        raise NotImplementedError


class Mute:
    pass
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution with entry points where Python finds it."""

    def install(entry_points: str, module: str = MODULE) -> None:
        (tmp_path / "diaries.py").write_text(module)
        info = tmp_path / "diaries-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: diaries\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "diaries", raising=False)

    return install


BRINGS = """
[monitor.sources]
diary = diaries:Diary
feed = diaries:Diary
gone = diaries:Gone

[monitor.channels]
pigeon = diaries:Pigeon
mute = diaries:Mute
"""


def test_each_built_in_kind_is_there() -> None:
    for kinds in (plugins.SOURCES, plugins.CHANNELS):
        assert [kinds.load(kind).kind for kind in kinds.built_in] == [*kinds.built_in]


@pytest.mark.parametrize(
    ("ask", "kind", "hint"),
    [
        (plugins.SOURCES.load, "fed", "did you mean “feed”?"),
        (plugins.SOURCES.load, "zzz", f"there are: {', '.join(sorted(plugins.SOURCES.built_in))}"),
        (plugins.CHANNELS.load, "e-mail", "did you mean “email”?"),
        (
            plugins.CHANNELS.load,
            "Discord",
            "write kind: webhook with template: discord, or kind: apprise with url: "
            '"discord://WEBHOOK_ID/WEBHOOK_TOKEN"',
        ),
        (
            plugins.CHANNELS.load,
            "ms-teams",
            "write kind: webhook with template: teams, or kind: apprise with url: "
            '"THE ADDRESS OF THE WORKFLOW"',
        ),
        (
            plugins.CHANNELS.load,
            "mattermost",
            "write kind: webhook with template: mattermost, or kind: apprise with url: "
            '"mmosts://HOST/TOKEN"',
        ),
        (
            plugins.CHANNELS.load,
            "telegram",
            'write kind: apprise with url: "tgram://BOT_TOKEN/CHAT_ID/?mdv=v2"',
        ),
        (
            plugins.CHANNELS.load,
            "matrix",
            'write kind: apprise with url: "matrixs://ACCESS_TOKEN@HOST/#ROOM"',
        ),
    ],
)
def test_an_unknown_kind_is_refused_with_the_nearest(
    ask: Callable[[str], object], kind: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=f"“{kind}” is not a kind of") as raised:
        ask(kind)
    assert raised.value.hint == hint


def test_a_package_brings_kinds_and_replaces_none(install: Install) -> None:
    install(BRINGS)

    assert plugins.SOURCES.load("diary").kind == "diary"
    assert plugins.SOURCES.names()["diary"] == "diaries:Diary"
    assert plugins.CHANNELS.names()["pigeon"] == "diaries:Pigeon"
    assert plugins.SOURCES.load("feed").kind == "feed"


@pytest.mark.parametrize(
    ("module", "reason"),
    [(MODULE, "AttributeError"), ("import nowhere_to_be_found", "ModuleNotFoundError")],
)
def test_a_kind_that_cannot_be_loaded_says_why(install: Install, module: str, reason: str) -> None:
    install(BRINGS, module)

    with pytest.raises(UsageError, match=f"“gone” cannot be loaded: {reason}"):
        plugins.SOURCES.load("gone")


def test_the_settings_of_a_brought_kind_are_checked_like_any_others(
    install: Install, tmp_path: Path
) -> None:
    install(BRINGS)
    file = tmp_path / "monitor.yaml"
    file.write_text("sources: {d: {kind: diary, path: x/*.txt, pages: 3}}")
    options = config.load(file, {}).sources["d"].options

    assert options.model_dump()["pages"] == 3
    assert options.model_dump()["path"] == f"{tmp_path}/x/*.txt"
    file.write_text("sources: {d: {kind: diary, path: x, pages: many, page: 1}}")
    assert [fault.message for fault in check(file, {})] == [
        "“page” is not a setting here; did you mean “pages”?",
        "should be a whole number, not “many”",
    ]


def test_a_brought_channel_has_settings_or_is_refused(install: Install, tmp_path: Path) -> None:
    install(BRINGS)
    file = tmp_path / "monitor.yaml"
    file.write_text("channels: {p: {kind: pigeon, path: loft}}")
    assert config.load(file, {}).channels["p"].options.model_dump() == {"path": f"{tmp_path}/loft"}

    file.write_text("channels: {m: {kind: mute}}")
    (fault,) = check(file, {})
    assert (fault.where, "has no base class" in fault.message) == ("channels.m.kind", True)


def test_the_command_line_refuses_an_incomplete_channel_by_name(
    install: Install, tmp_path: Path
) -> None:
    """`check` fails; commands that report also answer with a faulty configuration."""
    install(BRINGS, MODULE.replace("def send(", "def post("))
    file = tmp_path / "monitor.yaml"
    store = f"store: sqlite:///{tmp_path}/monitor.db\n"
    file.write_text(store)
    installed = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert ran("-m", "monitor", "ingest", place=tmp_path, env=installed)[0] == 0

    file.write_text(f"{store}channels: {{p: {{kind: pigeon, path: loft}}}}\n")
    for name, expected, shown in (("check", 2, ""), ("status", 0, "Deliveries: none yet")):
        status, answer, errors = ran("-m", "monitor", name, place=tmp_path, env=installed)
        assert "the channel kind “pigeon” has no send; it is diaries:Pigeon" in errors
        assert "Traceback" not in answer + errors
        assert status == expected and shown in answer


def test_the_schema_for_editors_has_the_settings_of_brought_kinds(
    install: Install, tmp_path: Path
) -> None:
    """Also those that are declared without words: these are described by their names."""
    install(
        "[monitor.sources]\ndiary = diaries:Diary\n[monitor.channels]\npigeon = diaries:Pigeon\n"
    )
    installed = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), *sys.path))}
    status, answer, errors = ran("-m", "monitor.config", place=tmp_path, env=installed)
    assert status == 0, errors
    sections = json.loads(answer)["properties"]

    def settings(section: str, kind: str) -> Any:
        kinds = sections[section]["additionalProperties"]["anyOf"]
        [found] = [each for each in kinds if each["properties"]["kind"].get("const") == kind]
        return found["properties"]

    pages = settings("sources", "diary")["pages"]
    assert pages == {"type": "integer", "default": 1, "description": "Pages"}
    assert settings("channels", "pigeon")["path"] == {"type": "string", "description": "Path"}


def test_the_schema_names_a_brought_kind_that_cannot_be_loaded(
    install: Install, tmp_path: Path
) -> None:
    install("[monitor.sources]\ngone = diaries:Gone\n")
    installed = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), *sys.path))}
    status, _, errors = ran("-m", "monitor.config", place=tmp_path, env=installed)
    assert status == 1 and errors.startswith("the source kind “gone” cannot be loaded")


@pytest.mark.parametrize("kinds", [plugins.SOURCES, plugins.CHANNELS], ids=["sources", "channels"])
def test_no_built_in_kind_has_a_hint_of_another_way(kinds: plugins.Kinds[Any]):
    built_in = kinds.built_in
    assert built_in
    assert not [kind for kind in built_in if any(re.match(each, kind) for each in kinds.instead)]
    assert not built_in.keys() & kinds.synonyms.keys()
