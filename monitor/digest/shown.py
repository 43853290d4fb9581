"""A paper as a digest shows it: clean, its mathematics readable, no text longer than is read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec import structs

from monitor.model import REPORT, Formula, Paper
from monitor.text import clean, title_lengths
from monitor.text.latex import (
    GREEK,
    LETTERS,
    MATH_ACCENTS,
    MATH_SYMBOLS,
    SIGN_ACCENTS,
    TEXT_SYMBOLS,
    WORD_ACCENTS,
)
from monitor.text.tables import word_set

# A digest shows two sentences of an abstract, and looks for them in this many characters.
MAX_ABSTRACT_LENGTH = 20_000


def shown(paper: Paper) -> Paper:
    return structs.replace(
        shown_title(paper), abstract=_shown(paper.abstract[:MAX_ABSTRACT_LENGTH])
    )


def shown_title(paper: Paper) -> Paper:
    """Return the paper as a digest lists it by title: without its abstract."""
    return structs.replace(
        paper,
        title=_title_of(paper),
        abstract="",
        authors=tuple(map(_shown, paper.authors)),
        venue=_shown(paper.venue),
        listed=(last,) if (last := paper.last_listed) else (),
    )


def _title_of(paper: Paper) -> str:
    """Return a title to show: of a report of a retraction, as its source has it."""
    title = readable_title(paper.title)
    return f"Retracted: {title}" if paper.type == REPORT else title


def readable_title(title: str) -> str:
    return _shown(title[: title_lengths.SHOWN])


# Papers are in the digests of several subscriptions: this holds the texts of some five hundred.
@lru_cache(4_096)
def _shown(text: str) -> str:
    source = clean(text)
    return clean(to_readable_text(source)) or source


@lru_cache(512)
def formulas_of(title: str, abstract: str) -> tuple[Formula, ...]:
    """Return the formulas of a paper that more than one sign stands for in the text shown."""
    text = clean(f"{title[: title_lengths.SHOWN]} {abstract[:MAX_ABSTRACT_LENGTH]}")
    sources = dict.fromkeys(source for _, source in _split(text) if source)
    formulas = (Formula(_formula(source), source) for source in sources)
    return tuple(formula for formula in formulas if len(formula.text) > 1)


# ── LaTeX as readable Unicode: `$x^2 \leq \beta$` is `x² ≤ β` ──────────────────────

# Made for what authors write in abstracts, not for typesetting. What is not recognised stays close
# to its source; nothing raises, and the time is linear in the length of the text.

_SIGNS = re.compile(r"[\\$<]|``|--|\w~\w|\{[A-Za-z]{2,14}\}")
_TAG = re.compile(
    r"<(?P<script>sub|sup)>(?P<inside>[^<>]{1,40})</(?P=script)>"
    r"|</?(?:b|bold|em|i|italic|scp|strong|sub|sup|tt)>",
    re.IGNORECASE,
)
_MATHS = re.compile(
    r"\$\$(?P<display>(?:\\.|[^$\\])+)\$\$"
    r"|\$(?P<inline>(?:\\.|[^$\\])+)\$"
    r"|\\\((?P<round>(?:(?!\\[()]).){1,500}+)\\\)"
    r"|\\\[(?P<square>(?:(?!\\[\[\]]).){1,500}+)\\\]",
    re.DOTALL,
)
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_~]|[^\\{}^_~]+|\\", re.DOTALL)
_LATEX = re.compile(r"[\\^_{}=<>]")
_WORDS = re.compile(r"[A-Za-z]{3}\s|\s[A-Za-z]{3}")
_ONE_THING = re.compile(r"√?[\w.∞]+")
_OPERATOR = re.compile(r"(?:(?<! ) ++)?([=<>≤≥≈≠≡∼→←↦⇒∈∉⊂⊆∪∩≪≫∝×·±∓∘]) *")
_MAX_DEPTH = 40


def to_readable_text(text: str) -> str:
    """Return `text` with its formulas, accents and commands as plain Unicode."""
    if not _SIGNS.search(text):
        return text
    return "".join(prose + _formula(formula) for prose, formula in split_formulas(text))


def split_formulas(text: str) -> Iterator[tuple[str, str]]:
    """Yield pieces of readable prose, each with the LaTeX of the formula behind it or ""."""
    for prose, formula in _split(text):
        yield _prose(prose), formula


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yield pieces of prose, each with the formula behind it; the last has none."""
    start = at = 0
    while formula := _MATHS.search(text, at):
        inner = formula[formula.lastgroup or 0]
        if formula["inline"] and not _is_maths(inner, text[formula.end() : formula.end() + 1]):
            at = formula.start() + 1
            continue
        yield text[start : formula.start()], inner
        start = at = formula.end()
    yield text[start:], ""


