"""Papers for other programs: BibTeX, RIS, CSV and JSON. Pure; whole texts in small pieces.

bibtex   UTF-8, as biber and Zotero read it; TeX formulas stay as they are
ris      RIS 2011, as reference managers read it
csv      one line for each paper; no cell is taken for a formula
json     {"papers": [...]}, as the pages and their API show papers
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain, count, product
from string import ascii_lowercase
from typing import Any, Literal, get_args

import rispy
from bibtexparser.entrypoint import write_string
from bibtexparser.library import Library
from bibtexparser.model import Entry, Field

from monitor.commands.json_output import paper_json
from monitor.commands.paper_search import FoundPaper
from monitor.digest.links import page_url, pdf_url, title_link
from monitor.model import Paper
from monitor.text import CYRILLIC, family_name, plain, split_person
from monitor.text.addresses import paper_links
from monitor.text.function_words import LEADING_WORDS

Format = Literal["bibtex", "ris", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
MAX_PAPERS = 10_000

# Types of BibTeX and RIS by `Paper.type`.
_TYPES = {
    "journal article": ("article", "JOUR"),
    "article": ("article", "JOUR"),
    "review": ("article", "JOUR"),
    "proceedings article": ("inproceedings", "CPAPER"),
    "conference paper": ("inproceedings", "CPAPER"),
    "inproceedings": ("inproceedings", "CPAPER"),
    "book": ("book", "BOOK"),
    "book chapter": ("incollection", "CHAP"),
    "dissertation": ("phdthesis", "THES"),
    "report": ("techreport", "RPRT"),
    "preprint": ("misc", "UNPB"),
    "posted content": ("misc", "UNPB"),
}
_VENUE_FIELDS = {"article": "journal", "inproceedings": "booktitle", "incollection": "booktitle"}

_FORMULA = re.compile(r"(\$[^$\s](?:[^$]*[^$\s])?\$)")
_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # BibTeX and biber count braces whether or not they are escaped.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}
_TEX_LETTERS = str.maketrans(_TEX)
# How readers count braces: BibTeX and biber each of them, others those without a backslash.
_COUNTED_BRACES = (re.compile(r"[{}]"), re.compile(r"(?<!\\)[{}]"))
# biblatex takes addresses verbatim, and each of these letters could end a field.
_PERCENT_ENCODED = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})
_NOT_IN_WORDS = re.compile(r"[^a-z0-9]+")
_NOT_IN_IDENTIFIERS = re.compile(r"[^a-z0-9.]+")
# Folding names Greek letters, as in "α-divergence", which no Greek word should become.
_GREEK_WORD = re.compile("[\u0370-\u03ff\u1f00-\u1fff]{2,}")
# Keys that BibTeX, biber and LaTeX read as they are.
_CITATION_KEY = re.compile(r"[A-Za-z0-9_:./+-]+")
# A spreadsheet takes such a cell for a formula (OWASP, "CSV injection").
_CELL_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(records: Iterable[FoundPaper], format_: Format) -> Iterator[str]:
    """Yield the pieces of a text with all papers, in their order."""
    return _WRITERS[format_](records)


def _bibtex(records: Iterable[FoundPaper]) -> Iterator[str]:
    used: set[str] = set()
    for record in records:
        paper = record.stored.paper
        key = _unused_key(_key(paper, record.stored.id), used)
        yield write_string(Library([_entry(paper, key, "; ".join(_notes(record)))])) + "\n"


def bibtex_of_entries(entries: Iterable[tuple[str, Paper, str]]) -> Iterator[str]:
    """Yield entries of libraries as BibTeX: each its key there, the paper as it is now, a note."""
    used: set[str] = set()
    for key, paper, note in entries:
        own = _unused_key(key if _CITATION_KEY.fullmatch(key) else _key(paper, 0), used)
        yield write_string(Library([_entry(paper, own, note)])) + "\n"


def _entry(paper: Paper, key: str, note: str) -> Entry:
    kind = _type(paper)[0]
    arxiv = _first(paper, "arxiv")
    fields = {
        # In braces of its own, so that no style changes its capitals.
        "title": "{" + _tex(paper.title) + "}",
        "author": " and ".join(_bibtex_name(name) for name in paper.authors),
        _VENUE_FIELDS.get(kind, "howpublished"): _tex(paper.venue),
        "year": str(_year(paper) or ""),
        "month": str(paper.month.month) if paper.month else "",
        "doi": _first(paper, "doi").translate(_PERCENT_ENCODED),
        "eprint": arxiv.translate(_PERCENT_ENCODED),
        "eprinttype": "arxiv" if arxiv else "",
        "url": (paper.url or paper.pdf_url).translate(_PERCENT_ENCODED),
        "abstract": _tex(paper.abstract),
        "note": _tex(note),
        # Styles print notes, but not this; Zotero and JabRef show it.
        "annote": _tex(_links(paper)),
    }
    return Entry(kind, key, [Field(name, value) for name, value in fields.items() if value])


def _bibtex_name(name: str) -> str:
    """Write a name as one author: `and` would make two of it, a comma turn its parts around."""
    person = split_person(name)
    if person and person[2]:
        family, given, suffix = map(_tex, person)
        return f"{family}, {suffix}, {given}"
    is_whole = "," in name or re.search(r"\band\b", name, re.IGNORECASE)
    return "{" + _tex(name) + "}" if is_whole else _tex(name)


def _tex(text: str) -> str:
    pieces = _FORMULA.split(" ".join(text.split()))
    return "".join(
        _formula(piece) if number % 2 else piece.translate(_TEX_LETTERS)
        for number, piece in enumerate(pieces)
    )


def _formula(formula: str) -> str:
    """Return a formula as it is where its braces pair, else as text: the field would not end."""
    is_kept = not formula.endswith("\\$") and all(
        _pair(braces.findall(formula)) for braces in _COUNTED_BRACES
    )
    return formula if is_kept else formula.translate(_TEX_LETTERS)


def _pair(braces: Iterable[str]) -> bool:
    depths = [0, *accumulate(1 if brace == "{" else -1 for brace in braces)]
    return min(depths) == depths[-1] == 0


def _key(paper: Paper, id: int) -> str:
    """Return the key of a paper, whatever else is exported: "zhou2024webarena"."""
    name = _in_ascii(family_name(paper.authors[0])) if paper.authors else ""
    written = filter(None, map(_in_ascii, paper.title.split()))
    words = [word for word in written if word not in LEADING_WORDS]
    year = _year(paper) or ""
    if words:
        return f"{name}{year}{words[0]}" if name else f"{''.join(words[:3])}{year}"
    values = (_first(paper, scheme).casefold() for scheme in ("arxiv", "doi", *paper.keys))
    identifiers = (_NOT_IN_IDENTIFIERS.sub("-", value).strip("-.") for value in values)
    identifier = next(filter(None, identifiers), f"paper{id}")
    return f"{name}{year}-{identifier}" if name else identifier


def _in_ascii(word: str) -> str:
    """Return what of a word can be written in small Latin letters and digits, or ""."""
    pieces = plain(_GREEK_WORD.sub(" ", word)).translate(CYRILLIC).split()
    return _NOT_IN_WORDS.sub("", "".join(piece for piece in pieces if piece.isascii()))


def _unused_key(key: str, used: set[str]) -> str:
    """Return `key`, or with a letter if another paper has it: a to z, aa, ab and so on."""
    suffixes = ("".join(letters) for n in count() for letters in product(ascii_lowercase, repeat=n))
    unique = next(key + suffix for suffix in suffixes if key + suffix not in used)
    used.add(unique)
    return unique


class _RisWriter(rispy.RisWriter):  # type: ignore[misc]
    def set_header(self, count: int) -> str:
        """Without the number that rispy writes before each reference."""
        return ""


def _ris(records: Iterable[FoundPaper]) -> Iterator[str]:
    for record in records:
        yield rispy.dumps([_reference(record)], implementation=_RisWriter) + "\n"


def _reference(record: FoundPaper) -> dict[str, Any]:
    paper = record.stored.paper
    arxiv, url = _first(paper, "arxiv"), paper.url or paper.pdf_url
    fields: dict[str, str | list[str]] = {
        "type_of_reference": _type(paper)[1],
        "title": paper.title,
        # `Family, Given, Suffix`: readers take other names for organisations.
        "authors": [", ".join(filter(None, split_person(a) or (a,))) for a in paper.authors],
        "abstract": paper.abstract,
        "journal_name": paper.venue,
        "year": str(_year(paper) or ""),
        # `2024/10/07`, or `2024/10//` for a month.
        "date": _day(paper).replace("-", "/") + "//" * (not paper.day and paper.month is not None),
        "doi": _first(paper, "doi"),
        "name_of_database": "arXiv" if arxiv else "",
        "accession_number": f"arXiv:{arxiv}" if arxiv else "",
        "urls": [url] if url else [],
        "file_attachments1": pdf_url(paper),
        "notes": [note for note in (*_notes(record), _links(paper)) if note],
    }
    return {name: _on_one_line(value) for name, value in fields.items() if value}


def _on_one_line(value: str | list[str]) -> str | list[str]:
    if isinstance(value, str):
        return " ".join(value.split())
    return [" ".join(text.split()) for text in value]


def _links(paper: Paper) -> str:
    """Return the code, data and pages of a paper, each with its kind."""
    return "; ".join(f"{link.kind}: {link.url}" for link in paper_links(paper))


_COLUMNS: dict[str, Callable[[FoundPaper], object]] = {
    "id": lambda record: record.stored.id,
    "title": lambda record: record.stored.paper.title,
    "authors": lambda record: "; ".join(record.stored.paper.authors),
    "abstract": lambda record: record.stored.paper.abstract,
    "published": lambda record: _day(record.stored.paper),
    "year": lambda record: _year(record.stored.paper) or "",
    "venue": lambda record: record.stored.paper.venue,
    "url": lambda record: record.stored.paper.url,
    "pdf_url": lambda record: record.stored.paper.pdf_url,
    "doi": lambda record: _first(record.stored.paper, "doi"),
    "arxiv": lambda record: _first(record.stored.paper, "arxiv"),
    "categories": lambda record: "; ".join(record.stored.paper.categories),
    "first_seen": lambda record: record.stored.first_seen.isoformat(),
    "sources": lambda record: "; ".join(dict.fromkeys(s.source for s in record.sightings)),
    "links": lambda record: _links(record.stored.paper),
}


def csv_lines(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield a table as CSV; no cell is taken for a formula."""
    for cells in chain([columns], rows):
        text, texts = io.StringIO(), map(str, cells)
        csv.writer(text).writerow([f"'{c}" if c.startswith(_CELL_FORMULA) else c for c in texts])
        yield text.getvalue()


