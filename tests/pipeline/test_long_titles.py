"""Long titles in mails: one that is listed shows where its topic matches, as one in full does."""

from __future__ import annotations

import json
import re

from tests.house import House, newest_digest, newest_mail

FILLER = "On the Careful Measurement of Slow Processes in Large and Noisy Systems of Many Parts, "
# Shown whole, although the match is near its end, and longer than what is shown of a title.
LONG = FILLER * 2 + "by a Language Agent"
VERY_LONG = FILLER * 4 + "by a Language Agent"
BEST = {"title": "Language Agents", "abstract": "Language agents among language agents."}
PAPERS = (BEST, {"title": LONG}, {"title": VERY_LONG})


def test_a_long_title_that_is_listed_begins_shortly_before_its_match(house: House) -> None:
    house.by_mail(1)
    house.settings["subscriptions"]["lab"]["max"] = 1
    house.settings["topics"] = {"agents": {"query": "language AND agent"}}
    dump = house.folder / "dump.jsonl"
    dump.write_text("\n".join(map(json.dumps, PAPERS)))
    source = {"kind": "jsonl", "path": str(dump), "first_run": "deliver"}
    house.settings["sources"] = {"dump": source}
    house.ingest()
    house.next_morning()
    with house.opened() as app, app.runtime.database.reading() as tx:
        digest = newest_digest(tx)
        html = newest_mail(tx)
    assert (digest.papers, digest.full) == (3, 1)
    listed = re.findall(r"<li><a[^>]*>(.*?)</a>", html, re.DOTALL)
    assert listed == [f"… Systems of Many Parts, {FILLER}by a Language Agent", LONG]
