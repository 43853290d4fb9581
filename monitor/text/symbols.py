"""Names with Greek letters and ions: TNF-α is TNFa, and Ca²⁺ is Ca2+, but not CA2."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, combinations

from monitor.text.tables import pairs, word_set

# ── Greek letters in names ──────────────────────────────────────────────────────────

# No two letters have the same Latin one, or PKCε would be PKCη.
_LATIN = pairs(
    "alpha: a, beta: b, gamma: g, delta: d, epsilon: e, zeta: z, theta: t, iota: i, "
    "kappa: k, lambda: l, mu: m, nu: n, xi: x, pi: p, rho: r, sigma: s, chi: c, omega: o"
)
# A letter may look like another Latin one.
_ALIKE = _LATIN | pairs("gamma: y, mu: u, nu: v, omega: w")
# These are parts of many words, so that they count only at the end.
_SHORT = "mu|nu|xi|pi|rho|chi"
_LONG = "|".join(name for name in _LATIN if name not in _SHORT.split("|"))
# Names of genes and proteins are unlike words: a letter, then consonants and digits.
_CODE = (
    r"[a-z][b-df-hj-np-tv-xz0-9]{2,}?|[a-z]\d|a(?=beta\d)|camk(?:ii)?|cebp|[hm]i[fp]\d"
    r"|i(?=kappab)|ire\d|nf|ppar|ror"
)
_NAME = re.compile(rf"(?P<code>{_CODE})(?P<rest>(?:{_LONG})[a-z0-9]*|(?:{_SHORT})\d*)")
_LETTER = re.compile(f"{_LONG}|{_SHORT}")
# With fewer letters, ERα would be era, and μM mM.
_LEAST = 4
_MOST = 8
_LONGEST_REST = 4


def latin_name(word: str, letters: Mapping[str, str] = _LATIN) -> str:
    """Return a folded name with Latin letters for its Greek ones; any other word as it is."""
    match = _NAME.fullmatch(word)
    if not match:
        return word
    name = match["code"] + _LETTER.sub(lambda greek: letters[greek[0]], match["rest"])
    fits = _LEAST <= len(name) <= _MOST and len(name) - len(match["code"]) <= _LONGEST_REST
    return name if fits else word


def look_alike(word: str) -> str:
    """Return a name with letters that look like its Greek ones; "" if those are in its form."""
    alike = latin_name(word, _ALIKE)
    return alike if alike != word and alike != latin_name(word) else ""


def greek_names(name: str) -> Iterator[str]:
    """Yield the folded words with Greek letters that have this form or look like it."""
    for letters in (_LATIN, _ALIKE):
        greek = {latin: each for each, latin in letters.items()}
        at = [n for n in range(1, len(name)) if name[n] in greek][-_LONGEST_REST:]
        for chosen in chain(combinations(at, 1), combinations(at, 2)):
            word = "".join(greek[a] if n in chosen else a for n, a in enumerate(name))
            if latin_name(word, letters) == name:
                yield word


# ── ions, and names with a star ─────────────────────────────────────────────────────

STAR = "\u2217"  # with which the forms of A* and RRT* end: a* is a beginning
SIGN = rf"\^?[-+*{STAR}\u22c6](?!\w)"
# By charge: CD4+ is a kind of cell, and cadmium has no more than two.
_CATIONS = {
    "": "ag cs cu h h3o k li na nh4 rb tl",
    "2": "ba be ca cd co cr cu eu fe hg mg mn ni pb pd pt ra sm sn sr ti v yb zn",
    "3": "ac al am as au bi ce cm co cr dy er eu fe ga gd ho in ir la lu mn mo nd ni pm pr pu re "
    "rh ru sb sc sm tb ti tl tm u v y yb",
    "4": "ce ge hf ir mn mo nb np os pb pt pu re ru se si sn ta te th ti u v w zr",
    "5": "as bi mo nb np pa re sb ta u v w",
    "6": "cr mo np pu re se te u w",
    "7": "mn re tc",
}
_ANIONS = {
    "": "bf4 br cl clo3 clo4 cn f h2po4 hco3 hso4 i mno4 no2 no3 oh pf6 scn",
    "2": "co3 cr2o7 cro4 hpo4 s s2o3 se so3 so4 te",
    "3": "aso4 po4",
}
_IONS = frozenset(
    f"{name}{charge}{sign}"
    for sign, ions in (("+", _CATIONS), ("-", _ANIONS))
    for charge, names in ions.items()
    for name in names.split()
)


def signed_words(parts: list[str], sign: str) -> Iterator[tuple[int, str]]:
    """Yield the form that the parts of a word have with the sign behind, from a part on."""
    if sign not in "+-":
        yield len(parts) - 1, parts[-1] + STAR
        return
    for first in range(max(0, len(parts) - 3), len(parts)):
        form = "".join(parts[first:]) + sign
        if form in _IONS:
            yield first, form


def is_signed(form: str) -> bool:
    """Whether a form is that of an ion, or has a star."""
    return form[-1:] == STAR or form in _IONS


def unsigned(form: str) -> tuple[str, ...]:
    """Return what an index has for a signed form where it knows no signs: of Ca2+ ca2 and ca."""
    bare = form[:-1]
    return (bare, bare[:-1]) if bare[-1:].isdigit() else (bare,)


# ── signs that texts write apart ────────────────────────────────────────────────────

_CHARGED = re.compile(
    r"(?<![^\W\d_])(?P<name>[A-Z][A-Za-z0-9]{0,5})"
    r"(?:\((?P<charge>[1-7]?[+\-\u2212\u2013])\)|[ \u00a0\u2009](?P<apart>[2-7]\+)(?![\w+]))"
)
_WORDS = word_set("As Be In Re")  # "In 3+ years"
# Not `FUNCTION_WORDS`: a, be or can may be letters of the name whose beginning the formula is.
_LINKING = word_set("and are as at by for from has in is it of on or the to we where with")
_AFTER_MATHS = re.compile(rf"\$(?=(?:{'|'.join(sorted(_LINKING))})\b)")
_KAPPA_B = re.compile(r"(?<=NF.kappa) B\b")
_ESZETT = re.compile("(?<=[A-Z0-9])ß(?![a-z])|(?<=[A-Z0-9]-)ß(?![a-z])")  # IL-1ß
_STAR_COMMAND = re.compile(r"\\(?:ast|star)(?![A-Za-z])")
_LOW_DIGITS = "".join(map(chr, range(0x2080, 0x208A)))
_LOW_DECIMALS = re.compile(rf"(?<=[{_LOW_DIGITS}]\.)[{_LOW_DIGITS}]+")
_PLAIN_DIGITS = str.maketrans(_LOW_DIGITS, "0123456789")


def join_signs(text: str) -> str:
    """Return a text of the same length in which charges, decimals and stars stand at their word.

    Ca(2+) and `Ca 2+` become `Ca^2+`, PM₂.₅ `PM₂.5`; `$x$of`, which lacks a space, `$x of`.
    """
    # One letter is found ten times as fast as two.
    if "+" in text:
        text = text.replace("CD2+", "CD2 ")  # cells that have CD2; cadmium is Cd2+
    if "+" in text or ("(" in text and "-)" in text):
        text = _CHARGED.sub(_raise_charge, text)
    if "B" in text and "kappa B" in text:
        text = _KAPPA_B.sub("-B", text)
    if "$" in text:
        text = _AFTER_MATHS.sub(" ", text)
        text = _STAR_COMMAND.sub(lambda command: "*".ljust(len(command[0])), text)
    if text.isascii():
        return text
    if "\u2212)" in text:
        text = _CHARGED.sub(_raise_charge, text)
    if "ß" in text:
        text = _ESZETT.sub("β", text)
    if any(map(text.__contains__, _LOW_DIGITS)):
        text = _LOW_DECIMALS.sub(lambda digits: digits[0].translate(_PLAIN_DIGITS), text)
    return text


def _raise_charge(match: re.Match[str]) -> str:
    name = match["name"]
    charge = match["charge"] or match["apart"]
    is_ion = f"{name.lower()}{charge[:-1]}{'+' if charge[-1] == '+' else '-'}" in _IONS
    if not is_ion or (match["apart"] and name in _WORDS):
        return match[0]
    return f"{name}^{charge}".ljust(len(match[0]))