def _json(records: Iterable[FoundPaper]) -> Iterator[str]:
    yield '{"papers": ['
    for number, record in enumerate(records):
        yield ("," if number else "") + "\n" + json.dumps(paper_json(record), ensure_ascii=False)
    yield "\n]}\n"


def _type(paper: Paper) -> tuple[str, str]:
    return _TYPES.get(paper.type) or (("article", "JOUR") if paper.venue else ("misc", "GEN"))


def _year(paper: Paper) -> int | None:
    return paper.year or (paper.month.year if paper.month else None)


def _day(paper: Paper) -> str:
    """Return the day of a paper, or the month where only that is known."""
    if paper.day:
        return f"{paper.day:%Y-%m-%d}"
    return f"{paper.month:%Y-%m}" if paper.month else ""


def _notes(record: FoundPaper) -> list[str]:
    """Return a line that a machine wrote, with its maker, and where to find the paper."""
    note = record.note
    line = f"{note.maker}: {note.line}" if note and note.line else ""
    return [text for text in (line, _where(record.stored.paper)) if text]


def _where(paper: Paper) -> str:
    """Return where to find a paper without a link: a search for its title, and its last list."""
    if page_url(paper):
        return ""
    search = f"search: {title_link(paper, '').url}"
    last = paper.last_listed
    if not last:
        return search
    guessed = " (year guessed)" if last.year_guessed else ""
    return f"listed {last.day}{guessed} by {last.source}; {search}"


def _first(paper: Paper, scheme: str) -> str:
    return next(iter(paper.identifiers(scheme)), "")


_WRITERS: dict[Format, Callable[[Iterable[FoundPaper]], Iterator[str]]] = {
    "bibtex": _bibtex,
    "ris": _ris,
    "csv": lambda records: csv_lines(
        _COLUMNS, ([value(record) for value in _COLUMNS.values()] for record in records)
    ),
    "json": _json,
}
