"""Reads the records of a dump one by one: JSON lines, a JSON list, or a table (CSV, TSV).

Each record comes with the offset of the byte after it, so that reading can resume there. An
unreadable record affects no other record.
"""

from __future__ import annotations

import ast
import codecs
import csv
import json
import re
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from monitor.sources.api.values import bounded
from monitor.sources.fields.encoding import decode_line
from monitor.sources.fields.null_bytes import MIN_RUN, describe_nulls
from monitor.sources.jsonl.decompress import ENDS_IN_THE_MIDDLE, Tape
from monitor.sources.jsonl.lines import MAX_RECORD_BYTES, Row, Unreadable, read_lines

HEAD_BYTES = 64 * 1024
# What a record may cost once it is parsed: some 200 bytes an object, 70 a list.
MAX_PARSED_BYTES = 100 * 1024 * 1024
MAX_EXCERPT = 60

_NEXT_OBJECT = re.compile(rf"(?:\}}\s*,?|\0{{{MIN_RUN},}}+[\s,]*)\s*(?=\{{)")
_TITLE = re.compile(r'\s*\{.*"\w*title\w*"\s*:', re.IGNORECASE | re.DOTALL)
_NULLS = "\0" * MIN_RUN
_VALUE = re.compile(r"[^ \t\r\n,\0]|\Z")


CUT = Unreadable("the document ends inside this record")
CUT_BY_NULLS = Unreadable("row has NUL bytes in place of cells")
TOO_MANY = Unreadable("record has more objects and lists than any paper")


# ── JSON lines ──────────────────────────────────────────────────────────────────────


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


# ── a JSON list ─────────────────────────────────────────────────────────────────────


def read_values(tape: Tape, number: int, in_list: bool) -> Iterator[Row]:
    """Read the values of a list up to its bracket, or values in a row; each over any lines."""
    decoder = json.JSONDecoder(strict=False)
    pieces = _decode_pieces(tape)
    text, at, end, more, nulls = "", 0, tape.offset, True, 0
    while True:
        start, at = at, _next_value(text, at)
        end += at - start
        nulls += text.count("\0", start, at)
        if at == len(text):
            text, at = next(pieces, ""), 0
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
            record, stop = TOO_MANY, _next_object(text, at)
        except ValueError:
            if more and len(text) - at <= MAX_RECORD_BYTES:
                following = next(pieces, "")
                text, at, more = text[at:] + following, 0, bool(following)
                continue
            stop = _next_object(text, at)
            record = CUT if stop == len(text) and not more else _not_json(text[at : at + 999])
        number, begin = number + 1, end
        end += stop - at if text.isascii() else len(text[at:stop].encode(errors=_KEEP_BYTES))
        yield Row(number, begin, end, record)
        at = stop
    if in_list:
        tape.fault = tape.fault or ENDS_IN_THE_MIDDLE


_KEEP_BYTES = "surrogateescape"  # a byte that is not UTF-8 stays one byte


def _decode_pieces(tape: Tape) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")(_KEEP_BYTES)
    while piece := tape.read():
        if text := decoder.decode(piece):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


def _next_value(text: str, at: int) -> int:
    found = _VALUE.search(text, at)
    return found.start() if found else len(text)


def _next_object(text: str, at: int) -> int:
    found = _NEXT_OBJECT.search(text, at + 1)
    return found.end() if found else len(text)


# ── a table ─────────────────────────────────────────────────────────────────────────


class _TableLines:
    """Lines for a csv reader, which takes as many as a record has; all but one can be returned."""

    def __init__(self, tape: Tape, number: int) -> None:
        self._lines = read_lines(tape, number)
        self._returned: deque[Row] = deque()
        self.lines: list[Row] = []
        self.ended = self.is_cut = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        row = self._returned.popleft() if self._returned else next(self._lines, None)
        if row is None:
            self.ended = True
            raise StopIteration
        self.lines.append(row)
        if isinstance(row.record, Unreadable):
            raise csv.Error(row.record.reason)
        self.is_cut = self.is_cut or row.is_cut
        assert isinstance(row.record, bytes)
        return decode_line(row.record).replace("\0", "") + "\n"

    def return_all_but_first(self) -> None:
        """Read all lines but the first again: a quote in the first was never closed."""
        self._returned.extendleft(reversed(self.lines[1:]))
        del self.lines[1:]

    def end_without_line_end(self) -> bool:
        last = self.lines[-1]
        return isinstance(last.record, bytes) and last.end == last.begin + len(last.record)

    def end_inside_quotes(self) -> bool:
        lines = (row.record for row in self.lines)
        quotes = sum(line.count(b'"') for line in lines if isinstance(line, bytes))
        return self.ended and quotes % 2 == 1


def read_table(tape: Tape, number: int, header: Sequence[str], delimiter: str) -> Iterator[Row]:
    header_read = number > 0
    lines = _TableLines(tape, number)
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        lines.lines.clear()
        lines.is_cut = False
        try:
            record = _table_record(header, next(reader), lines)
        except StopIteration:
            return
        except csv.Error as fault:
            lines.return_all_but_first()
            record = Unreadable(f"not a row of the table: {fault}")
        if lines.end_inside_quotes() or (record is CUT_BY_NULLS and lines.end_without_line_end()):
            record = CUT
        if record is None:
            continue
        if header_read:
            first, last = lines.lines[0], lines.lines[-1]
            yield Row(first.number, first.begin, last.end, record)
        header_read = True


def _table_record(header: Sequence[str], cells: Sequence[str], lines: _TableLines) -> object:
    if lines.is_cut and cells and len(cells) != len(header):
        return CUT_BY_NULLS
    if any(cells[len(header) :]):
        return Unreadable(f"row has {len(cells)} cells, and the table {len(header)} columns")
    return dict(zip(header, cells, strict=False)) if any(cells) else None


def parse_cell(text: str) -> object:
    """Read a list or object in a cell of a table, written as JSON or as Python; else the text."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(bounded(text))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text
