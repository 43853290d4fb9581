"""The words of a paper that a digest shows, with the places that matched."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from operator import itemgetter

from monitor.model import DigestPaper, MatchReason
from monitor.text import clean

Span = tuple[int, int]

# A longer title begins shortly before its first match.
LONG_TITLE = 300
EXCERPT_LIMIT = 420
_LEAD_IN = 120
_GAP = " … "
_BEFORE_CUT, _AFTER_CUT = "…\u00a0", "\u00a0…"
# Abstracts have fewer sentences, and sentences fewer characters.
_MOST_READ = 60
_LONGEST_READ = 1_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text and its marked places: (start, end), in order, never overlapping."""

    text: str
    spans: tuple[Span, ...] = ()


def headline(entry: DigestPaper) -> Passage:
    return _headline(entry.paper.title, entry.reasons)


def whole_abstract(entry: DigestPaper) -> Passage:
    abstract, places = _mark("abstract", entry.paper.abstract, entry.reasons)
    return Passage(abstract, places)


def excerpt(entry: DigestPaper) -> Passage:
    """Return the sentence of the abstract that says what the authors did, and at most one more.

    The second says most of the others; when nothing matched in the first, it is one in which
    something did. Where no sentence says what was done, they are the two neighbours that hold most
    of what matched. An ellipsis marks each gap, and where a sentence was cut.
    """
    return _excerpt(entry.paper.abstract, entry.reasons)


# A paper is shown to several subscribers, each in several forms.
@lru_cache(512)
def _headline(title: str, reasons: tuple[MatchReason, ...]) -> Passage:
    title, places = _mark("title", title, reasons)
    if len(title) <= LONG_TITLE:
        return Passage(title, places)
    return _cut(title, places, (0, len(title)), LONG_TITLE)


