"""Which records of a stored paper today's rules would not merge.

The records of a paper are decided on again as if one reading brought them all (`decide_chunk`).
Abstracts are not stored with records: the paper's abstract is used for the records whose
fingerprints match it, and for others the share that agreed comes from the reasons of their merge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from msgspec import structs

from monitor.diff.decide import MAX_TWINS, DecisionContext, decide_chunk
from monitor.identity.compare_texts import Comparison, compare_texts
from monitor.identity.keys import LINK, fingerprint, group_by_scheme, identifiers, with_keys
from monitor.identity.resolve import Key, by_likeness
from monitor.identity.same_work import Verdict, same_work
from monitor.model import Decision, Finding, Paper, Reason, Reasons, Sighting, SightingText

_RULED = frozenset((Finding.RULED_SAME, Finding.RULED_THIS))
# Findings that contradict a join by likeness, beside titles that differ.
_CONTRARY = frozenset(
    (
        Finding.YEARS_APART,
        Finding.OTHER_VENUES,
        Finding.JOURNAL_AND_CONFERENCE,
        Finding.OTHER_PART,
    )
)
# One paper may have several of these.
_SEVERAL = frozenset({LINK, "doi"})


@dataclass(frozen=True, slots=True)
class Doubt:
    """Records of a paper that would be another one today, with the reasons.

    `keys` are identifiers to part where no record is known to have given them. `judged` is false
    where the texts of the records were not stored: then only identifiers and `recognised` speak.
    """

    records: tuple[Sighting, ...]
    reasons: Reasons
    judged: bool
    keys: tuple[Key, ...] = ()

    @property
    def recognised(self) -> Reasons:
        """By what the records were recognised when they were joined."""
        return next((record.recognised for record in self.records if record.recognised), ())


@dataclass(frozen=True, slots=True)
class Judged:
    """The doubtful joins of a paper, the number of all, and of those that cannot be judged."""

    doubts: tuple[Doubt, ...]
    joins: int
    unjudged: int


def judge(
    paper: Paper, keys: Sequence[Key], sightings: Sequence[Sighting], common: Collection[Key] = ()
) -> Judged:
    """Judge the joins of a paper by its records, in the order in which they were first seen.

    `keys` are the identifiers that it is recognised by, `common` those that prove nothing.
    """
    seen = sorted(sightings, key=lambda sighting: (sighting.first_seen, bool(sighting.recognised)))
    if seen[0].text is None:  # a paper says what its first record said
        shares = SightingText(paper.title, paper.authors, paper.venue, paper.year)
        seen[0] = structs.replace(seen[0], text=shares)
    known = [sighting for sighting in seen if sighting.text]
    unknown = [sighting for sighting in seen if not sighting.text]
    doubts = [*_refused_today(paper, known, common), *_contradictions(keys, seen, unknown)]
    return Judged(tuple(doubts), len(seen) - 1, len(unknown))


def _refused_today(
    paper: Paper, seen: Sequence[Sighting], common: Collection[Key]
) -> Iterator[Doubt]:
    told = [_as_paper(paper, sighting, seen[0], common) for sighting in seen]
    records = [
        _with_links(record, sighting.raw_id, paper.url)
        if compare_texts(told[0], record) is Comparison.UNKNOWN
        else record
        for record, sighting in zip(told, seen, strict=True)
    ]
    first, *others = _works(records, seen)
    for work in others:
        verdict = _compare(records[first[0]], records[work[0]], seen[work[0]])
        yield Doubt(tuple(seen[at] for at in work), verdict.reasons, judged=True)


def _works(records: Sequence[Paper], seen: Sequence[Sighting]) -> list[list[int]]:
    """Return the positions of the records by work, each work by its first record."""
    incoming = list(map(with_keys, records))
    moment = DecisionContext(max(sighting.last_seen for sighting in seen))
    decisions = decide_chunk(incoming, [()] * len(incoming), moment)
    roots = list(range(len(records)))
    for at, decision in enumerate(decisions):
        same = [*decision.twin_joins, *_twins(at, decision, records, seen)]
        for other in same:
            first, two = sorted((roots[at], roots[other]))
            roots = [first if root == two else root for root in roots]
    works: dict[int, list[int]] = defaultdict(list)
    for at, root in enumerate(roots):
        works[root].append(at)
    return list(works.values())


def _twins(
    at: int, decision: Decision, records: Sequence[Paper], seen: Sequence[Sighting]
) -> Iterator[int]:
    """Yield the earlier records that one is the work of; abstracts count as they did."""
    if _first(seen[at]) in _RULED:
        yield 0
    by_abstract = _abstracts(seen[at]) is not None
    likeness = by_likeness(decision.recognised)
    if decision.earlier_in_chunk is not None and not (by_abstract and likeness):
        yield decision.earlier_in_chunk
    elif by_abstract:
        for earlier in range(min(at, MAX_TWINS)):
            if _compare(records[earlier], records[at], seen[at]).same:
                yield earlier


def _compare(earlier: Paper, record: Paper, seen: Sighting) -> Verdict:
    """Compare two records; where an abstract is not known, it agrees as far as it did."""
    both_known = earlier.abstract and record.abstract
    return same_work(earlier, record, None if both_known else _abstracts(seen))


def _first(seen: Sighting) -> Finding | None:
    return seen.recognised[0].finding if seen.recognised else None


def _abstracts(seen: Sighting) -> float | None:
    """Return how far abstracts agreed when a record was recognised, None if not by them."""
    for reason in seen.recognised:
        if reason.finding is Finding.ABSTRACTS_AGREE:
            return float(reason.of[0])
    return None


def _as_paper(paper: Paper, seen: Sighting, first: Sighting, common: Collection[Key]) -> Paper:
    """Return a record as far as it is known; `first` is the paper's first, of which some are."""
    text = seen.text or SightingText("")
    keys = group_by_scheme(key for key in text.keys if key not in common)
    entry = first if _first(seen) is Finding.SAME_ENTRY else seen
    return Paper(
        text.title,
        paper.abstract if paper.abstract and has_abstract(paper, seen) else "",
        text.authors,
        text.venue,
        text.year,
        keys=keys,
        version=seen.version,
        raw_id=f"{entry.source}/{entry.raw_id}",
        type=text.type,
    )


