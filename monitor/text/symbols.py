"""Names with Greek letters and ions: TNF-α is TNFa, and Ca²⁺ is Ca2+, but not CA2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from monitor.text.tables import pairs, word_set

# ── Greek letters in names ──────────────────────────────────────────────────────────

# No two letters have the same Latin one, or PKCε would be PKCη.
_LATIN = pairs(
    "alpha: a, beta: b, gamma: g, delta: d, epsilon: e, zeta: z, eta: h, theta: t, iota: i, "
    "kappa: k, lambda: l, mu: m, nu: n, xi: x, pi: p, rho: r, sigma: s, chi: c, omega: o"
)
_GREEK_OF = {latin: greek for greek, latin in _LATIN.items()}
# These are parts of many words, so that they count only behind three consonants, at the end.
_SHORT_NAMES = "eta|mu|nu|xi|pi|rho|chi"
_LONG_NAMES = "|".join(name for name in _LATIN if name not in _SHORT_NAMES.split("|"))
# Names of genes and proteins are unlike words: a letter, then consonants and digits.
_CODE = r"[a-z][b-df-hj-np-tv-xz0-9]{2,}|[a-z]\d"
_OTHER_CODES = r"a(?=beta\d)|camk(?:ii)?|cebp|i(?=kappab)|nf|ppar|ror"
_NAME = re.compile(
    rf"(?P<code>{_CODE}|{_OTHER_CODES})(?P<rest>(?:{_LONG_NAMES})[a-z0-9]*)"
    rf"|(?P<short_code>{_CODE})(?P<short_rest>(?:{_SHORT_NAMES})\d*)"
)
_LETTER = re.compile(f"{_LONG_NAMES}|{_SHORT_NAMES}")
_LEAST, _MOST = 4, 8  # characters of a name; with fewer, ERα would be era, and μM mM
_LONGEST_REST = 4


def latin_name(word: str) -> str:
    """Return a folded name with Latin letters for its Greek ones; any other word as it is."""
    match = _NAME.fullmatch(word)
    if not match:
        return word
    code = match["code"] or match["short_code"]
    rest = _LETTER.sub(lambda name: _LATIN[name[0]], match["rest"] or match["short_rest"])
    fits = len(rest) <= _LONGEST_REST and _LEAST <= len(code + rest) <= _MOST
    return code + rest if fits else word


def greek_names(name: str) -> Iterator[str]:
    """Yield the folded words other than `name` that have this `latin_name`."""
    if not _LEAST <= len(name) <= _MOST:
        return
    at = [n for n in range(1, len(name)) if name[n] in _GREEK_OF][-_LONGEST_REST:]
    for count in (1, 2):
        for chosen in combinations(at, count):
            letters = (_GREEK_OF[a] if n in chosen else a for n, a in enumerate(name))
            if latin_name(greek := "".join(letters)) == name:
                yield greek


# ── ions, and names with a star ─────────────────────────────────────────────────────

STAR = "\u2217"  # with which the forms of A* and RRT* end: a* is a beginning
SIGN = re.compile(rf"\^?(?:(?P<star>[*{STAR}\u22c6])|(?P<charge>[+-]))(?!\w)")
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


def signed_words(parts: list[str], sign: re.Match[str]) -> Iterator[tuple[int, str]]:
    """Yield the form that the parts of a word have with the sign behind, from a part on."""
    if sign["star"]:
        yield len(parts) - 1, parts[-1] + STAR
        return
    for first in range(max(0, len(parts) - 3), len(parts)):
        form = "".join(parts[first:]) + sign["charge"]
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

# `Ca 2+`, but not "In 3+ years".
_SPACED = "|".join(
    rf"{name.title()}[ \u00a0\u2009]{charge}"
    for charge, names in _CATIONS.items()
    for name in names.split()
    if charge and len(name) == 2 and name not in ("as", "be", "in", "re")
)
_CHARGED = re.compile(
    r"(?<![^\W\d_])(?:(?P<name>(?:[A-Z][a-z]?\d?){1,3})\((?P<charge>[1-7]?[+\-\u2212\u2013])\)"
    rf"|(?P<spaced>{_SPACED})\+(?![\w+]))"
)
# One of these is in each text that has a charge apart.
_CHARGES = ("+)", *(f" {number}+" for number in range(2, 8)), *(f"\u00a0{n}+" for n in (2, 3)))
_LINKING = word_set("a and are as at by for from has in is it of on or the to we where with")
_AFTER_MATHS = re.compile(rf"\$(?=(?:{'|'.join(sorted(_LINKING))})\b)")
_STAR_COMMAND = re.compile(r"\\(?:ast|star)(?![A-Za-z])")
_LOW_DIGITS = "".join(map(chr, range(0x2080, 0x208A)))
_LOW_DECIMALS = re.compile(rf"(?<=[{_LOW_DIGITS}]\.)[{_LOW_DIGITS}]+")
_PLAIN_DIGITS = str.maketrans(_LOW_DIGITS, "0123456789")


def join_signs(text: str) -> str:
    """Return a text of the same length in which charges, decimals and stars stand at their word.

    Ca(2+) and `Ca 2+` become `Ca^2+`, PM₂.₅ `PM₂.5`; `$x$of`, which lacks a space, `$x of`.
    """
    if "-)" in text or ("+" in text and any(map(text.__contains__, _CHARGES))):
        text = _CHARGED.sub(_raise_charge, text)
    if "$" in text:
        text = _AFTER_MATHS.sub(" ", text)
        if "\\ast" in text or "\\star" in text:
            text = _STAR_COMMAND.sub(lambda command: "*".ljust(len(command[0])), text)
    if text.isascii():
        return text
    if "\u2212)" in text:
        text = _CHARGED.sub(_raise_charge, text)
    if any(map(text.__contains__, _LOW_DIGITS)):
        text = _LOW_DECIMALS.sub(lambda digits: digits[0].translate(_PLAIN_DIGITS), text)
    return text


def _raise_charge(match: re.Match[str]) -> str:
    if match["spaced"]:
        return f"{match['spaced'][:-2]}^{match['spaced'][-1]}+"
    return f"{match['name']}^{match['charge']} "
