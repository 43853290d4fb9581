"""Filling in what papers lack from libraries, only where they are shown to readers of these.

The paper in the store stays the same: nothing is matched, searched, ordered or recognised by the
fields of a library. A composed digest is frozen with them, and says which fields came from where.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import structs

from monitor.digest.links import PAGES, page_url
from monitor.digest.shown import shown_title
from monitor.identity.keys import group_by_scheme, with_keys
from monitor.identity.resolve import by_likeness
from monitor.identity.same_work import same_work
from monitor.model import Claim, Digest, DigestPaper, FromLibrary, IncomingPaper, Paper
from monitor.model.look_up import Lack
from monitor.pipeline.missing_fields import is_dated, missing
from monitor.pipeline.reference_lists import without_rivals
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import digests
from monitor.store.engine.database import Transaction
from monitor.store.sources import collections
from monitor.store.sources.collections import CollectionEntry

Usable: TypeAlias = Mapping[int, tuple[CollectionEntry, IncomingPaper]]
_EMPTY = Paper("")


def fill_in(
    tx: Transaction,
    libraries: Collection[str],
    entries: Sequence[DigestPaper],
    papers: Mapping[int, Paper],
    now: datetime,
) -> list[DigestPaper]:
    """Return entries with what they lack from some libraries.

    All readers of the entries may see all of the libraries. `papers` are as the store has them.
    """
    if not libraries:
        return list(entries)
    bare = {entry.paper_id: papers[entry.paper_id] for entry in entries if lacks(entry.paper)}
    found = collections.find(tx, libraries, list(map(with_keys, bare.values())), now)
    usable = choose(tx, bare, dict(zip(bare, found, strict=True)), now)
    return [lay_over(entry, usable) for entry in entries]


def lacks(paper: Paper) -> bool:
    """Whether a paper lacks what a library may have: its authors, a date, or a link."""
    return not missing(paper).isdisjoint((Lack.AUTHORS, Lack.DATE, Lack.LINK))


def choose(
    tx: Transaction,
    papers: Mapping[int, Paper],
    found: Mapping[int, Sequence[CollectionEntry]],
    now: datetime,
) -> Usable:
    """Return the entry that may be laid over each paper, out of those that are the same work.

    Entries that have an identifier of the paper come before those that are like it. If these are
    not one work, there is none; nor one whose identifiers name another work.
    """
    chosen = {
        id: entry
        for id, entries in found.items()
        if lacks(papers[id]) and (entry := _certain(entries))
    }
    return without_rivals(tx, papers, chosen, now) if chosen else {}


def _certain(entries: Sequence[CollectionEntry]) -> CollectionEntry | None:
    named = [entry for entry in entries if not by_likeness(entry.recognised)]
    candidates = named or entries
    if any(not same_work(candidates[0].paper, e.paper).same for e in candidates[1:]):
        return None
    return candidates[0] if candidates else None


def lay_over(entry: DigestPaper, usable: Usable) -> DigestPaper:
    """Return an entry with what it lacks from its entry in a library."""
    if entry.paper_id not in usable:
        return entry
    paper = entry.paper
    (found, record) = usable[entry.paper_id]
    of_library = shown_title(record.paper)
    gaps: dict[str, Any] = {"authors": of_library.authors}
    if not is_dated(paper):
        gaps |= {name: getattr(of_library, name) for name in ("published", "precision", "year")}
    keys: dict[str, tuple[str, ...]] = {}
    if not page_url(paper):
        gaps["url"] = of_library.url
        own = (pair for pair in record.keys if record.claim(pair) <= Claim.LINK)
        keys = group_by_scheme(p for p in own if p[0] in PAGES and p[0] not in paper.keys)
    gaps = {name: value for name, value in gaps.items() if value and not getattr(paper, name)}
    if not (gaps or keys):
        return entry
    filled = structs.replace(paper, **gaps, keys={**paper.keys, **keys})
    origin = FromLibrary(found.source, tuple(gaps), tuple(keys))
    return structs.replace(entry, paper=filled, from_library=origin)


def hide_lost(runtime: Runtime, digest: Digest) -> Digest:
    """Return a past digest without fields of libraries that its subscription no longer names.

    Its readers may be others than those who got it.
    """
    of_subscription = (s for s in runtime.subscriptions if s.name == digest.subscription)
    visible = {name for subscription in of_subscription for name in subscription.libraries}

    def hide(entry: DigestPaper) -> DigestPaper:
        origin = entry.from_library
        if origin is None or origin.library in visible:
            return entry
        gaps = {name: getattr(_EMPTY, name) for name in origin.fields}
        keys = {k: value for k, value in entry.paper.keys.items() if k not in origin.schemes}
        paper = structs.replace(entry.paper, **gaps, keys=keys)
        return structs.replace(entry, paper=paper, from_library=None)

    return digests.map_papers(digest, hide)
