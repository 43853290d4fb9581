"""Different engines, one answer: ours beside SQLite FTS5 and regular expressions."""

from __future__ import annotations

from itertools import islice

from benchmarks.corpus import Made
from benchmarks.peers import Fts5, Ours, Regex


def test_other_engines_find_the_same_pairs() -> None:
    made = Made(5)
    topics = list(made.topics(400))
    papers = list(islice(made.papers(120), 120))
    engines = [kind(topics) for kind in (Ours, Fts5, Regex)]
    ours, fts5, regex = ({(int(p), int(t)) for p, t in e.pairs(papers)} for e in engines)
    assert len(ours) > 100
    assert ours == fts5 == regex
