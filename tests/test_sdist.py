"""The sdist has all that its tests read."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository, not an sdist")
def test_the_sdist_has_every_file_of_the_repository(tmp_path: Path) -> None:
    listing = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True).stdout
    tracked = {name for name in listed.decode().split("\0") if name and (ROOT / name).exists()}
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist"]
    subprocess.run([*build, "--directory", str(tmp_path)], cwd=ROOT, check=True)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as sdist:
        packed = {name.partition("/")[2] for name in sdist.getnames()}
    assert tracked - packed == set()
