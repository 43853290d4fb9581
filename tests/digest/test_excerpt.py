from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from monitor.digest.excerpt import EXCERPT_LIMIT, TITLE_LIMIT, Passage, excerpt, headline
from monitor.model import ChangeKind, DigestPaper, MatchReason, Paper, TopicWhy
from tests.digest.samples import NOW, PAPER, digest, news


def entry_of(abstract: str, words: tuple[str, ...], title: str = "A title") -> DigestPaper:
    paper = replace(PAPER, abstract=abstract, title=title)
    return digest([news(paper)], words=words).groups[0].entries[0]


def marked(passage: Passage) -> list[str]:
    return [passage.text[start:end] for start, end in passage.spans]


ONE = "First we look. Then we leap. The policy holds. A second policy for agents wins. Done."


@pytest.mark.parametrize(
    ("words", "text", "marks"),
    [
        (("look",), "First we look. Then we leap.\u00a0…", ["look"]),
        (("leap",), "First we look. Then we leap.\u00a0…", ["leap"]),
        (
            ("policy", "agents"),
            "…\u00a0The policy holds. A second policy for agents wins.\u00a0…",
            ["policy", "policy", "agents"],
        ),
        (("Done",), "…\u00a0A second policy for agents wins. Done.", ["Done"]),
        (("title",), "First we look. Then we leap.\u00a0…", []),
    ],
)
def test_two_sentences_around_the_best_match(
    words: tuple[str, ...], text: str, marks: list[str]
) -> None:
    passage = excerpt(entry_of(ONE, words))
    assert passage.text == text
    assert marked(passage) == marks


@pytest.mark.parametrize("abstract", ["", "   "])
def test_no_abstract_has_no_excerpt(abstract: str) -> None:
    assert excerpt(entry_of(abstract, ("a",))) == Passage("")


def test_one_sentence_is_whole() -> None:
    assert excerpt(entry_of("Only this policy.", ("policy",))).text == "Only this policy."


def test_a_long_sentence_is_cut_around_its_match() -> None:
    abstract = "start " + "word " * 300 + "policy " + "tail " * 300
    passage = excerpt(entry_of(abstract, ("policy",)))
    assert marked(passage) == ["policy"]
    assert len(passage.text) <= EXCERPT_LIMIT + 4
    assert passage.text.startswith("…\u00a0word") and passage.text.endswith("\u00a0…")


def test_M14_a_title_of_2000_characters_is_cut() -> None:
    passage = headline(entry_of("x", ("policy",), title="policy " * 300))
    assert len(passage.text) <= TITLE_LIMIT + 2
    assert set(marked(passage)) == {"policy"}


def test_marks_of_several_topics_are_one_where_they_meet() -> None:
    why = (
        TopicWhy("a", (MatchReason("title", ("multi-agent",), ((2, 13),)),)),
        TopicWhy(
            "b",
            (
                MatchReason("title", ("agent systems",), ((8, 21),)),
                MatchReason("title", (), ((90, 99),)),
            ),
        ),
    )
    paper = Paper(title="A multi-agent systems view")
    entry = DigestPaper(1, 1, ChangeKind.NEW, paper, NOW, ("s",), 1.0, why)
    assert headline(entry) == Passage(paper.title, ((2, 21),))


def test_a_text_that_was_never_cleaned_is_shown_clean_without_marks() -> None:
    paper = Paper(title="A \u202epolicy\nhere")
    entry = DigestPaper(
        1,
        1,
        ChangeKind.NEW,
        paper,
        NOW,
        ("s",),
        1.0,
        (TopicWhy("a", (MatchReason("title", ("p",), ((3, 9),)),)),),
    )
    assert headline(entry) == Passage("A policy here")


@given(
    st.lists(st.sampled_from(["policy", "agent", "of.", "We", "et al.", "x" * 90]), max_size=200),
)
def test_every_mark_is_a_word_that_was_found(words: list[str]) -> None:
    passage = excerpt(entry_of(" ".join(words), ("policy", "agent")))
    assert set(marked(passage)) <= {"policy", "agent"}
    assert len(passage.text) <= EXCERPT_LIMIT + 4
    if {"policy", "agent"} & set(words):
        assert passage.spans
