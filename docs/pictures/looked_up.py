"""Pictures of a mail before and after its papers were looked up: the dumps in `seeds/` alone.

The services are played on loopback, with the records of `seeds/arxiv.jsonl`.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.servers.look_up import Work, look_up_services  # noqa: E402

SEEDS = ROOT / "seeds"
SERVICE = "arxiv"
SETTINGS: Mapping[str, Any] = {
    "sources": {
        "huggingface": {
            "kind": "huggingface-page",
            "path": "dumps/*.txt",
            "title": "Hugging Face",
        }
    },
    "topics": {"agents": {"query": '"language agents" OR "multi-agent"', "title": "Agents"}},
    "subscriptions": {"agents": {"topics": "agents", "email": "ada@example.org", "lead": 0}},
    "web": "off",
}

# Runs a command in a folder.
Run = Callable[..., object]


def prepare(folder: Path, by_mail: Mapping[str, Any], run: Run) -> Iterator[tuple[str, Path]]:
    """Prepare an installation without and one with look-ups; yield what each is called."""
    for name in ("before", "after"):
        home = folder / f"looked-up-{name}"
        shutil.copytree(SEEDS, home / "dumps", ignore=shutil.ignore_patterns("*.jsonl", "*.py"))
        with look_up_services(list(_works()), [SERVICE]) as services:
            url = {"url": services.url(SERVICE), "allow_private": True}
            asked = {} if name == "before" else {"look_up": {"services": {SERVICE: url}}}
            settings = {**SETTINGS, **by_mail, **asked}
            (home / "monitor.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
            run(home, "ingest")
            if asked:
                run(home, "papers", "look-up", "--missing", "--limit", "400")
        yield name, home


def _works() -> Iterator[Work]:
    for line in (SEEDS / "arxiv.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        day = (row["published"] + "-01-01")[:10]
        authors = tuple(row.get("authors", ()))
        yield Work(row["title"], row["abstract"], authors, day, row["url"].rpartition("/")[2])
