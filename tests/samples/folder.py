"""Where the recorded documents of real sources are: beside the project, not in it.

`make samples` runs the checks; the test suite does not collect them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there is no {SAMPLES}")
