"""The bot that a lab writes in an afternoon, beside which `day.py` measures Paper Monitor.

    python benchmarks/bot.py bot.json

It reads a dump, skips the ids it has seen, looks for each phrase of each topic in the lower-case
text, and mails each subscriber the papers of their topics: the first in full, the rest by title.
It knows no plurals, no revisions, no second copy of a paper, and no way to resume.
"""

from __future__ import annotations

import json
import smtplib
import sqlite3
import sys
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from jinja2 import Environment

HTML = """<html><body><h1>Papers for {{ name }}</h1><p>{{ count }} papers</p>
{% for topic, full, rest in sections %}<h2>{{ topic }} ({{ full|length + rest|length }})</h2>
{% for paper in full %}<h3>{{ paper.title }}</h3><p>{{ paper.authors|join(", ") }}</p>
<p>{{ paper.abstract }}</p><p>{{ paper.topics|join(", ") }}</p>
{% endfor %}<ul>{% for paper in rest %}<li>{{ paper.title }}</li>
{% endfor %}</ul>{% endfor %}</body></html>"""
TEXT = """Papers for {{ name }}, {{ count }} papers
{% for topic, full, rest in sections %}
{{ topic }} ({{ full|length + rest|length }})
{% for paper in full %}
* {{ paper.title }}
  {{ paper.authors|join(", ") }}
  {{ paper.abstract }}
  {{ paper.topics|join(", ") }}
{% endfor %}{% for paper in rest %}- {{ paper.title }}
{% endfor %}{% endfor %}"""
FULL = 25
MOST = 400

html = Environment(autoescape=True).from_string(HTML)
text = Environment().from_string(TEXT)


def main(settings: dict[str, Any]) -> None:
    seen = sqlite3.connect(settings["seen"])
    seen.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY)")
    papers = list(new_papers(Path(settings["dump"]), seen))
    found = match(settings["topics"], papers)
    with smtplib.SMTP("127.0.0.1", settings["port"]) as server:
        for name, topics in settings["subscriptions"].items():
            if digest := compose(topics, found):
                server.send_message(mail(name, digest))
    seen.commit()


def new_papers(dump: Path, seen: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    with dump.open(encoding="utf-8") as lines:
        for line in lines:
            paper = json.loads(line)
            if seen.execute("INSERT OR IGNORE INTO seen VALUES (?)", (paper["id"],)).rowcount:
                yield paper


def match(topics: dict[str, Any], papers: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in topics}
    for paper in papers:
        words = f"{paper['title']} {paper['abstract']}".lower()
        for name, topic in topics.items():
            if all(any(phrase in words for phrase in some) for some in topic["r"]) and not any(
                phrase in words for phrase in topic["n"]
            ):
                found[name].append(paper)
    return found


def compose(topics: list[str], found: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return each paper once, by id, with the topics that found it."""
    digest: dict[str, dict[str, Any]] = {}
    for topic in topics:
        for paper in found[topic]:
            digest.setdefault(paper["id"], {**paper, "topics": []})["topics"].append(topic)
    return digest


def mail(name: str, digest: dict[str, dict[str, Any]]) -> EmailMessage:
    sections: dict[str, tuple[str, list[Any], list[Any]]] = {}
    for number, paper in enumerate(list(digest.values())[:MOST]):
        topic = paper["topics"][0]
        _, full, rest = sections.setdefault(topic, (topic, [], []))
        (full if number < FULL else rest).append(paper)
    values = {"name": name, "count": len(digest), "sections": list(sections.values())}
    message = EmailMessage()
    message["Subject"] = f"{name}: {len(digest)} papers"
    message["From"] = "papers@example.org"
    message["To"] = f"{name}@example.org"
    message.set_content(text.render(values))
    message.add_alternative(html.render(values), subtype="html")
    return message


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
