"""Random and mutated records through what compares, stores, matches and shows them.

    python -m tests.fuzz_records [--seconds N] [--seed N] [--round N] [--finds FOLDER]

Each round has its own seed, made of `--seed` and its number, so that `--round` plays a find again.
It takes a few records that resemble each other through one of

    compare     same_work, in both orders
    store       deciding and storing two chunks, the second of mutated records, and a stranger that
                links to the identifiers of all
    keep        the same for libraries, lists and the changes of guarded references
    match       parsing a random query, matching, evaluating, explaining, searching
    like        learning words from a random text and examples, matching and explaining by them
    show        excerpts, revisions, exports, mail, Slack and pages

A find is an exception, two verdicts that differ by the order, a stranger that is known, an index
that differs from the plain evaluation, a limit that a message exceeds, an entry that is lost or
doubled, or a round that takes seconds.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from msgspec import structs

from monitor.commands.export import FORMATS, export
from monitor.commands.paper_search import FoundPaper
from monitor.diff import same_work
from monitor.diff.decide import DecisionContext
from monitor.digest import excerpt
from monitor.digest.explain import describe_revision
from monitor.digest.shown import formulas_of, shown
from monitor.errors import QueryError
from monitor.identity.keys import LINK, group_by_scheme, identifiers, record_hash
from monitor.match import (
    Query,
    TopicIndex,
    learn_words,
    learned_from_text,
    parse_query,
    parse_topic,
)
from monitor.match.like import MAX_TEXT, MAX_WORDS
from monitor.model import (
    Audience,
    Bound,
    ChangeKind,
    DigestPaper,
    EarlierText,
    LikeText,
    LikeWords,
    Month,
    Paper,
    StoredPaper,
    Topic,
    TopicWhy,
    record_of,
)
from monitor.pipeline.store_chunk import Chunk, record_library_changes, store_papers
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.opening import open_store
from monitor.store.sources import collections
from monitor.store.sources import reference_events as stored_events
from monitor.text import clean, title_key, title_lengths
from tests.channels import test_limits as limits
from tests.channels.samples import digest
from tests.match.duel import WORDS, ReferenceIndex

NOW = datetime(2026, 11, 21, 6, tzinfo=UTC)
LAB = Audience(frozenset({("pages", "lab")}))
# Even the longest record, on a machine with much else to do.
SECONDS = 20.0

# fmt: off
NAMES = (
    "Ada Lovelace", "Tina Turing", "A. M. Turing", "Turing, Tina", "T. Turing",
    "Alan Mathison Turing", "H. H. Hopper", "Grace B. Hopper", "Hopper", "van der Berg, J.",
    "J. van der Berg",
    "Wang Xiao-Ming", "王小明", "X. Wang", "Müller, K.", "K. M{\\\"u}ller", "Mueller K", "O'Neil",
    "de", "A", "A.", "Li", "Jr.", "Иван Петров", "Petrov I.", "Ngô Bảo Châu", "İbrahim Çelik",
    "ß ß", "et al.", "ATLAS Collaboration", "Ada Lovelace and Alan Turing",
    "Lovelace, A., Turing, A. M., Hopper, G.", "a;b;c", "{Ada} {Lovelace}", "ada@example.org", "",
    " ", "-", "and", "1", "ﬁ ﬂ", "محمد علي", "Jean‑Luc", "\u0301", "Dr. Prof. Dr.",
)
NOUNS = (
    *WORDS, "Turing", "turing", "Hopper", "machines", "Machine", "learning", "deep", "planning",
    "on", "for", "Kenya", "Ghana", "tumour", "tumor", "colour", "colors", "Part", "II", "2", "III",
    "2016", "2017", "1", "10,000", "first", "second", "Erratum", "Editorial", "Comment",
    "Response", "to:", "Survey", "by", "By", "and", "et", "al.", "In:", "Proc.", "NeurIPS", "ICML",
    "VLDB", "SIGMOD",
)
ODD = (
    "{", "}", "{}", "$x^2$", "$$", "$", "\\alpha", "\\'{e}", "\\\"", "\\frac{a}{b}", "\\textbf{",
    "\\", "&amp;", "&#x41;", "&", "<b>", "</b>", "<", ">", "<!channel>", "p<0.05", "e\u0301", "İ",
    "ẞ", "ﬁ", "漢字", "深度学习", "ก", "😀", "👩\u200d👧", "\u200b", "\u202e", "\u00ad",
    "\u2028", "\x00",
    "\x85", "\ufeff", "…", "...", "—", "–", "-", "--", "“", "”", "'", '"', "`", "*", "**", "_",
    "~", "|", "#", "%", "@", "=", "+", ":", "::", ": ", "?", "!", "?!", "/", "//", "(", ")", "[1]",
    "()", ";", ",", ".", "..", "C++", "H₂O", "10⁻³", "½", "IV", "(GNN)",
    "graph neural networks (GNNs)", "x" * 200, "a-" * 60, "Retracted:", "WITHDRAWN:", "[Retracted]",
    "Part II:", "Vol. 3", "No. 4", "10.1000/7", "arXiv:2401.00001", "http://[",
    "https://x.org/a?b=c", "Ä", "Â¢", "Ã©", "â€™", "ï»¿", "٣", "Ⅷ", "ª", "ŉ", "ǆ", "ΐ",
    "\U000e0041",
)
JOINTS = (
    " ", " ", " ", " ", " ", " ", "", ", ", ": ", " - ", "-", " and ", ". ", "\n", "  ", "\u00a0",
)
VENUES = (
    "", "", "NeurIPS 2024", "Proceedings of the 41st International Conference on Machine Learning",
    "ICML", "VLDB Journal", "VLDB", "Nature", "arXiv", "bioRxiv", "SIGMOD Record, 31(2), 2002",
    "In: ", "Workshop on X at Y 1999", "the agents journal", "12", "CoRR abs/2401.00001",
    "Lecture Notes 7",
)
KEYS = {
    "arxiv": ("2401.00001", "2401.00001v2", "hep-th/9901001", "x", "2402.00002"),
    "doi": ("10.1000/7", "https://doi.org/10.1000/7", "10.48550/arXiv.2401.00001", "10.1101/2020.1",
            "doi", "10.1000/<7>;2-#", "10.1/" + "x" * 3_000),
    "pmid": ("123", "PMID 0123", ""), "openreview": ("https://openreview.net/forum?id=abc", "abc"),
    "s2": ("ABCDEF",), "openalex": ("https://openalex.org/W1",), "url": ("https://x.org/a",),
    "other": (" z ",),
}
URLS = (
    "", "", "https://x.org/a", "http://www.x.org/a/?utm_source=rss#top",
    "https://arxiv.org/abs/2401.00001v3", "https://doi.org/10.1000/7", "http://[",
    "https://[::1]:99999/", "ftp://x", "x", "https://x.org/" + "a&" * 900, "https://例え.jp/漢?q=%ff",
    "javascript:alert(1)", "https://github.com/a/b", "https://huggingface.co/a",
)
DATES = (
    None, None, NOW, NOW - timedelta(days=91), NOW - timedelta(days=4000),
    NOW + timedelta(days=2), datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
)
YEARS = (None, None, 2024, 2025, 2026, 0, 1, 1600, 9999, -5, 2**31 - 1)
TYPES = (
    "", "", "journal article", "preprint", "retraction", "correction", "expression of concern",
    "comment", "x",
)
SIGNS = (
    "", "-", "NOT ", "title:", "abstract:", "author:", "venue:", "category:", "source:", "any:",
    "=", "(", ")", '"', "*", "^", "~3", "2 of (", ",", "AND", "OR", "NOT", "and", "or", "/5",
    "w/3", "[tiab]", "$", "?", "^2",
)
# fmt: on


class Records:
    """Random records, and records that resemble others."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def text(self, longest: int) -> str:
        dice = self.dice
        if dice.random() < 0.02:
            return dice.choice((*ODD, *NOUNS)) * dice.choice((1_000, 8_000))
        count = dice.choice((0, 1, 1, 2, 3, 5, 8, longest))
        pieces = (dice.choice(ODD if dice.random() < 0.2 else NOUNS) for _ in range(count))
        return "".join(f"{piece}{dice.choice(JOINTS)}" for piece in pieces)

    def authors(self) -> tuple[str, ...]:
        dice = self.dice
        if dice.random() < 0.03:
            return tuple(f"{dice.choice(NAMES)} {n}" for n in range(dice.choice((101, 3_000))))
        names = [dice.choice(NAMES) for _ in range(dice.choice((0, 1, 1, 2, 3, 6)))]
        if names and dice.random() < 0.1:
            names = [dice.choice(("; ", ", ", " and ", " ")).join(names)]
        if names and dice.random() < 0.05:
            names[0] *= dice.choice((50, 3_000))
        return tuple(names)

    def title(self, authors: tuple[str, ...]) -> str:
        """Return a title; of every second one, names of authors are a part."""
        dice = self.dice
        text = self.text(14)
        if not authors or dice.random() < 0.5:
            return text
        names = list(authors[:4])
        if dice.random() < 0.4:
            names = [dice.choice(name.split() or [""]) for name in names]
        glued = dice.choice((" ", ", ", " , ", " by ", "")).join(names)
        parts = [glued, text] if dice.random() < 0.5 else [text, glued]
        if dice.random() < 0.2:
            parts = [glued]
        if dice.random() < 0.2:
            parts.append(dice.choice(VENUES))
        return " ".join(parts).lower() if dice.random() < 0.3 else " ".join(parts)

    def keys(self) -> dict[str, str | tuple[str, ...]]:
        dice = self.dice
        found: dict[str, str | tuple[str, ...]] = {}
        for scheme in dice.sample(sorted(KEYS), dice.choice((0, 0, 1, 2))):
            values = tuple(dice.choices(KEYS[scheme], k=dice.choice((1, 1, 2))))
            found[scheme] = values[0] if len(values) == 1 and dice.random() < 0.7 else values
        return found

    def abstract(self) -> str:
        return " ".join(f"{self.text(30)}." for _ in range(self.dice.choice((0, 1, 3, 8))))

    def record(self) -> Paper:
        dice = self.dice
        authors = self.authors()
        keys = self.keys()
        paper = Paper(
            self.title(authors),
            self.abstract(),
            authors,
            dice.choice(VENUES),
            dice.choice(YEARS),
            dice.choice(DATES),
            dice.choice(DATES),
            dice.choice(DATES),
            dice.choice(URLS),
            dice.choice(URLS),
            keys,
            tuple(dice.choices(("cs.LG", "cs.AI", "", "漢", "a b"), k=dice.choice((0, 1, 3)))),
            dice.choice(("", "new", "cross", "replace")),
            dice.choice((None, None, 1, 2, 3)),
            dice.random() < 0.05,
            dice.choice(("", "", "1", "2", "x" * 2_000, " ")),
            dice.choice(TYPES),
            self.keys() if dice.random() < 0.1 else {},
            {"code": dice.choice(URLS)} if dice.random() < 0.1 else {},
            dice.choice((None, None, 0, 7)),
        )
        places: list[dict[str, str | tuple[str, ...]]] = [{}, {}, {}]
        for scheme in keys:
            dice.choice(places)[scheme] = keys[scheme]
        _, in_links, in_text = places
        return structs.replace(paper, keys_in_links=in_links, keys_in_text=in_text)

    def mutated(self, paper: Paper) -> Paper:
        """Return a record of the same work, or nearly so: some fields are other ones."""
        dice = self.dice
        other = self.record()
        for _ in range(dice.choice((0, 1, 2, 3))):
            name = dice.choice(Paper.__struct_fields__)
            value = getattr(paper, name)
            if isinstance(value, str) and dice.random() < 0.7:
                changed: object = self._damaged(value)
            elif name == "authors" and value and dice.random() < 0.6:
                changed = self._other_list(value)
            else:
                changed = getattr(other, name)
            paper = structs.replace(paper, **{name: changed})
        if dice.random() < 0.2:  # as a catalogue runs them into the title
            glued = f"{paper.title} {' , '.join(paper.authors[:5])} {paper.venue}".lower()
            paper = structs.replace(paper, title=glued[:2_000], authors=(), venue="")
        return paper

    def of_names(self) -> tuple[Paper, Paper]:
        """Return two records with short titles of words of names, one of them without authors."""
        dice = self.dice
        names = dice.choices(NAMES, k=dice.choice((1, 1, 2, 3)))
        words = [word for name in names for word in name.split()] or ["x"]
        more = [dice.choice(NOUNS)] if dice.random() < 0.5 else []
        titles = [
            " ".join(dice.choices([*words, *more], k=dice.choice((1, 1, 2, 4)))) for _ in "ab"
        ]
        if dice.random() < 0.7:
            titles[1] = titles[0]
        return Paper(titles[0]), Paper(titles[1], authors=tuple(names))

    def _damaged(self, text: str) -> str:
        dice = self.dice
        words = text.split()
        match dice.randrange(6):
            case 0:
                return text[: dice.randrange(len(text) + 1)]
            case 1:
                dice.shuffle(words)
                return " ".join(words)
            case 2 if words:
                words[dice.randrange(len(words))] = dice.choice((*ODD, *NOUNS, *NAMES))
                return " ".join(words)
            case 3:
                return dice.choice((text.upper(), text.lower(), text.title(), text.swapcase()))
            case 4:
                place = dice.randrange(len(text) + 1)
                return text[:place] + dice.choice(ODD) + text[place:]
            case _:
                return f"{dice.choice((*NOUNS, *NAMES))} {text}"

    def _other_list(self, authors: tuple[str, ...]) -> tuple[str, ...]:
        dice = self.dice
        names = list(authors)
        match dice.randrange(5):
            case 0:
                dice.shuffle(names)
            case 1:
                names = names[: dice.randrange(len(names) + 1)]
            case 2:
                names = [", ".join(names)]
            case 3:
                names = [
                    f"{name[:1]}. {name.split()[-1]}" if name.split() else "" for name in names
                ]
            case _:
                names.append(dice.choice(NAMES))
        return tuple(names)

    def query(self) -> str:
        dice = self.dice
        parts = []
        for _ in range(dice.choice((1, 2, 3, 6, 12))):
            word = dice.choice((*NOUNS, *NAMES, *(ODD if dice.random() < 0.3 else ())))
            parts.append(dice.choice(SIGNS) if dice.random() < 0.4 else word)
            if dice.random() < 0.3:
                parts[-1] = f'{dice.choice(SIGNS)}"{word} {dice.choice(NOUNS)}"{dice.choice(SIGNS)}'
        return dice.choice((" ", " ", "")).join(parts)


