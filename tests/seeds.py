"""What is read from the dumps in seeds/: papers, false dates and the days of lists.

    python -m tests.seeds

A false date is a `published` that is the day of a list: a paper is older than the list that has it.
Fails when there is one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from monitor.resources import resource

Record = Mapping[str, Any]  # a paper as `read --json` shows it


def main() -> int:
    papers = {dump.name: _read(dump) for dump in sorted(resource("seeds").glob("*.txt"))}
    sys.stdout.write("\n".join(_report(papers)) + "\n")
    return int(any(map(count_false_dates, papers.values())))


def _report(papers: Mapping[str, Sequence[Record]]) -> Iterator[str]:
    yield f"{'dump':<28}{'papers':>8}{'false dates':>13}"
    for name, records in papers.items():
        yield f"{name:<28}{len(records):>8}{count_false_dates(records):>13}"
    yield f"\n{'dump':<28}{'listed on':<12}{'year':<9}{'papers':>6}"
    for name, records in papers.items():
        days = listed_days(records)
        for (day, is_guessed), count in sorted(days.items()):
            yield f"{name:<28}{day:<12}{'guessed' if is_guessed else 'known':<9}{count:>6}"
        if not days:
            yield f"{name:<28}no day"


def _read(dump: Path) -> Sequence[Record]:
    command = (sys.executable, "-m", "monitor", "read", "huggingface-page", str(dump), "--json")
    answer = subprocess.run(command, check=True, capture_output=True)
    [document] = json.loads(answer.stdout)["documents"]
    return tuple(document["papers"])


def listed_days(records: Sequence[Record]) -> Counter[tuple[str, bool]]:
    """Count papers by the day of a list, and whether its year was guessed."""
    return Counter(
        (listed["day"], listed["year_guessed"]) for record in records for listed in record["listed"]
    )


def count_false_dates(records: Sequence[Record]) -> int:
    """Count papers whose date is the day of a list."""
    days = {day for day, _ in listed_days(records)}
    return sum((record["published"] or "")[:10] in days for record in records)


if __name__ == "__main__":
    sys.exit(main())
