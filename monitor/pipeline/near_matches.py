"""Papers just below the bars of `like:` topics: found as papers match, for a model to look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from monitor.match import TopicIndex, build_index
from monitor.match.like import with_lower_bar
from monitor.model import Topic
from monitor.pipeline.runtime import Runtime

# Papers of a topic that a model is asked about in a day.
MOST_NEAR_A_DAY = 20
# News of this time is sent, and may be added.
RECENT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class NearTopics:
    """The `like:` topics, and an index of them, with lower bars."""

    topics: Mapping[str, Topic]
    index: TopicIndex


def near_topics(runtime: Runtime, topics: Iterable[Topic]) -> NearTopics | None:
    """Return topics by which papers just below their bars are found, None where there are none."""
    if not runtime.embeddings:
        return None
    lowered = {
        topic.name: with_lower_bar(topic, topic.words)
        for topic in topics
        if topic.like and topic.words
    }
    return NearTopics(lowered, build_index(lowered.values())) if lowered else None
