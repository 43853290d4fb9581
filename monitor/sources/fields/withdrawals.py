"""Papers whose title begins with the mark of a withdrawn one, as publishers rename them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from monitor.model import CONCERN, CORRECTION, RETRACTION, Paper
from monitor.text import without_withdrawal

# A notice may have the title of its paper with the mark before it, and is not withdrawn itself.
_NOTICES = (RETRACTION, CORRECTION, CONCERN)


def strip_withdrawal_marks(papers: Sequence[Paper]) -> Sequence[Paper]:
    """Return papers with "RETRACTED: Title" as "Title", withdrawn; whatever their source."""
    titles = [without_withdrawal(paper.title) for paper in papers]
    if all(title is paper.title for title, paper in zip(titles, papers, strict=True)):
        return papers
    return [
        paper
        if title is paper.title
        else structs.replace(paper, title=title, withdrawn=paper.type not in _NOTICES)
        for title, paper in zip(titles, papers, strict=True)
    ]
