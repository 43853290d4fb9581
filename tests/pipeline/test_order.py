"""What readers answered orders their next digest, and changes nothing else of it."""

from __future__ import annotations

import random
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from monitor.commands.explain import explain
from monitor.config import load
from monitor.model import SAVED, UNWANTED, WANTED, Digest, Judgement, Paper, Placed
from monitor.pipeline import topic_words
from monitor.pipeline.compose import rehearse
from monitor.pipeline.topic_words import TopicWords
from monitor.rank import (
    MAX_MATCHED,
    NO_FREQUENCIES,
    Frequencies,
    Judged,
    features_of,
    learn,
    unpack,
)
from monitor.store import retention
from monitor.store.engine import schema
from monitor.store.papers import merge_papers, papers
from monitor.store.restore import restore
from monitor.store.topics import judgements, matches, word_counts
from monitor.text import title_key
from tests.house import House
from tests.servers.smtp import ScriptedSmtp

ROBOTS = [
    ("Robots that fold laundry with an agent", "An agent folds laundry with soft grippers."),
    ("Soft grippers for laundry robots", "The agent of a robot folds shirts of a laundry."),
    ("An agent for laundry sorting", "Robots sort laundry by colour with grippers."),
]
MARKETS = [
    ("An agent in auctions", "Agents bid in auctions. The market clears by prices."),
    ("Prices and the market agent", "The agent sets prices in a market of auctions."),
    ("Market makers as agents", "An agent makes a market and quotes prices."),
]


@pytest.fixture
def lab(house: House) -> House:
    house.settings["topics"] = {"agents": {"query": "agent"}}
    house.settings["subscriptions"]["lab"]["max"] = 2
    house.add("1.txt", *ROBOTS, *MARKETS)
    house.run()
    house.next_morning()
    return house


def answer(house: House, title: str, verdict: str, who: str = "ada", topic: str = "agents") -> None:
    with house.opened() as app, app.runtime.database.writing() as tx:
        [paper] = papers.by_title_key(tx, title_key(title))
        one = Judgement("lab", topic, paper.id, who, verdict, house.clock.now(), "test")
        judgements.judge(tx, [one])


def titles(house: House) -> list[str]:
    return [entry.paper.title for group in house.digest().groups for entry in group.entries]


NEXT = [
    ("An agent repairs bicycles", "An agent repairs bicycles by night."),
    ("A bidding agent", "The agent learns auctions. Prices in the market follow."),
    ("Laundry at home: an agent", "Soft grippers fold laundry. Robots need an agent."),
]

# With them a paper about laundry is nearer to such papers than nine of ten others are.
OTHERS = [
    (f"An agent and {subject}", f"An agent looks at {subject} for years.")
    for subject in (
        *("bees", "comets", "bridges", "dialects", "enzymes", "fossils", "glaciers", "harbours"),
        *("islands", "jazz", "kelp", "lenses", "magma", "novels", "orchids", "pianos", "quarries"),
        *("rivers", "sonnets", "tides", "umbrellas", "violins", "whales", "yeast", "zeppelins"),
    )
]


def test_papers_like_the_marked_ones_come_first_and_the_digest_says_why(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    answer(lab, MARKETS[1][0], UNWANTED)
    lab.add("2.txt", *NEXT, *OTHERS)
    lab.next_morning()
    assert titles(lab)[0] == NEXT[2][0]
    [group] = lab.digest().groups
    first = group.entries[0]
    assert first.placed.like == ROBOTS[1][0]
    assert first.placed.words
    page = (lab.folder / "pages/lab/2026-11-22.html").read_text()
    article = re.sub(r"\s+", " ", page)
    assert f"like “{ROBOTS[1][0]}”, which you marked; words: " in article
    assert "Ordered by 2 papers you marked." in article
    said = f"{first.paper.title} {first.paper.abstract}"
    assert all(re.search(rf"\b{word}\b", said) for word in first.placed.words)
    assert {entry.paper_id for entry in lab.digest().best(2)} >= {first.paper_id}
    with lab.opened() as app:
        [sent] = explain(app.runtime, NEXT[2][0]).digests
    assert (sent.place, sent.reason.startswith(f"like “{ROBOTS[1][0]}”")) == (1, True)


def test_a_paper_that_was_marked_in_two_topics_is_counted_once(lab: House):
    lab.settings["topics"]["laundry"] = {"query": "laundry"}
    lab.settings["subscriptions"]["lab"]["topics"] = ["agents", "laundry"]
    for topic in ("agents", "laundry"):
        answer(lab, ROBOTS[1][0], WANTED, topic=topic)
    lab.add("2.txt", *NEXT)
    lab.next_morning()
    assert lab.digest().notes[-1] == "Ordered by 1 paper you marked."


def test_the_reason_is_a_line_of_its_own_in_the_text_of_a_mail(lab: House, smtp: ScriptedSmtp):
    lab.by_mail(smtp.port, "ada@example.org")
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *NEXT, *OTHERS)
    lab.next_morning()
    [mail] = smtp.received
    lines = mail.message.get_body(("plain",)).get_content().splitlines()
    reasons = [at for at, line in enumerate(lines) if line.startswith("  like “")]
    [at] = reasons
    assert lines[at - 1].startswith("  Matches ")
    assert max(map(len, lines[at : at + 2])) <= 78
    second = next(at for at, line in enumerate(lines) if line.startswith("* ") and at > reasons[0])
    assert lines[second - 1] == ""


