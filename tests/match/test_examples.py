"""Examples of the language beside those of docs/topics.md."""

from __future__ import annotations

import pytest

from monitor.match import TopicIndex
from tests.match.test_docs import paper_of

AT_WORK = "We use graph neural networks (GNNs)."

# A topic, papers that it matches, and papers that it does not.
EXAMPLES: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("matrix", ("Random Matrices",), ("The matricial norm",)),
    ("university", ("Two universities",), ("A universe of tasks",)),
    ('"anemia center"', ("Anaemia centres",), ("Centre for anaemia",)),
    ("story check", ("Check the stories",), ("A storey, by cheque",)),
    ("learning", ("Deep Learning",), ("To learn a learner",)),
    ("LM", ("On LMs",), ("On LMX",)),
    ("end-to-end", ("End to end", "Endtoend", "End-to-end"), ("To end, end",)),
    ('"in formation"', ("Flying in formation",), ("Information", "Formation in flight")),
    ("optimi*", ("Optimisation", "Optimization"), ("Optical",)),
    (
        'title:"neural networks at work"',
        (f"GNNs at work / {AT_WORK}",),
        (f"Work at GNNs / {AT_WORK}",),
    ),
    (
        'author:"Yoshua Bengio"',
        ("author=Bengio, Yoshua", "author=Y. Bengio", "author=Bengio Yoshua"),
        ("author=Yann Bengio",),
    ),
    ("author:beng*", ("author=Yoshua Bengio",), ("author=Ben Recht",)),
    ("title:(agent -robot)", ("Agents",), ("Robot agents",)),
]


@pytest.mark.parametrize(("topic", "matching", "others"), EXAMPLES)
def test_a_topic_matches_the_first_papers_and_not_the_others(
    topic: str, matching: tuple[str, ...], others: tuple[str, ...]
) -> None:
    index = TopicIndex({"example": topic})
    assert index.errors == {}
    for examples, expected in ((matching, True), (others, False)):
        for example in examples:
            paper, sources = paper_of(example)
            assert bool(list(index.match([paper], [sources]))) == expected, example
