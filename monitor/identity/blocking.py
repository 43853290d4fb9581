"""Which papers are worth comparing: a few numbers of each, of which noisy copies share one.

A title's four rarest words make up to six *blocks*: every two of them that are rare enough
together, and every three where none of the pairs is. Two words may be mistyped, lost or added
and two of the four are still there, in whatever order. A retitled copy is found by its authors:
the list as a whole is one more block, and a title with a subtitle has that of the title without
it, which may come alone. Words are ranked by a fixed table of what titles commonly
say and otherwise by a hash of their beginning, so that no statistics of a store are needed and
the blocks of a stored paper never change under it.

A block is a candidate, never proof: who looks one up compares what it finds there.

    blocks("Dropout as a Bayesian Approximation")
        dropout+bayesian  dropout+approximation  bayesian+approximation+a
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import combinations
from operator import xor

from monitor.text import plain

# With other rules below, the blocks of all stored papers have to be made anew, by a migration.

# How many words of a title make its blocks: with two of them damaged, two are still whole.
RAREST = 4
# Copies differ in endings (networks, networked): this much of a word tells it apart.
STEM = 6

_STOP_WORDS = """
a an the of for and in on with to by from via as at is are be its it or into toward towards their
how what can do we you your not but than that this when where which who why vs using based use
through between under over about against during after before without within among across et al de
la le les des du un une el los und der die das zur von ii iii iv new study analysis approach
approaches method methods
"""
# What titles commonly say; all endings of a word are meant.
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
_STOP = frozenset(_STOP_WORDS.split())
_COMMON = frozenset(word[:STEM] for word in _COMMON_WORDS.split())

# What folding changes in an ASCII text, beside its case: LaTeX, tags and entities.
_MARKED = re.compile(r"[\\${}<&]")
# What a subtitle follows.
_SUBTITLE = re.compile(r"[:?!](?=\s)|\s[-\u2013\u2014]+(?=\s)")
# In a name, all but letters, spaces and the signs that part words.
_MORE_THAN_LETTERS = re.compile(r"[\\${}<&+#\d\n]")
SIGNS = str.maketrans(
    {sign: " " for sign in map(chr, range(128)) if not sign.isalnum() and sign != "\n"}
)

# A word's number is its rank and a hash of 60 bits, so that sorting puts the rarest first.
_HASH_BITS = 60
COMMON_FROM = 1 << _HASH_BITS
STOP_FROM = 2 << _HASH_BITS


def blocks(title: str, authors: Sequence[str] = ()) -> tuple[int, ...]:
    """Return up to eight numbers from 0 to 2^62, the same in every process and release.

    Empty for a title without words and no authors.
    """
    return (*with_head(of_words(words(title)), title), *of_authors(authors))


def with_head(blocks: tuple[int, ...], title: str) -> tuple[int, ...]:
    """Add to the blocks of a title that of its rarest words before the subtitle, if it has one."""
    if not (sign := _SUBTITLE.search(title)):
        return blocks
    numbers = sorted(set(map(number, words(title[: sign.start()]))))
    head = _of_rarest(numbers[:RAREST])[:1]
    return (*blocks, *head) if head and head[0] not in blocks else blocks


def words(title: str) -> list[str]:
    """Return the folded words of a title: runs of letters and digits."""
    return folded(title).translate(SIGNS).split()


def folded(title: str) -> str:
    """Fold a title, signs and all; nine of ten have nothing to fold but case."""
    return title.lower() if title.isascii() and not _MARKED.search(title) else plain(title)


def of_words(words: Sequence[str]) -> tuple[int, ...]:
    """Return the blocks, up to six, of a title given as folded words.

    No block is to be large: it takes a rare word and another, or three common ones.
    """
    numbers = sorted(set(map(number, words)))
    return tuple(_of_rarest(numbers[:RAREST])) or ((reduce(xor, numbers),) if numbers else ())


def _of_rarest(rarest: Sequence[int]) -> list[int]:
    rare = sum(one < COMMON_FROM for one in rarest)
    telling = sum(one < STOP_FROM for one in rarest)
    found = [a ^ b for i, a in enumerate(rarest[:rare]) for b in rarest[i + 1 : telling]]
    if len(rarest) - rare > 2:
        three = combinations(rarest[rare:], 3)
        found += [a ^ b ^ c for a, b, c in three if b < STOP_FROM]
    return found


@lru_cache(maxsize=32_768)
def number(word: str) -> int:
    """Return the rank of a word and a hash of it: the smaller, the rarer."""
    if word in _STOP or (len(word) == 1 and word.isascii()):
        return STOP_FROM | _hash(word)
    stem = word[:STEM]
    return COMMON_FROM | _hash(stem) if stem in _COMMON else _hash(stem)


@lru_cache(maxsize=32_768)
def rarity(word: str) -> float:
    """Return what a folded word weighs in a title: 2, 1 if titles often say it, 0.2 if all do."""
    rank = number(word)
    return 2.0 if rank < COMMON_FROM else 1.0 if rank < STOP_FROM else 0.2


def _hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _HASH_BITS)


def of_authors(authors: Sequence[str]) -> tuple[int, ...]:
    """Return one block for a list of two authors or more: family names and first initials."""
    people = {person for name in authors if (person := _person(name))}
    return (_hash("authors " + " ".join(sorted(people))),) if len(people) > 1 else ()


def _person(name: str) -> str:
    """Return "lovelace a" for Ada Lovelace, A. Lovelace and Lovelace, Ada."""
    family, comma, given = name.partition(",")
    told = f"{given} {family}" if comma else name
    if told.isascii() and told.replace(" ", "").isalpha():
        words = told.lower().split()
    elif told.isascii() and not _MORE_THAN_LETTERS.search(told):
        words = told.lower().translate(SIGNS).split()
    else:
        words = plain(told).split()
    return f"{words[-1]} {words[0][0]}" if words else ""
