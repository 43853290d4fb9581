"""A paper as a digest shows it: clean, its mathematics readable, no text longer than is read."""

from __future__ import annotations

from msgspec import structs

from monitor.digest.latex_to_text import find_formulas, to_readable_text
from monitor.kept import kept
from monitor.model import Formula, Paper
from monitor.text import clean

# A digest shows two sentences of an abstract, and looks for them in this many characters.
MAX_ABSTRACT_LENGTH = 20_000
# The longest titles have some five hundred characters.
MAX_TITLE_LENGTH = 2_000


def shown(paper: Paper) -> Paper:
    """Return the paper as a digest shows it: clean Unicode, mathematics readable."""
    return structs.replace(
        shown_title(paper), abstract=_shown_abstract(paper.abstract[:MAX_ABSTRACT_LENGTH])
    )


def shown_title(paper: Paper) -> Paper:
    """Return the paper as a digest lists it by title: without its abstract."""
    return structs.replace(
        paper,
        title=readable_title(paper.title),
        abstract="",
        authors=_shown_authors(paper.authors),
        venue=_shown(paper.venue),
    )


def readable_title(title: str) -> str:
    """Return a title as a digest shows it."""
    return _shown(title[:MAX_TITLE_LENGTH])


# Papers are in the digests of several subscriptions. A title takes some hundred bytes, an abstract
# a few thousand.
@kept(16_384)
def _shown(text: str) -> str:
    source = clean(text)
    return clean(to_readable_text(source)) or source


@kept(16_384)
def _shown_authors(authors: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_shown.__wrapped__, authors))


_shown_abstract = kept(1_024)(_shown.__wrapped__)


@kept(1_024)
def formulas_of(title: str, abstract: str) -> tuple[Formula, ...]:
    """Return the formulas of a paper that more than one sign stands for in the text shown."""
    formulas = find_formulas(clean(f"{title[:MAX_TITLE_LENGTH]} {abstract[:MAX_ABSTRACT_LENGTH]}"))
    return tuple(Formula(text, tex) for text, tex in formulas if len(text) > 1)
