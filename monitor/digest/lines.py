"""Lines that a machine wrote about a paper: shown only if title and abstract bear them out.

Such a line may invent. A line with a number, a unit or a name that neither title nor abstract has
is not shown, nor one with an address or mark-up, a long one, or one about something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec import structs

from monitor.model import SiteNote
from monitor.text import clean
from monitor.text.addresses import find_addresses
from monitor.text.folding import folded_text
from monitor.text.plurals import singular
from monitor.text.tables import word_set

MAX_LINE = 250
# The part of a line's longer words that title or abstract must have, and how many there must be.
LEAST_SHARED = 0.3
_FEWEST_WORDS = 3
_LONG = 5

_MARKUP = re.compile(r"[<>{}\[\]|\\`~^*_#=]|&\w+;|--|::")
_BARE_ADDRESS = re.compile(
    r"\bwww\.|[\w-]\.(?:com|org|net|io|ai|edu|gov|dev|app|me|info|cn|de|fr|uk|jp|eu)\b(?!\.?[\w])"
    r"|\S@\S",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_UNIT = re.compile(
    r"(?<![\d.,])\d[.,\d]*+\s?(%|‰|°\w?|[kKMGT]?[BbWVJ]\b|[munpk]?[msg]\b|[GMk]?Hz\b|x\b|×|\$|€)"
)
_WORD_NUMBERS = word_set(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred "
    "thousand million billion half third quarter double triple twice thrice dozen"
)
# Runs of words whose initials may be an abbreviation: "Gaussian mixture model", GMM.
_LONGEST_NAME = 6


def shown_note(note: SiteNote, title: str, abstract: str) -> SiteNote | None:
    """Return a note as a digest shows it: without a line that may not be shown."""
    line = clean(note.line)
    if line and not is_borne_out(line, title, abstract):
        line = ""
    organization = clean(note.organization)
    if not line and not organization:
        return None
    return structs.replace(note, line=line, organization=organization)


def choose_note(notes: Iterable[SiteNote], title: str, abstract: str) -> SiteNote | None:
    """Return the first note with a line that may be shown, else the first with anything else."""
    shown = [note for one in notes if (note := shown_note(one, title, abstract))]
    return next((note for note in shown if note.line), shown[0] if shown else None)


def is_borne_out(line: str, title: str, abstract: str) -> bool:
    """Whether a line may be shown beside a title and an abstract."""
    if len(line) > MAX_LINE or _MARKUP.search(line) or _BARE_ADDRESS.search(line):
        return False
    if find_addresses(line):
        return False
    text = f"{title}. {abstract}"
    known = _known_words(text)
    words = _TOKEN.findall(line)
    numbers = set(_NUMBER.findall(text))
    return (
        _shares_enough(words, known)
        and numbers.issuperset(_NUMBER.findall(line))
        and set(_UNIT.findall(text)).issuperset(_UNIT.findall(line))
        and all(
            known.issuperset(_parts(word)) or _initials_of(word, text)
            for word in words[1:]
            if any(c.isupper() for c in word) or word.lower() in _WORD_NUMBERS
        )
    )


def _known_words(text: str) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_parts, _TOKEN.findall(text))))


def _parts(word: str) -> list[str]:
    return [
        singular(part)
        for part in re.split(r"['’.,]", folded_text(word).casefold())
        if part not in ("", "s")
    ]


def _shares_enough(words: Sequence[str], known: frozenset[str]) -> bool:
    content = {part for word in words for part in _parts(word) if len(part) >= _LONG}
    return len(content) >= _FEWEST_WORDS and len(content & known) >= LEAST_SHARED * len(content)


def _initials_of(word: str, text: str) -> bool:
    """Whether a word is made of the first letters of words that follow each other in the text."""
    letters = singular(word.casefold()) if word[-1] == "s" else word.casefold()
    if not 2 <= len(letters) <= _LONGEST_NAME or not word[0].isupper():
        return False
    initials = "".join(token[0] for token in re.findall(r"[^\W\d_]+", text.casefold()))
    return letters in initials
