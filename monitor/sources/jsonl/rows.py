"""Reads the records of a dump one by one: JSON lines, a JSON list, or a table (CSV, TSV).

The form is determined from the first bytes. Each record comes with the offset of the byte after it,
so that reading can resume there. An unreadable record, a line that is too large to hold, and NUL
bytes in place of lines affect no other record.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from monitor.sources.fields.encoding import (
    ENDS_IN_THE_MIDDLE,
    MIN_RUN,
    RUN,
    binary_format,
    decode_line,
    describe_nulls,
    find_fault,
    is_null,
)
from monitor.sources.jsonl.decompress import Tape

MAX_RECORD_BYTES = 8 * 1024 * 1024


class Row(NamedTuple):
    """A record, or an `Unreadable` in its place, and the bytes where it begins and ends.

    `number` counts lines, or the records of a list, from 1. `is_cut` is set for a line with NUL
    bytes at its begin or end.
    """

    number: int
    begin: int
    end: int
    record: object
    is_cut: bool = False


class Unreadable(NamedTuple):
    """The reason why there is no record."""

    reason: str


_EMPTY = (b"", b"\r")
TOO_LARGE = Unreadable(f"record is larger than {MAX_RECORD_BYTES:,} bytes")


def read_lines(tape: Tape, number: int) -> Iterator[Row]:
    """Yield each line without its end, but for empty ones, and each run of NUL bytes.

    NUL bytes end the line before them. At the end of a document they end where they begin: a
    program that reserves space for its file writes the next records there.
    """
    begin = tape.offset
    held = b""
    dropped = 0
    nulls = 0
    is_cut = False
    for piece in _split_at_nulls(tape):
        if is_null(piece):
            nulls += len(piece)
            continue
        if nulls:
            end = begin + dropped + len(held)
            if held or dropped:
                yield Row(number + 1, begin, end + 1, held or TOO_LARGE, is_cut=True)
            begin = end + nulls
            yield Row(number + 1, end, begin, Unreadable(describe_nulls(nulls)))
            held = b""
            dropped = 0
            nulls = 0
            is_cut = True
        *lines, held = (held + piece).split(b"\n")
        for line in lines:
            number += 1
            if line in _EMPTY and not dropped:  # there may be millions
                begin += len(line) + 1
                continue
            end = begin + dropped + len(line) + 1
            too_large = dropped or len(line) > MAX_RECORD_BYTES
            yield Row(number, begin, end, TOO_LARGE if too_large else line, is_cut)
            begin = end
            dropped = 0
            is_cut = False
        if dropped or len(held) > MAX_RECORD_BYTES:
            held, dropped = b"", dropped + len(held)
    end = begin + dropped + len(held)
    if held or dropped:
        yield Row(number + 1, begin, end, held or TOO_LARGE, is_cut or nulls > 0)
    if nulls:
        yield Row(number + 1, end, end, Unreadable(describe_nulls(nulls)))


def _split_at_nulls(tape: Tape) -> Iterator[bytes]:
    """Yield the pieces of a tape, with runs of NUL bytes as pieces of their own."""
    follows_nulls = False
    while piece := tape.read():
        rest = piece.lstrip(b"\0") if follows_nulls else piece
        if len(rest) < len(piece):
            yield piece[: len(piece) - len(rest)]
        if rest:
            # The search for a constant is a hundred times as fast as the expression.
            parts = RUN.split(rest) if b"\0" * MIN_RUN in rest else [rest]
            yield from filter(None, parts)
            follows_nulls = not parts[-1]


HEAD_BYTES = 64 * 1024
# Memory of a parsed record: some 200 bytes an object, 70 a list.
MAX_PARSED_BYTES = 100 * 1024 * 1024
MAX_EXCERPT = 60

_NEXT_OBJECT = re.compile(rf"(?:\}}\s*+,?\s*+|(?<!\0)\0{{{MIN_RUN},}}+[\s,]*+)(?=\{{)|\Z")
_TITLE = re.compile(r'\s*\{.*"(?:(?!title)\w)*+title\w*+"\s*:', re.IGNORECASE | re.DOTALL)
_NULLS = "\0" * MIN_RUN
_NEXT_VALUE = re.compile(r"(?=[^ \t\r\n,\0]|\Z)")


CUT = Unreadable("the document ends inside this record")
CUT_BY_NULLS = Unreadable("row has NUL bytes in place of cells")
TOO_MANY = Unreadable("record has more objects and lists than any paper")


def read_json_lines(tape: Tape, number: int) -> Iterator[Row]:
    decode = msgspec.json.Decoder().decode
    for row in read_lines(tape, number):
        line = row.record
        if not isinstance(line, bytes):
            yield row
            continue
        try:
            record = TOO_MANY if len(line) > HEAD_BYTES and _is_costly(line) else decode(line)
        except (ValueError, RecursionError):
            if not line.strip(b" \t\r\0"):
                continue
            record = _repair(line.strip(b"\0"), is_last=row.end == row.begin + len(line))
        yield Row(row.number, row.begin, row.end, record)


def _is_costly(record: bytes) -> bool:
    return record.count(b"{") * 200 + record.count(b"[") * 70 > MAX_PARSED_BYTES


def _repair(line: bytes, is_last: bool) -> object:
    """Read what strict decoders refuse and dumps contain: NaN, other encodings, lone surrogates."""
    value = parse_leniently(line)
    if value is not None or line.strip() == b"null":
        return value
    return CUT if is_last else _not_json(decode_line(line[: MAX_EXCERPT * 4]))


def _not_json(text: str) -> Unreadable:
    """Quote only what looks like the record of a paper: anything else may be a password."""
    begin = text[: MAX_EXCERPT * 4]
    if not _TITLE.match(begin):
        return Unreadable("not JSON")
    return Unreadable(f"not JSON: {' '.join(begin.split())[:MAX_EXCERPT]}")


def parse_leniently(line: bytes) -> object:
    try:
        return json.loads(decode_line(line), strict=False)
    except (ValueError, RecursionError):
        return None


def read_values(tape: Tape, number: int, in_list: bool) -> Iterator[Row]:
    """Read the values of a list up to its bracket, or values in a row; each over any lines."""
    decoder = json.JSONDecoder(strict=False)
    pieces = codecs.iterdecode(iter(tape.read, b""), "utf-8", _KEEP_BYTES)
    text = ""
    at = 0
    end = tape.offset
    more = True
    nulls = 0
    while True:
        start = at
        at = _skip_to(_NEXT_VALUE, text, at)
        end += at - start
        nulls += text.count("\0", start, at)
        if at == len(text):
            text = next(pieces, "")
            at = 0
            if not text:
                break
            continue
        if nulls >= MIN_RUN:
            yield Row(number + 1, end - nulls, end, Unreadable(describe_nulls(nulls)))
        nulls = 0
        if text[at] in "]}":
            return
        try:
            if len(text) - at > HEAD_BYTES and _is_costly(text[at:].encode(errors="replace")):
                raise RecursionError
            record, stop = decoder.raw_decode(text, at)
            if text.find(_NULLS, at, stop) >= 0:
                record = Unreadable("record has NUL bytes in place of text")
        except RecursionError:
            record = TOO_MANY
            stop = _skip_to(_NEXT_OBJECT, text, at + 1)
        except ValueError:
            if more and len(text) - at <= MAX_RECORD_BYTES:
                following = next(pieces, "")
                text = text[at:] + following
                at = 0
                more = bool(following)
                continue
            stop = _skip_to(_NEXT_OBJECT, text, at + 1)
            record = CUT if stop == len(text) and not more else _not_json(text[at : at + 999])
        number = number + 1
        begin = end
        end += stop - at if text.isascii() else len(text[at:stop].encode(errors=_KEEP_BYTES))
        yield Row(number, begin, end, record)
        at = stop
    if in_list:
        tape.fault = tape.fault or ENDS_IN_THE_MIDDLE


_KEEP_BYTES = "surrogateescape"  # a byte that is not UTF-8 stays one byte


def _skip_to(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.search(text, at)
    return match.end() if match else len(text)


def read_table(tape: Tape, number: int, header: Sequence[str], delimiter: str) -> Iterator[Row]:
    rows = read_lines(tape, number)
    again: deque[Row] = deque()
    lines: list[Row] = []  # of the record
    ended = False
    header_read = number > 0

    def next_lines() -> Iterator[str]:
        nonlocal ended
        while row := again.popleft() if again else next(rows, None):
            lines.append(row)
            if not isinstance(row.record, bytes):
                raise csv.Error(row.record.reason if isinstance(row.record, Unreadable) else "")
            yield decode_line(row.record).replace("\0", "") + "\n"
        ended = True

    while True:
        lines.clear()
        try:
            cells = next(csv.reader(next_lines(), delimiter=delimiter), None)
            if cells is None:
                return
            record = _table_record(header, cells, lines)
        except csv.Error as fault:
            # A quote in the first line may never be closed.
            again.extendleft(reversed(lines[1:]))
            del lines[1:]
            record = Unreadable(f"not a row of the table: {fault}")
        first = lines[0]
        last = lines[-1]
        quotes = sum(row.record.count(b'"') for row in lines if isinstance(row.record, bytes))
        is_open = isinstance(last.record, bytes) and last.end <= last.begin + len(last.record)
        if (ended and quotes % 2) or (record is CUT_BY_NULLS and is_open):
            record = CUT
        if record is None:
            continue
        if header_read:
            yield Row(first.number, first.begin, last.end, record)
        header_read = True


def _table_record(header: Sequence[str], cells: Sequence[str], lines: Sequence[Row]) -> object:
    if cells and len(cells) != len(header) and any(row.is_cut for row in lines):
        return CUT_BY_NULLS
    if any(cells[len(header) :]):
        return Unreadable(f"row has {len(cells)} cells, and the table {len(header)} columns")
    return dict(zip(header, cells, strict=False)) if any(cells) else None


MAX_COLUMNS = 2_000
MAX_QUOTED = 200  # characters of column names
# A first line with one of these is that of a table of papers. What a message quotes of another
# file may be a password.
_COLUMNS_OF_PAPERS = frozenset(("abstract", "author", "authors", "doi", "journal", "pmid"))
_LISTS = "papers|items|entries|articles|records|results|data|works|notes|documents|collection"
_LIST_START = re.compile(rf'\s*(?:\[|\{{.{{0,4000}}?"(?:{_LISTS})"\s*:\s*\[)', re.DOTALL)
_PADDING = re.compile(r"(?<=\n)\0+\Z")
_DELIMITERS = ",\t;|"


class Form(NamedTuple):
    """The form of a document.

    `rows` reads its records, starting at the byte `begin` or after any record. `unit` is what is
    counted ("line", "record"). `error` explains why there are no records at all.
    """

    unit: str
    begin: int
    rows: Callable[[Tape, int], Iterator[Row]]
    error: str = ""


def detect_form(head: bytes, titles: Sequence[str]) -> Form:
    """Determine the form of a document from its first bytes.

    `titles` are the names that the title column may have, as `normalize_name` returns them.
    """
    text = decode_line(head)
    lines = [line for line in RUN.sub(b"\n", head).split(b"\n", 20) if line.strip()]
    if format_ := binary_format(head):
        return _no_form(f"the document is {format_}")
    fault = find_fault(_PADDING.sub("", text), "JSON and no table")
    if fault or not lines:
        return _no_form(fault or "the document is empty")
    list_start = _LIST_START.match(text)
    if _is_json_lines(lines, list_start is not None):
        return Form("line", 0, read_json_lines)
    if lines[0].lstrip()[:1] in (b"{", b"["):
        begin = len(text[: list_start.end()].encode()) if list_start else 0
        return Form("record", begin, partial(read_values, in_list=list_start is not None))
    return _table_form(text, titles)


def _no_form(error: str) -> Form:
    return Form("line", 0, lambda tape, number: iter(()), error)


def normalize_name(column: str) -> str:
    """Return a name as names are compared: "Publication Year" as "publication_year"."""
    return re.sub(r"[\W_]+", "_", column.lower()).strip("_")


def _is_json_lines(lines: Sequence[bytes], has_list: bool) -> bool:
    """Distinguish JSON lines from a list, from objects over several lines, and from other text.

    A single line that holds a list of papers is that list.
    """
    first = parse_leniently(lines[0])
    if isinstance(first, Mapping):
        return len(lines) > 1 or not has_list or "title" in first
    if lines[0].lstrip()[:1] == b"{" and not has_list:
        return len(lines) == 1 or lines[1][:1] == b"{"
    return not has_list and any(isinstance(parse_leniently(line), Mapping) for line in lines[1:5])


def _table_form(text: str, titles: Sequence[str]) -> Form:
    headers = {sign: _header(text, sign) for sign in _DELIMITERS}
    with_titles = {sign: columns for sign, columns in headers.items() if _has(columns, titles)}
    if not with_titles:
        columns = next((names for names in headers.values() if _has(names, _COLUMNS_OF_PAPERS)), [])
        quoted = f"; its columns are: {', '.join(columns)[:MAX_QUOTED]}" if columns else ""
        return _no_form(f"neither JSON nor a table with a column for titles{quoted}")
    sign = max(with_titles, key=lambda sign: (len(with_titles[sign]), sign))
    header = [column.strip() for column in with_titles[sign]]
    return Form("line", 0, partial(read_table, header=header, delimiter=sign))


def _header(text: str, delimiter: str) -> list[str]:
    """Return the columns of a table; an empty list for other text."""
    lines = io.StringIO(text.lstrip("\r\n"), newline="")
    try:
        header = next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error:
        return []
    return header if len(header) <= MAX_COLUMNS else []


def _has(columns: Sequence[str], names: Collection[str]) -> bool:
    return any(normalize_name(column) in names for column in columns)
