"""The worked example of a source in another package: installed, read with, held to the contract."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "docs" / "examples" / "plugin-source"
BULLETIN = EXAMPLE / "tests" / "bulletin.txt"


def ran(*line: str, place: Path, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    process = subprocess.run(
        [sys.executable, *line], cwd=place, env=env, capture_output=True, text=True, check=False
    )
    return process.returncode, process.stdout, process.stderr


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the example is installed beside paper-monitor."""
    if not importlib.util.find_spec("hatchling"):
        pytest.skip("NOT CHECKED: hatchling, which builds the example, is not installed")
    target = tmp_path_factory.mktemp("installed")
    offline = ("--no-deps", "--no-build-isolation", "--no-index")
    install = ("-m", "pip", "install", "--quiet", *offline, "--target", str(target))
    status, _, errors = ran(*install, str(EXAMPLE), place=target)
    assert status == 0, errors
    return {**os.environ, "PYTHONPATH": str(target)}


def test_its_kind_reads_documents(beside: dict[str, str], tmp_path: Path) -> None:
    line = ("-m", "monitor", "read", "bulletin", str(BULLETIN), "--json")
    status, answer, errors = ran(*line, place=tmp_path, env=beside)
    assert status == 0, errors
    [document] = json.loads(answer)["documents"]
    titles = [paper["title"] for paper in document["papers"]]
    assert titles == ["How tides move sand", "A short history of the comma", "Bees & lists"]
    status, _, errors = ran(*line, place=tmp_path)  # where it is not installed
    assert status == 2 and "bulletin" in errors


def test_its_settings_are_checked_and_its_papers_ingested(
    beside: dict[str, str], tmp_path: Path
) -> None:
    source = {"kind": "bulletin", "path": str(BULLETIN), "shelf": "letters"}
    config = {"store": "sqlite:///monitor.db", "sources": {"library": source}}
    (tmp_path / "monitor.yaml").write_text(json.dumps(config))
    status, answer, errors = ran("-m", "monitor", "ingest", "--json", place=tmp_path, env=beside)
    assert status == 0, errors
    [run] = json.loads(answer)["runs"]
    assert (run["source"], run["outcome"], run["seen"]) == ("library", "ok", 1)


def test_it_passes_the_contract_of_all_sources(beside: dict[str, str], tmp_path: Path) -> None:
    line = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(EXAMPLE))
    alone = {**beside, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
    status, answer, errors = ran(
        *line, "--config-file", str(EXAMPLE / "pyproject.toml"), place=tmp_path, env=alone
    )
    assert status == 0, answer + errors
    assert re.search(r"\b3\d passed in", answer)
