r"""Finds the entries of a BibTeX file, with their fields as they are written.

    @article{key,             a block begins on its own line, whatever came before it
      title = {A {B} \{ c},   a value in braces, in quotes, or a word
      year = 2024             the last comma may be missing
    }

bibtexparser reads one block after the other, so that a broken one affects no other.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.model import Rejected
from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.encoding import numbered_parts

if TYPE_CHECKING:
    from bibtexparser.model import Block

MAX_BLOCK_CHARS = 4 * MAX_ENTRY  # most of them are of the entry
START_CHARS = 64 * 1024  # of a longer block, which may define an abbreviation

BEGINS = re.compile(r"@\w*[ \t]*[{(]")

Fields = Mapping[str, str]


class Entry(NamedTuple):
    """An entry; `kind` and the names of fields are in lower case, `line` counts from 1."""

    kind: str
    key: str
    fields: Fields
    line: int


class File(NamedTuple):
    """The contents of a file; `strings` are its abbreviations, the first of each name."""

    entries: list[Entry | Rejected]
    strings: Fields


def _braces(depth: int) -> str:
    """Match a value in nested braces; escaped braces do not count."""
    inner = rf"|{_braces(depth - 1)}" if depth else ""
    return rf"\{{(?:[^{{}}\\]++|\\++[{{}}]?+{inner})*+\}}"


_BLOCK = re.compile(r"^[^\S\n]*+(?=@\w*[ \t]*[{(])", re.MULTILINE)
# Intact fields of a broken entry: values after a name that begins a line or a field.
_LOOSE_HEAD = re.compile(r"@(\w+)[ \t]*[{(]([^,\n]*)")
_LOOSE = re.compile(
    rf"(?:^|[,{{(])[ \t]*([\w:-]++)\s*+=\s*+({_braces(8)}|\"(?:[^\"\\]++|\\++\"?+)*+\")",
    re.MULTILINE,
)
_CUT = "unexpectedly reached end of file"
_AND = re.compile(r"[ \t\r\n]+and[ \t\r\n]+", re.IGNORECASE)
_NO_ENTRY = ("comment", "preamble", "string")


def read(content: str) -> File:
    """Find the entries of a file; broken ones with the reason."""
    content = content.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    strings: dict[str, str] = {}
    entries: list[Entry | Rejected] = []
    starts = [match.end() for match in _BLOCK.finditer(content)]
    for line, start, end in numbered_parts(content, [0, *starts]):
        if not BEGINS.search(content, start, end):
            continue
        if end - start <= MAX_BLOCK_CHARS:
            is_last = end == len(content)
            entries += _read_blocks(content[start:end].rstrip(), line, strings, is_last=is_last)
        else:
            entries += _read_start(content[start : start + START_CHARS], line, strings)
    return File(entries, strings)


def _read_start(written: str, line: int, strings: dict[str, str]) -> list[Entry | Rejected]:
    """Read the start of a block that is longer than any entry: it may define an abbreviation."""
    head = _LOOSE_HEAD.match(written)
    if head and not head[1].lower().startswith(_NO_ENTRY):
        return [Rejected(f"line {line}", f"entry is larger than {MAX_ENTRY:,} characters")]
    blocks = _read_blocks(written, line, strings, is_last=False)
    return [block for block in blocks if isinstance(block, Entry)]


@cache
def _parser() -> Any:
    import bibtexparser  # slow to load, and only this kind needs it

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # faults are part of the reading
    return bibtexparser


_BRACE = re.compile(r"[{}]")
_UNESCAPED_BRACE = re.compile(r"(?<!\\)[{}]")
_ESCAPED_BRACE = re.compile(r"\\([{}])")
# Between a backslash and its brace: no file has it, since `read` removes it.
_NOT_ESCAPED = "\0"


def _count_escaped_braces(written: str) -> str:
    r"""Part backslashes from braces where the braces of a block nest only if `\{` is one as any.

    BibTeX counts so. bibtexparser does not: after `title = {A \\},` it reads on in the next field.
    """
    if not _ESCAPED_BRACE.search(written):
        return written
    if _nest(_UNESCAPED_BRACE.findall(written)) or not _nest(_BRACE.findall(written)):
        return written
    return _ESCAPED_BRACE.sub(rf"\\{_NOT_ESCAPED}\g<1>", written)


def _nest(braces: Sequence[str]) -> bool:
    """Whether the last brace closes the first."""
    depths = list(accumulate(1 if brace == "{" else -1 for brace in braces))
    return bool(depths) and depths[-1] == 0 and all(depth > 0 for depth in depths[:-1])


def _read_blocks(
    written: str, line: int, strings: dict[str, str], *, is_last: bool
) -> Iterator[Entry | Rejected]:
    """Read blocks of any form; abbreviations go to `strings`."""
    library = _parser().parse_string(_count_escaped_braces(written), parse_stack=())
    for name, string in library.strings_dict.items():
        strings.setdefault(name.lower(), string.value.replace(_NOT_ESCAPED, ""))
    for block in library.blocks:
        at = line + (block.start_line or 0)
        if entry := _entry(block):
            fields = {
                field.key.lower(): field.value.replace(_NOT_ESCAPED, "")
                for field in reversed(entry.fields)
            }
            yield Entry(entry.entry_type.lower(), entry.key, fields, at)
        elif why := _describe_fault(block):
            if not is_last:
                why = why.replace(_CUT, "another begins before its end")
            if _CUT not in why and (rest := _rest(written, at)):
                yield rest
                why += "; the rest of it is read"
            yield Rejected(f"line {at}", why)


def _rest(written: str, line: int) -> Entry | None:
    """Return the intact fields of a broken entry that is alone in its block, if it has a title."""
    head = _LOOSE_HEAD.match(written)
    if not head or len(BEGINS.findall(written)) > 1:
        return None
    fields: dict[str, str] = {}
    for name, value in _LOOSE.findall(written):
        fields.setdefault(name.lower(), value)
    key = head[2].strip()
    return (
        Entry(head[1].lower(), "" if "=" in key else key, fields, line)
        if "title" in fields
        else None
    )


def _entry(block: Block) -> Any:
    """Return the entry of a block, even if its key or a field is repeated."""
    model = _parser().model
    if isinstance(block, (model.DuplicateBlockKeyBlock, model.DuplicateFieldKeyBlock)):
        block = block.ignore_error_block
    return block if isinstance(block, model.Entry) else None


def _describe_fault(block: Block) -> str:
    if not isinstance(block, _parser().model.ParsingFailedBlock):
        return ""
    why = str(getattr(block.error, "abort_reason", block.error)).rstrip(". ")
    return f"entry is broken: {why[:1].lower()}{why[1:200]}"


def split_names(names: str) -> list[str]:
    """Split names at each `and` outside of braces."""
    parts = _AND.split(names.strip())
    if all(part and part.count("{") == part.count("}") for part in parts) and not (
        "\\{" in names or "\\}" in names
    ):
        return parts
    return list(_parser().middlewares.names.split_multiple_persons_names(names))


def first_name_first(name: str) -> str:
    """Return a name as `First von Last Jr`, whatever the order of its parts."""
    parts = _parser().middlewares.names.parse_single_name_into_parts(name, strict=False)
    return str(parts.merge_first_name_first)
