"""Topics, why a paper matches one, and how readers rate its papers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import msgspec

from monitor.model.identity import ChangeKind, StoredPaper


class Change(msgspec.Struct, frozen=True):
    """A piece of news waiting to be matched, with the paper as it now stands."""

    stored: StoredPaper
    revision: int
    kind: ChangeKind
    at: datetime
    sources: tuple[str, ...]


class LikeText(msgspec.Struct, frozen=True):
    """A text that papers are like, stored papers by identifier, papers of a file.

    The path of `file` is absolute, or relative to the folder of the configuration. `at_least` is
    the bar, if it is set; `at_most` how many papers a day the bar is chosen for.
    """

    text: str = ""
    papers: tuple[str, ...] = ()
    file: str = ""
    at_least: float | None = None
    at_most: int | None = None


class LikeWord(msgspec.Struct, frozen=True):
    """A word by its form (`monitor.text`), as it was first written, and its weight."""

    form: str
    written: str
    weight: int


class LikeWords(msgspec.Struct, frozen=True):
    """A version of the words of a `like:` topic, the heaviest first, and its bar, from 0 to 1.

    Version 0 is not stored. `examples` counts the papers that it was learned from, beside the text;
    `missing` are the identifiers of examples that were not stored then, and the file if
    it could not be read whole.
    """

    words: tuple[LikeWord, ...]
    bar: float
    version: int = 0
    at: datetime | None = None
    examples: int = 0
    missing: tuple[str, ...] = ()


class Topic(msgspec.Struct, frozen=True):
    """A stored question. With `like` a paper must also be near to a text, by its `words`."""

    # The key in the configuration.
    name: str
    # As written, or made of the lists of terms in its settings; "" where `like` alone decides.
    query: str
    # Names of the sources whose papers may match, in alphabetical order; empty for all.
    sources: tuple[str, ...] = ()
    # The kinds of changes that match.
    news: frozenset[ChangeKind] = frozenset({ChangeKind.NEW})
    # How far a new topic looks back.
    since: timedelta = timedelta(days=7)
    # The minimum total weight of the matched terms, 0 for none.
    threshold: float = 0.0
    # The groups of words with one meaning that apply to its query.
    synonyms: tuple[tuple[str, ...], ...] = ()
    # None for a topic that is a query alone.
    like: LikeText | None = None
    # The words learned from `like`; where they are not given, from its text alone.
    words: LikeWords | None = None

    @property
    def written(self) -> str:
        """The query as it is shown, and in one line what the papers are like."""
        if not self.like:
            return self.query
        file = self.like.file.rpartition("/")[2]
        named = filter(None, [" ".join(self.like.text.split()), *self.like.papers, file])
        return ", and ".join(filter(None, [self.query, f"like: {', '.join(named)}"]))


class Keyword(msgspec.Struct, frozen=True):
    """A word, name or label in the search index, or with `prefix` the beginning of some."""

    text: str
    prefix: bool = False


class Keywords(msgspec.Struct, frozen=True):
    """Keywords of which a paper has all, or at least one; `parts` is never empty."""

    every: bool
    parts: tuple[Keyword | Keywords, ...]


SearchExpr: TypeAlias = Keyword | Keywords


class MatchReason(msgspec.Struct, frozen=True, cache_hash=True):
    """Which words of a topic were found in which field.

    `words` are as the paper writes them; `spans` are (start, end) positions in that field's text.
    `terms` are what stands for each part of the topic that an earlier field does not have, the
    rarest first; abbreviations have their long form with them. `abbreviations` are those terms in
    which one stands for words that the topic asks for. `near` are those terms that are words of a
    text which papers are near to, and that no query demands.
    """

    field: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] = ()
    terms: tuple[str, ...] = ()
    abbreviations: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


def merge_spans(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return spans in order, those that touch or overlap made one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            start, before = merged.pop()
            end = max(end, before)
        merged.append((start, end))
    return tuple(merged)


# The field of a reason that is the model which added a paper, and no text of the paper.
MODEL: Final = "model"


class MatchRow(msgspec.Struct, frozen=True):
    """A row of the match table: which topic matches which revision of which paper.

    `added_by` is the model that added a paper just below the topic's bar, None by words.
    """

    topic: str
    paper_id: int
    revision: int
    score: float
    added_by: str | None = None


class PaperFilter(msgspec.Struct, frozen=True):
    """Papers that a source has, that a topic matched, that had news of a kind.

    They were first seen from `since` on and before `until`. What is empty excludes nothing.
    """

    source: str = ""
    topic: str = ""
    kind: ChangeKind | None = None
    since: datetime | None = None
    until: datetime | None = None


Verdict = Literal["wanted", "unwanted", "unjudged"]
WANTED: Final = "wanted"
UNWANTED: Final = "unwanted"
UNJUDGED: Final = "unjudged"
# The verdict of a row about a saved paper, which counts as wanted.
SAVED = "saved"
# Who answers on the command line, or is logged in by a token.
OPERATOR_NAME = "operator"


class Judgement(msgspec.Struct, frozen=True):
    """A rating by a person of a paper of a topic; `how` is by which means, as "command line"."""

    subscription: str
    topic: str
    paper_id: int
    who: str
    verdict: str
    at: datetime
    how: str
