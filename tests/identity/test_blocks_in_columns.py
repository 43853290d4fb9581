"""The blocks of a batch: what is found in columns is what is found one by one."""

import random

from monitor.identity import blocking
from monitor.identity import blocking_columns as columns
from monitor.identity.blocking import blocks

COMMON = ["deep", "learning", "of", "the", "model", "a", "for", "data", "image"]


def titles(count: int, longest: int) -> list[str]:
    rng = random.Random(3)
    return [
        " ".join(
            rng.choice(COMMON) if rng.random() < 0.5 else "".join(rng.choices("abcdefghij", k=4))
            for _ in range(rng.randint(0, longest))
        )
        for _ in range(count)
    ]


def test_the_columns_are_the_blocks_of_each_title():
    heads = [f"{a}: {b}" for a, b in zip(titles(50, 6), titles(50, 4), strict=True)]
    all_titles = [
        *titles(500, 9),
        *titles(20, 90),
        *heads,
        "",
        "R\u00e9nyi\nEntropy & $\\beta$-Expansions",
    ]
    expected = [sorted(blocks(title)) for title in all_titles]
    assert list(map(sorted, blocking.blocks_of(all_titles))) == expected
    few = blocking.COLUMNS_FROM - 1  # these are worked out one by one
    assert list(map(sorted, blocking.blocks_of(all_titles[:few]))) == expected[:few]


def test_a_batch_without_titles_has_no_blocks():
    assert blocking.blocks_of([]) == []
    assert blocking.blocks_of(["", "", "A"])[:2] == [(), ()]


def test_a_title_of_very_many_words_does_not_widen_the_table():
    long = " ".join(f"word{n}" for n in range(5000))
    assert columns.number_rows(columns.word_lines([long, "A Title"])).shape == (
        2,
        columns.MAX_ROW_WORDS,
    )


def test_who_shares_a_block_is_found_once_however_much_is_shared():
    keys, owners = columns.blocks_of_rows(
        columns.number_rows(columns.word_lines(["Amber Basil Cobalt"] * 3 + ["Deep Data"]))
    )
    assert columns.pairs_sharing_a_block(keys, owners).tolist() == [[0, 1], [0, 2], [1, 2]]
