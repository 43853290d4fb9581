"""What a page costs fifty people who reload it at the same moment, on a large store.

    python benchmarks/crowd.py --papers 300000
    python benchmarks/crowd.py --papers 300000 --folder kept

The store is that of `web.py`, from a seed. `paper-monitor web` serves it on loopback, and this
process asks for each page with the token of the operator: alone, then fifty times at once with
times in fifty zones, so that no two share an answer, then fifty times at once in one zone. The
times are until the last answer: alone and in one zone the median of three, in fifty zones of one.
The ratio is that of one zone to alone. A folder that is named is kept, and used again.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count, islice
from pathlib import Path

import httpx
from cost import free_port
from web import TOKEN, fill, in_a_zone, wait_for, write_configuration

TIMES = 3
AT_ONCE = 50
PAGES = ("/", "/status", "/papers?q=w50", "/topics/topic-1", "/try?q=w50+OR+w60+OR+w70")
# Of visitors in zones in which nobody has asked yet, for some seconds.
_visitors = map(in_a_zone, count())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--papers", type=int, default=300_000)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--pages", nargs="+", default=PAGES, metavar="ADDRESS")
    parser.add_argument("--folder", type=Path, help="keep the installation here, and use it again")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        write_configuration(folder, port)
        if not (folder / "monitor.db").exists():
            fill(folder, asked.papers)
        measure(folder, port, asked.pages, asked.at_once)


def measure(folder: Path, port: int, pages: Sequence[str], at_once: int) -> None:
    service = subprocess.Popen(
        [sys.executable, "-m", "monitor", "web"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "web.log").open("w"),
    )
    try:
        with (
            httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                headers={"Authorization": f"Bearer {TOKEN}"},
                timeout=600,
                limits=httpx.Limits(max_connections=at_once),
            ) as client,
            ThreadPoolExecutor(at_once) as visitors,
        ):
            wait_for(client)
            print(f"| page, ms | alone | {at_once} zones | one zone | ratio |")
            print("| --- | ---: | ---: | ---: | ---: |")
            for page in pages:
                client.get(page).raise_for_status()  # not the first one of the process
                ask = partial(_ask, visitors, client, page)
                alone = statistics.median(ask([next(_visitors)]) for _ in range(TIMES))
                apart = ask(list(islice(_visitors, at_once)))
                together = statistics.median(ask([next(_visitors)] * at_once) for _ in range(TIMES))
                row = f"{alone:,.0f} | {apart:,.0f} | {together:,.0f} | {together / alone:.1f}"
                print(f"| `{page}` | {row} |", flush=True)
    finally:
        service.terminate()
        service.wait()


def _ask(
    visitors: ThreadPoolExecutor, client: httpx.Client, page: str, cookies: list[dict[str, str]]
) -> float:
    """Return the milliseconds until the last of some requests at once is answered."""
    began = time.perf_counter()
    for answer in visitors.map(lambda cookie: client.get(page, headers=cookie), cookies):
        answer.raise_for_status()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
