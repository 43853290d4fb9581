"""Near titles of a batch: what is found by columns is what is found one by one."""

import random

from monitor.diff import near
from monitor.diff.blocks import of_words, words
from monitor.diff.near import near_titles

TITLES = [
    "Sketching Submodular Curvature for Streaming Crowdsourced Rankings",
    "Dropout as a Bayesian Approximation",
    "sketching sub-modular curvature for streaming crowdsourced rankings.",
    "Deep Learning for Protein Dynamics",
    "Dropuot as a Bayesian Approximation",
    "Deep Learning of Robot Navigation",
    "Sketching Submodular Curvature for Crowdsourced Rankings",
    "Rényi Divergence & Entropy of $\\beta$-Expansions",
    "Renyi divergence and entropy of β-expansions",
]


def test_noisy_copies_are_near_and_others_are_not():
    assert set(near_titles(TITLES)) == {(0, 2), (0, 6), (1, 4), (2, 6), (7, 8)}


def test_a_batch_without_titles_has_no_pairs():
    assert near_titles([]) == near_titles([""]) == near_titles(["", "", "A"]) == []


def test_one_title_many_times_is_found_many_times():
    assert len(near_titles([TITLES[0]] * 4)) == 6


def test_the_columns_are_the_blocks_of_each_title():
    rng = random.Random(3)
    common = ["deep", "learning", "of", "the", "model", "a", "for", "data", "image"]
    letters = "abcdefghij"
    titles = [
        " ".join(
            rng.choice(common) if rng.random() < 0.5 else "".join(rng.choices(letters, k=4))
            for _ in range(rng.randint(0, 9))
        )
        for _ in range(500)
    ]
    keys, owners = near._blocks(near._rows(near._folded(titles)))
    found = [set() for _ in titles]
    for key, owner in zip(keys.tolist(), owners.tolist(), strict=True):
        found[owner].add(key)
    assert found == [set(of_words(words(title))) for title in titles]


def test_a_title_of_very_many_words_does_not_widen_the_table():
    long = " ".join(f"word{n}" for n in range(5000))
    assert near._rows(near._folded([long, "A Title"])).shape == (2, near.LONGEST)
