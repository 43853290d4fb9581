"""A paper is explained once for all subscriptions that share the topic."""

from __future__ import annotations

from msgspec.structs import replace

from monitor.match import TopicIndex
from monitor.model import Paper
from monitor.pipeline.compose import cached_explain
from tests.match import duel


def test_explanations_are_those_of_the_index() -> None:
    """Whatever a topic looks at: texts, names, labels and sources."""
    dice = duel.Random(3)
    topics = [one for one in (duel.draw_topic(dice) for _ in range(80)) if isinstance(one, str)]
    index = TopicIndex(dict(enumerate(topics)))
    explain = cached_explain(index.why)
    found = 0
    for paper in (duel.paper(dice) for _ in range(30)):
        for sources in ((), ("arxiv",)):
            for topic in range(len(topics)):
                why = explain(topic, paper, sources)  # type: ignore[arg-type]
                assert why == index.why(topic, paper, sources)
                found += bool(why)
    assert found > 20


def test_a_paper_with_another_link_is_explained_again() -> None:
    index = TopicIndex({0: "agent has:code"})
    explain = cached_explain(index.why)
    paper = Paper("Agents")
    assert not explain(0, paper, ())  # type: ignore[arg-type]
    coded = replace(paper, links={"code": "https://github.com/a/b"})
    assert explain(0, coded, ())  # type: ignore[arg-type]
