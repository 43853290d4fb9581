"""Workflows run commands that there are, with no more rights than each job needs.

`make check` holds them against their schema, and `make workflows` runs actionlint.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JOBS = [
    pytest.param(job, id=f"{path.stem}-{name}")
    for path in FILES
    for name, job in yaml.safe_load(path.read_text("utf-8"))["jobs"].items()
]
# What a job may write: the release its assets, the image its registry; the rest is for tokens of
# PyPI and of the pages.
WRITTEN = {"contents", "packages", "pages", "id-token"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_workflow_grants_nothing_and_has_no_secret(path: Path):
    text = path.read_text("utf-8")
    assert yaml.safe_load(text)["permissions"] == {}
    assert "secrets." not in text


@pytest.mark.parametrize("job", JOBS)
def test_a_job_says_what_it_may_write_and_how_long_it_takes(job: dict[str, Any]):
    written = {name for name, right in job["permissions"].items() if right == "write"}
    assert written <= WRITTEN
    # Who may publish runs only after the tests.
    assert not written or "tests" in job["needs"] or "release" in job["needs"]
    assert "uses" in job or job["timeout-minutes"] < 360


@pytest.mark.parametrize("job", JOBS)
def test_each_step_is_pinned_or_can_be_run_anywhere(job: dict[str, Any]):
    words = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for step in job.get("steps", ()):
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", step["uses"])
            if step["uses"].startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
            continue
        assert "${{" not in step["run"], "what others may write would be a part of the command"
        assert set(re.findall(r"\bmake (?:--silent )?([a-z-]+)", step["run"])) <= words
        for script in re.findall(r"(?<!\S)\.ci/\w+", step["run"]):
            assert (ROOT / script).stat().st_mode & 0o100
