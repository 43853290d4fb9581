"""Lines of JSON: most of a dump needs no cleaning, and is found and read many lines at once.

lines ──> is anything odd in them? ── no ──> a run of lines ──> papers
                                   └─ yes ─> a line ──> a record

Odd is whatever cleaning would change, or might: mark-up, entities, escapes that hide control
characters, two spaces, characters that are not printed or not composed (NFC).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from monitor.sources.shared.rows import HEAD, TOO_LARGE, TOO_MANY, ReadRun, Row, Run, costly, mended

LONG = 16 * 1024  # so much of a line is always read alone: it may reach bounds of its fields
MOST = 40  # lines of a run

_SIGNS = (b"<", b"&", b"\x7f")
# How JSON writes control characters, and what else it may hide.
_HIDDEN = re.compile(rb"(?<!\\)(?:\\\\)*\\[bfnrtu]")
_OPEN = b'"\\/'  # what may stand behind a \ for itself
_NUMBERED = re.compile(rb"\\u[0-9a-fA-F]{4}")
_ASCII = bytes(range(128))
_BEYOND_ASCII = np.uint64(0x8080808080808080)
_TWO_SPACES = int.from_bytes(b"  ", "big")
# Letters of Hangul are composed with the one before them, and are no marks.
_JAMO = range(0x1100, 0x1200)

_decoded = msgspec.json.Decoder().decode


def rows(
    blocks: Iterable[tuple[int, int, bytes]], number: int, read_run: ReadRun | None
) -> Iterator[Row]:
    """Yield the records of whole lines, which are counted on from `number`; see `Row`."""
    for begin, end, block in blocks:
        if not block:
            number += 1
            yield number, begin, end, TOO_LARGE, False
            continue
        for start, ends, how in _runs(block):
            papers = None
            if read_run and how != _ODD:
                papers = read_run(block[start : ends[-1]], len(ends), how == _SPACED)
            if papers is not None:
                number += len(ends)
                told = Run(papers, [begin + end for end in ends])
                yield number, begin + start, begin + ends[-1], told, True
                continue
            for end in ends:
                number += 1
                if row := _row(number, begin + start, block[start:end]):
                    yield row
                start = end


def _row(number: int, begin: int, line: bytes) -> Row | None:
    """Return the record of a line, or why there is none; None of a blank line."""
    end = begin + len(line)
    try:
        told = _decoded(line) if len(line) < HEAD or not costly(line) else TOO_MANY
    except (msgspec.DecodeError, ValueError, RecursionError):
        if not line.strip(b" \t\r\n\0"):
            return None
        return number, begin, end, mended(line, cut=not line.endswith(b"\n")), False
    marked = any(sign in line for sign in _SIGNS)
    hidden = b"\\" in line and _HIDDEN.search(line)
    return number, begin, end, told, not (marked or hidden)


_CLEAN, _SPACED, _ODD = 0, 1, 2


def _runs(block: bytes) -> Iterator[tuple[int, list[int], int]]:
    """Yield (start, ends, how): lines in a row that are clean, or one that is not."""
    codes = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(codes == ord("\n")) + 1
    begins = np.concatenate(([0], ends))
    how = np.full(len(begins), _CLEAN)
    how[np.searchsorted(ends, _spaces(block), side="right")] = _SPACED
    how[np.searchsorted(ends, np.array(_odd(block), np.int64), side="right")] = _ODD
    # One value a line is sure: in none does a "{" follow a "}" over a line's end.
    whole = (codes[begins[:-1]] == ord("{")) & (codes[ends - 2] == ord("}"))
    how[:-1][~whole | (np.diff(begins) > LONG)] = _ODD
    how[-1] = _ODD  # it has no end
    at, told, first = begins.tolist(), ends.tolist(), 0
    for alone in np.flatnonzero(how).tolist():
        for begin in range(first, alone, MOST):
            yield at[begin], told[begin : min(begin + MOST, alone)], _CLEAN
        if at[alone] < len(block):
            yield at[alone], told[alone : alone + 1] or [len(block)], int(how[alone])
        first = alone + 1


def _spaces(block: bytes) -> npt.NDArray[np.int64]:
    """Return where two spaces stand, looking at two bytes at a time."""
    pairs = (np.frombuffer(block, np.uint16, (len(block) - i) // 2, i) for i in (0, 1))
    found = [np.flatnonzero(two == _TWO_SPACES) * 2 + i for i, two in enumerate(pairs)]
    return np.concatenate(found)


def _odd(block: bytes) -> list[int]:
    """Return where something else stands that cleaning may change."""
    found: list[int] = []
    for sign in (*_SIGNS, *_unsettled(block)):
        at = block.find(sign)
        while at >= 0:
            found.append(at)
            at = block.find(sign, at + 1)
    at = block.find(b"\\")
    while at >= 0:
        if block[at + 1 : at + 2] not in _OPEN and _hides(block[at : at + 6]):
            found.append(at)
        at = block.find(b"\\", at + 2)
    return found


@lru_cache(maxsize=4096)
def _hides(escape: bytes) -> bool:
    """Say whether an escape (`\\n`, `\\u00e9`) is of what cleaning may change."""
    if not _NUMBERED.fullmatch(escape):
        return True
    character = chr(int(escape[2:], 16))
    return character.isascii() or not _is_settled(character)


def _unsettled(block: bytes) -> Iterator[bytes]:
    """Yield the characters beyond ASCII that may not stay as they are wherever they stand."""
    whole = len(block) // 8
    words = np.frombuffer(block, np.uint64, whole)
    beyond = words[(words & _BEYOND_ASCII) != 0].tobytes() + block[whole * 8 :]
    for character in set(beyond.translate(None, _ASCII).decode(errors="replace")):
        if not _is_settled(character):
            yield character.encode()


@lru_cache(maxsize=4096)
def _is_settled(character: str) -> bool:
    """Say whether a character is shown, and neither changed nor joined in NFC (UAX 15)."""
    joins = ord(character) in _JAMO or unicodedata.category(character)[0] == "M"
    stays = unicodedata.is_normalized("NFC", character)
    return character.isprintable() and stays and not joins
