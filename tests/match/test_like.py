"""Topics that are like a text: their words, how near a paper is, and where the bar is put."""

from __future__ import annotations

import pytest
from msgspec import structs

from monitor.errors import QueryError
from monitor.match import (
    TopicIndex,
    choose_bar,
    learn_words,
    learned_from_text,
    parse_topic,
    propose_words,
)
from monitor.match.like import (
    BAR,
    EXAMPLE_WORDS,
    EXAMPLES_WEIGHT,
    LOWEST_BAR,
    MAX_WORDS,
    WHOLE,
    days_covered,
    like_leaf,
)
from monitor.match.meaning.closeness import as_closeness, least_words, share, whole
from monitor.match.meaning.evaluate import View
from monitor.match.search import search_expression
from monitor.model import LikeText, LikeWords, Paper, Topic

SENTENCE = "agents that use a web browser or a phone for people"
BROWSING = Paper("Agents in the Browser", abstract="A phone for web agents, used by people.")
ROBOTS = Paper("Robots that Grasp", abstract="A hand of steel.")


def forms(text: str, *examples: Paper) -> list[str]:
    return [word.form for word in learn_words(text, examples)]


def topic(text: str = SENTENCE, query: str = "", at_least: float = 0.3) -> Topic:
    return Topic("t", query, like=LikeText(text, at_least=at_least))


def test_rare_words_weigh_most_and_those_of_sentences_nothing():
    learned = forms(SENTENCE)
    assert learned[0] == "browser" and "web" in learned
    assert not {"that", "for", "a", "or"} & {*learned}
    assert "together" not in forms("language agents that play games together")
    weights = [word.weight for word in learn_words(SENTENCE)]
    assert weights == sorted(weights, reverse=True) and 990 < sum(weights) < 1_010


def test_common_words_of_medicine_weigh_as_little_as_those_of_computing():
    weights = {word.form: word.weight for word in learn_words("robots for patients in a browser")}
    assert 0.8 < weights["patient"] / weights["robot"] < 1.25
    assert weights["browser"] > 2 * max(weights["patient"], weights["robot"])


def test_words_are_kept_as_they_were_written():
    assert {w.form: w.written for w in learn_words("GUI Policies")} == {
        "gui": "GUI",
        "policy": "Policies",
    }


def test_examples_add_their_words_but_no_numbers():
    learned = forms("agents", BROWSING, Paper("Browsers", abstract="A score of 10.59 in browsers."))
    assert "browser" in learned and "agent" in learned and "10.59" not in learned
    assert len(forms(" ".join(f"word{chr(97 + n)}{chr(98 + n % 7)}" for n in range(26)) * 9)) <= 40


SYLLABLES = ("ka", "mo", "ri", "tu", "ne", "zo", "pi", "lu")
MANY_WORDS = " ".join(a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES)


def test_a_long_text_has_its_heaviest_words():
    assert len(forms(MANY_WORDS)) == MAX_WORDS


def test_a_long_example_counts_no_more_than_a_short_one():
    short = Paper("Wombats")
    long = Paper("Quokkas", abstract=f"{MANY_WORDS} {'quokkas ' * 20}")
    assert forms("", short, long)[:2] == ["wombat", "quokka"]


def test_examples_have_their_heaviest_words_and_count_four_times_the_text():
    learned = learn_words("wombats", [Paper("Examples", abstract=MANY_WORDS)])
    [text] = [word.weight for word in learned if word.form == "wombat"]
    assert len(learned) == EXAMPLE_WORDS + 1
    assert text == pytest.approx(WHOLE / (1 + EXAMPLES_WEIGHT), abs=5)


def test_of_words_that_weigh_the_same_the_alphabet_decides():
    assert forms(" ".join(reversed(MANY_WORDS.split()))) == forms(MANY_WORDS)


def test_another_script_has_words_as_well():
    learned = learned_from_text(LikeText("基于深度学习的网页代理"))
    paper = Paper("深度学习的代理")
    assert View(paper).closeness(like_leaf(learned)) > 0.2


@pytest.mark.parametrize("text", ["the of and", "", "...", "a that which"])
def test_a_text_without_words_is_refused(text: str):
    with pytest.raises(QueryError, match="like:"):
        parse_topic(topic(text))


def test_a_paper_is_near_by_the_share_of_the_words_that_it_has():
    near = View(BROWSING).closeness(like_leaf(learned_from_text(LikeText(SENTENCE))))
    far = View(ROBOTS).closeness(like_leaf(learned_from_text(LikeText(SENTENCE))))
    assert near > 0.5 > far == 0.0


def test_words_of_the_title_count_twice_and_repetition_ever_less():
    assert [share(0, 0), share(0, 1), share(1, 1), share(0, 3)] == [0, 500, 666, 750]


def test_of_many_words_those_that_weigh_most_are_the_whole():
    words = learn_words(" ".join(["browser", "phone", *(f"zu{chr(97 + n)}mo" for n in range(20))]))
    leaf = like_leaf(LikeWords(words, 0.3))
    assert whole(leaf) == 1_000 * sum(word.weight for word in words[:8])
    assert as_closeness(10**9, leaf) == 1.0


