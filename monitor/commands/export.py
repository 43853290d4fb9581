"""Papers for other programs: BibTeX, RIS, CSL-JSON, CSV and JSON. Pure; texts in small pieces.

bibtex     UTF-8, as biber, BibTeX and Zotero read it; TeX formulas stay as they are
ris        RIS 2011, as reference managers read it
csl-json   as pandoc, Zotero and citeproc read it
csv        one line for each paper; no cell is taken for a formula
json       {"papers": [...]}, as the pages and their API show papers

The kind of a work, and where and when it appeared, is decided in `digest/citation.py`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, chain, count, product
from string import ascii_lowercase
from typing import Any, Literal, NamedTuple, get_args

import rispy
from bibtexparser.entrypoint import write_string
from bibtexparser.library import Library
from bibtexparser.model import Entry, Field

from monitor.commands.json_output import paper_json
from monitor.commands.paper_search import FoundPaper
from monitor.digest.citation import (
    SEVERAL_NAMES,
    Author,
    Citation,
    WorkType,
    cite,
    keywords,
    one_line,
)
from monitor.digest.links import page_url, pdf_url, web_url
from monitor.digest.shown import split_formulas, to_readable_text
from monitor.model import Paper
from monitor.text import CYRILLIC, clean, family_name, is_group, plain
from monitor.text.addresses import paper_links
from monitor.text.function_words import LEADING_WORDS
from monitor.text.latex import STYLE_SWITCH

Format = Literal["bibtex", "ris", "csl-json", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
MAX_PAPERS = 10_000


class ExportFile(NamedTuple):
    """A format as a file: its title, the ending of its name, and its media type."""

    title: str
    ending: str
    media_type: str


FILES: Mapping[Format, ExportFile] = {
    "bibtex": ExportFile("BibTeX", "bib", "application/x-bibtex; charset=utf-8"),
    "ris": ExportFile("RIS", "ris", "application/x-research-info-systems; charset=utf-8"),
    "csl-json": ExportFile("CSL-JSON", "csl.json", "application/vnd.citationstyles.csl+json"),
    "csv": ExportFile("CSV", "csv", "text/csv; charset=utf-8"),
    "json": ExportFile("JSON", "json", "application/json"),
}


class _Types(NamedTuple):
    """The names of a kind of work; `venue` is the field of BibTeX that has where it appeared."""

    bibtex: str
    venue: str
    ris: str
    csl: str


_TYPES = {
    WorkType.PREPRINT: _Types("misc", "howpublished", "UNPB", "article"),
    WorkType.ARTICLE: _Types("article", "journal", "JOUR", "article-journal"),
    WorkType.CONFERENCE_PAPER: _Types("inproceedings", "booktitle", "CPAPER", "paper-conference"),
    WorkType.CHAPTER: _Types("incollection", "booktitle", "CHAP", "chapter"),
    WorkType.BOOK: _Types("book", "publisher", "BOOK", "book"),
    WorkType.THESIS: _Types("phdthesis", "school", "THES", "thesis"),
    WorkType.REPORT: _Types("techreport", "institution", "RPRT", "report"),
    WorkType.DATASET: _Types("misc", "howpublished", "DATA", "dataset"),
    WorkType.OTHER: _Types("misc", "howpublished", "GEN", "document"),
}
# Works that are parts of what their venue names; of others it is who published them.
_IN_VENUES = (WorkType.ARTICLE, WorkType.CONFERENCE_PAPER, WorkType.CHAPTER)

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
# biblatex takes identifiers verbatim, and each of these letters could end a field.
_PERCENT_ENCODED = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})
# biber and others part keywords there.
_BETWEEN_KEYWORDS = str.maketrans({",": " ", ";": " "})
# Longer ones are text between two signs of other formulas.
_LONGEST_FORMULA = 300
_NOT_IN_WORDS = re.compile(r"[^a-z0-9]+")
_NOT_IN_IDENTIFIERS = re.compile(r"[^a-z0-9.]+")
# Folding names Greek letters, as in "α-divergence", which no Greek word should become.
_GREEK_WORD = re.compile("[\u0370-\u03ff\u1f00-\u1fff]{2,}")
# Keys that BibTeX, biber and LaTeX read as they are.
_CITATION_KEY = re.compile(r"[A-Za-z0-9_:./+-]+")
_LONGEST_KEY = 60  # of a title that is one word, as in some languages; programs wrap longer ones
# A spreadsheet takes such a cell for a formula (OWASP, "CSV injection").
_CELL_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(records: Iterable[FoundPaper], format_: Format) -> Iterator[str]:
    """Yield the pieces of a text with all papers, in their order."""
    return _WRITERS[format_](records)


def _bibtex(records: Iterable[FoundPaper]) -> Iterator[str]:
    for key, record in _with_keys(records):
        entry = _entry(record.stored.paper, key, annote="; ".join(_notes(record)))
        yield write_string(Library([entry])) + "\n"


def bibtex_of_entries(entries: Iterable[tuple[str, Paper, str]]) -> Iterator[str]:
    """Yield entries of libraries as BibTeX: each its key there, the paper as it is now, a note."""
    used: set[str] = set()
    for key, paper, note in entries:
        own = _unused_key(key if _CITATION_KEY.fullmatch(key) else _key(paper, 0), used)
        yield write_string(Library([_entry(paper, own, note, _links(paper))])) + "\n"


def _entry(paper: Paper, key: str, note: str = "", annote: str = "") -> Entry:
    citation = cite(paper)
    types = _TYPES[citation.type]
    arxiv = citation.arxiv
    month = citation.date[1:2]
    fields = {
        # In braces of its own, so that no style changes its capitals.
        "title": "{" + _tex(paper.title) + "}",
        "author": " and ".join(map(_bibtex_name, citation.authors)),
        # arXiv's own entries have none: styles print the eprint.
        types.venue: _escape(citation.venue or ("" if arxiv else citation.server)),
        "year": str(citation.year or ""),
        "month": str(*month),
        "doi": citation.doi.translate(_PERCENT_ENCODED),
        "eprint": arxiv.translate(_PERCENT_ENCODED),
        "archiveprefix": "arXiv" if arxiv else "",
        "primaryclass": citation.arxiv_class,
        "pmid": citation.pmid.translate(_PERCENT_ENCODED),
        # Styles make one of `doi` and `eprint`.
        "url": web_url(paper.url) or web_url(paper.pdf_url),
        "keywords": ", ".join(
            _escape(word.translate(_BETWEEN_KEYWORDS)) for word in keywords(paper)
        ),
        "abstract": _escape(one_line(paper.abstract)),
        "note": _escape(note),
        # Styles print notes, but not this; Zotero and JabRef show it.
        "annote": _escape(annote),
    }
    # Zotero has the server of a preprint as its publisher.
    fields |= {"publisher": _escape(citation.server)} if citation.server else {}
    return Entry(types.bibtex, key, [Field(name, value) for name, value in fields.items() if value])


def _bibtex_name(author: Author) -> str:
    """Write a name as one author: `and` would make two of it, a comma turn its parts around."""
    family, given, suffix = map(_escape, (author.family, author.given, author.suffix))
    if suffix:
        return f"{family}, {suffix}, {given}"
    if given:
        return f"{family}, {given}"
    # BibTeX parts the names that we cannot part, but for those that are none of a person.
    # A sign is none: biblatex takes `=` for "family=Doe, given=Jane".
    is_whole = any(s in family for s in ",=") or is_group(family) or SEVERAL_NAMES.search(family)
    return "{" + family + "}" if is_whole or family != author.family else family


def _escape(text: str) -> str:
    return " ".join(text.split()).translate(_TEX_LETTERS)


def _tex(text: str) -> str:
    """Write a text for TeX with its formulas; its other LaTeX is read."""
    return " ".join(
        "".join(
            prose.translate(_TEX_LETTERS) + _formula(formula)
            for prose, formula in split_formulas(clean(text))
        ).split()
    )


def _formula(source: str) -> str:
    """Return a formula for TeX where its braces pair, else as text: the field would not end."""
    if not source:
        return ""
    # citation-js refuses a file with a change of style, such as `\rm`, in a formula.
    formula = f"${STYLE_SWITCH.sub('', source)}$"
    is_kept = (
        len(source) <= _LONGEST_FORMULA
        and "$" not in source
        and not source.endswith("\\")
        and all(_pair(braces.findall(formula)) for braces in _COUNTED_BRACES)
    )
    return formula if is_kept else _escape(to_readable_text(f"${source}$"))


def _pair(braces: Iterable[str]) -> bool:
    depths = [0, *accumulate(1 if brace == "{" else -1 for brace in braces)]
    return min(depths) == depths[-1] == 0


def _key(paper: Paper, id: int) -> str:
    """Return the key of a paper, whatever else is exported: "zhou2024webarena"."""
    name = _in_ascii(family_name(paper.authors[0])) if paper.authors else ""
    written = filter(None, map(_in_ascii, paper.title.split()))
    words = [word for word in written if word not in LEADING_WORDS]
    year = cite(paper).year or ""
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


def _with_keys(records: Iterable[FoundPaper]) -> Iterator[tuple[str, FoundPaper]]:
    """Yield papers with keys that are unique in this export."""
    used: set[str] = set()
    for record in records:
        key = _key(record.stored.paper, record.stored.id)
        yield _unused_key(key[:_LONGEST_KEY], used), record


class _RisWriter(rispy.RisWriter):  # type: ignore[misc]
    def set_header(self, count: int) -> str:
        """Without the number that rispy writes before each reference."""
        return ""


def _ris(records: Iterable[FoundPaper]) -> Iterator[str]:
    for record in records:
        yield rispy.dumps([_reference(record)], implementation=_RisWriter) + "\n"


def _reference(record: FoundPaper) -> dict[str, Any]:
    paper = record.stored.paper
    citation = cite(paper)
    url = page_url(paper)
    arxiv = citation.arxiv
    pmid = citation.pmid
    is_article = citation.type is WorkType.ARTICLE
    is_in_venue = citation.type in _IN_VENUES
    pmid_note = f"PMID: {pmid}" if arxiv and pmid else ""
    fields: dict[str, str | list[str]] = {
        "type_of_reference": _TYPES[citation.type].ris,
        "title": one_line(paper.title),
        # `Family, Given, Suffix`: readers take other names for organisations.
        "authors": [
            ", ".join(filter(None, (author.family, author.given, author.suffix)))
            for author in citation.authors
        ],
        "author_address": "; ".join(paper.affiliations),
        "abstract": one_line(paper.abstract),
        "journal_name": citation.venue if is_article else "",
        "secondary_title": citation.venue if is_in_venue and not is_article else "",
        "publisher": "" if is_in_venue else citation.server or citation.venue,
        "type_of_work": "Preprint" if citation.type is WorkType.PREPRINT else "",
        "year": str(citation.year or ""),
        "date": _ris_date(citation),
        "doi": citation.doi,
        "name_of_database": "arXiv" if arxiv else "PubMed" if pmid else "",
        "accession_number": f"arXiv:{arxiv}" if arxiv else pmid,
        "urls": [url] if url else [],
        "file_attachments1": pdf_url(paper),
        "keywords": list(keywords(paper)),
        "notes": [note for note in (pmid_note, *_notes(record)) if note],
    }
    return {name: _on_one_line(value) for name, value in fields.items() if value}


def _ris_date(citation: Citation) -> str:
    """Return a date as RIS has it: `2024/10/07`, or `2024/10//` for a month."""
    if len(citation.date) < 2:
        return ""
    return "/".join(f"{number:02}" for number in citation.date) + "//" * (len(citation.date) == 2)


def _on_one_line(value: str | list[str]) -> str | list[str]:
    if isinstance(value, str):
        return " ".join(value.split())
    return [" ".join(text.split()) for text in value]


def _csl_json(records: Iterable[FoundPaper]) -> Iterator[str]:
    yield from _json_list("[", map(_csl_item, _with_keys(records)), "]")


def _csl_item(keyed: tuple[str, FoundPaper]) -> dict[str, Any]:
    """Return a paper as an item of CSL 1.0.2 (https://docs.citationstyles.org)."""
    key, record = keyed
    paper = record.stored.paper
    citation = cite(paper)
    is_preprint = citation.type is WorkType.PREPRINT
    is_in_venue = citation.type in _IN_VENUES
    arxiv = f"arXiv:{citation.arxiv}" if citation.arxiv else ""
    fields = {
        "id": key,
        "type": _TYPES[citation.type].csl,
        "title": one_line(paper.title),
        "author": [_csl_name(author) for author in citation.authors],
        "container-title": citation.venue if is_in_venue else "",
        "publisher": "" if is_in_venue else citation.server or citation.venue,
        "genre": "Preprint" if is_preprint else "",
        "number": arxiv if is_preprint else "",
        "archive": "arXiv" if arxiv else "",
        "archive_location": arxiv,
        "issued": {"date-parts": [list(citation.date)]} if citation.date else {},
        "DOI": citation.doi,
        "PMID": citation.pmid,
        "URL": page_url(paper),
        "keyword": ", ".join(word.translate(_BETWEEN_KEYWORDS) for word in keywords(paper)),
        "abstract": one_line(paper.abstract),
        # Styles print notes, but not this.
        "annote": "; ".join(_notes(record)),
    }
    return {name: value for name, value in fields.items() if value}


def _csl_name(author: Author) -> dict[str, str]:
    if not author.given:
        return {"literal": author.family}
    parts = {"family": author.family, "given": author.given, "suffix": author.suffix}
    return {name: part for name, part in parts.items() if part}


def _links(paper: Paper) -> str:
    """Return the code, data and pages of a paper, each with its kind."""
    return "; ".join(f"{link.kind}: {link.url}" for link in paper_links(paper))


_COLUMNS: dict[str, Callable[[FoundPaper], object]] = {
    "id": lambda record: record.stored.id,
    "title": lambda record: record.stored.paper.title,
    "authors": lambda record: "; ".join(record.stored.paper.authors),
    "abstract": lambda record: record.stored.paper.abstract,
    "published": lambda record: _day(record.stored.paper),
    "year": lambda record: cite(record.stored.paper).year or "",
    "venue": lambda record: record.stored.paper.venue or cite(record.stored.paper).server,
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
        text = io.StringIO()
        texts = map(str, cells)
        csv.writer(text).writerow([f"'{c}" if c.startswith(_CELL_FORMULA) else c for c in texts])
        yield text.getvalue()


def _json(records: Iterable[FoundPaper]) -> Iterator[str]:
    yield from _json_list('{"papers": [', map(paper_json, records), "]}")


def _json_list(start: str, items: Iterable[Mapping[str, Any]], end: str) -> Iterator[str]:
    yield start
    for number, item in enumerate(items):
        yield ("," if number else "") + "\n" + json.dumps(item, ensure_ascii=False)
    yield f"\n{end}\n"


def _day(paper: Paper) -> str:
    """Return the day of a paper, or the month where only that is known."""
    if paper.day:
        return f"{paper.day:%Y-%m-%d}"
    return f"{paper.month:%Y-%m}" if paper.month else ""


def _notes(record: FoundPaper) -> list[str]:
    """Return our own words about a paper, which no bibliography should print.

    They are a line that a machine wrote, with its maker, the last list of a paper without a link,
    and what belongs to it.
    """
    note = record.note
    paper = record.stored.paper
    line = f"{note.maker}: {note.line}" if note and note.line else ""
    last = None if page_url(paper) else paper.last_listed
    guessed = " (year guessed)" if last and last.year_guessed else ""
    listed = f"listed {last.day}{guessed} by {last.source}" if last else ""
    return [text for text in (line, listed, _links(paper)) if text]


def _first(paper: Paper, scheme: str) -> str:
    return next(iter(paper.identifiers(scheme)), "")


_WRITERS: Mapping[Format, Callable[[Iterable[FoundPaper]], Iterator[str]]] = {
    "bibtex": _bibtex,
    "ris": _ris,
    "csl-json": _csl_json,
    "csv": lambda records: csv_lines(
        _COLUMNS, ([value(record) for value in _COLUMNS.values()] for record in records)
    ),
    "json": _json,
}
