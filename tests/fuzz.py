"""Documents spoiled at random, for every kind: papers or an error, in bounds, and nothing else.

    python -m tests.fuzz [--seconds N] [--seed N] [--kind KIND] [--finds FOLDER]

Each document is one of the fixtures, the seeds or the recorded samples, with its bits, bytes,
parts, encoding, values or size changed. It is read by a worker, as the service reads large ones. A
find is an exception, a document that takes too long or too much, a paper with a field that is not
clean, or two readings that differ; it is written to a folder, and becomes a test.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from monitor import plugins
from monitor.errors import DocumentError
from monitor.model import Document, Paper, Reading
from monitor.resources import resource
from monitor.sources import sandbox
from monitor.text import clean
from tests.samples.folder import SAMPLES
from tests.sources.scenario import FIXTURES, NOW

SECONDS = 9.0
SECONDS_OF_SMALL = 5.0
MAY_BE_STOPPED = 1024 * 1024  # what is larger may take its whole time or memory
LARGEST = 20 * 1024 * 1024
NASTY = [
    b"&",
    b"&nbsp;",
    b"&#0;",
    b"&#xD800;",
    b"&#x110000;",
    b"&undefined;",
    b"<",
    b">",
    b"]]>",
    b"<!--",
    b"<![CDATA[",
    b"<?xml version='1.0'?>",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>",
    b"\0",
    b"\x0b",
    b"\x1a",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xc3\x28",
    b"\x93\x94",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"\r",
    b"\x85",
    b"\xe2\x80\xa8",
    b"<div>",
    b"</",
    b"<x:y>",
    b" xml:base='http://[::1'",
    b"{",
    b"}",
    b"[",
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"1e999999",
    b"9" * 5000,
    b"-",
    b"null",
    b"true",
    b"NaN",
    b"Infinity",
    b"$",
    b"$$",
    b"\\'{",
    b"\\begin{x}",
    b"\\cite{",
    b"@article{",
    b"@string{a = a # a}",
    b"TY  - ",
    b"ER  - \n",
    b"AU  - ",
    b"http://[",
    b"https://[::1]:99999/",
    b"%00%ff",
    b"0000-00-00",
    b"9999-99-99T99:99:99Z",
    b"10.1000/",
    b"arXiv:",
    b"<script>",
    b"et al",
    b", and ",
    b"(((",
    b"\n\n",
]
VALUES = [
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    10**30,
    "",
    " ",
    "x",
    "<p>x</p>",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
]

Mutation = Callable[[random.Random, bytes], bytes]


# ── what documents there are ────────────────────────────────────────────────────────


def documents() -> dict[str, list[bytes]]:
    """Return documents of every kind: fixtures, seeds, and the recorded ones if they are here."""
    found: dict[str, list[bytes]] = {kind: [] for kind in plugins.SOURCES.built_in}
    for path in sorted(FIXTURES.glob("*/*")):
        if path.suffix != ".expected" and path.is_file():
            _add(found, path.parent.name, path)
    for path in sorted(resource("seeds").glob("*.txt")):
        found["huggingface-page"].append(path.read_bytes()[:20_000])
    for path in sorted(SAMPLES.rglob("*")) if SAMPLES.is_dir() else ():
        if path.is_file() and path.suffix != ".tsv":
            _add(found, path.parent.name.split("-")[0], path)
    return {kind: contents or [b"x"] for kind, contents in found.items()}


def _add(found: dict[str, list[bytes]], folder: str, path: Path) -> None:
    content = path.read_bytes()
    kinds = {"hf": ["huggingface"], "biorxiv": ["biorxiv", "medrxiv"], "json": ["feed"]}
    suffixes = {".bib": ["bibtex"], ".ris": ["ris"], ".jsonl": ["jsonl"]}
    other = {"feed": ["feed"], "nature_2022": ["feed"], "other": ["europepmc"], "oai": ["oai"]}
    named = suffixes.get(path.suffix) or kinds.get(folder) or other.get(folder) or [folder]
    if content.lstrip()[:200].find(b"<rss") >= 0 or b"<feed" in content[:600]:
        named = [*named, "feed"]
    if b"OAI-PMH" in content[:600]:
        named = [*named, "oai", "arxiv"]
    for kind in dict.fromkeys(named):
        if kind in found:
            found[kind].append(content)


# ── how they are spoiled ────────────────────────────────────────────────────────────


def flip(dice: random.Random, content: bytes) -> bytes:
    spoiled = bytearray(content)
    for _ in range(dice.choice([1, 3, 30])):
        spoiled[dice.randrange(len(spoiled))] ^= 1 << dice.randrange(8)
    return bytes(spoiled)


def cut(dice: random.Random, content: bytes) -> bytes:
    begin, end = sorted((dice.randrange(len(content) + 1), dice.randrange(len(content) + 1)))
    return dice.choice([content[:end], content[begin:], content[:begin] + content[end:]])


def twice(dice: random.Random, content: bytes) -> bytes:
    begin = dice.randrange(len(content))
    part = content[begin : begin + dice.choice([1, 5, 50, 500, 5000])]
    place = dice.randrange(len(content) + 1)
    return content[:place] + part * dice.choice([1, 2, 10, 100]) + content[place:]


def nasty(dice: random.Random, content: bytes) -> bytes:
    for _ in range(dice.choice([1, 2, 10])):
        place = dice.randrange(len(content) + 1)
        content = (
            content[:place] + dice.choice(NASTY) * dice.choice([1, 1, 2, 50]) + content[place:]
        )
    return content


def recoded(dice: random.Random, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    how = dice.choice(["utf-16", "utf-16-be", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7"])
    return text.encode(how, "replace")


def wrapped(dice: random.Random, content: bytes) -> bytes:
    return dice.choice(
        [
            gzip.compress(content),
            b"\n \t" + content,
            b"junk\n" + content,
            content + content,
            content + b"<junk/>\0",
        ]
    )


def retyped(dice: random.Random, content: bytes) -> bytes:
    """Put another value into a place of a JSON document."""
    try:
        value = json.loads(content)
    except ValueError:
        return nasty(dice, content)
    for _ in range(dice.choice([1, 3, 9])):
        node = value
        while isinstance(node, dict | list) and node:
            key = dice.choice(list(node) if isinstance(node, dict) else range(len(node)))
            if dice.random() < 0.2 or not isinstance(node[key], dict | list):
                node[key] = deepcopy(dice.choice(VALUES))
                break
            node = node[key]
    return json.dumps(value).encode()


def unmarked(dice: random.Random, content: bytes) -> bytes:
    """Take tags out, or the marks that part names and values."""
    marks = [place for place, byte in enumerate(content[:200_000]) if byte in b"<>{}\"',:=/&;#"]
    for place in sorted(dice.sample(marks, min(len(marks), dice.choice([1, 2, 8]))), reverse=True):
        content = content[:place] + content[place + 1 :]
    return content


def grown(dice: random.Random, content: bytes) -> bytes:
    """Repeat a part until a document is as large as one may be."""
    begin = dice.randrange(len(content))
    part = content[begin : begin + dice.choice([1, 2, 4, 8, 40, 400, 4000, len(content)])]
    if dice.random() < 0.4:
        part = dice.choice(NASTY)
    size = dice.choice([300_000, 2_000_000, LARGEST - len(content)])
    return content[:begin] + part * (size // len(part)) + content[begin:]


SMALL: list[Mutation] = [flip, cut, twice, nasty, recoded, wrapped, retyped, unmarked]


def spoiled(dice: random.Random, content: bytes, another: bytes, large: bool) -> bytes:
    if dice.random() < 0.1:
        place = dice.randrange(len(content) + 1)
        content = content[:place] + another[dice.randrange(len(another) + 1) :]
    for mutation in dice.choices(SMALL, k=dice.choice([1, 1, 2, 4])):
        content = mutation(dice, content or b"x")[:LARGEST]
    return grown(dice, content or b"x")[:LARGEST] if large else content[:LARGEST]


# ── what must hold ──────────────────────────────────────────────────────────────────


def unclean(paper: Paper) -> str:
    """Say which field of a paper is not as fields are, or ""."""
    texts = {"title": paper.title, "abstract": paper.abstract, "venue": paper.venue}
    texts |= {f"author {n}": name for n, name in enumerate(paper.authors)}
    texts |= {f"category {n}": name for n, name in enumerate(paper.categories)}
    found = [
        name for name, text in texts.items() if not isinstance(text, str) or text != clean(text)
    ]
    if not paper.title:
        found.append("title")
    for url in (paper.url, paper.pdf_url):
        if url and (not url.startswith(("http://", "https://")) or set(url) & set(" \n\t\0")):
            found.append("url")
    for at in (paper.published, paper.updated, paper.announced):
        if at is not None and at.utcoffset() is None:
            found.append("date")
    values = (
        v for text in paper.keys.values() for v in ((text,) if isinstance(text, str) else text)
    )
    if any(not isinstance(value, str) or not value or value != clean(value) for value in values):
        found.append("keys")
    json.dumps([paper.raw_id, paper.announce, paper.version, paper.year]).encode()
    for text in (paper.raw_id, paper.announce, paper.url, *paper.keys):
        text.encode()  # half a pair of surrogates cannot be stored
        if "\0" in text:
            found.append("zero")  # PostgreSQL takes none
    return ", ".join(found)


def wrong(answer: Reading | DocumentError) -> str:
    """Say what is wrong with an answer, or ""."""
    if not isinstance(answer, Reading):
        return "\n".join([str(answer), *getattr(answer, "__notes__", ())])
    if answer.error and answer.complete:
        return "an error, and yet complete"
    if any(not (one.where and one.why) for one in answer.rejected):
        return "a rejection without a place or a reason"
    try:
        faults = list(filter(None, map(unclean, answer.papers)))
    except UnicodeError as fault:
        faults = [str(fault)]
    return f"not clean: {faults[0]}" if faults else ""


class Fuzz:
    def __init__(self, seed: int, kinds: list[str], finds: Path) -> None:
        self.dice = random.Random(seed)
        self.documents = documents()
        self.kinds = kinds or list(self.documents)
        self.finds = finds
        self.found: Counter[str] = Counter()
        self.stopped: Counter[str] = Counter()
        self.slowest: dict[str, tuple[float, int]] = {}
        self.worker = sandbox.Worker()

    def round(self) -> None:
        kind = self.dice.choice(self.kinds)
        known = self.documents[kind if self.dice.random() < 0.9 else self.dice.choice(self.kinds)]
        large = self.dice.random() < 0.06
        content = spoiled(self.dice, self.dice.choice(known), self.dice.choice(known), large)
        answer, took = self.ask(kind, content)
        self.slowest[kind] = max(self.slowest.get(kind, (0.0, 0)), (took, len(content)))
        fault = wrong(answer)
        is_stopped = isinstance(answer, DocumentError) and not hasattr(answer, "__notes__")
        if len(content) > MAY_BE_STOPPED and is_stopped:
            self.stopped[kind] += 1
            return
        is_slow = len(content) <= sandbox.MAX_BYTES_HERE and took > SECONDS_OF_SMALL
        if not fault and (is_slow or self.dice.random() < 0.1):
            again, took = self.ask(kind, content)
            if is_slow and took > SECONDS_OF_SMALL:  # a busy machine is slow once
                fault = f"a small document took {took:.1f} s"
            elif again != answer:
                fault = "two readings differ"
        if fault:
            self.keep(kind, content, fault)

    def ask(self, kind: str, content: bytes) -> tuple[Reading | DocumentError, float]:
        """Have a document read; return the answer, and the seconds that it took."""
        began = time.monotonic()
        if not self.worker.lives() or self.worker.documents > 2_000:
            self.worker.end()
            self.worker = sandbox.Worker()
        made = plugins.SOURCES.load(kind)
        document = Document("fuzz", content, NOW)
        asked = (made, kind, made.Options(path="-"), NOW, "read", document, ())
        answer = self.worker.ask(pickle.dumps(asked), SECONDS, sandbox.MEMORY_BYTES)
        assert isinstance(answer, Reading | DocumentError)
        return answer, time.monotonic() - began

    def keep(self, kind: str, content: bytes, fault: str) -> None:
        line = fault.strip().splitlines()
        said = f"{kind}: {line[0][:90]} | {line[-3].strip() if len(line) > 3 else ''}"
        self.found[said] += 1
        if self.found[said] > 3:
            return
        self.finds.mkdir(parents=True, exist_ok=True)
        path = self.finds / f"{kind}-{sum(self.found.values())}"
        path.write_bytes(content)
        path.with_suffix(".why").write_text(fault)
        print(f"FOUND {said} ({len(content):,} bytes) in {path}", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=random.randrange(2**31))
    options.add_argument("--kind", action="append", default=[])
    options.add_argument("--finds", type=Path, default=Path("fuzz-finds"))
    arguments = options.parse_args()
    if not SAMPLES.is_dir():
        print("no recorded documents here: only the fixtures are spoiled")
    fuzz = Fuzz(arguments.seed, arguments.kind, arguments.finds)
    rounds = 0
    until = time.monotonic() + arguments.seconds
    while time.monotonic() < until:
        fuzz.round()
        rounds += 1
    fuzz.worker.end()
    print(f"seed {arguments.seed}: {rounds:,} documents, {sum(fuzz.found.values())} finds")
    for kind, (took, size) in sorted(fuzz.slowest.items()):
        stopped = f", {fuzz.stopped[kind]} stopped" if fuzz.stopped[kind] else ""
        print(f"  {kind:18} slowest {took:5.1f} s of {size:,} bytes{stopped}")
    return 1 if fuzz.found else 0


if __name__ == "__main__":
    sys.exit(main())