def tidy(paper: Paper) -> Paper:
    """Return a record as sources return it: clean, with a title, of bounded texts."""

    def tidied(value: Any, longest: int) -> Any:
        if isinstance(value, str):
            return clean(value)[:longest]
        if isinstance(value, tuple):
            return tuple(tidied(part, longest) for part in value)
        if isinstance(value, dict):
            return {name: tidied(part, longest) for name, part in value.items()}
        return value

    fields = {
        name: tidied(getattr(paper, name), 40_000 if name == "abstract" else 20_000)
        for name in Paper.__struct_fields__
    }
    return structs.replace(paper, **fields | {"title": fields["title"] or "x"})


# Shares no word and no name with any other record.
STRANGER = Paper(
    "Zwetschgenkuchen mit Streuseln",
    "Butter, Mehl, Zucker und Hefe werden verknetet; nach einer Stunde kommen Zwetschgen darauf, "
    "dicht an dicht, und obenauf Streusel. Nach vierzig Minuten bei mittlerer Hitze ist er fertig.",
    ("Oma Hedwig",),
    raw_id="stranger",
)
PLACES = ("keys_in_links", "keys_in_text")

Step = Callable[[Records, Database], None]

# ── what must hold ──────────────────────────────────────────────────────────────────


def compare(records: Records, store: Database) -> None:
    first = records.record()
    others = [*(records.mutated(first) for _ in range(8)), records.record()]
    for first, other in (*((first, other) for other in others), records.of_names()):
        one = same_work(first, other)
        two = same_work(other, first)
        assert one == two, f"the order matters: {one} {two}"
        assert 0 <= one.score <= 1 and one.why
        with_abstracts = same_work(first, other, abstracts=0.5)
        assert 0 <= with_abstracts.score <= 1


