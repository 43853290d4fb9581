"""The threads, memory and processor time of `serve` with sources that are all due each minute.

    python benchmarks/many_sources.py [--sources 1000] [--groups 300] [--rounds 40]

The sources are feeds on fifty hosts of loopback, whose server answers "not modified", and the
groups are file channels. `serve` runs in a process of its own, without pages, by a calendar that is
moved by a minute as soon as all sources were asked, at its ticks of 20 seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import Process, Value
from pathlib import Path
from typing import Any

import yaml
from cost import free_port, resident
from steady import PATIENCE, START, FileClock

HOSTS = [f"127.0.0.{number}" for number in range(1, 51)]
MINUTE = timedelta(seconds=61)
TICK = timedelta(seconds=20)  # as `serve` has it
FEED = b'<rss version="2.0"><channel><title>t</title></channel></rss>'


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--sources", type=int, default=1_000)
    options.add_argument("--groups", type=int, default=300)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        serve(chosen.serve)
        return
    measure(chosen.sources, chosen.groups, chosen.rounds)


def serve(folder: Path) -> None:
    from monitor.log import set_up_logging
    from monitor.service.scheduler import Service

    set_up_logging(logging.WARNING)
    clock = FileClock(folder / "calendar")
    Service(folder / "monitor.yaml", clock, TICK, with_pages=False).run()


def measure(sources: int, groups: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name, not_modified() as (port, asked):
        folder = Path(name)
        configure(folder, port, sources, groups)
        calendar = FileClock(folder / "calendar")
        calendar.set(START)
        command = [sys.executable, __file__, "--serve", str(folder)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            threads = 0
            began = time.monotonic()
            for number in range(1, rounds + 1):
                until = time.monotonic() + PATIENCE
                while asked.value < number * sources:
                    threads = max(threads, status(process.pid, "Threads"))
                    if time.monotonic() > until or process.poll() is not None:
                        sys.exit(f"{asked.value:,} of {number * sources:,} requests")
                    time.sleep(0.05)
                calendar.set(START + number * MINUTE)
            print(
                f"{sources:,} sources, {groups} groups, {rounds} rounds in "
                f"{time.monotonic() - began:.0f} s: {threads} threads, "
                f"{resident(process.pid):.0f} MB, {processor_time(process.pid):.1f} s of processor"
            )
        finally:
            process.terminate()
            began = time.monotonic()
            process.wait(PATIENCE)
            print(f"ended in {time.monotonic() - began:.1f} s")


def configure(folder: Path, port: int, sources: int, groups: int) -> None:
    channels = {
        f"pages-{number}": {"kind": "file", "path": f"{number}/"} for number in range(groups)
    }
    settings = {
        "sources": {
            f"feed-{number}": {
                "kind": "feed",
                "url": f"http://{HOSTS[number % len(HOSTS)]}:{port}/{number}",
                "every": "1m",
                "allow_private": True,
            }
            for number in range(sources)
        },
        "topics": {"agents": {"query": "agents"}},
        "channels": channels,
        "subscriptions": {"lab": {"topics": ["*"], "channels": list(channels)}},
        "web": "off",
    }
    (folder / "monitor.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")


def status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def processor_time(pid: int) -> float:
    """Return the seconds of processor that a process took, of user and system (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def not_modified() -> Iterator[tuple[int, Any]]:
    """Answer on all hosts in a process of its own; yield the port and the count of requests."""
    asked = Value("l", 0)
    port = free_port()
    server = Process(target=answer, args=(port, asked), daemon=True)
    server.start()
    try:
        yield port, asked
    finally:
        server.terminate()
        server.join()


def answer(port: int, asked: Any) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if b"if-none-match" in request.lower():
            writer.write(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nConnection: close\r\n\r\n')
        else:
            head = f'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: {len(FEED)}\r\n'
            writer.write(head.encode() + b"Connection: close\r\n\r\n" + FEED)
        await writer.drain()
        writer.close()
        with asked.get_lock():
            asked.value += 1

    async def run() -> None:
        server = await asyncio.start_server(talk, HOSTS, port)
        async with server:
            await server.serve_forever()

    asyncio.run(run())


if __name__ == "__main__":
    main()
