"""A piece of a paper's text, with the places that matched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.digest.sentence_value import LONGEST_READ, Span, connective_length
from monitor.model import MatchReason, merge_spans
from monitor.text import clean

EXCERPT_LIMIT = 420
_LEAD_IN = 120
GAP = " … "
_BEFORE_CUT = "…\u00a0"
AFTER_CUT = "\u00a0…"
_LOWER_WORD = re.compile(r"(?:a|[^\W\d_]{2,})(?!\w)")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text and its marked places: (start, end), in order, never overlapping."""

    text: str
    spans: tuple[Span, ...] = ()


def mark(field: str, text: str, reasons: Sequence[MatchReason]) -> tuple[str, tuple[Span, ...]]:
    """Return a field as one clean line, and the matched places.

    There are none if cleaning changed the text: they count characters of the original.
    """
    line = clean(text)
    spans = {span for why in reasons if why.field == field for span in why.spans}
    inside = [span for span in spans if line == text and 0 <= span[0] < span[1] <= len(line)]
    return line, merge_spans(inside)


def join(first: Passage, second: Passage, gap: str) -> Passage:
    """Join two passages with one ellipsis between them at most."""
    text = second.text
    is_cut = first.text.endswith(AFTER_CUT)
    if is_cut or text.startswith(_BEFORE_CUT):
        gap = " "
    if is_cut:
        text = text.removeprefix(_BEFORE_CUT)
    shift = len(first.text) + len(gap) + len(text) - len(second.text)
    moved = tuple((start + shift, end + shift) for start, end in second.spans)
    return Passage(f"{first.text}{gap}{text}", (*first.spans, *moved))


def cut(text: str, places: Sequence[Span], window: Span, limit: int, rule: int = 0) -> Passage:
    """Return a window of the text, at most `limit` characters, cut around its first match.

    With a rule, an opening that points back to what is not shown is left out.
    """
    whole = window
    (start, end) = window
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
    after = AFTER_CUT if end < window[1] else ""
    shift = len(before) - start
    kept = tuple((a + shift, b + shift) for a, b in places if start <= a and b <= end)
    piece = text[start:end]
    if whole != window and not before:
        piece = capitalize(piece)
    return Passage(f"{before}{piece}{after}", kept)


def _after_opening(text: str, places: Sequence[Span], window: Span) -> int:
    """Return where a window begins after its opening, or its start if the opening has a match."""
    start, end = window
    after = start + connective_length(text[start : min(end, start + LONGEST_READ)])
    return start if any(a < after and start < b for a, b in places) else after


def capitalize(text: str) -> str:
    """Begin with a capital letter, but for names such as mRNA and k-means."""
    word = _LOWER_WORD.match(text)
    return text[0].upper() + text[1:] if word and word[0].islower() else text


def are_neighbours(first: Span, second: Span) -> bool:
    """Whether two sentences follow each other in the text.

    One between them that says where the code is may have been left out.
    """
    return second[0] - first[1] <= 2


def words_in(text: str, places: Sequence[Span], window: Span) -> set[str]:
    """Return what matched between two places of a text."""
    inside = [(a, b) for a, b in places if window[0] <= a and b <= window[1]]
    return {text[start:end].casefold() for start, end in inside}
