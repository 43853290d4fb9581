"""The index of a folder of pages: the newest, and a page for each earlier month."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from monitor.channels.page_index import page_with_facts
from monitor.digest.render import JinjaTemplates
from monitor.model import DeliveryState, Digest
from tests.channels.samples import digest
from tests.channels.test_file import index, pages, planned, send

# A copy of the template of 0.2.0, which lists what it is given and knows no months.
OLD_TEMPLATE = """<ul>
{% for page in pages %}<li><a href="./{{ page.href }}">{{ page.title }}</a></li>{% endfor %}
</ul>
"""


def add(folder: Path, day: date, subscription: str = "ada", title: str = "", **facts: str) -> Path:
    """Write a page as version 0.2.0 did."""
    page = folder / subscription / f"{day}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    at = {"heading": subscription, "at": f"{day}T08:00:00"}
    named = {"title": title or f"Digest of {day}", "subscription": subscription, "papers": 3}
    page.write_bytes(page_with_facts("<p>page</p>", {**named, "period": f"{day}", **at, **facts}))
    return page


def fill(folder: Path, first: date, days: int) -> None:
    for number in range(days):
        add(folder, first + timedelta(number))


def linked(folder: Path, name: str = "index.html") -> list[str]:
    return re.findall(r'<li><a href="\./(ada/[^"]*)"', (folder / name).read_text("utf-8"))


def month_pages(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("index-*.html"))


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with the flat index of an earlier version, and a page for each day since June."""
    fill(tmp_path, date(2026, 6, 1), 173)
    (tmp_path / "index.html").write_text("<p>the flat index</p>")
    assert send(pages(tmp_path)).error == ""  # of 21 November
    return tmp_path


def test_a_flat_index_becomes_one_of_months_and_loses_no_page(filled: Path) -> None:
    assert month_pages(filled) == ["index-2026-06.html", "index-2026-07.html"]
    newest, july, june = (
        linked(filled, name) for name in ("index.html", *month_pages(filled)[::-1])
    )
    assert [len(newest), len(july), len(june)] == [21 + 31 + 30 + 31, 31, 30]
    assert newest[0] == "ada/2026-11-21.html" and newest[-1] == "ada/2026-08-01.html"
    every = [*newest, *july, *june]
    assert sorted(every) == sorted(f"ada/{path.name}" for path in (filled / "ada").iterdir())
    assert re.findall(r'"\./(index-.*)">(.*)</a> (.*)</span', index(filled)) == [
        ("index-2026-07.html", "July 2026", "31"),
        ("index-2026-06.html", "June 2026", "30"),
    ]
    text = (filled / "index-2026-06.html").read_text("utf-8")
    assert re.findall(r'<a href="\./(index.*?)">', text) == ["index.html", "index-2026-07.html"]


def test_few_pages_have_one_index(tmp_path: Path) -> None:
    fill(tmp_path, date(2026, 9, 1), 81)
    send(pages(tmp_path))
    assert month_pages(tmp_path) == [] and len(linked(tmp_path)) == 82
    assert "Earlier months" not in index(tmp_path)


