"""Papers a day as a plot: where its marks are, for templates/pages/plot.html.j2. Pure.

    papers a day
     40 ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈
            ▄   ░░░ ▄ ░░░░░░░░░          ░  what is usual
     20 ┈┈┈┈█┈▄┈░░░┈█┈░▄░░░░░▄░          •  far fewer than usual
          ▄ █ █ █ ┊┊┊ █ █ █ • █          ┊  not read
        26 Oct     9 Nov   23 Nov
              day (UTC)

Across, everything is in percent, and down, in pixels: letters stay as large on a narrow screen.
Colours are those of the text around it, so that a plot is dark on light pages and light on dark
ones; a style sheet may give the classes others. There are no `style` attributes: pages forbid them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from math import ceil

from monitor.digest.wording import format_count
from monitor.model import DayCount

# The days of a source or a topic.
DAYS = 90
# With more, a day is thinner than two pixels on a phone.
MAX_DAYS = 180
# Pixels: the highest bar ends at the top, and all stand on the floor.
_TOP = 36
_FLOOR = 160
_MAX_DATES = 4
# Percent of the width that a date takes on a phone.
_DATE_WIDTH = 18
_MAX_LINES = 4
# Percent of the width that a day takes at most, so that a new plot is not one wide block.
_WIDEST = 6
# Percent of the width that the counts take, so that they have room on a phone.
_MARGIN = 3
_DIGIT = 2


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of a day, or its gap; `band` is the top and the height of the usual counts."""

    day: DayCount
    label: str
    x: float
    width: float
    y: float
    height: float
    band: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot, with places across in percent of the width, and heights in pixels from the top."""

    # The caption, which is also the accessible name of the picture.
    title: str
    # The words below the days, which name their zone.
    axis: str
    # The same facts as sentences, for screen readers.
    summary: str
    # The meanings of the marks that are in it, "" for none.
    legend: str
    # Some day has a usual count, so that the table has a column for it.
    has_usual: bool
    # The place where the days begin, beside the counts.
    left: int
    # Counts with their heights, the lowest count first.
    lines: Sequence[tuple[int, float]]
    # The bars of the days, the oldest first.
    bars: Sequence[Bar]
    # Places of dates with their SVG text-anchor and text.
    dates: Sequence[tuple[float, str, str]]


def plot_days(days: Sequence[DayCount], title: str, *, axis: str = "day (UTC)") -> Plot | None:
    """Return a plot of the last days, None for no days. `axis` says whose days they are."""
    days = days[-MAX_DAYS:]
    if not days:
        return None
    counts = _lines(days)
    scale = (_FLOOR - _TOP) / counts[-1]
    left = _MARGIN + _DIGIT * len(f"{counts[-1]:,}")
    width = min((100 - left) / len(days), _WIDEST)
    return Plot(
        title=title,
        axis=axis,
        summary=_summary(days),
        legend=_legend(days),
        has_usual=any(day.usual for day in days),
        left=left,
        lines=[(count, round(_FLOOR - count * scale, 1)) for count in counts],
        bars=[_bar(day, left + n * width, width, scale) for n, day in enumerate(days)],
        dates=[*_dates(days, left, width)],
    )


def _bar(day: DayCount, x: float, width: float, scale: float) -> Bar:
    band = None
    if day.usual:
        low, high = (round(_FLOOR - n * scale, 1) for n in (day.usual.low, day.usual.high))
        band = high, max(round(low - high, 1), 1.5)  # a thin line where every day is the same
    height = _FLOOR - _TOP if day.papers is None else round(day.papers * scale, 1)
    return Bar(day, _describe(day), round(x, 2), round(width, 2), _FLOOR - height, height, band)


def _lines(days: Sequence[DayCount]) -> list[int]:
    """Return the counts of the horizontal lines: round numbers, up to one that none exceeds."""
    most = max(1, *(ceil(max(day.papers or 0, day.usual.high if day.usual else 0)) for day in days))
    steps = (factor * 10**power for power in count() for factor in (1, 2, 5))
    step = next(step for step in steps if most <= step * _MAX_LINES)
    return list(range(0, ceil(most / step) * step + 1, step))


def _dates(days: Sequence[DayCount], left: int, width: float) -> Iterator[tuple[float, str, str]]:
    """Name the first and the last day, and some between them, as many as have room."""
    count = max(1, min(len(days), _MAX_DATES, int(len(days) * width / _DATE_WIDTH)))
    for number in range(count):
        at = round(number * (len(days) - 1) / max(count - 1, 1))
        anchor = "start" if number == 0 else "end" if number == count - 1 else "middle"
        x = left + {"start": at, "middle": at + 0.5, "end": at + 1}[anchor] * width
        yield round(x, 2), anchor, _short(days[at].day)


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _describe(day: DayCount) -> str:
    if day.papers is None:
        return f"{day.day:%a} {_short(day.day)}: not read"
    text = f"{day.day:%a} {_short(day.day)}: {format_count(day.papers, 'paper')}"
    return f"{text}, usual {day.usual.median:,.0f}" if day.usual else text


def _summary(days: Sequence[DayCount]) -> str:
    """Return the plot as sentences: the sum, the most, thin days and gaps."""
    first = days[0].day
    last = days[-1].day
    most = max(days, key=lambda day: day.papers or 0)
    papers = format_count(sum(day.papers or 0 for day in days), "paper")
    text = f"{papers} from {first} to {last}; the most, {most.papers or 0:,}, on {most.day}."
    thin = ", ".join(str(day.day) for day in days if day.is_thin)
    gaps = ", ".join(str(day.day) for day in days if day.papers is None)
    text += f" Far fewer than usual on {thin}." if thin else ""
    return text + (f" Not read on {gaps}." if gaps else "")


def _legend(days: Sequence[DayCount]) -> str:
    meanings = [
        ("band: usual", any(day.usual for day in days)),
        ("dot: far fewer than usual", any(day.is_thin for day in days)),
        ("dashed: not read", any(day.papers is None for day in days)),
    ]
    return " · ".join(meaning for meaning, is_there in meanings if is_there)
