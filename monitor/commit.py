"""Which commit this program is of."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

# Written into wheels and sdists by `hatch_build.py`, never into a checkout.
BUILT_FROM = Path(__file__).with_name("commit.txt")


def find_commit() -> str:
    """Return the commit that is checked out, or that the package was built from; "" if unknown."""
    root = Path(__file__).parents[1]
    if (root / ".git").exists():
        git = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
        git += ["rev-parse", "--verify", "--quiet", "HEAD"]
        with suppress(OSError):
            return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return BUILT_FROM.read_text().strip() if BUILT_FROM.exists() else ""
