"""Different engines, one answer: ours beside SQLite FTS5 and regular expressions."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_other_engines_find_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    made = import_module("corpus").Made(5)
    engines = import_module("peers")
    topics, papers = list(made.topics(1_000)), list(made.papers(120))
    ours, fts5, regex = (
        {(int(paper), int(topic)) for paper, topic in kind(topics).pairs(papers)}
        for kind in (engines.Ours, engines.Fts5, engines.Regex)
    )
    assert len(ours) > 100
    assert ours == fts5 == regex
