"""What is the same for all papers is said once, and words that all titles have are not marked."""

from __future__ import annotations

import operator
import re
from datetime import date
from pathlib import Path

import pytest
from msgspec import structs

from monitor.digest.draft import draft
from monitor.digest.excerpt import excerpt, headline, whole_abstract
from monitor.digest.explain import explain_papers
from monitor.digest.render import JinjaTemplates
from monitor.digest.said_once import SaidOfDigest, said_once, sentence
from monitor.digest.wording import short_why
from monitor.model import Digest, ListedDay, Paper
from tests.digest.samples import digest, find, news
from tests.digest.test_sections import written

ZONE = "UTC"
LISTED = (ListedDay(date(2026, 11, 19), "daily-page"),)


def listed(count: int, *changes: dict[str, object], topics: int = 1) -> Digest:
    """Return a digest of papers listed on one day without a link; the first ones changed."""
    papers = [Paper(f"Agents number {n}", "A policy.", listed=LISTED) for n in range(1, count + 1)]
    for n, fields in enumerate(changes):
        papers[n] = structs.replace(papers[n], **fields)
    items = [
        news(paper, number=n, topic=f"topic {n % topics}", score=99 - n)
        for n, paper in enumerate(papers)
    ]
    return digest(items, words=["Agents", "policy"], timezone=ZONE)


def test_what_all_papers_share_is_one_sentence():
    assert sentence(said_once(listed(3), ZONE)) == (
        "All listed 19 Nov, from daily-page; titles lead to a search on Google Scholar."
    )


def test_what_papers_share_is_found_once_for_all_forms_of_a_digest():
    find_shared = SaidOfDigest()
    first = listed(6, topics=2)
    second = listed(3)
    of_all = find_shared(first, ZONE)
    of_groups = [find_shared(group, ZONE, of_all) for group in first.groups]
    assert (of_all, of_groups[0]) == (
        said_once(first, ZONE),
        said_once(first.groups[0], ZONE, of_all),
    )
    assert find_shared(first, ZONE) is of_all
    again = [find_shared(group, ZONE, of_all) for group in first.groups]
    assert all(map(operator.is_, again, of_groups))
    assert find_shared(first, "Asia/Tokyo") is not of_all
    assert find_shared(second, ZONE) == said_once(second, ZONE)
    assert find_shared(first, ZONE) is not of_all  # that of a digest before is let go


def test_what_differs_is_not_said_of_all():
    other = {"url": "https://example.org/1", "venue": "Nature"}
    assert sentence(said_once(listed(3, other), ZONE)) == "All listed 19 Nov, from daily-page."


def test_of_two_papers_each_says_all():
    assert sentence(said_once(listed(2), ZONE)) == ""


@pytest.mark.parametrize("form", ["html", "text", "page", "slack"])
def test_each_format_says_it_once(form: str):
    text = written(listed(5), JinjaTemplates())[form]
    assert text.count("listed 19 Nov") == 1
    assert text.count("search on Google Scholar") == 1


@pytest.mark.parametrize("form", ["html", "text", "page"])
def test_a_group_says_what_only_its_papers_share(form: str):
    made = listed(
        8, *[{"venue": "Nature"} if n % 2 else {"year": 2020} for n in range(8)], topics=2
    )
    # What reference managers read is not shown.
    text = re.sub(r'<span class="Z3988"[^>]*>', "", written(made, JinjaTemplates())[form])
    assert text.count("listed 19 Nov") == 1
    assert text.count("All in Nature.") == 1
    assert text.count("Nature") == 1


@pytest.mark.parametrize("form", ["html", "text", "page"])
def test_what_one_paper_lacks_is_said_by_each_other(form: str):
    text = written(listed(5, {"listed": (), "year": 2020}), JinjaTemplates())[form]
    assert text.count("listed 19 Nov") == 4


