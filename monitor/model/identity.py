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
    """A paper with what it can be recognised by.

    `keys` are normalised identifiers, `title_key` a candidate only, `raw_id` the source's own
    name for the record (or a hash of it), `fingerprint` changes when the text does; `blocks`
    are numbers: near copies share at least one. `record_hash` changes with any text.
    `about` are the normalised identifiers of what a notice or comment is about. `claims` says how
    an identifier is known, where that is not a field; `contested` are those that clearly different
    works have with equal claims: they prove no more than one in a link.
    `retracted` says that the paper is withdrawn by a notice, and not by the record itself.
    `former_names` are names that earlier versions gave the record, and others on its page.
    `reports` is the record as its source gave it, where it may mark no paper as withdrawn.
    """

    paper: Paper
    keys: tuple[tuple[str, str], ...]
    title_key: str
    raw_id: str
    fingerprint: str
    blocks: tuple[int, ...] = ()
    record_hash: int | None = None
    about: tuple[tuple[str, str], ...] = ()
    contested: tuple[tuple[str, str], ...] = ()
    claims: Mapping[tuple[str, str], Claim] = {}
    retracted: bool = False
    former_names: tuple[str, ...] = ()
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
    """The last report of a paper by one source, and the document of the first one.

    `past` are the last fingerprints before this one, the latest first; `recognised` is how the
    paper was recognised when this source first reported it. `text` is None where it was not
    loaded, and for records last read before texts were stored. `filled` are the fields that a
    reference list filled in, such as "link"; empty for sources. `site_note` is what the site of the
    source adds to its record.
    """

    source: str
    raw_id: str
    version: int | None
    announce: str
    fingerprint: str
    first_seen: datetime
    last_seen: datetime
    document: str = ""
    past: tuple[str, ...] = ()
    recognised: Reasons = ()
    text: SightingText | None = None
    filled: tuple[str, ...] = ()
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

    `kind` is None when the paper is known and unchanged. `paper_id` is the stored paper it is,
    `earlier_in_chunk` the position of an earlier decision of the same chunk that it repeats;
    both None means a paper that the store has never seen. `news` is false for what is stored
    silently; `text_changed_silently` means that the text is updated although it is no news.
    `joins` are stored papers, and `twin_joins` papers of earlier decisions, that are proven to be
    this one, too. `why` is the reason, `recognised` how a known paper was recognised.
    `effect` is what a notice means for other papers. `filled` are the fields of the paper that this
    record of a reference list fills in.
    """

    keyed: IncomingPaper
    kind: ChangeKind | None
    paper_id: int | None = None
    earlier_in_chunk: int | None = None
    news: bool = True
    why: str = ""
    text_changed_silently: bool = False
    joins: tuple[int, ...] = ()
    twin_joins: tuple[int, ...] = ()
    recognised: Reasons = ()
    effect: Effect | None = None
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
