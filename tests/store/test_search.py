"""The search index: too many papers perhaps, never too few, in every state of the store."""

from __future__ import annotations

import pytest

from monitor.match import paper_keywords, parse_query, search_expression
from monitor.model import Keyword, Keywords, Paper
from monitor.store.engine.database import Database
from monitor.store.papers import papers, search
from tests.store.scenes import arrive, ingesting, reading


def index(store: Database) -> None:
    with store.ingesting() as tx:
        found = papers.load(tx, search.waiting(tx, 1_000))
        search.save(tx, [(id, paper_keywords(stored.paper)) for id, stored in found.items()])


def find(store: Database, topic: str, below: int | None = None, limit: int = 100) -> list[int]:
    return reading(store, search.newest, search_expression(parse_query(topic).root), below, limit)


def rewrite(store: Database, paper_id: int, title: str) -> None:
    with store.ingesting() as tx:
        tx.exec_driver_sql(f"UPDATE paper SET title = '{title}' WHERE id = {paper_id}")
        search.queue(tx, [paper_id])


def waiting(store: Database) -> list[int]:
    return reading(store, search.waiting, 100)


def test_new_papers_wait_and_are_found_meanwhile(store: Database) -> None:
    arrive(store, "1", "2")
    assert waiting(store) == [1, 2]
    assert find(store, "nothing-like-it") == [2, 1]
    index(store)
    assert waiting(store) == []
    assert find(store, "nothing-like-it") == []


def test_a_paper_that_is_written_again_is_found_by_its_new_words(store: Database) -> None:
    arrive(store, "1", "2")
    index(store)
    for title in ("Zebra", "Quagga", "Zebra crossings", "Okapi"):
        rewrite(store, 1, title)
        assert waiting(store) == [1]
        assert 1 in find(store, "anything")
        index(store)
        assert find(store, title) == [1]
    assert find(store, "okapi OR unicorn") == [1]


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("optimization", "Optimisations"),
        ("optimisation", "Optimization"),
        ('"tumor behavior"', "Tumour behaviours"),
        ("leaf", "Leaves"),
        ("coronavirus", "Coronaviruses"),
        ("phytoestrogen", "Phyto-oestrogens"),
        ("color" * 100, "colour" * 100),
    ],
)
def test_the_index_of_an_older_version_finds_words_in_either_spelling(
    store: Database, topic: str, title: str
) -> None:
    arrive(store, "1", "2")
    index(store)
    # An older version held words as written, and without their s; it knew no other spelling.
    written = {word for piece in title.lower().split() for word in (piece, piece.replace("-", ""))}
    held = written | {word.removesuffix("s") for word in written}
    held |= {part.removesuffix("s") for word in written for part in word.split("-")}
    ingesting(store, search.save, [(1, " ".join(word[:200] for word in held))])
    assert 1 in find(store, topic)
    assert find(store, "nothing-like-it") == []


def test_pages_go_from_the_newest_to_the_oldest(store: Database) -> None:
    arrive(store, *map(str, range(1, 8)))
    for paper_id in range(1, 8):
        rewrite(store, paper_id, "Zebra")
    index(store)
    rewrite(store, 3, "Zebra")
    first = find(store, "zebra", limit=3)
    assert first == [7, 6, 5]
    assert find(store, "zebra", below=first[-1], limit=3) == [4, 3, 2]
    assert find(store, "zebra", below=2, limit=3) == [1]
    assert find(store, "zebra", below=1) == []
    assert reading(store, search.newest, None, 4, 2) == [3, 2], "without words, of all papers"


@pytest.mark.parametrize(
    "topic",
    [
        "multi-ag*",
        '"a\' b" OR zebra',
        "category:\"O'Brien's things\"",
        "category:cs.*",
        " OR ".join(f"word{n}" for n in range(1_500)),
        "(" * 38 + "zebra OR (okapi quagga)" + ")" * 38,
        '2 of (zebra, okapi, "a b", do* OR dodo)',
        "source:arxiv",
        "x" * 900,
        "xx*",
    ],
)
def test_both_databases_understand_what_is_sought(store: Database, topic: str) -> None:
    arrive(store, "1")
    index(store)
    find(store, topic)


def test_a_keyword_of_every_kind_of_character_is_held(store: Database) -> None:
    arrive(store, "1")
    odd = Paper(
        "C++ at 3.5 and 10,000 β-VAE 深度学习 Schrödinger x" + "y" * 900,
        abstract="The multi-agent's \x1f A+",
        authors=("O'Neill, d'Arcy", "Søren Kierkegaard", "李 明"),
        categories=(
            "O'Brien's \"things\"",
            "cs.LG",
            "a,b:c* d",
            "Mathematics / Topology & more",
            "a\u3000b",
        ),
        venue="NeurIPS '24",
    )
    written = paper_keywords(odd)
    held = {*written.split(" ")} - {""}
    with store.ingesting() as tx:
        search.save(tx, [(1, written)])
        for text in held:
            assert search.newest(tx, Keyword(text), None, 5) == [1], text
            assert search.newest(tx, Keyword(text[:3], prefix=True), None, 5) == [1], text
        both = Keywords(True, tuple(map(Keyword, sorted(held))))
        assert search.newest(tx, both, None, 5) == [1]
        assert search.newest(tx, Keyword("nonesuch"), None, 5) == []


def test_the_search_index_is_sound_after_many_rewritings(sqlite: Database) -> None:
    arrive(sqlite, *map(str, range(1, 40)))
    for round_ in range(30):
        for paper_id in range(1, 40, 3):
            rewrite(sqlite, paper_id, f"Zebra {round_} {paper_id}")
        index(sqlite)
    with sqlite.writing() as tx:
        for command in ("integrity-check", "optimize", "integrity-check"):
            tx.exec_driver_sql("INSERT INTO paper_words (paper_words) VALUES (?)", (command,))
    sqlite.check()
    assert find(sqlite, "zebra 29") == list(range(37, 0, -3))
