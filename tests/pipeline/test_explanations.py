"""A paper is explained once for all subscriptions that share the topic."""

from __future__ import annotations

from monitor.match import TopicIndex
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
