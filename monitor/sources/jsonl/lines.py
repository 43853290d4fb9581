"""Lines of JSON: most of a dump needs no cleaning, and is found and read many lines at once.

lines ──> is anything odd in them? ── no ──> a run of lines ──> papers
                                   └─ yes ─> a line ──> a record

Odd is whatever cleaning would change, or might: mark-up, entities, escapes that hide control
characters, characters that are not printed or not composed (NFC). White space is folded, no more.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec
import numpy as np

from monitor.sources.jsonl.rows import (
    HEAD,
    TOO_LARGE,
    TOO_MANY,
    ReadRun,
    Row,
    Run,
    costly,
    repaired,
)

LONG = 16 * 1024  # so much of a line is always read alone: it may reach bounds of its fields
MOST = 40  # lines of a run

_OPEN = frozenset(b'"\\/')  # what may stand behind a \ for itself
_WHITE = frozenset(b"nrt")  # ... and for white space
_OPENS, _CLOSES = b"{}"
# What may stand behind a < that begins a tag, by `markup.text`; a / may be escaped.
_TAG = frozenset(b"/!\\") | {code for code in range(256) if code > 127 or chr(code).isalpha()}
_ENTITY = 34  # so long is the longest, with & and ;
_NUMBERED = re.compile(rb"\\u[0-9a-fA-F]{4}")
_ASCII = bytes(range(128))
_BEYOND_ASCII = np.uint64(0x8080808080808080)
# Letters of Hangul are composed with the one before them, and are no marks.
_JAMO = range(0x1100, 0x1200)

_decoded = msgspec.json.Decoder().decode


def rows(
    blocks: Iterable[tuple[int, int, bytes]], number: int, read_run: ReadRun | None
) -> Iterator[Row]:
    """Yield the records of whole lines, which are counted on from `number`; see `Row`."""
    alone = {0}  # the first line: it tells the names in all others
    for begin, end, block in blocks:
        if not block:
            number += 1
            yield number, begin, end, TOO_LARGE, False
            continue
        for start, ends, spaced in _runs(block, alone):
            papers = None
            if read_run and spaced is not None:
                papers = read_run(block[start : ends[-1]], len(ends), spaced)
            if papers is not None:
                number += len(ends)
                yield number, begin + start, begin + ends[-1], Run(papers, begin, ends), True
                continue
            for place, end in enumerate(ends):
                number += 1
                plain = spaced is not None and place not in spaced
                if row := _row(number, begin + start, block[start:end], plain):
                    yield row
                start = end
        alone = set()


def _row(number: int, begin: int, line: bytes, plain: bool) -> Row | None:
    """Return the record of a line, or why there is none; None of a blank line."""
    end = begin + len(line)
    try:
        told = _decoded(line) if len(line) < HEAD or not costly(line) else TOO_MANY
    except (msgspec.DecodeError, ValueError, RecursionError):
        if not line.strip(b" \t\r\n\0"):
            return None
        return number, begin, end, repaired(line, cut=not line.endswith(b"\n")), False
    return number, begin, end, told, plain


def _runs(block: bytes, alone: set[int]) -> Iterator[tuple[int, list[int], list[int] | None]]:
    """Yield (start, ends, spaced): lines in a row, and in which of them is white space to fold.

    None instead of these is of one line that is odd in any other way, or of those to read `alone`.
    """
    last = block.rfind(b"\n") + 1
    if last < len(block):  # it has no end
        if last:
            yield from _runs(block[:last], alone)
        yield last, [len(block)], None
        return
    ends = [at + 1 for at in _all(block, b"\n")]
    begins = [0, *ends[:-1]]
    spaces, signs = _signs(block)
    spaced = sorted({bisect_right(ends, at) for at in spaces + _two_spaces(block)})
    odd = alone | {bisect_right(ends, at) for at in signs}
    # One value a line is sure of all others: in none does a "{" follow a "}" over a line's end.
    odd |= {
        line
        for line, (begin, end) in enumerate(zip(begins, ends, strict=True))
        if block[begin] != _OPENS
        or (block[end - 2] != _CLOSES and block[end - 3 : end - 1] != b"}\r")
        or end - begin > LONG
    }
    first = 0
    for one in [*sorted(odd), len(ends)]:
        for begin in range(first, one, MOST):
            end = min(begin + MOST, one)
            within = spaced[bisect_left(spaced, begin) : bisect_left(spaced, end)]
            yield begins[begin], ends[begin:end], [place - begin for place in within]
        if one < len(ends):
            yield begins[one], ends[one : one + 1], None
        first = one + 1


def _two_spaces(block: bytes) -> list[int]:
    codes = np.frombuffer(block, np.uint8)
    # Where this is of no space and a \0, the line is odd.
    found: list[int] = np.flatnonzero((codes[1:] | codes[:-1]) == ord(" ")).tolist()
    return found


def _signs(block: bytes) -> tuple[list[int], list[int]]:
    """Return where other white space stands in lines, and where what else cleaning may change."""
    spaces: list[int] = []
    odd = _all(block, b"\x7f")
    odd += [at for at in _all(block, b"<") if block[at + 1] in _TAG]
    odd += [at for at in _all(block, b"&") if _is_entity(block[at : at + _ENTITY])]
    for character in _beyond_ascii(block):
        if not _is_settled(character):
            odd += _all(block, character.encode())
    at = block.find(b"\\")
    while at >= 0:
        behind = block[at + 1]
        if behind in _WHITE:
            spaces.append(at)
        elif behind not in _OPEN and _hides(block[at : at + 6]):
            odd.append(at)
        at = block.find(b"\\", at + 2)
    return spaces, odd


def _all(block: bytes, sign: bytes) -> list[int]:
    """Return where a sign stands. A search for one byte is many times as fast as for two."""
    found = []
    first = sign[:1]
    at = block.find(first)
    while at >= 0:
        found.append(at)
        at = block.find(first, at + 1)
    return found if first == sign else [at for at in found if block.startswith(sign, at)]


def _is_entity(told: bytes) -> bool:
    text = told.decode("latin-1")
    return html.unescape(text) != text


@lru_cache(maxsize=4096)
def _hides(escape: bytes) -> bool:
    """Say whether an escape (`\\b`, `\\u00e9`) is of what cleaning may change."""
    if not _NUMBERED.fullmatch(escape):
        return True
    character = chr(int(escape[2:], 16))
    return character.isascii() or not _is_settled(character)


def _beyond_ascii(block: bytes) -> set[str]:
    """Return the characters beyond ASCII."""
    whole = len(block) // 8
    words = np.frombuffer(block, np.uint64, whole)
    beyond = words[(words & _BEYOND_ASCII) != 0].tobytes() + block[whole * 8 :]
    return set(beyond.translate(None, _ASCII).decode(errors="replace"))


@lru_cache(maxsize=4096)
def _is_settled(character: str) -> bool:
    """Say whether a character is shown, and neither changed nor joined in NFC (UAX 15)."""
    joins = ord(character) in _JAMO or unicodedata.category(character)[0] == "M"
    stays = unicodedata.is_normalized("NFC", character)
    return character.isprintable() and stays and not joins
