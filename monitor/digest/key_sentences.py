"""Which sentence of an abstract says what the authors did.

Plain rules, in English: abstracts name their contribution in few ways ("we propose", "this paper
presents", "our results show"), and their background in few others ("recent advances", "however").
They follow the moves of scientific abstracts that Swales (Genre Analysis, 1990) and Teufel and
Moens (Computational Linguistics 28(4), 2002) describe.
"""

from __future__ import annotations

import re

# What is made counts for more than what is done with it, and that for more than what came of it.
_MAKES, _DOES, _RESULTS = 6.0, 4.0, 2.0
_BEHIND, _LEANING, _SHORT = -2.0, -1.0, -2.0
_FEWEST_WORDS = 9

_NEW = r"(?:propos|present|introduc|develop|describ|design|devis|releas|contribut|formulat)\w*"
_DID = (
    r"(?:(?:propos|present|introduc|develop|describ|design|devis|releas|contribut|formulat|creat"
    r"|deriv|construct|explor|stud|investigat|examin|analy[sz]|address|tackl|revisit|evaluat"
    r"|compar|survey|review|report|argu|prov|show|demonstrat|establish|discover|identif|offer"
    r"|extend|unif|generali[sz]|characteri[sz]|quantif|measur|benchmark|implement|focus|aim|suggest"
    r"|reveal|conduct|perform|collect|appl[yi]|employ|consider|seek|sought|obtain|determin|estimat"
    r"|observ|find|found)\w*|builds?|built|train(?:s|ed)?|used?|uses|asks?|asked)\b"
)
_ADVERBS = r"(?:,? ?(?:\w+ly|also|then|thus|therefore|further|first|here|instead|have|will),?){0,3}"
_PAPER = (
    r"(?:\w+ )?(?:paper|work|article|study|thesis|letter|note|survey|report|manuscript|tutorial"
    r"|review|chapter|preprint|dissertation)"
)
_THIS_PAPER = rf"\bth(?:is|e present) {_PAPER}"


_WORD = r"\b"


def _any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern for sentences in small letters.

    It looks for the beginnings of words once, not for each alternative, and for no capitals: both
    would take twice as long.
    """
    at_words = [pattern.removeprefix(_WORD) for pattern in patterns if pattern.startswith(_WORD)]
    others = [pattern for pattern in patterns if not pattern.startswith(_WORD)]
    at_word = [f"{_WORD}(?:{'|'.join(at_words)})"] if at_words else []
    return re.compile("|".join([*at_word, *others]))


_NEW_THING = _any_of(
    rf"\bwe{_ADVERBS} {_NEW}",
    rf"{_THIS_PAPER}{_ADVERBS} {_NEW}",
    rf"\bthe authors? {_NEW}",
    r"\b(?:is|are) (?:proposed|presented|introduced|developed)\b",
)
_CONTRIBUTION = _any_of(
    rf"\bwe{_ADVERBS} {_DID}",
    rf"{_THIS_PAPER}{_ADVERBS} {_DID}",
    rf"\bthe authors? {_DID}",
    rf"\bin this {_PAPER}\b",
    r"\bhere,? we\b",
    rf"\b(?:aim|goal|purpose|objective|contribution)s? of th(?:is|e) {_PAPER}",
    r"\bour (?:main |key |core )?(?:contribution|approach|method|framework|model|algorithm|system"
    r"|idea)s?\b",
)
_RESULT = _any_of(
    r"\b(?:results?|experiments?|evaluations?|simulations?|analys[ei]s|findings|trials?)\b[^.]{0,60}"
    r"\b(?:show|demonstrat|indicat|suggest|reveal|confirm|prov)",
    r"\b(?:outperform|surpass|achiev|improv|reduc|increas|yield|conclud)",
    r"\bstate[- ]of[- ]the[- ]art\b",
    r"\d ?%",
    r"\bsignificant(?:ly)?\b",
)
_BACKGROUND = _any_of(
    r"^(?:recent|in recent years|over the (?:past|last)|traditional|existing|current|previous|prior"
    r"|despite|although|while|however|nevertheless|unfortunately|historically|many|most"
    r"|the (?:rapid|growing|increasing|recent|advent|rise))(?:ly)?\b",
    r"\bha(?:s|ve) (?:recently |long |also )?(?:been|become|attracted|gained|emerged|shown|made"
    r"|achieved|received|led)\b",
    r"\bremains? (?:an?|challenging|difficult|open|poorly|limited|largely|un\w+)\b",
    r"\b(?:is|are) (?:(?:an?|one of the|among the) )?(?:\w+ly )?(?:important|fundamental"
    r"|challenging|crucial|critical|essential|key|major|central|well[- ]known|powerful|popular"
    r"|difficult)\b",
    r"\bplays? an?\b",
)
# Its first words lean on the sentence before it.
_DANGLING = _any_of(
    r"^(?:it|they|these|those|such|its|their|he|she|both|moreover|furthermore|additionally"
    r"|in addition|also|besides|further|specifically|in particular|thus|therefore|hence"
    r"|consequently|as a result|for example|for instance|in contrast|similarly|then|next"
    r"|second(?:ly)?|third(?:ly)?|finally|lastly|and|but|or|so|yet|instead|otherwise|notably"
    r"|on the other hand|the (?:former|latter)"
    r"|this (?:is|was|has|can|may|will|leads|allows))\b"
)

_SAYS = ((_NEW_THING, _MAKES), (_CONTRIBUTION, _DOES), (_RESULT, _RESULTS))
_LACKS = ((_BACKGROUND, _BEHIND), (_DANGLING, _LEANING))


def sentence_value(sentence: str) -> float:
    """Return how much a sentence says of what a paper does; 0 when it cannot be seen."""
    sentence = sentence.lower()
    value = next((value for pattern, value in _SAYS if pattern.search(sentence)), 0.0)
    value += sum(loss for pattern, loss in _LACKS if pattern.search(sentence))
    return value + (_SHORT if sentence.count(" ") + 1 < _FEWEST_WORDS else 0)
