"""Around each change of clocks, in every zone: one digest a date. `make zones` has all hours."""

from __future__ import annotations

from datetime import timedelta

from tests.digest.zones import changes, kinds, schedules, walk

AROUND = timedelta(hours=30)


def test_D01_D02_around_the_changes_of_all_zones_each_date_has_one_digest():
    zones = [zone for zone in kinds().values() if changes(zone)]
    assert len(zones) > 40
    faults = [
        fault
        for zone in zones
        for change in changes(zone)[:2]
        for text in schedules(zone)
        for fault in walk(zone, text, change.at - AROUND, change.at + AROUND)
    ]
    assert faults == []
