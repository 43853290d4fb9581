"""The LaTeX of records: the commands of titles, abstracts and names, and their text in Unicode.

Mathematics stays as its source: `digest/shown.py` writes it for readers, and `folding.py`
writes commands as searchable words, all with these tables. Why no library does it:
docs/decisions/0015-latex.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from monitor.text.tables import pairs, word_set


def _words(table: str) -> dict[str, str]:
    """Read `command character command character ...`."""
    words = table.split()
    return dict(zip(words[::2], words[1::2], strict=True))


# Combining characters of accents: `\'e`, `\v{c}`, and `\hat x` in formulas.
SIGN_ACCENTS = _words("' \u0301 ` \u0300 ^ \u0302 \" \u0308 ~ \u0303 = \u0304 . \u0307")
WORD_ACCENTS = _words("u \u0306 v \u030c H \u030b c \u0327 k \u0328 r \u030a d \u0323 b \u0331")
MATH_ACCENTS = _words(
    "hat \u0302 widehat \u0302 tilde \u0303 widetilde \u0303 bar \u0304 dot \u0307 ddot \u0308 "
    "check \u030c breve \u0306 acute \u0301 grave \u0300 vec \u20d7 mathring \u030a"
)
LETTERS = _words(
    "ss ß ae æ AE Æ oe œ OE Œ aa å AA Å o ø O Ø l ł L Ł i ı j ȷ dh ð DH Ð th þ TH Þ dj đ DJ Đ "
    "ng ŋ NG Ŋ"
)
# Signs that prose contains.
TEXT_SYMBOLS = _words(
    "textendash – textemdash — textquoteright ’ textquoteleft ‘ textquotedblleft “ "
    "textquotedblright ” textquotesingle ' textbackslash \\ textasciitilde ~ textless < "
    "textgreater > textbraceleft { textbraceright } textregistered ® texttrademark ™ "
    "textdegree ° textmu µ texteuro € "
    "textellipsis … ldots … dots … copyright © textcopyright © pounds £ S § P ¶ "
    "textperiodcentered · textbullet • texttimes × textpm ± dag † LaTeX LaTeX TeX TeX BibTeX BibTeX"
)
GREEK = _words(
    "alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ "
    "nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω"
)
MATH_SYMBOLS: Mapping[str, str] = {
    **GREEK,
    **{f"var{name}": letter for name, letter in GREEK.items()},
    **{name.capitalize(): letter.upper() for name, letter in GREEK.items()},
    **_words(
        "le ≤ leq ≤ leqslant ≤ lesssim ≲ ge ≥ geq ≥ geqslant ≥ gtrsim ≳ ne ≠ neq ≠ ll ≪ gg ≫ "
        "approx ≈ sim ∼ simeq ≃ equiv ≡ cong ≅ propto ∝ doteq ≐ perp ⊥ mid | parallel ∥ "
        "to → rightarrow → longrightarrow → leftarrow ← mapsto ↦ Rightarrow ⇒ Leftarrow ⇐ iff ⇔ "
        "leftrightarrow ↔ Leftrightarrow ⇔ uparrow ↑ downarrow ↓ implies ⇒ "
        "in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ cup ∪ cap ∩ emptyset ∅ "
        "varnothing ∅ setminus ∖ forall ∀ exists ∃ neg ¬ land ∧ wedge ∧ lor ∨ vee ∨ "
        "times × texttimes × cdot · pm ± textpm ± mp ∓ div ÷ ast * star ⋆ circ ∘ bullet • "
        "oplus ⊕ otimes ⊗ odot ⊙ dagger † ddagger ‡ prime ′ degree ° "
        "infty ∞ partial ∂ nabla ∇ ell ℓ hbar ℏ Re ℜ Im ℑ aleph ℵ top ⊤ bot ⊥ "
        "sum ∑ prod ∏ int ∫ oint ∮ angle ∠ triangle △ square □ diamond ⋄ "
        "langle ⟨ rangle ⟩ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ lbrace { rbrace } vert | Vert ‖ "
        "lVert ‖ rVert ‖ lvert | rvert | backslash \\ "
        "ldots … cdots … dots … dotsc … dotsb … vdots ⋮ ddots ⋱ colon : "
        "R ℝ"
    ),
    **dict.fromkeys(("quad", "qquad", "newline", "space", "enspace"), " "),
}

# Commands that folding replaces by a letter or word, by nothing, or by a gap between words.
FOLDED_LETTERS = pairs(
    "ae AE: ae, oe OE: oe, o O: o, l L: l, i: i, j: j, ss: ss, aa AA: a, dj DJ dh DH: d, "
    "th TH: th, ell: l, infty: infinity, times: x"
)
FOLDED_STYLES = word_set(
    "b c d H k r t u v acute bar bf big Big bigg bigl bigr bm boldsymbol breve cal check cite "
    "dddot ddot dfrac displaystyle dot em emph ensuremath frac grave hat hbox it large left "
    "limits mbox nolimits operatorname overline protect right rm sc sf sl small sqrt tfrac "
    "tilde tt underline url vec widehat widetilde xspace"
)
FOLDED_SIGNS = word_set(
    "approx ast bullet cdot cdots circ cup cap dots equiv exists forall ge geq geqslant gg in "
    "langle lceil ldots le leftarrow leq leqslant lfloor ll lVert lvert mapsto mid ne neq "
    "newline notin oplus otimes parallel pm prime propto qquad quad rangle rceil rfloor "
    "rightarrow Rightarrow rVert rvert setminus sim simeq star subset subseteq to vert Vert "
    "wedge vee"
)

_ACCENT_MARKS = {**SIGN_ACCENTS, **WORD_ACCENTS}
_LETTER = re.compile(r"\\(?P<name>ss|[ao]e|A[EA]|OE|aa|dh|DH|th|TH|dj|DJ|ng|NG|[oOlLij])"
                     r"(?:\{\}|\\?\s+(?![^\w{])|(?![A-Za-z]))")  # fmt: skip
_ACCENT = re.compile(
    r"\\(?:(?P<sign>['`^\"~=.])\s*|(?P<word>[uvHckrdb])(?:\s+|(?=\{|\\)))"
    r"(?:\{\s*(?P<group>\\?\w)\s*\}|(?P<bare>\\?\w))"
)
_DOTLESS = str.maketrans("ıȷ", "ij")


def accents(tex: str) -> str:
    r"""Turn accents and letters of TeX into characters: `Bal\'azs`, `Schr{\"o}dinger`, `\O re`."""
    if "\\" not in tex:
        return tex
    written = _ACCENT.sub(_add_accent, _LETTER.sub(lambda match: LETTERS[match["name"]], tex))
    return unicodedata.normalize("NFC", written.replace("{", "").replace("}", "").replace("~", " "))


def _add_accent(match: re.Match[str]) -> str:
    letter = (match["group"] or match["bare"]).lstrip("\\").translate(_DOTLESS)
    return letter + _ACCENT_MARKS[match["sign"] or match["word"]]


_MATHS = re.compile(
    r"\\\$|\$\$?(?:\\.|[^$\\])+\$\$?|(?<!(?<!\\)\\)\\\((?:[^\\]|\\[^()]){1,500}+\\\)", re.DOTALL
)
_ENSURED = re.compile(r"\\ensuremath\s*\{(?P<maths>(?:[^{}$]|\{[^{}$]{0,200}\}){1,500})\}")
_BACKSLASH = re.compile(r"\$\\backslash\$")
_LATEX = re.compile(r"[\\{}~$]|--|``|''")
# Commands that change the style of all that follows: `{\em words}`.
STYLE_SWITCH = re.compile(
    r"\\(?:em|it|bf|rm|sc|sf|sl|tt|itshape|bfseries|upshape|relax)(?![A-Za-z])\s*"
)
_STYLE = re.compile(
    r"\\(?!(?:ss|[ao]e|A[EA]|OE|aa|dh|DH|th|TH|dj|DJ|ng|NG)(?![A-Za-z]))[A-Za-z]{2,30}\*?\s*(?=\{)"
)
_SILENT = re.compile(
    r"\\(?:cite[a-z]{0,10}|label|ref|href|footnote|noopsort|SortNoop)\*?\s*\{[^{}]{0,2000}\}"
)
# Stand-ins (private use) for escaped signs until braces are removed.
_SIGNS = "&%$#_{}^~"
_STAND_INS = {sign: chr(0xE000 + place) for place, sign in enumerate(_SIGNS)}
_RESTORED = {ord(character): sign for sign, character in _STAND_INS.items()}
_WORDS = {
    **TEXT_SYMBOLS,
    # The later replacement of `~` by a space must not change this one.
    "textasciitilde": "∼",
    "textbraceleft": _STAND_INS["{"],
    "textbraceright": _STAND_INS["}"],
    "newline": " ",
}
_WORD = re.compile(rf"\\({'|'.join(_WORDS)})(?![A-Za-z])(?:\s*\{{\}}|\s+)?")
_ESCAPED = re.compile(r"\\(?:([&%$#_{}])|([\^~])\{\})")
_SPACING = re.compile(r"\\(?:[,;:!/@-]|\\(?:\[[^\]]{0,20}\])?|\s)")
_MARKS = (("``", "“"), ("''", "”"), ("---", "—"), ("--", "–"), ("~", " "))


def unlatex(source: str) -> str:
    r"""Return `source` with accents, signs and styles as text: `{\'E}cole \emph{x}` is `École x`.

    `$...$` and `\(...\)` stay as they are, and so do the names of unknown commands.
    """
    if not _LATEX.search(source):
        return source
    source = _BACKSLASH.sub(r"\\", source)  # Mendeley escapes the LaTeX of abstracts
    source = _ENSURED.sub(r"$\g<maths>$", source)
    pieces = []
    end = 0
    for maths in _MATHS.finditer(source):
        if maths.group() == r"\$":
            continue
        pieces += [_prose(source[end : maths.start()]), maths.group()]
        end = maths.end()
    return "".join(pieces) + _prose(source[end:])


def _prose(source: str) -> str:
    if "\\" in source:
        source = _ESCAPED.sub(lambda match: _STAND_INS[match[1] or match[2]], source)
        source = _WORD.sub(lambda match: _WORDS[match[1]], _SILENT.sub("", source))
        # Hyphenation hints and italic corrections become nothing.
        source = _SPACING.sub(lambda match: "" if match[0][1] in "-/!@" else " ", source)
        source = _STYLE.sub("", STYLE_SWITCH.sub("", source))
        source = accents(source)
    for written, character in _MARKS:
        source = source.replace(written, character)
    return source.replace("{", "").replace("}", "").translate(_RESTORED)


def bare(source: str) -> str:
    r"""Return an address or identifier without LaTeX: `10.1000/a\_b`, `\url{https://...}`."""
    return re.sub(r"\\(?:url|path)\b|\\(?=[&%$#_~{}])|[{}\s]", "", source).strip("<>")
