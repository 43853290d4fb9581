"""`--json`: one document on stdout, with the keys that the design names, no fewer and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.commands.json_output import read_paper
from monitor.model import Paper
from tests.cli.conftest import SUNDAY, Say
from tests.house import AGENTS, FOLDING, House
from tests.servers.smtp import Drop, ScriptedSmtp
from tests.sources.test_no_lists import NOTES

ANYTHING: Any = ...


def keys(words: str, **nested: Any) -> dict[str, Any]:
    return dict.fromkeys(words.split(), ANYTHING) | nested


WHY = [keys("field words")]
ATTEMPTS = [keys("channel recipient state error")]
RUNS = [keys("source document outcome seen new revised known rejected error")]
DIGESTS = [keys("subscription period papers changes", deliveries=ATTEMPTS)]
OUTBOX = [keys("id subscription period channel recipient state attempts message_id error")]
READ = keys(
    "title abstract authors affiliations venue published published_month year announced listed"
    " updated url links keys categories type about announce version withdrawn"
)
TEXT = (
    "title abstract authors affiliations venue published published_month year announced listed"
    " lists votes categories url pdf_url links keys"
)
SIGHTINGS = [
    keys(
        "source raw_id version announce fingerprint first_seen last_seen document past why",
        text=keys("title authors venue year type keys"),
    )
]
PREVIEWS = {"digests": [keys("subscription period papers changes path")]}
SENT = {"digests": DIGESTS, "failed": ANYTHING}
FAULTS = [keys("file line where message")]
READINGS = [keys("file error rejected", papers=[READ])]
STORED = [keys(f"id first_seen line filled {TEXT}", sources=[keys("source document raw_id")])]
STOPPED = [keys("recipient subscription since until how reason")]
CHECKS = [keys("name ok message")]
LEARNED = {
    **keys("topic version at bar examples missing add drop"),
    "words": [keys("word weight")],
    "versions": [{**keys("version at examples bar"), "words": ...}],
}
EVERY = [
    ("init new", 0, keys("path unset next")),
    ("check", 0, keys("ok faults warnings may_repeat")),
    ("check --config none.yaml", 2, keys("ok warnings may_repeat", faults=FAULTS)),
    ("read page dumps/1.txt dumps/2.txt", 0, {"documents": READINGS}),
    ("ingest", 0, {"runs": RUNS}),
    (f"digest lab --early --now {SUNDAY}", 0, SENT),
    (f"digest lab --early --dry-run --now {SUNDAY}", 0, SENT),
    (f"run --now {SUNDAY}", 0, {"runs": RUNS, "digests": ANYTHING, "failed": ANYTHING}),
    ("papers", 0, {"papers": STORED}),
    ("papers doubtful", 0, keys("doubtful joins unjudged")),
    ("papers undecided", 0, keys("undecided runs")),
    ("papers rated", 0, {"rated": ..., "examples": ...}),
    ("papers saved", 0, {"papers": ...}),
    (
        f"subscriptions --now {SUNDAY}",
        0,
        {
            "subscriptions": [
                keys(
                    "name title topics recipients channels schedule timezone next last waiting"
                    " changes stopped paused_until troubles guard libraries"
                )
            ]
        },
    ),
    ("topics list", 0, {"topics": [keys("name title query subscriptions papers_7_days")]}),
    (
        "topics try agents",
        0,
        keys(
            "papers share warnings suggestions",
            per_day=[keys("day papers")],
            sample=[keys("title", why=WHY)],
        ),
    ),
    (
        "topics try --like language",
        0,
        keys(
            "papers looked_at a_day bar line",
            per_day=[keys("day papers")],
            nearest=[keys("id title score matches", why=WHY)],
            beside_bar=...,
        )
        | {"words": [keys("word weight")]},
    ),
    ("topics words near", 0, LEARNED),
    ("topics relearn near", 0, LEARNED),
    (
        f"status --now {SUNDAY}",
        0,
        keys(
            "ok deliveries problems",
            sources=[
                keys(
                    "name outcome last_run seen new failing_since error troubles undecided"
                    " role entries"
                )
            ],
            subscriptions=[
                keys(
                    "name timezone next_due last_period last_papers waiting changes",
                    why=...,
                    paused_until=...,
                )
            ],
        ),
    ),
    ("suppressions", 0, {"suppressions": ...}),
    ("suppressions add ada@example.org --force", 0, {"suppressions": STOPPED}),
    ("suppressions confirm", 0, {"suppressions": ...}),
    ("deliveries list", 0, {"deliveries": OUTBOX}),
    (
        "references",
        0,
        {"references": [keys("library title file entry keys state since by notice asked")]},
    ),
    (
        "explain doi:10.5555/owned",
        0,
        {"references": [keys("library title file entry keys state since by notice asked")]},
    ),
    (
        "explain 1",
        0,
        keys(
            "id first_seen news_at withdrawn joined rulings libraries reported shared_keys filled "
            "followed "
            f"{TEXT}",
            sources=SIGHTINGS,
            changes=[keys("kind revision at matched_at why")],
            topics=[
                keys(
                    "topic revision score",
                    why=[keys("field words spans terms abbreviations required near")],
                )
            ],
            digests=[keys("subscription period revision place reason left_to_archive may_repeat")],
        ),
    ),
    ("preview", 0, PREVIEWS),
    ("templates preview", 0, PREVIEWS),
    ("preview lab --period 2026-11-21 --no-open", 0, PREVIEWS),
    ("doctor", ANYTHING, keys("ok", checks=CHECKS)),
    ("doctor --alive", ANYTHING, keys("ok", checks=CHECKS)),
    ("send-test", 0, {"deliveries": [keys("subscription channel recipient state error")]}),
    ("backup kept.db", 0, keys("path bytes")),
]


def differences(result: Any, shape: Any, at: str = "") -> list[str]:
    """Say where a document has other keys than `shape`; a list needs an item to be looked at."""
    if shape is ANYTHING:
        return []
    if isinstance(shape, list):
        empty = [] if result else [f"{at}[] is empty"]
        return empty + [x for item in result for x in differences(item, shape[0], f"{at}[]")]
    found = [f"{at}.{key}" for key in sorted(result.keys() ^ shape.keys())]
    both = [key for key in shape if key in result]
    return found + [x for key in both for x in differences(result[key], shape[key], f"{at}.{key}")]


def test_a_mark_that_is_undone(lived: House, say: Say):
    """The store has one paper, which a notice calls retracted."""
    lines = [
        {"title": "Dust Rises", "doi": "10.5555/dust.1", "id": "dust"},
        {"title": "Retraction: Dust Rises", "type": "retraction", "about": "doi:10.5555/dust.1"},
    ]
    lived.settings["sources"]["news"] = {"kind": "jsonl", "path": "*.jsonl"}
    (lived.folder / "news.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    lived.ingest()
    undone = say("papers", "unmark", "doi:10.5555/dust.1", "--json")
    shape = {
        "papers": STORED,
        "undone": [keys("source raw_id title url at")],
        "notified": ...,
    }
    assert differences(undone.json, shape) == []
    assert (undone.status, undone.json["notified"]) == (0, [])


@pytest.mark.parametrize(("line", "status", "shape"), EVERY, ids=[line for line, _, _ in EVERY])
def test_each_command(lived: House, say: Say, line: str, status: Any, shape: Any):
    (lived.folder / "refs.jsonl").write_text('{"title": "A Work", "doi": "10.5555/owned"}')
    library = {"kind": "jsonl", "path": "refs.jsonl", "role": "library"}
    lived.settings["sources"]["ada-refs"] = library
    lived.settings["subscriptions"]["lab"]["libraries"] = "ada-refs"
    lived.settings["topics"]["near"] = {"like": "language that robots speak"}
    lived.ingest(("Agents of Language", "A language that agents may speak."))
    lived.add("3.txt", FOLDING)
    heard = say(*line.split(), "--json")
    assert differences(heard.json, shape) == []
    assert status in (heard.status, ...)
    assert heard.err == ""


def test_config_shows_the_sections_of_the_file(lived: House, say: Say):
    shown = say("config", "--json").json
    sections = (
        "sources topics channels subscriptions operator smtp slack retry retention synonyms web "
        "look_up embeddings sends_to"
    )
    top = "file store timezone contact templates search public_url secret_key ping_url"
    assert shown.keys() == keys(f"{top} {sections}").keys()
    assert "subscriptions:\n  lab:\n" in say("config").out


def test_the_demo_leaves_another_installation_alone(house: House, say: Say):
    say("init", "other")
    refused = say("demo", "other")
    assert (refused.status, "of its own" in refused.err) == (2, True)
    assert sorted(path.name for path in Path("other").iterdir()) == ["dumps", "monitor.yaml"]


def test_restore(lived: House, say: Say):
    say("backup", "kept.db")
    result = say("restore", "kept.db", "--json", "--now", SUNDAY).json
    assert Path(result.pop("replaced")).is_file() and result == {"held": 0}
    assert say("papers", "--json").json["papers"] != []


@pytest.mark.parametrize(
    ("line", "mails"), [("retry 1", 1), ("resolve 1 sent", 0), ("resolve 1 resend", 1)]
)
def test_a_delivery_is_settled_once(
    house: House, say: Say, smtp: ScriptedSmtp, line: str, mails: int
):
    house.by_mail(smtp.port, unknown="hold")
    house.run(AGENTS)
    is_refused = line == "retry 1"
    if is_refused:
        smtp.script["rcpt"].append("550 5.1.1 nobody of that name")
    else:
        smtp.script["dot"].append(Drop())
    result = say("run", "--json", "--now", SUNDAY)
    [digest] = result.json["digests"]
    [attempt] = digest["deliveries"]
    assert (result.status, digest["period"]) == (1, "2026-11-22")
    assert attempt["channel"] == "email"
    assert attempt["state"] == ("failed" if is_refused else "unknown")
    assert "nobody of that name" in attempt["error"] or not is_refused
    command = ("deliveries", *line.split(), "--json", "--now", SUNDAY)
    settled = say(*command)
    assert differences(settled.json, {"deliveries": OUTBOX}) == []
    assert (settled.status, settled.json["deliveries"][0]["state"]) == (0, "sent")
    assert len(smtp.received) == mails
    assert say(*command).status == 2


def test_the_links_of_a_paper_that_is_read_are_listed_by_kind():
    links = {"project": "https://p.example.org/", "code": "https://git.example.org/p"}
    assert read_paper(Paper("Planning", links=links))["links"] == [
        {"kind": "code", "url": "https://git.example.org/p"},
        {"kind": "project", "url": "https://p.example.org/"},
    ]


def test_a_script_that_has_no_utf_8_reads_the_same(house: House):
    house.ingest(("Gödel Agents", "Ein Satz über 𝔸 und Sprache. Language agents prove it."))
    said = house.command("papers", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert said.out.isascii()
    assert said.json["papers"][0]["title"] == "Gödel Agents"


def test_read_papers_and_explain_say_the_same_of_a_paper(house: House, say: Say):
    Path("dumps/one.bib").write_text(
        "@article{a, title={Plans}, author={Doe, Jane}, affiliation={Sand University}, "
        "year=2014, journal={J}, "
        "abstract={We plan. Code: https://github.com/doe/plans.}, doi={10.1000/7}, url={https://papers.example.org/7}}"
    )
    house.settings["sources"]["page"] = {"kind": "bibtex", "path": "dumps/*.bib"}
    house.ingest()
    [found] = say("papers", "--json").json["papers"]
    text = {name: found[name] for name in TEXT.split()}
    assert text == {
        "title": "Plans", "abstract": "We plan. Code: https://github.com/doe/plans.",
        "authors": ["Jane Doe"], "affiliations": ["Sand University"], "venue": "J",
        "published": None, "published_month": None, "year": 2014, "announced": None, "listed": [],
        "lists": 0, "votes": None,
        "categories": [], "url": "https://papers.example.org/7",
        "pdf_url": "", "keys": {"doi": "10.1000/7"},
        "links": [{"kind": "code", "url": "https://github.com/doe/plans"}],
    }  # fmt: skip
    explained = say("explain", "1", "--json").json
    assert text == {name: explained[name] for name in TEXT.split()}
    heard = say("read", "page", "none.bib", "dumps/one.bib", "--json")
    missing, document = heard.json["documents"]
    [paper] = document.pop("papers")
    assert document == {"file": "dumps/one.bib", "error": None, "rejected": []}
    assert not paper["withdrawn"]
    assert paper.items() >= {name: text[name] for name in text.keys() & paper.keys()}.items()
    assert heard.status == 1
    assert missing["error"] == "cannot read none.bib: No such file or directory"


def test_read_takes_a_file_that_is_no_list_with_force_alone(lived: House, say: Say):
    (lived.folder / "notes.txt").write_text(NOTES)
    heard = say("read", "huggingface-page", "notes.txt", "--json")
    [document] = heard.json["documents"]
    assert (heard.status, document["papers"]) == (1, [])
    assert "(--force reads it all the same)" in document["error"]
    heard = say("read", "huggingface-page", "--force", "notes.txt", "--json")
    [document] = heard.json["documents"]
    assert (heard.status, document["error"], len(document["papers"])) == (0, None, 2)


def test_a_failed_source_is_a_run_with_a_reason_and_a_problem(lived: House, say: Say):
    [source] = say("status", "--json", "--now", "2026-11-22T05:00").json["sources"]
    assert (source["seen"], source["new"]) == (2, 2)
    assert source["last_run"] == "2026-11-22T06:00:00+00:00"
    lived.settings["sources"]["gone"] = {"kind": "feed", "path": "nowhere/*.xml"}
    shown = say("run", "--now", SUNDAY)
    assert (shown.status, shown.err.count("gone: there is no folder")) == (1, 1)
    problem = "source gone has been failing since 2026-11-22 09:00 UTC: there is no folder"
    assert f"✗ {problem}" in say("status", "--now", SUNDAY).out
    heard = say("ingest", "--json")
    runs = {run["source"]: run for run in heard.json["runs"]}
    assert heard.status == 1
    assert runs["gone"]["outcome"] == "failed"
    assert "there is no folder" in runs["gone"]["error"]
    assert runs["page"] | {"document": None} == {
        "source": "page", "document": None, "outcome": "unchanged", "error": None,
        "seen": 0, "new": 0, "revised": 0, "known": 0, "rejected": 0,
    }  # fmt: skip
