"""The words of reasons, and the form in which they are stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from monitor.model import Finding, Reason, Reasons

# `{:.0%}` is a share, `{:d}` a number, `{}` a word, and `{:s}` the rest of the words. Stores of
# versions up to 0.2.0 have these words: before you change some, copy them to `FORMER_WORDS`.
WORDS: Mapping[Finding, str] = {
    Finding.RULED_SAME: "someone ruled that they are the same",
    Finding.RULED_THIS: "someone ruled that it is this paper",
    Finding.SEPARATED: "separated by `papers split`",
    Finding.SAME_ENTRY: "same entry of its source",
    Finding.SAME_IDENTIFIER: "same {} {:s}",
    Finding.DIFFERENT_IDENTIFIER: "different {}",
    Finding.TWO_IDENTIFIERS: "two identifiers of one scheme: {} {} and {}",
    Finding.TEXTS_DISAGREE: "texts disagree",
    Finding.NOTHING_ELSE_AGREES: "nothing else agrees",
    Finding.SAME_TITLE: "same title",
    Finding.TITLES_AGREE: "titles agree to {:.0%}",
    Finding.TITLES_DIFFER: "titles differ",
    Finding.RECURRING_TITLE: "a title that returns with every issue",
    Finding.TITLE_MAY_RECUR: "a title that may return",
    Finding.OTHER_PART: "another part or number",
    Finding.REVISED_NUMBER: "revised under another number",
    Finding.SAYS_IT_IS_ANOTHER: "one says that it is another",
    Finding.WORDS_BEFORE_TITLE: "one has words before the other's title",
    Finding.ABOUT_THE_OTHER: "one is about the other",
    Finding.TWO_NOTICES: "two notices",
    Finding.NOTICES_ABOUT_DIFFERENT_PAPERS: "notices about different papers",
    Finding.AUTHORS_NOT_GIVEN: "authors not given",
    Finding.AUTHORS_AGREE: "authors agree to {:.0%}",
    Finding.NO_COMMON_AUTHOR: "no author in common",
    Finding.YEARS_APART: "{:d} years apart",
    Finding.JOURNAL_AND_CONFERENCE: "one in a journal, one at a conference",
    Finding.OTHER_VENUES: "other venues",
    Finding.ONE_CONFERENCE_IN_TWO_YEARS: "one conference, in two years",
    Finding.ABSTRACTS_NOT_COMPARABLE: "abstracts not comparable",
    Finding.ABSTRACTS_AGREE: "abstracts agree to {:.0%}",
    Finding.ABSTRACTS_SUPPORT_THEIR_TITLES: "each abstract supports its own title",
    Finding.TITLES_OUTWEIGH_ABSTRACTS: (
        "the abstracts do not outweigh the other words of the titles"
    ),
    Finding.OTHER_TYPE: "another kind of publication: {:s}",
    Finding.OTHER_LANGUAGE: "one is in another language",
    Finding.SEVERAL_WORKS: "several works have this title",
    Finding.OTHER: "{:s}",
}
FORMER_WORDS: Mapping[str, Finding] = {
    "each abstract bears out its own title": Finding.ABSTRACTS_SUPPORT_THEIR_TITLES,
}
# Where the number is one.
_SINGULAR: Mapping[Reason, str] = {Reason(Finding.YEARS_APART, (1,)): "1 year apart"}


def describe(reasons: Iterable[Reason]) -> str:
    """Return the words of reasons: "titles agree to 93%, 1 year apart"."""
    return ", ".join(map(words_of, reasons))


def words_of(reason: Reason) -> str:
    return _SINGULAR.get(reason) or WORDS[reason.finding].format(*reason.of)


def write_reasons(reasons: Iterable[Reason]) -> str:
    """Return reasons as they are stored: [["titles_agree",0.93],["years_apart",1]]."""
    return json.dumps([[reason.finding, *reason.of] for reason in reasons], separators=(",", ":"))


def read_reasons(stored: str) -> Reasons:
    """Return stored reasons; versions up to 0.2.0 stored their words.

    What this version does not know is kept as `Finding.OTHER`.
    """
    if not stored.startswith("["):
        return tuple(_read_words(stored)) if stored else ()
    return tuple(_reason(*stored_reason) for stored_reason in json.loads(stored))


def _reason(name: str, *of: str | float) -> Reason:
    finding = _FINDINGS.get(name)
    return Reason(finding, of) if finding else _other(" ".join(map(str, (name, *of))))


def _other(words: str) -> Reason:
    return Reason(Finding.OTHER, (words,))


# ── words that were stored ──────────────────────────────────────────────────────────

_FINDINGS: Mapping[str, Finding] = {str(finding): finding for finding in Finding}
_NUMBER = "(0|[1-9][0-9]*)"
# How each field of the words is read.
_FIELDS: Mapping[str, tuple[str, Callable[[str], str | float]]] = {
    "{:.0%}": (f"{_NUMBER}%", lambda digits: int(digits) / 100),
    "{:d}": (_NUMBER, int),
    "{}": (r"(\S+)", str),
    "{:s}": (r"(\S.*)", str),
}
_FIELD = re.compile(r"\{[^{}]*\}")


def _read_words(text: str) -> Iterator[Reason]:
    """Yield the reasons that commas separate; the words of a reason may have a comma, too."""
    parts = text.split(", ")
    while parts:
        for count in range(1, _MOST_COMMAS + 2):
            if reason := _FIXED.get(", ".join(parts[:count])):
                break
        else:
            reason = _read_fields(parts[0])
            count = 1
        yield reason
        del parts[:count]


def _read_fields(words: str) -> Reason:
    for pattern, readers, finding in _PATTERNS:
        if match := pattern.fullmatch(words):
            values = zip(readers, match.groups(), strict=True)
            return Reason(finding, tuple(read(value) for read, value in values))
    return _other(words)


def _pattern(words: str) -> re.Pattern[str]:
    """Return a pattern for words with fields, none of which needs to be escaped."""
    written = _FIELD.sub(lambda field: _FIELDS[field.group()][0], words)
    return re.compile(rf"\A{written}", re.DOTALL)


_STORED = [
    *((words, finding) for finding, words in WORDS.items() if finding is not Finding.OTHER),
    *FORMER_WORDS.items(),
]
_FIXED: Mapping[str, Reason] = {
    **{words: Reason(finding) for words, finding in _STORED if not _FIELD.search(words)},
    **{words: reason for reason, words in _SINGULAR.items()},
}
_PATTERNS = [
    (_pattern(words), [_FIELDS[field][1] for field in _FIELD.findall(words)], finding)
    for words, finding in _STORED
    if _FIELD.search(words)
]
_MOST_COMMAS = max(words.count(", ") for words in _FIXED)
