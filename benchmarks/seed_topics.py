"""Twenty topics on the papers of the seeds, beside a search for substrings.

    python -m benchmarks.seed_topics            the table of docs/seed-topics.md
    python -m benchmarks.seed_topics --titles   with the titles that only one of the two finds

A substring search is what many alert scripts do: `phrase in text.lower()` over title and
abstract, the same ANDs, ORs and NOTs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from monitor.cli.read import read_files
from monitor.match import TopicIndex
from monitor.model import Paper
from monitor.resources import resource

# A topic, and how a search for substrings would ask: all of these groups, one of each, none of
# the last.
TOPICS: Sequence[tuple[str, Sequence[Sequence[str]], Sequence[str]]] = (
    ("multi-agent reinforcement", [["multi-agent"], ["reinforcement"]], []),
    ("LLM agent", [["llm"], ["agent"]], []),
    ('"web agent"', [["web agent"]], []),
    ("RAG", [["rag"]], []),
    ("=RAG", [["rag"]], []),
    ("GUI", [["gui"]], []),
    ("RL robot*", [["rl"], ["robot"]], []),
    ("policy", [["policy"]], []),
    ('"policy gradient"', [["policy gradient"]], []),
    ("planning -LLM", [["planning"]], ["llm"]),
    ('"tool use" OR "tool learning"', [["tool use", "tool learning"]], []),
    ("title:game", [["game"]], []),
    ('"reward agent"~3', [["reward agent", "agent reward"]], []),
    ("cooperat*", [["cooperat"]], []),
    ('"large language model" benchmark', [["large language model"], ["benchmark"]], []),
    ("GPT-4", [["gpt-4"]], []),
    (
        '2 of ("web navigation", "mobile", "operating system")',
        [["web navigation", "mobile", "operating system"]],
        [],
    ),
    ('"zero-shot"', [["zero-shot"]], []),
    ("diffusion", [["diffusion"]], []),
    ('"world model"', [["world model"]], []),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What a topic finds, and what a search for substrings misses of it and finds beside it."""

    topic: str
    found: tuple[Paper, ...]
    missed: tuple[Paper, ...]
    wrong: tuple[Paper, ...]


def papers() -> list[Paper]:
    """Return the papers of the seeds, each title once."""
    folder = resource("seeds")
    files = sorted(Path(str(file)) for file in folder.iterdir() if file.name.endswith(".txt"))
    records = [
        paper for _, reading in read_files("huggingface-page", files) for paper in reading.papers
    ]
    return list({paper.title: paper for paper in records}.values())


def rows(stored: Sequence[Paper]) -> Iterator[Row]:
    index = TopicIndex({topic: topic for topic, _, _ in TOPICS})
    matched: dict[object, list[int]] = {}
    for match in index.match(stored):
        matched.setdefault(match.topic, []).append(match.position)
    for topic, groups, without in TOPICS:
        ours = set(matched.get(topic, ()))
        theirs = {i for i, paper in enumerate(stored) if _has(paper, groups, without)}
        yield Row(
            topic,
            tuple(stored[i] for i in sorted(ours)),
            tuple(stored[i] for i in sorted(ours - theirs)),
            tuple(stored[i] for i in sorted(theirs - ours)),
        )


def _has(paper: Paper, groups: Sequence[Sequence[str]], without: Sequence[str]) -> bool:
    text = f"{paper.title}\n{paper.abstract}".lower()
    wanted = all(any(part in text for part in group) for group in groups)
    return wanted and not any(part in text for part in without)


def main() -> None:
    stored = papers()
    print(f"{len(stored)} papers\n")
    print("| topic | papers | missed by substrings | found beside them |")
    print("| --- | ---: | ---: | ---: |")
    for row in rows(stored):
        print(f"| `{row.topic}` | {len(row.found)} | {len(row.missed)} | {len(row.wrong)} |")
        if "--titles" in sys.argv:
            for kind in ("found", "missed", "wrong"):
                for paper in getattr(row, kind)[:8]:
                    print(f"    {kind}: {paper.title}")


if __name__ == "__main__":
    main()