def store_all(records: Records, store: Database) -> None:
    dice = records.dice
    first = [tidy(records.record()) for _ in range(dice.choice((1, 2, 6)))]
    then = [tidy(records.mutated(paper)) for paper in first for _ in range(dice.choice((1, 2)))]
    if dice.random() < 0.3:
        one, other = map(tidy, records.of_names())
        first.append(one)
        then.append(other)
    dice.shuffle(then)
    with store.ingesting() as tx, tx.begin_nested() as everything:
        for source, chunk in (("a", first), (dice.choice("ab"), [*then, *then[:1]])):
            assigns = dice.choice(((), (), ("arxiv",), ("doi", "pmid")))
            context = DecisionContext(NOW, dated=dice.random() < 0.5, assigns=assigns)
            stored = store_papers(tx, Chunk(source, chunk, context, NOW))
            assert stored.counts()["seen"] == len(chunk)
        pairs = {pair for paper in (*first, *then) for pair in identifiers(paper)}
        keys = group_by_scheme(pair for pair in pairs if pair[0] != LINK)
        stranger = structs.replace(STRANGER, keys=keys, **{dice.choice(PLACES): keys})
        stored = store_papers(tx, Chunk("c", [stranger], DecisionContext(NOW), NOW))
        assert stored.counts()["known"] == 0, "a link to a paper is that paper"
        everything.rollback()


