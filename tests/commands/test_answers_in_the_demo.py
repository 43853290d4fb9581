"""The sample dumps: who marks papers finds why in the next digest."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

from monitor.app import App, open_app
from monitor.clocks import clock_at
from monitor.commands.ratings import RaterScope, rate
from monitor.config import load
from monitor.digest.wording import order_reason
from monitor.model import Digest
from monitor.resources import resource
from monitor.text import clean
from tests.house import SATURDAY, newest_digest

TEAM = "agents-team"
DUMPS = sorted(resource("seeds").glob("*.txt"))


def newest(app: App) -> Digest:
    app.ingest()
    app.digest([TEAM], early=True)
    with app.runtime.database.reading() as tx:
        found = newest_digest(tx, TEAM)
    assert found
    return found


def test_three_marked_papers_are_named_with_words_of_the_text_shown(tmp_path: Path):
    shutil.copyfile(resource("seeds") / "monitor.yaml", tmp_path / "monitor.yaml")
    for dump in DUMPS[:2]:
        shutil.copyfile(dump, tmp_path / dump.name)
    with open_app(load(tmp_path / "monitor.yaml"), clock_at(SATURDAY)) as app:
        group = newest(app).groups[0]
        marked = {entry.paper.title for entry in group.entries[:3]}
        for entry in group.entries[:3]:
            rate(app.runtime, str(entry.paper_id), "up", RaterScope(TEAM, group.topic))
    for dump in DUMPS[2:]:
        shutil.copyfile(dump, tmp_path / dump.name)
    with open_app(load(tmp_path / "monitor.yaml"), clock_at(SATURDAY + timedelta(days=1))) as app:
        after = newest(app)
    [again] = [one for one in after.groups if one.topic == group.topic]
    explained = [entry for entry in again.entries if entry.placed.like]
    assert explained
    for entry in explained:
        assert entry.placed.like in marked
        assert entry.placed.words
        text = clean(f"{entry.paper.title} {entry.paper.abstract}").casefold()
        assert [word for word in entry.placed.words if word.casefold() not in text] == []
        assert entry.placed.like in order_reason(entry)
