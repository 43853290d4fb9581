"""The words of a paper that a digest shows, with the places that matched."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from monitor.digest.excerpt_before_rule_2 import excerpt_before_rule_2
from monitor.digest.passage import (
    AFTER_CUT,
    EXCERPT_LIMIT,
    GAP,
    Passage,
    are_neighbours,
    capitalize,
    cut,
    join,
    mark,
    words_in,
)
from monitor.digest.sentence_value import (
    DOES,
    LEAST_OF_SECOND,
    LONGEST_READ,
    REFERS_BACK_LOSS,
    Span,
    left_out_length,
    value_sentences,
)
from monitor.model import DigestPaper, MatchReason
from monitor.text import title_lengths
from monitor.text.plurals import singular

# The rule that chooses excerpts. A digest stores the number of its rule: rules 0 and 1, of older
# digests, are in `excerpt_before_rule_2`.
EXCERPT_RULE = 2
# Where a long sentence may end: at punctuation before a space, or before a bracket or dash.
_PAUSE = re.compile(r"[,;:](?= )| (?=[(–—])")


def headline(entry: DigestPaper) -> Passage:
    """Return the title, cut to the length that digests show, with the words that matched."""
    title, matched_spans = mark("title", entry.paper.title, entry.reasons)
    whole = Passage(title, matched_spans)
    if len(title) > title_lengths.IN_LIST:
        whole = cut(title, matched_spans, (0, len(title)), title_lengths.IN_LIST)
    return _without_marks(whole, entry.unmarked)


def whole_abstract(entry: DigestPaper) -> Passage:
    """Return the abstract, with the words that matched."""
    abstract, matched_spans = mark("abstract", entry.paper.abstract, entry.reasons)
    return _without_marks(Passage(abstract, matched_spans), entry.unmarked)


def excerpt(entry: DigestPaper) -> Passage:
    """Return the sentence that best says what the authors did or found, and at most one other.

    The other is the next best; if nothing matched in the first, one with a match is preferred. It
    is left out if the two do not fit. If no sentence says what was done, the two are the best
    sentence that stands alone, one with a match if possible, and its neighbour. An ellipsis marks
    each gap, and where a sentence was cut.
    """
    chosen = _excerpt(entry.paper.abstract, entry.reasons, entry.excerpt_rule)
    return _without_marks(chosen, entry.unmarked)


def excerpt_beside_line(entry: DigestPaper) -> Passage:
    """Return the excerpt, without its first sentence if the digest shows `note.line` instead."""
    if not entry.note or not entry.note.line:
        return excerpt(entry)
    abstract, matched_spans = mark("abstract", entry.paper.abstract, entry.reasons)
    bounds, chosen = _choose(abstract, matched_spans, entry.excerpt_rule)
    rest = [_shown_sentence(abstract, matched_spans, bounds[number]) for number in chosen[1:]]
    return _without_marks(rest[0], entry.unmarked) if rest else Passage("")


def _without_marks(passage: Passage, words: Collection[str]) -> Passage:
    if not words:
        return passage
    text = passage.text
    spans = (span for span in passage.spans if mark_key(text[slice(*span)]) not in words)
    return Passage(text, tuple(spans))


def mark_key(text: str) -> str:
    """Return the form in which marked words are compared: `Agents` and `agent` are one word."""
    return singular(text.casefold())


# With fewer titles, a common word says little.
_FEWEST_TITLES = 3


def words_of_all(entries: Sequence[DigestPaper]) -> tuple[str, ...]:
    """Return the words that are marked in all titles of a group, where marks would say nothing."""
    if len(entries) < _FEWEST_TITLES:
        return ()
    marked = [{mark_key(p.text[a:b]) for a, b in p.spans} for p in map(headline, entries)]
    return tuple(sorted(set.intersection(*marked)))


# A paper is shown to several subscribers, each in several forms.
@lru_cache(512)
def _excerpt(abstract: str, reasons: tuple[MatchReason, ...], rule: int) -> Passage:
    abstract, matched_spans = mark("abstract", abstract, reasons)
    if rule >= 2:
        return _whole_sentences(abstract, matched_spans, rule)
    return excerpt_before_rule_2(abstract, matched_spans, rule)


def _whole_sentences(abstract: str, matched_spans: Sequence[Span], rule: int) -> Passage:
    """Return an excerpt by rule 2. No sentence is cut, except a single long one."""
    bounds, chosen = _choose(abstract, matched_spans, rule)
    spans = [bounds[number] for number in chosen]
    if len(spans) == 2:
        # Right after the first sentence, the second may keep an opening that points back to it.
        is_next = are_neighbours(*spans)
        second = _shown_sentence(abstract, matched_spans, spans[1], keeps_opening=is_next)
        return join(
            _shown_sentence(abstract, matched_spans, spans[0]), second, " " if is_next else GAP
        )
    if spans and max(value_sentences(abstract, rule)[1]) <= 0:
        return cut(abstract, matched_spans, spans[0], EXCERPT_LIMIT, rule)
    return _shown_sentence(abstract, matched_spans, spans[0]) if spans else Passage("")


def _choose(
    abstract: str, matched_spans: Sequence[Span], rule: int
) -> tuple[Sequence[Span], Sequence[int]]:
    """Return the sentences of an abstract, and the numbers of the one or two to show, in order."""
    bounds, values = value_sentences(abstract, rule)
    if not bounds:
        return bounds, ()
    hits = [bool(words_in(abstract, matched_spans, span)) for span in bounds]
    main = values.index(max(values))
    # A sentence before the main one needs a higher value: it is often background.
    min_values = [DOES] * main + [LEAST_OF_SECOND] * (len(bounds) - main)
    others = [n for n in range(len(bounds)) if n != main and values[n] >= min_values[n]]
    if values[main] <= 0:
        alone = [n for n, value in enumerate(values) if value > -REFERS_BACK_LOSS] or [0]
        main = max(alone, key=lambda n: (hits[n], values[n]))
        others = [n for n in (main + 1, main - 1) if 0 <= n < len(bounds)][:1]
    elif not hits[main]:
        others = [n for n in others if hits[n]] or others
    room = EXCERPT_LIMIT - len(GAP) - _length(bounds[main])
    best = sorted(others, key=lambda n: (-values[n], abs(n - main)))
    second = next((n for n in best if _length(bounds[n]) <= room), None)
    return bounds, [main] if second is None else sorted((main, second))


def _length(span: Span) -> int:
    return span[1] - span[0]


def _shown_sentence(
    text: str, matched_spans: Sequence[Span], window: Span, *, keeps_opening: bool = False
) -> Passage:
    """Return a sentence as it is shown: without an opening that points back, and not too long."""
    start, end = window
    if not keeps_opening:
        start += left_out_length(text[start : min(end, start + LONGEST_READ)])
    after = ""
    if end - start > EXCERPT_LIMIT:
        pauses = _PAUSE.finditer(text, start + EXCERPT_LIMIT // 2, start + EXCERPT_LIMIT)
        end = max((pause.start() for pause in pauses), default=0)
        end = end or text.rfind(" ", start + 1, start + EXCERPT_LIMIT)
        end = end if end > 0 else start + EXCERPT_LIMIT
        after = AFTER_CUT
    kept = tuple((a - start, b - start) for a, b in matched_spans if start <= a and b <= end)
    piece = text[start:end]
    return Passage(f"{capitalize(piece) if start > window[0] else piece}{after}", kept)
