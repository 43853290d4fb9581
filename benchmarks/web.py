"""What pages cost on a large store, while the service reads a dump, and what they cost the reading.

    python benchmarks/web.py --papers 1000000
    python benchmarks/web.py --papers 200000 --folder kept

The store has papers from a seed, in its search index, with 1,000 topics, their
matches, 60 days of runs and a digest. `paper-monitor serve` runs on it and reads dumps of 2,000
new papers, three without requests and three during them, in turn. Each page is asked for 500
times, 8 at a time, by this process; the times are what the client waits. No two searches or tried
topics are the same, so that none is answered from memory. Topics are tried by one client, as one
person types them. A folder that is named is kept, and used again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import available_timezones

import httpx
import sqlalchemy as sa
import yaml
from cost import children, free_port, resident

from monitor.match.language.synonyms import NO_SYNONYMS
from monitor.pipeline.cleanup import make_searchable
from monitor.pipeline.runtime import Runtime
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from monitor.store.papers import search

NOW = datetime.now(UTC)
TIMES = 500
AT_ONCE = 8
TOPICS = 1_000
MATCHES = 2_000
DUMP = 2_000
BATCH = 5_000
VOCABULARY = 60_000
DAYS = 60
TOKEN = "the token of the benchmark"
SOURCE = "dump"
WAIT = 600.0
READINGS = 3
_ZONES = sorted(available_timezones())
# What stands in braces is worked out for the n-th request.
PAGES = {
    "/": "/",
    "/digests": "/digests",
    "a digest": "",
    "/papers": "/papers",
    "/papers?q=, a rare word": "/papers?q=w{30000+n}",
    "/papers?q=, a common word": "/papers?q=w{20+n}",
    "/papers?q=, a phrase": "/papers?q=%22w{100+n}+w{200+n}%22",
    "/papers?q=, three parts": "/papers?q=w{400+n}+AND+(w{500+n}+OR+w{600+n})+-w10",
    "/papers/ID": "/papers/{1000+n}",
    "/topics": "/topics",
    "/topics/NAME": "/topics/topic-{n}",
    "/try?q=, a rare word": "/try?q=w{30000+n}",
    "/try?q=, a common word": "/try?q=w{20+n}",
    "/try?q=, the same": "/try?q=w2000",
    "/sources": "/sources",
    "/sources/NAME": f"/sources/{SOURCE}",
    "/deliveries": "/deliveries",
    "/status": "/status",
    "/healthz": "/healthz",
    "/metrics": "/metrics",
    "/feed/SUB.atom": "/feed/reader.atom",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--papers", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--folder", type=Path, help="keep the installation here, and use it again")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        write_configuration(folder, port)
        if not (folder / "monitor.db").exists():
            fill(folder, asked.papers)
        return _measure(folder, port, asked.papers, asked.times)


# ── the installation ────────────────────────────────────────────────────────────────


def write_configuration(folder: Path, port: int) -> None:
    (folder / "dumps").mkdir(exist_ok=True)
    dice = random.Random(5)
    topics = {
        f"topic-{n}": {"query": f"w{dice.randrange(50, 5000)} w{dice.randrange(50, 5000)}"}
        for n in range(TOPICS)
    }
    reader = {"topics": list(topics)[:20], "channels": ["pages"], "schedule": "daily 08:00"}
    settings = {
        "store": "sqlite:///monitor.db",
        "sources": {
            SOURCE: {
                "kind": "jsonl",
                "path": "dumps/*.jsonl",
                "first_run": "deliver",
            }
        },
        "topics": topics,
        "channels": {"pages": {"kind": "file", "path": "pages/"}},
        "subscriptions": {"reader": reader},
        "web": {"listen": f"127.0.0.1:{port}", "token": TOKEN},
    }
    (folder / "monitor.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")


def fill(folder: Path, count: int) -> None:
    began = time.perf_counter()
    store = open_store(f"sqlite:///{folder / 'monitor.db'}")
    _store_papers(store, count)
    with store.writing() as tx:
        for table, made in (
            (schema.sighting, _sightings(count)),
            (schema.change, _changes(count)),
            (schema.match, _matches(count)),
            (schema.run, _runs()),
        ):
            while chunk := list(itertools.islice(made, BATCH)):
                tx.execute(sa.insert(table), chunk)
    _make_searchable(store)
    store.close()
    command = [sys.executable, "-m", "monitor", "digest", "--early", "reader"]
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    print(f"{count:,} papers stored in {time.perf_counter() - began:,.0f} s\n", flush=True)


def _rows(count: int, seed: int = 7) -> Iterator[dict[str, object]]:
    """Yield papers as the store keeps them, of 150 words each, common and rare as in real text."""
    dice = random.Random(seed)
    words = [f"w{n}" for n in range(VOCABULARY)]
    weights = list(itertools.accumulate(1 / (n + 10) for n in range(VOCABULARY)))
    for n in range(1, count + 1):
        text = dice.choices(words, cum_weights=weights, k=150)
        yield {
            "id": n,
            "title": " ".join(text[:10]),
            "abstract": " ".join(text[10:]),
            "authors": [f"Given Name{dice.randrange(5_000)}" for _ in range(3)],
            "venue": "",
            "categories": [f"c{dice.randrange(40)}"],
            "url": f"https://example.org/{n}",
            "pdf_url": "",
            "first_seen_at": _seen(n, count),
            "revision": 1,
            "withdrawn": False,
        }


def _store_papers(store: Database, count: int) -> None:
    made = _rows(count)
    while chunk := list(itertools.islice(made, 1_000)):
        with store.ingesting() as tx:
            tx.execute(sa.insert(schema.paper), chunk)
            search.queue(tx, [cast("int", row["id"]) for row in chunk])


def _make_searchable(store: Database) -> None:
    parts = SimpleNamespace(
        database=store, stopping=threading.Event(), topics=(), synonyms=NO_SYNONYMS
    )
    make_searchable(cast("Runtime", parts))


def _seen(number: int, count: int) -> datetime:
    return NOW - timedelta(minutes=count - number + 1)


def _sightings(count: int) -> Iterator[dict[str, Any]]:
    for n in range(1, count + 1):
        at = _seen(n, count)
        yield {
            "source": SOURCE, "raw_id": f"r{n}", "paper_id": n, "document": "d", "announce": "",
            "fingerprint": f"{n:032x}", "first_seen_at": at, "last_seen_at": at, "mark": n,
        }  # fmt: skip


def _changes(count: int) -> Iterator[dict[str, Any]]:
    for n in range(1, count + 1):
        at = _seen(n, count)
        yield {"paper_id": n, "revision": 0, "kind": "new", "why": "", "at": at, "matched_at": at}


def _matches(count: int) -> Iterator[dict[str, Any]]:
    dice = random.Random(6)
    for topic in range(TOPICS):
        for n in sorted(dice.sample(range(1, count + 1), min(MATCHES, count))):
            at = _seen(n, count)
            row = {"topic": f"topic-{topic}", "paper_id": n, "revision": 0}
            yield row | {"score": dice.random() * 7, "matched_at": at}


def _runs() -> Iterator[dict[str, Any]]:
    for hour in range(DAYS * 24):
        at = NOW - timedelta(hours=DAYS * 24 - hour)
        new = random.Random(hour).randrange(80)
        yield {
            "source": SOURCE, "document": "d", "started_at": at, "finished_at": at,
            "outcome": "ok", "seen": 100, "new": new, "revised": 0, "known": 100 - new,
            "rejected": 0, "error": "", "fresh": new,
        }  # fmt: skip


# ── measuring ───────────────────────────────────────────────────────────────────────


def _measure(folder: Path, port: int, count: int, times: int) -> int:
    service = subprocess.Popen(
        [sys.executable, "-m", "monitor", "serve"],
        cwd=folder,
        stderr=(folder / "serve.log").open("w"),
    )
    try:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=bearer, timeout=60)
        wait_for(client)
        quiet = []
        busy = []
        run = f"{time.time():.0f}"
        for number in range(READINGS):
            quiet.append(_ingest(folder, count, f"{run}-quiet-{number}"))
            stopping = threading.Event()
            beside = threading.Thread(target=_ask_until, args=(client, stopping))
            beside.start()
            busy.append(_ingest(folder, count, f"{run}-busy-{number}"))
            stopping.set()
            beside.join()
        print(f"memory of serve and its pages before: {_resident(service.pid):,.0f} MB")
        missed = _ask_all(client, times, folder, count)
        memory = _resident(service.pid)
    finally:
        service.terminate()
        service.wait()
    without = statistics.median(quiet)
    beside_them = statistics.median(busy)
    print(f"\nreading {DUMP:,} papers: {without:.2f} s without requests, {beside_them:.2f} s with")
    print(f"resident memory of serve and its pages: {memory:,.0f} MB")
    return missed


def _ask_all(client: httpx.Client, times: int, folder: Path, count: int) -> int:
    """Ask for each page while the service reads; print what it took, count what took too long."""
    [digest] = re.findall(r'href="(/digests/reader/[^"/.?]+)"', client.get("/digests").text)[:1]
    print("| page | median, ms | 95th percentile, ms | KB |")
    print("| --- | ---: | ---: | ---: |")
    missed = 0
    for name, path in PAGES.items():
        _write_dump(folder, count, f"while {name}".replace("/", "-")[:40])
        at_once = 1 if "/try" in name else AT_ONCE
        took, size = _ask(client, path or digest, times if at_once > 1 else times // 5, at_once)
        late = statistics.quantiles(took, n=20)[-1]
        limit = 1000 if "/try" in name else 300 if "?q=" in name else 200
        missed += late > limit or size > 100_000
        print(
            f"| {name} | {statistics.median(took):.0f} | {late:.0f} | {size / 1000:.0f} |",
            flush=True,
        )
    return int(bool(missed))


def _ask(client: httpx.Client, path: str, times: int, at_once: int) -> tuple[list[float], int]:
    """Return the milliseconds of each answer, and the size of the last in bytes."""

    def one(number: int) -> tuple[float, int]:
        began = time.perf_counter()
        answer = client.get(_numbered(path, number), headers=in_a_zone(number))
        answer.raise_for_status()
        return (time.perf_counter() - began) * 1000, len(answer.content)

    with ThreadPoolExecutor(at_once) as threads:
        answers = list(threads.map(one, range(times)))
    return [took for took, _ in answers], answers[-1][1]


def in_a_zone(number: int) -> dict[str, str]:
    """Return the cookie of a visitor in one of some hundred zones, who share no answer."""
    return {"Cookie": f"zone={_ZONES[number % len(_ZONES)]}"}


def _numbered(path: str, number: int) -> str:
    """Put the n-th number into a path, as in `/papers/{1000+n}`."""

    def put(found: re.Match[str]) -> str:
        return str(int(found[1] or 0) + number)

    return re.sub(r"\{(?:(\d+)\+)?n\}", put, path)


def _ask_until(client: httpx.Client, stopping: threading.Event) -> None:
    """Ask for one page after another, as eight visitors would, each with a pause to read."""
    paths = [path for path in PAGES.values() if path]

    def visit(number: int) -> None:
        for turn, path in enumerate(itertools.cycle(paths[number:] + paths[:number])):
            client.get(_numbered(path, number + AT_ONCE * turn))
            if stopping.wait(1):
                return

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(visit, range(AT_ONCE)))


def _write_dump(folder: Path, count: int, name: str) -> None:
    """Write a dump of new papers, once: the service finds it within a minute."""
    file = folder / "dumps" / f"{name}-{time.time():.0f}.jsonl"
    seed = random.Random(name).randrange(1 << 30)
    made = _rows(DUMP, seed)
    lines = (
        json.dumps(
            {"title": one["title"], "abstract": one["abstract"], "raw_id": f"{seed}-{one['id']}"}
        )
        for one in made
    )
    partial = file.with_suffix(".part")
    partial.write_text("\n".join(lines), encoding="utf-8")
    partial.rename(file)


def _ingest(folder: Path, count: int, name: str) -> float:
    """Let the service read a new dump; return the seconds from its start to its end."""
    _write_dump(folder, count, name)
    store = Database(f"sqlite:///{folder / 'monitor.db'}")
    run = schema.run.c
    own = sa.select(run.started_at, run.finished_at).where(
        run.document.startswith(name), run.finished_at.is_not(None)
    )
    try:
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            with store.reading() as tx:
                found = tx.execute(own.order_by(run.id.desc()).limit(1)).first()
            if found:
                return float((found.finished_at - found.started_at).total_seconds())
            time.sleep(1)
        raise SystemExit(f"the dump {name} was not read within {WAIT:.0f} s")
    finally:
        store.close()


def wait_for(client: httpx.Client) -> None:
    for _ in range(600):
        try:
            client.get("/static/style.css")
        except httpx.TransportError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit("serve did not begin to answer; see serve.log")


def _resident(pid: int) -> float:
    """Return the megabytes of a process and of those that it started."""
    return resident(pid) + sum(map(_resident, children(pid)))


if __name__ == "__main__":
    sys.exit(main())