def test_a_topic_matches_what_reaches_the_bar_and_says_by_which_words():
    index = TopicIndex({"t": topic()})
    [match] = index.match([ROBOTS, BROWSING])
    assert match.paper is BROWSING
    assert {word.casefold() for why in match.why for word in why.words} >= {"browser", "phone"}
    assert 7.5 * 0.3 < match.score <= 7.5


def test_a_query_and_a_text_must_both_match():
    index = TopicIndex({"both": topic(query="title:robot"), "query": "title:browser"})
    assert [match.topic for match in index.match([BROWSING])] == ["query"]
    assert [*TopicIndex({"both": topic(query="phone")}).match([BROWSING])]


def test_abbreviations_that_a_paper_defines_count():
    like = topic("reinforcement learning", at_least=0.5)
    spelled = "We use reinforcement learning (RL)."
    title_only = Paper("RL at work", abstract=spelled)
    assert [*TopicIndex({"t": like}).match([title_only])]


def test_what_is_searched_for_is_enough_to_find_all_that_matches():
    leaf = like_leaf(LikeWords(learn_words(SENTENCE), 0.3))
    needed = least_words(leaf)
    assert 0 < len(needed) < len(leaf.words)
    others = sum(weight for word, weight in leaf.words if word not in needed)
    assert others < leaf.bar * whole(leaf) / 1_000
    assert search_expression(leaf) is not None


def test_the_bar_is_where_it_was_put_or_where_few_papers_reach_it():
    like = LikeText("x")
    falling = [1 - n / 1_000 for n in range(1_000)]
    assert choose_bar(falling, 1_000, 30, LikeText("x", at_least=0.7)) == 0.7
    assert choose_bar([], 0, 0, like) == BAR, "an empty store says nothing"
    assert choose_bar([0.3] * 100, 100, 1, like) == BAR, "nor does a small one"
    assert choose_bar([0.1] * 1_000, 1_000, 30, like) == LOWEST_BAR
    assert choose_bar([0.31] * 20 + [0.1] * 980, 1_000, 30, like) == 0.31
    at_most = choose_bar(falling, 1_000, 30, LikeText("x", at_most=2))
    assert sum(near >= at_most for near in falling) <= 60


def test_a_bar_that_is_put_lets_through_what_it_was_put_for():
    closest = sorted([0.9, 0.8, 0.45, 0.45, *([0.1] * 996)], reverse=True)
    bar = choose_bar(closest, 1_000, 2, LikeText("x", at_most=1))
    assert bar > 0.45 and sum(near >= bar for near in closest) == 2


def test_a_bar_is_one_at_most_so_that_a_paper_can_reach_it():
    assert choose_bar([1.0] * 1_000, 1_000, 2, LikeText("x", at_most=1)) == 1.0


def test_an_archive_that_came_in_an_hour_counts_as_days():
    assert [days_covered(*pair) for pair in ((5_000, 0.04), (300, 0.04), (300, 9.0))] == [10, 1, 9]


def test_few_telling_words_are_proposed_and_none_that_the_topic_has():
    common = [Paper("Browsers", abstract=f"{MANY_WORDS} agents") for _ in range(4)]
    assert len(propose_words((), common, [])) == 6
    assert propose_words(learn_words("browsers"), [Paper("Browsers")] * 3, []) == ()
    here_and_there = [Paper("Gulls"), Paper("Gulls"), Paper("Herring"), Paper("Cranes")]
    assert propose_words((), common, common) == ()
    [gull] = propose_words((), here_and_there, [Paper("Herring"), Paper("Cranes")])
    assert gull.word.casefold() == "gulls"


def test_answers_propose_words():
    words = learn_words("agents in a browser")
    wanted = [Paper("Phones", abstract="A smartphone agent.") for _ in range(4)]
    unwanted = [Paper("Browser security", abstract="The browser leaks.") for _ in range(4)]
    changes = {
        (change.word.casefold(), change.add) for change in propose_words(words, wanted, unwanted)
    }
    assert ("smartphone", True) in changes and ("browser", False) in changes
    assert propose_words(words, wanted[:2], unwanted[:2]) == ()


def test_the_words_of_a_text_are_told_apart_from_those_of_a_query():
    def near(query: str) -> list[tuple[str, ...]]:
        [match] = TopicIndex({"t": topic(SENTENCE, query, at_least=0.1)}).match([BROWSING])
        return [reason.near for reason in match.why]

    [title, abstract] = near("")
    assert {"browser", "agents"} <= {word.casefold() for word in (*title, *abstract)}
    demanded = [word for reason in near("browser") for word in reason]
    assert "browser" not in [word.casefold() for word in demanded] and demanded
    also_browsers = structs.replace(BROWSING, title=f"Browsers, and {BROWSING.title}")
    [match] = TopicIndex({"t": topic(SENTENCE, "browser", at_least=0.1)}).match([also_browsers])
    near_words = [word.casefold() for reason in match.why for word in reason.near]
    assert "browsers" not in near_words and near_words
