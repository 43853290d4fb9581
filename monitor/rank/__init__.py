"""Ranking by feedback: a linear model of words, learned for each digest from ratings.

docs/ranking.md shows how to use it.
"""

from monitor.model import Verdict as Verdict
from monitor.rank.features import NO_FREQUENCIES as NO_FREQUENCIES
from monitor.rank.features import Features as Features
from monitor.rank.features import Frequencies as Frequencies
from monitor.rank.features import Weights as Weights
from monitor.rank.features import features as features
from monitor.rank.features import features_of as features_of
from monitor.rank.features import pack as pack
from monitor.rank.features import unpack as unpack
from monitor.rank.features import written_words as written_words
from monitor.rank.learn import MAX_JUDGED as MAX_JUDGED
from monitor.rank.learn import MAX_MATCHED as MAX_MATCHED
from monitor.rank.learn import Judged as Judged
from monitor.rank.learn import Matched as Matched
from monitor.rank.learn import Ranking as Ranking
from monitor.rank.learn import learn as learn
