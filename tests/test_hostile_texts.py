"""Texts from outside take time in proportion to their length, whatever they are made of.

Each function is given texts that repeat one piece, eight times as long the second time. What grows
with the square of the length takes 64 times as long then; what is over within a few milliseconds
passes, since nothing can be measured there.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable

import pytest

from monitor.diff import same_work
from monitor.digest import excerpt
from monitor.digest.lines import MAX_LINE, is_borne_out
from monitor.digest.sentence_value import MAX_SENTENCES, sentences, value_by_rule_0
from monitor.digest.shown import shown, to_readable_text
from monitor.digest.wording import escape_mrkdwn
from monitor.errors import QueryError
from monitor.identity.authors import agreement
from monitor.identity.features import gather
from monitor.identity.resolve import other_titles
from monitor.match import TopicIndex, learn_words, parse_query
from monitor.match.language.query import MAX_LENGTH
from monitor.match.meaning.evaluate import View, matches_topic
from monitor.model import (
    ChangeKind,
    DigestPaper,
    Finding,
    MatchReason,
    Paper,
    Reason,
    Sighting,
    SightingText,
    TopicWhy,
)
from monitor.text import MAX_TEXT_LENGTH, clean, cut, plain, title_key, words
from monitor.text.folding import UNFOLDED_LETTERS, fold_characters
from tests.channels.samples import AT

LENGTH = 4_000
LONGER = 8
LENGTH_OF_TOPIC = MAX_LENGTH // LONGER - 1  # what is longer is refused unread
MAX_RATIO = 24.0
UNMEASURED = 0.06  # seconds

# fmt: off
PIECES = (
    ".", "!", "?", "...", "a.", "a.b.", "i.e.", "&amp;", "&", "&#x", "<", "<b>", "</b>", "<!--",
    "]]>", "$", "$x$", "\\", "\\frac{", "{", "}", "{}", "(", ")", "()", "[1]", "-", "a-", "--", "'",
    '"', "a", "1", "1.", "1,000", "10.1/", "http://a.b/", "arXiv:2401.00001", "á", "İ", "ﬁ", "漢",
    "a漢", "ก", "😀", "_", "^", "x^", "x^{", "\\alpha", "\\'", "a@b.c", "=?utf-8?q?", "a=b", "|",
    "*", "+", "C++", "#", "/", "://", ";", ",", "—", "…", "“", "”", "%", ". ", "! ", "?! ", "a. ",
    "et al. ", " ", "\n", "\u0301", "\u00ad", "\u200b", "$x$ ", "$x$ agent ", "A B ", "a b ",
    "word ", "ab-cd ", "and ", "AND ", "; ", ", ", " - ", "Part II: ", "(a) ", "(GNN) ",
    "Multi Agent (MA) ", "two ", "2D ", "3 ", "漢 ", "agent language ", "Response to ", "van der ",
)
# fmt: on

TOPICS = (
    '"language model" OR "a b"~5 OR "agent language"~100 OR 2 of (word, and, two) OR "漢 漢" '
    'OR ="GNN" OR ag* OR author:byron OR "a漢"'
)
INDEX = TopicIndex({"topic": TOPICS})
QUERIES = [parse_query(one) for one in ('"language model"', '"a b"~100', '"漢 漢"', '"agent ag*"')]


def explained(text: str) -> None:
    for match in INDEX.match([Paper(title="Agents", abstract=f"{text} agent")]):
        assert match.why


def matched(text: str) -> None:
    for query in QUERIES:
        matches_topic(query, View(Paper(title=text, abstract=text)))


def excerpted(text: str) -> None:
    paper = shown(Paper(title=text, abstract=text))
    why = INDEX.why("topic", paper)
    entry = DigestPaper(1, 0, ChangeKind.NEW, paper, AT, (), 1.0, (TopicWhy("topic", why),))
    assert len(excerpt.headline(entry).text) < 1_000
    assert len(excerpt.excerpt(entry).text) < 1_000
    is_borne_out("Agents that plan in Sand University need 12 steps.", text, text)
    is_borne_out(text[:MAX_LINE], text, text)


def compared(text: str) -> None:
    """Two records that differ at the end, in each field."""
    for ours, theirs in (
        (Paper(title=text), Paper(title=f"{text}x")),
        (Paper(title="A b", abstract=text), Paper(title="A b", abstract=f"{text}x")),
        (Paper(title="A b", authors=(text,)), Paper(title="A c", authors=(f"{text}x",))),
        (Paper(title="A b", venue=text), Paper(title="A c", venue=f"{text}x")),
    ):
        same_work(ours, theirs)


def parsed(text: str) -> None:
    for topic in (text, f"{text},b"):
        try:
            parse_query(topic)
        except QueryError as error:
            assert error.message


READERS: tuple[Callable[[str], object], ...] = (
    clean, words, cut, title_key, plain, to_readable_text, sentences, escape_mrkdwn,
    explained, matched, excerpted, compared, parsed, learn_words,
)  # fmt: skip


def seconds(read: Callable[[str], object], text: str) -> float:
    gc.disable()
    try:
        began = time.thread_time()
        read(text)
        return time.thread_time() - began
    finally:
        gc.enable()


def grows(read: Callable[[str], object], piece: str, length: int = LENGTH) -> float:
    """Return how many times as long a text takes that is `LONGER` times as long."""
    text = piece * (length // len(piece))
    longer = seconds(read, text * LONGER)
    return longer / max(seconds(read, text), 0.001) if longer > UNMEASURED else 0.0


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_time_grows_in_proportion_to_a_text(read: Callable[[str], object]) -> None:
    read("warm up")
    length = LENGTH_OF_TOPIC if read is parsed else LENGTH
    slow = {piece for piece in PIECES if grows(read, piece, length) > MAX_RATIO}
    # Measured again: another process may have been in the way.
    assert not {piece for piece in slow if grows(read, piece, length) > MAX_RATIO}


def test_a_sentence_is_valued_in_proportion_to_its_length() -> None:
    value_by_rule_0("warm up")
    assert grows(lambda text: value_by_rule_0(f"We {text}"), "ly", 60) < MAX_RATIO


def named(number: int, ending: str = "son") -> str:
    """Return a name of letters alone, another for nearly each number."""
    digits = str.maketrans("0123456789", "abcdefghij")
    return f"{chr(65 + number % 26)}. K{str(number).translate(digits)}{ending}"


def test_lists_of_thousands_of_authors_are_compared_in_proportion_to_their_length() -> None:
    def ask(text: str) -> None:
        count = range(len(text) // 4)
        found = agreement(tuple(map(named, count)), tuple(named(n, "owitz") for n in count))
        assert found.more > 0.9 * len(count)

    assert grows(ask, "x") < MAX_RATIO


def test_two_long_lists_agree_whatever_their_order() -> None:
    names = tuple(map(named, range(500)))
    found = agreement(names, tuple(sorted(names, key=lambda name: name[::-1])))
    assert found.met == found.more > 450


def test_what_a_digest_shows_of_a_paper_is_bounded() -> None:
    """It is rendered for each subscriber, by each channel."""
    paper = shown(Paper(title="t" * 30_000, abstract="a" * 30_000))
    assert (len(paper.title), len(paper.abstract)) == (2_000, 20_000)


def test_titles_are_compared_for_readers_in_their_first_characters() -> None:
    def seen(title: str) -> Sighting:
        text = SightingText(title)
        alike = (Reason(Finding.TITLES_AGREE, (0.99,)),)
        return Sighting("s", "1", None, "", "", AT, AT, recognised=alike, text=text)

    long = "t" * 2_000
    assert other_titles(long, [seen(f"{long} and more")]) == ()
    assert other_titles(long, [seen(f"more {long}")]) != ()


def test_abstracts_are_compared_in_their_first_characters() -> None:
    text = "".join(f"word{number:05} " for number in range(2_000))
    ours, theirs = (Paper(title="A b", abstract=f"{text}{end * 500}") for end in ("x y ", "v w "))
    found = gather(ours, theirs)
    assert found.abstract == 1.0


def test_an_excerpt_is_found_in_proportion_to_the_words_that_match() -> None:
    def marked(text: str) -> None:
        spans = tuple((start, start + 1) for start in range(0, len(text), 2))
        why = (MatchReason("abstract", ("Agent",), spans),)
        paper = Paper(title="A b", abstract=text.strip())
        excerpt.excerpt(
            DigestPaper(1, 0, ChangeKind.NEW, paper, AT, (), 1.0, (TopicWhy("topic", why),))
        )

    assert grows(marked, "Agents that plan are agents of agents too. ") < MAX_RATIO


def test_sentences_parts_of_words_and_compared_characters_are_bounded() -> None:
    assert len(sentences(". " * 30_000)) == MAX_SENTENCES + 1
    assert len(words("a-" * 5_000)) == 5_000
    assert len(words("a-" * 50)) > 150
    for letter in "aá":
        assert len(plain(letter * 120_000)) == len(title_key(letter * 120_000)) == MAX_TEXT_LENGTH


def test_letters_that_are_not_folded_are_their_own_folded_form() -> None:
    """Thai, Chinese, Japanese and Korean, which are left out where specials are looked for."""
    kept = re.compile(f"[{UNFOLDED_LETTERS}]")
    found = [letter for letter in map(chr, range(0x80, 0x11_0000)) if kept.match(letter)]
    assert len(found) > 38_000
    assert all(fold_characters(letter) == letter.lower() == letter for letter in found)


def test_a_letter_whose_small_form_is_longer_keeps_its_place() -> None:
    [_, _, city] = words("Traffic in İstanbul")
    assert (city.form, city.span) == ("istanbul", (11, 19))
    [match] = TopicIndex({"t": "istanbul"}).match([Paper(title="Traffic in İstanbul")])
    assert match.why[0].spans == ((11, 19),)


def test_topics_read_the_first_fifty_thousand_characters() -> None:
    assert MAX_TEXT_LENGTH == 50_000
    index = TopicIndex({"t": "zebra"})
    near = Paper(title="A", abstract="word " * 9_000 + "zebra")
    far = Paper(title="A", abstract="word " * 10_000 + "zebra")
    assert [match.paper for match in index.match([near, far])] == [near]
