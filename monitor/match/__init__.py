"""Topics: a language to write them in, and an index that finds the papers they match.

query, tokens, term_parser, list_syntax, synonyms   text to tree
parts                                               a tree's terms, each by itself
tree, evaluate, occurrences, explain                what a tree means; the reference evaluation
index                                               thousands of topics on a batch of papers
keywords, text_prefilter                            searching stored papers
warnings, too_broad, unseen_words, foreign   likely mistakes in a topic
"""

from monitor.match.index import Match, TopicIndex
from monitor.match.keywords import paper_keywords, search_expression
from monitor.match.parts import QueryPart, split_parts
from monitor.match.query import parse_query, parse_topic
from monitor.match.synonyms import Synonyms
from monitor.match.text_prefilter import build_prefilter
from monitor.match.topics import TopicIndexCache, TopicReader, build_index
from monitor.match.tree import Query
from monitor.match.unseen_words import find_unseen_words

__all__ = [
    "Match",
    "Query",
    "QueryPart",
    "Synonyms",
    "TopicIndex",
    "TopicIndexCache",
    "TopicReader",
    "build_index",
    "build_prefilter",
    "find_unseen_words",
    "paper_keywords",
    "parse_query",
    "parse_topic",
    "search_expression",
    "split_parts",
]
