"""Killed at every boundary of I/O, nothing is lost, nothing repeated and nothing left lying.

These are the cells with SIGKILL and SQLite; `make faults` runs all of them.
"""

from __future__ import annotations

import pytest

from tests.faults.grid import Cell, boundaries, cells, is_tested, left_out, traced
from tests.faults.scenes import SCENES, Stage

KILLS = [cell for cell in cells() if is_tested(cell) and not left_out(cell)]


@pytest.mark.parametrize("scene", SCENES)
def test_every_boundary_that_is_reached_is_listed(receivers: Stage, scene: str):
    """And none is listed that is not there any more: `python -m tests.faults --trace` writes it."""
    assert set(traced(receivers, scene)) == set(boundaries()[scene])


@pytest.mark.parametrize("cell", KILLS, ids=str)
def test_K01_K02_K03_K04_K05_K06_K07_killed_there_nothing_is_lost_or_repeated(
    receivers: Stage, cell: Cell
):
    assert cell.play(receivers).fault == ""
