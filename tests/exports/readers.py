"""Programs that read exports, and what each calls the kinds of works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rispy

from monitor.commands.export import Format
from monitor.digest.citation import WorkType

HERE = Path(__file__).parent
NODE = HERE.parent.parent / ".node" / "node_modules"


@dataclass(frozen=True, slots=True)
class Seen:
    """A reference as a program read it; `key` is "" where its format has none."""

    key: str
    type: str
    year: str
    authors: int


# BibTeX without TeX has no file that says where to look and how much to take.
_WITHOUT_TEX = {"BIBINPUTS": ".", "BSTINPUTS": ".", "hash_size": "200000", "max_strings": "200000"}


def _run(folder: Path, *command: str | Path, text: str = "") -> str:
    words = [str(word) for word in command]
    env = os.environ | _WITHOUT_TEX
    done = subprocess.run(words, cwd=folder, input=text, capture_output=True, text=True, env=env)
    faults = [line for line in done.stdout.splitlines() if re.match(r"ERROR|WARN", line)]
    assert done.returncode == 0 and not faults, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def by_rispy(text: str, folder: Path) -> list[Seen]:
    return [
        Seen("", one["type_of_reference"], one.get("year", ""), len(one.get("authors", ())))
        for one in rispy.loads(text)
    ]


def by_bibtex(text: str, folder: Path) -> list[Seen]:
    (folder / "papers.bib").write_text(text, encoding="utf-8")
    (folder / "papers.aux").write_text(
        "\\citation{*}\n\\bibdata{papers}\n\\bibstyle{listing}\n", encoding="utf-8"
    )
    shutil.copy(HERE / "listing.bst", folder)
    said = _run(folder, "bibtex", "papers")
    assert "error message" not in said, said
    lines = (folder / "papers.bbl").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [Seen(key, type_, year, int(authors)) for key, type_, year, authors in rows]


_ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^ *(\w+) += \{(.*)\},?$", re.MULTILINE)


def by_biber(text: str, folder: Path) -> list[Seen]:
    (folder / "papers.bib").write_text(text, encoding="utf-8")
    _run(
        folder,
        *("biber", "--tool", "--output-format=bibtex", "--output-file=read.bib"),
        *("--output-fieldcase=lower", "papers.bib"),
    )
    seen = []
    for type_, key, body in _ENTRY.findall((folder / "read.bib").read_text("utf-8")):
        fields = dict(_FIELD.findall(body))
        year = fields.get("date", fields.get("year", ""))[:4]
        seen.append(Seen(key, type_, year, _count_names(fields.get("author", ""))))
    return seen


def _count_names(authors: str) -> int:
    """Count the names of BibTeX: within braces, `and` is a word of a name."""
    while "{" in authors:
        authors = re.sub(r"\{[^{}]*\}", "x", authors)
    return len(authors.split(" and ")) if authors else 0


def by_citation_js(suffix: str) -> Callable[[str, Path], list[Seen]]:
    def read(text: str, folder: Path) -> list[Seen]:
        file = folder / f"papers.{suffix}"
        file.write_text(text, encoding="utf-8")
        return _items(json.loads(_run(folder, "node", HERE / "citation.js", NODE, file)), suffix)

    return read


def _items(items: Iterable[Mapping[str, Any]], suffix: str) -> list[Seen]:
    return [
        Seen(
            "" if suffix == "ris" else one["id"],
            one["type"],
            str(one["year"] or ""),
            len(one["authors"]),
        )
        for one in items
    ]


def by_pandoc(form: str) -> Callable[[str, Path], list[Seen]]:
    def read(text: str, folder: Path) -> list[Seen]:
        items = json.loads(_run(folder, "pandoc", f"--from={form}", "--to=csljson", text=text))
        return [
            Seen(
                one["id"],
                one["type"],
                str(one["issued"]["date-parts"][0][0]) if "issued" in one else "",
                len(one.get("author", ())),
            )
            for one in items
        ]

    return read


def bibliography(csl_json: str, folder: Path) -> list[str]:
    """Return the references that pandoc prints, by its own style."""
    (folder / "papers.json").write_text(csl_json, encoding="utf-8")
    text = "---\nbibliography: papers.json\nnocite: '@*'\n---\n"
    said = _run(folder, "pandoc", "--citeproc", "--to=plain", "--wrap=none", text=text)
    return [line for line in said.split("\n\n") if line.strip()]


@dataclass(frozen=True, slots=True)
class Reader:
    """A program, the format that it reads, and its names of what it tells apart."""

    name: str
    program: str
    format: Format
    read: Callable[[str, Path], list[Seen]]
    types: Mapping[WorkType, str]

    @property
    def is_installed(self) -> bool:
        if self.program == "node":
            return shutil.which("node") is not None and (NODE / "citation-js").exists()
        return not self.program or shutil.which(self.program) is not None


def _types(words: str) -> Mapping[WorkType, str]:
    return dict(zip(WorkType, words.split(), strict=True))


# Preprint, article, conference paper, chapter, book, thesis, report, dataset, other.
_RIS = _types("UNPB JOUR CPAPER CHAP BOOK THES RPRT DATA GEN")
_BIBTEX = _types("misc article inproceedings incollection book phdthesis techreport misc misc")
_BIBER = _types("misc article inproceedings incollection book thesis report misc misc")
_CSL = _types(
    "article article-journal paper-conference chapter book thesis report dataset document"
)
_CSL_OF_BIBTEX = _types(
    "document article-journal paper-conference chapter book thesis report document document"
)
_CSL_OF_RIS = _types(
    "manuscript article-journal paper-conference chapter book thesis report dataset document"
)
# pandoc has no type for `@misc`.
_CSL_OF_PANDOC = {
    type_: "" if name == "document" else name for type_, name in _CSL_OF_BIBTEX.items()
}

READERS = (
    Reader("rispy", "", "ris", by_rispy, _RIS),
    Reader("BibTeX", "bibtex", "bibtex", by_bibtex, _BIBTEX),
    Reader("biber", "biber", "bibtex", by_biber, _BIBER),
    Reader("citation-js (BibTeX)", "node", "bibtex", by_citation_js("bib"), _CSL_OF_BIBTEX),
    Reader("citation-js (RIS)", "node", "ris", by_citation_js("ris"), _CSL_OF_RIS),
    Reader("citation-js (CSL)", "node", "csl-json", by_citation_js("json"), _CSL),
    Reader("pandoc (BibTeX)", "pandoc", "bibtex", by_pandoc("bibtex"), _CSL_OF_PANDOC),
    Reader("pandoc (BibLaTeX)", "pandoc", "bibtex", by_pandoc("biblatex"), _CSL_OF_PANDOC),
    Reader("pandoc (CSL)", "pandoc", "csl-json", by_pandoc("csljson"), _CSL),
)
