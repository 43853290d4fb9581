"""`serve` beside servers that are slow: nothing else waits for them, and threads stay few."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest

from monitor.model import DeliveryState
from monitor.pipeline.ingest import is_due
from monitor.store.sources import runs
from tests.fleet import ROOT
from tests.house import AGENTS, House
from tests.patience import PATIENCE, wait
from tests.servers.web import Answer, Asked, MisbehavingServer, misbehaving_server
from tests.service.serve import serve, serving

# Long enough for a busy machine to see which servers answer.
TICK = timedelta(seconds=2)
THREADS = {"APScheduler", "watch", "store", "folders", "sources", "deliveries"}
FEED = b'<rss version="2.0"><channel><title>t</title></channel></rss>'


@pytest.fixture
def quick() -> Iterator[MisbehavingServer]:
    with misbehaving_server() as server:
        server.answers("*", body=FEED)
        yield server


def feed(server: MisbehavingServer, number: int, host: str = "127.0.0.1") -> dict[str, object]:
    url = f"http://{host}:{server.port}/{number}"
    return {"kind": "feed", "url": url, "allow_private": True, "every": "1m"}


def read(house: House) -> set[str]:
    """Return the names of the sources that were read."""
    with house.opened() as app, app.runtime.database.reading() as tx:
        return {name for name in app.runtime.sources if runs.reads(tx, name)}


def test_a_host_that_never_answers_holds_up_no_other_source(
    house: House, web: MisbehavingServer, quick: MisbehavingServer
):
    house.add("1.txt", AGENTS)
    until = threading.Event()
    web.decides("*", lambda _: Answer(hold=until))
    sources = house.settings["sources"]
    house.settings["sources"] = {
        **{f"slow-{number}": feed(web, number) for number in range(60)},
        **{f"quick-{number}": feed(quick, number, "localhost") for number in range(10)},
        **sources,
    }
    others = {name for name in house.settings["sources"] if not name.startswith("slow")}
    with serving(house, TICK):
        try:
            wait(lambda: others <= read(house))
            assert web.most_at_once == 1
        finally:
            until.set()


def test_five_hundred_sources_need_no_more_threads_than_ten(house: House, web: MisbehavingServer):
    ours: list[int] = []

    def count(_: Asked) -> Answer:
        ours.append(sum(thread.name in THREADS for thread in threading.enumerate()))
        return Answer(body=FEED)

    web.decides("*", count)
    names = [f"feed-{number}" for number in range(500)]
    house.settings["sources"] = {name: feed(web, number) for number, name in enumerate(names)}
    channels = {f"pages-{number}": {"kind": "file", "path": f"{number}/"} for number in range(300)}
    house.settings["channels"] = channels
    house.settings["subscriptions"]["lab"]["channels"] = list(channels)
    with serving(house, timedelta(hours=1)):
        wait(lambda: len(web.requests) >= len(names))
    assert max(ours) <= 23  # and the main thread
    assert web.most_at_once == 1
    assert read(house) == set(names)


def test_two_hundred_feeds_are_read_where_few_processes_are_allowed(
    house: House, web: MisbehavingServer
):
    """As in a container, whose limit counts threads. It holds for accounts other than root's."""
    if os.getuid() or not (shutil.which("setpriv") and shutil.which("prlimit")):
        pytest.skip("A LIMIT OF PROCESSES IS NOT TESTED: that needs root, setpriv and prlimit")
    web.answers("*", body=FEED)
    house.settings["sources"] = {f"feed-{number}": feed(web, number) for number in range(200)}
    config = house.write()
    account = 61_234
    for path in (house.folder, *house.folder.rglob("*")):
        os.chown(path, account, account)
    # The account may read this Python, which may belong to root alone.
    become = ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups"]
    become += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    command = [sys.executable, "-m", "tests.service.serve", str(config), "0.1"]
    process = subprocess.Popen(
        [*become, "prlimit", "--nproc=128", *command], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    try:
        wait(lambda: len(web.requests) >= 200 or process.poll() is not None)
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "can't start new thread" not in log
    assert len({request.target for request in web.requests}) == 200


@pytest.fixture
def dump(house: House, web: MisbehavingServer) -> MisbehavingServer:
    """A house that reads a dump of a megabyte which comes at 400 bytes a second: in 40 minutes."""
    house.settings["sources"]["dump"] = feed(web, 0) | {
        "kind": "jsonl",
        "url": web.url("/dump.jsonl"),
    }
    house.settings["topics"] = {"proteins": {"query": "proteins"}}
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.add("1.txt", AGENTS)
    return web


RECORD = b'{"title": "A Study of Proteins that Fold", "abstract": "We fold proteins."}\n'
TRICKLING = Answer(body=RECORD * 14_000, piece=40)


def test_a_changed_configuration_does_not_wait_for_a_download(
    house: House, dump: MisbehavingServer
):
    dump.answers("/dump.jsonl", body=RECORD)
    with serving(house, TICK):
        wait(lambda: read(house) == {"page", "dump"})
        dump.decides("/dump.jsonl", lambda _: TRICKLING)
        house.clock.move(minutes=2)
        wait(lambda: len(dump.requests) == 2)
        house.settings["topics"]["agents"] = {"query": "agents"}
        house.write()
        wait(lambda: list(house.folder.glob("pages/lab/*.html")))


def test_the_service_ends_during_a_download_and_reads_it_again(
    house: House, dump: MisbehavingServer
):
    dump.decides("/dump.jsonl", lambda _: TRICKLING)
    with serve(house, 0.2) as process:
        try:
            wait(lambda: dump.requests)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert is_due(app.runtime, "dump")
        assert runs.last_start(tx, "dump") is None


def test_of_forty_channels_twenty_hang_and_the_others_get_their_digests(
    house: House, web: MisbehavingServer, quick: MisbehavingServer
):
    """The twenty hold more threads than there are for servers that answer."""
    web.decides("*", lambda _: Answer(hang=True))
    quick.answers("*", body=b"ok")
    servers = [web] * 20 + [quick] * 20
    channels = {
        f"team-{number:02}": {
            "kind": "slack",
            "webhook": server.url(f"/services/T000/B000/secret{number}"),
            "allow_private": True,
        }
        for number, server in enumerate(servers)
    }
    lab = house.settings["subscriptions"]["lab"]
    lab |= {"channels": list(channels), "schedule": "immediately"}
    house.settings["channels"] = channels
    house.add("1.txt", AGENTS)
    with serving(house, TICK):
        wait(lambda: len({request.target for request in quick.requests}) == 20)
        expected = {DeliveryState.SENT: 20, DeliveryState.HANDING_OFF: 20}
        wait(lambda: Counter(house.states()) == expected)
        web.stop()
