"""The main job: the four dumps to delivered digests, on every channel, once."""

from __future__ import annotations

import html
import json
import re
from collections import Counter

import pytest

from monitor.resources import resource
from monitor.store.papers import papers
from tests.house import House, newest_digest
from tests.servers.slack import TOKEN, SlackServer
from tests.servers.smtp import Received, ScriptedSmtp

EXPECTED = [
    ("000_431663cd178f853b.txt", 56, 56, 0),
    ("001_0b67f54c6cf6f434.txt", 52, 36, 16),
    ("002_1f7771af08c670a8.txt", 75, 59, 16),
    ("003_829512b3035214d2.txt", 115, 78, 37),
]


@pytest.fixture
def seeded(house: House, url: str) -> House:
    """An installation that reads the dumps, on either store."""
    house.settings["store"] = url
    seeds = resource("seeds")
    house.settings["sources"]["page"]["path"] = str(seeds / "*.txt")
    house.settings["topics"] = {
        "agents": {"query": '("language model" OR LLM) AND agent'},
        "marl": {"query": '"multi-agent" AND title:reinforcement'},
    }
    return house


def test_what_is_in_all_four_lists_is_first_where_papers_are_trending(seeded: House):
    seeded.settings["topics"] = {"often": {"query": "agent lists:>2"}}
    seeded.settings["subscriptions"]["lab"]["order"] = "trending"
    seeded.ingest()
    seeded.clock.move(days=1)
    assert seeded.run() == {"lab": 12}
    [group] = seeded.digest().groups
    first = group.entries[0]
    assert (first.paper.title.partition(":")[0], first.lists) == ("WebArena", 4)


def test_the_seeds_in_the_order_of_their_names(seeded: House):
    house = seeded
    runs = house.ingest()
    assert [(run.document, run.seen, run.new, run.known) for run in runs] == EXPECTED
    assert [(run.revised, run.rejected) for run in runs] == [(0, 0)] * 4
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert papers.count(tx) == 229
    assert [(run.outcome.value, run.new) for run in house.ingest()] == [("unchanged", 0)]


def test_each_subscriber_gets_every_matched_paper_once_by_mail_and_slack(
    seeded: House, smtp: ScriptedSmtp, slack: SlackServer
):
    house = seeded
    house.by_mail(smtp.port, "ada@example.org", "grace@example.org")
    house.settings["slack"] = {"token": TOKEN, "base_url": slack.base_url}
    house.settings["channels"] = {"lab-slack": {"kind": "slack", "channel": "#papers"}}
    house.settings["subscriptions"]["lab"]["channels"] = ["lab-slack"]
    house.run()
    result = house.next_morning()
    house.run()
    with house.opened() as app, app.runtime.database.reading() as tx:
        digest = newest_digest(tx)
    titles = [entry.paper.title for group in digest.groups for entry in group.entries]
    assert result == {"lab": len(titles)}
    assert len(titles) > 100
    recipients = Counter(mail.recipient for mail in smtp.received)
    assert recipients == {"ada@example.org": 1, "grace@example.org": 1}
    for mail in smtp.received:
        text, page, attached = bodies(mail)
        for shown in (text, unmarked(page)):
            all_of_it = squeezed(shown + attached)
            assert [title for title in titles if squeezed(title) not in all_of_it] == []
        assert len(page.encode()) < 80 * 1024
    posted = squeezed("".join(json.dumps(post, ensure_ascii=False) for post in slack.posts))
    assert [title for title in titles if squeezed(title) not in posted.replace("&amp;", "&")] == []
    assert slack.pings == []


def bodies(mail: Received) -> tuple[str, str, str]:
    [attached] = mail.message.iter_attachments()
    return mail.text, mail.message.get_body(("html",)).get_content(), attached.get_content()


def unmarked(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def squeezed(text: str) -> str:
    """Line breaks and marks may stand anywhere: compare the letters."""
    return "".join(filter(str.isalnum, text.replace("\\n", "")))
