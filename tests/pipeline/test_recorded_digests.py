"""Digests whose papers, order, marked words and HTML must not change without being noticed.

They are composed from the four sample dumps at a fixed time, and are written down as hashes in
recorded_digests.json. After a change of what belongs in a digest, or of what its mail looks like:

    python -m tests.pipeline.test_recorded_digests
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from monitor.model import Digest
from monitor.resources import resource
from tests.house import House, newest_digest, newest_mail

RECORDED = Path(__file__).with_name("recorded_digests.json")
READER = {"email": "reader@example.org"}
SUBSCRIPTIONS: dict[str, dict[str, Any]] = {
    "all": READER | {"topics": ["*"]},
    "few-in-full": READER | {"topics": ["rl-methods", "planning"], "max": 3},
    "one": READER | {"topics": ["agent-benchmarks"], "timezone": "Asia/Tokyo"},
    "wide": READER | {"topics": ["wide", "surveys"], "max": 40},
}


def compose_all(folder: Path) -> dict[str, dict[str, Any]]:
    """Compose every digest in a store in `folder`; return what is written down of each."""
    house = House(folder)
    seeds = resource("seeds")
    house.by_mail(1)  # nothing answers there: the mails stay in the store
    topics = yaml.safe_load((seeds / "monitor.yaml").read_bytes())["topics"]
    # As recorded before topics could be like a text.
    queries = {name: topic for name, topic in topics.items() if "like" not in topic}
    house.settings["topics"] = queries | {"wide": {"query": "agent OR model OR learning"}}
    house.settings["sources"]["page"]["path"] = str(seeds / "*.txt")
    house.settings["subscriptions"] = SUBSCRIPTIONS
    house.clock.at = datetime(2024, 10, 21, 5, tzinfo=UTC)
    with house.opened() as app:
        app.once.ingest()
        app.once.digest([*SUBSCRIPTIONS], ahead=True)
        with app.runtime.database.reading() as tx:
            composed = [(newest_digest(tx, name), newest_mail(tx, name)) for name in SUBSCRIPTIONS]
    return {f"{one.subscription} {one.period}": facts(one, html) for one, html in composed}


def facts(digest: Digest, html: str) -> dict[str, Any]:
    papers = [
        [group.topic, [[entry.paper_id, entry.revision, entry.kind] for entry in group.entries]]
        for group in digest.groups
    ]
    return {
        "papers": digest.papers,
        "order": hash_of(json.dumps(papers)),
        "marks": hash_of("\n".join(re.findall(r"<b(?: [^>]*)?>(.*?)</b>", html, re.DOTALL))),
        "html": hash_of(html),
    }


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_digests_have_the_recorded_papers_order_marks_and_html(tmp_path: Path) -> None:
    assert compose_all(tmp_path) == json.loads(RECORDED.read_text(encoding="utf-8"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        composed = json.dumps(compose_all(Path(name)), indent=1)
    RECORDED.write_text(composed + "\n", encoding="utf-8")
