"""The words of a paper that a digest shows, with the places that matched."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from monitor.model import DigestPaper, MatchReason, merge_spans
from monitor.text import clean, title_lengths
from monitor.text.addresses import find_addresses
from monitor.text.plurals import singular

Span = tuple[int, int]

EXCERPT_LIMIT = 420
_LEAD_IN = 120
_GAP = " … "
_BEFORE_CUT, _AFTER_CUT = "…\u00a0", "\u00a0…"
# The sentences of an abstract that are judged, and the characters of each: real ones have fewer.
_MOST_READ = 60
_LONGEST_READ = 1_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text and its marked places: (start, end), in order, never overlapping."""

    text: str
    spans: tuple[Span, ...] = ()


def headline(entry: DigestPaper) -> Passage:
    title, places = _mark("title", entry.paper.title, entry.reasons)
    whole = Passage(title, places)
    if len(title) > title_lengths.IN_LIST:
        whole = _cut(title, places, (0, len(title)), title_lengths.IN_LIST)
    return _without_marks(whole, entry.unmarked)


def whole_abstract(entry: DigestPaper) -> Passage:
    abstract, places = _mark("abstract", entry.paper.abstract, entry.reasons)
    return _without_marks(Passage(abstract, places), entry.unmarked)


def excerpt(entry: DigestPaper) -> Passage:
    """Return the sentence that best says what the authors did or found, and at most one other.

    The other is the next best, of those with a match if nothing matched in the first; it is left
    out if both do not fit. If no sentence says what was done, they are the first sentence that
    stands alone and its neighbour. An ellipsis marks each gap, and where a sentence was cut.
    """
    chosen = _excerpt(entry.paper.abstract, entry.reasons, entry.excerpt_rule)
    return _without_marks(chosen, entry.unmarked)


def excerpt_beside_line(entry: DigestPaper) -> Passage:
    """Return the excerpt, without its first sentence if a line is shown in place of that."""
    if not entry.note or not entry.note.line:
        return excerpt(entry)
    abstract, places = _mark("abstract", entry.paper.abstract, entry.reasons)
    bounds, chosen = _choose(abstract, places, entry.excerpt_rule)
    rest = [_uncut(abstract, places, bounds[number]) for number in chosen[1:]]
    return _without_marks(rest[0], entry.unmarked) if rest else Passage("")


def _without_marks(passage: Passage, words: Collection[str]) -> Passage:
    if not words:
        return passage
    text = passage.text
    spans = (span for span in passage.spans if mark_key(text[slice(*span)]) not in words)
    return Passage(text, tuple(spans))


def mark_key(text: str) -> str:
    """Return marked text as it counts: `Agents` and `agent` are one word."""
    return singular(text.casefold())


# Of fewer titles it says little that all have a word.
_FEWEST_TITLES = 3


def words_of_all(entries: Sequence[DigestPaper]) -> tuple[str, ...]:
    """Return the marked words that all titles of a group have: these marks would say nothing."""
    if len(entries) < _FEWEST_TITLES:
        return ()
    marked = [{mark_key(p.text[a:b]) for a, b in p.spans} for p in map(headline, entries)]
    return tuple(sorted(set.intersection(*marked)))


