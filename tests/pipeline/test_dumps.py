"""Dumps are read in parts: a crash, a cut or a file that grew repeats and loses nothing."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.model import Run, RunOutcome
from monitor.store.engine import schema
from monitor.store.papers import papers
from tests.faults import process
from tests.faults.points import Order
from tests.house import AGENTS, House
from tests.patience import PATIENCE
from tests.pipeline.test_feeds import one
from tests.servers.web import Answer, Asked, MisbehavingServer

LETTERS = str.maketrans("0123456789", "ghijklmnop")


def record(number: int) -> dict[str, Any]:
    """Return a record like no other."""
    digits = hashlib.sha256(str(number).encode()).hexdigest().translate(LETTERS)
    words = [digits[place : place + 8] for place in range(0, 64, 8)]
    return {
        "id": str(number),
        "title": " ".join(words[:5]),
        "abstract": " ".join(words[5:]),
        "doi": f"10.1000/{number}",
    }


def lines(numbers: Sequence[int]) -> bytes:
    return b"".join(json.dumps(record(number)).encode() + b"\n" for number in numbers)


@pytest.fixture
def dumped(house: House) -> House:
    house.settings["sources"] = {"all": {"kind": "jsonl", "path": "dumps/*"}}
    return house


def put(house: House, content: bytes, name: str = "a.jsonl") -> Path:
    path = house.folder / "dumps" / name
    path.write_bytes(content)
    return path


def summarise(run: Run) -> tuple[str | None, str, int, int, int]:
    return run.document, run.outcome.value, run.seen, run.new, run.rejected


def read(house: House, content: bytes, name: str = "a.jsonl") -> Run:
    """Put a dump into its folder, and read it in one run."""
    put(house, content, name)
    [run] = house.ingest()
    return run


UNCHANGED = (None, "unchanged", 0, 0, 0)


def test_a_dump_is_stored_silently_and_what_comes_later_is_news(dumped: House):
    assert summarise(read(dumped, lines(range(5)))) == ("a.jsonl", "ok", 5, 5, 0)
    assert dumped.next_morning() == {"lab": 0}
    assert summarise(read(dumped, lines(range(7)))) == ("a.jsonl", "ok", 2, 2, 0)


def test_what_did_not_change_is_not_even_opened(dumped: House):
    path = put(dumped, lines(range(5)))
    dumped.ingest()
    at = path.stat()
    path.write_bytes(b"\0" * at.st_size)
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert summarise(*dumped.ingest()) == UNCHANGED


def test_a_dump_is_known_by_its_content_under_any_name_and_however_packed(dumped: House):
    read(dumped, lines(range(5)))
    assert summarise(read(dumped, gzip.compress(lines(range(5))), "b.jsonl.gz")) == UNCHANGED
    run = read(dumped, gzip.compress(lines(range(6))), "c.jsonl.gz")
    assert summarise(run) == ("c.jsonl.gz", "ok", 1, 1, 0)


def test_a_dump_that_changed_before_its_end_is_read_again_and_repeats_no_paper(dumped: House):
    read(dumped, lines(range(5)))
    run = read(dumped, lines([9, *range(5)]))
    assert (run.seen, run.new, run.known) == (6, 1, 5)


@pytest.mark.parametrize(
    ("name", "ended"), [("a.jsonl", True), ("a.jsonl", False), ("b.jsonl", True)]
)
def test_behind_a_mark_of_a_former_release_all_is_read_again_and_no_paper_repeated(
    dumped: House, name: str, ended: bool
):
    read(dumped, lines(range(5)))
    with dumped.opened() as app, app.runtime.database.writing() as tx:
        former = hashlib.sha256(lines(range(5))).hexdigest()
        tx.execute(sa.update(schema.dump).values(digest=former, ended=ended))
    run = read(dumped, lines(range(7)), name)
    assert (run.outcome, run.seen, run.new, run.known) == (RunOutcome.OK, 7, 2, 5)
    assert summarise(read(dumped, lines(range(8)), name)) == (name, "ok", 1, 1, 0)


def test_F02_a_packed_file_that_is_cut_is_partial_until_the_rest_comes(dumped: House):
    whole = gzip.compress(lines(range(3_000)))
    run = read(dumped, whole[: len(whole) // 2], "a.gz")
    assert run.outcome is RunOutcome.PARTIAL and run.error == "the document ends in the middle"
    assert 0 < run.seen < 3_000
    assert summarise(*dumped.ingest()) == UNCHANGED
    rest = read(dumped, whole, "a.gz")
    assert summarise(rest) == ("a.gz", "ok", 3_000 - run.seen, 3_000 - run.seen, 0)


def test_F13_what_is_set_aside_is_counted_and_the_first_of_it_kept(dumped: House):
    bad = b'{"title": null}\nnot json\n'
    run = read(dumped, lines([1]) + bad * 1_500 + lines([2, 1]))
    assert (run.outcome, run.seen, run.new, run.rejected) == (RunOutcome.OK, 3, 2, 3_000)
    assert len(run.set_aside) == 20
    assert run.set_aside[0].where.startswith("line 2, byte ")
    assert [one.why for one in run.set_aside[:2]] == ["record has no title", "not JSON"]
    run = read(dumped, lines([1]) + bad * 1_500 + lines([2, 1]) + bad)
    assert summarise(run) == ("a.jsonl", "ok", 0, 0, 2)


NULS = b"\0" * 300_000


def test_F13_a_file_with_space_reserved_at_its_end_is_read_on_where_its_records_ended(
    dumped: House,
):
    """A program that reserves space for its file writes the next records in place of NUL bytes."""
    run = read(dumped, lines(range(3)) + NULS)
    assert (run.outcome, run.seen, run.rejected) == (RunOutcome.OK, 3, 1)
    assert run.set_aside[0].where == f"line 4, byte {len(lines(range(3)))}"
    half = lines([4])[:30]
    run = read(dumped, lines(range(4)) + half + NULS)
    assert (run.outcome, run.seen, run.new) == (RunOutcome.PARTIAL, 1, 1)
    assert summarise(read(dumped, lines(range(6)) + NULS)) == ("a.jsonl", "ok", 2, 2, 1)


def test_F13_of_a_file_with_a_gap_only_the_cut_record_is_lost(dumped: House):
    """After a power failure a program goes on at the end of its file, in the line it was in."""
    run = read(dumped, lines(range(3)) + lines([3])[:30] + NULS + lines(range(4, 7)))
    assert (run.outcome, run.seen, run.new, run.rejected) == (RunOutcome.OK, 6, 6, 2)
    assert [one.where.split(",")[0] for one in run.set_aside] == ["line 4", "line 4"]
    run = read(dumped, lines(range(3)) + lines([3])[:30] + NULS + lines(range(4, 9)) + b"no json\n")
    assert (run.seen, run.new, run.rejected) == (2, 2, 1)
    assert run.set_aside[0].where.startswith("line 9, byte ")


def test_F13_a_log_that_was_truncated_while_it_was_written_is_read_after_its_gap(dumped: House):
    """Its writer goes on at its old position, and what is before that reads as NUL bytes."""
    read(dumped, lines(range(1_000)))
    run = read(dumped, b"\0" * len(lines(range(1_000))) + lines([1_000]))
    assert (run.outcome, run.seen, run.new, run.rejected) == (RunOutcome.OK, 1, 1, 1)
    assert run.set_aside[0].where == "line 1, byte 0"
    run = read(dumped, b"\0" * len(lines(range(1_000))) + lines([1_000, 1_001]))
    assert summarise(run) == ("a.jsonl", "ok", 1, 1, 0)


TABLE = b"title,abstract,doi\n"


def rows(numbers: Sequence[int]) -> bytes:
    return b"".join("{title},{abstract},{doi}\n".format(**record(n)).encode() for n in numbers)


def test_F13_of_a_table_with_a_gap_no_part_of_a_row_is_stored(dumped: House):
    run = read(
        dumped, TABLE + rows([1]) + rows([2])[:70] + NULS + rows([3]) + rows([4])[:70] + NULS
    )
    assert (run.outcome, run.seen, run.new) == (RunOutcome.PARTIAL, 2, 2)
    assert [one.why for one in run.set_aside] == [
        "row has NUL bytes in place of cells",
        "not a row of the table: 300,000 NUL bytes in place of text",
        "the document ends inside this record",
    ]
    run = read(dumped, TABLE + rows([1]) + rows([2])[:70] + NULS + rows([3, 4]))
    assert summarise(run) == ("a.jsonl", "ok", 1, 1, 0)


def test_a_dump_without_a_paper_fails_every_time_until_it_is_mended(dumped: House):
    put(dumped, b'{"name": "x"}\n' * 3)
    for _ in range(2):
        [run] = dumped.ingest()
        assert run.outcome is RunOutcome.FAILED
        assert run.error == "no record is a paper: record has no title"
    assert summarise(read(dumped, lines([1]))) == ("a.jsonl", "ok", 1, 1, 0)


def test_an_empty_list_is_read_once(dumped: House):
    assert summarise(read(dumped, b"[]")) == ("a.jsonl", "ok", 0, 0, 0)
    assert summarise(*dumped.ingest()) == UNCHANGED


def test_a_file_that_is_cut_is_parsed_once(house: House):
    """Of any kind: what is whole of it is stored, and there is no more before it changes."""
    house.settings["sources"] = {"refs": {"kind": "ris", "path": "dumps/*.ris"}}
    whole = "TY  - JOUR\nTI  - A title of a paper\nER  - \n"
    path = put(house, (whole + "TY  - JOUR\nTI  - Half").encode(), "a.ris")
    [run] = house.ingest()
    assert (run.outcome, run.seen) == (RunOutcome.PARTIAL, 1)
    assert summarise(*house.ingest()) == UNCHANGED
    path.write_text(whole + whole.replace("A title", "Another title"), encoding="utf-8")
    assert summarise(*house.ingest()) == ("a.ris", "ok", 2, 1, 0)


def offset(house: House) -> int:
    """Return the byte that the store says the dump is read to."""
    with closing(sqlite3.connect(house.folder / "data" / "monitor.db")) as other:
        return int(other.execute("SELECT max(offset) FROM dump").fetchone()[0])


def test_F13_killed_twice_it_goes_on_at_the_byte_and_ends_complete(on_sqlite: None, dumped: House):
    count = 5_000
    content = lines(range(count))
    put(dumped, gzip.compress(content, 1), "a.jsonl.gz")
    dumped.write()
    reached = [0]
    for parts in (2, 1):
        killed = Order("chunk: committed", "kill", parts)
        assert process.run(dumped.folder, "ingest", order=killed) == process.KILLED
        reached.append(offset(dumped))
    assert 0 < reached[1] < reached[2] < len(content)
    behind = content[reached[2] :].count(b"\n")
    assert summarise(*dumped.ingest()) == ("a.jsonl.gz", "ok", behind, behind, 0)
    assert offset(dumped) == len(content)
    assert dumped.read(papers.count) == count


# ── by address ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def addressed(house: House, web: MisbehavingServer) -> House:
    source = {"kind": "jsonl", "url": web.url("/a"), "allow_private": True}
    house.settings["sources"] = {"all": source}
    return house


def test_F14_a_dump_by_address_is_asked_for_again_only_when_it_changed(
    addressed: House, web: MisbehavingServer
):
    web.answers("/a", body=gzip.compress(lines(range(5))), headers={"ETag": '"1"'})
    assert one(addressed) == ("ok", 5, 5)
    web.answers("/a", status=304)
    assert summarise(*addressed.ingest()) == UNCHANGED
    assert web.requests[-1].headers["if-none-match"] == '"1"'
    web.answers("/a", body=gzip.compress(lines(range(7))), headers={"ETag": '"2"'})
    assert one(addressed) == ("ok", 2, 2)


@pytest.mark.parametrize("further", [0, 10])
def test_F02_a_dump_by_address_that_was_cut_goes_on_where_it_ended(
    addressed: House, web: MisbehavingServer, further: int
):
    """Between two lines, or in one."""
    whole = lines(range(5))
    same = {"ETag": '"1"'}
    cut = whole[: len(lines(range(3))) + further]
    web.answers("/a", body=cut, length=len(whole), headers=same)
    (run,) = addressed.ingest()
    assert (run.outcome, run.new, run.rejected) == (RunOutcome.PARTIAL, 3, int(further > 0))
    web.answers("/a", body=whole, headers=same)
    assert one(addressed) == ("ok", 2, 2)
    assert "if-none-match" not in web.requests[-1].headers


def open_files(folder: Path) -> list[str]:
    """Return the files below a folder that this process has open and that have no name."""
    links = []
    for number in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            links.append(str(number.readlink()))
    return [link for link in links if link.startswith(str(folder)) and "(deleted)" in link]


def test_a_dump_by_address_is_fetched_beside_the_store_and_leaves_nothing_if_killed(
    addressed: House,
    web: MisbehavingServer,
    on_sqlite: None,
    monkeypatch: pytest.MonkeyPatch,
):
    """The folder for temporary files may be a small one in memory, as in the container."""
    monkeypatch.setattr(tempfile, "tempdir", str(addressed.folder / "full"))
    data = addressed.folder / "data"
    found: dict[str, list[str]] = {}

    def look(asked: Asked) -> Answer:
        found["nameless"] = open_files(data)
        found["named"] = [path.name for path in data.iterdir()]
        return Answer(body=lines(range(3)))

    web.decides("/a", look)
    assert one(addressed) == ("ok", 3, 3)
    assert len(found["nameless"]) == 1
    assert all(name.startswith("monitor.db") for name in found["named"])


def test_a_dump_that_has_no_place_fails_its_own_run_alone(
    house: House, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    house.settings["store"] = postgres_url
    house.settings["sources"]["all"] = {"kind": "jsonl", "url": "https://example.org/a"}
    house.add("1.txt", AGENTS)
    monkeypatch.setattr(tempfile, "tempdir", str(house.folder / "missing"))
    by_name = {run.source: run for run in house.ingest()}
    assert by_name["page"].new == 1
    assert by_name["all"].outcome is RunOutcome.FAILED
    assert "no file can be made in" in by_name["all"].error


# Reads a dump as an ingest does, and tells the peak of its memory in MB. (`ru_maxrss` would be
# that of the process that started it, where that was larger.)
READS = """
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from monitor.sources.files import read_dump
from monitor.sources.jsonl.source import Jsonl

source = Jsonl("all", Jsonl.Options(path="-"), None, lambda: datetime(2026, 1, 1, tzinfo=UTC))
count = 0
with closing(source.begin(read_dump(Path(sys.argv[1])), ())) as parts:
    while part := parts.take(1_000):
        count += len(part.papers)
status = Path("/proc/self/status").read_text()
print(count, int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def peak(path: Path, papers_in_it: int) -> int:
    command = [sys.executable, "-c", READS, str(path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    count, memory = map(int, answer.stdout.split())
    assert count == papers_in_it
    return memory


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_the_memory_of_reading_does_not_grow_with_the_dump(tmp_path: Path):
    content = b"".join(
        json.dumps({"title": f"Title {number}", "abstract": f"word{number} " * 250}).encode()
        + b"\n"
        for number in range(5_000)
    )
    path = tmp_path / "a.jsonl.gz"
    peaks = []
    for times in (1, 5):
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(times):
                file.write(content)
        peaks.append(peak(path, 5_000 * times))
    assert max(peaks) < 200
    assert peaks[1] - peaks[0] < 16  # of 50 MB more
