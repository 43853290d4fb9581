"""Whether two records are the same work, by weighed evidence; a false merge weighs most.

The score balances all evidence of `features` by the table in `weights`. The decision that ingest
uses is stricter: enough odds, evidence beside the title, and nothing that separates two works of
one title. Different identifiers of one scheme count against it, unless everything else agrees
exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from monitor.identity.contradiction import bears_out, contradiction
from monitor.identity.features import Evidence, abstract_agreement, compare_identifiers, gather
from monitor.identity.keys import identifiers
from monitor.identity.notices import apart, is_about
from monitor.identity.retitled import (
    ALIKE_ABSTRACT,
    REVISED_ABSTRACT,
    SAME_ABSTRACT,
    SWAPPED_COMMON,
    has_other_title,
)
from monitor.identity.weights import balance
from monitor.model import Paper

__all__ = ["SAME_ABSTRACT", "Verdict", "abstract_agreement", "same_work"]

# A wrong merge hides a paper for good, and so weighs ten misses: ln 10 = 2.3, less what the
# conditions below prevent already.
SURE = 0.6
# Three rare words, or as much in common ones: two papers do not hit upon such a title.
TELLING_TITLE = 6.5
# Four rare words: nobody writes such a title twice in a year, wherever it is printed.
UNHEARD_OF = 8.5
# What title and shared authors must weigh together: a rare word and two people.
TELLING_TOGETHER = 4.0
REVISED_TITLE = 0.8
# Any two abstracts of one field share this much.
UNLIKE_ABSTRACT = 0.04
# Two identifiers of one scheme, two parts or numbers, are two works, however similar.
CONTRADICTED = -1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`score` from 0 to 1, balanced at 0.5; `same`, the stricter decision; `why`, the reasons."""

    score: float
    same: bool
    why: tuple[str, ...]


def same_work(a: Paper, b: Paper, abstracts: float | None = None) -> Verdict:
    """Return whether two records are one work, and why. Their order does not matter.

    `abstracts` is how far their abstracts agreed, from 0 to 1, if they are not stored any more;
    anything else unknown about them counts for one work.
    """
    shared, conflict = compare_identifiers(a, b)
    if is_about(a, b):
        return Verdict(0.0, False, ("one is about the other",))
    if shared:
        other = contradiction(identifiers(a), identifiers(b))
        if not other or bears_out(a, b):
            return Verdict(1.0, True, (f"same {shared}",))
        return Verdict(0.0, False, (f"same {shared}", f"different {other}", "texts disagree"))
    if two := apart(a, b):
        return Verdict(0.0, False, (two,))
    found = gather(a, b)
    if found is None:
        return Verdict(0.0, False, ("titles differ", "no author in common"))
    if abstracts is not None:
        found = replace(found, abstract=abstracts, terms=1.0)
    return judge(found, balance(found), conflict)


def judge(found: Evidence, odds: float, conflict: str = "") -> Verdict:
    """Decide by the weighed evidence; `conflict` names a scheme of two ids."""
    if find_contradiction(found, conflict):
        odds = min(odds, 0.0) + CONTRADICTED
    same = odds >= SURE and _has_evidence(found) and not any(_apart(found))
    return Verdict(_share(odds), same, tuple(_words(found, conflict)))


def differ_under_one_name(a: Paper, b: Paper) -> bool:
    """Whether two records with one link or entry name are of two works all the same.

    Names are reused: the page of a whole volume, numbers that start again each year. A source
    corrects the spelling, a word or the text of a work, but hardly its authors or number.
    """
    found = gather(a, b)
    if found is None:
        return False
    title = found.title
    reworded = title.alone >= SWAPPED_COMMON
    if _printed_in_two_years(found):
        return reworded
    if _same_text(found):
        return False
    strangers = found.authors is not None and not found.authors.met
    numbered = title.other_part or title.other_number
    returned = title.column and bool(found.years_apart)
    return (strangers and reworded) or numbered or title.about or returned


