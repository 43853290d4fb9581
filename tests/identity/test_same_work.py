"""A title is a candidate, never proof: authors or the abstract must bear it out."""

from itertools import combinations

import pytest

from monitor.diff import same_work
from monitor.identity.features import compare_identifiers, gather
from monitor.identity.same_work import RULES
from monitor.model import Paper
from tests.identity import kept_apart, other_sets
from tests.identity.other_sets import ABSTRACT, AUTHORS, TITLE

BRITISH = (
    "We analyse the behaviour of labelled tumour cells in modelled haemorrhages, optimise the "
    "centre of each fibre, characterise its colour, and catalogue neighbouring leukaemia cells."
)
AMERICAN = (
    "We analyze the behavior of labeled tumor cells in modeled hemorrhages, optimize the "
    "center of each fiber, characterize its color, and catalog neighboring leukemia cells."
)


def by(*authors, title=TITLE, **more):
    return Paper(title, authors=authors, **more)


SAME = {
    "the same arXiv paper in two versions": (
        Paper(TITLE, keys={"arxiv": "2401.01234v1"}),
        Paper("A new title entirely", keys={"arxiv": "2401.01234v2"}),
    ),
    "one DOI in two spellings": (
        Paper(TITLE, keys={"doi": "10.1000/ABC"}),
        Paper(TITLE, keys={"doi": "https://doi.org/10.1000/abc"}),
    ),
    "British and American spelling, with authors": other_sets.swapped(
        "Optimisation of Tumour Behaviour", "Optimization of Tumor Behavior", "", ""
    ),
    "British and American spelling, no authors": (
        Paper("Optimisation of Tumour Behaviour", BRITISH),
        Paper("Optimization of Tumor Behavior", AMERICAN),
    ),
    "title and abstract, no authors": (Paper(TITLE, ABSTRACT), Paper(TITLE.upper(), ABSTRACT)),
    "title and an abstract cut by a feed": (Paper(TITLE, ABSTRACT), Paper(TITLE, ABSTRACT[:120])),
    "authors in another order": (by(*AUTHORS), by(*reversed(AUTHORS))),
    "authors as one string, family names first": (
        by(*AUTHORS),
        by("Lovelace, A.; Turing, A.M.; Hopper, G."),
    ),
    "authors cut by et al.": (by(*AUTHORS), by("A. Lovelace et al.")),
    "names read in another encoding": (
        by("JÃ¼rgen GÃ¼nther", "Ada Lovelace"),
        by("Jürgen Günther", "Ada Lovelace"),
    ),
    "names read as Cyrillic": (by("R GќNTHER"), by("R. Günther", year=2001)),
    "a typo in the title": (by(*AUTHORS), by(*AUTHORS, title=TITLE.replace("Agents", "Agnets"))),
    "a subtitle more": (by(*AUTHORS), by(*AUTHORS, title=f"{TITLE}: Search over Programs")),
    "no author readable, but place and year the same": (
        by(*AUTHORS, venue="SIGMOD Conference", year=2001),
        Paper(TITLE, venue="International Conference on Management of Data", year=2001),
    ),
}

DIFFERENT = {
    "a column by others": (
        by("Ada Lovelace", title="Editorial"),
        by("Grace Hopper", title="Editorial"),
    ),
    "a column by the same a year later": (
        by("Ada Lovelace", title="Guest Editor's Introduction", year=2002),
        by("Ada Lovelace", title="Guest Editor's Introduction", year=2003),
    ),
    "a column whose heading is spaced otherwise, with one link": (
        Paper("Editorial", url="https://doi.org/10.1000/7"),
        Paper("E ditorial", keys={"doi": "10.1000/8"}, url="https://doi.org/10.1000/7"),
    ),
    "one title, other arXiv ids, abstracts alike": (
        Paper(TITLE, ABSTRACT, keys={"arxiv": "2401.01234"}),
        Paper(TITLE, ABSTRACT, keys={"arxiv": "2402.04321"}),
    ),
    "parts of one series": other_sets.swapped("I", "II", "Lectures on Agents, Part ", ""),
    "parts of one series, one not numbered": other_sets.swapped("", ", Part II", TITLE, ""),
    "nothing in common": (Paper(TITLE), Paper("Sampling Proteins at Equilibrium")),
}

