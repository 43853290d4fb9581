"""Whether the abstracts of two records outweigh the words in which their titles differ."""

from __future__ import annotations

from monitor.identity.features import Evidence

# From this share of the shorter abstract on, it is one text.
SAME_ABSTRACT = 0.6
# Each title has a rare word of its own ("in Kenya", "in Ghana"); two of them; a common one.
SWAPPED = 2.0
SWAPPED_TWICE = 4.0
SWAPPED_COMMON = 1.0
# One title has one more rare word.
ANOTHER_WORD = 2.0
# One title has three words of its own, or as much in rare ones.
OWN_WORDS = 3.0
# The share of an abstract that is kept when a draft is retitled and reworked, when hardly a word of
# the title stays, and when a paper is printed under another title: groups reuse their abstracts for
# their next paper.
ALIKE_ABSTRACT = 0.3
KEPT_ABSTRACT = 0.4
PRINTED_AGAIN = 0.75
# The share of a draft's abstract that has hardly a pair of words in common with the final one.
MAX_NEW_PASSAGES = 0.25
# The abstract of a revision, except for some words.
REVISED_ABSTRACT = 0.9


def has_other_title(found: Evidence) -> bool:
    """Whether the titles differ in words, and the abstracts do not outweigh that."""
    if found.title.equal:
        return False
    if found.abstract is None:
        return _differ_without_abstracts(found)
    if _printed_at_two_conferences(found):
        return True
    return found.abstract < _min_abstract(found)


def _differ_without_abstracts(found: Evidence) -> bool:
    """Whether the titles alone have too many words of their own."""
    title = found.title
    if title.either < SWAPPED_COMMON:
        return False
    together = found.one_conference and found.years_apart == 0 and found.published
    elsewhere = title.alone >= OWN_WORDS and not found.series
    return title.either >= SWAPPED or elsewhere or together


def _printed_at_two_conferences(found: Evidence) -> bool:
    """Whether two conferences printed two titles: groups reuse even whole abstracts there."""
    if not found.two_conferences or not found.published:
        return False
    title, text = found.title, found.abstract or 0.0
    added = title.alone >= ANOTHER_WORD and not title.subtitled
    return title.either >= SWAPPED_COMMON or (added and text < REVISED_ABSTRACT)


def _min_abstract(found: Evidence) -> float:
    """The share of the abstracts that records of unequal titles must have in common."""
    if found.no_place:
        return _min_abstract_without_place(found)
    if found.published:
        return _min_abstract_of_prints(found)
    if found.title.either >= SWAPPED_TWICE:
        return KEPT_ABSTRACT
    return ALIKE_ABSTRACT if found.title.either >= SWAPPED else 0.0


def _min_abstract_without_place(found: Evidence) -> float:
    """The share that two records need which do not say whether one is a draft.

    A draft is reworked throughout. The next paper of a group repeats whole sentences of the last
    one, beside others that are new.
    """
    if found.authors is None or found.authors.share < 1:
        return _min_abstract_of_prints(found)
    if found.title.either < SWAPPED_COMMON:
        return ALIKE_ABSTRACT
    new = found.title.either >= OWN_WORDS or found.new_passages > MAX_NEW_PASSAGES
    return SAME_ABSTRACT if new else KEPT_ABSTRACT


def _min_abstract_of_prints(found: Evidence) -> float:
    """The share that two printed papers need: groups reuse their abstracts for the next one."""
    if found.title.subtitled:
        return ALIKE_ABSTRACT
    if found.title.either >= SWAPPED_COMMON:
        return PRINTED_AGAIN
    return SAME_ABSTRACT if found.title.alone >= ANOTHER_WORD else ALIKE_ABSTRACT
