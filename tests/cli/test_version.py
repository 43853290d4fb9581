"""`--version` names the commit of a checkout, or the one that a package was built from."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from monitor import commit

ROOT = Path(__file__).parents[2]
# What a build reads.
PROJECT = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
FOLDERS = ("monitor", "templates", "migrations", "seeds")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a repository with one commit of the files that a build reads."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in PROJECT:
        shutil.copy(ROOT / name, folder)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "--quiet")
    change(folder)
    return folder


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", *author, "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def change(folder: Path) -> str:
    """Commit what there is, or nothing; return the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "Change")
    return git(folder, "rev-parse", "HEAD")


def build(folder: Path, target: str, into: Path, **variables: str) -> Path:
    """Build an sdist or a wheel of `folder`, as pip does, and return it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    subprocess.run(
        [*command, "--directory", str(into)],
        cwd=folder,
        env={**kept, **variables},
        check=True,
        capture_output=True,
    )
    [built] = into.iterdir()
    return built


def unpack(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [unpacked] = folder.iterdir()
    return unpacked


def said_by(folder: Path) -> str:
    """Return the commit that the program says that is unpacked in `folder`."""
    script = "from monitor.commit import find_commit; print(find_commit())"
    command = [sys.executable, "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def said_by_wheel(wheel: Path) -> str:
    folder = wheel.parent / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return said_by(folder)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository, not an sdist")
def test_the_version_names_the_commit_of_a_checkout() -> None:
    command = [sys.executable, "-m", "monitor", "--version"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert f"(commit {commit.find_commit()[:12]})" in said
    safe = ("-c", f"safe.directory={ROOT}")
    assert commit.find_commit() == git(ROOT, *safe, "rev-parse", "HEAD")


def test_a_wheel_names_its_commit_and_leaves_the_checkout_as_it_was(
    checkout: Path, tmp_path: Path
) -> None:
    first = git(checkout, "rev-parse", "HEAD")
    wheel = build(checkout, "wheel", tmp_path / "first")
    assert git(checkout, "status", "--porcelain") == ""
    assert said_by(checkout) == first
    second = change(checkout)
    assert first != second
    assert said_by(checkout) == second
    assert said_by_wheel(wheel) == first
    assert said_by_wheel(build(checkout, "wheel", tmp_path / "second")) == second


def test_an_editable_installation_has_no_commit_of_its_own(checkout: Path) -> None:
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["CommitHook"]
    for version, packed in (("standard", ["monitor/commit.txt"]), ("editable", [])):
        build_data = {"force_include": dict[str, str]()}
        hook(str(checkout), {}, None, None, "", "wheel").initialize(version, build_data)
        assert list(build_data["force_include"].values()) == packed


def test_a_wheel_of_an_sdist_names_the_commit_also_within_another_repository(
    checkout: Path, tmp_path: Path
) -> None:
    sdist = build(checkout, "sdist", tmp_path / "sdist")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    change(other)
    folder = unpack(sdist, other / "unpacked")
    head = git(checkout, "rev-parse", "HEAD")
    assert said_by(folder) == head
    assert said_by_wheel(build(folder, "wheel", tmp_path / "wheel")) == head


def test_a_build_outside_of_a_repository_knows_the_commit_that_it_is_given(
    checkout: Path, tmp_path: Path
) -> None:
    shutil.rmtree(checkout / ".git")
    assert said_by_wheel(build(checkout, "wheel", tmp_path / "a")) == ""
    given = build(checkout, "wheel", tmp_path / "b", PAPER_MONITOR_COMMIT="c0ffee")
    assert said_by_wheel(given) == "c0ffee"


def test_two_builds_of_a_commit_are_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    for target in ("sdist", "wheel"):
        one, two = (build(checkout, target, tmp_path / f"{target}-{n}") for n in "ab")
        assert one.read_bytes() == two.read_bytes()


def test_a_workflow_names_its_repository_in_the_wheel_of_its_sdist(
    checkout: Path, tmp_path: Path
) -> None:
    variables = {
        "GITHUB_SERVER_URL": "https://git.example.org",
        "GITHUB_REPOSITORY": "lab/papers",
    }
    sdist = build(checkout, "sdist", tmp_path / "sdist", **variables)
    folder = unpack(sdist, tmp_path / "unpacked")
    urls, readme = addresses_of(build(folder, "wheel", tmp_path / "wheel"))
    assert urls["Repository"] == "https://git.example.org/lab/papers"
    assert urls["Issues"] == "https://git.example.org/lab/papers/issues"
    tag = urls["Documentation"].split("/tree/")[1].partition("/")[0]
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]*)\)", readme)
    assert {target for sign, target in targets if sign} == {
        f"https://git.example.org/lab/papers/raw/{tag}/docs/pictures/{name}.png"
        for name in ("retracted-phone", "pages-try")
    }, "which PyPI shows"
    leads = {target for _, target in targets}
    assert f"https://git.example.org/lab/papers/blob/{tag}/docs/topics.md" in leads
    assert all(target.startswith("https://") for target in leads)
    as_it_is = (ROOT / "README.md").read_text(encoding="utf-8")
    assert addresses_of(build(checkout, "wheel", tmp_path / "plain")) == ({}, as_it_is)


def addresses_of(wheel: Path) -> tuple[dict[str, str], str]:
    """Return the addresses of a wheel's project, and its README."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Description-Content-Type"] == "text/markdown"
    return (
        dict(url.split(", ", 1) for url in metadata.get_all("Project-URL", [])),
        metadata.get_payload(),
    )


def test_the_image_and_the_changelog_name_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    image = re.search(r'image\.version="(.+?)"', (ROOT / "Dockerfile").read_text())
    newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert image and newest
    assert image[1] == newest[1] == version
