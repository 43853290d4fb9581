"""Records of which the texts are clean to papers, many at once; `Fields` reads all others the same.

What their names are `Fields` has learnt from the records before: those of most dumps never change.
The decoder holds them to these names and to the types they have here, so that nothing is left to
ask of each record. What it has no rule for it declines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from monitor.model import Paper
from monitor.sources.shared.fields import FORMS, MAX_KEY, SLOTS, Fields, set_dates, set_keys
from monitor.sources.shared.filled import filled
from monitor.sources.shared.records import natural

# What has rules here. All other fields are of any type, and go their usual way.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("title", "abstract", "venue"), str | None),
    **dict.fromkeys(("authors", "categories"), tuple[str, ...] | str | None),
    "year": int | str | None,
    "raw_id": Any,
}
_UNUSUAL = re.compile(r'["\\\x00-\x1f]')  # names that a decoder cannot be told
_year = lru_cache(maxsize=1024)(FORMS["year"])
_categories = lru_cache(maxsize=1024)(lambda told: FORMS["categories"](list(told), True))


class CleanRecords:
    """Reads lines of JSON, of one record each, as papers. Its texts need no more than trimming."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._known = 0
        self._decode: Callable[[bytes], list[Any]] | None = None
        # Spaces matter neither in names nor in any field.
        self._only_texts = False
        # Of fields that are in the records and have no rule here: slot, name, form; scheme, name.
        self._others: list[tuple[int, str, Any]] = []
        self._keys: list[tuple[str, str]] = []

    def papers(
        self, lines: bytes, count: int, spaced: bool, now: datetime
    ) -> Sequence[Paper] | None:
        """Read so many lines; None where there is no rule for one of them.

        In `spaced` ones are spaces in a row, which become one: of texts nothing else is left.
        """
        if self._known != len(self._fields.known):
            self._known = len(self._fields.known)
            self._decode = self._learn()
        if self._decode is None or (spaced and not self._only_texts):
            return None
        while spaced and b"  " in lines:
            lines = lines.replace(b"  ", b" ")
        try:
            found = self._decode(lines)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        papers = [paper for one in found if (paper := self._paper(one, now))]
        return papers if len(papers) == len(found) == count else None

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
        self._only_texts = not (self._others or self._keys or " " in "".join(self._fields.known))
        return msgspec.json.Decoder(record).decode_lines

    def _paper(self, told: Any, now: datetime) -> Paper | None:
        title = (told.title or "").strip()
        if not title:
            return None
        name = told.raw_id
        paper = filled(
            title,
            (told.abstract or "").strip(),
            _authors(told.authors),
            (told.venue or "").strip(),
            _year(told.year, True) if told.year else None,
            None,
            None,
            None,
            "",
            "",
            {},
            _categories(told.categories) if told.categories else (),
            "",
            None,
            False,
            name.strip()[:MAX_KEY] if type(name) is str else FORMS["raw_id"](name, True),
        )
        return self._with_others(paper, told, now) if self._others or self._keys else paper

    def _with_others(self, paper: Paper, told: Any, now: datetime) -> Paper:
        values = [getattr(paper, field) for field in SLOTS]
        for slot, field, form in self._others:
            if found := form(getattr(told, field), True):
                values[slot] = found
        set_dates(values, now)
        set_keys(values, [(scheme, getattr(told, field)) for scheme, field in self._keys])
        return filled(*values)


def _authors(told: tuple[str, ...] | str | None) -> Any:
    if type(told) is not tuple:
        return FORMS["authors"](told, True) if told else ()
    names = tuple(map(str.strip, told))
    if "," in "".join(names):
        names = tuple([natural(name) if "," in name else name for name in names])
    first = "".join([name[:1] for name in names])
    if first.isalpha() and len(first) == len(names):
        return names
    return tuple([name for name in names if any(map(str.isalpha, name))])
