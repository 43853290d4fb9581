"""The texts of a record are repaired and folded once, however often they are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.identity.mojibake import repair
from monitor.model import Paper
from monitor.store.engine.database import Database
from monitor.text import plain
from monitor.text.folding import fold
from tests.counting import calls
from tests.pipeline.desk import read
from tests.store.scenes import DAY, NOW

AUTHORS = ("Ada Måne", "Bo Fjære")


def record(
    place: str, title: str, abstract: str, venue: str, keys: Mapping[str, str], name: str
) -> Paper:
    """Return a paper whose texts no other test has: what was folded just before is not again."""
    return Paper(
        f"{title} in {place}",
        f"{abstract} We did so in {place}.",
        AUTHORS,
        venue=f"{venue} {place}",
        keys=dict(keys),
        raw_id=name,
    )


def test_what_is_compared_with_several_papers_is_folded_once(store: Database) -> None:
    place = store.dialect.title()
    gulls = (
        "Kräne und Möwen: Hoisting Herring with Harbour Cranes",
        "Gulls follow the cranes of a harbour, and take a herring of every barrel that is hoisted. "
        "We count them for nine weeks, and find that a lid of wood keeps them off.",
        "Jahrbuch für Häfen",
        {"doi": "10.1000/gulls"},
    )
    retitled = record(
        place,
        "Kräne, Möwen, Fässer: Harbour Cranes Hoisting Herring",
        "The cranes of a harbour hoist a barrel a minute, and gulls take a herring of every one. "
        "A lid of wood, as nine weeks of counting show, keeps them off for a day.",
        "Häfen und Kräne",
        {"arxiv": "2601.00009"},
        "s1",
    )
    another = record(
        place,
        "Kräne und Möwen: Hoisting Herring without Harbour Cranes",
        "Without a crane, a barrel of herring is rolled along a plank. The gulls of the harbour "
        "then take twice as many as of one that hangs, and a lid does not help at all.",
        "Zeitschrift für Fässer",
        {"doi": "10.1000/planks"},
        "s2",
    )
    last = record(place, *gulls, "g1")
    with calls(repair) as repaired, calls(plain) as folded:
        read(store, "harbour", retitled)
        read(store, "harbour", another, now=NOW + DAY)
        read(store, "gulls", last, now=NOW + 2 * DAY)
        # It has the same identifier: the texts are compared by other rules.
        read(store, "mirror", record(place, *gulls, "m1"), now=NOW + 3 * DAY)
    every = (retitled, another, last)
    assert once(repaired, (paper.title for paper in every))
    assert once(repaired, (paper.venue for paper in every))
    assert once(folded, (paper.abstract for paper in every))


def test_the_abstract_of_a_new_paper_is_folded_once_in_ingest(store: Database) -> None:
    """A title is folded for each kind of key that it makes: see docs/decisions/0003-engine.md."""
    title = "Tölpel über Häfen"
    abstract = "Tölpel — gannets — fly."
    keys = {"doi": "10.1000/gannets"}
    new = record(store.dialect.title(), title, abstract, "Häfen", keys, "n1")
    with calls(plain) as folded, calls(fold) as placed:
        read(store, "cliffs", new)
        read(store, "cliffs", new, now=NOW + DAY)  # it is as it was
    assert once(folded, (new.abstract,))
    assert (folded[new.title], placed[new.title]) == (2, 1)
    assert {folded[name] for name in new.authors} == {1}


def once(counted: Mapping[str, int], texts: Iterable[str]) -> bool:
    counts = {text: counted.get(text, 0) for text in texts}
    assert set(counts.values()) == {1}, counts
    return True
