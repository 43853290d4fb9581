"""A publication is asserted if an identifier or the title leads there, else it is one perhaps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.commands.explain import explain, known_from
from monitor.commands.json_output import explanation_json
from monitor.digest.sections.references import describe_event
from tests.house import House, newest_mail
from tests.pipeline.test_guard import Reference, every_digest, told, write
from tests.servers.slack import SlackServer
from tests.servers.smtp import ScriptedSmtp
from tests.servers.works import work

Record = dict[str, Any]

BY = {"authors": ["Gary Green", "Mia Moss", "Cy Stone"]}
ABSTRACT = "Dunes answer to winds that turn. We force them in a tank and measure how far they move."
SLOW = {"title": "The Answer of Barchan Dunes to Slow Forcing", "abstract": ABSTRACT, **BY}
FAST = {"title": "The Answer of Barchan Dunes to Fast Forcing", "abstract": ABSTRACT, **BY}
DRAFT = {**SLOW, "arxiv": "2601.00077", "id": "draft", "year": 2026}
JOURNAL = {"venue": "Journal of Sand", "type": "journal article", "year": 2026}
PERHAPS = "Perhaps published as “{}”, in Journal of Sand, doi:{}, 2026."
CERTAIN = "Published: arXiv 2601.00077 is now in Journal of Sand, doi:{}, 2026."


@pytest.fixture
def drafted(house: House) -> House:
    """A library with one preprint, and news that were read before."""
    for name in ("refs", "news", "crossref"):
        (house.folder / name).mkdir()
    house.settings["sources"] |= {
        "ada-refs": {"kind": "jsonl", "path": "refs/ada.jsonl", "role": "library"},
        "news": {"kind": "jsonl", "path": "news/*.jsonl"},
        "crossref": {"kind": "crossref", "path": "crossref/*.json", "first_run": "deliver"},
    }
    house.settings["subscriptions"]["lab"]["guard"] = "ada-refs"
    write(house, "refs/ada.jsonl", DRAFT)
    write(house, "news/0.jsonl", Reference(99).record())
    house.run()
    return house


def article(paper: Record, doi: str, **more: Any) -> Record:
    return {**paper, **JOURNAL, "doi": doi, "id": doi, **more}


def said(house: House) -> list[str]:
    """The sentences of all digests."""
    digests = house.read(every_digest)
    return [describe_event(event) for digest in digests for event in digest.references]


def test_another_title_by_the_same_people_is_perhaps_the_publication(drafted: House) -> None:
    write(drafted, "news/a.jsonl", article(FAST, "10.5555/fast"))
    drafted.next_morning()
    assert said(drafted) == [PERHAPS.format(FAST["title"], "10.5555/fast")]


def test_the_same_title_by_the_same_people_is_the_publication(drafted: House) -> None:
    title = SLOW["title"].upper()
    write(drafted, "news/a.jsonl", article(SLOW, "10.5555/slow", title=title))
    drafted.next_morning()
    assert said(drafted) == [CERTAIN.format("10.5555/slow")]


def test_another_title_with_an_identifier_that_leads_there_is_the_publication(
    drafted: House,
) -> None:
    relation = {"has-preprint": [{"id-type": "arxiv", "id": "2601.00077"}]}
    fields = {"container-title": ["Journal of Sand"], "issued": {"date-parts": [[2026, 3]]}}
    record = work("10.5555/far", "How Far Dunes Go", relation=relation, **fields)
    (drafted.folder / "crossref" / "a.json").write_text(json.dumps([record]))
    drafted.next_morning()
    assert said(drafted) == [CERTAIN.format("10.5555/far").replace("2026.", "March 2026.")]


def test_what_was_joined_by_likeness_alone_does_not_lead_there(drafted: House) -> None:
    stored = {**DRAFT, "id": "listed"}
    write(drafted, "news/a.jsonl", stored)
    drafted.ingest()
    write(drafted, "news/b.jsonl", article(FAST, "10.5555/fast"))
    write(drafted, "news/c.jsonl", article(FAST, "10.5555/fast", id="again", pmid="70"))
    drafted.next_morning()
    assert said(drafted) == [PERHAPS.format(FAST["title"], "10.5555/fast")]


def test_a_certain_publication_is_told_after_an_uncertain_one(drafted: House) -> None:
    write(drafted, "news/a.jsonl", article(FAST, "10.5555/fast"))
    drafted.next_morning()
    write(drafted, "news/b.jsonl", article(SLOW, "10.5555/slow"))
    drafted.next_morning()
    uncertain = PERHAPS.format(FAST["title"], "10.5555/fast")
    assert said(drafted) == [uncertain, CERTAIN.format("10.5555/slow")]


def test_an_uncertain_publication_is_not_told_after_a_certain_one(drafted: House) -> None:
    write(drafted, "news/a.jsonl", article(SLOW, "10.5555/slow"))
    drafted.next_morning()
    write(drafted, "news/b.jsonl", article(FAST, "10.5555/fast"))
    drafted.next_morning()
    assert said(drafted) == [CERTAIN.format("10.5555/slow")]


def test_a_certain_publication_takes_the_place_of_an_uncertain_one_that_waits(
    drafted: House,
) -> None:
    write(drafted, "news/a.jsonl", article(FAST, "10.5555/fast"))
    drafted.ingest()
    write(drafted, "news/b.jsonl", article(SLOW, "10.5555/slow"))
    drafted.next_morning()
    assert said(drafted) == [CERTAIN.format("10.5555/slow")]


def test_mail_says_perhaps(drafted: House, smtp: ScriptedSmtp) -> None:
    drafted.by_mail(smtp.port)
    drafted.run()
    write(drafted, "news/a.jsonl", article(FAST, "10.5555/fast"))
    drafted.next_morning()
    sentence = PERHAPS.format(FAST["title"], "10.5555/fast")
    assert sentence in drafted.read(newest_mail)
    [mail] = smtp.received
    plain = mail.message.get_body(("plain",)).get_content()
    assert sentence in " ".join(plain.split())
    assert mail.message["Subject"].startswith("Your references: 1 perhaps published")


def test_slack_says_perhaps(drafted: House, slack: SlackServer) -> None:
    drafted.by_slack(slack)
    drafted.run()
    write(drafted, "news/a.jsonl", article(FAST, "10.5555/fast"))
    drafted.next_morning()
    assert f"Perhaps published as “{FAST['title']}”" in str(slack.posts)


def test_page_explanation_and_json_say_perhaps(drafted: House) -> None:
    write(drafted, "news/a.jsonl", article(FAST, "10.5555/fast"))
    drafted.next_morning()
    [page] = (drafted.folder / "pages").rglob("2*.html")
    assert f"Perhaps published as “{FAST['title']}”" in page.read_text("utf-8")
    assert told(drafted) == [("ada", "published", SLOW["title"])]
    with drafted.opened() as app:
        known = explain(app.runtime, "10.5555/fast")
    assert "perhaps published, reported to lab" in known_from(known, "UTC")
    reported = explanation_json(known)["reported"]
    assert [change["change"] for change in reported] == ["perhaps published"]
