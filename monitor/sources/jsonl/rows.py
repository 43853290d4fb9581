"""The records of a dump, one after the other: JSON lines, a JSON list, or a table (CSV, TSV).

Which of them a document is, its first bytes tell. Each record comes with the byte behind it, so
that reading can go on there, and one that cannot be read costs itself only.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from monitor.model import Paper
from monitor.sources.fields.encoding import decode_line, looks_binary
from monitor.sources.jsonl.decompress import ENDS_IN_THE_MIDDLE, Tape

HEAD = 64 * 1024
MAX_RECORD = 8 * 1024 * 1024
# What a record may cost once it is parsed: some 200 bytes an object, 70 a list.
MAX_PARSED = 100 * 1024 * 1024
MAX_COLUMNS = 2_000
SHOWN = 60

_LISTS = "papers|items|entries|articles|records|results|data|works|notes|documents|collection"
_LIST_BEGINS = re.compile(rf'\s*(?:\[|\{{.{{0,4000}}?"(?:{_LISTS})"\s*:\s*\[)', re.DOTALL)
_MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|!--|[\w:]+[\s>])", re.IGNORECASE)
_NEXT_OBJECT = re.compile(r"\}\s*,?\s*(?=\{)")
_DELIMITERS = ",\t;|"
_EMPTY = re.compile(rb"((?:(?<=\n)|\A)(?:\r?\n){9999,})")

# (number, begin, end, told, plain): a record, or why there is none, between two bytes. `number`
# counts lines, of a list records, from 1. `plain` promises that its texts hold no mark-up, and
# no control character if they are ASCII. Lines in a row may be told as one `Run`.
Row = tuple[int, int, int, object, bool]
# Reads so many lines of which the texts are clean, but for white space to fold at these places of
# them; None where it has no rule for one of them.
ReadRun = Callable[[bytes, int, Sequence[int]], Sequence[Paper] | None]


class Unreadable(NamedTuple):
    """In place of a record: why it cannot be read."""

    why: str


CUT = Unreadable("the document ends inside this record")
TOO_LARGE = Unreadable(f"record is larger than {MAX_RECORD:,} bytes")
TOO_MANY = Unreadable("record has more objects and lists than any paper")


class Run(NamedTuple):
    """In place of a record: the papers of lines in a row; each line ends behind `begin` there."""

    papers: Sequence[Paper]
    begin: int
    ends: Sequence[int]


class Form(NamedTuple):
    """What a document is: `rows` reads its records from the byte `begin` on, or behind any record.

    `unit` is what is counted ("line", "record"); `error` says why there are no records at all.
    """

    unit: str
    begin: int
    rows: Callable[[Tape, int], Iterator[Row]]
    error: str = ""


def form_of(head: bytes, titles: Sequence[str], read_run: ReadRun | None = None) -> Form:
    """Find out by its first bytes what a document is.

    `titles` are the names that the column of titles may have, as `named` writes them; `read_run`
    is tried where lines of JSON are clean.
    """
    text = decode_line(head)
    lines = [line for line in head.split(b"\n", 20) if line.strip()]
    if not head.strip(b" \t\r\n\0") or not lines:
        return _none("the document is empty")
    if head.startswith(b"PK\x03\x04"):
        return _none("the document is a ZIP archive: unpack it first")
    if looks_binary(text):
        return _none("the document is not text")
    if _MARKUP.match(text):
        return _none("the document is HTML or XML, not JSON and no table")
    listed = _LIST_BEGINS.match(text)
    if _is_lines(lines, listed is not None):
        return Form("line", 0, partial(_json_lines, read_run=read_run))
    if lines[0].lstrip()[:1] in (b"{", b"["):
        begin = len(text[: listed.end()].encode()) if listed else 0
        return Form("record", begin, partial(_values, listed=listed is not None))
    return _table(text, titles)


def _none(error: str) -> Form:
    return Form("line", 0, lambda tape, number: iter(()), error)


def named(column: str) -> str:
    """Return a name as names are compared: "Publication Year" as "publication_year"."""
    return re.sub(r"[\W_]+", "_", column.lower()).strip("_")


# ── JSON lines ──────────────────────────────────────────────────────────────────────


def _is_lines(lines: Sequence[bytes], listed: bool) -> bool:
    """Tell JSON lines from a list, from objects over several lines, and from all that is no JSON.

    One line alone that holds a list of papers is that list.
    """
    first = _parsed(lines[0])
    if isinstance(first, Mapping):
        return len(lines) > 1 or not listed or "title" in first
    if lines[0].lstrip()[:1] == b"{" and not listed:
        return len(lines) == 1 or lines[1][:1] == b"{"
    return not listed and any(isinstance(_parsed(line), Mapping) for line in lines[1:5])


def _json_lines(tape: Tape, number: int, read_run: ReadRun | None) -> Iterator[Row]:
    from monitor.sources.jsonl.lines import rows  # loads what other forms do not need

    return rows(blocks(tape), number, read_run)


def blocks(tape: Tape) -> Iterator[tuple[int, int, bytes]]:
    """Yield (begin, end, lines): whole lines; none of one that is too long to be held."""
    begin, held, dropped = tape.given, b"", 0
    while piece := tape.read():
        if dropped:
            behind = piece.find(b"\n") + 1
            dropped += behind or len(piece)
            if not behind:
                continue
            yield begin, begin + dropped, b""
            begin, piece, dropped = begin + dropped, piece[behind:], 0
        if behind := piece.rfind(b"\n") + 1:
            lines, held = b"".join((held, memoryview(piece)[:behind])), piece[behind:]
            yield begin, begin + len(lines), lines
            begin += len(lines)
        else:
            held += piece
        if len(held) > MAX_RECORD:
            held, dropped = b"", len(held)
    if held or dropped:
        yield begin, begin + len(held) + dropped, held


def costly(record: bytes) -> bool:
    return record.count(b"{") * 200 + record.count(b"[") * 70 > MAX_PARSED


def repaired(line: bytes, cut: bool) -> object:
    """Read what a strict decoder refuses and dumps hold: NaN, other encodings, half surrogates."""
    told = _parsed(line)
    if told is not None or line.strip() == b"null":
        return told
    return CUT if cut else _no_json(decode_line(line[: SHOWN * 4]))


def _no_json(text: str) -> Unreadable:
    return Unreadable(f"not JSON: {' '.join(text[: SHOWN * 4].split())[:SHOWN]}")


def _parsed(line: bytes) -> object:
    try:
        return json.loads(decode_line(line), strict=False)
    except (ValueError, RecursionError):
        return None


# ── a JSON list ─────────────────────────────────────────────────────────────────────


def _values(tape: Tape, number: int, listed: bool) -> Iterator[Row]:
    """The values of a list up to its bracket, or values in a row; each over any lines."""
    decoder = json.JSONDecoder(strict=False)
    read = _decoded(tape)
    text, at, end, more = "", 0, tape.given, True
    while True:
        start = at
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        end += at - start
        if at == len(text):
            text, at = next(read, ""), 0
            if not text:
                break
            continue
        if text[at] in "]}":
            return
        try:
            if len(text) - at > HEAD and costly(text[at:].encode(errors="replace")):
                raise RecursionError
            told, stop = decoder.raw_decode(text, at)
        except RecursionError:
            told, stop = TOO_MANY, _next_object(text, at)
        except ValueError:
            if more and len(text) - at <= MAX_RECORD:
                following = next(read, "")
                text, at, more = text[at:] + following, 0, bool(following)
                continue
            stop = _next_object(text, at)
            told = CUT if stop == len(text) and not more else _no_json(text[at : at + SHOWN * 4])
        number, begin = number + 1, end
        end += stop - at if text.isascii() else len(text[at:stop].encode(errors=_KEPT))
        yield number, begin, end, told, False
        at = stop
    if listed:
        tape.fault = tape.fault or ENDS_IN_THE_MIDDLE


_KEPT = "surrogateescape"  # a byte that is no UTF-8 stays one byte


def _decoded(tape: Tape) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")(_KEPT)
    while piece := tape.read():
        if text := decoder.decode(piece):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


def _next_object(text: str, at: int) -> int:
    found = _NEXT_OBJECT.search(text, at + 1)
    return found.end() if found else len(text)


# ── a table ─────────────────────────────────────────────────────────────────────────


def _table(text: str, titles: Sequence[str]) -> Form:
    found = [(len(header), sign) for sign in _DELIMITERS if (header := _header(text, sign, titles))]
    if not found:
        first = " ".join(text.lstrip()[: SHOWN * 4].split())[:SHOWN]
        return _none(f"neither JSON nor a table with a column for titles; it begins: {first}")
    sign = max(found)[1]
    return Form("line", 0, partial(_table_rows, header=_header(text, sign, titles), sign=sign))


def _header(text: str, sign: str, titles: Sequence[str]) -> list[str]:
    """Return the columns of a table; none where none of them is for titles."""
    try:
        header = next(csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=sign), [])
    except csv.Error:
        return []
    fits = len(header) <= MAX_COLUMNS and any(named(column) in titles for column in header)
    return [column.strip() for column in header] if fits else []


def _lines(tape: Tape, number: int) -> Iterator[tuple[int, int, int, bytes | None]]:
    """Yield (number, begin, end, line); no line where it is too long to be held."""
    for begin, end, block in blocks(tape):
        if not block:
            number += 1
            yield number, begin, end, None
        for place, part in enumerate(_EMPTY.split(block)):
            if place % 2:  # no record is in it, nor a value that may be as long
                number += part.count(b"\n")
                begin += len(part)
                continue
            for line in part.removesuffix(b"\n").split(b"\n") if part else ():
                number += 1
                behind = min(begin + len(line) + 1, end)
                yield number, begin, behind, line
                begin = behind


class _Lines:
    """Lines for a csv reader, which takes as many as a record has; they can be given again."""

    def __init__(self, tape: Tape, number: int) -> None:
        self._lines = _lines(tape, number)
        self._again: deque[tuple[int, int, int, bytes | None]] = deque()
        self.taken: list[tuple[int, int, int, bytes | None]] = []
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines, None)
        if line is None:
            self.ended = True
            raise StopIteration
        self.taken.append(line)
        if line[3] is None:
            raise csv.Error("line is too long")
        return decode_line(line[3]).replace("\0", "") + "\n"

    def give_again(self) -> None:
        """Give all lines but the first again: a quote in it was never closed."""
        self._again.extendleft(reversed(self.taken[1:]))
        del self.taken[1:]

    def cut(self) -> bool:
        """Say whether the lines ended inside quotes."""
        return self.ended and sum((line[3] or b"").count(b'"') for line in self.taken) % 2 == 1


def _table_rows(tape: Tape, number: int, header: Sequence[str], sign: str) -> Iterator[Row]:
    begun = tape.given > 0
    lines = _Lines(tape, number)
    reader = csv.reader(lines, delimiter=sign)
    while True:
        lines.taken.clear()
        try:
            told: object = _record(header, next(reader))
        except StopIteration:
            return
        except csv.Error as fault:
            lines.give_again()
            told = Unreadable(f"not a row of the table: {fault}")
        if lines.cut():
            told = CUT
        if told is not None and not begun:
            begun = True  # the header is no record
        elif told is not None:
            number, begin, *_ = lines.taken[0]
            yield number, begin, lines.taken[-1][2], told, False


def _record(header: Sequence[str], cells: Sequence[str]) -> object:
    if any(cells[len(header) :]):
        return Unreadable(f"row has {len(cells)} cells, and the table {len(header)} columns")
    return dict(zip(header, cells, strict=False)) if any(cells) else None
