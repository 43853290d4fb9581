r"""Kind `bibtex`: BibTeX and BibLaTeX files, as reference managers and publishers export them.

    @article{key,             a block begins on its own line, whatever came before it
      title = {A {B} \{ c},   a value in braces, in quotes, or a word
      year = 2024             the last comma may be missing
    }

One block is read after the other, so that a broken one affects no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bibtexparser.middlewares.names import (
    parse_single_name_into_parts,
    split_multiple_persons_names,
)

from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources.api.values import MAX_NAMES, arxiv_link, doi_link, terms
from monitor.sources.base import Source, failure, reading
from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.affiliations import split_affiliations
from monitor.sources.fields.dates import day_of, partial_date, within_reason
from monitor.sources.fields.encoding import SAMPLE, decode, find_fault, numbered_parts
from monitor.sources.fields.identifiers import Identifiers, arxiv_id, identifiers_by_place
from monitor.sources.fields.links import first_link
from monitor.sources.fields.markup import text
from monitor.text.latex import bare, unlatex

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
_MACRO = re.compile(r"\s*+\{?\\([a-z]++)\s*+(?:\{\})?\}?\s*")
_NO_PAPER = ("comment", "preamble", "xdata", "set", "control", "ieeetranbstctl")
_INHERITED = ("author", "title", *_VENUES, "year", "month", "date")
_OTHERS = re.compile(r"(?:and\s+)?(?:others|et\.? al\.?)", re.IGNORECASE)
_PARTS = re.compile(r"\b(given|prefix|family|suffix)\s*=\s*([^,]+),?", re.IGNORECASE)
_PMID = re.compile(r"PMID:?\s*(\d{1,9})", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*%.*$", re.MULTILINE)  # a line between names
_OF_AUTHOR = re.compile(r"\((?:corresponding|reprint) author\)", re.IGNORECASE)
_BARE_NOTE = re.compile(r"^\W*arXiv:\s*[\w./-]+", re.IGNORECASE)
MAX_BLOCK_CHARS = 4 * MAX_ENTRY  # most of them are of the entry

BEGINS = re.compile(r"@\w*[ \t]*[{(]")

Fields = Mapping[str, str]
Parts = dict[str, tuple[str, ...]]  # of values, as they are written


class Entry(NamedTuple):
    """An entry; `kind` and the names of fields are in lower case, `line` counts from 1."""

    kind: str
    key: str
    fields: Parts
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
        if sum(1 for _ in BEGINS.finditer(content)) > MAX_ENTRIES:
            return failure(f"the document has more than {MAX_ENTRIES:,} entries")
        records = list(_entries(content, self._clock()))
        if not records:
            return failure(find_fault(content, "BibTeX") or "no BibTeX entry in the document")
        is_cut = isinstance(records[-1], Rejected) and "end of file" in records[-1].why
        return reading(records, whole and not is_cut)


def _entries(content: str, now: datetime) -> Iterator[Paper | Rejected]:
    entries, strings = read_entries(content)
    named = (entry for entry in entries if isinstance(entry, Entry) and entry.key)
    by_key = {entry.key.lower(): entry for entry in named}
    for entry in entries:
        if isinstance(entry, Rejected):
            yield entry
        elif entry.kind not in _NO_PAPER:
            fields = _fields(entry, strings)
            parent = by_key.get((fields.get("crossref") or fields.get("xdata", "")).strip().lower())
            fields = _inherit(parent, strings) | fields if parent else fields
            yield _paper(entry.key, fields, f"line {entry.line}", now)


def _fields(entry: Entry, strings: Mapping[str, str]) -> dict[str, str]:
    return {name: _value(parts, strings) for name, parts in entry.fields.items()}


def _inherit(parent: Entry, strings: Mapping[str, str]) -> dict[str, str]:
    """Return the fields to inherit by `crossref`, without those that identify the parent."""
    fields = _fields(parent, strings)
    if "title" in fields:
        fields.setdefault("booktitle", fields["title"])
    return {name: fields[name] for name in _INHERITED if name in fields}


def _value(parts: Sequence[str], strings: Mapping[str, str]) -> str:
    """Join parts up to the maximum size of an entry: abbreviations can double each other."""
    value = ""
    for part in parts:
        value += part[1:-1] if part[0] in '{"' else strings.get(part.lower(), part)
        if len(value) > MAX_ENTRY:
            break
    return value[: MAX_ENTRY + 1]


# ── values ──────────────────────────────────────────────────────────────────────────


def _text(fields: Fields, *names: str) -> str:
    texts = (text(unlatex(fields[name])) for name in names if fields.get(name))
    return next(filter(None, texts), "")


def _names(line: str) -> tuple[str, ...]:
    names = map(_name, split_multiple_persons_names(_COMMENT.sub("", line))[:MAX_NAMES])
    return tuple(name for name in names if name and not _OTHERS.fullmatch(name))


def _name(written: str) -> str:
    """Return `von Last, Jr, First` as `First von Last Jr`; a name in braces has no parts."""
    if _PARTS.match(written.lstrip()):  # "given=Jean, prefix=de la, family=Fontaine" of BibLaTeX
        parts = {part: value.strip(' "{}') for part, value in _PARTS.findall(written)}
        order = ("given", "prefix", "family", "suffix")
        written = " ".join(parts[part] for part in order if part in parts)
    elif "," in written:
        written = parse_single_name_into_parts(written, strict=False).merge_first_name_first
    return text(unlatex(written))


# ── an entry ────────────────────────────────────────────────────────────────────────


def _paper(key: str, fields: Fields, where: str, now: datetime) -> Paper | Rejected:
    if sum(map(len, fields.values())) > MAX_ENTRY:
        return Rejected(where, f"entry is larger than {MAX_ENTRY:,} characters")
    title = _text(fields, "title", "booktitle")
    if not title:
        return Rejected(where, "entry has no title")
    subtitle = _text(fields, "subtitle")
    year, published = _date(fields)
    own = _identifiers(fields)
    return Paper(
        title=f"{title}: {subtitle}" if subtitle else title,
        abstract=_text(fields, "abstract"),
        authors=_names(fields.get("author", "")) or _names(fields.get("editor", "")),
        affiliations=_affiliations(fields),
        venue=_venue(fields),
        year=year,
        published=within_reason(published, now),
        url=_link(fields, own.keys),
        keys=own.keys,
        keys_in_links=own.keys_in_links,
        categories=terms(
            term
            for name in ("keywords", "keyword", "primaryclass", "eprintclass")
            for term in re.split(r"[;,]", unlatex(fields.get(name, "")))
        ),
        version=own.version,
        raw_id=text(key)[:300],
    )


def _affiliations(fields: Fields) -> tuple[str, ...]:
    """Return the institutions; the `affiliation` of Web of Science has people's names as well."""
    written = fields.get("affiliations") or fields.get("affiliation", "")
    return () if _OF_AUTHOR.search(written) else split_affiliations([unlatex(written)])