def keep(records: Records, store: Database) -> None:
    dice = records.dice
    entries = [tidy(records.record()) for _ in range(dice.choice((1, 2, 6)))]
    news = [dated(dice, records.mutated(entry)) for entry in entries]
    notices = [about(dice, other, entries) for other in dice.sample(news, dice.randrange(2))]
    chunk = Chunk(
        "news",
        [*map(tidy, [*news, *notices]), *entries[:1]],
        DecisionContext(NOW),
        NOW,
    )
    only_reported = dice.random() < 0.3
    with store.ingesting() as tx, tx.begin_nested() as everything:
        for name, compact in (("library", False), ("list", True)):
            kept = [dated(dice, entry) for entry in entries]
            read_whole(tx, name, kept, compact=compact)
            once = rows_of(tx)
            read_whole(tx, name, kept[::-1], compact=compact)
            read_whole(tx, name, kept, compact=compact)
            assert rows_of(tx) == once, "read again, it is not the same"
        for _ in "ab":
            if only_reported:
                record_library_changes(tx, chunk, ["library"])
            else:
                store_papers(tx, chunk, ["library"], ["list"])
        waiting = stored_events.unsent(tx, "lab", ["library"], LAB, NOW)
        told = [(event.change, event.work, event.identity) for event in waiting]
        assert len(set(map(repr, told))) == len(told), told
        for name in ("library", "list"):
            collections.mark_documents_missing(tx, name, [], NOW, at_once=True)
            while collections.delete_missing(tx, name, NOW, 2):
                pass
        assert rows_of(tx) == (0, 0, 0), "what left is still there"
        everything.rollback()


