"""The lead of a digest: which papers head it, and how each format shows them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from monitor.channels.email.render import HTML_LIMIT, render_digest
from monitor.digest.render import JinjaTemplates
from monitor.digest.sections.lead import MIN_PAPERS, choose_lead, first_papers, leading
from monitor.model import (
    RETRACTION,
    ChangeKind,
    Digest,
    DigestGroup,
    DigestPaper,
    GroupRule,
    LeadReason,
    Paper,
    Placed,
)
from tests.digest.samples import digest, news
from tests.digest.test_own_templates import EARLIER
from tests.digest.test_sections import written

EIGHT = range(1, MIN_PAPERS + 1)


def titled(number: int, **fields: object) -> Paper:
    return Paper(f"Paper number {number}", "It is about a policy.", url="https://x.org/", **fields)  # type: ignore[arg-type]


def papers(*votes: int | None, topics: int = 2) -> Digest:
    """Return a digest of papers with these votes; the first of a topic has its best score."""
    return digest(
        [
            news(titled(n, upvotes=v), number=n, topic=f"topic {n % topics}", score=100 - n)
            for n, v in enumerate(votes, 1)
        ]
    )


def chosen(
    made: Digest, by: LeadReason = LeadReason.WORDS, most: int = 3, rated: tuple[str, ...] = ()
) -> list[tuple[int, str, int]]:
    in_full = {entry.paper_id for entry in made.best(made.full)}
    lead = choose_lead(made.groups, in_full, most, by=by, rated=rated)
    return [(paper.paper_id, paper.reason.value, paper.place) for paper in lead]


def with_lead(made: Digest, by: LeadReason = LeadReason.WORDS) -> Digest:
    in_full = {entry.paper_id for entry in made.best(made.full)}
    return replace(made, lead=choose_lead(made.groups, in_full, 3, by=by))


def changed(made: Digest, paper_id: int, **fields: object) -> Digest:
    def entry(old: DigestPaper) -> DigestPaper:
        return structs.replace(old, **fields) if old.paper_id == paper_id else old

    groups = (replace(g, entries=tuple(map(entry, g.entries))) for g in made.groups)
    return replace(made, groups=tuple(groups))


# ── which papers lead ───────────────────────────────────────────────────────────────


def test_the_best_of_each_topic_leads_and_then_the_second_of_each():
    assert chosen(papers(*[None] * 8)) == [(1, "words", 1), (2, "words", 1), (3, "words", 2)]


def test_topics_of_a_larger_weight_come_first():
    made = papers(*[None] * 8)
    heavy = replace(made.groups[1], rule=GroupRule(weight=2.0))
    made = replace(made, groups=(made.groups[0], heavy))
    assert [id for id, *_ in chosen(made)] == [2, 1, 4]


def test_the_most_votes_lead_whatever_their_topic():
    made = papers(None, 5, 0, 118, 7, 103, None, 2)
    assert chosen(made, LeadReason.VOTES) == [(4, "votes", 1), (6, "votes", 2), (5, "votes", 3)]


def test_a_paper_without_votes_does_not_lead_by_votes():
    assert chosen(papers(None, 0, None, 3, 0, 0, 0, 0), LeadReason.VOTES) == [(4, "votes", 1)]


def test_of_a_topic_with_ratings_only_likely_papers_lead():
    made = changed(papers(*[None] * 8, topics=1), 5, placed=Placed(likely=True))
    assert chosen(made, rated=("topic 0",)) == [(5, "ratings", 1)]


def test_a_digest_of_fewer_papers_has_no_lead():
    assert chosen(papers(*[None] * (MIN_PAPERS - 1))) == []


def test_no_more_papers_lead_than_asked_for():
    assert len(chosen(papers(*[None] * 8), most=1)) == 1
    assert chosen(papers(*[None] * 8), most=0) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": ChangeKind.REVISED},
        {"kind": ChangeKind.WITHDRAWN},
        {"paper": titled(1, withdrawn=True)},
        {"paper": titled(1, type=RETRACTION)},
        {"paper": Paper("Retraction: Agents that lie")},
        {"late": True},
        {"placed": Placed(folded=True)},
    ],
)
def test_what_is_no_new_paper_to_read_never_leads(fields: dict[str, object]):
    without = changed(papers(*[None] * 8), 1, **fields)
    assert [id for id, *_ in chosen(without)] == [3, 2, 5]


def test_an_older_paper_that_is_news_may_lead():
    made = changed(papers(*[None] * 8), 1, kind=ChangeKind.OLDER)
    assert chosen(made)[0][0] == 1


# ── how it is shown ─────────────────────────────────────────────────────────────────

LED = with_lead(papers(*[None] * 8))


@pytest.mark.parametrize("form", ["html", "text", "page", "slack"])
def test_each_format_shows_the_lead_first_with_topic_and_reason(form: str):
    text = written(LED, JinjaTemplates())[form]
    body = text[text.index("Read first") :]
    lead = body.index("Paper number 1"), body.index("Paper number 2"), body.index("Paper number 3")
    assert [*lead] == sorted(lead)
    assert max(lead) < body.index("Paper number 4")
    assert re.search(r"topic 1( ·|,) 2nd best match", body)
    assert " best match" not in body.replace("2nd best match", ""), "the others have it alike"


@pytest.mark.parametrize("form", ["html", "text", "page"])
def test_in_its_topic_a_paper_of_the_lead_is_a_title_at_its_place(form: str):
    text = written(LED, JinjaTemplates())[form]
    assert text.count("Paper number 1") == 2 if form != "html" else 3  # and the preheader
    assert text.count("read first") == 3
    below = text[text.rindex("Paper number 1") :]
    assert below.index("read first") < below.index("Paper number 5")


def test_a_link_leads_up_to_the_lead_of_the_same_page():
    for form in ("html", "page"):
        text = written(LED, JinjaTemplates())[form]
        targets = set(re.findall(r'href="#(first-\d+)"', text))
        assert (
            targets
            == set(re.findall(r'id="(first-\d+)"', text))
            == {f"first-{n}" for n in (1, 2, 3)}
        )


def test_the_links_for_rating_stand_once():
    about = replace(LED.about, rate_url="https://papers.example.org/r/token")
    text = written(replace(LED, about=about), JinjaTemplates())
    for form, link in (("html", "/1/more"), ("page", "/1/more"), ("text", "token/1\n")):
        assert text[form].count(link) == 1


def test_a_message_that_holds_fewer_papers_leads_with_those_it_has_in_full():
    long = "It is about a policy. " + "word " * 3_000
    made = digest(
        [
            news(replace_abstract(titled(n), long), number=n, topic=f"topic {n % 2}", score=100 - n)
            for n in range(1, 60)
        ],
        full=59,
    )
    [mail] = render_digest(with_lead(made), JinjaTemplates())
    assert len(mail.body["html"].encode()) <= HTML_LIMIT
    assert mail.body["html"].count('id="first-') == 3
    only_one = replace(LED, full=1)
    [mail] = render_digest(only_one, JinjaTemplates())
    assert mail.body["html"].count('id="first-') == 1
    assert mail.body["html"].count("Paper number 2") == 1 + 1  # as a title, and in the preheader


def replace_abstract(paper: Paper, abstract: str) -> Paper:
    return structs.replace(paper, abstract=abstract)


def test_a_lead_of_which_nothing_is_in_full_is_not_shown():
    for text in written(replace(LED, full=0), JinjaTemplates()).values():
        assert "Read first" not in text


def test_what_a_preview_names_are_the_papers_of_the_lead():
    assert [entry.paper_id for entry in first_papers(LED, 4)] == [1, 2, 3, 4]
    votes = with_lead(papers(1, 2, 3, 4, 5, 6, 7, 8), LeadReason.VOTES)
    assert [entry.paper_id for entry in first_papers(votes, 2)] == [8, 7]
    assert [entry.paper_id for entry in first_papers(replace(votes, lead=()), 2)] == [1, 2]


def test_a_paper_that_is_gone_from_a_frozen_digest_leads_it_no_more():
    gone = replace(LED.groups[0], entries=LED.groups[0].entries[1:])
    groups: tuple[DigestGroup, ...] = (gone, *LED.groups[1:])
    there = {entry.paper_id for group in groups for entry in group.entries}
    assert [first.paper_id for first in leading(replace(LED, groups=groups), there)] == [2, 3]


TITLE = re.compile(r"Paper number \d+")
LINK = re.compile(r'href="(https?://[^"]+)"')
EXCERPT = re.compile(r"It is about a .{0,30}policy")


@pytest.mark.parametrize("form", ["html", "text", "page"])
def test_templates_that_know_no_lead_show_all_papers_as_before(form: str):
    templates = JinjaTemplates(EARLIER)
    now = written(LED, templates)[form]
    before = written(replace(LED, lead=()), templates)[form]
    for part in (TITLE, LINK, EXCERPT):
        assert part.findall(now) == part.findall(before)
    assert len(EXCERPT.findall(now)) == 8


def test_a_paper_template_of_a_user_is_used_in_the_lead(tmp_path: Path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "paper.html.j2").write_text("<p>ours: {{ entry.paper.title }}</p>")
    html = written(LED, JinjaTemplates(tmp_path))["html"]
    assert html.count("ours: Paper number") == 8
