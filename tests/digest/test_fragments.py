"""Output that digests share: it must be what each would have been written alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from monitor.digest import fragments
from monitor.digest.render import JinjaTemplates
from monitor.model import (
    ChangeKind,
    DigestPaper,
    Formula,
    ListedDay,
    MatchReason,
    OtherTitle,
    Paper,
    Placed,
    Revision,
    TopicWhy,
)
from monitor.resources import resource
from tests.digest.samples import NOW, PAPER, digest, news

OF_A_PAPER = sorted(
    path.relative_to(resource("templates")).as_posix()
    for path in resource("templates").rglob("*.j2")
    if path.name.startswith(("paper.", "found.", "title_line."))
)
OTHER = MatchReason("title", ("agent",), ((17, 22),))


def entry(paper: Paper = PAPER) -> DigestPaper:
    [group] = digest([news(paper)]).groups
    return group.entries[0]


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
        "formulas": (Formula("policy", "p_1"),),
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
    shared, undated = JinjaTemplates(), structs.replace(PAPER, published=None)
    zones = [replace(digest(), timezone=name) for name in ("Asia/Tokyo", "America/New_York")]
    entries = [*varied(entry()), *varied(entry(undated))]
    cases = [{"entry": one, "digest": zone} for one in entries for zone in zones]
    alone = [JinjaTemplates().render(name, **values) for values in cases]
    assert [shared.render(name, **values) for values in cases] == alone
    assert [shared.render(name, **values) for values in cases] == alone


def write(folder: Path, **texts: str) -> JinjaTemplates:
    for name, text in texts.items():
        (folder / f"{name}.txt.j2").write_text(text)
    return JinjaTemplates(folder)


def count_writing(templates: JinjaTemplates, name: str, **values: object) -> tuple[str, int]:
    """Render twice; return the output and how often a filter of the template was called."""
    calls = []
    environment = templates._environment_of(name)
    environment.filters["noted"] = lambda value: calls.append(value) or value
    first, second = templates.render(name, **values), templates.render(name, **values)
    assert first == second
    return first, len(calls)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("{{ entry.paper.title|noted }}", 1),
        ("{% set url = entry.paper.url %}{{ url|web_url|noted }}", 1),
        ("{{ (entry|headline).text|noted }} {{ entry|dated(digest.timezone) }}", 1),
        ("{{ entry.paper.title|noted }}{{ digest|summary }}", 2),
        ("{{ entry.paper.title|noted }}{{ entry }}", 2),
        ("{{ entry.paper.title.upper()|noted }}", 2),
        ("{{ entry.paper.title|noted }}{{ [1, 2]|random is defined }}", 2),
        ("{{ entry.paper.title|noted }}{% include 'b.txt.j2' %}", 2),
        ("{{ entry.paper.title|noted }}{{ other is defined }}", 2),
        ("{{ entry.paper.title|noted }}{{ other.field if other is defined }}", 2),
    ],
)
def test_only_what_reads_known_fields_is_written_once(tmp_path: Path, text: str, times: int):
    templates = write(tmp_path, a=text, b="b")
    values = {"entry": entry(), "digest": digest()}
    assert count_writing(templates, "a.txt.j2", **values)[1] == times


def test_papers_and_title_lines_are_written_once():
    """But for what a mail says to one reader alone: why the paper is here, and how to answer."""
    for name in OF_A_PAPER:
        if name.startswith("mail/paper."):
            continue
        templates = JinjaTemplates()
        template = templates._environment_of(name).get_template(name)
        assert template.root_render_func.__name__ == "_write_once", name


def test_an_imported_template_gives_its_variables_each_time(tmp_path: Path):
    once = "{% set found = entry.paper.title %}{{ found }}"
    use = "{% import 'a.txt.j2' as a with context %}{{ a.found }}"
    templates = write(tmp_path, a=once, b=use)
    values = {"entry": entry()}
    for _ in range(2):
        assert templates.render("a.txt.j2", **values) == PAPER.title
        assert templates.render("b.txt.j2", **values) == PAPER.title


def test_what_is_kept_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fragments, "_MOST_CHARACTERS", 100)
    templates = write(tmp_path, a="{{ entry.paper.title }}")
    for number in range(50):
        one = structs.replace(entry(), paper=Paper(title=f"{number:020}"))
        assert templates.render("a.txt.j2", entry=one) == f"{number:020}"
        [template] = templates._text.cache.values()
        assert sum(map(len, template._written.values())) <= 100


def test_what_was_written_is_let_go_of_when_the_digests_of_a_run_are_done() -> None:
    templates = JinjaTemplates()
    line = templates.render("mail/title_line.txt.j2", entry=entry(), digest=digest())
    template = templates._text.get_template("mail/title_line.txt.j2")
    assert template._written
    templates.release()
    assert not template._written
    assert templates.render("mail/title_line.txt.j2", entry=entry(), digest=digest()) == line
