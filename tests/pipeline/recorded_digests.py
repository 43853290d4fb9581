"""Digests whose papers, order, marked words and HTML must not change without being noticed.

They are composed from the four sample dumps and from generated histories, at fixed times, and are
written down as hashes in recorded_digests.json. After a change of what belongs in a digest, or of
what its mail looks like:

    python -m tests.pipeline.recorded_digests
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from monitor.app import open_app
from monitor.clocks import clock_at
from monitor.config import load
from monitor.model import Digest
from monitor.resources import resource
from tests.house import newest_digest, newest_mail

RECORDED = Path(__file__).with_suffix(".json")
MONDAY = datetime(2024, 10, 21, 5, tzinfo=UTC)
HISTORIES = 6
TOPICS = {
    "agents": 'agent OR "multi-agent"',
    "learning": "title:learning OR policy",
    "models": '"language model" OR LLM OR $\\theta$',
    "rare": "gravel AND robot",
}
_MARKED = re.compile(r"<b(?: [^>]*)?>(.*?)</b>", re.DOTALL)


def recorded() -> dict[str, dict[str, Any]]:
    """Return what is written down, by the name of each digest."""
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def compose_all(folder: Path) -> dict[str, dict[str, Any]]:
    """Compose every digest in stores below `folder`; return what is written down of each."""
    found = dict(_of_samples(folder / "samples"))
    for seed in range(HISTORIES):
        found |= _of_history(folder / f"history-{seed}", seed)
    return found


def _of_samples(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    folder.mkdir()
    settings = yaml.safe_load((resource("seeds") / "monitor.yaml").read_text(encoding="utf-8"))
    sources = {"page": {"kind": "huggingface-page", "path": str(resource("seeds") / "*.txt")}}
    topics = settings["topics"]
    subscriptions = {
        "all": {"topics": ["*"]},
        "few-in-full": {"topics": ["rl-methods", "planning"], "max": 3},
        "one": {"topics": ["agent-benchmarks"], "timezone": "Asia/Tokyo"},
        "wide": {"topics": ["wide", "surveys"], "max": 40},
    }
    topics["wide"] = {"query": "agent OR model OR learning"}
    yield from _composed(folder, {"sources": sources, "topics": topics}, subscriptions, [MONDAY])


def _of_history(folder: Path, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Three days of a generated source: new papers, revisions, titles with mathematics."""
    folder.mkdir()
    chance, source = random.Random(seed), folder / "papers.jsonl"
    topics = {name: {"query": query, "news": ["new", "revised"]} for name, query in TOPICS.items()}
    settings = {
        "sources": {"dump": {"kind": "jsonl", "path": str(source), "first_run": "deliver"}},
        "topics": topics,
    }
    subscriptions = {
        "reader": {"topics": ["*"], "max": chance.choice([1, 4, 25])},
        "learner": {"topics": ["learning", "rare"], "max": 5},
    }
    papers: list[dict[str, Any]] = []

    def next_day() -> None:
        for paper in chance.sample(papers, len(papers) // 10):
            paper |= {"abstract": _abstract(chance), "version": paper["version"] + 1}
        papers.extend(_paper(chance, len(papers) + n) for n in range(chance.randint(5, 60)))
        source.write_text("\n".join(map(json.dumps, papers)), encoding="utf-8")

    days = [MONDAY + timedelta(days=day) for day in range(3)]
    for name, facts in _composed(folder, settings, subscriptions, days, next_day):
        yield f"history {seed}, {name}", facts


_WORDS = [
    *("agent", "policy", "learning", "robot", "gravel", "language", "models", "planner", "reward"),
    *("of", "the", "for", "with", "and", "under", "LLM", "LLMs", "multi-agent", "agents", "deep"),
    *("$\\theta$", "$\\mathcal{O}(n^2)$", "self-play", "value", "function", "sparse"),
]


def _paper(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": f"p{number}",
        "version": 1,
        "title": f"{' '.join(chance.choices(_WORDS, k=chance.randint(3, 12)))} {number}",
        "abstract": _abstract(chance),
        "authors": [f"Ada {number}", f"Bo {chance.randint(0, 9)}"],
        "url": f"https://example.org/p/{number}" if number % 3 else "",
    }


def _abstract(chance: random.Random) -> str:
    sentences = (
        " ".join(chance.choices(_WORDS, k=chance.randint(4, 30)))
        for _ in range(chance.randint(0, 9))
    )
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def _composed(
    folder: Path,
    settings: dict[str, Any],
    subscriptions: dict[str, dict[str, Any]],
    days: list[datetime],
    next_day: Any = lambda: None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    path = folder / "monitor.yaml"
    email = {"email": "reader@example.org"}
    everything = settings | {
        "store": f"sqlite:///{folder / 'monitor.db'}",
        "subscriptions": {name: one | email for name, one in subscriptions.items()},
        # Nothing answers there: the mails stay in the store.
        "smtp": {"host": "127.0.0.1", "port": 1, "tls": "none", "from": "papers@example.org"},
    }
    path.write_text(yaml.safe_dump(everything), encoding="utf-8")
    for day in days:
        next_day()
        with open_app(load(path), clock_at(day)) as app:
            app.once.ingest()
            app.once.digest([*subscriptions], early=True)
            with app.runtime.database.reading() as tx:
                for name in subscriptions:
                    if digest := newest_digest(tx, name):
                        yield f"{name} {digest.period}", _facts(digest, newest_mail(tx, name))


def _facts(digest: Digest, html: str) -> dict[str, Any]:
    papers = [
        [group.topic, [[entry.paper_id, entry.revision, entry.kind] for entry in group.entries]]
        for group in digest.groups
    ]
    return {
        "papers": digest.papers,
        "order": _hash(json.dumps(papers)),
        "marks": _hash("\n".join(_MARKED.findall(html))),
        "html": _hash(html),
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = (
            f"{json.dumps(name)}: {json.dumps(facts)}"
            for name, facts in compose_all(Path(folder)).items()
        )
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
