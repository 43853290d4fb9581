"""Are two records the same work? Evidence for and against, weighed; a false merge weighs most.

The score balances everything that `evidence` finds by the table in `weights`. The decision that
ingest takes asks for more: enough odds, a witness beside the title, and none of what tells two
works of one title apart. Identifiers of one scheme that differ speak against it, unless
everything else agrees to the letter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.diff.evidence import Evidence, abstract_agreement, gather, identified
from monitor.diff.weights import balance
from monitor.model import Paper

__all__ = ["SAME_ABSTRACT", "Verdict", "abstract_agreement", "same_work"]

SAME_ABSTRACT = 0.6
# A merge that is wrong hides a paper for ever, and so weighs ten misses: ln 10 = 2.3, less what
# the conditions below already keep away.
SURE = 0.6
# Three rare words, or as much in commoner ones: no title that two papers hit upon.
TELLING_TITLE = 6.5
# Four rare words, or more: nobody writes such a title twice in a year, wherever it is printed.
UNHEARD_OF = 8.5
# What a title and the authors in common must tell together: a rare word and two people.
TELLING_TOGETHER = 4.0
# Each title says a rare word of its own: "in Kenya" and "in Ghana".
SWAPPED = 2.0
# So much of an abstract is kept where a paper is retitled and reworked.
ALIKE_ABSTRACT = 0.3
# And this little is common to any two of one field.
UNLIKE_ABSTRACT = 0.04
# Two identifiers of one scheme, two parts or numbers, are two works, however alike.
CONTRADICTED = -1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`score` from 0 to 1, balanced at 0.5; `same`, the stricter decision; `why`, in words."""

    score: float
    same: bool
    why: tuple[str, ...]


def same_work(a: Paper, b: Paper) -> Verdict:
    """Say whether two records are one work, and why. The order of the two does not matter."""
    shared, conflict = identified(a, b)
    if shared:
        return Verdict(1.0, True, (f"same {shared}",))
    found = gather(a, b)
    if found is None:
        return Verdict(0.0, False, ("titles differ", "no author in common"))
    odds = balance(found)
    if (conflict and not _to_the_letter(found)) or _counted_apart(found):
        odds = min(odds, 0.0) + CONTRADICTED
    same = odds >= SURE and _witnessed(found) and not any(_apart(found))
    return Verdict(_share(odds), same, tuple(_words(found, conflict)))


def _counted_apart(found: Evidence) -> bool:
    """Two parts, or another number in the title, unless the same is said under it."""
    return found.title.other_part or (found.title.other_number and not _same_text(found))


def _same_text(found: Evidence) -> bool:
    return found.abstract is not None and found.abstract >= SAME_ABSTRACT


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))


def _witnessed(found: Evidence) -> bool:
    """A title alone never proves it: authors, abstract, or venue and year must bear it out."""
    if found.authors is not None and found.authors.met:
        # One author in common, and "Agents": anyone has written that twice.
        telling = found.title.shared + found.authors.met >= TELLING_TOGETHER
        return telling or _same_text(found) or _same_place(found)
    # Nobody is met where a list is missing or damaged beyond reading.
    if not found.title.equal:
        return False
    if found.abstract is not None:
        return found.abstract >= SAME_ABSTRACT
    if found.authors is None and found.years_apart == 0 and found.title.shared >= UNHEARD_OF:
        return found.series is not False
    # A venue does not print one telling title twice in a year.
    return _same_place(found) and found.title.shared >= TELLING_TITLE


def _same_place(found: Evidence) -> bool:
    return bool(found.series) and found.years_apart == 0


def _apart(found: Evidence) -> Iterator[bool]:
    """What tells two works of like titles apart, whatever else agrees."""
    same_text = _same_text(found)
    yield found.title.other_number
    yield found.title.about
    yield found.title.column and not same_text
    yield found.title.another and not same_text
    yield found.title.either >= SWAPPED and (found.abstract or 0.0) < ALIKE_ABSTRACT
    yield found.other_subject
    yield found.abstract is not None and found.abstract < UNLIKE_ABSTRACT > (found.terms or 0.0)
    yield found.title.preceded and not same_text
    yield found.two_publications and bool(found.years_apart) and not same_text
    yield found.series is False and not same_text


def _to_the_letter(found: Evidence) -> bool:
    """Two ids of one scheme with one title and one list of authors are one work with two ids."""
    authors = found.authors is not None and found.authors.met == found.authors.more
    text = found.abstract is None or found.abstract > 0.9
    return found.title.equal and not found.title.column and authors and text


def _words(found: Evidence, conflict: str) -> Iterator[str]:
    if conflict:
        yield f"different {conflict}"
    yield from _of_titles(found)
    yield from _of_authors(found)
    yield from _of_places(found)
    if found.abstract is None:
        yield "abstracts not comparable"
    else:
        yield f"abstracts agree to {found.abstract:.0%}"
    if found.other_subject:
        yield "each abstract bears out its own title"


def _of_titles(found: Evidence) -> Iterator[str]:
    title = found.title
    yield "same title" if title.equal else f"titles agree to {max(title.letters, title.sorted):.0%}"
    if title.column:
        yield "a title that returns with every issue"
    if title.other_part or title.other_number:
        yield "another part or number"
    if title.another:
        yield "one says that it is another"
    if title.preceded:
        yield "one has words before the other's title"
    if title.about:
        yield "one is about the other"


def _of_authors(found: Evidence) -> Iterator[str]:
    if found.authors is None:
        yield "authors not given"
    else:
        yield f"authors agree to {found.authors.share:.0%}"


def _of_places(found: Evidence) -> Iterator[str]:
    if found.years_apart:
        yield f"{found.years_apart} year{'s' if found.years_apart > 1 else ''} apart"
    if found.two_publications:
        yield "one in a journal, one at a conference"
    elif found.series is False:
        yield "other venues"
