"""The LaTeX commands that appear in titles, abstracts and names.

One table for all that read LaTeX: `sources/bibtex_latex.py` and `sources/fields/arxiv_text.py` turn
accents and text into Unicode, `digest/latex_to_text.py` formulas, too, and `folding.py` writes
commands as searchable words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

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


def _greek() -> Iterator[tuple[str, str]]:
    for name in word_set(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma "
        "tau upsilon phi chi psi omega"
    ):
        letter = name.replace("lambda", "lamda").upper()  # as Unicode spells it
        yield name, unicodedata.lookup(f"GREEK SMALL LETTER {letter}")
        yield f"var{name}", unicodedata.lookup(f"GREEK SMALL LETTER {letter}")
        yield name.capitalize(), unicodedata.lookup(f"GREEK CAPITAL LETTER {letter}")


MATH_SYMBOLS: Mapping[str, str] = {
    **dict(_greek()),
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

# What folding writes for a command: a letter or word, nothing, or a gap between words.
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
