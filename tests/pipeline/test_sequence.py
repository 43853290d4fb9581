"""One feed read again and again: each reading brings what is new by identifier, and no more."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.house import House
from tests.pipeline.test_feeds import feed, item


def read_in_order(house: House, files: list[tuple[datetime, bytes]]) -> list[tuple[int, int]]:
    """Ingest documents one by one, each at its own time; return what each held and brought."""
    house.settings["sources"] = {"journal": {"kind": "feed", "path": "dumps/*"}}
    counts = []
    for number, (at, content) in enumerate(files):
        (house.folder / "dumps" / f"{number:03}.xml").write_bytes(content)
        house.clock.at = at
        runs = house.ingest()
        assert not [run.error for run in runs if run.error]
        counts.append((sum(run.seen for run in runs), sum(run.new for run in runs)))
    return counts


START = datetime(2026, 11, 2, 6, tzinfo=UTC)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.lists(st.integers(0, 12), max_size=5), min_size=1, max_size=6))
def test_any_sequence_brings_each_paper_once(
    tmp_path_factory: pytest.TempPathFactory, readings: list[list[int]]
) -> None:
    house = House(Path(tmp_path_factory.mktemp("sequence")))
    files = [
        (START.replace(hour=hour), feed(f"<!-- {hour} -->", *(item(n, START) for n in numbers)))
        for hour, numbers in enumerate(readings)
    ]
    counts = read_in_order(house, files)
    known: set[int] = set()
    for numbers, (seen, new) in zip(readings, counts, strict=True):
        assert (seen, new) == (len(numbers), len(set(numbers) - known))
        known |= set(numbers)
