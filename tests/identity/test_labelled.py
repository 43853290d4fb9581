"""The decision on labelled pairs: two public benchmarks, and preprints with what was published."""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from monitor.diff import same_work

ROOT = Path(__file__).parents[2]
PAIRS = ROOT.parent / "shared" / "data" / "dedupe"

pytestmark = pytest.mark.skipif(not PAIRS.is_dir(), reason=f"no labelled pairs in {PAIRS}")


@pytest.fixture(scope="module")
def judged():
    """Kind to [(verdict, same)]; the two orders of every pair are held to be one."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import labelled
    finally:
        sys.path.pop(0)
    found = defaultdict(list)
    for pair in labelled.read(PAIRS):
        verdict = same_work(pair.a, pair.b)
        assert same_work(pair.b, pair.a) == verdict
        found[pair.kind].append((verdict, pair.same))
    return found


def precision_and_recall(judged, says):
    said = [same for verdict, same in judged if says(verdict)]
    return sum(said) / len(said), sum(said) / sum(same for _, same in judged)


@pytest.mark.parametrize(("kind", "least"), [("dblp-acm", 0.984), ("dblp-scholar", 0.947)])
def test_the_score_is_balanced_at_one_half(judged, kind, least):
    p, r = precision_and_recall(judged[kind], lambda verdict: verdict.score >= 0.5)
    assert 2 * p * r / (p + r) >= least


@pytest.mark.parametrize(
    ("kind", "precision", "recall"), [("dblp-acm", 0.995, 0.90), ("dblp-scholar", 0.985, 0.80)]
)
def test_the_decision_is_stricter(judged, kind, precision, recall):
    p, r = precision_and_recall(judged[kind], lambda verdict: verdict.same)
    assert p >= precision
    assert r >= recall


@pytest.mark.parametrize(("kind", "least"), [("same_title", 0.95), ("changed_title", 0.75)])
def test_published_copies_of_preprints_are_recognised(judged, kind, least):
    verdicts = [verdict.same for verdict, _ in judged[kind]]
    assert sum(verdicts) / len(verdicts) >= least


def test_other_papers_by_the_same_authors_are_other_papers(judged):
    assert sum(verdict.same for verdict, _ in judged["same_authors_different_paper"]) <= 2