def test_a_delivery_opens_no_page_of_earlier_months_and_writes_none_anew(filled: Path) -> None:
    page = filled / "ada" / "2026-06-15.html"
    month = filled / "index-2026-06.html"
    facts = page.stat()
    written = month.stat()
    page.write_bytes(page.read_bytes().replace(b"Digest of", b"Secret of"))
    os.utime(page, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    send(pages(filled), digest(period="2026-11-22"))
    assert "2026-11-22" in index(filled)
    assert (month.stat().st_ino, month.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    page.touch()
    send(pages(filled), digest(period="2026-11-22"))
    assert "Secret of 2026-06-15" in month.read_text("utf-8")


def test_pages_may_be_deleted_and_moved_in(filled: Path) -> None:
    (filled / "ada" / "2026-06-15.html").unlink()
    add(filled, date(2026, 7, 4), "bob", "Of another folder")
    (filled / "ada" / "2026-07-05.html").rename(filled / "bob" / "kept.html")
    send(pages(filled), digest(period="2026-11-22"))
    assert "ada/2026-06-15.html" not in linked(filled, "index-2026-06.html")
    july = (filled / "index-2026-07.html").read_text("utf-8")
    assert "Of another folder" in july and "./bob/kept.html" in july
    assert "2026-07-05.html" not in july
    for page in (filled / "ada").glob("2026-06-*.html"):
        page.unlink()
    send(pages(filled), digest(period="2026-11-22"))
    assert month_pages(filled) == ["index-2026-07.html"]
    assert "index-2026-06" not in index(filled) + (filled / "index-2026-07.html").read_text()


def test_a_new_month_takes_the_oldest_out_of_the_newest(filled: Path) -> None:
    fill(filled, date(2026, 12, 1), 20)
    send(pages(filled), digest(period="2026-12-21"))
    assert month_pages(filled)[-1] == "index-2026-08.html"
    assert "index-2026-08.html" in (filled / "index-2026-07.html").read_text("utf-8")


def test_a_file_of_others_in_the_place_of_a_month_stays(tmp_path: Path) -> None:
    fill(tmp_path, date(2026, 6, 1), 173)
    theirs = tmp_path / "index-2026-06.html"
    theirs.write_text("theirs")
    outcome = send(pages(tmp_path))
    assert outcome.state is DeliveryState.SENT
    assert "index-2026-06.html" in outcome.error and "rename it" in outcome.error
    assert theirs.read_text() == "theirs"
    theirs.rename(tmp_path / "theirs.html")
    assert send(pages(tmp_path)).error == ""
    assert len(linked(tmp_path, "index-2026-06.html")) == 30


@pytest.mark.parametrize("line", ["", '{"month": "2026-99"}', '{"month": 1}', "{"])
def test_other_files_with_names_like_months_are_left_alone(filled: Path, line: str) -> None:
    theirs = filled / "index-2026-05.html"
    theirs.write_text(f"<!-- paper-monitor-index {line} -->")
    assert send(pages(filled), digest(period="2026-11-22")).error == ""
    assert theirs.is_file()


def test_a_copied_template_that_knows_no_months_lists_all_pages(
    filled: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = tmp_path_factory.mktemp("templates")
    (own / "web").mkdir()
    (own / "web" / "index.html.j2").write_text(OLD_TEMPLATE)
    assert send(pages(filled, JinjaTemplates(own))).error == ""
    assert len(linked(filled)) == 174


def test_the_month_is_that_of_the_date_which_is_shown(tmp_path: Path) -> None:
    def of(zone: str) -> Digest:
        at = datetime(2026, 6, 30, 20, tzinfo=UTC)
        return replace(digest(period="2026-07-01"), composed_at=at, timezone=zone)

    send(pages(tmp_path), of("Asia/Tokyo"))
    fill(tmp_path, date(2026, 8, 1), 113)
    send(pages(tmp_path))
    assert "Wednesday 1 July 2026" in (tmp_path / "index-2026-07.html").read_text("utf-8")


def test_pages_without_a_date_come_last(tmp_path: Path) -> None:
    """Those of 0.1.0 had numbers for periods, and no time."""
    old = add(tmp_path, date(2026, 1, 1), at="", period="17")
    odd = add(tmp_path, date(2026, 1, 2), at="0000-13-01", month="../../x", period="2026-99-01")
    fill(tmp_path, date(2026, 6, 1), 173)
    send(pages(tmp_path))
    assert month_pages(tmp_path)[-1] == "index-undated.html"
    undated = linked(tmp_path, "index-undated.html")
    assert sorted(undated) == [f"ada/{old.name}", f"ada/{odd.name}"]


def test_a_subscription_cannot_take_the_place_of_a_month(filled: Path) -> None:
    outcome = send(pages(filled), digest(subscription="index-2026-06.html"))
    assert (outcome.state, outcome.error) == (DeliveryState.SENT, "")
    assert len(linked(filled, "index-2026-06.html")) == 30


# ── old pages are deleted ───────────────────────────────────────────────────────────

SENT = ("ada", "2026-11-21")


def test_an_old_page_is_deleted_with_its_further_pages_and_leaves_the_index(tmp_path: Path) -> None:
    ours = pages(tmp_path)
    send(ours, digest(700, full=1))
    send(ours, digest(period="2026-11-22"))
    assert (tmp_path / "ada" / "2026-11-21-page-2.html").is_file()
    assert ours.delete_old(lambda: {SENT, ("ada", "2026-11-20"), ("gone", "2026-11-21")}) == 1
    assert [path.name for path in (tmp_path / "ada").iterdir()] == ["2026-11-22.html"]
    assert linked(tmp_path) == ["ada/2026-11-22.html"]
    assert ours.delete_old(lambda: {SENT}) == 0


def test_only_pages_that_this_channel_wrote_are_deleted(tmp_path: Path) -> None:
    ours = pages(tmp_path / "out")
    send(ours)
    page = ours.page(planned(ours))
    copied = page.with_name("worth keeping.html")
    copied.write_bytes(page.read_bytes())
    page.write_text("<p>my notes in its place</p>")
    assert ours.delete_old(lambda: {SENT}) == 0
    assert page.read_text() == "<p>my notes in its place</p>" and copied.is_file()


@pytest.mark.parametrize("what", ["page", "further page", "folder"])
def test_links_are_not_followed_and_not_deleted(tmp_path: Path, what: str) -> None:
    ours = pages(tmp_path / "out")
    send(ours, digest(700, full=1))
    page = ours.page(planned(ours))
    elsewhere = tmp_path / "elsewhere"
    moved = {"page": page, "further page": page.with_name("2026-11-21-page-2.html")}
    link = moved.get(what, page.parent)
    link.rename(elsewhere).chmod(0o700)
    before = sorted(elsewhere.iterdir()) if elsewhere.is_dir() else elsewhere.read_bytes()
    link.symlink_to(elsewhere)
    assert ours.delete_old(lambda: {SENT}) == (what == "further page")
    assert link.is_symlink()
    assert (sorted(elsewhere.iterdir()) if elsewhere.is_dir() else elsewhere.read_bytes()) == before