def test_only_papers_that_order_are_counted(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    with lab.opened() as app, app.runtime.database.writing() as tx:
        tx.execute(sa.update(schema.paper).values(purged_at=lab.clock.now()))
    lab.add("2.txt", *NEXT)
    lab.next_morning()
    assert lab.digest().notes == ()


def composed(house: House, order: str = "learned") -> Digest:
    """Compose what comes next, and undo it."""
    house.settings["subscriptions"]["lab"]["order"] = order
    with house.opened() as app:
        [one] = rehearse(app.runtime, early=True)
    return one


def listed(one: Digest) -> list[str]:
    return [entry.paper.title for group in one.groups for entry in group.entries]


def standings(one: Digest) -> list[tuple[str, Placed]]:
    return [(entry.paper.title, entry.placed) for group in one.groups for entry in group.entries]


@pytest.mark.parametrize("seed", range(3))
def test_any_answers_leave_the_papers_of_a_digest_as_they_are(lab: House, seed: int):
    lab.add("2.txt", *NEXT)
    lab.ingest()
    by_words = listed(composed(lab, "words"))
    dice = random.Random(seed)
    orders = set()
    for _ in range(4):
        for who in ("ada", "bob"):
            for title, _ in dice.sample([*ROBOTS, *MARKETS], 3):
                answer(lab, title, dice.choice([WANTED, UNWANTED, SAVED]), who)
        orders.add(tuple(listed(composed(lab))))
    assert {tuple(sorted(order)) for order in orders} == {tuple(sorted(by_words))}
    assert orders != {tuple(by_words)}


def test_the_same_store_gives_the_same_bytes(lab: House):
    """Whatever a process starts with: its hashes of texts, and the threads of NumPy."""
    for (title, _), verdict in zip([*ROBOTS, *MARKETS], [WANTED, UNWANTED] * 3, strict=True):
        answer(lab, title, verdict)
    lab.add("2.txt", *NEXT, *OTHERS)
    lab.ingest()
    line = ["digest", "lab", "--early", "--dry-run", "--json", "--now", "2026-11-22T09:00:00Z"]
    pages = set()
    for seed in ("1", "2"):
        said = lab.command(*line, env={"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": seed})
        [one] = said.json["digests"]
        [written] = one["deliveries"]
        pages.add(Path(written["recipient"]).read_bytes())
    assert len(pages) == 1
    assert b"which you marked" in pages.pop()


@pytest.mark.usefixtures("on_sqlite")
def test_a_restored_backup_orders_as_the_store_did(lab: House, tmp_path: Path):
    """Also where the texts of older papers are deleted since: those of judged ones are kept."""
    for (title, _), verdict in zip(ROBOTS, (WANTED, UNWANTED, SAVED), strict=True):
        answer(lab, title, verdict)
    lab.add("2.txt", *NEXT, *OTHERS)
    lab.ingest()
    before = composed(lab)
    assert any(entry.placed.like for group in before.groups for entry in group.entries)
    with lab.opened() as app:
        app.runtime.database.backup(tmp_path / "backup.db")
    with lab.opened() as app, app.runtime.database.writing() as tx:
        assert judgements.forget(tx, "lab") == 3
    assert standings(composed(lab)) != standings(before)
    restore(load(lab.config).store, tmp_path / "backup.db", lab.clock.now())
    assert standings(composed(lab)) == standings(before)
    with lab.opened() as app, app.runtime.database.ingesting() as tx:
        later = lab.clock.now() + timedelta(days=365)
        assert retention.purge(tx, later, None, later, 100) == len(MARKETS)
    # What was shown and not answered is gone, and counts no longer; answers do.
    first = standings(composed(lab))[0]
    was_first = standings(before)[0]
    assert (first[0], first[1].like) == (was_first[0], was_first[1].like)
    assert composed(lab).notes == before.notes == ("Ordered by 3 papers you marked.",)


def test_less_alone_and_ties_do_not_reorder(lab: House):
    answer(lab, ROBOTS[0][0], UNWANTED)
    answer(lab, ROBOTS[1][0], WANTED)
    answer(lab, ROBOTS[1][0], UNWANTED, who="bob")
    lab.add("2.txt", *NEXT)
    lab.next_morning()
    [group] = lab.digest().groups
    assert [entry.score for entry in group.entries] == sorted(
        (entry.score for entry in group.entries), reverse=True
    )
    assert all(entry.placed.standing is None for entry in group.entries)
    assert lab.digest().notes == ()


def test_the_newest_come_first_where_that_is_asked_for(lab: House):
    lab.settings["subscriptions"]["lab"]["order"] = "newest"
    lab.add("2.txt", NEXT[2])
    lab.run()
    lab.clock.move(hours=1)
    lab.add("3.txt", NEXT[0])
    lab.run()
    lab.next_morning()
    assert titles(lab) == [NEXT[0][0], NEXT[2][0]]


# ── how common words are among the papers of a topic ────────────────────────────────


def counts(house: House, topic: str = "agents") -> tuple[set[int], Frequencies] | None:
    with house.opened() as app, app.runtime.database.reading() as tx:
        packed = word_counts.read(tx, topic)
    return unpack(packed) if packed else None


def counted_again(house: House, topic: str = "agents") -> tuple[set[int], Frequencies]:
    """The counts as they are made from nothing: of the papers that the topic matches now."""
    with house.opened() as app, app.runtime.database.reading() as tx:
        ids = matches.newest_ids(tx, topic, MAX_MATCHED)
        texts = papers.texts(tx, ids)
    return set(ids), NO_FREQUENCIES.plus([features_of(*texts[id]) for id in ids])


def same(counted: tuple[set[int], Frequencies] | None, other: tuple[set[int], Frequencies]) -> bool:
    assert counted is not None
    pairs = zip(counted[1], other[1], strict=True)
    return counted[0] == other[0] and all(np.array_equal(*pair) for pair in pairs)


def test_words_are_counted_for_topics_with_ratings_and_kept_up_to_date(lab: House):
    lab.settings["topics"]["laundry"] = {"query": "laundry"}
    lab.settings["subscriptions"]["lab"]["topics"] = ["agents", "laundry"]
    lab.add("2.txt", *NEXT)
    lab.next_morning()
    assert counts(lab) is None
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("3.txt", *OTHERS[:10])
    lab.next_morning()
    assert len(counted_again(lab)[0]) == 19
    assert same(counts(lab), counted_again(lab))
    lab.add("4.txt", *OTHERS[10:])
    lab.next_morning()
    assert len(counted_again(lab)[0]) == 34
    assert same(counts(lab), counted_again(lab))
    assert counts(lab, "laundry") is None


def test_a_rehearsal_keeps_no_counts(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *NEXT)
    lab.ingest()
    composed(lab)
    assert counts(lab) is None


def test_counts_are_made_again_when_papers_are_merged_or_split_or_the_topic_changes(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *OTHERS)
    lab.next_morning()
    assert counts(lab) is not None
    with lab.opened() as app, app.runtime.database.ingesting() as tx:
        [first], [second] = (papers.by_title_key(tx, title_key(OTHERS[n][0])) for n in (0, 1))
        merge_papers.merge(tx, [(first.id, second.id, "test")], lab.clock.now())
    assert counts(lab) is None
    lab.add("3.txt", *NEXT)
    lab.next_morning()
    assert second.id not in counted_again(lab)[0]
    assert same(counts(lab), counted_again(lab))
    lab.settings["topics"]["agents"] = {"query": "agent OR agents -market"}
    lab.next_morning()
    lab.add("4.txt", ("An agent for snow", "Snow and an agent."))
    lab.next_morning()
    assert same(counts(lab), counted_again(lab))
    del lab.settings["topics"]["agents"]
    lab.settings["topics"]["robots"] = {"query": "robot"}
    lab.settings["subscriptions"]["lab"]["topics"] = ["robots"]
    lab.next_morning()
    assert counts(lab) is None


def test_deleted_texts_stay_counted_until_they_are_a_quarter(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *OTHERS)
    lab.next_morning()
    before = counts(lab)
    assert before
    with lab.opened() as app, app.runtime.database.ingesting() as tx:
        later = lab.clock.now() + timedelta(days=365)
        assert retention.purge(tx, later, None, later, 5) == 5
    lab.add("3.txt", *NEXT)
    lab.next_morning()
    after = counts(lab)
    assert after
    assert before[0] < after[0]
    assert after[1].papers == before[1].papers + len(NEXT)
    with lab.opened() as app, app.runtime.database.ingesting() as tx:
        assert retention.purge(tx, later, None, later, 10) == 10
    lab.add("4.txt", ("An agent for snow", "Snow and an agent."))
    lab.next_morning()
    assert same(counts(lab), counted_again(lab))


def test_a_run_counts_only_so_many_papers(lab: House, monkeypatch: pytest.MonkeyPatch):
    """The newest first; the others are counted in the next runs."""
    monkeypatch.setattr(topic_words, "MAX_COUNTED", 20)
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *OTHERS)
    lab.next_morning()
    first = counts(lab)
    whole = counted_again(lab)
    assert first
    assert first[0] == set(sorted(whole[0])[-20:])
    lab.add("3.txt", *NEXT)
    lab.next_morning()
    assert same(counts(lab), counted_again(lab))


