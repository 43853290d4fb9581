"""The share of excerpts that do not say what their paper did, judged by readers.

    python benchmarks/excerpts.py [PAPERS]              the share again, and which have changed
    python benchmarks/excerpts.py [PAPERS] --draw FILE  write what is to be judged, as JSON

PAPERS is papers-10k.jsonl.gz: `id`, `title` and `abstract` of each paper. 200 of them are drawn by
a hash of their ids. What readers said of the first 100 was used to make the rule; it was then
judged on the others. tests/digest/excerpt_verdicts.tsv has the ids of these, whether the excerpt
would be left so (yes, no), and a checksum of the excerpt that was judged: its first sentence says
what was done or found, nothing in it points to a sentence that is not shown, none is halved.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.digest.excerpt import EXCERPT_RULE, excerpt
from monitor.digest.shown import shown
from monitor.model import ChangeKind, DigestPaper, Paper

PAPERS = Path("../shared/data/papers-10k.jsonl.gz")
VERDICTS = Path(__file__).parent.parent / "tests" / "digest" / "excerpt_verdicts.tsv"
NUMBER = 200
USED = 100
SEED = "rule 2"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(file: Path) -> dict[str, dict[str, Any]]:
    """Return the papers that are judged, by id."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows: dict[str, dict[str, Any]] = {}
        for row in map(json.loads, lines):
            rows.setdefault(row["id"], row)  # a few ids stand for two papers
    drawn = sorted(rows, key=lambda name: hashlib.sha256(f"{SEED}:{name}".encode()).digest())
    return {name: rows[name] for name in drawn[USED:NUMBER]}


def excerpt_of(row: dict[str, Any]) -> str:
    """Return the excerpt of a paper in which nothing matched."""
    paper = shown(Paper(row["title"], row["abstract"]))
    kind = ChangeKind.NEW
    entry = DigestPaper(1, 1, kind, paper, EPOCH, (), 0.0, (), excerpt_rule=EXCERPT_RULE)
    return excerpt(entry).text


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def draw(rows: dict[str, dict[str, Any]], file: Path) -> None:
    fields = ("id", "title", "abstract")
    judged = [{name: row[name] for name in fields} for row in rows.values()]
    for row in judged:
        row["excerpt"] = excerpt_of(row)
        row["checksum"] = checksum(row["excerpt"])
    file.write_text(json.dumps(judged, ensure_ascii=False, indent=1), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("papers", nargs="?", type=Path, default=PAPERS)
    parser.add_argument("--draw", type=Path, metavar="FILE")
    options = parser.parse_args()
    if not options.papers.exists():
        print(f"NOT CHECKED: there is no {options.papers}")
        return
    rows = read(options.papers)
    if options.draw:
        draw(rows, options.draw)
        return
    verdicts = [line.split("\t") for line in VERDICTS.read_text("utf-8").splitlines()[1:]]
    failed = [name for name, verdict, _ in verdicts if verdict == "no"]
    changed = [name for name, _, judged in verdicts if checksum(excerpt_of(rows[name])) != judged]
    share = len(failed) / len(verdicts)
    print(f"{len(verdicts)} excerpts, {len(failed)} that readers would not leave so: {share:.1%}")
    print(f"{len(changed)} have changed since they were judged: {' '.join(changed) or '-'}")


if __name__ == "__main__":
    main()
