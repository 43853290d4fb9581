"""Topics: a language to write them in, and an index that finds the papers they match.

language       text to tree
meaning        what a tree means; the reference evaluation, explanations and scores
index          thousands of topics on a batch of papers
search         searching stored papers
unseen_words   words of topics that no paper has
"""

from monitor.match.index import Match, TopicIndex, build_index
from monitor.match.language.parts import QueryPart, split_parts
from monitor.match.language.query import parse_query, parse_topic
from monitor.match.language.synonyms import Synonyms
from monitor.match.language.tree import Query
from monitor.match.search import build_prefilter, paper_keywords, search_expression
from monitor.match.unseen_words import find_unseen_words

__all__ = [
    "Match",
    "Query",
    "QueryPart",
    "Synonyms",
    "TopicIndex",
    "build_index",
    "build_prefilter",
    "find_unseen_words",
    "paper_keywords",
    "parse_query",
    "parse_topic",
    "search_expression",
    "split_parts",
]
