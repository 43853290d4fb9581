"""Which stored papers an incoming one may be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from monitor.identity.keys import LINK, group_by_scheme
from monitor.identity.notices import is_retraction, mark_retracted
from monitor.identity.resolve import contest, may_match_cheaply, shared_identifiers
from monitor.model import Candidate, IncomingPaper
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import index_value
from monitor.store.papers import identity_rulings, paper_index, papers, sightings, withdrawals
from monitor.store.papers.paper_drafts import read_better

# How many papers that share only blocks are compared: those that share most.
NEAREST = 3
# The weight of a shared block: seven that no other paper has weigh less than one more block.
ONE_MORE = 8 << 10

Ways = dict[int, set[str]]
Key = tuple[str, str]


def find(
    tx: Transaction, source: str, incoming: Sequence[IncomingPaper]
) -> list[tuple[Candidate, ...]]:
    """Return, for each incoming paper, the stored ones that it may be, ordered by id.

    They are found by identifier and by the source's own id, also a former one; unless an identifier
    and the title lead to one paper, also by title key (the newest papers) and by blocks (the papers
    that share most, unless a cheap check rules them out).
    """
    candidates_of: list[Ways] = [defaultdict(set) for _ in incoming]
    owners = paper_index.owners(tx, {pair for record in incoming for pair in record.keys})
    names = {name for record in incoming for name in (record.raw_id, *record.former_names)}
    by_raw_id = paper_index.of_raw_ids(tx, source, names)
    by_title = paper_index.of_titles(tx, {record.title_key for record in incoming})
    unproven = []
    for matched_by, record in zip(candidates_of, incoming, strict=True):
        named = {
            pair: owners[indexed]
            for pair in record.keys
            if (indexed := paper_index.indexed_pair(pair)) in owners
        }
        keys = {pair: claim for pair, (_, claim) in named.items()}
        proof, mentions = shared_identifiers(record, keys)
        links = [pair for pair in named if pair[0] == LINK]
        _note(matched_by, (named[pair][0] for pair in (*proof, *links)), "key")
        _note(matched_by, (named[pair][0] for pair in mentions), "mention")
        _note(matched_by, by_raw_id.get(index_value(record.raw_id), ()), "raw_id")
        for name in record.former_names:
            _note(matched_by, by_raw_id.get(index_value(name), ()), "former name")
        namesakes = by_title.get(index_value(record.title_key), ())
        # An identifier may be another work's, unless the title bears it out.
        if {named[pair][0] for pair in proof}.isdisjoint(namesakes):
            _note(matched_by, namesakes, "title")
            unproven.append((matched_by, record))
    blocks = {block for _, record in unproven for block in record.blocks}
    by_block = paper_index.newest(tx, schema.block, blocks)
    for matched_by, record in unproven:
        _note(matched_by, nearest(record.blocks, by_block), "block")
    ruled = identity_rulings.between(tx, source, incoming, candidates_of)
    near = [
        (position, id)
        for position, matched_by in enumerate(candidates_of)
        for id, by in matched_by.items()
        if by == {"block"} and (position, id) not in ruled
    ]
    titled = papers.titles(tx, {id for _, id in near})
    for position, id in near:  # nearly all of them clearly differ
        if not may_match_cheaply(incoming[position], *titled[id]):
            del candidates_of[position][id]
    return _assemble(tx, source, incoming, candidates_of, ruled)


def with_store_facts(
    tx: Transaction, incoming: Sequence[IncomingPaper], source: str = ""
) -> list[IncomingPaper]:
    """Return records as the store sees them: which identifiers prove nothing, who is retracted."""
    pairs = {pair for record in incoming for pair in record.keys if pair[0] != LINK}
    shared = paper_index.contested(tx, pairs)
    records = [contest(record, shared) for record in incoming] if shared else incoming
    return mark_retracted(
        records, paper_index.find_retracted(tx, pairs), _mistaken(tx, source, records)
    )


def _mistaken(
    tx: Transaction, source: str, incoming: Sequence[IncomingPaper]
) -> dict[str, set[Key]]:
    """Return the identifiers of the papers that each record marked by mistake."""
    names = {r.raw_id for r in incoming if r.paper.withdrawn or is_retraction(r)}
    if not names:
        return {}
    undone = withdrawals.undone(tx, source, names)
    # Another copy of a stored notice.
    notices = {pair: r.raw_id for r in incoming if is_retraction(r) for pair in r.own_keys}
    stored = paper_index.of_keys(tx, notices) if notices else {}
    of_notices = withdrawals.undone_notices(tx, set(stored.values())) if stored else {}
    for pair, name in notices.items():
        notice = stored.get(paper_index.indexed_pair(pair), 0)
        undone[name] = undone.get(name, set()) | of_notices.get(notice, set())
    keys = papers.keys_of(tx, set().union(*undone.values())) if undone else {}
    return {name: {pair for id in ids for pair in keys[id]} for name, ids in undone.items()}


def _note(matched_by: Ways, ids: Iterable[int], way: str) -> None:
    for paper_id in ids:
        matched_by[paper_id].add(way)


def nearest(blocks: Iterable[int], by_block: Mapping[int, Sequence[int]]) -> Iterable[int]:
    """Return the papers that share most blocks, first those with rare ones, then the newest."""
    shared: dict[int, int] = {}
    for block in blocks:
        if ids := by_block.get(block):
            worth = ONE_MORE + ONE_MORE // (8 * len(ids))
            for id in ids:
                shared[id] = shared.get(id, 0) + worth
    if len(shared) <= NEAREST:
        return shared
    least = sorted(shared.values())[-NEAREST]
    best = [(worth, id) for id, worth in shared.items() if worth >= least]
    return [id for _, id in sorted(best)[-NEAREST:]]


def _assemble(
    tx: Transaction,
    source: str,
    incoming: Sequence[IncomingPaper],
    candidates_of: Sequence[Ways],
    ruled: Mapping[tuple[int, int], str],
) -> list[tuple[Candidate, ...]]:
    ids = {id for matched_by in candidates_of for id in matched_by}
    if not ids:
        return [() for _ in candidates_of]
    keys = paper_index.claims_of(tx, ids)
    shared = papers.shared_keys_of(tx, ids)
    stored = papers.stored_of(tx, ids, keys)
    for id, pairs in paper_index.of_papers(tx, schema.about, ids).items():  # of notices
        paper = structs.replace(stored[id].paper, about=group_by_scheme(pairs))
        stored[id] = structs.replace(stored[id], paper=paper)
    for id, record in stored.items():
        if (better := read_better(record.paper)) is not record.paper:
            stored[id] = structs.replace(record, paper=better)
    seen = sightings.of_papers(tx, ids, source)
    # A paper has the text of its first record: an entry is compared with its own earlier text.
    renamed = {
        id
        for matched_by in candidates_of
        for id, by in matched_by.items()
        if "raw_id" in by and by.isdisjoint(("key", "title"))
    }
    for id, of_sources in sightings.with_text(tx, renamed).items():
        seen[id] = tuple(one for one in of_sources if one.source == source and not one.filled)
    return [
        tuple(
            Candidate(
                stored[id],
                keys.get(id, {}),
                frozenset(matched_by[id]),
                seen.get(id, ()),
                ruled.get((position, id), ""),
                tuple(shared.get(id, ())),
            )
            for id in sorted(matched_by)
        )
        for position, matched_by in enumerate(candidates_of)
    ]
