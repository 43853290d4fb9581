"""How informative a word is: one that occurs in abstracts of every field says less.

The list ships with the program and does not depend on the papers of the day or of the store, so
that the score of a paper never depends on other papers or on when it is computed.
"""

from __future__ import annotations

from monitor.match.language.tree import Author, Edge, Label, Leaf, Like, Near, Number, Words
from monitor.text.function_words import FUNCTION_WORDS
from monitor.text.tables import word_set

STOP_WORDS = FUNCTION_WORDS | word_set(
    "had has have our s such then there these they those was were while will"
)

_COMMON = """
    ability able account achieve across addition address advance algorithm allow also analysis
    analyze application apply approach area art aspect available average base based baseline
    behavior benchmark best better between both build capability case challenge change class
    code combine common compare compared comparison complex component compute condition consider
    context control current data dataset demonstrate design detail develop development different
    difficult direct discuss distribution domain due each effect effective efficiency efficient
    enable environment error evaluate evaluation even evidence example existing experiment
    experimental explore factor feature field find finding first focus form framework function
    further future general generate generation given goal good group high however human idea
    impact important improve improvement include including increase individual information input
    introduce investigate issue key know knowledge lack large last learn learning less level
    limit limitation limited low machine main make many mean measure mechanism method model more
    most multiple need network new novel number observe obtain often one only open order other
    outperform output over paper parameter pattern perform performance point population
    potential practice predict present previous problem procedure process produce property
    propose proposed provide quality question range rate real recent reduce relate related
    relation report represent require research result review role sample scale science score set
    setting several show shown significant similar simple single small solution solve source
    space specific stage standard state step strategy structure study such support system target
    task technique term test text theory three through time tool training trained two type
    understand understanding up use used user using value various version via way well when
    where while wide within without work world year
"""
COMMON = word_set(_COMMON)

# A label is less informative than a word: many papers share it.
_LABEL = 0.5


def rarity(leaf: Leaf) -> float:
    """Return how informative a match of this leaf is, from 0 to below 1.

    1 - 1/(1 + n): n counts 1 for each word of the leaf, a half for a common word or a beginning,
    and nothing for a stop word; a name counts 1 a word, any other label or a number a half.
    """
    information: float
    match leaf:
        case Words():
            information = sum(map(_edge_information, leaf.edges))
        case Near():
            information = sum(_edge_information(e) for word in leaf.words for e in word.edges)
        case Author():
            information = float(len(leaf.names[0].words))
        case Label() | Number() | Like():
            information = _LABEL
    return 1 - 1 / (1 + max(information, 0.1))


def _edge_information(edge: Edge) -> float:
    # Of parts that are also joined, only the parts are counted.
    if edge.end - edge.start > 1 or (edge.key in STOP_WORDS and not edge.prefix):
        return 0.0
    return 0.5 if edge.prefix or edge.key in COMMON else 1.0
