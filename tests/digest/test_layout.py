from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from monitor.digest.draft import draft
from monitor.digest.layout import left_out, most_that_fit, shorten
from monitor.model import Digest, GroupRule, share_places
from tests.digest.samples import digest, news

SIZES = st.lists(st.integers(0, 60), max_size=8)


@given(SIZES, st.integers(0, 200), st.data())
def test_places_are_shared_by_weight_and_none_is_left(
    sizes: list[int], count: int, data: st.DataObject
) -> None:
    weights = data.draw(
        st.lists(st.floats(0.1, 10), min_size=len(sizes), max_size=len(sizes)), label="weights"
    )
    shares = share_places(count, sizes, weights)
    assert sum(shares) == min(count, sum(sizes))
    assert all(share <= size for share, size in zip(shares, sizes, strict=True))
    owed = [share / weight for share, weight in zip(shares, weights, strict=True)]
    for at, share in enumerate(shares):
        if share < sizes[at]:  # nobody is more than one place ahead of it
            ahead = [o - 1 / w for o, w, s in zip(owed, weights, shares, strict=True) if s]
            assert all(one <= owed[at] + 1e-9 for one in ahead)


def two_topics(
    wide: int = 272, narrow: int = 33, rules: dict[str, GroupRule] | None = None
) -> Digest:
    items = [news(number=n, topic="wide", score=9 - n / 1000) for n in range(wide)]
    items += [news(number=1000 + n, topic="narrow", score=2 - n / 1000) for n in range(narrow)]
    groups = draft(items, 25, rules=rules or {}).groups
    return replace(digest(), groups=groups)


def counts(made: Digest, full: int = 25) -> dict[str, int]:
    best = {entry.paper_id for entry in made.best(full)}
    return {g.topic: sum(e.paper_id in best for e in g.entries) for g in made.groups}


def test_papers_in_full_are_shared_among_topics_and_a_topic_may_have_a_max() -> None:
    assert counts(two_topics()) == {"wide": 13, "narrow": 12}
    assert counts(two_topics(), 1) == {"wide": 1, "narrow": 0}, "the best paper's topic is first"
    assert counts(two_topics(rules={"wide": GroupRule(max=3)})) == {"wide": 3, "narrow": 22}
    assert counts(two_topics(rules={"narrow": GroupRule(weight=4)})) == {"wide": 5, "narrow": 20}


def test_a_digest_of_more_papers_than_it_holds_has_some_of_each_topic() -> None:
    drafted = draft(
        [news(number=n, topic="wide", score=9) for n in range(450)]
        + [news(number=1000 + n, topic="narrow", score=1) for n in range(50)],
        25,
    )
    assert {g.topic: len(g.entries) for g in drafted.groups} == {"wide": 350, "narrow": 50}
    assert drafted.waiting == 100


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 30), st.integers(0, 30))
def test_what_is_shown_and_what_is_left_out_are_the_digest(
    wide: int, narrow: int, full: int, titles: int
) -> None:
    made = two_topics(wide, narrow)
    shown = shorten(made, full, titles)
    kept = [e.paper_id for g in shown.groups for e in g.entries]
    rest = [e.paper_id for g in left_out(made, shown) for e in g.entries]
    assert sorted(kept + rest) == sorted(e.paper_id for g in made.groups for e in g.entries)
    assert len(kept) == min(full + titles, made.papers) == made.papers - len(rest)
    assert shown.papers == made.papers, "sections count what they do not show"
    assert [e.paper_id for e in shown.best(full)] == [e.paper_id for e in made.best(full)]


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 3_000))
def test_as_much_as_fits_is_shown(full: int, titles: int, room: int) -> None:
    def fits(papers: int, lines: int) -> bool:
        return papers * 50 + lines * 7 <= room

    best = most_that_fit(fits, full, titles)
    assert fits(*best) or best == (0, 0)
    assert best[0] == full or not fits(best[0] + 1, best[1])


@given(st.integers(1, 60), st.integers(0, 30), st.integers(0, 30))
def test_a_message_shows_at_most_so_many_papers_and_counts_the_others(
    at_most: int, full: int, titles: int
) -> None:
    made = two_topics(40, 9)
    shown = shorten(made, full, titles, at_most)
    assert made.papers - shown.more == min(at_most, full + titles, 49)
    assert shown.papers == made.papers
    assert [e.paper_id for e in shown.best(full)] == [
        e.paper_id for e in made.best(min(full, at_most))
    ]


def test_each_topic_has_a_paper_in_full_also_where_topics_are_more_than_places() -> None:
    items = [news(number=n, topic=f"t{n % 20}", score=9 - n / 1000) for n in range(60)]
    made = draft(items, 12, each_topic=True)
    in_full = {
        e.matched[0].topic for g in made.groups for e in g.entries if e.paper_id in made.in_full
    }
    assert (made.full, len(made.in_full), len(in_full)) == (20, 20, 20)
    assert draft(items, 12).full == 12, "a number that a person wrote is the limit"
    assert draft(items, 25, each_topic=True).full == 25
