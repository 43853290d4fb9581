"""Topics: a language to write them in, and an index that finds the papers they match."""

from monitor.match.index import Match as Match
from monitor.match.index import TopicIndex as TopicIndex
from monitor.match.index import build_index as build_index
from monitor.match.language.query import asks_for_numbers as asks_for_numbers
from monitor.match.language.query import meant_by as meant_by
from monitor.match.language.query import parse_query as parse_query
from monitor.match.language.query import parse_topic as parse_topic
from monitor.match.language.synonyms import Synonyms as Synonyms
from monitor.match.language.tree import Query as Query
from monitor.match.like import WordChange as WordChange
from monitor.match.like import choose_bar as choose_bar
from monitor.match.like import learn_words as learn_words
from monitor.match.like import learned_from_text as learned_from_text
from monitor.match.like import propose_words as propose_words
from monitor.match.parts import QueryPart as QueryPart
from monitor.match.parts import find_unseen_words as find_unseen_words
from monitor.match.parts import split_parts as split_parts
from monitor.match.search import paper_keywords as paper_keywords
from monitor.match.search import search_expression as search_expression
from monitor.match.suggestions import suggest as suggest
