"""Records of which the texts are clean to papers, many at once; `Fields` reads all others the same.

What their names are `Fields` has learnt from the records before: those of most dumps never change.
The decoder holds them to these names and to the types they have here, so that nothing is left to
ask of each record. What it has no rule for it declines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from monitor.model import Paper
from monitor.sources.formats.api.records import natural
from monitor.sources.jsonl.field_mapping import FORMS, MAX_KEY, SLOTS, Fields, set_dates, set_keys

# What has rules here. All other fields are of any type, and go their usual way.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("title", "abstract", "venue"), str | None),
    **dict.fromkeys(("authors", "categories"), tuple[str, ...] | str | None),
    "year": int | str | None,
    "raw_id": Annotated[str, Meta(max_length=MAX_KEY)] | int | None,
    "type": str | None,
}
# Of names with line ends around them: one with no letter that is known here, or a space around it.
_UNTIDY = re.compile("\n(?: |(?<= \n)|[^A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u024f\n]*+\n)")
_UNUSUAL = re.compile(r'["\\\x00-\x1f]')  # names that a decoder cannot be told


@lru_cache(maxsize=1024)
def _year(told: Any) -> Any:
    return FORMS["year"](told, True) if told else None


@lru_cache(maxsize=1024)
def _categories(told: tuple[str, ...] | str | None) -> Any:
    if not told:
        return ()
    return FORMS["categories"](list(told) if type(told) is tuple else told, False)


@lru_cache(maxsize=1024)
def _type(told: str | None) -> Any:
    return FORMS["type"](told, True) if told else ""


class CleanRecords:
    """Reads lines of JSON, of one record each, as papers. Its texts need no more than trimming."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._known = 0
        self._decode: Callable[[bytes], list[Any]] | None = None
        # Of fields that are in the records and have no rule here: slot, name, form; scheme, name.
        self._others: list[tuple[int, str, Any]] = []
        self._keys: list[tuple[str, str]] = []

    def papers(
        self, lines: bytes, count: int, spaced: Sequence[int], now: datetime
    ) -> Sequence[Paper] | None:
        """Read so many lines; None where there is no rule for one of them.

        In those at the places `spaced` is white space to fold: of texts nothing else is left.
        """
        if self._known != len(self._fields.known):
            self._known = len(self._fields.known)
            self._decode = self._learn()
        if self._decode is None:
            return None
        try:
            found = self._decode(lines)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if len(found) != count:
            return None
        for place in spaced:
            _fold(found[place])
        papers = _papers(found)
        if not all([paper.title for paper in papers]):  # noqa: C419 - no generator is as fast
            return None
        if self._others or self._keys:
            try:
                for place, paper in enumerate(papers):
                    plain = place not in spaced
                    papers[place] = self._with_others(paper, found[place], plain, now)
            except RecursionError:  # of one of them
                return None
        return papers

    def _learn(self) -> Callable[[bytes], list[Any]] | None:
        """Make a decoder for records that have none but the names that are known."""
        places = self._fields.places()
        if not places or _UNUSUAL.search("".join(self._fields.known)):
            return None
        of = {name: field.replace(".", "_") for field, name in places.items()}
        names = {of.get(name, f"_{place}"): name for place, name in enumerate(self._fields.known)}
        # In a clean line is no name with a <.
        missing = {field: f"<{field}>" for field in _TYPES if field not in names}
        told = [(name, _TYPES.get(name, Any), None) for name in (*names, *missing)]
        record = msgspec.defstruct(
            "Record", told, rename=names | missing, forbid_unknown_fields=True, gc=False
        )
        self._others = [(SLOTS[f], f, FORMS[f]) for f in places if f in FORMS and f not in _TYPES]
        self._keys = [(f[5:], f.replace(".", "_")) for f in places if f.startswith("keys")]
        return msgspec.json.Decoder(record).decode_lines

    def _with_others(self, paper: Paper, told: Any, plain: bool, now: datetime) -> Paper:
        values = [getattr(paper, field) for field in SLOTS]
        for slot, field, form in self._others:
            if found := form(getattr(told, field), plain):
                values[slot] = found
        set_dates(values, now)
        set_keys(values, [(scheme, getattr(told, field)) for scheme, field in self._keys])
        return Paper(*values)


def _papers(found: Sequence[Any]) -> list[Paper]:
    """Make papers of records, of the fields that have rules here."""
    return [
        Paper(
            (one.title or "").strip(),
            (one.abstract or "").strip(),
            authors,
            (one.venue or "").strip(),
            _year(one.year),
            None,
            None,
            None,
            "",
            "",
            {},
            _categories(one.categories),
            "",
            None,
            False,
            one.raw_id.strip() if type(one.raw_id) is str else FORMS["raw_id"](one.raw_id, True),  # type: ignore[arg-type]
            _type(one.type),
        )
        for one, authors in zip(found, _authors([one.authors for one in found]), strict=True)
    ]


def _fold(told: Any) -> None:
    """Make one space of all white space in a row. Most of it is in the abstract."""
    told.abstract = _folded(told.abstract or "")
    texts = [told.title or "", told.venue or ""]
    if type(told.raw_id) is str:
        texts.append(told.raw_id)
    names = told.authors if type(told.authors) is tuple else ()
    line = "\0".join((*texts, *names))
    if (folded := _folded(line)) == line:
        return
    told.title, told.venue, *others = folded.split("\0")
    if type(told.raw_id) is str:
        told.raw_id = others.pop(0)
    if names:
        told.authors = tuple(others)


def _folded(text: str) -> str:
    text = text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    parts = text.rsplit("  ")  # three times as fast as from the start
    if len(parts) == 1:
        return text
    return " ".join([part for spaced in parts if (part := spaced.strip(" "))])


def _authors(told: Sequence[Any]) -> Sequence[Any]:
    """Return the authors of records. Most are names as they should be: one look at all tells."""
    if set(map(type, told)) == {tuple} and _tidy(chain.from_iterable(told)):
        return told
    return list(map(_names, told))


def _names(told: tuple[str, ...] | str | None) -> Any:
    if type(told) is not tuple:
        return FORMS["authors"](told, False) if told else ()
    if _tidy(told):
        return told
    names = [natural(name.strip()) for name in told]
    return tuple([name for name in names if any(map(str.isalpha, name))])


def _tidy(names: Iterable[str]) -> bool:
    """Say whether names are in natural order, have letters, and no space around them."""
    told = "\n".join(("", *names, ""))  # no name has the end of a line
    return "," not in told and not _UNTIDY.search(told)
