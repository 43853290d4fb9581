"""The order that answers teach: exact, the same each time, and of each paper alone."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.model import Paper
from monitor.rank import Judged, features, features_of, learn, pack, unpack, written_words
from monitor.rank.features import (
    COMMONEST,
    NO_FREQUENCIES,
    WORD,
    _in_papers,
    commonest,
    place_of,
    places_of,
    weigh,
)

NOUNS = ["agent", "vaccine", "galaxy", "compiler", "protein", "market", "robot", "climate"]
NOUNS += ["neuron", "polymer"]
papers = st.builds(
    lambda title, abstract: Paper(" ".join(title), abstract=" ".join(abstract)),
    st.lists(st.sampled_from(NOUNS), min_size=1, max_size=4),
    st.lists(st.sampled_from(NOUNS), max_size=12),
)
judged_papers = st.builds(Judged, papers, st.sampled_from(["wanted", "unwanted", "unjudged"]))
judgements = st.lists(judged_papers, max_size=25)


def about(*words, verdict="wanted"):
    return Judged(Paper(" ".join(words)), verdict)


def words_of(paper):
    return np.frombuffer(features(paper), WORD)


def by_topic(words, matched):
    """The weights of a paper's words among the papers of a topic, as they are written down."""
    counts = Counter(place for paper in matched for place in words_of(paper)["place"].tolist())
    table = _in_papers()
    weights = {}
    for place, weight in zip(words["place"].tolist(), words["weight"].tolist(), strict=True):
        alone = np.log(10_001 / (1 + table[place]))
        rare = np.log((2_001 + len(matched)) / (1 + counts[place] + table[place] / 5)) + 1
        weights[place] = weight / alone * rare if matched else weight
    length = np.sqrt(sum(weight**2 for weight in weights.values())) or 1
    return {place: weight / length for place, weight in weights.items()}


def f(judged, topic_words, paper, matched=()):
    """The rule as it is written down, with dense vectors."""
    rows = [words_of(one.paper) for one in judged] + [words_of(Paper("", abstract=topic_words))]
    dense = np.zeros((len(rows) + 1, 1 << 18))
    for vector, row in zip(dense, [*rows, words_of(paper)], strict=True):
        weights = by_topic(row, matched)
        vector[list(weights)] = list(weights.values())
    x = dense[:-1]
    new = dense[-1]
    y = [1 if one.verdict == "wanted" else -1 for one in judged] + [1]
    w = [{"wanted": 1, "unwanted": 0.1, "unjudged": 0.02}[one.verdict] for one in judged] + [0.3]
    a = np.linalg.solve(x @ x.T + 1 + np.diag(1 / np.array(w)), np.array(y, float))
    return new @ x.T @ a + a.sum()


@settings(max_examples=30, deadline=None)
@given(judgements, papers, st.floats(0, 7.5), st.lists(papers, max_size=9))
def test_a_score_is_what_the_rule_says(judged, paper, lexical, matched):
    wanted = sum(one.verdict == "wanted" for one in judged)
    score = learn(judged, ["robot", "climate change"], matched).score(paper, lexical)
    if not wanted:
        assert score == lexical
    else:
        expected = f(judged, "robot climate change", paper, matched)
        assert score == pytest.approx(expected + 0.09 / (wanted + 0.3) * lexical / 7.5, abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(judgements, st.lists(papers, min_size=2, max_size=6), st.integers())
def test_a_score_depends_on_no_other_paper_of_the_day(judged, day, seed):
    """Nor on what was scored before: the same judgements give the same bytes."""
    alone = [learn(judged, ["robot"]).score(paper, 1.0).hex() for paper in day]
    ranking = learn(judged, ["robot"])
    order = random.Random(seed).sample(range(len(day)), len(day))
    together = {n: ranking.score(day[n], 1.0).hex() for n in order}
    assert [together[n] for n in range(len(day))] == alone
    places = ranking.place(day, [1.0] * len(day))
    assert [one.score.hex() for one in places] == alone
    assert [one.likely for one in places] == [ranking.likely(p) for p in day]


def test_scores_left_out_are_those_without_the_judgement():
    """The closed form is what learning again without each judged paper gives."""
    dice = random.Random(5)
    judged = [
        about(*dice.choices(NOUNS, k=5), verdict=dice.choice(["wanted", "unwanted", "unjudged"]))
        for _ in range(30)
    ]
    ranking = learn(judged, ["robot"])
    assert sorted(map(id, ranking.judged)) == sorted(map(id, judged))
    again = [
        learn([*ranking.judged[:n], *ranking.judged[n + 1 :]], ["robot"]).score(one.paper)
        for n, one in enumerate(ranking.judged)
        if one.verdict != "unjudged"
    ]
    assert ranking._left_out == pytest.approx(np.array(again), abs=1e-5)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(papers, min_size=5, max_size=12),
    st.lists(papers, min_size=5, max_size=12),
    st.lists(papers, min_size=1),
)
def test_likely_is_what_most_of_the_ten_nearest_answers_say(wanted, unwanted, day):
    judged = [Judged(paper, "wanted") for paper in wanted]
    judged += [Judged(paper, "unwanted") for paper in unwanted]
    ranking = learn(judged, ["robot"])
    scores = ranking._left_out
    for paper in day:
        score = ranking.score(paper)
        apart = np.abs(scores - score)
        nearest = np.sort(apart)[9]
        if np.isclose(apart, nearest, atol=1e-9).sum() > 1 or np.isclose(score, np.median(scores)):
            continue  # which of two is the tenth, or which half it is in, is for rounding to say
        wanted_of_nearest = (apart[: len(wanted)] <= nearest).sum()
        assert ranking.likely(paper) == (wanted_of_nearest >= 7 and score > np.median(scores))


