"""What counts as the same word, the same title, and one sentence."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.digest.sentence_value import sentences
from monitor.text import (
    clean,
    plain,
    singular,
    split_person,
    title_key,
    without_placeholder,
    words,
)
from monitor.text.new_names import NewNames

ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=r"abAB019 -–'\"{}$\^_&<>/.,+#éßβΩﬁ²₂深가ø" + "\u0301", max_size=40),
    st.lists(
        st.sampled_from(
            [
                r"\beta",
                r"\'e",
                r"\textbf{",
                "}",
                "$",
                "<sub>",
                "</sub>",
                "&amp;",
                "-",
                " ",
                "agents",
            ]
        ),
        max_size=12,
    ).map("".join),
)


@pytest.mark.parametrize(
    ("given_text", "cleaned"),
    [
        ("  two\r\n lines\u2028and\u2029more ", "two lines and more"),
        ("nul\x00 bell\x07 c1\x9b", "nul bell c1"),
        ("\u202eevil\u202c bidi\u200b", "evil bidi"),
        ("e\u0301tude", "étude"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        (r"$\beta$-VAE stays", r"$\beta$-VAE stays"),
        ("\u200cنمی\u200cدانم", "\u200cنمی\u200cدانم"),
    ],
)
def test_F12_clean_text_is_one_line_of_stored_unicode(given_text: str, cleaned: str) -> None:
    assert clean(given_text) == cleaned


@given(
    ANY_TEXT | st.text(st.characters() | st.sampled_from(" \n\t\x1c\x85\xa0\u2028\u200b\xad\x7f"))
)
def test_clean_text_is_one_printable_line(text: str) -> None:
    line = clean(text)
    assert line == clean(line) == " ".join(line.split()) == unicodedata.normalize("NFC", line)
    assert all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in line)
    assert not set(line) & set("\xad\u200b\u200e\u200f\u202a\u202e\u2066\ufeff")


@pytest.mark.parametrize(
    "writings",
    [
        ("Is {RLHF} More Difficult?", "Is RLHF more difficult", "IS RLHF MORE  DIFFICULT ?"),
        (r"$\beta$-VAE", "β-VAE", "beta-VAE", r"\(\beta\)-VAE", "Beta VAE", "β–VAE"),
        (r"Schr\"odinger", r"Schr{\"o}dinger", r"Schr\"{o}dinger", "Schrödinger", "Schrodinger"),
        (r"Erd{\H{o}}s", r"Erd\H os", "Erdős", "Erdo\u030bs"),
        ("multi-agent RL", "multi agent RL", "Multi\u2010Agent RL", "multiagent {RL}"),
        ("H<sub>2</sub>O", "H₂O", "$H_2O$", "H2O", r"H$_{2}$O"),
        ("<i>In vitro</i> tests", "In vitro tests", r"\textit{In vitro} tests"),
        ("Search & Rescue", "search and rescue", "Search &amp; Rescue", r"Search \& Rescue"),
        ("ﬁne Ｗｉｄｅ", "fine wide"),
        ("Café “quotes” — dash", "Cafe 'quotes' - dash", "Cafe\u0301 quotes: dash"),
        ("Straße", "STRASSE"),
        ("10,000 agents", "10000 agents"),
        (r"Learning in $\mathcal{O}(n)$", "Learning in O(n)"),
        (r"$\ell_1$ norms", "ℓ₁ norms", "l1 norms"),
        (r"$H_\infty$ control", "H∞ control"),
    ],
)
def test_titles_that_differ_in_writing_only_have_one_key(writings: tuple[str, ...]) -> None:
    assert len({title_key(title) for title in writings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Secrets Part I", "Secrets Part II"),
        ("GPT-3", "GPT-4"),
        ("A survey of C", "A survey of C++"),
        ("A survey of C", "A survey of C#"),
        ("A survey of C++", "A survey of C#"),
        ("UNet", "UNet++"),
        ("Version 1.5", "Version 15"),
        ("Rules 3 5", "Rules 35"),
        ("Rules 10^3", "Rules 103"),
        (r"About $\alpha$", r"About $\beta$"),
        ("深度学习", "强化学习"),
        ("バス", "パス"),
        ("!", "?"),
    ],
)
def test_titles_with_other_words_or_numbers_have_other_keys(one: str, other: str) -> None:
    assert title_key(one) != title_key(other)


def test_a_title_of_punctuation_or_of_other_scripts_still_has_a_key() -> None:
    assert title_key("?!") == "?!"
    assert title_key("深度学习") == "深度学习"
    assert title_key("हिन्दी") == "हिन्दी"
    assert title_key("") == ""


@given(ANY_TEXT)
def test_every_title_with_something_in_it_has_a_key(text: str) -> None:
    assert bool(title_key(text)) == bool(text.split())


@given(ANY_TEXT)
def test_case_never_matters_to_a_plain_key(text: str) -> None:
    if text.isascii() and "\\" not in text and "&" not in text:
        assert title_key(text.upper()) == title_key(text.lower())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Agents' policy", "the agents policy"),
        (r"a \emph{new} $\lambda$-calculus", "a new lambda calculus"),
        ("R&amp;D at 3.5 GHz", "r and d at 3.5 ghz"),
        (r"$\frac{1}{2}$", "1 2"),
        ("x² + y_1", "x 2 y 1"),
        (r"n \log n \to \infty", "n log n infinity"),
    ],
)
def test_plain_words(text: str, expected: str) -> None:
    assert plain(text) == expected


# ── the lattice ─────────────────────────────────────────────────────────────────────


def lattice(text: str) -> list[tuple[str, int, int]]:
    return [(word.form, word.start, word.end) for word in words(text)]


def test_a_hyphen_joins_and_parts() -> None:
    expected = [("multi", 0, 1), ("agent", 1, 2), ("multiagent", 0, 2), ("system", 2, 3)]
    for dash in "-\u2010\u2011–—−":
        assert lattice(f"Multi{dash}agent systems") == expected


def test_two_plain_words_or_two_numbers_are_never_joined() -> None:
    assert lattice("in formation") == [("in", 0, 1), ("formation", 1, 2)]
    assert lattice("3-5") == [("3", 0, 1), ("5", 1, 2)]
    assert ("gpt3.5", 0, 2) in lattice("GPT-3.5")


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("C++, C# and C", ["c++", "c#", "and", "c"]),
        ("UNet++", ["unet"]),
        ("10,000 and 3.5", ["10000", "and", "3.5"]),
        ("深度学习 GPT模型", ["深", "度", "学", "习", "gpt", "模", "型"]),
        ("한국어", ["한", "국", "어"]),
        ("e\u0301tude Ｗｉｄｅ", ["etude", "wide"]),
    ],
)
def test_words_of_many_kinds(text: str, forms: list[str]) -> None:
    assert [word.form for word in words(text)] == forms


def test_spans_lead_back_to_the_text_as_given() -> None:
    text = 'A $\\beta$-VAE by Schr{\\"o}dinger, ﬁnely <b>H</b>\u2082O e\u0301tude'
    spans = {word.word: text[slice(*word.span)] for word in words(text)}
    assert spans["beta"] == "\\beta"
    assert spans["betavae"] == "\\beta$-VAE"
    assert spans["schrodinger"] == 'Schr{\\"o}dinger'
    assert spans["finely"] == "ﬁnely"
    assert spans["h2o"] == "H</b>₂O"
    assert spans["etude"] == "e\u0301tude"


@given(ANY_TEXT)
def test_spans_lie_in_the_text_and_follow_one_another(text: str) -> None:
    found = words(text)
    for word in found:
        start, end = word.span
        assert 0 <= start < end <= len(text)
        assert 0 <= word.start < word.end
    parts = [word for word in found if word.end - word.start == 1]
    assert sorted(word.start for word in parts) == list(range(len(parts)))
    ordered = sorted(parts, key=lambda word: word.start)
    assert ordered == sorted(ordered, key=lambda word: word.span[0])


# ── plurals ─────────────────────────────────────────────────────────────────────────


PLURALS = """
    agents:agent policies:policy classes:class losses:loss boxes:box approaches:approach ties:tie
    universities:university universes:universe databases:database caches:cache biases:bias
    indices:index metrics:metric llms:llm gnns:gnn criteria:criterion movies:movie
