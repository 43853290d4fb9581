"""`python -m tests.downtime`: thirty days down, a thousand subscribers, and one run.

Each subscriber watches for one of fifty words; every day of the thirty brought a dump in which
each word has one paper. Afterwards every subscriber has one mail with the thirty papers of their
word, and nothing else; the last two weeks of them in full, those before by title.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.house import House
from tests.servers.smtp import ScriptedSmtp

_ENDS = "oline arium etics odyne ulate ibrium onics escent amere ular"
WORDS = [begin + end for begin in ("zor", "tav", "mil", "que", "bax") for end in _ENDS.split()]
_TITLE = re.compile(r"Day (\d+) of the (\w+) observations")


@dataclass(frozen=True)
class Found:
    """What came of it: seconds, and the subject and text of each mail by its reader."""

    seconds: float
    mails: Mapping[str, list[tuple[str, str]]]


def down(folder: Path, subscribers: int, days: int, words: int = len(WORDS)) -> Found:
    """Subscribe, be down for some days, run once as a process, and return what arrived."""
    used = WORDS[:words]
    with ScriptedSmtp() as smtp:
        house = House(folder)
        house.by_mail(smtp.port)
        lab = house.settings["subscriptions"].pop("lab")
        house.settings["topics"] = {word: {"query": word} for word in used}
        for number in range(subscribers):
            house.settings["subscriptions"][f"reader-{number}"] = {
                **lab,
                "topics": [used[number % words]],
                "email": [f"reader-{number}@example.org"],
                "max": 400,
            }
        house.clock.move(hours=3)
        house.run()
        house.next_morning()  # a quiet day, the last one before the service is down
        for day in range(1, days + 1):
            house.add(f"{day:02}.txt", *(_paper(day, word) for word in used))
            house.clock.move(days=1)
        began = time.monotonic()
        said = house.command("run", "--now", house.clock.at.isoformat(), "--json")
        seconds = time.monotonic() - began
        assert said.status == 0, said.err[-2000:]
        return _found(smtp, seconds)


def _paper(day: int, word: str) -> tuple[str, str]:
    title = f"Day {day} of the {word} observations"
    return title, f"On day {day} we looked at {word} once more. We report all that was seen then."


def _found(smtp: ScriptedSmtp, seconds: float) -> Found:
    mails: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for mail in smtp.received:
        mails[mail.recipient].append((mail.message["Subject"], mail.text))
    return Found(seconds, mails)


def faults(found: Found, subscribers: int, days: int, words: int = len(WORDS)) -> list[str]:
    wrong = []
    for number in range(subscribers):
        reader = f"reader-{number}@example.org"
        word = WORDS[number % words]
        expected = {(str(day), word) for day in range(1, days + 1)}
        titles = [set(_TITLE.findall(text)) for _, text in found.mails[reader]]
        if titles != [expected]:
            wrong.append(f"{reader}: {len(titles)} mails, {titles}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscribers", type=int, default=1000)
    parser.add_argument("--days", type=int, default=30)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = down(Path(folder), asked.subscribers, asked.days)
    wrong = faults(found, asked.subscribers, asked.days)
    mails = sum(map(len, found.mails.values()))
    print(f"{asked.days} days down, {asked.subscribers} subscribers: {mails} mails")
    print(f"{found.seconds:.1f} s; the goal is under 300")
    print("\n".join(wrong) or "each has one digest with all of their papers and no other")
    sys.exit(1 if wrong or found.seconds >= 300 else 0)


if __name__ == "__main__":
    main()