@lru_cache(512)
def _excerpt(abstract: str, reasons: tuple[MatchReason, ...]) -> Passage:
    abstract, places = _mark("abstract", abstract, reasons)
    bounds, alone = _value_sentences(abstract)
    words = [len(_words_in(abstract, places, span)) for span in bounds]
    pairs = zip(alone, words, strict=True)
    values = [value + min(hits, 2) if value > 0 else value for value, hits in pairs]
    if max(values, default=0.0) <= 0:
        return _cut(abstract, places, _best_window(abstract, places, bounds), EXCERPT_LIMIT)
    first = values.index(max(values))
    second = _second(first, values, words)
    if second is None:
        return _cut(abstract, places, bounds[first], EXCERPT_LIMIT)
    lengths = [bounds[first][1] - bounds[first][0], bounds[second][1] - bounds[second][0]]
    if sum(lengths) + len(_GAP) > EXCERPT_LIMIT:
        if words[first] or not words[second]:
            return _cut(abstract, places, bounds[first], EXCERPT_LIMIT)
        lengths = [min(lengths[0], EXCERPT_LIMIT // 2), EXCERPT_LIMIT - EXCERPT_LIMIT // 2]
    cut = {
        number: _cut(abstract, places, bounds[number], length)
        for number, length in zip((first, second), lengths, strict=True)
    }
    return _join(cut[min(cut)], cut[max(cut)], " " if abs(first - second) == 1 else _GAP)


@lru_cache(512)  # several topics match a paper
def _value_sentences(text: str) -> tuple[tuple[Span, ...], tuple[float, ...]]:
    """Return the sentences of a text, and how much each says of what the authors did."""
    bounds = tuple(sentences(text)[:_MOST_READ])
    return bounds, tuple(sentence_value(text[a:b][:_LONGEST_READ]) for a, b in bounds)


def _second(first: int, values: Sequence[float], words: Sequence[int]) -> int | None:
    """Return the number of the other sentence to show, None when no other says enough."""
    others = [number for number in range(len(values)) if number != first]
    if not words[first]:
        others = [number for number in others if words[number]] or others
    best = max(others, key=lambda number: (values[number], -abs(number - first)), default=None)
    if best is None or (values[best] <= 1 and (words[first] or not words[best])):
        return None
    return best


def _join(first: Passage, second: Passage, gap: str) -> Passage:
    """Join two passages with one ellipsis between them at most."""
    text, cut = second.text, first.text.endswith(_AFTER_CUT)
    if cut or text.startswith(_BEFORE_CUT):
        gap = " "
    if cut:
        text = text.removeprefix(_BEFORE_CUT)
    shift = len(first.text) + len(gap) + len(text) - len(second.text)
    moved = tuple((start + shift, end + shift) for start, end in second.spans)
    return Passage(f"{first.text}{gap}{text}", (*first.spans, *moved))


def _mark(field: str, text: str, reasons: Sequence[MatchReason]) -> tuple[str, tuple[Span, ...]]:
    """A field as one clean line; its marks hold only when it was that already."""
    line = clean(text)
    return line, _places(field, len(line), reasons) if line == text else ()


def _places(field: str, length: int, reasons: Sequence[MatchReason]) -> tuple[Span, ...]:
    """The marks of all topics in one field, those that touch or overlap made one."""
    merged: list[Span] = []
    spans = {span for why in reasons if why.field == field for span in why.spans}
    for start, end in sorted(span for span in spans if 0 <= span[0] < span[1] <= length):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _best_window(text: str, places: Sequence[Span], bounds: Sequence[Span]) -> Span:
    pairs = zip(bounds, bounds[1:] or bounds, strict=False)
    windows = [(first[0], second[1]) for first, second in pairs]
    return max(windows, key=lambda span: len(_words_in(text, places, span)), default=(0, 0))


def _words_in(text: str, places: Sequence[Span], window: Span) -> set[str]:
    """Return what matched between two places of a text; `places` are in order."""
    first = bisect_left(places, window[0], key=itemgetter(0))
    last = bisect_right(places, window[1], first, key=itemgetter(1))
    return {text[start:end].casefold() for start, end in places[first:last]}


def _cut(text: str, places: Sequence[Span], window: Span, limit: int) -> Passage:
    start, end = window
    if end - start > limit:
        first = next((place for place in places if start <= place[0] < end), window)
        if first[1] - start > limit - _LEAD_IN and first != window:
            start = max(start, first[0] - _LEAD_IN)
            space = text.find(" ", start, start + _LEAD_IN // 2)
            start = start if space < 0 else space + 1
        if end - start > limit:
            space = text.rfind(" ", start + 1, start + limit + 1)
            end = start + limit if space < 0 else space
    before = _BEFORE_CUT if start > window[0] else ""
    after = _AFTER_CUT if end < window[1] else ""
    shift = len(before) - start
    kept = tuple((a + shift, b + shift) for a, b in places if start <= a and b <= end)
    return Passage(f"{before}{text[start:end]}{after}", kept)


# ── which sentence of an abstract says what the authors did ─────────────────────────

# Plain rules, in English: abstracts name their contribution in few ways ("we propose", "this paper
# presents", "our results show"), and their background in few others ("recent advances", "however").
# They follow the moves of scientific abstracts that Swales (Genre Analysis, 1990) and Teufel and
# Moens (Computational Linguistics 28(4), 2002) describe.

# Making something counts for more than using it, and that for more than its results.
_MAKES, _DOES, _RESULTS = 6.0, 4.0, 2.0
_BACKGROUND_LOSS, _DANGLING_LOSS, _SHORT = -2.0, -1.0, -2.0
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
_ADVERBS = r"(?:,? ?(?:\w+ly|also|then|thus|therefore|further|first|here|instead|have|will),?){0,3}"
_PAPER = (
    r"(?:\w+ )?(?:paper|work|article|study|thesis|letter|note|survey|report|manuscript|tutorial"
    r"|review|chapter|preprint|dissertation)"
)
_THIS_PAPER = rf"th(?:is|e present) {_PAPER}"


def _at_word(*patterns: str) -> re.Pattern[str]:
    """Return a pattern for sentences in small letters: it looks for each word's beginning once."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})")


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
# Its first words lean on the sentence before it.
_DANGLING = re.compile(
    r"^(?:it|they|these|those|such|its|their|he|she|both|moreover|furthermore|additionally"
    r"|in addition|also|besides|further|specifically|in particular|thus|therefore|hence"
    r"|consequently|as a result|for example|for instance|in contrast|similarly|then|next"
    r"|second(?:ly)?|third(?:ly)?|finally|lastly|and|but|or|so|yet|instead|otherwise|notably"
    r"|on the other hand|the (?:former|latter)"
    r"|this (?:is|was|has|can|may|will|leads|allows))\b"
)

_GAINS = ((_NEW_THING, _MAKES), (_CONTRIBUTION, _DOES), (_RESULT, _RESULTS))
_LOSSES = ((_BACKGROUND, _BACKGROUND_LOSS), (_DANGLING, _DANGLING_LOSS))


def sentence_value(sentence: str) -> float:
    """Return how much a sentence says of what a paper does; below 0 for background."""
    sentence = sentence.lower()
    value = next((value for pattern, value in _GAINS if pattern.search(sentence)), 0.0)
    value += sum(loss for pattern, loss in _LOSSES if pattern.search(sentence))
    return value + (_SHORT if sentence.count(" ") + 1 < _FEWEST_WORDS else 0)


# A run of signs is looked at once, from its beginning: a text may be nothing but dots.
_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s)|[。！？]")

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:al|e\.g|i\.e|cf|vs|resp|approx|ca|viz|w\.r\.t|i\.i\.d|a\.k\.a|figs?|eqs?|eqns?"
    r"|secs?|refs?|tabs?|thm|def|alg|app|ch|no|nos|vol|pp?|dr|prof|mr|mrs|ms|st|inc|ltd|dept|univ"
    r"|(?:[a-z]\.)*[a-z]|ph\.d)\.$",
    re.IGNORECASE,
)

_OPENING = re.compile(r"\s+[\"'“‘(\[{$\\]*")

# The longest abstracts have fifty sentences; beyond this, the rest of the text is one more.
MAX_SENTENCES = 1_000


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence of `text`, without the spaces around them.

    Abbreviations (et al., e.g., Fig., Eq., vs.), initials, decimals and an ellipsis that goes
    on in lower case end no sentence.
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
    opening = _OPENING.match(text, end.end())
    if opening is None:
        return False
    following = text[opening.end() : opening.end() + 1]
    if not following or (following.islower() and "$" not in text[end.end() : opening.end()]):
        return False
    return not _ABBREVIATION.search(text, max(0, end.start() - 12), end.start() + 1)
