from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from monitor.digest.draft import draft
from monitor.digest.explain import count_changes, describe_revision, explain_papers
from monitor.model import (
    MODEL,
    ChangeKind,
    Digest,
    EarlierText,
    MatchReason,
    Paper,
    Revision,
    TopicWhy,
)
from tests.digest.samples import NOW, PAPER, digest, entry_of, news


def order(made: Digest) -> dict[str, list[int]]:
    return {group.topic: [entry.paper_id for entry in group.entries] for group in made.groups}


def test_a_paper_stands_once_under_its_best_topic_and_names_the_others() -> None:
    made = digest([news(topic="wide", score=1), news(topic="narrow", score=3)])
    assert order(made) == {"narrow": [1]}
    [entry] = made.groups[0].entries
    assert [matched.topic for matched in entry.matched] == ["narrow", "wide"]


def test_only_the_topic_to_which_a_model_added_a_paper_names_it() -> None:
    found = news(topic="narrow", score=3)
    added = news(topic="wide")
    made = digest([found, structs.replace(added, added_by="minilm")])
    [entry] = made.groups[0].entries
    named = {of.topic: [why.words for why in of.why if why.field == MODEL] for of in entry.matched}
    assert named == {"narrow": [], "wide": [("minilm",)]}


def test_groups_and_papers_come_best_first_and_of_equals_the_newest() -> None:
    made = digest(
        [
            news(number=1, topic="a", score=1),
            news(number=2, topic="b", score=5),
            news(number=3, topic="a", score=2),
            news(number=4, topic="a", score=2, at=NOW - timedelta(days=1)),
        ]
    )
    assert order(made) == {"b": [2], "a": [3, 4, 1]}
    assert list(order(made)) == ["b", "a"]


def test_what_does_not_fit_waits_and_the_best_go_first() -> None:
    items = [news(number=number, score=number) for number in range(10)]
    drafted = draft(items, full=3, capacity=4)
    [group] = drafted.groups
    assert [entry.paper_id for entry in group.entries] == [9, 8, 7, 6]
    assert (drafted.waiting, drafted.in_full) == (6, {9, 8, 7})


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        ([ChangeKind.NEW, ChangeKind.REVISED], ChangeKind.NEW),
        ([ChangeKind.NEW, ChangeKind.WITHDRAWN], ChangeKind.WITHDRAWN),
        ([ChangeKind.REVISED], ChangeKind.REVISED),
        ([ChangeKind.OLDER, ChangeKind.REVISED], ChangeKind.OLDER),
    ],
)
def test_several_pieces_of_news_about_a_paper_are_one_entry(
    kinds: list[ChangeKind], shown: ChangeKind
) -> None:
    items = [news(kind=kind, revision=number + 1) for number, kind in enumerate(kinds)]
    (entry,) = digest(items).groups[0].entries
    assert (entry.kind, entry.revision) == (shown, len(kinds))


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        (r"A $\beta$-smooth \textbf{policy}", "A β-smooth policy"),
        ("A\r\nB\u2028C\x00\u202eD policy", "A B CD policy"),
        (r"\cite{x}", r"\cite{x}"),
    ],
)
def test_M14_titles_are_readable_in_one_line_and_reasons_are_about_that(
    title: str, shown: str
) -> None:
    paper = structs.replace(PAPER, title=title, abstract="", authors=("E\u202eF",))
    entry = entry_of(paper)
    assert (entry.paper.title, entry.paper.authors) == (shown, ("EF",))
    spans = [span for why in entry.matched[0].why for span in why.spans]
    assert [shown[a:b] for a, b in spans] == ["policy"] * ("policy" in shown)


def test_what_only_the_source_of_a_formula_says_is_named_without_a_place() -> None:
    paper = structs.replace(PAPER, title=r"On $\nabla$")
    entry = entry_of(paper, "nabla")
    assert entry.paper.title == "On ∇"
    assert entry.matched[0].why == (MatchReason("title", ("nabla",)),)


def test_only_papers_in_full_are_explained_and_keep_their_abstract() -> None:
    asked: list[str] = []

    def whys(topic: str, paper: Paper, sources: object) -> tuple[()]:
        asked.append(paper.title)
        return ()

    items = [
        news(structs.replace(PAPER, title=f"Number {number}"), number=number, score=-number)
        for number in range(5)
    ]
    [group] = explain_papers(draft(items, full=1, capacity=2), whys, {})
    assert asked == ["Number 0", "Number 0"]  # as it is shown, then as it came
    first, second = group.entries
    assert (first.paper.abstract, second.paper.abstract) == (PAPER.abstract, "")
    assert second.paper.authors == PAPER.authors
    assert second.matched == (TopicWhy("marl", ()),)


ABSTRACT = "We plan. It costs 1.5 times as much, cf. Fig. 2. The end."


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (ABSTRACT, 0),
        (ABSTRACT.replace("  ", " ").upper(), 0),
        ("We plan. It costs 2 times as much, cf. Fig. 2. The end.", 1),
        (f"At first. {ABSTRACT} At last.", 2),
        ("We plan.", 2),
        ("Another. Text. Altogether. With more.", 4),
        ("", 3),
    ],
)
def test_sentences_that_are_new_gone_or_different_are_counted(after: str, changed: int) -> None:
    assert count_changes(ABSTRACT, after) == changed


def test_title_and_version_are_compared_as_they_are_shown() -> None:
    before = EarlierText("Planning in $O(n)$", ABSTRACT, 1)
    same = describe_revision(before, Paper("Planning in $O(n)$", ABSTRACT, version=2))
    assert same == Revision(2, 1, "", 0)
    other = describe_revision(before, Paper("Planning", "", version=1))
    assert other == Revision(1, None, "Planning in O(n)", 3)
    assert describe_revision(None, Paper("Planning", ABSTRACT, version=4)) == Revision(4)