RARE = ["axolotl", "bassoon", "cuneiform", "dirigible", "eggplant", "flamingo"]
OTHERS = [Paper(f"agent {noun}") for noun in NOUNS[1:]] + [Paper("agent"), Paper("robot agent")]


def reason(paper, marked, matched, topic_words=("agent",), most=3):
    judged = [Judged(paper, "wanted") for paper in marked]
    ranking = learn(judged, topic_words, matched=matched)
    like, words = ranking.reason(paper, written_words(paper.title, paper.abstract), most)
    assert (like is None) == (not words)
    return (like.paper.title if like else None), words


def test_a_reason_names_the_marked_paper_and_the_words_of_both_that_weigh_most():
    marked = [Paper("agent axolotl bassoon"), Paper("agent cuneiform dirigible flamingo")]
    paper = Paper("agent Dirigible cuneiform eggplant", abstract="A dirigible. Cuneiform dirigible")
    assert reason(paper, marked, OTHERS) == (marked[1].title, ("Dirigible", "cuneiform"))
    assert reason(paper, marked, OTHERS, most=1) == (marked[1].title, ("Dirigible",))
    shown = written_words("cuneiform")
    ranking = learn([Judged(marked[1], "wanted")], ["agent"], matched=OTHERS)
    assert ranking.reason(paper, shown, 3)[1] == ("cuneiform",)


def test_no_reason_is_given_where_more_than_one_of_ten_unrated_papers_is_nearer():
    marked = Paper("agent axolotl flamingo")
    paper = Paper("agent axolotl flamingo bassoon")
    rated = [Paper("axolotl flamingo agent")] * 5
    assert len(OTHERS) == 11
    assert reason(paper, [marked], [*OTHERS, *rated, paper])[0] == marked.title
    # One of twelve is nearer, and then two of thirteen; the paper itself is not counted.
    second = Paper("agent axolotl flamingo", abstract="axolotl flamingo")
    assert reason(paper, [marked], [*OTHERS, second, paper])[0] == marked.title
    third = Paper("agent axolotl flamingo", abstract="axolotl axolotl flamingo flamingo")
    assert reason(paper, [marked], [*OTHERS, second, third, paper])[0] is None


def test_one_word_is_a_reason_only_where_few_papers_of_the_topic_have_it():
    marked = Paper("agent axolotl")
    paper = Paper("agent axolotl bassoon")
    rest = [
        Paper(f"agent {noun}", abstract=f"number {n}") for n in range(20) for noun in NOUNS[1:6]
    ]
    many = [Paper("agent axolotl", abstract=f"other {n}") for n in range(3)]
    assert reason(paper, [marked], [*rest, *many[:2]]) == (marked.title, ("axolotl",))
    assert reason(paper, [marked], [*rest[:97], *many]) == (None, ())
    assert reason(paper, [marked], [*OTHERS, *OTHERS, *OTHERS, *many]) == (None, ())
    # With a second word, both are named.
    both = Paper("agent axolotl bassoon")
    second = Paper("agent axolotl bassoon cuneiform")
    assert reason(second, [both], [*rest[:97], *many])[0] == both.title


def test_papers_shown_and_not_rated_are_compared_with_as_well():
    marked = Paper("agent axolotl")
    paper = Paper("agent axolotl bassoon")
    shown = written_words(paper.title)
    judged = [Judged(marked, "wanted"), *(Judged(other, "unjudged") for other in OTHERS)]
    assert learn(judged, ["agent"]).reason(paper, shown, 3)[1] == ("axolotl",)
    assert learn(judged[:1], ["agent"]).reason(paper, shown, 3) == (None, ())
    near = [
        Judged(Paper("agent axolotl", abstract=word), "unjudged")
        for word in ("axolotl", "axolotl axolotl")
    ]
    assert learn([*judged, *near], ["agent"]).reason(paper, shown, 3) == (None, ())


