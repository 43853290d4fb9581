"""What the pictures show: the sample dumps under topics that make digests of every size."""

from __future__ import annotations

import json
import shutil
from itertools import islice, product
from pathlib import Path
from typing import Any

import yaml

from monitor.resources import resource

AGENTS = ["web-and-gui-agents", "teams-of-language-models", "planning", "embodied-agents"]
WORDS = [
    "planning",
    "robot",
    "reward",
    "safety",
    "benchmark",
    "simulation",
    "exploration",
    "diffusion",
    "transformer",
    "offline",
    "alignment",
    "code",
    "memory",
    "game",
    "graph",
    "survey",
    "web",
    "vision",
    "imitation",
    "tool",
]
TOPICS: dict[str, dict[str, Any]] = {
    "wide": {"title": "Agents and models", "query": "agent OR model OR learning"},
    "few": {"title": "Simulation and memory", "query": "simulation OR memory"},
    "one": {"title": "Auctions", "query": 'title:"auction arena"'},
    "twelve": {"title": "Planning", "query": "title:planning"},
    "fifty-four": {"title": "Agents and data", "query": "title:agent AND data"},
    "none": {"title": "Gravel", "query": "gravel AND robot AND opera"},
    "many": {"title": "A very long list", "query": "category:cs.MANY"},
    "revised": {"title": "Plans", "query": "category:cs.PLAN", "news": ["revised"]},
    **{f"about-{word}": {"title": word.capitalize(), "query": f"title:{word}"} for word in WORDS},
}
SUBSCRIPTIONS: dict[str, dict[str, Any]] = {
    "agents": {"title": "Agents", "topics": AGENTS, "max": 20},
    "crowded": {"title": "Everything", "topics": ["wide", "planning"]},
    "topics": {"title": "Twenty topics", "topics": [f"about-{word}" for word in WORDS]},
    "few": {"title": "Simulation and memory", "topics": ["few"]},
    "twelve": {"topics": ["twelve"]},
    "fifty-four": {"topics": ["fifty-four"]},
    "many": {"title": "A very long list", "topics": ["many"]},
    "revised": {"title": "Plans", "topics": ["revised"]},
    "one": {"title": "Auctions", "topics": ["one"]},
    "none": {"title": "Gravel", "topics": ["none"], "quiet": "send"},
}
SOURCES = {
    "many": {"kind": "jsonl", "path": "many*.jsonl", "first_run": "deliver", "title": "Archive"},
    "plans": {"kind": "jsonl", "path": "plans-*.jsonl", "first_run": "deliver", "title": "Plans"},
}
# Settings with which mails have all of their links.
BY_MAIL = {
    "smtp": {"host": "localhost", "tls": "none", "from": "Papers <papers@example.org>"},
    "public_url": "https://papers.example.org",
}
MANY = 400
PLAN = {
    "title": "Agents that write their plans",
    "abstract": "Planning is hard for agents. We propose agents that write down what they plan. "
    "On four benchmarks they need half as many steps. We release the plans.",
    "authors": ["Ada Lovelace", "Alan Turing"],
    "keys": {"arxiv": "2601.00001"},
    "categories": ["cs.PLAN"],
    "version": 1,
}
REVISED = PLAN | {
    "title": "Language agents that write their plans",
    "abstract": "Planning is hard for agents. We propose language agents that write down what they "
    "plan and read what others planned. On six benchmarks they need a third of the steps. "
    "We release the plans.",
    "version": 2,
}


def write_scenes(folder: Path) -> None:
    """Lay the sample dumps and a configuration with all topics into a folder."""
    for seed in resource("seeds").glob("*.txt"):
        shutil.copyfile(seed, folder / seed.name)
    settings = yaml.safe_load((resource("seeds") / "monitor.yaml").read_text(encoding="utf-8"))
    settings["topics"] |= TOPICS
    for name, topic in settings["topics"].items():
        if name not in ("many", "revised"):
            topic["sources"] = ["daily-page"]
    settings["sources"] = {"daily-page": settings["sources"]["daily-page"]} | SOURCES
    settings["subscriptions"] = {
        name: one | {"email": "ada@example.org", "schedule": "weekdays 08:00"}
        for name, one in SUBSCRIPTIONS.items()
    }
    settings |= BY_MAIL
    (folder / "monitor.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    write_papers(folder / "plans-1.jsonl", [PLAN])


def write_papers(file: Path, papers: list[dict[str, Any]]) -> None:
    file.write_text("".join(f"{json.dumps(one)}\n" for one in papers), encoding="utf-8")


def write_many(file: Path, stored: list[dict[str, Any]]) -> None:
    """Write a dump of 400: beginnings and ends of sample titles, in new pairs."""
    halves = [one["title"].split(": ", 1) for one in stored if ": " in one["title"]]
    pairs = ((one[0], other[1]) for one, other in product(halves, reversed(halves)))
    papers = [
        {
            "title": f"{begin}: {end}",
            "abstract": stored[number % len(stored)]["abstract"],
            "keys": {"arxiv": f"2603.{number:05}"},
            "categories": ["cs.MANY"],
        }
        for number, (begin, end) in enumerate(islice(pairs, 0, MANY * 7, 7))
    ]
    write_papers(file, papers)
