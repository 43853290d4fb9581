"""From the bytes of a JSONL dump to papers, beside decoders that only make dictionaries of it.

    python benchmarks/jsonl.py [--records N] [--file papers.jsonl.gz] [--runs N]

Every line is decoded by each of them in turn, `--runs` times, interleaved; the shortest CPU time
counts. The decoders hold one record, our reader 1,000 papers, as during an ingest. The corpus is
generated from a seed, in the shape of machine-learning papers, or read from `--file`, plain or
compressed.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import orjson

from monitor.model import Dump
from monitor.sources.jsonl.decompress import Tape
from monitor.sources.jsonl.source import Jsonl

SEED = 20260101
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAPERS_AT_A_TIME = 1_000


def corpus(records: int) -> bytes:
    """Return lines with a title, an abstract of some 170 words, names and a year each.

    As in real dumps, one in ten has two spaces or the end of a line in its abstract, and one in
    eighty mark-up, entities or characters that are not composed.
    """
    pick = random.Random(SEED)
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(pick.choices(syllables, k=pick.randint(1, 4))) for _ in range(20_000)]
    white = ["  ", "  ", "  ", "\n", "\r\n"]
    marked = ["<i>", "&amp;", "e\u0301"]
    odd = ["naïve", "β-VAE", "“quoted”", "100\\%", "$\\alpha$"]

    def text(length: int) -> str:
        chosen = pick.choices(words, k=length)
        if pick.random() < 0.2:
            chosen[pick.randrange(length)] = pick.choice(odd)
        return " ".join(chosen).capitalize()

    def abstract() -> str:
        words = text(pick.randint(110, 230)) + "."
        signs = white if pick.random() < 0.1 else marked if pick.random() < 0.0125 else ()
        return words.replace(" ", pick.choice(signs), 1) if signs else words

    def record(number: int) -> dict[str, object]:
        return {
            "id": f"{number:x}",
            "title": text(pick.randint(5, 14)).title(),
            "abstract": abstract(),
            "authors": [text(2).title() for _ in range(pick.randint(1, 8))],
            "categories": ["main"],
            "venue": "conf",
            "year": "2025",
        }

    lines = (json.dumps(record(n), ensure_ascii=False).encode() for n in range(records))
    return b"".join(line + b"\n" for line in lines)


def decompress(path: Path) -> bytes:
    with path.open("rb") as file:
        tape = Tape(file)
        return b"".join(iter(tape.read, b""))


def by_json(content: bytes) -> int:
    return sum(1 for line in content.splitlines() if json.loads(line))


def by_orjson(content: bytes) -> int:
    return sum(1 for line in content.splitlines() if orjson.loads(line))


def by_us(content: bytes) -> int:
    source = Jsonl("bench", Jsonl.Options(path="-"), None, lambda: NOW)
    dump = Dump("bench", lambda: io.BytesIO(content), NOW, len(content))
    count = 0
    with closing(source.begin(dump, ())) as parts:
        while part := parts.take(PAPERS_AT_A_TIME):
            count += len(part.papers) + len(part.rejected)
            del part
    return count


def least(runs: int, content: bytes, *decode: Callable[[bytes], int]) -> list[float]:
    taken = [float("inf")] * len(decode)
    for _ in range(runs):
        for place, one in enumerate(decode):
            began = time.process_time()
            one(content)
            taken[place] = min(taken[place], time.process_time() - began)
    return taken


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=20_000)
    options.add_argument("--file", type=Path)
    options.add_argument("--runs", type=int, default=7)
    arguments = options.parse_args()
    content = decompress(arguments.file) if arguments.file else corpus(arguments.records)
    count = len(content.splitlines())
    packed = gzip.compress(content, 6)
    ours, by_standard, by_fast = least(arguments.runs, content, by_us, by_json, by_orjson)
    whole, gunzip = least(arguments.runs, packed, by_us, lambda data: len(gzip.decompress(data)))
    print(f"{count:,} records, {len(content) / 1e6:.1f} MB")
    print(f"json.loads, to dictionaries    {count / by_standard:10,.0f} records/s")
    print(f"orjson, to dictionaries        {count / by_fast:10,.0f} records/s")
    print(
        f"bytes to papers                {count / ours:10,.0f} records/s   "
        f"{by_standard / ours:.2f} x json.loads, {by_fast / ours:.2f} x orjson"
    )
    print(
        f"gzip to papers                 {count / whole:10,.0f} records/s   "
        f"{whole / gunzip:.2f} times the time of gunzip alone"
    )


if __name__ == "__main__":
    main()
