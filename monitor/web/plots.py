"""Papers a day as a plot: SVG with a table of the same numbers. Pure.

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
from datetime import date
from math import ceil, log10

from markupsafe import Markup

from monitor.digest.wording import format_count
from monitor.model import DayCount

# With more, a day is thinner than two pixels on a phone.
MAX_DAYS = 180
# Pixels: the highest bar ends at the top, and all stand on the floor.
_HEIGHT, _TOP, _FLOOR = 200, 36, 160
_DATES_AT, _LABEL_AT = 176, 194
_MAX_DATES = 4
# Percent of the width that a date takes on a phone.
_DATE_WIDTH = 18
_MAX_LINES = 4
# The share of a day's width that its bar takes.
_BAR = 0.8
# Percent of the width that a day takes at most, so that a new plot is not one wide block.
_WIDEST = 6
# Percent of the width that the counts take, so that they have room on a phone.
_MARGIN, _DIGIT = 3, 2

_FIGURE = Markup(
    '<figure class="plot"><figcaption>{title}</figcaption>\n'
    '<svg role="img" aria-labelledby="{id}-title" aria-describedby="{id}-desc"'
    ' width="100%" height="{height}" font-size="12" fill="currentColor">'
    '<title id="{id}-title">{title}</title><desc id="{id}-desc">{summary}</desc>\n'
    '<text x="0" y="12">papers a day</text>\n{marks}'
    '<text x="50%" y="{label_at}" text-anchor="middle">{axis}</text>\n'
    "</svg>\n{legend}{table}</figure>\n"
)
# Marks and rows are of numbers and dates alone, so they need no escaping: 180 days, of each some.
_LINE = (
    '<line class="grid" x1="{left}%" x2="100%" y1="{y}" y2="{y}" stroke="currentColor"'
    ' stroke-opacity="0.25"/><text x="{end}%" y="{base}" text-anchor="end">{count}</text>\n'
)
_DATE = '<text x="{x}%" y="{y}" text-anchor="{anchor}">{date}</text>\n'
_GAP = (
    '<rect class="gap" x="{x}%" y="{y}" width="{width}%" height="{height}" fill-opacity="0.08"'
    ' stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="2 3">'
    "<title>{what}</title></rect>\n"
)
_BAND = (
    '<rect class="usual" x="{x}%" y="{y}" width="{width}%" height="{height}"'
    ' fill-opacity="0.15"/>\n'
)
_PAPERS = (
    '<rect class="{kind}" x="{x}%" y="{y}" width="{width}%" height="{height}" fill-opacity="0.75">'
    "<title>{what}</title></rect>\n"
)
_THIN = '<circle class="mark" cx="{x}%" cy="{y}" r="3"/>\n'
_TABLE = Markup(
    "<details><summary>The same numbers as a table</summary>\n"
    "<table><caption>{title}</caption>\n"
    '<thead><tr><th scope="col">Day</th><th scope="col">Papers</th>{usual}</tr></thead>\n'
    "<tbody>\n{rows}</tbody></table></details>\n"
)
_ROW = '<tr><th scope="row">{day}</th><td>{papers}</td>{usual}</tr>\n'
_EMPTY = Markup("")


def plot_days(
    days: Sequence[DayCount], title: str, *, id: str = "plot", axis: str = "day (UTC)"
) -> Markup:
    """Return a plot of the last days, with its table; nothing if there are no days.

    `id` tells several plots of a page apart. `axis` says whose days they are.
    """
    days = days[-MAX_DAYS:]
    if not days:
        return _EMPTY
    return _FIGURE.format(
        title=title,
        id=id,
        height=_HEIGHT,
        summary=_summary(days),
        marks=Markup("".join(_marks(days))),
        label_at=_LABEL_AT,
        axis=axis,
        legend=_legend(days),
        table=_table(days, title),
    )


def _marks(days: Sequence[DayCount]) -> Iterator[str]:
    lines = _lines(days)
    scale = (_FLOOR - _TOP) / lines[-1]
    left = _MARGIN + _DIGIT * len(f"{lines[-1]:,}")
    for count in lines:
        y = round(_FLOOR - count * scale, 1)
        yield _LINE.format(left=left, end=left - 1, y=y, base=y + 4, count=f"{count:,}")
    width = min((100 - left) / len(days), _WIDEST)
    for number, day in enumerate(days):
        yield from _day(day, left + number * width, width, scale)
    yield from _dates(days, left, width)


def _day(day: DayCount, x: float, width: float, scale: float) -> Iterator[str]:
    across = {"x": _percent(x), "width": _percent(width)}
    if day.usual:
        low, high = (round(_FLOOR - n * scale, 1) for n in (day.usual.low, day.usual.high))
        # A thin line where every day is the same.
        yield _BAND.format(**across, y=high, height=max(round(low - high, 1), 1.5))
    if day.papers is None:
        yield _GAP.format(**across, y=_TOP, height=_FLOOR - _TOP, what=_describe(day))
        return
    height = round(day.papers * scale, 1)
    kind = "papers thin" if day.is_thin else "papers"
    bar = {"x": _percent(x + width * (1 - _BAR) / 2), "width": _percent(width * _BAR)}
    yield _PAPERS.format(**bar, kind=kind, y=_FLOOR - height, height=height, what=_describe(day))
    if day.is_thin:
        yield _THIN.format(x=_percent(x + width / 2), y=_FLOOR - height - 7)


def _percent(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _lines(days: Sequence[DayCount]) -> list[int]:
    """Return the counts of the horizontal lines: round numbers, up to one that none exceeds."""
    most = max(1, *(ceil(max(day.papers or 0, day.usual.high if day.usual else 0)) for day in days))
    power = max(1, 10 ** int(log10(most)) // 10)
    steps = (step * power for step in (1, 2, 5, 10, 20, 50, 100))
    step = next(step for step in steps if ceil(most / step) <= _MAX_LINES)
    return list(range(0, ceil(most / step) * step + 1, step))


def _dates(days: Sequence[DayCount], left: int, width: float) -> Iterator[str]:
    """Name the first and the last day, and some between them, as many as have room."""
    count = max(1, min(len(days), _MAX_DATES, int(len(days) * width / _DATE_WIDTH)))
    for number in range(count):
        at = round(number * (len(days) - 1) / max(count - 1, 1))
        anchor = "start" if number == 0 else "end" if number == count - 1 else "middle"
        x = left + {"start": at, "middle": at + 0.5, "end": at + 1}[anchor] * width
        yield _DATE.format(x=_percent(x), y=_DATES_AT, anchor=anchor, date=_short(days[at].day))


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _describe(day: DayCount) -> str:
    if day.papers is None:
        return f"{day.day:%a} {_short(day.day)}: not read"
    papers = format_count(day.papers, "paper")
    text = f"{day.day:%a} {_short(day.day)}: {papers}"
    return f"{text}, usual {day.usual.median:,.0f}" if day.usual else text


def _summary(days: Sequence[DayCount]) -> str:
    """Say in words what the plot shows: the sum, the most, thin days and gaps."""
    first, last = days[0].day, days[-1].day
    total = sum(day.papers or 0 for day in days)
    most = max(days, key=lambda day: day.papers or 0)
    papers = format_count(total, "paper")
    text = f"{papers} from {first} to {last}; the most, {most.papers or 0:,}, on {most.day}."
    thin = ", ".join(str(day.day) for day in days if day.is_thin)
    gaps = ", ".join(str(day.day) for day in days if day.papers is None)
    text += f" Far fewer than usual on {thin}." if thin else ""
    return text + (f" Not read on {gaps}." if gaps else "")


def _legend(days: Sequence[DayCount]) -> Markup:
    """Say what the marks mean that are there."""
    meanings = [
        ("band: usual", any(day.usual for day in days)),
        ("dot: far fewer than usual", any(day.is_thin for day in days)),
        ("dashed: not read", any(day.papers is None for day in days)),
    ]
    shown = " · ".join(meaning for meaning, is_there in meanings if is_there)
    return Markup('<p class="legend">{}</p>\n').format(shown) if shown else _EMPTY


def _table(days: Sequence[DayCount], title: str) -> Markup:
    """Return the numbers, newest first."""
    usual = any(day.usual for day in days)
    rows = (
        _ROW.format(day=day.day, papers=_papers(day), usual=_usual(day) if usual else "")
        for day in reversed(days)
    )
    heading = Markup('<th scope="col">Usual</th>') if usual else _EMPTY
    return _TABLE.format(title=title, usual=heading, rows=Markup("".join(rows)))


def _papers(day: DayCount) -> str:
    if day.papers is None:
        return "not read"
    return f"{day.papers:,}, far fewer than usual" if day.is_thin else f"{day.papers:,}"


def _usual(day: DayCount) -> str:
    usual = day.usual
    text = f"{usual.median:,.0f} ({usual.low:,.0f} to {usual.high:,.0f})" if usual else ""
    return f"<td>{text}</td>"
