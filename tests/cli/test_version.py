"""`--version` names the commit of a checkout, or the one that an image was built from."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from monitor import cli

ROOT = Path(cli.__file__).parents[2]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository, not an sdist")
def test_the_commit_of_a_checkout() -> None:
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "rev-parse", "HEAD"]
    head = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert cli._commit() == head


def test_the_commit_of_an_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "a/b/c.py"))
    assert cli._commit() == ""
    monkeypatch.setenv("PAPER_MONITOR_COMMIT", "c0ffee")
    assert cli._commit() == "c0ffee"


def test_the_image_and_the_changelog_name_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    image = re.search(r'image\.version="(.+?)"', (ROOT / "Dockerfile").read_text())
    newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert image and newest
    assert image[1] == newest[1] == version
