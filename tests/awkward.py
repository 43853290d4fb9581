"""Awkward documents of 20 MB in every format, each read by the command: seconds and memory.

    python -m tests.awkward [--format NAME] [--shape NAME] [--slowest N]

A document of up to 20 MB gives papers or an error within 10 seconds and 512 MB, on a machine that
does nothing else. Prints what each needed, and fails when one needed more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

SIZE = 20 * 1024 * 1024
MOST_SECONDS, MOST_MB = 10.0, 512
SAND = "On the motion of sand in the wind we show that dunes move and grains roll over the desert "


class Content(NamedTuple):
    """What a record says."""

    number: int
    title: str
    abstract: str
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind, and how its documents begin, hold a record, and end."""

    kind: str
    head: str
    record: Callable[[Content], str]
    tail: str = ""


def _xml(kind: str, head: str, record: Callable[[Content], str], tail: str) -> Format:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;")

    def escaped_record(one: Content) -> str:
        names = [escaped(name) for name in one.names]
        return record(Content(one.number, escaped(one.title), escaped(one.abstract), names))

    return Format(kind, head, escaped_record, tail)


def _json(kind: str, head: str, record: Callable[[Content], object], tail: str) -> Format:
    last = json.dumps(record(Content(0, "The last", "", ())))
    return Format(kind, head, lambda one: json.dumps(record(one)) + ",\n", last + tail)


def _all(tag: str, names: Sequence[str]) -> str:
    return "".join(f"<{tag}>{name}</{tag}>" for name in names)


def _oai(kind: str, metadata: Callable[[Content], str]) -> Format:
    def record(one: Content) -> str:
        header = f"<header><identifier>oai:x:{one.number}</identifier></header>"
        return f"<record>{header}<metadata>{metadata(one)}</metadata></record>\n"

    head = '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>'
    return _xml(kind, head, record, "</ListRecords></OAI-PMH>")


FORMATS: dict[str, Format] = {
    "rss": _xml(
        "feed",
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>',
        lambda o: (
            f"<item><title>{o.title} {o.number}</title><link>http://x.org/{o.number}</link>"
            f"<description>{o.abstract}</description>{_all('dc:creator', o.names)}</item>\n"
        ),
        "</channel></rss>",
    ),
    "raw": _oai(
        "arxiv",
        lambda o: (
            '<arXivRaw xmlns="http://arxiv.org/OAI/arXivRaw/">'
            f"<id>2401.{o.number % 100_000:05}</id><title>{o.title}</title>"
            f"<authors>{', '.join(o.names)}</authors><abstract>{o.abstract}</abstract></arXivRaw>"
        ),
    ),
    "dublin": _oai(
        "oai",
        lambda o: (
            f'<dc xmlns="http://purl.org/dc/elements/1.1/"><title>{o.title}</title>'
            f"{_all('creator', o.names)}<description>{o.abstract}</description></dc>"
        ),
    ),
    "pubmed": _xml(
        "pubmed",
        "<PubmedArticleSet>",
        lambda o: (
            f"<PubmedArticle><MedlineCitation><PMID>{o.number}</PMID><Article>"
            f"<ArticleTitle>{o.title}</ArticleTitle><Abstract><AbstractText>{o.abstract}"
            "</AbstractText></Abstract><AuthorList>"
            + "".join(f"<Author><LastName>{name}</LastName></Author>" for name in o.names)
            + "</AuthorList></Article></MedlineCitation></PubmedArticle>\n"
        ),
        "</PubmedArticleSet>",
    ),
    "dblp": _xml(
        "dblp",
        "<dblp>",
        lambda o: (
            f"<article key='k/{o.number}'>{_all('author', o.names)}<title>{o.title}</title>"
            f"<note>{o.abstract}</note></article>\n"
        ),
        "</dblp>",
    ),
    "europepmc": _xml(
        "europepmc",
        "<responseWrapper><resultList>",
        lambda o: (
            f"<result><id>{o.number}</id><title>{o.title}</title><abstractText>{o.abstract}"
            f"</abstractText><authorString>{', '.join(o.names)}</authorString></result>\n"
        ),
        "</resultList></responseWrapper>",
    ),
    "crossref": _json(
        "crossref",
        '{"message": {"items": [',
        lambda o: {
            "DOI": f"10.1000/{o.number}",
            "title": [o.title],
            "abstract": f"<jats:p>{o.abstract}</jats:p>",
            "author": [{"family": name} for name in o.names],
        },
        "]}}",
    ),
    "openalex": _json(
        "openalex",
        '{"results": [',
        lambda o: {
            "id": f"https://openalex.org/W{o.number}",
            "title": o.title,
            "abstract_inverted_index": {w: [at] for at, w in enumerate(o.abstract.split())},
            "authorships": [{"author": {"display_name": name}} for name in o.names],
        },
        "]}",
    ),
    "openreview": _json(
        "openreview",
        '{"notes": [',
        lambda o: {
            "id": f"n{o.number}",
            "content": {
                name: {"value": value}
                for name, value in (
                    ("title", o.title),
                    ("abstract", o.abstract),
                    ("authors", list(o.names)),
                )
            },
        },
        "]}",
    ),
    "biorxiv": _json(
        "biorxiv",
        '{"messages": [{"status": "ok"}], "collection": [',
        lambda o: {
            "doi": f"10.1101/2024.01.02.{o.number}",
            "title": o.title,
            "abstract": o.abstract,
            "authors": "; ".join(o.names),
        },
        "]}",
    ),
    "lines": Format(
        "jsonl",
        "",
        lambda o: (
            json.dumps({"title": o.title, "abstract": o.abstract, "authors": list(o.names)}) + "\n"
        ),
    ),
    "table": Format(
        "jsonl",
        "id,title,abstract,authors\n",
        lambda o: f'{o.number},"{o.title}","{o.abstract}","{"; ".join(o.names)}"\n',
    ),
    "bibtex": Format(
        "bibtex",
        "@string{j = {Journal}}\n",
        lambda o: (
            f"@article{{k{o.number},\n title={{{o.title}}} # {{ x}},\n journal=j,\n"
            f" author={{{' and '.join(o.names)}}},\n abstract={{{o.abstract}}}\n}}\n"
        ),
    ),
    "ris": Format(
        "ris",
        "",
        lambda o: (
            f"TY  - JOUR\nTI  - {o.title}\nAB  - {o.abstract}\n"
            + "".join(f"AU  - {name}\n" for name in o.names)
            + "ER  - \n"
        ),
    ),
    "page": Format(
        "huggingface-page",
        "new\n\nMar 12\n\n",
        lambda o: f"{o.title} {o.number}\n\n{o.abstract}. So it is. There is more of it here.\n\n",
    ),
}

