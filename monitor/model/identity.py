"""Incoming and stored papers, candidates, and the decision which paper a record is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum, IntEnum, StrEnum

import msgspec

from monitor.model.paper import Paper, SiteNote
from monitor.model.reasons import Reasons


class Claim(IntEnum):
    """How a record's identifier is known, the strongest claim first.

    `ASSIGNED` by the service that brought the record (an arXiv id from arXiv), given in a `FIELD`
    of the record, read out of a `LINK` or a `TEXT` of it, or `LOOKED_UP` at a service.
    """

    ASSIGNED = 1
    FIELD = 2
    LINK = 3
    TEXT = 4
    LOOKED_UP = 5


class Authority(Enum):
    """Which records of a kind of source are those of a service that keeps the record of papers."""

    NONE = 0
    WITH_DOI = 1
    EVERY = 2


class IncomingPaper(msgspec.Struct, frozen=True):
    """A paper with all that it can be recognised by."""

    # The record, or the report that it was made into; `withdrawn` also by a stored notice.
    paper: Paper
    # Normalised identifiers (scheme, value), among them the link.
    keys: tuple[tuple[str, str], ...]
    # The folded title. It leads to candidates and proves nothing.
    title_key: str
    # The source's own name for the record, else its link, else a hash of its text.
    raw_id: str
    # A hash of the words of title and abstract, after the version of the rule: "1:...". Hashes of
    # two rules do not compare.
    fingerprint: str
    # Numbers made of rare words and of the authors: near copies share at least one.
    blocks: tuple[int, ...] = ()
    # A hash of all that the record says; None in a record that is only looked up.
    record_hash: int | None = None
    # The normalised identifiers of the papers that a notice or comment is about.
    about: tuple[tuple[str, str], ...] = ()
    # Those of `keys` that clearly different works have with equal claims: they prove no more than
    # one in a link.
    contested: tuple[tuple[str, str], ...] = ()
    # How an identifier is known, where that is not a field.
    claims: Mapping[tuple[str, str], Claim] = {}
    # A notice made the paper withdrawn, and not the record itself.
    retracted: bool = False
    # The names that versions up to 0.1 gave it: without a part of its link, so that others on its
    # page may have the same.
    former_names: tuple[str, ...] = ()
    # The record as its source gave it, where it may mark no paper as withdrawn; `paper` is the
    # report then.
    reports: IncomingPaper | None = None

    def claim(self, pair: tuple[str, str]) -> Claim:
        return self.claims.get(pair, Claim.FIELD)

    @property
    def own_keys(self) -> tuple[tuple[str, str], ...]:
        """The identifiers that are fields of the record, or assigned to it; no links."""
        return tuple(pair for pair in self.keys if self.claim(pair) <= Claim.FIELD)


class SightingText(msgspec.Struct, frozen=True):
    """Title, authors, venue, year, type and normalised identifiers as one record gave them."""

    title: str
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    type: str = ""
    keys: tuple[tuple[str, str], ...] = ()


class Sighting(msgspec.Struct, frozen=True):
    """The last report of a paper by one source, and the document of the first one."""

    # A name that the configuration may no longer have.
    source: str
    # As in `IncomingPaper`; a very long one ends in its hash.
    raw_id: str
    # The version in the last report, None where the source counts none.
    version: int | None
    # How the last report announced it, as in `Paper`.
    announce: str
    # The hash of the last report, as in `IncomingPaper`.
    fingerprint: str
    # When the source first had the record; no date of the paper.
    first_seen: datetime
    # When a reading last had it, changed or not.
    last_seen: datetime
    # The name of the first document that had it, "" where it has none.
    document: str = ""
    # Up to eight fingerprints before this one, the latest first: an earlier text again is no
    # revision.
    past: tuple[str, ...] = ()
    # The reasons when this source first reported it; () for the first record of a paper.
    recognised: Reasons = ()
    # None where it was not loaded, and for records last read before texts were stored.
    text: SightingText | None = None
    # The fields that a reference list filled in, such as "link"; empty for sources.
    filled: tuple[str, ...] = ()
    # Words of this source's site, in the last record.
    site_note: SiteNote | None = None


class StoredPaper(msgspec.Struct, frozen=True):
    """A paper of the store. `news_at` is None when it was stored silently.

    Of a `purged` paper only what it is recognised by is left.
    """

    id: int
    paper: Paper
    first_seen: datetime
    news_at: datetime | None
    revision: int
    purged: bool = False


class Candidate(msgspec.Struct, frozen=True):
    """A stored paper that an incoming one may be, and by what it was found.

    `found_by` holds "key", "raw_id", "mention", "title", "former name" or "block"; `keys` are the
    identifiers that the stored paper is recognised by, each with its claim, and `common` those that
    it carries as data; `sightings` are this source's sightings of it, with
    their texts where this entry is among them. `ruled` is "same" or "different" after a person's
    ruling, else "".
    """

    stored: StoredPaper
    keys: Mapping[tuple[str, str], Claim]
    found_by: frozenset[str]
    sightings: tuple[Sighting, ...] = ()
    ruled: str = ""
    common: tuple[tuple[str, str], ...] = ()


class ChangeKind(StrEnum):
    """Kinds of news, as a topic's `news:` names them."""

    NEW = "new"
    REVISED = "revised"
    WITHDRAWN = "withdrawn"
    OLDER = "older"


class Effect(msgspec.Struct, frozen=True):
    """The change that a notice means for the papers it is about: withdrawn or revised, and why.

    `papers` are those that are stored; without `news` it is noted silently.
    """

    kind: ChangeKind
    papers: tuple[int, ...] = ()
    news: bool = True
    why: str = ""


class Decision(msgspec.Struct, frozen=True):
    """The decision what to write for one incoming paper.

    Without `paper_id` and `earlier_in_chunk`, the store has never seen the paper.
    """

    # The record, or the report of a retraction that it was made into.
    keyed: IncomingPaper
    # None when the paper is known and unchanged.
    kind: ChangeKind | None
    # The stored paper that the record is of.
    paper_id: int | None = None
    # The position of an earlier decision of the same chunk, whose paper it is of.
    earlier_in_chunk: int | None = None
    # False for a record that is stored silently, as in a first reading.
    news: bool = True
    # The reason, as `explain` shows it; stored with a change.
    why: str = ""
    # The stored text is updated although that is no news.
    text_changed_silently: bool = False
    # Stored papers that are proven to be this one, too.
    joins: tuple[int, ...] = ()
    # Positions of earlier decisions whose papers are proven to be this one, too.
    twin_joins: tuple[int, ...] = ()
    # How a known paper was recognised; () for a new one.
    recognised: Reasons = ()
    # The changes of other papers that a notice means; None for other records.
    effect: Effect | None = None
    # The fields of the paper that this record of a reference list fills in.
    filled: tuple[str, ...] = ()


class EarlierText(msgspec.Struct, frozen=True):
    """The text of a paper before a revision."""

    title: str
    abstract: str
    version: int | None = None


class Revision(msgspec.Struct, frozen=True):
    """The changes of a revision, as far as they are known.

    `title_before` is empty where the title is the same; `sentences` counts those of the abstract
    that are new, gone or different, None where the text before is not kept.
    """

    version: int | None = None
    version_before: int | None = None
    title_before: str = ""
    sentences: int | None = None