def _venue(fields: Fields) -> str:
    macro = _MACRO.fullmatch(fields.get("journal", ""))
    return (_AASTEX.get(macro[1], "") if macro else "") or _text(fields, *_VENUES)


def _date(fields: Fields) -> tuple[int | None, datetime | None]:
    year, day = partial_date(unlatex(fields.get("date", "")))
    if year:
        return year, day
    year, day = partial_date(unlatex(fields.get("year", "")))
    month = unlatex(fields.get("month", "")).strip()
    if year and month and not day:
        written = unlatex(fields.get("day", "")).strip()
        _, day = partial_date(f"{year} {month} {written}")
        day = day or day_of(str(year), month, written) or day_of(str(year), month)
    return year, day


def _identifiers(fields: Fields) -> Identifiers:
    doi, eprint = (bare(fields.get(name, "")) for name in ("doi", "eprint"))
    url = _url(fields)
    archive = fields.get("archiveprefix") or fields.get("eprinttype") or ""
    is_arxiv = archive.strip().lower() == "arxiv" or (not archive and bool(arxiv_id(eprint)))
    arxiv = re.sub(r"^arxiv:", "", eprint, flags=re.IGNORECASE) if is_arxiv else ""
    places = (fields.get(name, "") for name in ("journal", "volume", "howpublished"))
    named = [f"arxiv:{arxiv}" if arxiv else "", doi]
    named += _of_arxiv(" ".join((*places, *_BARE_NOTE.findall(fields.get("note", "")))))
    own = identifiers_by_place(named, [url])
    pairs = dict(own.keys)
    pmid = fields.get("pmid", "") or (eprint if archive.strip().lower() == "pubmed" else "")
    number = re.search(r"\d{1,9}", pmid) or _PMID.search(fields.get("note", ""))
    if number:
        pairs["pmid"] = number[number.lastindex or 0]
    if pmc := re.search(r"PMC\d+", fields.get("pmcid", "") or fields.get("pmc", "")):
        pairs["pmcid"] = pmc.group()
    return own._replace(keys=pairs)


def _of_arxiv(text: str) -> list[str]:
    """Find arXiv ids written as `arXiv preprint arXiv:2401.01234` or CoRR's `abs/2401.01234`."""
    names = re.findall(r"(?:arXiv:\s*|\babs/)([\w./-]+)", text, re.IGNORECASE)
    return [f"arxiv:{name}" for name in names[:3]]


def _url(fields: Fields) -> str:
    """Return the first of several addresses between spaces; a single one may span lines."""
    return bare(re.split(r"\s(?=https?://)", fields.get("url", "").strip(), maxsplit=1)[0])


def _link(fields: Fields, keys: Mapping[str, str | tuple[str, ...]]) -> str:
    published = bare(fields.get("howpublished", ""))
    if link := re.search("https?://", published):
        published = published[link.start() :]
    return first_link((_url(fields), published)) or doi_link(keys) or arxiv_link(keys)


# ── entries of a file ───────────────────────────────────────────────────────────────