def dated(dice: random.Random, paper: Paper) -> Paper:
    """Return a record with some dates as sources give them, to the month alone."""
    at = paper.published
    if at and dice.random() < 0.5:
        kind = dice.choice((Month, Bound))
        return structs.replace(paper, published=kind(at.year, at.month, 1, tzinfo=UTC))
    return paper


def about(dice: random.Random, paper: Paper, entries: Sequence[Paper]) -> Paper:
    """Return a notice of one of some entries, or of itself."""
    subject = dice.choice((*entries, paper))
    kind = dice.choice(("retraction", "correction", "expression of concern"))
    return structs.replace(paper, type=kind, about=subject.keys, raw_id=f"notice {paper.raw_id}")


def read_whole(tx: Transaction, source: str, papers: Sequence[Paper], *, compact: bool) -> None:
    """Read a document of a library or list to its end."""
    collections.begin_reading(tx, source, "")
    collections.save(tx, source, "", papers, NOW, compact=compact)
    collections.index_pending_keys(tx)
    collections.end_reading(tx, source, "", "x", NOW, at_once=True)
    collections.delete_missing(tx, source, NOW, 1_000)
    entries = collections.entries(tx, [source], NOW)
    stored = {entry.paper.title[: title_lengths.KEPT_OF_REFERENCE] for entry in entries}
    # Of several records with one name and one title, letter by letter, the last is kept.
    titles = {
        (paper.raw_id or record_hash(record_of(paper, source)), title_key(paper.title)): paper.title
        for paper in papers
    }
    whole = {title[: title_lengths.KEPT_OF_REFERENCE] for title in titles.values()}
    assert stored == whole, stored ^ whole