def _with_links(record: Paper, raw_id: str, url: str) -> Paper:
    """Return a record whose identifiers count as those of a link where they may be of one.

    It may be read out of the link of its paper, or of its own, which an entry without a name of its
    own has for a name, without the scheme. Nothing else bears such a join out.
    """
    links = url, raw_id if "://" in raw_id else f"https://{raw_id}"
    named = {key for link in links for key in identifiers(Paper("", url=link))}
    own = identifiers(record)
    return structs.replace(record, keys_in_links=group_by_scheme(k for k in own if k in named))


def has_abstract(paper: Paper, seen: Sighting) -> bool:
    """Whether a record of a paper gave the abstract that the paper has."""
    title = seen.text.title if seen.text else paper.title
    return fingerprint(structs.replace(paper, title=title)) == seen.fingerprint


def _contradictions(
    keys: Sequence[Key], seen: Sequence[Sighting], unknown: Sequence[Sighting]
) -> Iterator[Doubt]:
    """Yield objections to older joins: two ids of one scheme, and reasons with a contradiction."""
    if not unknown:
        return
    listed = set[tuple[str, str]]()
    schemes = group_by_scheme(key for key in keys if key[0] not in _SEVERAL)
    for scheme, values in schemes.items():
        first, *others = sorted(values, key=lambda value: not _has_key(seen[0], (scheme, value)))
        for value in others:
            named = [sighting for sighting in seen[1:] if _has_key(sighting, (scheme, value))]
            if all(sighting.text for sighting in named) and named:
                continue  # judged by its text
            listed |= {(sighting.source, sighting.raw_id) for sighting in named}
            reason = Reason(Finding.TWO_IDENTIFIERS, (scheme, first, value))
            yield Doubt(tuple(named), (reason,), judged=False, keys=((scheme, value),))
    for sighting in unknown:
        is_listed = (sighting.source, sighting.raw_id) in listed
        findings = {reason.finding for reason in sighting.recognised}
        differ = by_likeness(sighting.recognised) and Finding.SAME_TITLE not in findings
        if differ and not _CONTRARY.isdisjoint(findings) and not is_listed:
            yield Doubt((sighting,), sighting.recognised, judged=False)


def _has_key(seen: Sighting, key: Key) -> bool:
    """Whether a record has an identifier, by its text or by its source's name for it."""
    if seen.text and key in seen.text.keys:
        return True
    scheme = key[0]
    raw_id = seen.raw_id
    return key in identifiers(Paper("", url=raw_id, keys={scheme: raw_id}))
