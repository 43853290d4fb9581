"""One, two and four workers on ten thousand deliveries, to a mail server that takes its time.

    python benchmarks/workers.py --store postgresql+psycopg://monitor@db/empty

Each worker is a process of `paper-monitor worker` with eight connections to a sink that answers
every command after 20 ms, so that a connection sends a mail in 80 ms at best: `limit` is what the
connections could do if all else took no time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from deliver import CONNECTIONS, configured, plan
from letters import AT, rendered
from sink import sink, taken

from monitor.app import open_app
from monitor.clocks import FixedClock
from monitor.commands.heartbeat import living_workers
from monitor.config import load
from monitor.pipeline.flow import Step, Task
from monitor.service.job_queue import open_queue

MAILS = 10_000
ANSWER = 20  # milliseconds
ANSWERS = 4  # MAIL, RCPT, DATA, dot


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", required=True)
    asked.add_argument("--mails", type=int, default=MAILS)
    asked.add_argument("--workers", default="1,2,4")
    result = asked.parse_args()
    part = rendered()
    one = 0.0
    print(f"{result.mails} mails, answers after {ANSWER} ms, {CONNECTIONS} connections a worker")
    for workers in map(int, result.workers.split(",")):
        with ExitStack() as stack:
            port = stack.enter_context(sink(ANSWER))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            path = configured(folder, port, result.store)
            app = stack.enter_context(open_app(load(path), FixedClock(AT)))
            plan(app, part, result.mails, "shared")
            queue = stack.enter_context(open_queue(app.runtime.database))
            assert queue, "pip install '.[scale]'"
            awaited = living_workers(app.runtime.database) + workers
            for _ in range(workers):
                command = [sys.executable, "-m", "monitor", "worker", "--config", str(path)]
                running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
                stack.callback(running.wait)
                stack.callback(running.terminate)
            until(lambda app=app, n=awaited: living_workers(app.runtime.database) >= n)
            began = time.perf_counter()
            queue.put(Task(Step.DELIVER, "smtp"))
            until(lambda port=port: taken(port) >= result.mails)
            rate = result.mails / (time.perf_counter() - began)
        one = one or rate
        limit = workers * CONNECTIONS / (ANSWERS * ANSWER / 1e3)
        print(
            f"{workers} workers {rate:6.0f} mails/s   {rate / one:4.2f} times one   "
            f"{rate / limit:4.2f} of the limit {limit:.0f}",
            flush=True,
        )


def until(come: object) -> None:
    deadline = time.monotonic() + 300
    while not come():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


if __name__ == "__main__":
    main()