# Likely one work, and not enough to hide a paper for ever.
NOT_SURE = {
    "one title, nothing else": (Paper(TITLE), Paper(TITLE)),
    "a title of its author's surname": (Paper("Turing"), by("Tina Turing", title="Turing")),
    "retitled, and no author given": (
        Paper(TITLE, ABSTRACT),
        Paper(f"{TITLE} and Apart", f"{ABSTRACT} It is another study of theirs."),
    ),
    "other authors": (by("Ada Lovelace", "Grace Hopper"), by("Emmy Noether", "Marie Curie")),
    "at a conference, and extended in a journal": (
        by(*AUTHORS, venue="VLDB", year=1999),
        by(*AUTHORS, venue="VLDB Journal", year=2001),
    ),
    "a work about a work": (by(*AUTHORS), by(*AUTHORS, title=f"Erratum to: {TITLE}")),
    "a comment by others": (by(*AUTHORS), by("Emmy Noether", title=f"Comment on {TITLE}")),
    "an overview of it": (by(*AUTHORS), by(*AUTHORS, title=f"Overview of {TITLE}")),
}


ALL_SAME = [*SAME.items(), *kept_apart.SAME.items(), *other_sets.SAME.items()]
ALL_DIFFERENT = [
    *DIFFERENT.items(),
    *NOT_SURE.items(),
    *kept_apart.DIFFERENT.items(),
    *other_sets.DIFFERENT.items(),
]
# Another number makes two works likelier than one.
COUNTED = ("counted off by signs", "another version of a system", "another energy", "Teil")
UNLIKELY = [*DIFFERENT.items(), *((name, other_sets.DIFFERENT[name]) for name in COUNTED)]


@pytest.mark.parametrize(("name", "pair"), ALL_SAME)
def test_same(name, pair):
    verdict = same_work(*pair)
    assert verdict.same, verdict
    assert verdict.score > 0.5


@pytest.mark.parametrize(("name", "pair"), ALL_DIFFERENT)
def test_different(name, pair):
    assert not same_work(*pair).same, same_work(*pair)


@pytest.mark.parametrize(("name", "pair"), UNLIKELY)
def test_likelier_two(name, pair):
    assert same_work(*pair).score < 0.5, same_work(*pair)


def test_the_order_of_no_two_records_matters():
    records = [paper for _, pair in (*ALL_SAME, *ALL_DIFFERENT) for paper in pair]
    for a, b in combinations(records, 2):
        assert same_work(a, b) == same_work(b, a), (a, b)


WORDS = {
    "same doi 10.1000/abc": SAME["one DOI in two spellings"],
    "different arxiv": DIFFERENT["one title, other arXiv ids, abstracts alike"],
    "same title": SAME["title and abstract, no authors"],
    "titles agree to 98%": SAME["a typo in the title"],
    "a title that returns with every issue": DIFFERENT["a column by others"],
    "another part or number": DIFFERENT["parts of one series"],
    "one has words before the other's title": NOT_SURE["an overview of it"],
    "one is about the other": NOT_SURE["a work about a work"],
    "authors not given": NOT_SURE["one title, nothing else"],
    "authors agree to 100%": SAME["authors in another order"],
    "2 years apart": NOT_SURE["at a conference, and extended in a journal"],
    "1 year apart": DIFFERENT["a column by the same a year later"],
    "one in a journal, one at a conference": NOT_SURE["at a conference, and extended in a journal"],
    "other venues": (
        by(*AUTHORS, venue="VLDB"),
        by(*AUTHORS, venue="SIGMOD Conference"),
    ),
    "abstracts agree to 95%": SAME["title and an abstract cut by a feed"],
    "abstracts not comparable": NOT_SURE["one title, nothing else"],
    "titles differ": DIFFERENT["nothing in common"],
    "no author in common": DIFFERENT["nothing in common"],
    "one conference, in two years": kept_apart.DIFFERENT["one conference in two years"],
    "the abstracts do not outweigh the other words of the titles": kept_apart.DIFFERENT[
        "two rare words each"
    ],
    "a title that may return": kept_apart.DIFFERENT["a column of two years"],
    "different pmid": kept_apart.DIFFERENT["two editorials of one title with two PMIDs"],
    "revised under another number": kept_apart.SAME["one number revised"],
}


@pytest.mark.parametrize(("words", "pair"), WORDS.items(), ids=WORDS)
def test_the_evidence_is_explained_in_words(words, pair):
    assert words in same_work(*pair).why


# The others only give reasons: neither of their conditions is set.
SEPARATING = {rule for rule in RULES if rule.vetoes is not rule.contradicts}


def test_each_rule_that_separates_is_the_only_one_for_some_pair():
    """Without it, the pair would be joined."""
    only = set()
    for _, (a, b) in ALL_DIFFERENT:
        if evidence := gather(a, b, compare_identifiers(a, b).conflict):
            holding = [rule for rule in RULES if rule.holds(evidence)]
            against = [r for r in holding if r.vetoes(evidence) or r.contradicts(evidence)]
            only |= set(against) if len(against) == 1 else set()
    assert only == SEPARATING