def test_counts_that_others_changed_meanwhile_are_not_written(lab: House):
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *OTHERS)
    lab.next_morning()
    lab.add("3.txt", *NEXT)
    lab.ingest()
    with lab.opened() as app:
        app.once.match()
        words = TopicWords()
        with app.runtime.database.reading() as tx:
            words.read(tx, "agents")
        with app.runtime.database.ingesting() as tx:
            [first], [second] = (papers.by_title_key(tx, title_key(OTHERS[n][0])) for n in (0, 1))
            merge_papers.merge(tx, [(first.id, second.id, "test")], lab.clock.now())
        words.save(app.runtime.database)
        with app.runtime.database.reading() as tx:
            assert word_counts.read(tx, "agents") is None
            words.read(tx, "agents")
            never = TopicWords()
            never.read(tx, "agents")
        with app.runtime.database.ingesting() as tx:
            [third] = papers.by_title_key(tx, title_key(OTHERS[2][0]))
            merge_papers.merge(tx, [(first.id, third.id, "test")], lab.clock.now())
        never.save(app.runtime.database)  # it counted a paper that is gone
        with app.runtime.database.reading() as tx:
            assert word_counts.read(tx, "agents") is None


def test_the_words_that_all_papers_of_a_topic_have_do_not_order(lab: House):
    """The frequencies of the topic are those that a digest is ordered by."""
    answer(lab, ROBOTS[1][0], WANTED)
    lab.add("2.txt", *OTHERS)
    lab.next_morning()
    lab.add("3.txt", *NEXT)
    lab.ingest()
    with lab.opened() as app, app.runtime.database.reading() as tx:
        rated = papers.by_title_key(tx, title_key(ROBOTS[1][0]))[0].paper
        ids = judgements.shown(tx, "lab", "agents", 100)
        shown = [stored.paper for id, stored in papers.load(tx, ids).items()]
    [group] = composed(lab).groups
    known = [Paper(title, abstract=text) for title, text in (*ROBOTS, *MARKETS, *OTHERS, *NEXT)]
    judged = [Judged(paper, "unjudged") for paper in shown if paper.title != rated.title]
    ranking = learn([*judged, Judged(rated, "wanted")], ["agent"], matched=known)
    [placed] = [e.placed for e in group.entries if e.paper.title == NEXT[2][0]]
    [entry] = [entry for entry in group.entries if entry.paper.title == NEXT[2][0]]
    assert placed.score == pytest.approx(ranking.score(entry.paper, entry.score), abs=1e-5)
