"""What is read from the dumps in seeds/: papers, false dates, links, and the lists of papers.

    python -m tests.seeds

A false date is a `published` that is the day of a list: a paper is older than the list that has it.
Fails when there is one, or when WebArena, which is in all four lists, is not first in its topic
under `order: trending`.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog
import yaml

from monitor.digest.wording import format_count
from monitor.resources import resource
from tests.house import AGENTS, House, all_papers

WEB_ARENA = "WebArena"
KINDS = ("code", "data", "project", "video", "other")
Record = Mapping[str, Any]  # a paper as `read --json` shows it


def main() -> int:
    papers = {dump.name: _read(dump) for dump in sorted(resource("seeds").glob("*.txt"))}
    sys.stdout.write("\n".join(_report(papers)) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        lists, place = trending(House(Path(folder)))
    works = ", ".join(f"{count} in {format_count(n, 'list')}" for n, count in sorted(lists.items()))
    sys.stdout.write(f"\nworks: {works}\n")
    sys.stdout.write(f"{WEB_ARENA}: in {place[0]} lists, number {place[1]} of its topic\n")
    return int(any(map(count_false_dates, papers.values())) or place != (4, 1))


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
    yield f"\n{'dump':<28}" + "".join(f"{kind:>9}" for kind in KINDS)
    for name, records in papers.items():
        links = Counter(link["kind"] for record in records for link in record["links"])
        yield f"{name:<28}" + "".join(f"{links[kind]:>9}" for kind in KINDS)


def trending(house: House) -> tuple[Counter[int], tuple[int, int]]:
    """Read the dumps; return how many works are in each number of lists, and of WebArena its lists
    and its place in its topic."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    seeds = resource("seeds")
    house.settings["sources"]["page"]["path"] = str(seeds / "*.txt")
    house.settings["topics"] = yaml.safe_load((seeds / "monitor.yaml").read_text())["topics"]
    house.settings["subscriptions"]["lab"]["order"] = "trending"
    house.make_due(AGENTS)
    house.run()
    lists = Counter(len(stored.paper.recent_lists) for stored in house.read(all_papers))
    [place] = [
        (entry.lists, number)
        for group in house.digest().groups
        for number, entry in enumerate(group.entries, start=1)
        if entry.paper.title.startswith(f"{WEB_ARENA}:")
    ]
    return lists, place


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