def rows_of(tx: Transaction) -> tuple[int, ...]:
    """Count the entries of collections and their keys."""
    tables = (schema.collection_entry, schema.collection_key, schema.collection_new_key)
    return tuple(tx.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables)


def match(records: Records, store: Database) -> None:
    papers = [tidy(records.record()) for _ in range(records.dice.choice((1, 4)))]
    topics: dict[Hashable, str | Query] = {}
    for number in range(4):
        query = records.query()
        try:
            parse_query(query)
        except QueryError as error:
            assert error.message and 0 <= error.position <= len(query), query
            continue
        topics[number] = query
    index = TopicIndex(topics)
    assert not index.errors, index.errors
    pairs = {(match.position, match.topic) for match in index.match(papers)}
    expected = ReferenceIndex(topics).scores(papers).keys()
    assert pairs == expected, f"{topics}: {pairs ^ expected}"
    for position, topic in pairs:
        index.why(topic, papers[position])


def like(records: Records, store: Database) -> None:
    dice = records.dice
    text = records.text(60)[:MAX_TEXT]
    examples = [tidy(records.record()) for _ in range(dice.choice((0, 0, 1, 3)))]
    learned = learn_words(text, examples)
    assert learned == learn_words(text, examples), "learned twice, they are others"
    assert len(learned) <= MAX_WORDS
    assert all(word.form and word.written and word.weight > 0 for word in learned)
    try:
        words = learned_from_text(LikeText(text))
    except QueryError as error:
        assert error.message and error.hint
        assert not learn_words(text), "a text that has words was refused"
        words = LikeWords((), 0.0)
    bar = dice.choice((0.001, 0.25, 0.35, 1.0))
    topics: dict[Hashable, Topic] = {
        name: Topic(name, "", like=LikeText(text or "x"), words=LikeWords(each, bar))
        for name, each in {"text": words.words, "examples": learned}.items()
        if each
    }
    papers = [tidy(records.mutated(records.record())), *examples]
    index = TopicIndex(topics)
    assert not index.errors, index.errors
    plain = ReferenceIndex({name: parse_topic(topic) for name, topic in topics.items()})
    pairs = {(match.position, match.topic) for match in index.match(papers)}
    assert pairs == plain.scores(papers).keys(), topics
    for position, topic in pairs:
        assert index.why(topic, papers[position])


