"""Joins and splits in every order, after purges and digests: announced once, ruled for good."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from msgspec.structs import replace

from monitor.identity.keys import with_keys
from monitor.model import ChangeKind, Paper
from monitor.store import retention
from monitor.store.digests import digests
from monitor.store.engine.database import Database
from monitor.store.papers import identity_rulings, merge_papers, papers
from monitor.store.topics import matches
from tests.pipeline.desk import WORDS, ids, match, origin, read, send, tell
from tests.store.scenes import DAY, NOW, digest, freeze, ingesting, reading, unsent

AUTHORS = ("Ada Lovelace", "Alan Turing")
PREPRINT = Paper("Agents That Plan Together", "", AUTHORS, keys={"arxiv": "2601.00001"})
ARTICLE = Paper("Cooperation in Shared Worlds", "", AUTHORS, keys={"doi": "10.1000/plans.7"})
INDEXED = Paper("Shared Plans of Programs", "", AUTHORS, keys={"pmid": "7700"})
LINKED = replace(PREPRINT, keys=PREPRINT.keys | ARTICLE.keys)
ABSTRACTED = replace(ARTICLE, keys=ARTICLE.keys | INDEXED.keys)
SOURCES = {"arxiv": PREPRINT, "journal": ARTICLE, "index": INDEXED}
DOI = ("doi", "10.1000/plans.7")


def chain(number: int) -> dict[str, Paper]:
    """Three records of one work and the two that link them, by people of their own."""
    people = tuple(
        f"{name} {chr(97 + number % 26) * 3}{chr(97 + number // 26) * 4}" for name in "AB"
    )
    words = random.Random(number).sample(WORDS[:7], 5)
    a, b, c = ({s: f"{s[:3]}{number:04}"} for s in ("openalex", "acl", "dblp"))
    result = {
        "a": Paper(f"{words[0]} {words[1]} {people[0][2:]}", authors=people, keys=a),
        "b": Paper(f"{words[2]} of {words[3]} {people[1][2:]}", authors=people, keys=b),
        "c": Paper(f"{words[4]}, a system for {people[1][2:]}", authors=people, keys=c),
    }
    result["ab"] = replace(result["a"], keys=a | b)
    result["bc"] = replace(result["b"], keys=b | c)
    return result


def test_a_chain_that_arrives_in_any_order_becomes_one_and_is_announced_once(
    store: Database,
) -> None:
    orders = list(permutations(["a", "b", "c", "ab", "bc"]))
    for number, order in enumerate(orders if store.dialect == "sqlite" else orders[::7]):
        result = chain(number)
        for name in order:
            read(store, name, replace(result[name], raw_id=f"{name}{number}"))
        assert len(tell(store)) == 1, order
        for name in reversed(order):
            read(store, name, replace(result[name], raw_id=f"{name}{number}"), now=NOW + DAY)
        assert tell(store, now=NOW + DAY) == [], order


def test_what_was_announced_before_it_was_linked_is_announced_no_more(store: Database) -> None:
    for number, order in enumerate(permutations(["ab", "bc", "a", "c"])):
        result = chain(number + 200)
        for name in ("c", "a", "b"):
            read(store, name, replace(result[name], raw_id=f"{name}{number}"))
        assert len(tell(store)) == 3
        for name in order:
            read(store, name, replace(result[name], raw_id=f"{name}{number}"), now=NOW + DAY)
        assert tell(store, now=NOW + DAY) == [], order


def purge(store: Database) -> int:
    return ingesting(store, retention.purge, NOW + 30 * DAY, None, NOW + 30 * DAY, 100)


def announce_to_all(store: Database) -> None:
    for name in ("ada", "bob"):
        tell(store, name)


def test_a_paper_whose_other_half_was_announced_and_purged_is_no_news(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    announce_to_all(store)
    assert purge(store) == 1
    read(store, "journal", ARTICLE, now=NOW + 31 * DAY)
    read(store, "arxiv", LINKED, now=NOW + 31 * DAY)
    assert len(ids(store)) == 1
    assert tell(store, now=NOW + 32 * DAY) == []


def test_a_revision_of_a_paper_whose_other_half_was_purged_is_news_still(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    announce_to_all(store)
    assert purge(store) == 1
    read(store, "journal", replace(ARTICLE, version=1), now=NOW + 31 * DAY)
    read(store, "journal", replace(ARTICLE, version=2), now=NOW + 31 * DAY)
    read(store, "arxiv", LINKED, now=NOW + 31 * DAY)
    match(store, kinds=(ChangeKind.REVISED,), now=NOW + 32 * DAY)
    waiting = reading(store, matches.unsent, "ada", NOW + 32 * DAY)
    assert [one.change.kind for one in waiting] == [ChangeKind.REVISED]


def test_two_purged_halves_are_joined_and_stay_known(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    read(store, "journal", ARTICLE)
    announce_to_all(store)
    assert purge(store) == 2
    read(store, "index", replace(LINKED, raw_id="i1"), now=NOW + 31 * DAY)
    read(store, "journal", ARTICLE, now=NOW + 32 * DAY)
    assert tell(store, now=NOW + 33 * DAY) == []
    with store.reading() as tx:
        one = papers.by_key(tx, "arxiv", "2601.00001")
        other = papers.by_key(tx, *DOI)
    assert one and other and one.id == other.id == 1
    assert one.purged


def test_a_purged_paper_comes_back_by_the_key_of_its_other_half(store: Database) -> None:
    read(store, "arxiv", LINKED)
    announce_to_all(store)
    assert purge(store) == 1
    read(store, "journal", ARTICLE, now=NOW + 31 * DAY)
    read(store, "index", ABSTRACTED, now=NOW + 32 * DAY)
    read(store, "index", INDEXED, now=NOW + 33 * DAY)
    assert tell(store, now=NOW + 34 * DAY) == []
    found = reading(store, papers.by_key, "pmid", "7700")
    assert found and found.id == 1


def part(store: Database, id: int, keys: list[tuple[str, str]], *sources: str) -> int:
    """What `papers split` does."""
    named = with_keys(replace(origin(store, id).stored.paper, keys={}, url=""))
    result = replace(named, keys=())
    with store.ingesting() as tx:
        records = [(s.source, s.raw_id) for s in origin(store, id).sightings if s.source in sources]
        return merge_papers.split(tx, id, keys, records, result, result, NOW)


def three(store: Database) -> None:
    for source, record in SOURCES.items():
        read(store, source, record)
    read(store, "links", replace(LINKED, raw_id="l1"), replace(ABSTRACTED, raw_id="l2"))
    assert ids(store) == [1]


def test_one_of_a_chain_that_is_proven_different_stays_so(store: Database) -> None:
    three(store)
    announce_to_all(store)
    other = part(store, 1, [("pmid", "7700")], "index")
    for day in range(2, 5):
        for source, record in SOURCES.items():
            read(store, source, record, now=NOW + day * DAY)
        read(store, "links", replace(ABSTRACTED, raw_id="l2"), now=NOW + day * DAY)
    assert ids(store) == [1, other]
    assert tell(store, now=NOW + 6 * DAY) == []
    with store.reading() as tx:
        assert papers.by_key(tx, "pmid", "7700").id == other
        assert papers.by_key(tx, *DOI).id == 1


def test_a_split_after_a_digest_keeps_the_digest_and_tells_nobody_again(store: Database) -> None:
    three(store)
    match(store)
    assert freeze(store, digest(unsent(store), "1")) is not None
    frozen = reading(store, digests.of_period, "ada", "1")
    send(store)
    other = part(store, 1, [DOI], "journal")
    for source, record in SOURCES.items():
        read(store, source, record, now=NOW + DAY)
    assert ids(store) == [1, other]
    assert tell(store, "ada", NOW + DAY) == []
    assert tell(store, "bob", NOW + DAY) == [1, other], "each is news to who was sent neither"
    assert reading(store, digests.of_period, "ada", "1") == frozen


def test_a_third_record_that_carries_the_keys_of_both_halves_joins_nothing(store: Database) -> None:
    three(store)
    announce_to_all(store)
    other = part(store, 1, [DOI], "journal")
    every = PREPRINT.keys | ARTICLE.keys | INDEXED.keys
    for number, record in enumerate((PREPRINT, ARTICLE)):
        read(store, "mirror", replace(record, keys=every, raw_id=f"m{number}"), now=NOW + DAY)
    assert ids(store) == [1, other]
    assert tell(store, now=NOW + 2 * DAY) == []


@pytest.mark.parametrize("sent", [(), ("arxiv",), ("journal",), ("arxiv", "journal")])
def test_a_merge_of_what_was_sent_of_both_one_or_none_tells_the_rest_once(
    store: Database, sent: tuple[str, ...]
) -> None:
    for source in sent:
        read(store, source, SOURCES[source])
        tell(store)
    for source in ("arxiv", "journal"):
        read(store, source, SOURCES[source])
    before = [reading(store, digests.of_period, "ada", str(n + 1)) for n in range(len(sent))]
    with store.ingesting() as tx:
        names = identity_rulings.names_of(tx, [1, 2])
        identity_rulings.rule(tx, names[1], names[2], identity_rulings.SAME, NOW)
        merge_papers.merge(tx, [(1, 2, "a person")], NOW)
    assert tell(store, now=NOW + DAY) == ([] if sent else [1])
    for source in ("journal", "arxiv"):
        read(store, source, SOURCES[source], now=NOW + 2 * DAY)
    assert ids(store) == [1]
    assert tell(store, now=NOW + 3 * DAY) == []
    after = [reading(store, digests.of_period, "ada", str(n + 1)) for n in range(len(sent))]
    assert after == before
