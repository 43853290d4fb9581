"""Types of publications in the words of any source, and notes of withdrawal.

https://www.nlm.nih.gov/mesh/pubtypes.html lists those of PubMed and Europe PMC,
https://www.crossref.org/documentation/register-maintain-records/maintaining-your-metadata/registering-updates/
those of Crossref.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from monitor.model import COMMENT, CONCERN, CORRECTION, NOTICE_TYPES, RETRACTION
from monitor.sources.fields.identifiers import Keys, keys_of

_WORDS = {
    RETRACTION: """
        retraction|retraction of publication|retraction notice|retraction note|withdrawal
        |withdrawal notice|removal|removal notice|retraction of
    """,
    CONCERN: "expression of concern|expression of concern for|notice of concern",
    CORRECTION: """
        correction|corrections|correction notice|author correction|publisher correction|erratum
        |errata|published erratum|erratum for|corrigendum|corrigenda|addendum|clarification
        |partial retraction|partial retraction of|correction to
    """,
    COMMENT: "comment|comment on|reply|is comment on|is reply to|is review of|peer review",
}
_MARKS = {word.strip(): mark for mark, words in _WORDS.items() for word in words.split("|")}
# The marks that sources give to notices, the gravest first.
NOTICES = tuple(each.mark for each in NOTICE_TYPES if each.mark in _WORDS)
# Types of papers that a notice is about, and of anything: they say nothing else.
_EMPTY = ("retracted publication", "other", "unknown")
MAX_TYPE_CHARS = 60
_WITHDRAWN_TEXT = re.compile(
    r"\W*(?:this|the|our) (?:\w+ )?(?:paper|article|submission|manuscript|preprint|e-?print|work"
    r"|version|note|letter|draft)\b[^.]{0,40}? (?:has|have|had|is|was|will) (?:\w+ ){0,3}?"
    r"withdrawn\b",
    re.IGNORECASE,
)
_WITHDRAWN_COMMENT = re.compile(
    r"\W*(?:paper|article|submission|manuscript|version)? ?withdrawn\b", re.IGNORECASE
)


def type_of(words: Iterable[str]) -> str:
    """Return a mark of `monitor.model` if one of these words means it, else the first word.

    In small letters, with spaces: "journal-article" and "Journal Article" are one.
    """
    names = [
        " ".join(written.replace("-", " ").replace("_", " ").lower().split()) for written in words
    ]
    marks = {_MARKS[word] for word in names if word in _MARKS}
    first = (word[:MAX_TYPE_CHARS] for word in names if word and word not in _EMPTY)
    return next((mark for mark in NOTICES if mark in marks), "") or next(first, "")


def type_and_subject(
    notices: Sequence[tuple[str, Iterable[tuple[str, str]]]], types: Iterable[str]
) -> tuple[str, Keys]:
    """Return the type of a publication, and the keys of what a notice of this type is about.

    `notices` are the marks of a record as a notice, each with identifiers of its subject.
    """
    type_ = type_of([*(mark for mark, _ in notices), *types])
    return type_, keys_of(pair for mark, about in notices if mark == type_ for pair in about)


def says_withdrawn(abstract: str, comment: str) -> bool:
    """Whether an abstract or a comment begins by saying that the paper is withdrawn."""
    texts = _WITHDRAWN_TEXT.match(abstract) or _WITHDRAWN_TEXT.match(comment)
    return bool(texts or _WITHDRAWN_COMMENT.match(comment))