def find_contradiction(found: Evidence, conflict: str = "") -> bool:
    """Two ids of one scheme, two parts, a work about the other, the column of another year."""
    return (
        (bool(conflict) and not _to_the_letter(found))
        or found.title.other_part
        or (found.title.other_number and not _same_text(found))
        or found.title.about
        or (found.title.column and bool(found.years_apart) and not _same_text(found))
        or _printed_in_two_years(found)
        or _is_extended_version(found)
    )


def _is_extended_version(found: Evidence) -> bool:
    """Whether one is a conference paper and the other its journal version of another year."""
    two = found.two_publications and not found.cut
    return two and bool(found.years_apart) and not _same_text(found)


def _printed_in_two_years(found: Evidence) -> bool:
    """Whether a conference would have printed two titles in two years: it does not do so."""
    another = not (found.title.equal or found.title.subtitled)
    return found.one_conference and bool(found.years_apart) and another


def _is_revision(found: Evidence) -> bool:
    """Whether only one number of the title differs: smaller models, more users."""
    return (
        not found.title.other_year
        and found.title.letters >= REVISED_TITLE
        and (found.abstract or 0.0) >= REVISED_ABSTRACT
        and (found.same_numbers or found.title.other_bound)
        and found.authors is not None
        and found.authors.share == 1
    )


def _same_text(found: Evidence) -> bool:
    return found.abstract is not None and found.abstract >= SAME_ABSTRACT


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))


def _has_evidence(found: Evidence) -> bool:
    """Whether authors, abstract, or venue and year support the title. Alone it proves nothing."""
    if found.authors is not None and found.authors.met:
        # With one shared author, "Agents" may be two works.
        telling = found.title.shared + found.authors.met >= TELLING_TOGETHER
        return telling or _same_text(found) or _same_place(found)
    # No author matches if a list is missing or too damaged to read.
    if not found.title.equal:
        return False
    if found.abstract is not None:
        return found.abstract >= SAME_ABSTRACT
    if found.authors is None and found.years_apart == 0 and found.title.shared >= UNHEARD_OF:
        return found.series is not False
    # A venue does not print a distinctive title twice in a year.
    return _same_place(found) and found.title.shared >= TELLING_TITLE


def _same_place(found: Evidence) -> bool:
    return bool(found.series) and found.years_apart == 0


def _apart(found: Evidence) -> Iterator[bool]:
    """What separates two works of similar titles, whatever else agrees."""
    same_text = _same_text(found)
    yield found.title.other_number and not _is_revision(found)
    yield found.title.column and not same_text
    yield found.title.another and not same_text
    yield has_other_title(found)
    yield _may_return(found)
    yield found.other_subject
    yield found.abstract is not None and found.abstract < UNLIKE_ABSTRACT > (found.terms or 0.0)
    yield _is_preceded(found) and not same_text
    yield found.two_publications and bool(found.years_apart) and not same_text
    yield found.series is False and not (same_text or _is_resubmission(found))


def _is_preceded(found: Evidence) -> bool:
    """Whether one title is the other with words before it, which has none of its own."""
    return found.title.preceded and found.title.either < SWAPPED_COMMON


def _is_resubmission(found: Evidence) -> bool:
    """Whether a distinctive title by the same people comes with a reworked abstract.

    Such a paper was submitted to one conference and printed at another.
    """
    people, title = found.authors, found.title
    all_met = people is not None and people.share == 1 and people.met > 1
    kept = (found.abstract or 0.0) >= ALIKE_ABSTRACT
    return title.equal and title.shared >= TELLING_TITLE and all_met and kept


def _may_return(found: Evidence) -> bool:
    """Whether a short title in another year, or at one conference, lacks abstracts as proof."""
    if not (found.title.equal and found.published and found.years_apart) or found.abstract:
        return False
    return found.title.shared < TELLING_TITLE or found.one_conference


def _to_the_letter(found: Evidence) -> bool:
    """Whether title, authors and abstract are all equal: one work with two ids."""
    authors = found.authors is not None and found.authors.met == found.authors.more
    text = found.abstract is not None and found.abstract > 0.9
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
    elif has_other_title(found):
        yield "the abstracts do not outweigh the other words of the titles"
    if _may_return(found):
        yield "a title that may return"
    if found.title.other_number and _is_revision(found):
        yield "revised under another number"
    if _printed_in_two_years(found):
        yield "one conference, in two years"


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
