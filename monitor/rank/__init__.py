"""Ranking by feedback: a linear model of words, learned for each digest from ratings.

features   a paper as weights of its words
learn      a ranking from judged papers; what it says of a paper, and why
word_counts.z   in how many of 10,000 papers each word stands (`benchmarks/count_words.py`)

    ranking = learn([Judged(paper, "wanted"), Judged(other, "unwanted")], ["agent", "model"])
    ranking.score(paper, lexical=3.2)
    ranking.why(paper).papers
"""

from monitor.model import Verdict as Verdict
from monitor.rank.features import Features as Features
from monitor.rank.features import features as features
from monitor.rank.features import features_of as features_of
from monitor.rank.features import written_words as written_words
from monitor.rank.learn import MAX_JUDGED as MAX_JUDGED
from monitor.rank.learn import Judged as Judged
from monitor.rank.learn import Ranking as Ranking
from monitor.rank.learn import learn as learn