def _is_maths(inner: str, following: str) -> bool:
    """Tell `$n$` from the money in `between $5 and $10`."""
    if _LATEX.search(inner):
        return True
    return inner == inner.strip() and not following.isdigit() and not _WORDS.search(inner)


def _prose(source: str) -> str:
    text = _TAG.sub(_strip_tag, source)
    if "{" in text:
        text = _IN_BRACES.sub(_sign_in_braces, text)
    if "\\" in text:
        text = _Reader(text, maths=False).read_all()
    text = text.replace("``", "“").replace("''", "”").replace("---", "—")
    text = re.sub(r"(?<=\w)--(?=\w)|(?<= )--(?= )", "–", text)
    return re.sub(r"(?<=[\w.])~(?=\w)", " ", text)


def _sign_in_braces(match: re.Match[str]) -> str:
    return MATH_SYMBOLS[match["name"]] if match["name"] else match[0]


def _strip_tag(tag: re.Match[str]) -> str:
    if not tag["script"]:
        return ""
    return _script(tag["inside"], "^" if tag["script"].lower() == "sup" else "_")


def _formula(source: str) -> str:
    # A space on one side of an operator is a space on both.
    text = _OPERATOR.sub(
        lambda operator: f" {operator[1]} " if " " in operator[0] else operator[1],
        _Reader(source, maths=True).read_all(),
    )
    return re.sub(r"\s+", " ", text).strip()


