"""Output that digests share: it must be what each would have been written alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from monitor.digest import render
from monitor.digest.render import JinjaTemplates
from monitor.digest.said_once import SaidOnce
from monitor.digest.wording import about_paper
from monitor.model import (
    ChangeKind,
    DigestPaper,
    Formula,
    FromLibrary,
    ListedDay,
    MatchReason,
    OtherTitle,
    Paper,
    Placed,
    Revision,
    SiteNote,
    TopicWhy,
    WithdrawnBy,
)
from monitor.resources import resource
from tests.digest.samples import NOW, PAPER, digest, entry_of

OF_A_PAPER = sorted(
    path.relative_to(resource("templates")).as_posix()
    for path in resource("templates").rglob("*.j2")
    if path.name.startswith(("paper.", "found.", "title_line."))
)
OTHER = MatchReason("title", ("agent",), ((17, 22),))


def varied(one: DigestPaper) -> list[DigestPaper]:
    """An entry, and the same with each of its fields changed, and each field of its paper."""
    changes: dict[str, object] = {
        "paper_id": 2,
        "revision": 2,
        "kind": ChangeKind.REVISED,
        "first_seen": NOW - timedelta(days=9),
        "sources": ("other",),
        "score": 2.0,
        "matched": (TopicWhy("other", (OTHER,)),),
        "late": True,
        "also": (OtherTitle("Another title", "other"),),
        "source_titles": ("Another source",),
        "search": "arxiv",
        "revised": Revision(2, 1),
        "lists": 3,
        "owned": True,
        "withdrawn_by": WithdrawnBy("Another source", "https://example.org/notice"),
        "formulas": (Formula("policy", "p_1"),),
        "excerpt_rule": 0,
        "unmarked": ("policy",),
        "from_library": FromLibrary("own", ("authors",)),
        "note": SiteNote("Hugging Face", "https://example.org/note", "A line.", "Sand University"),
        "placed": Placed(1.0, 2.0, "A marked paper", ("word",), likely=True),
    }
    assert {"paper", *changes} == set(DigestPaper.__struct_fields__)
    texts = ("title", "abstract", "venue", "announce", "raw_id", "type")
    times = ("published", "updated", "announced")
    of_paper: dict[str, object] = {
        **{name: f"other {name}" for name in texts},
        **{name: f"https://example.com/{name}" for name in ("url", "pdf_url")},
        **{name: NOW - timedelta(days=5) for name in times},
        "authors": ("Di Four",),
        "affiliations": ("Sand University",),
        "categories": ("cs.AI",),
        "keys": {"doi": "10.1/2"},
        "about": {"doi": "10.1/3"},
        "year": 1999,
        "version": 7,
        "withdrawn": True,
        "links": {"code": "https://example.com/code"},
        "upvotes": 7,
        "precision": "month",
        "listed": (ListedDay(date(2026, 3, 14), "page"),),
        "keys_in_links": {"doi": "10.1/2"},
        "keys_in_text": {"doi": "10.1/2"},
        "notices": (Paper("Erratum"),),
        "site_note": SiteNote("Hugging Face", line="A line."),
    }
    assert of_paper.keys() == set(Paper.__struct_fields__)
    papers = [structs.replace(one.paper, **{name: value}) for name, value in of_paper.items()]
    return [
        one,
        *(structs.replace(one, **{name: value}) for name, value in changes.items()),
        *(structs.replace(one, paper=paper) for paper in papers),
        structs.replace(one, matched=(TopicWhy("other", one.matched[0].why),)),
        structs.replace(one, matched=(TopicWhy(one.matched[0].topic, ()),)),
    ]


@pytest.mark.parametrize("name", OF_A_PAPER)
def test_what_differs_in_any_field_is_written_as_if_alone(name: str):
    shared = JinjaTemplates()
    undated = structs.replace(PAPER, published=None)
    zones = [replace(digest(), timezone=name) for name in ("Asia/Tokyo", "America/New_York")]
    entries = [*varied(entry_of()), *varied(entry_of(undated))]
    cases: list[dict[str, object]]
    cases = [{"entry": one, "digest": zone} for one in entries for zone in zones]
    said = SaidOnce(about_paper(entry_of(), "Asia/Tokyo"), "arXiv")
    cases += [case | {"said": said} for case in cases]
    alone = [JinjaTemplates().render(name, **values) for values in cases]
    assert [shared.render(name, **values) for values in cases] == alone
    assert [shared.render(name, **values) for values in cases] == alone


def test_a_line_is_written_once_until_it_is_released() -> None:
    templates = JinjaTemplates()
    written = []
    templates._text.filters["byline"] = lambda entry, zone: written.append(entry) or "Ada"
    for times in (1, 2):
        for _ in range(3):
            templates.render("mail/title_line.txt.j2", entry=entry_of(), digest=digest())
        assert len(written) == times
        templates.release()


def test_a_line_of_the_user_is_written_each_time(tmp_path: Path) -> None:
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "title_line.txt.j2").write_text("{{ entry.score }}")
    templates = JinjaTemplates(tmp_path)
    for score in (1.5, 2.5):
        scored = structs.replace(entry_of(), score=score)
        assert templates.render("mail/title_line.txt.j2", entry=scored) == str(score)


def test_the_lines_kept_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "_MOST_KEPT", 3)
    templates = JinjaTemplates()
    for number in range(10):
        one = structs.replace(entry_of(), paper_id=number)
        templates.render("mail/title_line.txt.j2", entry=one, digest=digest())
        assert len(templates._text.kept) <= 3
