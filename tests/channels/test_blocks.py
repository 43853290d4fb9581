"""Slack's limits, kept before anything is sent."""

import re

from hypothesis import given
from hypothesis import strategies as st

from monitor.channels.slack.blocks import (
    DIVIDER,
    context,
    cut,
    halve,
    header,
    message,
    messages,
    text_of,
)

mrkdwn = st.lists(
    st.sampled_from(["word", " ", "\n", "&amp;", "&lt;", "<https://x.example/1|a label>", "ü", "<"])
    | st.text(max_size=9)
).map("".join)


def sizes(found: list) -> list[tuple[int, int]]:
    return [(len(m["blocks"]), sum(len(text_of(b)) for b in m["blocks"])) for m in found]


def letters(text: str) -> str:
    return "".join(text.split())


@given(mrkdwn, st.integers(40, 200))
def test_L03_pieces_fit_and_nothing_is_lost(text: str, limit: int) -> None:
    found = cut(text, limit)
    assert all(0 < len(piece) <= limit for piece in found)
    assert letters("".join(found)) == letters(text)


@given(st.lists(st.sampled_from(["<https://x.example/1|a label>", "&amp;", "word "])), st.data())
def test_pieces_never_cut_a_link_or_an_escaped_sign(parts: list[str], data: st.DataObject) -> None:
    limit = data.draw(st.integers(40, 90))
    for piece in cut("".join(parts), limit):
        assert re.fullmatch(r"(<https://x\.example/1\|a label>|&amp;|word\s*)+", piece)


def test_a_link_longer_than_a_section_gives_up_its_target_and_keeps_its_words() -> None:
    url = f"https://x.example/{'y' * 3000}"
    assert cut(f"<{url}|the title> after", 2700) == ["the title after"]


def test_L03_51_sections_or_14000_characters_become_two_messages() -> None:
    many = messages([f"section {n}" for n in range(51)], "x" * 9_000)
    long = messages(["x" * 1000] * 14, "ada")
    assert [count for count, _ in sizes(many)] == [45, 6]
    assert [size for _, size in sizes(long)] == [10_000, 4_000]
    assert all(len(m["text"]) <= 4_000 for m in many)


def test_replies_begin_a_message_of_their_own_and_dividers_stand_between_things() -> None:
    found = messages([header("ada"), "best", DIVIDER], "ada", [DIVIDER, "more", DIVIDER, "last"])
    assert [[b["type"] for b in m["blocks"]] for m in found] == [
        ["header", "section"],
        ["section", "divider", "section"],
    ]
    assert [m["text"] for m in found] == ["ada (1 of 2)", "ada (2 of 2)"]
    [only] = messages(["best"], "ada", [])
    assert only["blocks"][0]["text"]["verbatim"] is True
    assert len(text_of(header("y" * 200))) == 135


def test_halves_split_blocks_then_text_and_at_last_give_up() -> None:
    def texts(m: dict) -> list[str]:
        return [block["text"]["text"] for block in m["blocks"]]

    first, second = halve(message(["a", "b", context("c")], "ada"))
    assert (texts(first), second["blocks"][1]) == (["a"], context("c"))
    first, second = halve(message(["word " * 100], "ada"))
    assert "".join(letters(t) for m in (first, second) for t in texts(m)) == "word" * 100
    assert halve(message(["short"], "ada")) is None
