"""Services that are asked about papers, for benchmarks: they answer at once, from a dump.

    python benchmarks/services.py DUMP

It prints the address of each service, as JSON, and answers in a process of its own, so that the
processor's time of the program is without theirs. `/count` answers with how many requests all got.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers.look_up import LookUpServices, Work, look_up_services
from tests.servers.web import Answer, Asked, misbehaving_server

NAMES = ("arxiv", "crossref")


def read_works(dump: Path) -> list[Work]:
    rows = map(json.loads, dump.read_text(encoding="utf-8").splitlines())
    return [
        Work(
            row["title"],
            row.get("abstract") or "",
            tuple(row.get("authors") or ()),
            arxiv=f"{2001 + number // 100_000}.{number % 100_000:05}",
        )
        for number, row in enumerate(rows)
    ]


def serve(dump: Path) -> None:
    with look_up_services(read_works(dump), NAMES) as services, misbehaving_server() as counter:
        counter.decides("/count", lambda asked: _count(services, asked))
        addresses = {name: services.url(name) for name in NAMES}
        print(json.dumps(addresses | {"count": counter.url("/count")}), flush=True)
        threading.Event().wait()


def _count(services: LookUpServices, asked: Asked) -> Answer:
    return Answer(body=str(services.count()).encode())


@contextmanager
def services(dump: Path) -> Iterator[Mapping[str, str]]:
    """Run the services over the papers of a dump; yield their addresses, and that of `count`."""
    command = [sys.executable, str(Path(__file__)), str(dump)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        try:
            yield json.loads(running.stdout.readline())
        finally:
            running.kill()


def requests(address: str) -> int:
    """Return how many requests the services got."""
    with urlopen(address) as answer:
        return int(answer.read())


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
