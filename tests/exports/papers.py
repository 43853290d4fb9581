"""Papers to export: one of each kind, hostile ones, those of the dumps, and real ones."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import yaml

from monitor.commands.paper_search import FoundPaper
from monitor.digest.citation import WorkType
from monitor.model import Paper, StoredPaper
from monitor.resources import resource
from tests.house import House, all_papers

AT = datetime(2026, 11, 21, 8, tzinfo=UTC)
PEOPLE = ("Jane Doe", "Hsiao, V.", "Ludwig van Beethoven", "Martin King, Jr.", "Qwen Team")
DAY = datetime(2024, 10, 7, tzinfo=UTC)

# One of each kind of work, as sources have them.
OF_EACH_KIND = {
    WorkType.PREPRINT: Paper(
        "Plans of arXiv", "We plan.", PEOPLE, keys={"arxiv": "2410.05434"}, categories=("cs.LG",)
    ),
    WorkType.ARTICLE: Paper(
        "Plans of a journal",
        authors=PEOPLE,
        venue="Journal of Plans & Agents",
        published=DAY,
        keys={"doi": "10.1000/xyz", "pmid": "123"},
        type="journal article",
    ),
    WorkType.CONFERENCE_PAPER: Paper(
        "Plans of a conference", authors=PEOPLE, venue="NeurIPS 2024", year=2024
    ),
    WorkType.CHAPTER: Paper(
        "Plans of a book", authors=PEOPLE, venue="Handbook of Plans", year=2024, type="book chapter"
    ),
    WorkType.BOOK: Paper("Plans", authors=PEOPLE, venue="Plan Press", year=2024, type="book"),
    WorkType.THESIS: Paper(
        "Plans of a student", authors=PEOPLE, venue="MIT", year=2024, type="dissertation"
    ),
    WorkType.REPORT: Paper(
        "Plans of an institute", authors=PEOPLE, venue="RAND", year=2024, type="report"
    ),
    WorkType.DATASET: Paper(
        "Plans as data", authors=PEOPLE, year=2024, keys={"doi": "10.5061/dryad.1"}
    ),
    WorkType.OTHER: Paper("Plans of nobody", authors=PEOPLE, year=2024),
}

_HOSTILE = (
    "} alone",
    "{ alone",
    r"\{a\} and \emph{b",
    r"$\{x$ and $x}$ for $5 and $6",
    r"\textbackslash \' \"{o} \url{https://x.org/a_b} \\ 10\%",
    "100% of #1 & _a_ ~ ^ \" ' ` @article{x,",
    "A\nER  - \nTY  - JOUR\nTI  - B",
    "TY  - GEN",
    "@misc{evil, title={x}}",
    "<i>x</i> <sub>2</sub> &amp; <script>alert(1)</script>",
    "机器学习 with 😀 and Ⅷ",
    "\u202eright to left\u202c مرحبا",
    "e\u0301\u0327 n\u0303 \u200b\u00ad\ufeff",
    "tab\tand\x0bvertical\x0cform\x00null\u2028line",
    "=HYPERLINK(1)",
    "a" * 3000,
    '"quoted", and "more"',
    "; , : % \\",
    "x and y and others",
    "%% comment % at end\\",
    "\\input{/etc/passwd}",
)


def hostile() -> Iterator[Paper]:
    """Yield papers with hostile texts in each field, and in all of them."""
    for text in _HOSTILE:
        yield Paper(text, text, (f"Jane {text}", text), venue=text, year=2024)
        yield Paper(
            "A title",
            authors=("Jane Doe",),
            year=2024,
            url=f"https://x.org/{text}",
            keys={"doi": f"10.1000/{text}", "arxiv": text},
            categories=(text, "cs.LG"),
        )


def of_dumps() -> list[Paper]:
    """Return the papers of the demo, with what its list of arXiv fills in."""
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder))
        seeds = resource("seeds")
        house.settings["sources"] = yaml.safe_load((seeds / "monitor.yaml").read_text())["sources"]
        for source in house.settings["sources"].values():
            source["path"] = str(seeds / source["path"])
        house.run()
        return [stored.paper for stored in house.read(all_papers)]


def with_odd_letters(file: Path, most: int) -> list[Paper]:
    """Return real papers with LaTeX, or letters beyond ASCII, in their texts or names."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        odd = (
            row
            for row in rows
            if _is_odd(" ".join((row["title"], row["abstract"], *row["authors"])))
        )
        return [
            Paper(
                row["title"],
                row["abstract"],
                tuple(row["authors"]),
                venue=row["venue"],
                year=int(row["year"]),
            )
            for row in islice(odd, most)
        ]


def _is_odd(text: str) -> bool:
    return not text.isascii() or any(sign in text for sign in "\\$&%#_{}^~")


def found(papers: list[Paper]) -> list[FoundPaper]:
    stored = (StoredPaper(number, paper, AT, AT, 1) for number, paper in enumerate(papers, 1))
    return [FoundPaper(paper, ()) for paper in stored]
