r"""Kind `bibtex`: BibTeX and BibLaTeX files, as reference managers and publishers export them.

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
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple

from bibtexparser import model
from bibtexparser.entrypoint import parse_string
from bibtexparser.middlewares.names import (
    parse_single_name_into_parts,
    split_multiple_persons_names,
)

from monitor.kept import kept
from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources.api.values import arxiv_link, doi_link, terms
from monitor.sources.base import Source, failure, reading
from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.dates import day_of, partial_date, within_print_era
from monitor.sources.fields.encoding import SAMPLE, decode, find_fault, numbered_parts
from monitor.sources.fields.identifiers import arxiv_id, identifiers
from monitor.sources.fields.links import first_link
from monitor.sources.fields.markup import text
from monitor.text.latex import bare, unlatex

logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # faults are part of the reading

MAX_BYTES = 64 * 1024 * 1024
MAX_NAMES = 10_000
MAX_ENTRIES = 50_000

_VENUES = ("journal", "journaltitle", "booktitle", "school", "institution", "publisher")
# Journals as AASTeX names them: https://ui.adsabs.harvard.edu/help/actions/journal-macros
_AASTEX = {
    "aj": "Astronomical Journal", "apj": "Astrophysical Journal",
    "apjl": "Astrophysical Journal, Letters", "apjs": "Astrophysical Journal, Supplement",
    "aap": "Astronomy and Astrophysics", "aapr": "Astronomy and Astrophysics Reviews",
    "araa": "Annual Review of Astronomy and Astrophysics", "icarus": "Icarus", "nat": "Nature",
    "jcap": "Journal of Cosmology and Astroparticle Physics", "physrep": "Physics Reports",
    "mnras": "Monthly Notices of the RAS", "pasp": "Publications of the ASP",
    "pasj": "Publications of the ASJ", "pra": "Physical Review A", "prb": "Physical Review B",
    "prc": "Physical Review C", "prd": "Physical Review D", "pre": "Physical Review E",
    "prl": "Physical Review Letters", "solphys": "Solar Physics", "ssr": "Space Science Reviews",
}  # fmt: skip
_MACRO = re.compile(r"\s*\{?\\([a-z]+)\s*(?:\{\})?\}?\s*")
_NO_PAPER = ("comment", "preamble", "string", "xdata", "set", "control", "ieeetranbstctl")
_INHERITED = ("author", "title", *_VENUES, "year", "month", "date")
_OTHERS = re.compile(r"(?:and\s+)?(?:others|et\.? al\.?)", re.IGNORECASE)
_GROUPED = re.compile(r"[{}\\\\]")
_PARTS = re.compile(r"\s*\b(given|prefix|family|suffix)\s*=\s*([^,]+),?", re.IGNORECASE)
_PMID = re.compile(r"PMID:?\s*(\d{1,9})", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*%.*$", re.MULTILINE)  # a line between names
_BARE_NOTE = re.compile(r"^\W*arXiv:\s*[\w./-]+", re.IGNORECASE)
MAX_BLOCK_CHARS = 4 * MAX_ENTRY  # most of them are of the entry

BEGINS = re.compile(r"@\w*[ \t]*[{(]")

Fields = Mapping[str, str]


class Entry(NamedTuple):
    """An entry; `kind` and the names of fields are in lower case, `line` counts from 1."""

    kind: str
    key: str
    fields: Fields
    line: int


class BibTex(Source):
    """Reads references: papers that the user already has, so a first reading has no news."""

    kind = "bibtex"
    default_first_run = FirstRun.BASELINE
    dated = False

    def read(self, document: Document) -> Reading:
        """Read all entries; broken ones are rejected with the line where they begin."""
        content, whole = decode(document.content)
        if fault := find_fault(content, "BibTeX", SAMPLE):
            return failure(fault)
        if len(document.content) > MAX_BYTES:
            return failure(f"the document is larger than {MAX_BYTES:,} bytes")
        if sum(1 for _ in BEGINS.finditer(content)) > MAX_ENTRIES:
            return failure(f"the document has more than {MAX_ENTRIES:,} entries")
        records = list(_entries(content, self._clock()))
        if not records:
            return failure(find_fault(content, "BibTeX") or "no BibTeX entry in the document")
        is_cut = isinstance(records[-1], Rejected) and "end of file" in records[-1].why
        return reading(records, whole and not is_cut)


def _entries(content: str, now: datetime) -> Iterator[Paper | Rejected]:
    entries, definitions = read_entries(content)
    strings = _strings(definitions)
    by_key = {entry.key.lower(): entry for entry in entries if isinstance(entry, Entry)}
    for entry in entries:
        if isinstance(entry, Rejected):
            yield entry
        elif entry.kind not in _NO_PAPER:
            fields = _fields(entry, strings)
            parent = by_key.get((fields.get("crossref") or fields.get("xdata", "")).strip().lower())
            fields = _inherit(parent, strings) | fields if parent else fields
            yield _paper(entry.key, fields, f"line {entry.line}", now)


def _fields(entry: Entry, strings: Mapping[str, str]) -> dict[str, str]:
    return {name: _value(value, strings) for name, value in entry.fields.items()}


def _inherit(parent: Entry, strings: Mapping[str, str]) -> dict[str, str]:
    """Return the fields to inherit by `crossref`, without those that identify the parent."""
    fields = _fields(parent, strings)
    if "title" in fields:
        fields.setdefault("booktitle", fields["title"])
    return {name: fields[name] for name in _INHERITED if name in fields}


def _strings(definitions: Fields) -> dict[str, str]:
    """Return the abbreviations of a file; each may use those before it."""
    strings: dict[str, str] = {}
    for name, value in definitions.items():
        strings[name] = _value(value, strings)
    return strings


# ── values ──────────────────────────────────────────────────────────────────────────


def _value(written: str, strings: Mapping[str, str]) -> str:
    """Read a value: in braces, in quotes, a number, an abbreviation, or several joined by `#`."""
    if "#" not in written:
        return _part(written.strip(), strings)
    parts, start, depth, quoted = [], 0, 0, False
    for at, sign in enumerate(written):
        if sign in "{}":
            depth += 1 if sign == "{" else -1
        elif sign == '"' and not depth:
            quoted = not quoted
        elif sign == "#" and not depth and not quoted:
            parts.append(written[start:at])
            start = at + 1
    return _join(_part(part.strip(), strings) for part in (*parts, written[start:]))


def _join(parts: Iterator[str]) -> str:
    """Join parts up to the maximum size of an entry: abbreviations can double each other."""
    joined, length = [], 0
    for part in parts:
        length += len(part)
        joined.append(part)
        if length > MAX_ENTRY:
            break
    return "".join(joined)[: MAX_ENTRY + 1]


def _part(written: str, strings: Mapping[str, str]) -> str:
    if written[:1] + written[-1:] in ("{}", '""') and len(written) > 1:
        return written[1:-1]
    return strings.get(written.lower(), written)


def _text(fields: Fields, *names: str) -> str:
    """Return the text of the first of several fields that has one."""
    texts = (text(unlatex(fields[name])) for name in names if fields.get(name))
    return next(filter(None, texts), "")


def _names(line: str) -> tuple[str, ...]:
    if not line.strip():
        return ()
    if "\n" in line:
        line = _COMMENT.sub("", line)
    names = map(_name, split_names(line)[:MAX_NAMES])
    return tuple(name for name in names if name and not _OTHERS.fullmatch(name))


@kept(4096)  # the authors of a file repeat
def _name(written: str) -> str:
    return text(unlatex(_natural(written)))


def _natural(name: str) -> str:
    """Return `von Last, Jr, First` as `First von Last Jr`; a name in braces has no parts."""
    if _PARTS.match(name):  # "given=Jean, prefix=de la, family=Fontaine" of BibLaTeX
        parts = {part: value.strip(' "{}') for part, value in _PARTS.findall(name)}
        order = ("given", "prefix", "family", "suffix")
        return " ".join(parts[part] for part in order if part in parts)
    if "," not in name:
        return name
    if name.count(",") == 1 and not _GROUPED.search(name):
        last, _, first = name.partition(",")
        return f"{first.strip()} {last.strip()}".strip()
    return first_name_first(name)


# ── an entry ────────────────────────────────────────────────────────────────────────


def _paper(key: str, fields: Fields, where: str, now: datetime) -> Paper | Rejected:
    if sum(map(len, fields.values())) > MAX_ENTRY:
        return Rejected(where, f"entry is larger than {MAX_ENTRY:,} characters")
    title = _text(fields, "title", "booktitle")
    if not title:
        return Rejected(where, "entry has no title")
    subtitle = _text(fields, "subtitle")
    year, published = _date(fields)
    keys, version = _identifiers(fields)
    return Paper(
        title=f"{title}: {subtitle}" if subtitle else title,
        abstract=_text(fields, "abstract"),
        authors=_names(fields.get("author", "")) or _names(fields.get("editor", "")),
        venue=_venue(fields),
        year=year,
        published=within_print_era(published, now),
        url=_link(fields, keys),
        keys=keys,
        categories=terms(
            term
            for name in ("keywords", "keyword", "primaryclass", "eprintclass")
            for term in re.split(r"[;,]", unlatex(fields.get(name, "")))
        ),
        version=version,
        raw_id=text(key)[:300],
    )


def _venue(fields: Fields) -> str:
    macro = _MACRO.fullmatch(fields.get("journal", ""))
    return (_AASTEX.get(macro[1], "") if macro else "") or _text(fields, *_VENUES)


def _date(fields: Fields) -> tuple[int | None, datetime | None]:
    if date := fields.get("date", ""):
        year, day = partial_date(unlatex(date))
        if year:
            return year, day
    year, day = partial_date(unlatex(fields.get("year", "")))
    month = unlatex(fields.get("month", "")).strip()
    if year and month and not day:
        written = unlatex(fields.get("day", "")).strip()
        _, day = partial_date(f"{year} {month} {written}")
        day = day or day_of(str(year), month, written) or day_of(str(year), month)
    return year, day


def _identifiers(fields: Fields) -> tuple[dict[str, str | tuple[str, ...]], int | None]:
    doi, eprint = (bare(fields.get(name, "")) for name in ("doi", "eprint"))
    url = _url(fields)
    archive = fields.get("archiveprefix") or fields.get("eprinttype") or ""
    is_arxiv = archive.strip().lower() == "arxiv" or (not archive and bool(arxiv_id(eprint)))
    arxiv = re.sub(r"^arxiv:", "", eprint, flags=re.IGNORECASE) if is_arxiv else ""
    places = (fields.get(name, "") for name in ("journal", "volume", "howpublished"))
    named = [f"arxiv:{arxiv}" if arxiv else "", doi, url]
    named += _of_arxiv(" ".join((*places, *_BARE_NOTE.findall(fields.get("note", "")))))
    keys, version = identifiers(named)
    pairs = dict(keys)
    pmid = fields.get("pmid", "") or (eprint if archive.strip().lower() == "pubmed" else "")
    number = re.search(r"\d{1,9}", pmid) or _PMID.search(fields.get("note", ""))
    if number:
        pairs["pmid"] = number[number.lastindex or 0]
    if pmc := re.search(r"PMC\d+", fields.get("pmcid", "") or fields.get("pmc", "")):
        pairs["pmcid"] = pmc.group()
    return pairs, version


def _of_arxiv(text: str) -> list[str]:
    """Find arXiv ids written as `arXiv preprint arXiv:2401.01234` or CoRR's `abs/2401.01234`."""
    names = re.findall(r"(?:arXiv:\s*|\babs/)([\w./-]+)", text, re.IGNORECASE)
    return [f"arxiv:{name}" for name in names[:3]]


