"""Compare the time from a feed's bytes to papers with the time that feed parsers take alone.

    python benchmarks/parse.py [--entries N] [--runs N] [--file FEED ...]

Ours includes feedparser, then text without markup, names, dates and identifiers. feedparser alone
runs as it comes, with the cleaning of HTML that ours turns off; fastfeedparser runs where it is
installed. The feeds are made from a seed, in the shape of arXiv's RSS and its daily Atom. Times are
of the processor, the best of all runs, in turns.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import feedparser

from monitor.model import Document
from monitor.sources.base import SourceOptions
from monitor.sources.feed.source import Feed

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WORDS = r"""
we study the problem of learning a model from data and show that our method is better than all
previous approaches on several benchmarks attention network graph diffusion language policy large
reinforcement optimal convergence Bayesian $\mathcal{O}(n^2)$ state-of-the-art $L^2$ inverse 3D
quantum lattice K\"ahler M\'{e}tivier spectral multi-agent
"""
GIVEN = "Ana Bo Chen Dmitri Elodie Francois Grace Hiro Ivan Jürgen Kwame Łukasz Mei Noor"
FAMILY = "Abara Brandão Chen Dupont Evans Fischer García Huang Ito Jansen Kim López Müller"


def sentence(dice: random.Random, count: int) -> str:
    return " ".join(dice.choices(WORDS.split(), k=count)).capitalize()


def records(count: int, seed: int = 7) -> list[dict[str, str | list[str]]]:
    """Return the contents of `count` papers; the same for the same seed."""
    dice = random.Random(seed)
    return [
        {
            "id": f"2611.{n:05}",
            "title": escape(sentence(dice, dice.randint(6, 16))),
            "abstract": escape(". ".join(sentence(dice, 22) for _ in range(dice.randint(6, 10))))
            + ".",
            "names": [
                f"{dice.choice(GIVEN.split())} {dice.choice(FAMILY.split())}"
                for _ in range(dice.randint(1, 9))
            ],
            "categories": dice.sample(
                ["cs.LG", "cs.AI", "cs.CL", "stat.ML", "math.OC"], dice.randint(1, 4)
            ),
            "how": dice.choice(["new", "new", "cross", "replace"]),
            "version": str(dice.randint(1, 4)),
        }
        for n in range(count)
    ]


def rss(count: int) -> bytes:
    items = "".join(
        f"""
    <item>
      <title>{r["title"]}</title>
      <link>https://arxiv.org/abs/{r["id"]}</link>
      <description>arXiv:{r["id"]}v{r["version"]} Announce Type: {r["how"]}
Abstract: {r["abstract"]}</description>
      <guid isPermaLink="false">oai:arXiv.org:{r["id"]}v{r["version"]}</guid>
      {"".join(f"<category>{c}</category>" for c in r["categories"])}
      <pubDate>Fri, 20 Nov 2026 00:00:00 -0500</pubDate>
      <arxiv:announce_type>{r["how"]}</arxiv:announce_type>
      <dc:rights>http://creativecommons.org/licenses/by/4.0/</dc:rights>
      <dc:creator>{", ".join(r["names"])}</dc:creator>
    </item>"""
        for r in records(count)
    )
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<rss xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns:dc="http://purl.org/dc/elements/1.1/" \
xmlns:atom="http://www.w3.org/2005/Atom" version="2.0">
  <channel>
    <title>cs updates on arXiv.org</title>
    <link>http://rss.arxiv.org/rss/cs</link>
    <atom:link href="http://rss.arxiv.org/rss/cs" rel="self" type="application/rss+xml"/>
    <lastBuildDate>Fri, 20 Nov 2026 05:00:00 +0000</lastBuildDate>
    <skipDays><day>Sunday</day><day>Saturday</day></skipDays>{items}
  </channel>
</rss>""".encode()


def atom(count: int) -> bytes:
    began = datetime(2026, 11, 20, 5, tzinfo=UTC)
    entries = "".join(
        f"""
  <entry>
    <id>oai:arXiv.org:{r["id"]}v{r["version"]}</id>
    <title>{r["title"]}</title>
    <updated>{(began + timedelta(microseconds=37_117 * n)).isoformat()}</updated>
    <link href="https://arxiv.org/abs/{r["id"]}" rel="alternate" type="text/html"/>
    <summary>arXiv:{r["id"]}v{r["version"]} Announce Type: {r["how"]}
Abstract: {r["abstract"]}</summary>
    {"".join(f'<category term="{c}"/>' for c in r["categories"])}
    <published>2026-11-20T00:00:00-05:00</published>
    <arxiv:announce_type>{r["how"]}</arxiv:announce_type>
    <dc:rights>http://creativecommons.org/licenses/by/4.0/</dc:rights>
    <dc:creator>{", ".join(r["names"])}</dc:creator>
  </entry>"""
        for n, r in enumerate(records(count))
    )
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns:dc="http://purl.org/dc/elements/1.1/" \
xmlns="http://www.w3.org/2005/Atom" xml:lang="en-us">
  <id>http://rss.arxiv.org/atom/cs</id>
  <title>cs updates on arXiv.org</title>
  <updated>2026-11-20T05:00:19.866337+00:00</updated>{entries}
</feed>""".encode()


def seconds(parse: Callable[[bytes], object], content: bytes) -> float:
    gc.collect()
    began = time.process_time()
    parse(content)
    return time.process_time() - began


def ours(content: bytes) -> object:
    feed = Feed("bench", SourceOptions(path="-"), None, lambda: NOW)
    reading = feed.read(Document("bench", content, NOW))
    assert reading.papers, reading.error
    return reading


def theirs(content: bytes) -> object:
    return feedparser.parse(io.BytesIO(content))


def parsers() -> dict[str, Callable[[bytes], object]]:
    found: dict[str, Callable[[bytes], object]] = {"feedparser": theirs}
    try:
        found["fastfeedparser"] = importlib.import_module("fastfeedparser").parse
    except ImportError:
        print("fastfeedparser is not installed: pip install fastfeedparser")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, default=2_000)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--file", type=Path, action="append", default=[])
    arguments = options.parse_args()
    feeds = {"RSS": rss, "Atom": atom}
    documents = {name: make(arguments.entries) for name, make in feeds.items()}
    documents |= {path.name: path.read_bytes() for path in arguments.file}
    readers = {"ours, to Paper": ours, **parsers()}
    for name, content in documents.items():
        print(f"{name}: {len(content) / 1e6:.1f} MB")
        rounds = [
            [seconds(read, content) for read in readers.values()] for _ in range(arguments.runs)
        ]
        for reader, best in zip(readers, map(min, zip(*rounds, strict=True)), strict=True):
            print(f"  {reader:15} {best * 1000:9.1f} ms  {len(content) / best / 1e6:7.1f} MB/s")


if __name__ == "__main__":
    main()
