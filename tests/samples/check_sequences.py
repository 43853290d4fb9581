"""Recorded readings of one feed, in order: each brings what is new by identifier, and no more."""

from __future__ import annotations

import csv
from datetime import UTC, datetime

import pytest

from tests.house import House
from tests.samples.folder import SAMPLES, needs_samples

pytestmark = needs_samples
SEQUENCES = SAMPLES / "feed-sequence"


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


@pytest.mark.parametrize("name", ["nature_2022-11"])
def test_a_recorded_sequence_brings_what_is_truly_new(house: House, name: str) -> None:
    folder = SEQUENCES / name
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
