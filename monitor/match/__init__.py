"""Watch-topics: a language to write them in, and an index that meets papers with them."""

from monitor.match.index import NO_FILTERING, Match, TopicIndex
from monitor.match.keywords import keywords, sought
from monitor.match.query import parse_query
from monitor.match.synonyms import Synonyms
from monitor.match.text_prefilter import adjoining
from monitor.match.topics import Standing, index_of, understood
from monitor.match.tree import Query
from monitor.match.unseen_words import unseen_words

__all__ = [
    "NO_FILTERING",
    "Match",
    "Query",
    "Standing",
    "Synonyms",
    "TopicIndex",
    "adjoining",
    "index_of",
    "keywords",
    "parse_query",
    "sought",
    "understood",
    "unseen_words",
]
