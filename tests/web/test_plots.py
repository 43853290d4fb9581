"""Papers a day as SVG: what it shows, and that it is safe and readable."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from monitor.digest.render import JinjaTemplates
from monitor.model import DayCount, UsualCount
from monitor.web import plots
from monitor.web.plots import MAX_DAYS

FIRST = date(2026, 10, 26)
USUAL = UsualCount(low=28, median=30, high=34)


def days(*papers: int | None, usual: UsualCount | None = None) -> list[DayCount]:
    return [DayCount(FIRST + timedelta(n), count, usual) for n, count in enumerate(papers)]


TEMPLATES = JinjaTemplates()


def plot_days(days: list[DayCount], title: str, axis: str = "day (UTC)") -> str:
    plot = plots.plot_days(days, title, axis=axis)
    return TEMPLATES.render("pages/plot.html.j2", plot=plot) if plot else ""


def drawn(plot: str) -> ElementTree.Element:
    """The figure is also well-formed XML, so that a browser and this parser read the same."""
    return ElementTree.fromstring(plot)


def with_class(plot: str, kind: str) -> list[ElementTree.Element]:
    return [one for one in drawn(plot).iter() if kind in one.get("class", "").split()]


def test_each_day_is_a_bar_as_high_as_its_papers() -> None:
    bars = with_class(plot_days(days(10, 20, 0), "arXiv"), "papers")
    heights = [float(bar.get("height", "")) for bar in bars]
    assert heights[1] == 2 * heights[0] > 0 == heights[2]
    assert [bar.findtext("title") for bar in bars][:2] == [
        "Mon 26 Oct: 10 papers",
        "Tue 27 Oct: 20 papers",
    ]


def test_a_plot_of_few_days_has_narrow_bars_and_dates_that_have_room() -> None:
    single = plot_days(days(1), "arXiv")
    [bar] = with_class(single, "papers")
    assert float(bar.get("width", "").rstrip("%")) < 6
    assert bar.findtext("title") == "Mon 26 Oct: 1 paper"
    assert "1 paper from 2026-10-26" in single
    few = plot_days(days(1, 2, 3), "arXiv")
    dates = [text for text in drawn(few).itertext() if re.fullmatch(r"\d+ Oct", text)]
    assert dates == ["26 Oct"]


def test_a_thin_day_is_marked_beside_what_is_usual() -> None:
    thin = DayCount(FIRST + timedelta(2), 3, USUAL, is_thin=True)
    plot = plot_days([*days(30, 31, usual=USUAL), thin], "arXiv")
    assert len(with_class(plot, "usual")) == 3
    [bar] = with_class(plot, "thin")
    [mark] = with_class(plot, "mark")
    assert bar.findtext("title") == "Wed 28 Oct: 3 papers, usual 30"
    assert float(mark.get("cy", "")) < float(bar.get("y", ""))
    assert "Far fewer than usual on 2026-10-28." in (drawn(plot).findtext(".//desc") or "")
    assert drawn(plot).findtext(".//p") == "band: usual · dot: far fewer than usual"


def test_a_day_without_a_reading_is_a_gap_and_no_zero() -> None:
    plot = plot_days(days(5, None, 0), "arXiv")
    [gap] = with_class(plot, "gap")
    assert gap.findtext("title") == "Tue 27 Oct: not read"
    assert len(with_class(plot, "papers")) == 2
    assert "Not read on 2026-10-27." in (drawn(plot).findtext(".//desc") or "")


def test_the_table_has_the_same_numbers_newest_first() -> None:
    plot = drawn(plot_days([*days(12, None), *days(1500, usual=USUAL)], "arXiv"))
    cells = [[cell.text for cell in row] for row in plot.iter("tr")]
    assert cells == [
        ["Day", "Papers", "Usual"],
        ["2026-10-26", "1,500", "30 (28 to 34)"],
        ["2026-10-27", "not read", None],
        ["2026-10-26", "12", None],
    ]


def test_it_names_itself_its_units_and_its_days() -> None:
    plot = drawn(plot_days(days(*range(30)), "Papers of arXiv", axis="day (New York)"))
    svg = plot.find("svg")
    assert svg is not None and svg.get("aria-labelledby") == "plot-title"
    assert svg.findtext("title[@id='plot-title']") == "Papers of arXiv"
    texts = [one.text for one in svg.findall("text")]
    assert {"papers a day", "day (New York)", "26 Oct", "24 Nov", "0", "30"} <= set(texts)


def test_the_latest_days_are_shown_and_as_readable_on_a_phone() -> None:
    """Letters do not shrink with the width, and dates have room at 343 pixels."""
    plot = plot_days(days(*range(MAX_DAYS + 9)), "arXiv")
    bars = with_class(plot, "papers")
    assert len(bars) == MAX_DAYS and (bars[0].findtext("title") or "").endswith(": 9 papers")
    svg = drawn(plot).find("svg")
    assert svg is not None and svg.get("viewBox") is None and svg.get("width") == "100%"
    dates = [text for text in svg.findall("text") if text.get("y") == "176"]
    at = [float(text.get("x", "").rstrip("%")) for text in dates]
    assert all(after - before > 15 for before, after in pairwise(at))
    assert plot_days([], "arXiv") == ""


def test_W04_a_name_with_markup_is_text() -> None:
    plot = plot_days(days(1), '"><img src=x onerror=alert(1)>', axis="<b>")
    assert not {"img", "script", "b"} & {one.tag for one in drawn(plot).iter()}


@given(st.lists(st.none() | st.integers(0, 10**7), min_size=1, max_size=12), st.booleans())
def test_no_mark_leaves_the_plot(counts: list[int | None], usual: bool) -> None:
    plot = plot_days(days(*counts, usual=USUAL if usual else None), "arXiv")
    for rect in drawn(plot).iter("rect"):
        y, height = (float(rect.get(name, "")) for name in ("y", "height"))
        x, width = (float(rect.get(name, "").rstrip("%")) for name in ("x", "width"))
        assert y >= 36 and y + height <= 162 and x >= 0 and x + width <= 100.01
    lines = list(drawn(plot).iter("line"))
    assert 2 <= len(lines) <= 5