OTHER_DAY = {"listed": (ListedDay(date(2026, 11, 18), "daily-page"),)}


@pytest.mark.parametrize("form", ["html", "text", "page", "slack"])
@pytest.mark.parametrize(
    ("other", "said"), [(OTHER_DAY, "listed 18 Nov"), ({"listed": ()}, "seen")]
)
def test_a_day_that_most_papers_share_is_said_once_and_the_others_say_theirs(
    form: str, other: dict[str, object], said: str
):
    text = written(listed(5, other), JinjaTemplates())[form]
    once = "All from daily-page; most listed 19 Nov;"
    assert once in " ".join(text.split())
    assert text.count("listed 19 Nov") == 1
    assert text.count(said) == 1


def test_a_day_that_fewer_papers_share_is_said_by_each():
    assert "listed" not in sentence(said_once(listed(7, OTHER_DAY, OTHER_DAY), ZONE))
    assert "listed" in sentence(said_once(listed(8, OTHER_DAY, OTHER_DAY), ZONE))


def test_a_group_without_a_day_of_most_has_that_of_the_digest():
    """And one whose papers all have another day says so."""
    made = listed(16, *[OTHER_DAY if n < 4 else {} for n in range(16)], topics=4)
    of_all = said_once(made, ZONE)
    assert sentence(of_all).startswith("All from daily-page; most listed 19 Nov")
    one = said_once(made.groups[0], ZONE, of_all)
    assert (one.about.listed, sentence(one, of_all)) == ("listed 19 Nov", "")
    sorted_out = listed(16, *[OTHER_DAY if n % 4 == 0 else {} for n in range(16)], topics=4)
    of_all = said_once(sorted_out, ZONE)
    others = [sentence(said_once(group, ZONE, of_all), of_all) for group in sorted_out.groups]
    assert sorted(others) == ["", "", "", "All listed 18 Nov."]


def test_a_digest_template_of_a_user_leaves_each_paper_as_it_is(tmp_path: Path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "digest.html.j2").write_text(
        "{% for group in digest.groups %}{% for entry in group.entries %}"
        '{% include "mail/paper.html.j2" %}{% endfor %}{% endfor %}'
    )
    html = written(listed(5), JinjaTemplates(tmp_path))["html"]
    assert html.count("listed 19 Nov") == html.count("search on Google Scholar") == 5


def test_a_digest_template_of_a_user_that_says_nothing_leaves_it_to_the_topics(tmp_path: Path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "digest.html.j2").write_text(
        '{% set in_full = digest|top(full)|map(attribute="paper_id")|list %}'
        '{% include "mail/topics.html.j2" %}'
    )
    html = written(listed(6, topics=2), JinjaTemplates(tmp_path))["html"]
    assert html.count("All listed 19 Nov") == 2


# ── marks ───────────────────────────────────────────────────────────────────────────


def test_a_word_of_all_titles_is_not_marked():
    for entry in listed(3).groups[0].entries:
        assert headline(entry).spans == ()
        assert [*excerpt(entry).spans, *whole_abstract(entry).spans], "the abstract has another"
        assert short_why(entry) == ""


def test_a_word_that_one_title_lacks_is_marked_in_the_others():
    entries = listed(4, {"title": "A policy alone"}).groups[0].entries
    assert [bool(headline(entry).spans) for entry in entries] == [True] * 4


def test_a_word_that_a_title_in_a_line_lacks_is_marked():
    titles = ("Agents one", "Agents two", "Agents three", "A title listed in a line")
    items = [news(Paper(title), number=n, score=9 - n) for n, title in enumerate(titles)]
    [group] = explain_papers(draft(items, full=3), find("Agents"), {})  # type: ignore[arg-type]
    assert [bool(headline(entry).spans) for entry in group.entries] == [True, True, True, False]


def test_of_two_titles_all_words_are_marked():
    assert all(headline(entry).spans for entry in listed(2).groups[0].entries)
