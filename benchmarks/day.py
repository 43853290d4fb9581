"""A day through the command line, from a dump to delivered mails, beside a bot that does the same.

    python benchmarks/day.py [--runs N] [--grow] [--profile] [--no-small]
    python benchmarks/day.py --papers papers.jsonl.gz --topics topics.jsonl.gz

10,000 new papers, 1,000 topics, 200 subscribers with 20 topics each: `ingest`, the same dump again,
`digest`, and the mails go to a server in a process of its own. The bot (`bot.py`) is run in turn
with it, on the same dump, topics and subscribers. Seconds are of processor, of a command and the
processes it starts; memory is the peak of the largest of them; medians of all runs.

    --grow      a quarter, a half and the whole of the papers, the topics and the subscriptions
    --profile   where the time of each stage goes, instead
    --no-small  only the day: no start of commands
    --look-up N the day of N papers, with `look_up` and without, in turn, instead: arXiv, asked ten
                titles a request, answers at once, from a process of its own
    --lacking N how many of these papers lack what a service has; all, if it is not given

Papers and topics are made from a seed, or read as `match.py` reads them.
"""

from __future__ import annotations

import argparse
import json
import pstats
import random
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from corpus import Made, PlainTopic, Read, read_rows
from cost import Cost, monitor, run
from services import requests, services
from sink import sink, taken
from start import command_costs

HERE = Path(__file__).parent
TOPICS_EACH = 20


@dataclass(frozen=True, slots=True)
class Size:
    """`lacking` is how many of the papers lack a link, an identifier and a date."""

    papers: int = 10_000
    topics: int = 1_000
    subscriptions: int = 200
    lacking: int = 10_000

    def __str__(self) -> str:
        return f"{self.papers:,} papers, {self.topics:,} topics, {self.subscriptions} subscriptions"


@dataclass(frozen=True, slots=True)
class Day:
    """What a day took, and `papers` and bytes in the store of its mean digest."""

    ingest: Cost
    again: Cost
    digest: Cost
    bot: Cost
    papers: float
    kilobytes: float

    @property
    def seconds(self) -> float:
        return self.ingest.seconds + self.again.seconds + self.digest.seconds


# What is measured, and its unit.
ROWS = {
    "day": ("the whole day against the bot in the same run", "times"),
    "ingest": ("ingest, 10,000 new papers, 1,000 topics", "s"),
    "again": ("the same dump again", "s"),
    "digest": ("digest, 200 subscriptions of 20 topics", "s"),
    "memory": ("memory of that digest", "MB"),
    "bytes": ("a digest and its delivery in the store", "KB"),
    "check": ("check, without a store", "s"),
    "check, with store and templates": ("check, with store and templates", "s"),
    "status": ("status", "s"),
    "topics try": ("topics try", "s"),
}


def main() -> None:
    options = _options()
    corpus = Read(options.papers, options.topics) if options.papers else Made(1)
    if options.profile:
        print_profiles(corpus)
    elif options.look_up:
        print_look_up(corpus, options)
    elif options.grow:
        print_growth(corpus, options)
    else:
        print_table(corpus, options)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--papers", type=Path)
    options.add_argument("--topics", type=Path)
    options.add_argument("--grow", action="store_true")
    options.add_argument("--profile", action="store_true")
    options.add_argument("--no-small", action="store_true")
    options.add_argument("--look-up", type=int, default=0, metavar="N")
    options.add_argument("--lacking", type=int, metavar="N")
    return options.parse_args()


# ── what is printed ─────────────────────────────────────────────────────────────────


def print_table(corpus: Made | Read, options: argparse.Namespace) -> None:
    days = [a_day(corpus, Size()) for _ in range(options.runs)]
    found = {
        "day": [day.seconds / day.bot.seconds for day in days],
        "ingest": [day.ingest.seconds for day in days],
        "again": [day.again.seconds for day in days],
        "digest": [day.digest.seconds for day in days],
        "memory": [day.digest.memory for day in days],
        "bytes": [day.kilobytes for day in days],
    }
    if not options.no_small:
        found |= {name: [cost] for name, cost in command_costs(options.runs).items()}
    print(f"{Size()}; {days[0].papers:.0f} papers a digest; medians of {options.runs} runs")
    print(f"the bot: {statistics.median(day.bot.seconds for day in days):.1f} s\n")
    print("| | measured |\n| --- | --- |")
    for key, values in found.items():
        name, unit = ROWS[key]
        print(f"| {name} | {statistics.median(values):.3g} {unit} |")