def _url(fields: Fields) -> str:
    """Return the first of several addresses between spaces; a single one may span lines."""
    return bare(re.split(r"\s+(?=https?://)", fields.get("url", "").strip(), maxsplit=1)[0])


def _link(fields: Fields, keys: Mapping[str, str | tuple[str, ...]]) -> str:
    published = re.sub(r".*?(https?://)", r"\1", bare(fields.get("howpublished", "")))
    return first_link((_url(fields), published)) or doi_link(keys) or arxiv_link(keys)


# ── entries of a file ───────────────────────────────────────────────────────────────


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
_NO_ENTRY = re.compile(r"@(?:comment|preamble|string)", re.IGNORECASE)


def read_entries(content: str) -> tuple[list[Entry | Rejected], Fields]:
    """Find the entries of a file, broken ones with the reason, and its abbreviations."""
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
        elif not _NO_ENTRY.match(content, start):
            why = f"entry is larger than {MAX_ENTRY:,} characters"
            entries.append(Rejected(f"line {line}", why))
    return entries, strings


_BRACE = re.compile(r"[{}]")
_UNESCAPED_BRACE = re.compile(r"(?<!\\)[{}]")
_ESCAPED_BRACE = re.compile(r"\\([{}])")
# Between a backslash and its brace: no file has it, since `read_entries` removes it.
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
    library = parse_string(_count_escaped_braces(written), parse_stack=())
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


def _entry(block: model.Block) -> model.Entry | None:
    """Return the entry of a block, even if its key or a field is repeated."""
    inner: model.Block | None = block
    if isinstance(block, (model.DuplicateBlockKeyBlock, model.DuplicateFieldKeyBlock)):
        inner = block.ignore_error_block
    return inner if isinstance(inner, model.Entry) else None


def _describe_fault(block: model.Block) -> str:
    if not isinstance(block, model.ParsingFailedBlock):
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
    return list(split_multiple_persons_names(names))


def first_name_first(name: str) -> str:
    """Return a name as `First von Last Jr`, whatever the order of its parts."""
    parts = parse_single_name_into_parts(name, strict=False)
    return str(parts.merge_first_name_first)
