"""Count in how many papers each word stands, for ranking and `like:`: only counts are shipped.

python -m benchmarks.count_words PAPERS.jsonl.gz
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

import monitor.match.meaning
from monitor.match.meaning.word_counts import PLACES
from monitor.rank.features import places_of


def main() -> None:
    counts: Counter[int] = Counter()
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            counts.update(set(places_of([row["title"], row["abstract"]])))
    table = np.zeros(PLACES, "<u2")
    table[list(counts)] = list(counts.values())
    packed = zlib.compress(table.tobytes(), 9)
    Path(monitor.match.meaning.__file__).with_name("word_counts.z").write_bytes(packed)
    print(f"{len(counts):,} places, {len(packed):,} bytes")


if __name__ == "__main__":
    main()
