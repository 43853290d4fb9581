"""How rare a word is in titles.

Words are ranked by fixed lists, then by a hash of their beginning. This needs no statistics of a
store, and the blocks of a stored paper never change. `_COMMON_WORDS` was gathered from titles of
computer science, robotics and medicine; in other fields more words count as rare.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from monitor.text.function_words import FUNCTION_WORDS
from monitor.text.tables import word_set

# Copies differ in endings (networks, networked): only this many letters count.
STEM = 6
# Beside `FUNCTION_WORDS`.
_STOP_WORDS = """
via toward towards how what do you your when where who why vs using based use through between under
over about against during after before without within among across et al de la le les des du un une
el los und der die das zur von ii iii iv new study analysis approach approaches method methods
"""
# Words that many titles have, in all their endings.
_COMMON_WORDS = """
ability access accuracy action activation active activity adaptation adaptive advanced adversarial
agents algorithm application approximate artificial aspects assessment associated attention audio
automated autonomous aware bayesian behavior benchmark bounds brain cancer care case causal cell
cells challenges change characterization children class classes classification clinical cluster
code cognitive combined communication comparative complex comprehensive computation conditions
constrained context continuous control convergence convolutional coupled cross current data
database dataset decision deep dense density dependent depth design detection development
diagnosis different diffusion dimensional discovery discrete disease distributed domain driven
dual dynamic early editorial effect efficiency electron end energy engineering enhanced
environment equation error estimating evaluating evidence evolution experimental exploration
extended extraction factors fast feature federated feedback field fields finite flow focus
formation framework free function fusion fuzzy gaussian gene general genetic global gradient graph
graphs group groups growth guided health hierarchical high higher human hybrid identification
image images imaging impact implementation improved inference influence information integrated
intelligence interaction interface introduction inverse investigation joint kernel knowledge
language large laser latent layer learned learning level light linear local localization long low
machine magnetic management manipulation map mapping mass matching material matrix mean
measurement mechanism medical memory metal metric mining mixed mobile modal model modeling
modelling models modular molecular monitoring motion multi multimodal multiple natural navigation
nets network neural noise non nonlinear novel object observation online open optical optimal
optimization order oriented parallel parameter part partial patients pattern performance
perspective phase physical planning point policy population pose power practical predicting
preliminary pretrained prior probabilistic problem process production programming properties
protein quality quantum query random rate rates real reasoning recognition reconstruction
recurrent reduction region regression reinforcement related relation report representation
research resolution response review risk robot robotic robots robust role sampling scale scaling
scene science search segmentation selection self semantic semi sensing sensitivity sensor sequence
series set shape short shot signal simple simulation single small social software solution solving
source space sparse spatial special specific spectral speech stability state states statistical
stochastic strategies structural studies supervised support surface survey synthesis system target
task tasks technique technology temporal tensor term test testing text theoretical theory thermal
three time tool tracking training transfer transition treatment tree trees two type uncertainty
understanding unified unsupervised user vector video view vision visual water wave weakly web wide
wireless word work world zero
"""
_STOP = FUNCTION_WORDS | word_set(_STOP_WORDS)
_COMMON = frozenset(word[:STEM] for word in _COMMON_WORDS.split())

# A word's rank is its list and a hash of 60 bits: sorting puts the rarest first.
_HASH_BITS = 60
COMMON_FROM = 1 << _HASH_BITS
STOP_FROM = 2 << _HASH_BITS


# Of the words of a title most are in others, too: with it, nine take 10 µs in place of 24 µs.
@lru_cache(16_384)
def rank_of(word: str) -> int:
    """Return the rank of a word: the smaller, the rarer."""
    if (weight := rarity(word)) < 1:
        return STOP_FROM | hash_of(word)
    return (COMMON_FROM if weight < 2 else 0) | hash_of(word[:STEM])


def rarity(word: str) -> float:
    """Return the weight of a folded word: 2, 1 if many titles have it, 0.2 if most have."""
    if word in _STOP or (len(word) == 1 and word.isascii()):
        return 0.2
    return 1.0 if word[:STEM] in _COMMON else 2.0


def hash_of(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _HASH_BITS)
