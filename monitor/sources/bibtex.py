"""Kind `bibtex`: BibTeX and BibLaTeX files, as reference managers and publishers export them.

`monitor.sources.bibtex_entries` finds the entries; this module reads the values that a paper has:
joined strings, names, LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from monitor.kept import kept
from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources import bibtex_entries as entries
from monitor.sources.api.values import arxiv_link, doi_link, terms
from monitor.sources.base import Source, failure, reading
from monitor.sources.bibtex_entries import Entry, Fields
from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.dates import day_of, partial_date, within_print_era
from monitor.sources.fields.encoding import SAMPLE, decode, find_fault
from monitor.sources.fields.identifiers import arxiv_id, identifiers
from monitor.sources.fields.links import first_link
from monitor.sources.fields.markup import text
from monitor.text import without_placeholder
from monitor.text.latex import bare, unlatex

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
        if sum(1 for _ in entries.BEGINS.finditer(content)) > MAX_ENTRIES:
            return failure(f"the document has more than {MAX_ENTRIES:,} entries")
        records = list(_entries(content, self._clock()))
        if not records:
            return failure(find_fault(content, "BibTeX") or "no BibTeX entry in the document")
        is_cut = isinstance(records[-1], Rejected) and "end of file" in records[-1].why
        return reading(records, whole and not is_cut)


def _entries(content: str, now: datetime) -> Iterator[Paper | Rejected]:
    file = entries.read(content)
    strings = _strings(file.strings)
    by_key = {entry.key.lower(): entry for entry in file.entries if isinstance(entry, Entry)}
    for entry in file.entries:
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
    names = map(_name, entries.split_names(line)[:MAX_NAMES])
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
    return entries.first_name_first(name)


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
        abstract=without_placeholder(_text(fields, "abstract")),
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