def test_a_reason_names_no_word_of_the_topic_and_no_common_one():
    marked = Paper("agents axolotl propose")
    assert place_of("propose") in commonest()
    assert len(commonest()) == COMMONEST
    assert reason(Paper("agent propose axolotl"), [marked], OTHERS)[1] == ("axolotl",)
    assert reason(Paper("agent propose"), [marked], OTHERS[:-2]) == (None, ())
    assert reason(Paper("Axolotls propose"), [marked], OTHERS, ("axolotl",)) == (None, ())


def test_words_that_most_papers_of_a_topic_have_say_less():
    marked = [Judged(Paper("axolotl bassoon"), "wanted"), about("galaxy", verdict="unwanted")]
    both = Paper("axolotl"), Paper("bassoon")
    matched = [Paper(f"axolotl {word}") for word in [*NOUNS, *RARE] * 20]
    axolotl, bassoon = map(learn(marked, [], matched=matched).score, both)
    assert axolotl < bassoon
    of_bassoons = [Paper(f"bassoon {word}") for word in [*NOUNS, *RARE] * 20]
    axolotl, bassoon = map(learn(marked, [], matched=of_bassoons).score, both)
    assert axolotl > bassoon


def test_the_last_two_thousand_papers_give_the_frequencies():
    marked = [about("axolotl", "bassoon")]
    paper = Paper("axolotl")
    newest = [Paper(f"axolotl {word}") for word in NOUNS] * 200
    score = learn(marked, [], matched=newest).score(paper)
    assert learn(marked, [], matched=[*OTHERS, *newest]).score(paper) == score
    assert learn(marked, [], matched=newest[1:]).score(paper) != score
    assert learn(marked, [], matched=[]).score(paper) == learn(marked, []).score(paper)


@given(st.lists(papers, max_size=9), st.lists(papers, max_size=9))
def test_frequencies_that_are_kept_are_those_of_all_papers_at_once(first, more):
    first = [features(one) for one in first]
    more = [features(one) for one in more]
    ids = {3, *range(7, 6 + len(first))}
    kept, frequencies = unpack(pack(ids, NO_FREQUENCIES.plus(first)))
    assert kept == ids
    added = frequencies._replace(papers=len(first)).plus(more)
    whole = [*first, *more]
    for part, expected in zip(added, NO_FREQUENCIES.plus(whole), strict=True):
        assert np.array_equal(part, expected)


def test_only_the_newest_judgements_count():
    old = [about("galaxy")] * 10
    newest = [about("agent")] * 300
    assert learn([*old, *newest], []).score(Paper("galaxy")) == learn(newest, []).score(
        Paper("galaxy")
    )


def test_a_paper_is_likely_only_after_five_answers_of_each_kind():
    wanted = [about("agent", "robot", noun) for noun in NOUNS[1:6]] * 3
    unwanted = [about("galaxy", "polymer", noun, verdict="unwanted") for noun in NOUNS[3:8]]
    ranking = learn([*unwanted, *wanted], [])
    day = [Paper("agent robot"), Paper("galaxy polymer")]
    found = [(one.likely, one.folded) for one in ranking.place(day, [0, 0])]
    assert found == [(True, False), (False, True)]
    few = learn([*unwanted[:4], *wanted], [])
    assert not any(one.likely or one.folded for one in few.place(day, [0, 0]))


def test_singular_and_plural_are_one_word_that_counts_twice_in_a_title_and_stop_words_none():
    once = words_of(Paper("The agents of markets"))
    other = words_of(Paper("Agent, market"))
    assert once["place"].tolist() == other["place"].tolist()
    assert np.linalg.norm(once["weight"]) == pytest.approx(1, abs=1e-6)
    title = "Agents and markets"
    abstract = "Agents plan"
    assert features_of(title, abstract) == weigh(places_of([title, title, abstract]))


def test_papers_in_scripts_without_spaces_are_learned_from():
    planning = "基于大模型的智能体规划研究"
    proteins = "蛋白质折叠的图神经网络"
    ranking = learn([Judged(Paper(planning), "wanted"), Judged(Paper(proteins), "unwanted")], [])
    assert ranking.score(Paper("智能体规划")) > ranking.score(Paper("蛋白质折叠"))
    assert features(Paper("a x 1")) == b""
    # A translation after an abstract counts for nothing.
    abstract = "Agents plan. "
    assert features(Paper("Agents", abstract=abstract + planning)) == features(
        Paper("Agents", abstract=abstract)
    )


def test_common_words_weigh_less():
    ranking = learn([about("propose", "agent")], [])
    assert ranking.score(Paper("agent")) > ranking.score(Paper("propose"))


def test_words_weigh_for_orders_as_they_did_before_topics_like_a_text() -> None:
    """Another table would move the orders that readers have: of robots, of patients."""
    in_papers = {word: int(_in_papers()[place_of(word)]) for word in ("robot", "patient")}
    assert in_papers == {"robot": 2450, "patient": 106}