"""


@pytest.mark.parametrize(("plural", "one"), [pair.split(":") for pair in PLURALS.split()])
def test_plurals_are_one_with_their_singular(plural: str, one: str) -> None:
    assert singular(plural) == one == singular(one)


LOOK_LIKE_PLURALS = """
    bias is this gas class process analysis basis learning news series species physics dynamics
    robotics corpus consensus lens atlas always us gps aids general generative logistics 1990s
"""


@pytest.mark.parametrize("word", LOOK_LIKE_PLURALS.split())
def test_words_that_only_look_like_plurals_stay(word: str) -> None:
    assert singular(word) == word


@given(st.text(alphabet="abcehistuxy", max_size=9))
def test_a_singular_is_its_own_singular(word: str) -> None:
    assert singular(singular(word)) == singular(word)


# ── sentences ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "parts",
    [
        ("We do this.", "Then that!", "Does it work?", "Yes"),
        ("See Smith et al. We follow Fig. 3 and Eq. 2, e.g. This one.", "Next."),
        ("It gains 3.5 points vs. The baseline, i.e. GPT-4.", "Done."),
        ("Y. Bengio and G. E. Hinton agree.", "So do we."),
        ("We wait ... and see.", "It ends...", "Then more."),
        ('He said "no."', "“Quoted.”", "(In parentheses.)", "$\\beta$-VAE wins."),
        ("深度学习。", "强化学习！", "好"),
        ("One sentence without an end",),
        (),
    ],
)
def test_sentences(parts: tuple[str, ...]) -> None:
    text = "  " + " ".join(parts) + " "
    assert [text[start:end] for start, end in sentences(text)] == list(parts)


@given(ANY_TEXT)
def test_sentences_cover_all_that_is_not_space(text: str) -> None:
    spans = sentences(text)
    kept = "".join("".join(text[start:end].split()) for start, end in spans)
    assert kept == "".join(text.split())
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Jane Doe", ("Doe", "Jane", "")),
        ("Jane van der Berg-Roe", ("van der Berg-Roe", "Jane", "")),
        ("Maria de los Santos", ("de los Santos", "Maria", "")),
        ("J. R. Doe", ("Doe", "J. R.", "")),
        ("Martin Luther King, Jr.", ("King", "Martin Luther", "Jr.")),
        ("Martin Luther King III", ("King", "Martin Luther", "III")),
        ("Łukasz Kaiser", ("Kaiser", "Łukasz", "")),
        *((name, None) for name in ("OpenAI", "Gemini Team", "University of Oxford", "Doe, Jane")),
        *((name, None) for name in ("山田 太郎", "Plans, Inc.", "Wei Wang 0001", "", ",", ", Jr.")),
    ],
)
def test_a_person_has_a_family_name_and_an_organisation_has_none(
    name: str, parts: tuple[str, str, str] | None
) -> None:
    assert split_person(name) == parts


@given(ANY_TEXT)
def test_any_text_may_be_a_name(text: str) -> None:
    parts = split_person(text)
    assert parts is None or all(parts[:2])


def test_words_in_the_place_of_an_abstract_are_none_and_short_abstracts_stay() -> None:
    for text in ("", ".", " - ", "—", "N/A", "n/a.", "None.", "NULL", "[No abstract available]"):
        assert without_placeholder(text) == ""
    for abstract in ("Sand.", "None moves.", "摘要研究", "N/A values of sand."):
        assert without_placeholder(abstract) == abstract


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("The planning of long tasks for web agents", "planning-long-tasks-web"),
        ("models that can't explain their own decisions", "models-cant-explain-own"),
        ("Électroencéphalographie of sleep", "electroencephalographie-sleep"),
        (
            "neurodegeneration, electrophysiology and magnetoencephalography in humans",
            "neurodegeneration-electrophysiology",
        ),
        ("which is it", "which-is-it"),
    ],
)
def test_a_topic_is_named_after_whole_words_that_say_something(sentence: str, name: str) -> None:
    assert NewNames().make_for_topic(sentence) == name