def print_growth(corpus: Made | Read, options: argparse.Namespace) -> None:
    print("| | ingest | again | digest | memory of digest | a digest | the bot |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    whole = Size()
    for name in ("papers", "topics", "subscriptions"):
        for share in (4, 2, 1):
            size = replace(whole, **{name: getattr(whole, name) // share})
            days = [a_day(corpus, size) for _ in range(options.runs)]
            day = sorted(days, key=lambda day: day.seconds)[len(days) // 2]
            print(
                f"| {size} | {day.ingest.seconds:.1f} s | {day.again.seconds:.1f} s "
                f"| {day.digest.seconds:.1f} s | {day.digest.memory:.0f} MB "
                f"| {day.papers:.0f} papers, {day.kilobytes:.0f} KB | {day.bot.seconds:.1f} s |",
                flush=True,
            )


def print_look_up(corpus: Made | Read, options: argparse.Namespace) -> None:
    """Print the seconds of days with and without looking papers up, and their ratio."""
    lacking = options.look_up if options.lacking is None else options.lacking
    size = replace(Size(), papers=options.look_up, lacking=lacking)
    days = [
        (a_looked_up_day(corpus, size), a_looked_up_day(corpus, size, ()))
        for _ in range(options.runs)
    ]
    with_it, without = (
        statistics.median(day.seconds for day in side) for side in zip(*days, strict=True)
    )
    papers, filled, asked = (
        statistics.median(getattr(day, name) for day, _ in days)
        for name in ("papers", "filled", "requests")
    )
    print(f"{size}; medians of {options.runs} runs\n\n| | measured |\n| --- | --- |")
    print(f"| the day without look_up | {without:.3g} s |")
    print(f"| the day with look_up | {with_it:.3g} s, {with_it / without:.3g} times |")
    print(f"| looked up | {papers:,.0f} papers, {filled:,.0f} filled in, {asked:,.0f} requests |")


def print_profiles(corpus: Made | Read) -> None:
    with prepared(corpus, Size()) as folder:
        for stage, name in (("ingest", "ingest"), ("again", "ingest"), ("digest", "digest")):
            monitor(folder, name, profile=folder / stage)
            print(f"\n{stage}")
            profile = pstats.Stats(str(folder / stage)).strip_dirs().sort_stats("cumulative")
            profile.print_stats(45)
            profile.sort_stats("tottime").print_stats(25)


# ── a day ───────────────────────────────────────────────────────────────────────────


def a_day(corpus: Made | Read, size: Size) -> Day:
    """Run all stages and the bot in new folders; the mails of both must arrive."""
    with prepared(corpus, size) as folder:
        port = json.loads((folder / "bot.json").read_text(encoding="utf-8"))["port"]
        ingest = monitor(folder, "ingest")
        again = monitor(folder, "ingest")
        before = _store_bytes(folder)
        digest = monitor(folder, "digest")
        digests, papers = _digests(folder)
        assert taken(port) == digests > 0, "not all mails arrived"
        kilobytes = (_store_bytes(folder) - before) / digests / 1024
        command = [sys.executable, str(HERE / "bot.py"), str(folder / "bot.json")]
        first = run(command, folder)
        second = run(command, folder)
        assert taken(port) >= digests + size.subscriptions * 0.9, "the bot sent too little"
        bot = Cost(first.seconds + second.seconds, first.memory)
        return Day(ingest, again, digest, bot, papers, kilobytes)


@dataclass(frozen=True, slots=True)
class LookedUpDay:
    """The seconds of a day, the papers about which services were asked, and the requests."""

    seconds: float
    papers: int = 0
    filled: int = 0
    requests: int = 0


def a_looked_up_day(
    corpus: Made | Read, size: Size, names: Sequence[str] = ("arxiv",)
) -> LookedUpDay:
    """Run all stages with some services, () for no `look_up`; all mails must arrive."""
    with prepared(corpus, size) as folder, services(folder / "dump.jsonl") as addresses:
        port = json.loads((folder / "bot.json").read_text(encoding="utf-8"))["port"]
        if names:
            asked = {
                name: {"url": addresses[name], "allow_private": True, "a_day": 1_000_000}
                for name in names
            }
            look_up = yaml.safe_dump({"look_up": {"services": asked, "wait": "6h"}})
            with (folder / "monitor.yaml").open("a", encoding="utf-8") as settings:
                settings.write(look_up)
        costs = [monitor(folder, stage) for stage in ("ingest", "ingest", "digest")]
        assert taken(port) == _digests(folder)[0] > 0, "not all mails arrived"
        with sqlite3.connect(folder / "monitor.db") as store:
            states = dict(store.execute("SELECT state, count(*) FROM look_up GROUP BY state"))
        seconds = sum(cost.seconds for cost in costs)
        filled = states.get("filled", 0)
        count = requests(addresses["count"])
        return LookedUpDay(seconds, sum(states.values()), filled, count)


def _store_bytes(folder: Path) -> int:
    with sqlite3.connect(folder / "monitor.db") as store:
        [(pages,)] = store.execute("PRAGMA page_count")
        [(free,)] = store.execute("PRAGMA freelist_count")
        [(size,)] = store.execute("PRAGMA page_size")
    return int((pages - free) * size)


def _digests(folder: Path) -> tuple[int, float]:
    with sqlite3.connect(folder / "monitor.db") as store:
        [(count, papers)] = store.execute("SELECT count(*), avg(papers) FROM digest")
    return int(count), float(papers)


@contextmanager
def prepared(corpus: Made | Read, size: Size) -> Iterator[Path]:
    """Yield a folder with a dump, and the configurations of both, whose mail goes to a sink."""
    with tempfile.TemporaryDirectory() as name, sink() as port:
        folder = Path(name)
        dump = folder / "dump.jsonl"
        with dump.open("w", encoding="utf-8") as lines:
            rows = complete(paper_rows(corpus, size.papers), size)
            lines.writelines(f"{json.dumps(row)}\n" for row in rows)
        topics = {f"t{n}": topic for n, topic in enumerate(corpus.topics(size.topics))}
        chosen = random.Random(1)
        readers = {
            f"reader-{n}": chosen.sample(list(topics), TOPICS_EACH)
            for n in range(size.subscriptions)
        }
        _write_configurations(folder, dump, topics, readers, port)
        yield folder


def paper_rows(corpus: Made | Read, count: int) -> Iterator[dict[str, Any]]:
    if isinstance(corpus, Read):
        yield from islice(read_rows(corpus.paper_file), count)
        return
    for number, made in enumerate(corpus.papers(count)):
        words = made.paper.abstract.split()
        title = " ".join(words[:9])
        abstract = " ".join(words[9:])
        authors = [f"{words[at]} {words[at + 1]}" for at in (10, 12, 14)]
        yield {"id": f"made-{number}", "title": title, "abstract": abstract, "authors": authors}


def complete(rows: Iterator[dict[str, Any]], size: Size) -> Iterator[dict[str, Any]]:
    """Yield papers, of which as many as should lack a link, an identifier and a date do."""
    for number, row in enumerate(rows):
        if number * size.lacking % size.papers < size.lacking:
            yield row
        else:
            doi = f"10.5555/{number}"
            yield row | {"doi": doi, "url": f"https://example.org/{number}", "year": 2026}


def _write_configurations(
    folder: Path,
    dump: Path,
    topics: dict[str, PlainTopic],
    readers: dict[str, list[str]],
    port: int,
) -> None:
    ours = {
        "store": f"sqlite:///{folder / 'monitor.db'}",
        "sources": {"dump": {"kind": "jsonl", "path": str(dump), "first_run": "deliver"}},
        "topics": {name: {"query": topic.text} for name, topic in topics.items()},
        "subscriptions": {
            name: {"topics": some, "email": f"{name}@example.org", "schedule": "immediately"}
            for name, some in readers.items()
        },
        "smtp": {"host": "127.0.0.1", "port": port, "tls": "none", "from": "papers@example.org"},
    }
    (folder / "monitor.yaml").write_text(yaml.safe_dump(ours), encoding="utf-8")
    theirs = {
        "seen": str(folder / "seen.db"),
        "dump": str(dump),
        "topics": {n: {"r": topic.clauses, "n": topic.none} for n, topic in topics.items()},
        "subscriptions": readers,
        "port": port,
    }
    (folder / "bot.json").write_text(json.dumps(theirs), encoding="utf-8")


if __name__ == "__main__":
    main()
