"""Where the recorded documents of real sources are: beside the project, not in it."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
