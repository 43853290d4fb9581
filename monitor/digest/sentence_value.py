"""Scores the sentences of an abstract by how well they say what the authors did."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, pairwise

from monitor.text.addresses import find_addresses
from monitor.text.lazy_pattern import LazyPattern

Span = tuple[int, int]

# The most sentences of an abstract that are scored, and characters of each: real ones have fewer.
_MOST_READ = 60
LONGEST_READ = 1_000


@lru_cache(512)  # several topics match a paper
def value_sentences(text: str, rule: int) -> tuple[tuple[Span, ...], tuple[float, ...]]:
    """Return the sentences of a text, and their scores by a rule."""
    bounds = tuple((_shown_sentences if rule else sentences)(text)[:_MOST_READ])
    read = [text[a:b][:LONGEST_READ] for a, b in bounds]
    if rule == 0:
        return bounds, tuple(map(value_by_rule_0, read))
    if rule == 1:
        return bounds, tuple(map(value_by_rule_1, read))
    return bounds, tuple([value_by_rule_2(one, is_first=n == 0) for n, one in enumerate(read)])


# Plain rules, in English: abstracts name their contribution in few ways ("we propose", "this paper
# presents", "our results show"), and their background in few others ("recent advances", "however").
# They follow the moves of scientific abstracts that Swales (Genre Analysis, 1990) and Teufel and
# Moens (Computational Linguistics 28(4), 2002) describe.

# Scores: for something new, for other work of the authors, for results.
_MAKES = 6.0
DOES = 4.0
_RESULTS = 2.0
_BACKGROUND_LOSS = 2.0
_REFERS_BACK_LOSS_BY_RULE_0 = 1.0
_SHORT_LOSS = 2.0
_FEWEST_WORDS = 9

_NEW = "(?:propos|present|introduc|develop|describ|design|devis|releas|contribut|formulat)"
_DID = (
    rf"(?:(?:{_NEW}|creat"
    r"|deriv|construct|explor|stud|investigat|examin|analy[sz]|address|tackl|revisit|evaluat"
    r"|compar|survey|review|report|argu|prov|show|demonstrat|establish|discover|identif|offer"
    r"|extend|unif|generali[sz]|characteri[sz]|quantif|measur|benchmark|implement|focus|aim|suggest"
    r"|reveal|conduct|perform|collect|appl[yi]|employ|consider|seek|sought|obtain|determin|estimat"
    r"|observ|find|found)\w*|builds?|built|train(?:s|ed)?|used?|uses|asks?|asked)\b"
)
_ADVERBS = (
    r"(?:,? ?\b(?:\w+ly|also|then|thus|therefore|further|first|here|instead|have|will)\b,?){0,3}"
)
_PAPER = (
    r"(?:\w+ )?(?:paper|work|article|study|thesis|letter|note|survey|report|manuscript|tutorial"
    r"|review|chapter|preprint|dissertation)"
)
_THIS_PAPER = rf"th(?:is|e present) {_PAPER}"


def _at_word(*patterns: str) -> LazyPattern:
    """Return a pattern for sentences in lower case, tried only where a word begins."""
    return LazyPattern(rf"\b(?:{'|'.join(patterns)})")


_NEW_THING = _at_word(
    rf"we{_ADVERBS} {_NEW}",
    rf"{_THIS_PAPER}{_ADVERBS} {_NEW}",
    rf"the authors? {_NEW}",
    r"(?:is|are) (?:proposed|presented|introduced|developed)\b",
)
_CONTRIBUTION = _at_word(
    rf"we{_ADVERBS} {_DID}",
    rf"{_THIS_PAPER}{_ADVERBS} {_DID}",
    rf"the authors? {_DID}",
    rf"in this {_PAPER}\b",
    r"here,? we\b",
    rf"(?:aim|goal|purpose|objective|contribution)s? of th(?:is|e) {_PAPER}",
    r"our (?:main |key |core )?(?:contribution|approach|method|framework|model|algorithm|system"
    r"|idea)s?\b",
)
_RESULT = _at_word(
    r"(?:results?|experiments?|evaluations?|simulations?|analys[ei]s|findings|trials?)\b[^.]{0,60}"
    r"\b(?:show|demonstrat|indicat|suggest|reveal|confirm|prov)",
    r"(?:outperform|surpass|achiev|improv|reduc|increas|yield|conclud)",
    r"state[- ]of[- ]the[- ]art\b",
    r"\d+ ?%",
    r"significant(?:ly)?\b",
)
_BACKGROUND = _at_word(
    r"^(?:recent|in recent years|over the (?:past|last)|traditional|existing|current|previous|prior"
    r"|despite|although|while|however|nevertheless|unfortunately|historically|many|most"
    r"|the (?:rapid|growing|increasing|recent|advent|rise))(?:ly)?\b",
    r"ha(?:s|ve) (?:recently |long |also )?(?:been|become|attracted|gained|emerged|shown|made"
    r"|achieved|received|led)\b",
    r"remains? (?:an?|challenging|difficult|open|poorly|limited|largely|un\w+)\b",
    r"(?:is|are) (?:(?:an?|one of the|among the) )?(?:\w+ly )?(?:important|fundamental"
    r"|challenging|crucial|critical|essential|key|major|central|well[- ]known|powerful|popular"
    r"|difficult)\b",
    r"plays? an?\b",
)
# A sentence whose first words refer to the one before it, by rule 0.
_REFERS_BACK_BY_RULE_0 = LazyPattern(
    r"^(?:it|they|these|those|such|its|their|he|she|both|moreover|furthermore|additionally"
    r"|in addition|also|besides|further|specifically|in particular|thus|therefore|hence"
    r"|consequently|as a result|for example|for instance|in contrast|similarly|then|next"
    r"|second(?:ly)?|third(?:ly)?|finally|lastly|and|but|or|so|yet|instead|otherwise|notably"
    r"|on the other hand|the (?:former|latter)"
    r"|this (?:is|was|has|can|may|will|leads|allows))\b"
)

_GAINS = ((_NEW_THING, _MAKES), (_CONTRIBUTION, DOES), (_RESULT, _RESULTS))
_LOSSES = ((_BACKGROUND, _BACKGROUND_LOSS), (_REFERS_BACK_BY_RULE_0, _REFERS_BACK_LOSS_BY_RULE_0))


def value_by_rule_0(sentence: str) -> float:
    """Return the score of a sentence by rule 0. Background and very short sentences lose points."""
    sentence = sentence.lower()
    value = next((value for pattern, value in _GAINS if pattern.search(sentence)), 0.0)
    value -= sum(loss for pattern, loss in _LOSSES if pattern.search(sentence))
    return value - (_SHORT_LOSS if sentence.count(" ") + 1 < _FEWEST_WORDS else 0)


# ── what points back to other sentences, and what only says where the code is ──────────

_MIN_WORDS_LEFT = 4

_NOT_PAPER = rf"(?! (?:present )?{_PAPER}\b)"
_SUBJECT = (
    rf"(?=(?:we|i(?!\.)|here|our|(?:in )?{_THIS_PAPER}|the (?:paper|work|article|authors?)"
    r"|(?:an?|the) [^,.;]{1,90}? (?:is|are|was|were) (?:then |also )?\w+ed)\b)"
)
_CONNECTIVE = LazyPattern(
    r"(?:however|therefore|thus|hence|then|moreover|further(?:more)?|additionally|in addition|also"
    r"|in (?:particular|specific|response|contrast|fact|short|summary|conclusion|turn|detail)|next"
    r"|specifically|(?:more|to be) (?:specific|precise)(?:ally|ly)?|(?:con|sub)sequently|concretely"
    r"|besides|rather|particularly|(?:accord|correspond|interest|surpris|intrigu)ingly|instead|alternatively|overall"
    r"|(?:not|remark)ably|importantly|conversely|as an? (?:\w+ ){0,2}(?:result|consequence|remedy"
    r"|step|alternative)|on (?:the (?:other hand|contrary)|this account)|likewise|similarly|indeed"
    rf"|(?:second|third|last|final)(?:ly)?|meanwhile|and|but|so)(?:, |,? {_SUBJECT})",
    re.IGNORECASE,
)
_OPENING_CLAUSE = LazyPattern(
    r"(?:(?:in order )?to|towards?|in (?:light|view|response|answer|contrast)|unlike|different|due"
    r"|based?|on (?:the )?basis|because|motivated|inspired|guided|(?:us|build|follow|observ"
    r"|address|consider|leverag|aim)ing|(?:for|with|given|from|in)(?= (?:this,|(?:this|th[eo]se"
    r"|that|such) (?:\w+ )?(?:mind|end|view|reason|goal|aim|objective|idea|motivation|insight"
    r"|purpose|observation|finding|challenge|issue|problem|limitation|gap|regard|direction|context"
    rf"|spirit|light)s?\b)))\b(?:[^.;:?!\"“”()]{{1,160}}?, {_SUBJECT}"
    r"|[^,.;:?!\"“”()]{1,80}?(?<!that)(?<!which)(?<!how) (?=we |this paper ))",
    re.IGNORECASE,
)
# An opening that refers to other sentences. One with the conditions of a claim is part of it,
# and is kept.
_OPENING_REFERS_BACK = LazyPattern(
    rf"(?!.*(?:assum|condition|setting|\bcases?\b)).*?\b(?:th(?:is|ese){_NOT_PAPER}"
    r"|such(?! (?:as|that)\b)|those(?! (?:\w+ed|in|of|that|who|which|from|with|used|on|for)\b)"
    r"|that (?:end|effect|purpose|goal|aim|problem|issue|gap|challenge|reason)"
    r"|the (?:above|aforementioned|former|latter)|on our|(?:the (?:issue|problem|challenge|gap"
    r"|limitation|shortcoming|drawback)s?|it|them|so)(?=,))\b",
    re.IGNORECASE,
)


_PAPER_DOES = _at_word(
    rf"(?:the(?: present)? {_PAPER}|this (?:{_PAPER}|(?:\w+ )?(?:research|agenda|video|project)))"
    r" (?:\w+ly )?(?:\w{3,}s|dealt)\b",
    r"we (?:\w+ly |first |then )?(?:defin|formali[sz]|provid|uncover|simulat|leverag|combin)",
    r"^(?:(?:introduc|propos|describ|discuss|address|analy[sz]|examin|explor|investigat)es"
    r"|presents|considers|deals|reports|studies|develops|shows)\b",
)
_IS_DONE = _at_word(
    r"(?:(?:is|are|was|were)(?: (?!usual|common|typical|wide|general)\w+ly)?|ha(?:s|ve) been)"
    r" (?:(?:propos|introduc|describ|investigat|analy[sz]|evaluat|discuss|deriv|demonstrat|compar"
    r"|implement|prototyp|examin|formulat|construct|creat|present|develop|report|design|test)ed"
    r"|studied|built)\b",
    r"we (?!can|need|note|hope|must|want|know|would|could|should|might|will)[a-z]{4}",
)
# A sentence that begins with a word for something in another one.
_REFERS_BACK = _at_word(
    rf"^(?:it|they|th(?:is|ese){_NOT_PAPER}|those|such|its|their|he|she|the (?:former|latter|above"
    r"|same)|in (?:our )?(?:previous|earlier|prior|companion) \w+)\b",
)
# A sentence that goes on from an earlier one: "We also ...", "The proposed method ...".
_CONTINUES = _at_word(
    r"^we (?:also|then|further|additionally|finally|next|later|believe|hope)\b",
    r"^(?:our|the (?:proposed|developed|resulting|presented)) (?:\w+ )?(?:approach|method"
    r"|framework|model|algorithm|system|technique|solution)s?\b",
    rf"we (?:address|tackle|solve|overcome|bridge|fill|(?:show|find|prove|demonstrate) that) "
    rf"th(?:is|ese){_NOT_PAPER}\b",
)
_ALSO_GAINS = ((_PAPER_DOES, DOES), (_IS_DONE, 1.5))
REFERS_BACK_LOSS = 5.0
_CONTINUES_LOSS = 1.0


def _clause_back(sentence: str, start: int) -> re.Match[str] | None:
    """Return the opening clause at a place, None for none that points back to other sentences."""
    opening = _OPENING_CLAUSE.match(sentence, start)
    return opening if opening and _OPENING_REFERS_BACK.match(opening[0]) else None


def connective_length(sentence: str) -> int:
    """Return the length of the opening that refers to earlier sentences.

    0 if fewer than `_MIN_WORDS_LEFT` words would remain.
    """
    end = 0
    while opening := _CONNECTIVE.match(sentence, end) or _clause_back(sentence, end):
        end = opening.end()
    return end if sentence.count(" ", end) + 1 >= _MIN_WORDS_LEFT else 0


def value_by_rule_1(sentence: str) -> float:
    """Return the score by rule 0, with more patterns.

    A sentence that refers to another one loses points.
    """
    value = value_by_rule_0(sentence)
    sentence = sentence.lower()
    if -_BACKGROUND_LOSS < value <= 0:
        value += next((gain for pattern, gain in _ALSO_GAINS if pattern.search(sentence)), 0.0)
    if value <= 0:
        return value
    alone = sentence[connective_length(sentence) :]
    if _REFERS_BACK.match(alone):
        return value - REFERS_BACK_LOSS
    return value - _CONTINUES_LOSS if _CONTINUES.search(alone) else value


_DEPENDS_ON_PREVIOUS = _at_word(
    rf"^(?:this|these|those){_NOT_PAPER}|^we (?:\w+ ){{1,2}}(?:that )?th(?:is|ese){_NOT_PAPER}"
    r"|^we (?:\w+ ?)?(?:instead|indeed|then|therefore|thus|hence|next|believe|hope|further)\b"
    r"|^(?:and|or|but|while|whereas|because|building up?on|turning to|here,? the)\b",
    r"^(?:\w+ ){0,3}(?:such|these|those|the latter|the former|the above)\b(?! as\b| that\b)",
)
# A word for something in another sentence, anywhere in a sentence.
_POINTS_BACK = LazyPattern(
    rf"\bth(?:is|ese|ose)(?! (?:present|end|way)?\b ?{_PAPER}\b)"
    r"(?! \w+ed\b| (?:in|of|that|who|with)\b) \w"
    r"|\bsuch (?!as\b|that\b|an?\b)\w+|\bthe (?:above|aforementioned|latter|former|second|third)\b"
    r"|^\w+ then\b"
)
_IN_THIS_PAPER = _at_word(rf"(?:in |of )?{_THIS_PAPER}\b")
_ENUMERATING_OPENING = LazyPattern(
    rf"(?:(?:first(?:ly)?|to (?:start|begin)(?: with)?|in the first place), )(?={_SUBJECT}|\w)"
    rf"|(?:motivated|inspired|guided|driven) by [^.;:?!]{{1,120}}?, {_SUBJECT}",
    re.IGNORECASE,
)
_WE_BUILD = _at_word(rf"(?:we|{_THIS_PAPER}){_ADVERBS} (?:build|built|creat|construct|train)")
_I_DO = ((_at_word(rf"i{_ADVERBS} {_NEW}"), _MAKES), (_at_word(rf"i{_ADVERBS} {_DID}"), DOES))
_OWN_PAPER_GAIN = 1.5
LEAST_OF_SECOND = 1.5
_POINTS_BACK_LOSS = 2.0


def left_out_length(sentence: str) -> int:
    """Return the length of the opening that rule 2 leaves out."""
    end = connective_length(sentence)
    opening = _ENUMERATING_OPENING.match(sentence, end)
    return opening.end() if opening else end


def value_by_rule_2(sentence: str, *, is_first: bool = False) -> float:
    """Return the score by rule 1, with a bonus for sentences about the paper as a whole.

    References to other sentences lose points.

    A claim of improvement in the first sentence is usually about others' work, so it scores 0.
    """
    value = value_by_rule_1(sentence)
    lower = sentence.lower()
    start = left_out_length(sentence)
    alone = lower[start:]
    if value <= _RESULTS:
        value = next((gain for pattern, gain in _I_DO if pattern.search(alone)), value)
    if is_first and 0 < value <= _RESULTS and not _IS_DONE.search(alone):
        return 0.0
    if value <= 0:
        return value
    if _DEPENDS_ON_PREVIOUS.search(alone):
        return value - REFERS_BACK_LOSS
    if value < _MAKES and _WE_BUILD.search(alone):
        value += 1
    if _IN_THIS_PAPER.search(alone):
        value += _OWN_PAPER_GAIN
    if start:
        value -= _CONTINUES_LOSS
    return value - _POINTS_BACK_LOSS if _POINTS_BACK.search(alone) else value


# A sentence that begins without a space after the one before it.
_GLUED = re.compile(r"\.(?<=[a-z][a-z)\]]\.)(?=[A-Z][a-z]+ )")
_THING = (
    r"(?:codes?|code ?bases?|data ?(?:sets?)?|models?|weights|checkpoints?|implementations?|videos?"
    r"|software|toolbox|library|packages?|demos?|benchmarks?|web ?(?:site|page)s?|projects?"
    r"|materials?|resources?|scripts?|annotations?|details|information)\b"
)
_OPEN = r"(?:available|accessible|released?|open[- ]?sourced?|published|public)\b"
_SAME_CLAUSE = r"(?:(?! (?:that|which|when|where|if|we|it|only|by|from) )[^.;]){0,160}"
_SAYS_WHERE = LazyPattern(
    rf"(?:(?={_THING}|(?:all|the|our|its|both|these|source|public|full|open|more|additional"
    r"|supplementary|(?:pre-?)?trained|project|an? (?:\w+ )?video)\b)"
    rf"{_SAME_CLAUSE}?\b{_THING}{_SAME_CLAUSE}? (?:is|are|will|can|has|have)"
    rf" (?:be |been |made |also |now |all |\w+ly )*(?:{_OPEN}|(?:found|seen|viewed|provided) "
    r"(?:here|online|at|on|in)\b)|(?:to [^,.]{0,80}, )?we (?:will |also |have |\w+ly )*(?:make"
    r"|releas\w+|open[- ]?source|publish|share|provide) (?:(?:all|the|our|source|training|trained"
    r"|full|of|pre-?trained|annot\w+|data|data ?sets?|and|models?|its|new)\b ?|, ?)*(?:(?:codes?"
    r"|implementation)\b(?! details)|(?:data|data ?sets?|models?)\b(?! (?:of|for|with|that)\b)))"
    r"[^.;,]{0,80}(?:,[^.;,]{0,60}){0,2}(?:\W*$|\.\w)"
)
# A sentence about the work itself, or one without a word for where to find something.
_NOT_ONLY_AN_ADDRESS = LazyPattern(
    r"\b(?:we|this (?:paper|work)|i)\b[^.]{0,30}\b(?:propos|present|introduc|develop|describ|design"
    r"|formulat|contribut|buil[dt]|test|evaluat|appl[iy]|show|demonstrat)|outperform|achiev|improv"
    rf"|demonstrate|show that|^(?!.*\b(?:{_OPEN}|found|obtained|see|view|visit|at|code|here)\b)"
)
_MOST_WORDS_ABOUT_CODE = 35
_FEW_WORDS_BESIDE_ADDRESS = 8


def _shown_sentences(text: str) -> list[Span]:
    """Return the sentences without those that only say where the code is; all if none is left."""
    bounds = sentences(text)
    addresses = find_addresses(text)
    glued = [end.end() for end in _GLUED.finditer(text)]
    if glued := [n for n in glued if not any(at.start < n <= at.end for at in addresses)]:
        cuts = [[a, *[n for n in glued if a < n < b], b] for a, b in bounds]
        bounds = [span for cut in cuts for span in pairwise(cut)]
    return [
        (a, b)
        for a, b in bounds
        if not says_where(text[a:b], any(a <= address.start < b for address in addresses))
    ] or bounds


def says_where(sentence: str, has_address: bool) -> bool:
    """Whether a sentence only says where code, data or a page is."""
    length = sentence.count(" ") + 1
    sentence = sentence.lower()
    if length > _MOST_WORDS_ABOUT_CODE:
        return False
    if has_address and (
        length <= _FEW_WORDS_BESIDE_ADDRESS or not _NOT_ONLY_AN_ADDRESS.search(sentence)
    ):
        return True
    return bool(_SAYS_WHERE.match(sentence, connective_length(sentence)))


# A run of signs is matched once, at its start: a text of dots would take quadratic time.
_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s)|[。！？]")

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:al|e\.g|i\.e|cf|vs|resp|approx|ca|viz|w\.r\.t|i\.i\.d|a\.k\.a|figs?|eqs?|eqns?"
    r"|secs?|refs?|tabs?|thm|def|alg|app|ch|no|nos|vol|pp?|dr|prof|mr|mrs|ms|st|inc|ltd|dept|univ"
    r"|(?:[a-z]\.)*[a-z]|ph\.d)\.$",
    re.IGNORECASE,
)

_BEFORE_NEXT = re.compile(r"\s+[\"'“‘(\[{$\\]*")

# The sentences into which a text is split; the rest of it is one more. The longest abstracts have
# fifty.
MAX_SENTENCES = 1_000


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence of `text`, without the spaces around them.

    Abbreviations (et al., e.g., Fig., Eq., vs.), initials, decimals, and an ellipsis before a
    lower-case letter do not end a sentence.
    """
    matches = islice(_END.finditer(text), MAX_SENTENCES)
    ends = [end.end() for end in matches if _ends_sentence(text, end)]
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([0, *ends, len(text)]):
        sentence = text[start:end].strip()
        if sentence:
            first = text.index(sentence, start)
            spans.append((first, first + len(sentence)))
    return spans


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    if end.group() in "。！？":
        return True
    opening = _BEFORE_NEXT.match(text, end.end())
    if opening is None:
        return False
    following = text[opening.end() : opening.end() + 1]
    if not following or (following.islower() and "$" not in text[end.end() : opening.end()]):
        return False
    return not _ABBREVIATION.search(text, max(0, end.start() - 12), end.start() + 1)