def show(records: Records, store: Database) -> None:
    papers = [tidy(records.record()) for _ in range(records.dice.choice((1, 3)))]
    index = TopicIndex({"t": "title:a* OR agent OR learning OR turing OR the OR deep OR NOT xyz"})
    entries = []
    for number, record in enumerate(papers):
        paper = shown(record)
        before = EarlierText(record.title, records.abstract(), 1)
        entry = DigestPaper(
            number,
            1,
            records.dice.choice(list(ChangeKind)),
            paper,
            NOW,
            ("a",),
            1.0 - number,
            (TopicWhy("t", index.why("t", paper)),),
            revised=describe_revision(before, paper),
            formulas=formulas_of(record.title, record.abstract),
        )
        passages = excerpt.headline(entry), excerpt.excerpt(entry), excerpt.whole_abstract(entry)
        for passage in passages:
            assert all(0 <= start < end <= len(passage.text) for start, end in passage.spans)
        entries.append(entry)
    made = replace(digest(entries, subscription=papers[0].title[:100]), notes=(papers[0].title,))
    limits.check_mail(made)
    limits.check_pages(made)
    limits.check_slack(made)
    hits = [
        FoundPaper(StoredPaper(number, paper, NOW, NOW, 1), ())
        for number, paper in enumerate(papers)
    ]
    for form in FORMATS:
        "".join(export(hits, form)).encode()


STEPS: dict[str, Step] = {
    "compare": compare,
    "store": store_all,
    "keep": keep,
    "match": match,
    "like": like,
    "show": show,
}
# Of a hundred rounds: a comparison takes a twentieth of a digest's time.
SHARES = {"compare": 50, "store": 15, "keep": 10, "match": 10, "like": 5, "show": 10}


class Fuzz:
    def __init__(self, seed: int, finds: Path) -> None:
        self.seed = seed
        self.finds = finds
        self.found: Counter[str] = Counter()
        self.rounds: Counter[str] = Counter()
        self.slowest: dict[str, tuple[float, int]] = {}

    def round(self, number: int, store: Database) -> None:
        dice = random.Random(f"{self.seed} {number}")
        [name] = dice.choices(list(SHARES), weights=list(SHARES.values()))
        began = time.thread_time()
        try:
            STEPS[name](Records(dice), store)
        except Exception as error:
            trace = traceback.format_exc()
            self.keep(name, number, f"{type(error).__name__}: {error}", trace)
        took = time.thread_time() - began
        self.rounds[name] += 1
        self.slowest[name] = max(self.slowest.get(name, (0.0, 0)), (took, number))
        if took > SECONDS:
            self.keep(name, number, f"took {took:.0f} s", "")

    def keep(self, name: str, number: int, fault: str, trace: str) -> None:
        places = [line.strip() for line in trace.splitlines() if line.startswith("  File")]
        place = next((line for line in reversed(places) if "/monitor/" in line), "")
        said = f"{name}: {fault.partition(':')[0]} {place}"
        self.found[said] += 1
        if self.found[said] > 3:
            return
        self.finds.mkdir(parents=True, exist_ok=True)
        path = self.finds / f"{name}-{self.seed}-{number}"
        path.write_text(f"{fault}\n{trace}", encoding="utf-8", errors="backslashreplace")
        again = f"--seed {self.seed} --round {number}"
        print(f"FOUND {said}\n  {fault[:200]!r}\n  {again} in {path}", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=random.randrange(2**31))
    options.add_argument("--round", type=int, help="play this round alone")
    options.add_argument("--finds", type=Path, default=Path("fuzz-finds"))
    arguments = options.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    fuzz = Fuzz(arguments.seed, arguments.finds)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/monitor.db")
        number = 0
        until = time.monotonic() + arguments.seconds
        if arguments.round is not None:
            fuzz.round(arguments.round, store)
        while arguments.round is None and time.monotonic() < until:
            fuzz.round(number, store)
            number += 1
        store.close()
    rounds = sum(fuzz.rounds.values())
    finds = sum(fuzz.found.values())
    print(f"seed {arguments.seed}: {rounds:,} rounds, {finds} finds")
    for name, (took, slowest) in sorted(fuzz.slowest.items()):
        print(f"  {name:8} {fuzz.rounds[name]:8,} rounds, slowest {took:5.2f} s (round {slowest})")
    return 1 if fuzz.found else 0


if __name__ == "__main__":
    sys.exit(main())
