"""The papers of the four dumps, looked up at services that have them among others, and that lie.

    python -m tests.looked_up_dumps RECORDS PAPERS [--lies N]

RECORDS has a JSON object a line for each paper of the dumps that has an arXiv id (arxiv_id, title,
authors, published), PAPERS, gzipped, for others (title, abstract, authors, year). The services are
asked over loopback, once with all records in the first of them, once with the records spread over
three. With `--lies`, N of PAPERS are looked up instead, by title and the beginning of the abstract,
and each answer is false in one of the ways of `Lie`; the identifiers of papers that were sent
before are among them.

Exits with 1 if a paper gets another identifier than its own, or is lost; of the dumps also if
fewer than 97% get theirs, or if it takes more than 1.2 or 2.5 requests a paper.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from shutil import copy
from typing import Any

import sqlalchemy as sa
import structlog

from monitor.identity.keys import arxiv_id
from monitor.model import StoredPaper
from monitor.resources import resource
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.papers import look_ups
from monitor.text import title_key
from tests.house import House, all_papers
from tests.servers.look_up import Lie, LookUpServices, Work, look_up_services

SERVICES = ("huggingface", "arxiv", "semantic-scholar")
LEAST_FILLED = 0.97
# Requests a paper, with all records in the first service, and spread over three.
MOST_REQUESTS = {False: 1.2, True: 2.5}
WORDS_OF_ABSTRACT = 60
SENT_BEFORE = 1_000
Row = Mapping[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("records", type=Path)
    parser.add_argument("papers", type=Path)
    parser.add_argument("--lies", type=int, default=0)
    named = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    if named.lies:
        with tempfile.TemporaryDirectory() as folder:
            return int(not _withstands(House(Path(folder)), list(_read(named.papers)), named.lies))
    good = True
    for is_spread in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            good &= _finds(House(Path(folder)), named.records, named.papers, is_spread)
    return int(not good)


def _finds(house: House, records: Path, others: Path, is_spread: bool) -> bool:
    """Look up the papers of the dumps, and say whether enough is found, and nothing wrong."""
    rows = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    titles = {title_key(row["title"]) for row in rows}
    for dump in sorted(resource("seeds").glob("*.txt")):
        copy(dump, house.folder / "dumps")
    house.settings["topics"] = {"all": {"query": "source:page"}}
    house.ingest()
    abstracts = {title_key(p.paper.title): p.paper.abstract for p in house.read(all_papers)}
    works = [_record(row, abstracts.get(title_key(row["title"]), "")) for row in rows]
    more = map(_other, *zip(*enumerate(_read(others)), strict=True))
    works += [work for work in more if title_key(work.title) not in titles]
    ids = {title_key(work.title): work.arxiv for work in works}
    if is_spread:
        works = [replace(work, at=frozenset([_one_of(work)])) for work in works]
    with look_up_services(works, SERVICES) as services:
        took = _ask(house, services, SERVICES)
        stored = house.read(all_papers)
        asked = house.read(look_ups.of_papers, [paper.id for paper in stored])
        requests = services.count() / len(asked)
        counts = ", ".join(f"{name} {services.count(name)}" for name in SERVICES)
    with_record = [paper for paper in stored if title_key(paper.paper.title) in titles]
    right = [paper for paper in with_record if _found(paper) == {_expected(ids, paper)}]
    wrong = [paper for paper in stored if _found(paper) - {_expected(ids, paper)}]
    share = len(right) / len(with_record)
    sys.stdout.write(
        f"{'spread over three services' if is_spread else 'all in the first service'}: "
        f"{len(stored)} papers, {len(with_record)} with a record, {share:.1%} of these filled in, "
        f"{len(wrong)} wrong; {requests:.2f} requests a paper ({counts}); {took:.0f} s\n"
    )
    _list_wrong(wrong)
    return not wrong and share >= LEAST_FILLED and requests <= MOST_REQUESTS[is_spread]


def _withstands(house: House, rows: Sequence[Row], count: int) -> bool:
    """Look up papers whose answers are false, and say whether all arrive with nothing wrong."""
    sent = [replace(_other(n, row), day="2026-11-01") for n, row in enumerate(rows[:SENT_BEFORE])]
    house.settings["topics"] = {"all": {"query": "source:page OR source:list"}}
    house.settings["sources"] = {
        "list": {"kind": "jsonl", "path": "sent.jsonl", "first_run": "deliver"},
        "page": {"kind": "jsonl", "path": "new.jsonl", "first_run": "deliver"},
    }
    _write(house.folder / "sent.jsonl", ({"arxiv_id": w.arxiv, **_bare(w)} for w in sent))
    (house.folder / "new.jsonl").write_text("", encoding="utf-8")
    with house.opened() as app:
        app.once.ingest()
        while app.once.digest(ahead=True):
            house.clock.move(days=1)
    kinds = [lie for lie in Lie if lie.is_of_a_record]
    taken = {title_key(work.title) for work in sent}
    works: list[Work] = []
    for number, row in enumerate(rows[SENT_BEFORE:], SENT_BEFORE):
        work = _other(number, row)
        if title_key(work.title) in taken or len(works) == count:
            continue
        taken.add(title_key(work.title))
        lie = Lie.SENT_BEFORE if number % 10 == 0 else kinds[number % len(kinds)]
        works.append(replace(work, lie=lie, other=sent[number % len(sent)]))
    _write(house.folder / "new.jsonl", map(_bare, works))
    house.clock.move(days=1)
    house.ingest()
    # Some are copies of others, as which they are recognised.
    stored = {title_key(paper.paper.title) for paper in house.read(all_papers)}
    works = [work for work in works if title_key(work.title) in stored]
    with look_up_services(works, SERVICES[:1]) as services:
        took = _ask(house, services, SERVICES[:1])
    after = {title_key(paper.paper.title): paper for paper in house.read(all_papers)}
    arrived = house.read(_sent_ids)
    lost = Counter[Lie]()
    wrong = Counter[Lie]()
    told = Counter[Lie]()
    for work in works:
        assert work.lie
        paper = after.get(title_key(work.title))
        told[work.lie] += 1
        lost[work.lie] += paper is None or paper.id not in arrived
        if paper:
            wrong[work.lie] += bool(_found(paper) or paper.paper.authors or paper.paper.url)
    for lie, number in told.items():
        result = f"{lost[lie]} lost, {wrong[lie]} wrongly filled in"
        sys.stdout.write(f"{number:>6} {lie.value}: {result}\n")
    sys.stdout.write(f"{len(works):>6} in all, {took:.0f} s\n")
    return not (lost.total() or wrong.total())


def _ask(house: House, services: LookUpServices, names: Sequence[str]) -> float:
    """Look papers up and compose their digest; return the seconds that this took."""
    house.settings["look_up"] = {
        "services": {
            name: {"url": services.url(name), "allow_private": True, "a_day": 1_000_000}
            for name in names
        },
        "wait": "6h",
    }
    begun = time.perf_counter()
    with house.opened() as app:
        while app.once.digest(ahead=True):  # each has some hundred papers at most
            house.clock.move(days=1)
    return time.perf_counter() - begun


def _sent_ids(tx: Transaction) -> set[int]:
    return set(tx.scalars(sa.select(schema.digest_item.c.paper_id)))


def _list_wrong(wrong: Sequence[StoredPaper]) -> None:
    for paper in wrong:
        sys.stdout.write(f"  wrong: {paper.paper.title}: {', '.join(_found(paper))}\n")


def _found(paper: StoredPaper) -> set[str]:
    return {arxiv_id(value) for value in paper.paper.identifiers("arxiv")}


def _expected(ids: Mapping[str, str], paper: StoredPaper) -> str | None:
    return ids.get(title_key(paper.paper.title))


def _record(row: Row, abstract: str) -> Work:
    day = (row.get("published", "") + "-01-01")[:10]
    # Each record of a service has authors; some of the gathered ones have none.
    authors = tuple(row.get("authors", ())) or (f"Author of {row['arxiv_id']}",)
    return Work(row["title"], abstract, authors, day, row["arxiv_id"])


def _other(number: int, row: Row) -> Work:
    return Work(
        row["title"],
        row.get("abstract") or "",
        tuple(row.get("authors") or ()),
        f"{row.get('year') or 2020}-01-01",
        f"{11 + number // 10_000}01.{number % 10_000:05}",
    )


def _one_of(work: Work) -> str:
    return SERVICES[zlib.crc32(work.title.encode()) % len(SERVICES)]


def _bare(work: Work) -> dict[str, str]:
    """Return a paper as a dump has it."""
    words = work.abstract.split()[:WORDS_OF_ABSTRACT]
    return {"title": work.title, "abstract": " ".join(words)}


def _write(path: Path, rows: Any) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _read(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, islice(lines, 20_000))


if __name__ == "__main__":
    sys.exit(main())
