"""Determines the form of a dump from its first bytes: JSON lines, a JSON list, or a table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from monitor.sources.fields.encoding import decode_line, looks_binary
from monitor.sources.fields.null_bytes import RUN
from monitor.sources.jsonl.decompress import Tape
from monitor.sources.jsonl.lines import Row
from monitor.sources.jsonl.rows import (
    parse_leniently,
    read_json_lines,
    read_table,
    read_values,
)

MAX_COLUMNS = 2_000
MAX_QUOTED = 200  # characters of column names
# A first line with one of these is that of a table of papers. What a message quotes of another
# file may be a password.
_COLUMNS_OF_PAPERS = frozenset(("abstract", "author", "authors", "doi", "journal", "pmid"))
_LISTS = "papers|items|entries|articles|records|results|data|works|notes|documents|collection"
_LIST_START = re.compile(rf'\s*(?:\[|\{{.{{0,4000}}?"(?:{_LISTS})"\s*:\s*\[)', re.DOTALL)
_MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|!--|[\w:]+[\s>])", re.IGNORECASE)
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
    if not head.strip(b" \t\r\n\0") or not lines:
        return _no_form("the document is empty")
    if head.startswith(b"PK\x03\x04"):
        return _no_form("the document is a ZIP archive: unpack it first")
    if looks_binary(_PADDING.sub("", text)):
        return _no_form("the document is not text")
    if _MARKUP.match(text):
        return _no_form("the document is HTML or XML, not JSON and no table")
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
        columns = next((one for one in headers.values() if _has(one, _COLUMNS_OF_PAPERS)), [])
        quoted = f"; its columns are: {', '.join(columns)[:MAX_QUOTED]}" if columns else ""
        return _no_form(f"neither JSON nor a table with a column for titles{quoted}")
    sign = max(with_titles, key=lambda sign: (len(with_titles[sign]), sign))
    header = [column.strip() for column in with_titles[sign]]
    return Form("line", 0, partial(read_table, header=header, delimiter=sign))


def _header(text: str, delimiter: str) -> list[str]:
    """Return the columns of a table; an empty list for what is none."""
    lines = io.StringIO(text.lstrip("\r\n"), newline="")
    try:
        header = next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error:
        return []
    return header if len(header) <= MAX_COLUMNS else []


def _has(columns: Sequence[str], names: Collection[str]) -> bool:
    return any(normalize_name(column) in names for column in columns)
