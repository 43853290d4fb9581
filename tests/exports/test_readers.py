"""Other programs read what is exported: each paper once, as what it is, with its year and names.

Programs that are not installed are skipped; `python -m tests.exports` reads many more papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from monitor.commands.export import export
from monitor.digest.citation import cite
from monitor.model import Paper
from tests.exports.papers import OF_EACH_KIND, found, hostile
from tests.exports.readers import READERS, Reader, Seen

PAPERS = [*OF_EACH_KIND.values(), *hostile()]


def faults(reader: Reader, papers: Sequence[Paper], seen: Sequence[Seen]) -> list[str]:
    """Return where a program read something else than what was written, paper by paper."""
    if len(seen) != len(papers):
        return [f"{len(seen)} of {len(papers)} papers were read"]
    found_faults = []
    for paper, one in zip(papers, seen, strict=True):
        citation = cite(paper)
        expected = (
            reader.types[citation.type],
            str(citation.year or ""),
            len(citation.authors),
        )
        read = (one.type, one.year, one.authors)
        if read != expected:
            found_faults.append(f"{one.key or paper.title[:60]!r}: {read}, not {expected}")
    return found_faults


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_each_paper_is_read_as_what_it_is(reader: Reader, tmp_path: Path) -> None:
    if not reader.is_installed:
        pytest.skip(f"{reader.program} is not installed")
    text = "".join(export(found(PAPERS), reader.format))
    assert faults(reader, PAPERS, reader.read(text, tmp_path)) == []
