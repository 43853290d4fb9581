"""Check the recorded documents of real sources: python -m tests.samples

They are not part of the project, so that the test suite does not collect these checks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.samples.folder import SAMPLES


def main() -> int:
    if not SAMPLES.is_dir():
        print(f"NOT CHECKED: there are no recorded documents in {SAMPLES}")
        return 0
    return pytest.main([str(Path(__file__).parent), "-q", "-o", "python_files=check_*.py"])


if __name__ == "__main__":
    sys.exit(main())
