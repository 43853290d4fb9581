"""Excerpts by rules 0 and 1, of digests that older versions sent."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.digest.passage import EXCERPT_LIMIT, GAP, Passage, are_neighbours, cut, join, words_in
from monitor.digest.sentence_value import Span, value_sentences


def excerpt_before_rule_2(abstract: str, places: Sequence[Span], rule: int) -> Passage:
    """Return the sentence that says most of what was done, cut if need be, and perhaps another.

    Rule 0 judges sentences by `value_by_rule_0` alone. Rule 1 also judges whether they stand alone,
    and leaves out openings that point back and sentences that only say where the code is.
    """
    bounds, own_values = value_sentences(abstract, rule)
    words = [len(words_in(abstract, places, span)) for span in bounds]
    pairs = zip(own_values, words, strict=True)
    values = [value + min(hits, 2) if value > 0 else value for value, hits in pairs]
    if max(values, default=0.0) <= 0:
        window = _best_window(abstract, places, bounds, values if rule else ())
        return cut(abstract, places, window, EXCERPT_LIMIT, rule)
    first = values.index(max(values))
    second = _second(first, values, words)
    if second is None:
        return cut(abstract, places, bounds[first], EXCERPT_LIMIT, rule)
    lengths = [bounds[first][1] - bounds[first][0], bounds[second][1] - bounds[second][0]]
    if sum(lengths) + len(GAP) > EXCERPT_LIMIT:
        if words[first] or not words[second]:
            return cut(abstract, places, bounds[first], EXCERPT_LIMIT, rule)
        lengths = [min(lengths[0], EXCERPT_LIMIT // 2), EXCERPT_LIMIT - EXCERPT_LIMIT // 2]
    if second < first:
        first, second, lengths = second, first, lengths[::-1]
    # Right after the first sentence, the second may keep an opening that points back to it.
    is_next = are_neighbours(bounds[first], bounds[second])
    before = cut(abstract, places, bounds[first], lengths[0], rule)
    after = cut(abstract, places, bounds[second], lengths[1], 0 if is_next else rule)
    return join(before, after, " " if is_next else GAP)


def _second(first: int, values: Sequence[float], words: Sequence[int]) -> int | None:
    """Return the number of the other sentence to show, None when no other says enough."""
    others = [number for number in range(len(values)) if number != first]
    if not words[first]:
        others = [number for number in others if words[number]] or others
    best = max(others, key=lambda number: (values[number], -abs(number - first)), default=None)
    if best is None or (values[best] <= 1 and (words[first] or not words[best])):
        return None
    return best


def _best_window(
    text: str, places: Sequence[Span], bounds: Sequence[Span], values: Sequence[float]
) -> Span:
    """Return the two neighbours with the most matched words; of equals, the most valuable ones."""
    pairs = zip(bounds, bounds[1:] or bounds, strict=False)
    windows = [(a[0], b[1] if are_neighbours(a, b) else a[1]) for a, b in pairs]

    def worth(number: int) -> tuple[int, float]:
        hits = words_in(text, places, windows[number])
        return len(hits), max(values[number : number + 2], default=0.0)

    return windows[max(range(len(windows)), key=worth)] if windows else (0, 0)