class _Reader:
    """Reads one stretch of LaTeX, in prose or in maths, from left to right."""

    def __init__(self, source: str, *, maths: bool) -> None:
        self.tokens: list[str] = _TOKEN.findall(source)
        self.at = 0
        self.depth = 0
        self.maths = maths

    def read_all(self) -> str:
        parts = []
        while self.at < len(self.tokens):
            parts.append(self.read_sequence())
            self.at += 1  # past a brace that closes nothing
        return "".join(parts)

    def read_sequence(self) -> str:
        """Everything up to a closing brace, which is left to the caller."""
        parts: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at] != "}":
            token = self.take()
            if token in _FUNCTIONS:
                parts.append(self.read_function(token, "".join(parts[-1:])))
            else:
                parts.append(self.read_piece(token))
        return "".join(parts)

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def ahead(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def read_piece(self, token: str) -> str:
        if token == "{":
            return self.read_braces()
        if token.startswith("\\"):
            return self.read_command(token)
        if not self.maths:
            return token
        if token in "^_":
            return _script(self.read_argument(), token)
        return " " if token == "~" else token.replace("'", "′")

    def read_braces(self) -> str:
        read_styled = self.ahead().startswith("\\")
        text = self.read_group()
        # In prose, braces that only protect a name go; {0, 1} keeps them.
        plain = self.maths or read_styled or not text or text.replace("-", "").isalnum()
        return text if plain else f"{{{text}}}"

    def read_group(self) -> str:
        text = self.read_nested(self.read_sequence)
        if self.ahead() == "}":
            self.at += 1
        return text

    def read_nested(self, read: Callable[[], str]) -> str:
        if self.depth >= _MAX_DEPTH:
            return ""
        self.depth += 1
        text = read()
        self.depth -= 1
        return text

    def read_argument(self) -> str:
        """Read the argument of a command: a group, a command, or one character."""
        while self.ahead().isspace():
            self.at += 1
        token = self.ahead().lstrip()
        if token == "{":
            self.at += 1
            return self.read_group()
        if token.startswith("\\"):
            self.at += 1
            return self.read_nested(lambda: self.read_command(token))
        if token in ("", "}"):
            return ""
        self.leave(token[1:])
        return token[0]

    def leave(self, rest: str) -> None:
        """Put what is not used of the token ahead back in its place."""
        self.tokens[self.at : self.at + 1] = [rest] if rest else []

    def read_command(self, token: str) -> str:
        name = token[1:].rstrip("*")
        if name in _ACCENTS or (name in WORD_ACCENTS and not self.maths):
            return self.read_accent(name)
        if not name.isalpha():
            return _SIGNS_WRITTEN.get(name, "")
        if name in _SYMBOLS:
            if name in _OF_WORDS and not self.maths:
                self.leave(self.ahead().lstrip())  # TeX swallows the space behind a letter's name
            return _SYMBOLS[name]
        if name in _DROPPED:
            self.read_argument()
            return ""
        if name in ("frac", "dfrac", "tfrac"):
            return f"{_parenthesize(self.read_argument())}/{_parenthesize(self.read_argument())}"
        if name == "sqrt":
            return self.read_root()
        if name in _LOOKS or self.ahead() == "{":
            return self.read_styled(name)
        return name

    def read_styled(self, name: str) -> str:
        """The text that a command only makes look different; a name with no text is the text."""
        if self.ahead() != "{" and name in _LOOKS:
            self.leave(self.ahead().lstrip())
            return ""
        text = self.read_argument()
        if name == "mathbb":
            return text.translate(_DOUBLE)
        return text or name

    def read_accent(self, name: str) -> str:
        letter = self.read_argument().translate(_DOTLESS)
        mark = _ACCENTS.get(name) or WORD_ACCENTS[name]
        is_letter = len(letter) == 1 and letter.isalpha()
        return unicodedata.normalize("NFC", letter + mark) if is_letter else letter

    def read_root(self) -> str:
        degree = ""
        if option := _OPTION.match(self.ahead()):
            degree = option[1].strip()
            self.leave(self.ahead()[option.end() :])
        sign = "√" if degree in ("", "2") else f"{degree.translate(_RAISED)}√"
        return sign + _parenthesize(self.read_argument())

    def read_function(self, token: str, before: str) -> str:
        """`n\\log n` is three words, not one."""
        left = " " if before[-1:].isalnum() or before.endswith((")", "√")) else ""
        right = " " if re.match(r"\w|\\[^\W\d_]", self.ahead()) else ""
        return f"{left}{token[1:]}{right}"


def _script(text: str, sign: str) -> str:
    table = _RAISED if sign == "^" else _LOWERED
    if text in _AS_THEY_ARE:
        return text
    word = text.isalpha() and len(text) > 2
    if not word and all(ord(letter) in table for letter in text):
        return text.translate(table)
    return sign + (text if text.isalnum() else f"({text})")


def _parenthesize(text: str) -> str:
    return text if _ONE_THING.fullmatch(text) else f"({text})"


# ── tables ──────────────────────────────────────────────────────────────────────────

_FUNCTIONS = word_set(
    "\\arg \\argmax \\argmin \\cos \\cosh \\deg \\det \\dim \\exp \\gcd \\inf \\ker \\lim \\liminf "
    "\\limsup \\ln \\log \\max \\min \\mod \\polylog \\poly \\Pr \\sin \\sinh \\sup \\tan \\tanh"
)
# Commands for letters of words. After a command that belongs in a formula, the space is kept in
# prose: authors forget the dollar signs, as in "\pi\pi phase shifts".
_OF_WORDS = word_set("o O l L ss ae AE oe OE aa AA i j")
_LOOKS = word_set(
    "left right mleft mright middle big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle "
    "limits nolimits rm it bf em sl sc tt sf cal normalfont small large item protect ensuremath "
    "mathcal mathbb mathbf mathrm mathsf mathit mathtt mathfrak mathscr boldsymbol bm text mbox "
    "textbf textit textsc texttt textrm emph underline overline operatorname xspace noindent"
)
_DROPPED = word_set(
    "cite citep citet citeauthor ref eqref label begin end footnote vspace hspace color href"
)
_SIGNS_WRITTEN = {
    **dict.fromkeys(" ,;:\\\n\t", " "),
    **{sign: sign for sign in "%&#_${}/-"},
    "|": "‖",
}
_SYMBOLS = {**LETTERS, **TEXT_SYMBOLS, **MATH_SYMBOLS}
_ACCENTS = {**SIGN_ACCENTS, **MATH_ACCENTS}
_DOUBLE = str.maketrans("CEHNPQRZ", "ℂ𝔼ℍℕℙℚℝℤ")
_DOTLESS = str.maketrans("ıȷ", "ij")
# Hugging Face writes "\approx 5\times" as "{approx}5{times}". Signs with names such as "to" or
# "sum" are none of these: templates and code have such words in braces.
_NAMED_SIGNS = (
    *GREEK,
    *(name.capitalize() for name in GREEK),
    *word_set(
        "approx cdot circ ell equiv geq geqslant gtrsim infty leftarrow leftrightarrow leq "
        "leqslant lesssim mp nabla neq pm propto rightarrow sim simeq times"
    ),
)
_IN_BRACES = re.compile(
    rf"(?:\\[A-Za-z]{{1,30}}\*?|[_^])\{{[A-Za-z]{{1,30}}\}}|\{{(?P<name>{'|'.join(_NAMED_SIGNS)})\}}"
)
_OPTION = re.compile(r"\s*\[([^\]]*)\]")
_AS_THEY_ARE = frozenset(("*", "′", "″", "†", "‡", "°", "⋆", ""))
_RAISED = str.maketrans(
    "0123456789+-=()abcdefghijklmnoprstuvwxyzTN∘⊤",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀᴺ°ᵀ",
)
_LOWERED = str.maketrans(
    "0123456789+-=()aehijklmnoprstuvx",
    "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ",
)