_BLOCK = re.compile(r"^[^\S\n]*+(?=@\w*[ \t]*[{(])", re.MULTILINE)
# A line of many "@{" is looked at once from each: to its end, before the end of a key is sought.
_HEAD = re.compile(
    r"@(\w*)[ \t]*[{(]"
    r"(?:(?=[^,=\n]{0,410}+(?:,|$))([^,=\n]{0,400}?)(?:,|(?=[})]?[ \t]{0,9}$)))?",
    re.MULTILINE,
)
_GAP = r"(?:[\s,]|%.*\n)*+"
_NAME = re.compile(_GAP + r"([^\s=,{}()\"#%]++)\s*+=\s*+")
_NAME_AFTER_JUNK = re.compile(r"(?:^|[,{(])[ \t]*([\w:-]++)\s*+=\s*+(?=[{\"])", re.MULTILINE)
_END = re.compile(_GAP + r"[})]")
_BARE = re.compile(r"[^\s,#{}()\"]++")
_JOIN = re.compile(r"\s*+#\s*+")
# Braces after a backslash count for BibTeX: so they do where the entry is broken without them.
_SIGNS = (re.compile(r'(?<!\\)[{}"]'), re.compile(r'[{}]|(?<!\\)"'))
_ESCAPED_BRACE = re.compile(r"\\[{}]")
_CLOSING_QUOTE = re.compile(r'"(?=\s*+[,})#])')
_CUT = "unexpectedly reached end of file"


def read_entries(content: str) -> tuple[list[Entry | Rejected], dict[str, str]]:
    """Return the entries of a file, broken ones with the reason, and its abbreviations."""
    content = content.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    strings: dict[str, str] = {}
    records: list[Entry | Rejected] = []
    starts = [match.end() for match in _BLOCK.finditer(content)]
    for line, start, end in numbered_parts(content, [0, *starts]):
        block = content[start:end].rstrip()
        for record in _read_block(block, line, is_last=end == len(content)):
            if isinstance(record, Entry) and record.kind == "string":
                for name, parts in record.fields.items():
                    strings.setdefault(name, _value(parts, strings))
            else:
                records.append(record)
    return records, strings


def _read_block(block: str, line: int, *, is_last: bool) -> Iterator[Entry | Rejected]:
    """Read what begins on one line; of a broken entry, the fields that are whole."""
    at = 0
    while head := _HEAD.search(block, at):
        kind = head[1].lower()
        at = head.end()
        if kind in ("comment", "preamble"):
            return
        where = line + block.count("\n", 0, head.start())
        if len(block) > MAX_BLOCK_CHARS:
            yield Rejected(f"line {where}", f"entry is larger than {MAX_ENTRY:,} characters")
            return
        countings = _SIGNS if _ESCAPED_BRACE.search(block, at) else _SIGNS[:1]
        readings = [_read_fields(block, at, signs) for signs in countings]
        fields, at, fault = min(readings, key=lambda r: (bool(r[2]), r[1] < len(block)))
        if fault and not is_last:
            fault = fault.replace(_CUT, "another begins before its end")
        is_read = "title" in fields and _CUT not in fault
        if is_read or not fault:
            yield Entry(kind, (head[2] or "").strip(), fields, where)
        if fault:
            rest = "; the rest of it is read" if is_read else ""
            yield Rejected(f"line {where}", f"entry is broken: {fault}{rest}")


def _read_fields(block: str, at: int, signs: re.Pattern[str]) -> tuple[Parts, int, str]:
    """Return the fields from a position on, where they end, and what is wrong with them or ""."""
    fields: Parts = {}
    fault = ""
    while not (end := _END.match(block, at)):
        name = _NAME.match(block, at)
        if not name:
            rest = block[at:].strip(" \n,")
            fault = f"no field at {rest[:40]!r}" if rest.endswith(("}", ")")) else _CUT
            name = _NAME_AFTER_JUNK.search(block, at)
        parts, at = _read_value(block, name.end(), signs) if name else ((), 0)
        if not (name and parts):
            return fields, len(block), _CUT if name else fault
        fields.setdefault(name[1].lower(), parts)
    return fields, end.end(), fault


def _read_value(block: str, at: int, signs: re.Pattern[str]) -> tuple[tuple[str, ...], int]:
    """Return the parts of a value, with `#` between them, and its end; no parts if it has none."""
    parts: list[str] = []
    while True:
        end = _end_of_part(block, at, signs)
        if not end:
            return (), at
        parts.append(block[at:end])
        joined = _JOIN.match(block, end)
        if not joined:
            return tuple(parts), end
        at = joined.end()


def _end_of_part(block: str, at: int, signs: re.Pattern[str]) -> int:
    """Return the end of a part in braces, in quotes or bare; 0 if it has none.

    Where the braces in quotes do not match, the quotes end it.
    """
    opening = block[at : at + 1]
    if opening not in ("{", '"'):
        bare = _BARE.match(block, at)
        return bare.end() if bare else 0
    depth = 0
    for sign in signs.finditer(block, at + (opening == '"')):
        depth += {"{": 1, "}": -1}.get(sign[0], 0)
        if depth <= 0 and sign[0] == ('"' if opening == '"' else "}"):
            return sign.end()
    closing = _CLOSING_QUOTE.search(block, at + 1) if opening == '"' else None
    return closing.end() if closing else 0
