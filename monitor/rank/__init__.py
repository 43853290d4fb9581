"""Ranking by feedback: a linear model of words, learned for each digest from ratings.

features   a paper as weights of its words
learn      a ranking from judged papers; what it says of a paper, and why
word_counts.z   in how many of 10,000 papers each word stands (`benchmarks/count_words.py`)

    ranking = learn([Judged(paper, "wanted"), Judged(other, "unwanted")], ["agent", "model"])
    ranking.score(paper, lexical=3.2)
    ranking.why(paper).papers
"""

from monitor.model import Verdict
from monitor.rank.features import Features, features, features_of, written_words
from monitor.rank.learn import (
    MAX_JUDGED,
    Judged,
    PaperShare,
    Place,
    Ranking,
    Reason,
    Why,
    WordShare,
    learn,
)

__all__ = [
    "MAX_JUDGED",
    "Features",
    "Judged",
    "PaperShare",
    "Place",
    "Ranking",
    "Reason",
    "Verdict",
    "Why",
    "WordShare",
    "features",
    "features_of",
    "learn",
    "written_words",
]