# A paper is shown to several subscribers, each in several forms.
@lru_cache(512)
def _excerpt(abstract: str, reasons: tuple[MatchReason, ...], rule: int) -> Passage:
    abstract, places = _mark("abstract", abstract, reasons)
    if rule >= 2:
        return _whole_sentences(abstract, places, rule)
    bounds, own_values = _value_sentences(abstract, rule)
    words = [len(_words_in(abstract, places, span)) for span in bounds]
    pairs = zip(own_values, words, strict=True)
    values = [value + min(hits, 2) if value > 0 else value for value, hits in pairs]
    if max(values, default=0.0) <= 0:
        window = _best_window(abstract, places, bounds, values if rule else ())
        return _cut(abstract, places, window, EXCERPT_LIMIT, rule)
    first = values.index(max(values))
    second = _second(first, values, words)
    if second is None:
        return _cut(abstract, places, bounds[first], EXCERPT_LIMIT, rule)
    lengths = [bounds[first][1] - bounds[first][0], bounds[second][1] - bounds[second][0]]
    if sum(lengths) + len(_GAP) > EXCERPT_LIMIT:
        if words[first] or not words[second]:
            return _cut(abstract, places, bounds[first], EXCERPT_LIMIT, rule)
        lengths = [min(lengths[0], EXCERPT_LIMIT // 2), EXCERPT_LIMIT - EXCERPT_LIMIT // 2]
    if second < first:
        first, second, lengths = second, first, lengths[::-1]
    # Right after the first sentence, the second may keep an opening that points back to it.
    is_next = _are_neighbours(bounds[first], bounds[second])
    before = _cut(abstract, places, bounds[first], lengths[0], rule)
    after = _cut(abstract, places, bounds[second], lengths[1], 0 if is_next else rule)
    return _join(before, after, " " if is_next else _GAP)


def _whole_sentences(abstract: str, places: Sequence[Span], rule: int) -> Passage:
    """Return an excerpt by rule 2: of sentences that are not cut, but for a single long one."""
    bounds, chosen = _choose(abstract, places, rule)
    spans = [bounds[number] for number in chosen]
    if len(spans) == 2:
        # Right after the first sentence, the second may keep an opening that points back to it.
        is_next = _are_neighbours(*spans)
        second = _uncut(abstract, places, spans[1], keeps_opening=is_next)
        return _join(_uncut(abstract, places, spans[0]), second, " " if is_next else _GAP)
    if spans and max(_value_sentences(abstract, rule)[1]) <= 0:
        return _cut(abstract, places, spans[0], EXCERPT_LIMIT, rule)
    return _uncut(abstract, places, spans[0]) if spans else Passage("")


def _choose(
    abstract: str, places: Sequence[Span], rule: int
) -> tuple[Sequence[Span], Sequence[int]]:
    """Return the sentences of an abstract, and the numbers of the one or two to show, in order."""
    bounds, values = _value_sentences(abstract, rule)
    if not bounds:
        return bounds, ()
    hits = [bool(_words_in(abstract, places, span)) for span in bounds]
    first = values.index(max(values))
    # A sentence before the first is background, unless it says what was done, too.
    least = [_DOES] * first + [_LEAST_OF_SECOND] * (len(bounds) - first)
    others = [n for n in range(len(bounds)) if n != first and values[n] >= least[n]]
    if values[first] <= 0:
        alone = [n for n, value in enumerate(values) if value > -_REFERS_BACK_LOSS] or [0]
        first = max(alone, key=lambda n: (hits[n], values[n]))
        others = [n for n in (first + 1, first - 1) if 0 <= n < len(bounds)][:1]
    elif not hits[first]:
        others = [n for n in others if hits[n]] or others
    room = EXCERPT_LIMIT - len(_GAP) - _length(bounds[first])
    best = sorted(others, key=lambda n: (-values[n], abs(n - first)))
    second = next((n for n in best if _length(bounds[n]) <= room), None)
    return bounds, [first] if second is None else sorted((first, second))


def _length(span: Span) -> int:
    return span[1] - span[0]


def _uncut(
    text: str, places: Sequence[Span], window: Span, *, keeps_opening: bool = False
) -> Passage:
    """Return a sentence without an opening that points back; one too long is cut at its end."""
    start, end = window
    if not keeps_opening:
        start += left_out_length(text[start : min(end, start + _LONGEST_READ)])
    after = ""
    if end - start > EXCERPT_LIMIT:
        pauses = _PAUSE.finditer(text, start + EXCERPT_LIMIT // 2, start + EXCERPT_LIMIT)
        end = max((pause.start() for pause in pauses), default=0)
        end = end or text.rfind(" ", start + 1, start + EXCERPT_LIMIT)
        end, after = end if end > 0 else start + EXCERPT_LIMIT, _AFTER_CUT
    kept = tuple((a - start, b - start) for a, b in places if start <= a and b <= end)
    piece = text[start:end]
    return Passage(f"{_capitalize(piece) if start > window[0] else piece}{after}", kept)


@lru_cache(512)  # several topics match a paper
def _value_sentences(text: str, rule: int) -> tuple[tuple[Span, ...], tuple[float, ...]]:
    """Return the sentences of a text, and how much each says of what the authors did."""
    value, split = (standalone_value, _shown_sentences) if rule else (sentence_value, sentences)
    bounds = tuple(split(text)[:_MOST_READ])
    read = [text[a:b][:_LONGEST_READ] for a, b in bounds]
    if rule >= 2:
        return bounds, tuple([value_by_rule_2(one, is_first=n == 0) for n, one in enumerate(read)])
    return bounds, tuple(map(value, read))


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
    """Return a field as one clean line, and the matched places.

    There are none if cleaning changed the text: they count characters of the original.
    """
    line = clean(text)
    spans = {span for why in reasons if why.field == field for span in why.spans}
    inside = [span for span in spans if line == text and 0 <= span[0] < span[1] <= len(line)]
    return line, merge_spans(inside)


def _best_window(
    text: str, places: Sequence[Span], bounds: Sequence[Span], values: Sequence[float]
) -> Span:
    """Return the two neighbours with the most matched words; of equals, the most valuable ones."""
    pairs = zip(bounds, bounds[1:] or bounds, strict=False)
    windows = [(a[0], b[1] if _are_neighbours(a, b) else a[1]) for a, b in pairs]

    def worth(number: int) -> tuple[int, float]:
        hits = _words_in(text, places, windows[number])
        return len(hits), max(values[number : number + 2], default=0.0)

    return windows[max(range(len(windows)), key=worth)] if windows else (0, 0)


def _are_neighbours(first: Span, second: Span) -> bool:
    """Whether two sentences follow each other in the text.

    One between them that says where the code is may have been left out.
    """
    return second[0] - first[1] <= 2


def _words_in(text: str, places: Sequence[Span], window: Span) -> set[str]:
    """Return what matched between two places of a text."""
    inside = [(a, b) for a, b in places if window[0] <= a and b <= window[1]]
    return {text[start:end].casefold() for start, end in inside}


def _cut(text: str, places: Sequence[Span], window: Span, limit: int, rule: int = 0) -> Passage:
    """Return a window of the text, at most `limit` characters, cut around its first match.

    With a rule, an opening that points back to what is not shown is left out.
    """
    whole, (start, end) = window, window
    if rule:
        window = start, end = _after_opening(text, places, window), end
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
    piece = text[start:end]
    if whole != window and not before:
        piece = _capitalize(piece)
    return Passage(f"{before}{piece}{after}", kept)


# ── which sentence of an abstract says what the authors did ─────────────────────────

# Plain rules, in English: abstracts name their contribution in few ways ("we propose", "this paper
# presents", "our results show"), and their background in few others ("recent advances", "however").
# They follow the moves of scientific abstracts that Swales (Genre Analysis, 1990) and Teufel and
# Moens (Computational Linguistics 28(4), 2002) describe.

# Presenting something new counts for more than other work of the authors, and that for more than
# results.
_MAKES, _DOES, _RESULTS = 6.0, 4.0, 2.0
_BACKGROUND_LOSS = -2.0
_REFERS_BACK_LOSS_BY_RULE_0 = -1.0
_SHORT = -2.0
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


def _at_word(*patterns: str) -> re.Pattern[str]:
    """Return a pattern for sentences in lower case, tried only where a word begins."""
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
# A sentence whose first words refer to the one before it, by rule 0.
_REFERS_BACK_BY_RULE_0 = re.compile(
    r"^(?:it|they|these|those|such|its|their|he|she|both|moreover|furthermore|additionally"
    r"|in addition|also|besides|further|specifically|in particular|thus|therefore|hence"
    r"|consequently|as a result|for example|for instance|in contrast|similarly|then|next"
    r"|second(?:ly)?|third(?:ly)?|finally|lastly|and|but|or|so|yet|instead|otherwise|notably"
    r"|on the other hand|the (?:former|latter)"
    r"|this (?:is|was|has|can|may|will|leads|allows))\b"
)

_GAINS = ((_NEW_THING, _MAKES), (_CONTRIBUTION, _DOES), (_RESULT, _RESULTS))
_LOSSES = ((_BACKGROUND, _BACKGROUND_LOSS), (_REFERS_BACK_BY_RULE_0, _REFERS_BACK_LOSS_BY_RULE_0))


def sentence_value(sentence: str) -> float:
    """Return how much a sentence says of what a paper does; below 0 for background."""
    sentence = sentence.lower()
    value = next((value for pattern, value in _GAINS if pattern.search(sentence)), 0.0)
    value += sum(loss for pattern, loss in _LOSSES if pattern.search(sentence))
    return value + (_SHORT if sentence.count(" ") + 1 < _FEWEST_WORDS else 0)


# ── what points back to other sentences, and what only says where the code is ──────────

# The rule that chooses excerpts; a digest stores the one it was made with. Rule 0, of older
# digests, is `sentence_value` alone; rule 1 puts sentences with a match first, and cuts two.
EXCERPT_RULE = 2
_MIN_WORDS_LEFT = 4

_NOT_PAPER = rf"(?! (?:present )?{_PAPER}\b)"
_SUBJECT = (
    rf"(?=(?:we|i(?!\.)|here|our|(?:in )?{_THIS_PAPER}|the (?:paper|work|article|authors?)"
    r"|(?:an?|the) [^,.;]{1,90}? (?:is|are|was|were) (?:then |also )?\w+ed)\b)"
)
_CONNECTIVE = re.compile(
    r"(?:however|therefore|thus|hence|then|moreover|further(?:more)?|additionally|in addition|also"
    r"|in (?:particular|specific|response|contrast|fact|short|summary|conclusion|turn|detail)|next"
    r"|specifically|(?:more|to be) (?:specific|precise)(?:ally|ly)?|(?:con|sub)sequently|concretely"
    r"|besides|rather|particularly|(?:accord|correspond|interest|surpris|intrigu)ingly|instead|alternatively|overall"
    r"|(?:not|remark)ably|importantly|conversely|as an? (?:\w+ ){0,2}(?:result|consequence|remedy"
    r"|step|alternative)|on (?:the (?:other hand|contrary)|this account)|likewise|similarly|indeed"
    rf"|(?:second|third|last|final)(?:ly)?|meanwhile|and|but|so)(?:, |,? {_SUBJECT})",
    re.IGNORECASE,
)
_OPENING_CLAUSE = re.compile(
    r"(?:(?:in order )?to|towards?|in (?:light|view|response|answer|contrast)|unlike|different|due"
    r"|based?|on (?:the )?basis|because|motivated|inspired|guided|(?:us|build|follow|observ"
    r"|address|consider|leverag|aim)ing|(?:for|with|given|from|in)(?= (?:this,|(?:this|th[eo]se"
    r"|that|such) (?:\w+ )?(?:mind|end|view|reason|goal|aim|objective|idea|motivation|insight"
    r"|purpose|observation|finding|challenge|issue|problem|limitation|gap|regard|direction|context"
    rf"|spirit|light)s?\b)))\b(?:[^.;:?!\"“”()]{{1,160}}?, {_SUBJECT}"
    r"|[^,.;:?!\"“”()]{1,80}?(?<!that)(?<!which)(?<!how) (?=we |this paper ))",
    re.IGNORECASE,
)
# An opening that points back to other sentences. One that names the conditions of a claim is part
# of the claim, and does not count.
_OPENING_REFERS_BACK = re.compile(
    rf"(?!.*(?:assum|condition|setting|\bcases?\b)).*?\b(?:th(?:is|ese){_NOT_PAPER}"
    r"|such(?! (?:as|that)\b)|those(?! (?:\w+ed|in|of|that|who|which|from|with|used|on|for)\b)"
    r"|that (?:end|effect|purpose|goal|aim|problem|issue|gap|challenge|reason)"
    r"|the (?:above|aforementioned|former|latter)|on our|(?:the (?:issue|problem|challenge|gap"
    r"|limitation|shortcoming|drawback)s?|it|them|so)(?=,))\b",
    re.IGNORECASE,
)
_LOWER_WORD = re.compile(r"(?:a|[^\W\d_]{2,})(?!\w)")

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
_ALSO_GAINS = ((_PAPER_DOES, _DOES), (_IS_DONE, 1.5))
_REFERS_BACK_LOSS = 5.0
_CONTINUES_LOSS = 1.0


def connective_length(sentence: str) -> int:
    """Return the length of the connectives that tie a sentence to those before it."""
    end = 0
    while opening := _CONNECTIVE.match(sentence, end) or _OPENING_CLAUSE.match(sentence, end):
        if opening.re is _OPENING_CLAUSE and not _OPENING_REFERS_BACK.match(opening[0]):
            break
        end = opening.end()
    return end if sentence.count(" ", end) + 1 >= _MIN_WORDS_LEFT else 0


def _after_opening(text: str, places: Sequence[Span], window: Span) -> int:
    """Return where a window begins after its opening, or its start if the opening has a match."""
    start, end = window
    after = start + connective_length(text[start : min(end, start + _LONGEST_READ)])
    return start if any(a < after and start < b for a, b in places) else after


def _capitalize(text: str) -> str:
    """Begin with a capital letter, but for names such as mRNA and k-means."""
    word = _LOWER_WORD.match(text)
    return text[0].upper() + text[1:] if word and word[0].islower() else text


def standalone_value(sentence: str) -> float:
    """Return `sentence_value`, more for forms that it does not know.

    It is less for a sentence that points back to others.
    """
    value, sentence = sentence_value(sentence), sentence.lower()
    if _BACKGROUND_LOSS < value <= 0:
        value += next((gain for pattern, gain in _ALSO_GAINS if pattern.search(sentence)), 0.0)
    if value <= 0:
        return value
    alone = sentence[connective_length(sentence) :]
    if _REFERS_BACK.match(alone):
        return value - _REFERS_BACK_LOSS
    return value - _CONTINUES_LOSS if _CONTINUES.search(alone) else value


# Where a long sentence may end: a comma, but not in a number.
_PAUSE = re.compile(r"[,;:](?= )| (?=[(–—])")
_DEPENDS_ON_PREVIOUS = _at_word(
    rf"^(?:this|these|those){_NOT_PAPER}|^we (?:\w+ ){{1,2}}(?:that )?th(?:is|ese){_NOT_PAPER}"
    r"|^we (?:\w+ ?)?(?:instead|indeed|then|therefore|thus|hence|next|believe|hope|further)\b"
    r"|^(?:and|or|but|while|whereas|because|building up?on|turning to|here,? the)\b",
    r"^(?:\w+ ){0,3}(?:such|these|those|the latter|the former|the above)\b(?! as\b| that\b)",
)
# Somewhere in a sentence: a word for something in another one.
_POINTS_BACK = re.compile(
    rf"\bth(?:is|ese|ose)(?! (?:present|end|way)?\b ?{_PAPER}\b)"
    r"(?! \w+ed\b| (?:in|of|that|who|with)\b) \w"
    r"|\bsuch (?!as\b|that\b|an?\b)\w+|\bthe (?:above|aforementioned|latter|former|second|third)\b"
    r"|^\w+ then\b"
)
_IN_THIS_PAPER = _at_word(rf"(?:in |of )?{_THIS_PAPER}\b")
_ENUMERATING_OPENING = re.compile(
    rf"(?:(?:first(?:ly)?|to (?:start|begin)(?: with)?|in the first place), )(?={_SUBJECT}|\w)"
    rf"|(?:motivated|inspired|guided|driven) by [^.;:?!]{{1,120}}?, {_SUBJECT}",
    re.IGNORECASE,
)
_WE_BUILD = _at_word(rf"(?:we|{_THIS_PAPER}){_ADVERBS} (?:build|built|creat|construct|train)")
_I_DO = ((_at_word(rf"i{_ADVERBS} {_NEW}"), _MAKES), (_at_word(rf"i{_ADVERBS} {_DID}"), _DOES))
_OWN_PAPER_GAIN = 1.5
_LEAST_OF_SECOND = 1.5
_POINTS_BACK_LOSS = 2.0


def left_out_length(sentence: str) -> int:
    """Return the length of the opening that rule 2 leaves out."""
    end = connective_length(sentence)
    opening = _ENUMERATING_OPENING.match(sentence, end)
    return opening.end() if opening else end


def value_by_rule_2(sentence: str, *, is_first: bool = False) -> float:
    """Return `standalone_value`, more for the paper as a whole, less for what points back.

    A claim of improvement in the first sentence is usually about others' work, so it scores 0.
    """
    value, lower = standalone_value(sentence), sentence.lower()
    start = left_out_length(sentence)
    alone = lower[start:]
    if value <= _RESULTS:
        value = next((gain for pattern, gain in _I_DO if pattern.search(alone)), value)
    if is_first and 0 < value <= _RESULTS and not _IS_DONE.search(alone):
        return 0.0
    if value <= 0:
        return value
    if _DEPENDS_ON_PREVIOUS.search(alone):
        return value - _REFERS_BACK_LOSS
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
_SAYS_WHERE = re.compile(
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
_CLAIM = re.compile(
    r"\b(?:we|this (?:paper|work)|i)\b[^.]{0,30}\b(?:propos|present|introduc|develop|describ|design"
    r"|formulat|contribut|buil[dt]|test|evaluat|appl[iy]|show|demonstrat)|outperform|achiev|improv"
    rf"|demonstrate|show that|^(?!.*\b(?:{_OPEN}|found|obtained|see|view|visit|at|code|here)\b)"
)
_MOST_WORDS_ABOUT_CODE = 35
_FEW_WORDS_BESIDE_ADDRESS = 8


def _shown_sentences(text: str) -> list[Span]:
    """Return the sentences that do not only say where the code is; all, if there are no others."""
    bounds, addresses = sentences(text), find_addresses(text)
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
    """Whether a sentence says no more than where the code, the data or a page is."""
    length, sentence = sentence.count(" ") + 1, sentence.lower()
    if length > _MOST_WORDS_ABOUT_CODE:
        return False
    if has_address and (length <= _FEW_WORDS_BESIDE_ADDRESS or not _CLAIM.search(sentence)):
        return True
    return bool(_SAYS_WHERE.match(sentence, connective_length(sentence)))


# A run of signs is looked at once, from its beginning: a text may be nothing but dots.
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
    opening = _BEFORE_NEXT.match(text, end.end())
    if opening is None:
        return False
    following = text[opening.end() : opening.end() + 1]
    if not following or (following.islower() and "$" not in text[end.end() : opening.end()]):
        return False
    return not _ABBREVIATION.search(text, max(0, end.start() - 12), end.start() + 1)
