"""A person's word on what is one work: merged or split, for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from monitor.diff.keys import identifiers, keyed
from monitor.errors import UsageError
from monitor.model import Paper, Sighting
from monitor.pipeline import Parts
from monitor.questions.explain import named
from monitor.questions.search import FoundPaper
from monitor.store import joins, papers, rulings, splits
from monitor.store.database import Transaction

Key = tuple[str, str]


def merge(parts: Parts, wanted: Sequence[str]) -> FoundPaper:
    """Join papers into the earliest of them and rule that they are the same. Raises UsageError."""
    now = parts.clock.now()
    with parts.database.ingesting() as tx:
        stored = {one.id: one for one in (named(tx, each) for each in wanted)}
        if len(stored) < 2:
            raise UsageError("these are one paper already", "name two that are to be merged")
        first, *others = sorted(stored)
        names = rulings.names_of(tx, stored)
        for other in others:
            rulings.rule(tx, names[first], names[other], rulings.SAME, now)
        pairs = [(first, other, "someone ruled that they are the same") for other in others]
        joins.unite(tx, pairs, now)
        return _found(tx, first)


def split(
    parts: Parts, wanted: str, what: Sequence[str], title: str = ""
) -> tuple[FoundPaper, FoundPaper]:
    """Make a paper of its own of some identifiers and records of another; return both.

    Each of `what` is an identifier or link of the paper, a record as SOURCE/RAW-ID, or a source
    for all of its records. An identifier takes the records with it that are named by it, and
    the other way round. Raises UsageError.
    """
    now = parts.clock.now()
    with parts.database.ingesting() as tx:
        stored = named(tx, wanted)
        origin = papers.origin(tx, stored.id)
        assert origin is not None, "the paper was found in this very transaction"
        keys, records = _chosen(what, origin.keys, origin.sightings)
        if len(records) == len(origin.sightings) or (
            origin.keys and len(keys) == len(origin.keys) and not records
        ):
            raise UsageError("nothing would be left of the paper", "name what is another one")
        title = title or stored.paper.title
        told = keyed(structs.replace(stored.paper, title=title, keys={}, url=""))
        new_id = splits.split(tx, stored.id, keys, records, replace(told, keys=()), now)
        return _found(tx, stored.id), _found(tx, new_id)


def _chosen(
    what: Sequence[str], keys: Sequence[Key], sightings: Sequence[Sighting]
) -> tuple[list[Key], list[Key]]:
    """Return the identifiers and the (source, raw id) that are meant."""
    chosen: set[Key] = set()
    records: set[Key] = set()
    for one in what:
        ours = _names(one) & set(keys)
        told = {
            (seen.source, seen.raw_id)
            for seen in sightings
            if one in (seen.source, seen.raw_id, f"{seen.source}/{seen.raw_id}")
        }
        if not ours and not told:
            there = [f"{s}:{v}" for s, v in keys] + [f"{s.source}/{s.raw_id}" for s in sightings]
            raise UsageError(f"{one!r} is not of this paper", f"there are: {', '.join(there)}")
        chosen |= ours
        records |= told
    chosen |= {key for _, raw_id in records for key in _names(raw_id) & set(keys)}
    records |= {(s.source, s.raw_id) for s in sightings if not _names(s.raw_id).isdisjoint(chosen)}
    return sorted(chosen), sorted(records)


def _names(text: str) -> set[Key]:
    """All identifiers that a text may stand for."""
    scheme, _, value = text.partition(":")
    told = Paper("", url=text, keys={"arxiv": text, "doi": text, scheme.lower(): value or text})
    return {*identifiers(told), ("url", text), ("url", value)}


def _found(tx: Transaction, paper_id: int) -> FoundPaper:
    stored = papers.get(tx, paper_id)
    assert stored is not None, "the paper was written in this very transaction"
    return FoundPaper(stored, papers.sightings(tx, [paper_id]).get(paper_id, ()))
