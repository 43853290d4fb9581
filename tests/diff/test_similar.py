"""A title is a candidate, never proof: authors or the abstract must bear it out."""

import pytest

from monitor.diff import same_work
from monitor.model import Paper

TITLE = "Learning to Plan with Language Agents in Open Worlds"
ABSTRACT = (
    "We study how language agents learn to plan in open worlds. Our method searches over "
    "programs and reuses what it finds. On three benchmarks it halves the number of steps."
)
OTHER = (
    "Protein folding remains a challenge for molecular dynamics. We present a sampler that "
    "respects symmetries and show that it reaches equilibrium in a tenth of the time."
)
AUTHORS = ("Ada Lovelace", "Alan M. Turing", "Grace Hopper")

SAME = {
    "the same arXiv paper in two versions": (
        Paper(TITLE, keys={"arxiv": "2401.01234v1"}),
        Paper("A new title entirely", keys={"arxiv": "2401.01234v2"}),
    ),
    "one DOI in two spellings": (
        Paper(TITLE, keys={"doi": "10.1000/ABC"}),
        Paper(TITLE, keys={"doi": "https://doi.org/10.1000/abc"}),
    ),
    "title and abstract, no authors": (Paper(TITLE, ABSTRACT), Paper(TITLE.upper(), ABSTRACT)),
    "title and an abstract cut by a feed": (Paper(TITLE, ABSTRACT), Paper(TITLE, ABSTRACT[:120])),
    "title and authors in the other order of names": (
        Paper(TITLE, authors=AUTHORS),
        Paper(TITLE, authors=("Lovelace, A.", "Turing, A. M.", "Hopper, G.")),
    ),
    "title and authors cut by et al.": (
        Paper(TITLE, authors=AUTHORS),
        Paper(TITLE, authors=("A. Lovelace et al.",)),
    ),
}

DIFFERENT = {
    "one title, nothing else": (Paper(TITLE), Paper(TITLE)),
    "one title, other abstracts": (Paper("Introduction", ABSTRACT), Paper("Introduction", OTHER)),
    "one title, other authors": (
        Paper("Editorial", authors=("Ada Lovelace",)),
        Paper("Editorial", authors=("Grace Hopper",)),
    ),
    "one title, authors on one side and an abstract on the other": (
        Paper(TITLE, authors=AUTHORS),
        Paper(TITLE, ABSTRACT),
    ),
    "one title, other arXiv ids, abstracts alike": (
        Paper(TITLE, ABSTRACT, keys={"arxiv": "2401.01234"}),
        Paper(TITLE, ABSTRACT, keys={"arxiv": "2402.04321"}),
    ),
    "parts of one series": (
        Paper("Lectures on Agents, Part I", authors=AUTHORS),
        Paper("Lectures on Agents, Part II", authors=AUTHORS),
    ),
    "initials that contradict": (
        Paper("Editorial", authors=("A. Wang",)),
        Paper("Editorial", authors=("L. Wang",)),
    ),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_same(pair):
    a, b = pair
    for verdict in (same_work(a, b), same_work(b, a)):
        assert verdict.same, verdict
        assert verdict.score > 0.5


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_different(pair):
    a, b = pair
    for verdict in (same_work(a, b), same_work(b, a)):
        assert not verdict.same, verdict
        assert verdict.score < 0.5
    assert same_work(a, b) == same_work(b, a)


def test_the_evidence_is_told_in_words():
    a, b = SAME["title and an abstract cut by a feed"]
    assert same_work(a, b).why == ("same title", "authors not given", "abstracts agree to 95%")
    a, b = SAME["one DOI in two spellings"]
    assert same_work(a, b).why[0] == "same doi 10.1000/abc"
