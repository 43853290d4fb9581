"""A paper is explained once for all subscriptions that share the topic."""

from __future__ import annotations

from monitor.match import TopicIndex, TopicReader, build_index
from monitor.model import Paper, Topic
from monitor.pipeline.active_config import InForce, cached_explain
from tests.match import duel


def test_an_explanation_is_worked_out_once() -> None:
    explain = cached_explain(TopicIndex({"t": "agent"}).why)
    first = explain("t", Paper("Agents", raw_id="1"), ("a",))
    assert first[0].words == ("Agents",)
    assert explain("t", Paper("Agents", raw_id="2"), ["a"]) is first


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


def test_topics_are_explained_without_an_index_as_with_one() -> None:
    dice = duel.Random(5)
    drawn = [one for one in (duel.draw_topic(dice) for _ in range(60)) if isinstance(one, str)]
    topics = [Topic(f"t{n}", query) for n, query in enumerate(drawn)] + [Topic("wrong", "(")]
    index, reader = build_index(topics), TopicReader(topics)
    papers = [duel.paper(dice) for _ in range(30)]
    found = 0
    for name in [topic.name for topic in topics]:
        assert str(reader.error(name)) == str(index.error(name))
        for paper in papers:
            why = reader.why(name, paper, ("arxiv",))
            assert why == index.why(name, paper, ("arxiv",))
            found += bool(why)
    assert found > 20
    assert index.error("wrong")
    assert (reader.error("unknown"), reader.why("unknown", papers[0])) == (None, ())


def test_other_topics_explain_anew() -> None:
    in_force = InForce()
    first, second = (Topic("t", "agent"),), (Topic("t", "robot"),)
    paper = Paper("Robots and agents")
    assert [why.words for why in in_force.explain(first)("t", paper, ())] == [("agents",)]
    assert [why.words for why in in_force.explain(second)("t", paper, ())] == [("Robots",)]
