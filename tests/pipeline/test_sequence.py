"""One feed read again and again: each reading brings what is new by identifier, and no more."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.house import House
from tests.pipeline.test_feeds import feed, item
from tests.sources.scenario import ROOT

SEQUENCES = ROOT.parent / "shared" / "samples" / "feed-sequence"


def read_in_order(house: House, files: list[tuple[datetime, bytes]]) -> list[tuple[int, int]]:
    """Ingest documents one by one, each at its own time; return what each held and brought."""
    house.settings["sources"] = {"journal": {"kind": "feed", "path": "dumps/*"}}
    found = []
    for number, (at, content) in enumerate(files):
        (house.folder / "dumps" / f"{number:03}.xml").write_bytes(content)
        house.clock.at = at
        runs = house.ingest()
        assert not [run.error for run in runs if run.error]
        found.append((sum(run.seen for run in runs), sum(run.new for run in runs)))
    return found


@pytest.mark.parametrize("name", ["nature_2022-11"])
def test_a_recorded_sequence_brings_what_is_truly_new(house: House, name: str) -> None:
    folder = SEQUENCES / name
    if not folder.is_dir():
        pytest.skip(f"NOT CHECKED: no recorded sequence in {folder}")
    with (folder / "expected.tsv").open(newline="") as lines:
        expected = list(csv.DictReader(lines, delimiter="\t"))
    files = [
        (datetime.fromisoformat(row["commit_time"]).replace(tzinfo=UTC), folder / row["file"])
        for row in expected
    ]
    found = read_in_order(house, [(at, path.read_bytes()) for at, path in files])
    # Bytes that were read before are not read again: the same document is no new run.
    contents: set[bytes] = set()
    for row, (_, path), (seen, new) in zip(expected, files, found, strict=True):
        assert new == int(row["truly_new_by_versionless_id"]), row["file"]
        if path.read_bytes() not in contents:
            assert seen == int(row["entries"]), row["file"]
        contents.add(path.read_bytes())


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
    found = read_in_order(house, files)
    known: set[int] = set()
    for numbers, (seen, new) in zip(readings, found, strict=True):
        assert (seen, new) == (len(numbers), len(set(numbers) - known))
        known |= set(numbers)