# What all records of a document say: title, abstract, names.
SAID: dict[str, tuple[str, str, Sequence[str]]] = {
    "plain": ("Sand and dunes", SAND * 8, ("Jane Doe", "Rae Roe")),
    "tiny": ("x", "", ()),
    "entities": ("&amp;&lt;b&gt; &#38; &alpha; ", "&amp;amp;&lt;i&gt; &#x3b1;&nbsp;" * 60, ()),
    "latex": (r"{\'E}cole $x_{1}^{2}$ \emph{of}", r"\textbf{We} {\v S}how $\alpha$ -- \o " * 30, ()),
    "mark-up": ("<b>Sand</b> <i>p</i><0.05", "<p>We <i>show</i> H<sub>2</sub>O &lt;x&gt;</p>" * 20, ()),
    "names": ("Sand", SAND, [f"Jane{n} Doe" for n in range(3000)]),
    "signs": ("Ünïcödé Ａ\u0301 漢字", "漢字\u0301é ﬃ\u00a0\u2028 x " * 60, ("Jöhn Døe",)),
    "one": ("Sand", "word " * (SIZE // 5), ("Jane Doe",)),
    "one of names": ("Sand", "", ["Jane Doe"] * (SIZE // 40)),
}  # fmt: skip


def _said(form: Format, said: str) -> bytes:
    size, parts = len(form.head) + len(form.tail), [form.head]
    for number in (1,) if said.startswith("one") else count(1):
        part = form.record(Content(number, *SAID[said]))
        size += len(part.encode())
        if size > SIZE and number > 1:
            break
        parts.append(part)
    return "".join([*parts, form.tail]).encode()[:SIZE]


def documents(form: Format) -> Iterator[tuple[str, bytes]]:
    """Yield the awkward documents of a format, each with its name."""
    for said in SAID:
        yield said, _said(form, said)
    good, head = _said(form, "plain"), form.head.encode()
    deep = b"<a>" if head[:1] == b"<" else b'{"a":'
    yield "UTF-16", good[: SIZE // 2].decode(errors="ignore").encode("utf-16")
    yield "encodings", b"\x93\xe9\xff".join(good[n : n + 997] for n in range(0, SIZE - 65_000, 997))
    yield "cut", good[:-300]
    yield "cut gzip", gzip.compress(good)[:-5000]
    yield "nested", head + deep * ((SIZE - len(head)) // len(deep))
    yield "one line", head + b"x" * (SIZE - len(head))
    yield "empty lines", head + b"\n" * (SIZE - len(head))
    records = [form.record(Content(n, *SAID["plain"])).encode() for n in (1, 2)]
    yield "gap", head + (b"\n" * (SIZE - 10_000)).join(records) + form.tail.encode()
    yield "begun", head + good[len(head) : len(head) + 60] * (SIZE // 61)
    yield "never closed", good.replace(b"</", b"<").replace(b"}", b" ")
    yield "ampersands", good.replace(b" ", b"&")
    yield "page", b"<html><body>" + b"<p>x</p>" * (SIZE // 9)
    yield "noise", os.urandom(SIZE)


def read(kind: str, path: Path) -> tuple[float, float, str]:
    """Read a file by the command; return seconds, the MB of its larger process, what it said."""
    command = [sys.executable, "-m", "monitor", "read", kind, str(path)]
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([*command, "--json"], stdout=out, stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(process.pid, 0)
        took = time.monotonic() - began
        process.returncode = 0  # wait4 has taken it
        out.seek(0)
        (document,) = json.load(out)["documents"]
    said = document["error"] or f"{len(document['papers']):,} papers"
    return took, used.ru_maxrss / 1024, said


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--format", choices=FORMATS)
    options.add_argument("--shape", help="the name of one document of each format")
    options.add_argument("--slowest", type=int, default=15)
    arguments = options.parse_args()
    rows: list[tuple[float, float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "document"
        for name in [arguments.format] if arguments.format else FORMATS:
            for shape, content in documents(FORMATS[name]):
                if arguments.shape in (None, shape):
                    path.write_bytes(content)
                    took, memory, said = read(FORMATS[name].kind, path)
                    rows.append((took, memory, f"{name:12} {shape:14} {said[:60]}"))
    for took, memory, what in sorted(rows, reverse=True)[: arguments.slowest]:
        print(f"{took:5.1f} s {memory:4.0f} MB  {what}")
    print(f"{len(rows)} documents, {max(row[1] for row in rows):.0f} MB at most")
    return int(any(took > MOST_SECONDS or memory > MOST_MB for took, memory, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
