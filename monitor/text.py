"""What the words of a paper are: Unicode, LaTeX, mark-up, dashes, plurals and spellings.

Everything rests on one folding of a text (case, accents, width, LaTeX and tags fall away,
Greek letters become their names) that remembers where each character came from, so that
words found in the folded text have exact places in the text as it was given.

Words form a lattice: `multi-agent` gives the words multi [0-1], agent [1-2] and multiagent
[0-2], and a phrase is any chain of adjoining words. That is how a hyphen may join or part.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from monitor.spelling import american, spellings

# ── clean ───────────────────────────────────────────────────────────────────────────

_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


_SHORT = 100
# All of ASCII but the control characters.
_SHOWN = bytes(range(32, 127))


def clean(text: str) -> str:
    """Return `text` as stored: NFC, one line, single spaces, no control or bidi characters.

    LaTeX and mathematics stay as they were written.
    """
    if len(text) < _SHORT and text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    line = text.replace("\n", " ").strip()
    # Backwards, since what finds two spaces among many single ones is three times as fast so.
    is_plain = line.isascii() and line.rfind("  ") < 0
    if is_plain and not line.encode().translate(None, _SHOWN):  # nothing but what is shown
        return line
    if "  " in line or not line.isprintable():  # printable is no space but " "
        line = " ".join(line.split())
    if not line.isprintable():
        visible = re.sub("[\ud800-\udfff]", "\ufffd", _UNWANTED.sub("", line))
        line = " ".join(visible.split())
    return unicodedata.normalize("NFC", line)


# ── folding ─────────────────────────────────────────────────────────────────────────


def _pairs(table: str) -> dict[str, str]:
    """Read `a: b, c: d` (several keys may share a value: `a b: c`)."""
    rows = (row.partition(":") for row in table.split(","))
    return {key: value.strip() for keys, _, value in rows for key in keys.split()}


def _names(table: str) -> frozenset[str]:
    return frozenset(table.split())


_GREEK = _pairs(
    "α: alpha, β: beta, γ: gamma, δ: delta, ε: epsilon, ζ: zeta, η: eta, θ: theta, ι: iota, "
    "κ: kappa, λ: lambda, μ: mu, ν: nu, ξ: xi, ο: omicron, π: pi, ρ: rho, σ ς: sigma, τ: tau, "
    "υ: upsilon, φ: phi, χ: chi, ψ: psi, ω: omega"
)
_GREEK_NAMES = frozenset(_GREEK.values())
_CHARACTERS = str.maketrans(
    {
        **_GREEK,
        **_pairs("ø: o, ł: l, đ ð: d, þ: th, æ: ae, œ: oe, ı: i, ∞: infinity, ×: x"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc\u2032\u00b4", "'"),
        **dict.fromkeys("™℠®©\ufe0e\ufe0f", ""),
        "&": " and ",
    }
)
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")

# LaTeX commands that write a letter, that only change how things look, and that write a sign.
_LETTERS = _pairs(
    "ae AE: ae, oe OE: oe, o O: o, l L: l, i: i, j: j, ss: ss, aa AA: a, dj DJ dh DH: d, "
    "th TH: th, ell: l, infty: infinity, times: x"
)
_LOOKS = _names(
    "b c d H k r t u v acute bar bf big Big bigg bigl bigr bm boldsymbol breve cal check cite "
    "dddot ddot dfrac displaystyle dot em emph ensuremath frac grave hat hbox it large left "
    "limits mbox nolimits operatorname overline protect right rm sc sf sl small sqrt tfrac "
    "tilde tt underline url vec widehat widetilde xspace"
)
_SIGNS = _names(
    "approx ast bullet cdot cdots circ cup cap dots equiv exists forall ge geq geqslant gg in "
    "langle lceil ldots le leftarrow leq leqslant lfloor ll lVert lvert mapsto mid ne neq "
    "newline notin oplus otimes parallel pm prime propto qquad quad rangle rceil rfloor "
    "rightarrow Rightarrow rVert rvert setminus sim simeq star subset subseteq to vert Vert "
    "wedge vee"
)
_ESCAPES = {**dict.fromkeys("\"'`^~=.-/()[]", ""), "&": " and ", "_": "_", "#": "#"}
_BLOCK_TAGS = _names("abstract br div h1 h2 h3 h4 li ol p sec title ul")
_SPECIAL = re.compile(
    r"""
      (?P<tag></?(?:(?:jats|mml|m):[\w-]+|a|abbr|abstract|b|bold|br|code|div|em|font|h[1-4]|i|inf
          |inline-formula|ins|italic|li|mark|math|m(?:i|n|o|row|sub|sup|text)|ol|p|q|s|sc|scp|sec
          |small|span|strong|sub|sup|tex-math|title|tt|u|ul|underline|var|xref)
          (?:\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*/?>)
    | (?P<entity>&(?:\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});)
    | (?P<command>\\[a-z]+\*?\s*)
    | (?P<escape>\\.)
    | (?P<between>(?<=\w)\}\{(?=\w))
    | (?P<nothing>[{}$\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff])
    | (?P<raised>[\u00b2\u00b3\u00b9\u2070-\u207f]+)
    | (?P<lowered>[\u2080-\u208e]+)
    | (?P<other>&|\w[\u0300-\u036f\u3099\u309a]+|[\u1100-\u11ff]+|(?-i:[^\x00-\x7f]))
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
# Every special character or command begins at one of these, unless there is an accent apart.
_SPOT = re.compile(r"[<&\\{}$\x80-\U0010ffff]")
_APART = re.compile("[\u0300-\u036f\u3099\u309a]")
_NOT_PLAIN = re.compile(r"[\\${}<&]")


# Words are read in so many characters of a text, so that none takes unbounded time; the longest
# abstracts have a tenth of it.
MOST_READ = 100_000


class _Folded(NamedTuple):
    """`text` folded; character i came from the characters starts[i]:ends[i] of the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def is_plain(text: str) -> bool:
    """Whether folding `text` only makes its letters small."""
    return text.isascii() and not _NOT_PLAIN.search(text)


def _specials(text: str) -> Iterator[re.Match[str]]:
    """Find what is folded in another way than by making letters small."""
    if _APART.search(text):
        yield from _SPECIAL.finditer(text)
        return
    done = 0
    for spot in _SPOT.finditer(text):
        if spot.start() >= done and (special := _SPECIAL.match(text, spot.start())):
            done = special.end()
            yield special


def _fold(text: str) -> _Folded:
    if is_plain(text):
        return _Folded(text.lower(), range(len(text)), range(1, len(text) + 1))
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for special in _specials(text):
        start, end = special.span()
        written = _fold_special(special.lastgroup or "", special.group())
        pieces += (text[done:start].lower(), written)
        starts.extend(range(done, start))
        ends.extend(range(done + 1, start + 1))
        starts.extend([start] * len(written))
        ends.extend([start + len(special.group().rstrip())] * len(written))
        done = end
    pieces.append(text[done:].lower())
    starts.extend(range(done, len(text)))
    ends.extend(range(done + 1, len(text) + 1))
    return _Folded("".join(pieces), starts, ends)


def _folded(text: str) -> str:
    """Return `text` folded, without where its characters came from; a plain one as it is."""
    if is_plain(text):
        return text
    pieces: list[str] = []
    done = 0
    for special in _specials(text):
        pieces += (
            text[done : special.start()].lower(),
            _fold_special(special.lastgroup or "", special.group()),
        )
        done = special.end()
    return "".join((*pieces, text[done:].lower()))


@lru_cache(maxsize=16_384)
def _fold_special(kind: str, written: str) -> str:
    match kind:
        case "tag":
            return _fold_tag(written)
        case "command":
            return _fold_command(written).lower()
        case "escape":
            return _ESCAPES.get(written[1], " ")
        case "nothing" | "between":
            return "" if kind == "nothing" else "/"
        case "raised" | "lowered":
            return ("^" if kind == "raised" else "_") + _fold_characters(written)
        case _:
            return _fold_characters(html.unescape(written))


def _fold_characters(characters: str) -> str:
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", characters.translate(_CHARACTERS)))
    return unicodedata.normalize("NFC", bare).casefold().translate(_CHARACTERS)


def _fold_tag(tag: str) -> str:
    name = re.split(r"[\s>/]", tag.lstrip("</"), maxsplit=1)[0].rpartition(":")[2].lower()
    if name in _BLOCK_TAGS:
        return " "
    if tag.startswith("</"):
        return ""
    return {"sub": "_", "inf": "_", "sup": "^"}.get(name, "")


def _fold_command(command: str) -> str:
    """Fold `\\name` with the space behind it, which TeX swallows after a letter."""
    name = command[1:].rstrip().rstrip("*")
    space = " " if command[-1].isspace() else ""
    if name in _LETTERS:
        return _LETTERS[name]
    if name in _LOOKS or name.startswith(("text", "math")):
        return ""
    greek = name.lower().removeprefix("var")
    if greek in _GREEK_NAMES:
        return greek + space
    return " " if name in _SIGNS else f" {name} "


# ── words ───────────────────────────────────────────────────────────────────────────

_SPACELESS = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff"
    "\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"(?:[^\W_{_SPACELESS}]|[\u0900-\u0963\u0966-\u0dff])"


def _patterns(letter: str, spaceless: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Words joined by hyphens, and one: 3.5 and 10,000 stay whole, C++, C# and A+ keep signs."""
    word = (
        rf"{letter}+(?:(?<=\d)(?:\.(?=\d)|,(?=\d{{3}}(?!\d))){letter}+)*"
        r"(?:(?<=\b\w)(?:\+\+|[+#](?!\w)))?"
    )
    chain = rf"({spaceless}{word})(?:[-'_^]{{1,3}}{word})*"
    return re.compile(chain), re.compile(rf"{spaceless}{word}")


_ASCII_CHAIN, _ASCII_PART = _patterns("[a-z0-9]", "")
_CHAIN, _PART = _patterns(_LETTER, rf"[{_SPACELESS}]|")
_JOINT = re.compile(r"[-'_^]")
_LONGEST_JOIN = 4


class Word(NamedTuple):
    """A word of a text: an edge of its lattice, from position `start` to position `end`.

    `form` is what the word is compared by: its singular in American spelling. `word` is the
    folded word as it was written, and `span` its (start, end) characters in the original text.
    Positions count the parts of words; an edge longer than one is several parts joined over
    their hyphens.
    """

    form: str
    word: str
    start: int
    end: int
    span: tuple[int, int]


def words(text: str) -> tuple[Word, ...]:
    """Return the word lattice of `text`, in the order of positions, single parts first.

    Letters of scripts without spaces are words of their own.
    """
    return _lattice(_fold(text[:MOST_READ]))


def _lattice(folded: _Folded) -> tuple[Word, ...]:
    text, starts, ends = folded
    chains, single = (_ASCII_CHAIN, _ASCII_PART) if text.isascii() else (_CHAIN, _PART)
    found: list[Word] = []
    position = 0
    for chain in chains.finditer(text):
        start, end = chain.span()
        if end == chain.end(1):
            word = text[start:end].replace(",", "")
            span = starts[start], ends[end - 1]
            found.append(Word(form_of(word), word, position, position + 1, span))
            position += 1
            continue
        parts = list(single.finditer(text, start, end))
        for first, last in _runs(parts):
            edge = _word(folded, position + first, parts[first], parts[last - 1], last - first)
            found.append(edge)
        position += len(parts)
    return tuple(found)


# All of ASCII that a chain of words may have inside it; everything else in ASCII parts words.
_WITHIN_CHAINS = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-'_^.,+#"
)
_GAPS = bytes(code if code > 127 or code in _WITHIN_CHAINS else 32 for code in range(256))


def pieces(text: str) -> list[bytes]:
    """Cut `text` where no word goes on, for reading many texts that share most of their pieces.

    The words of the pieces (`words_of_piece`), one piece after another, are the `words` of the
    text. A piece of a plain text (`is_plain`) keeps its capitals.
    """
    return _folded(text[:MOST_READ]).encode("utf-8", "surrogatepass").translate(_GAPS).split()


# Letters and digits of ASCII, small; what may stand within a word falls away, and all else parts.
_LETTERS_ALONE = bytes(
    code if code > 127 else ord(chr(code).lower()) if chr(code).isalnum() else 32
    for code in range(256)
)
_FALLS_AWAY = b"-'_^.,+#"


def letters(text: str) -> bytes:
    """Return a text folded, as UTF-8, with the parts of words run together and the rest spaces."""
    folded = _folded(text[:MOST_READ]).encode("utf-8", "surrogatepass")
    return folded.translate(_LETTERS_ALONE, _FALLS_AWAY)


def words_of_piece(piece: bytes) -> tuple[Word, ...]:
    """Return the word lattice of one of `pieces`; positions and spans count from its start."""
    folded = piece.decode("utf-8", "surrogatepass")
    if folded.isascii():
        folded = folded.lower()
    return _lattice(_Folded(folded, range(len(folded)), range(1, len(folded) + 1)))


def written_in_piece(text: str, number: int, span: tuple[int, int]) -> str:
    """Return how `text` writes the characters `span` of the piece of this number."""
    (_, starts, ends), found = _placed_pieces(text)
    first = found[number] + span[0]
    last = found[number] + span[1] - 1
    return text[starts[first] : ends[last]]


@lru_cache(maxsize=8)
def _placed_pieces(text: str) -> tuple[_Folded, list[int]]:
    folded = _fold(text[:MOST_READ])
    cut = folded.text.encode("utf-8", "surrogatepass").translate(_GAPS)
    whole = cut.decode("utf-8", "surrogatepass")
    return folded, [piece.start() for piece in re.finditer("[^ ]+", whole)]


def _word(
    folded: _Folded, position: int, first: re.Match[str], last: re.Match[str], parts: int
) -> Word:
    start, end = first.start(), last.end()
    word = folded.text[start:end]
    if parts > 1:
        word = _JOINT.sub("", word)
    word = word.replace(",", "")
    span = (folded.starts[start], folded.ends[end - 1])
    return Word(form_of(word), word, position, position + parts, span)


def _runs(parts: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield which neighbouring parts make a word: each alone, then those that may be joined.

    Two numbers are never joined: 3-5 is not 35.
    """
    count = len(parts)
    for i in range(count):
        yield i, i + 1
    if count == 1:
        return
    parted = [a.group()[-1].isdigit() and b.group()[0].isdigit() for a, b in pairwise(parts)]
    for first in range(count - 1):
        for last in range(first + 2, min(first + _LONGEST_JOIN, count) + 1):
            if any(parted[first : last - 1]):
                break
            yield first, last


def plain(text: str) -> str:
    """Return the words of `text` in plain folded Unicode, parted by spaces, for comparing."""
    if is_plain(text):
        return " ".join(_ASCII_PART.findall(text.lower()))
    return " ".join(match.group() for match in _PART.finditer(_fold(text).text))


def title_key(title: str) -> str:
    """Return a key that titles share when they differ only in how they are written.

    Case, accents, punctuation, spaces, dashes, tags, LaTeX or Unicode do not matter; words,
    numbers, `+` and `#` do. A candidate for being the same paper, never proof.
    """
    if is_plain(title) and not _has_key_sign(title):
        key = title.lower().encode().translate(None, _NOT_ALPHANUMERIC).decode()
    else:
        folded = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", _fold(title).text)
        key = "".join(part.group("kept") or " " for part in _KEY_PART.finditer(folded))
    return key or "".join(unicodedata.normalize("NFKC", title).casefold().split())


# Where none of these is in a plain title, its key is its letters and digits.
_KEY_SIGN = re.compile(r"[+#]|\d[\W_]+\d")
_NO_KEY_SIGN = bytes(byte for byte in range(128) if chr(byte) not in "+#0123456789")


def _has_key_sign(ascii_title: str) -> bool:
    """Most titles have no digits at all, which is seen sooner than it is searched for."""
    rest = ascii_title.encode().translate(None, _NO_KEY_SIGN)
    return bool(rest) and _KEY_SIGN.search(ascii_title) is not None


_NOT_ALPHANUMERIC = bytes(byte for byte in range(128) if not chr(byte).isalnum())
# What a key keeps, and the gap between two numbers, which keeps them apart.
_KEY_PART = re.compile(
    r"(?P<kept>[^\W_]|[\u0900-\u0dff]|(?<=\d)\.(?=\d)|(?<=[^\W_])(?:\+\+|[+#](?!\w)))"
    r"|(?<=\d)[\W_]+(?=\d)"
)


# ── plurals ─────────────────────────────────────────────────────────────────────────

_IRREGULAR = _pairs(
    "lms: lm, nns: nn, ais: ai, "
    "movies: movie, cookies: cookie, calories: calorie, zombies: zombie, selfies: selfie, "
    "caches: cache, niches: niche, headaches: headache, avalanches: avalanche, shoes: shoe, "
    "biases: bias, debiases: debias, gases: gas, aliases: alias, atlases: atlas, canvases: canvas, "
    "lenses: lens, buses: bus, viruses: virus, campuses: campus, statuses: status, "
    "focuses foci: focus, bonuses: bonus, censuses: census, consensuses: consensus, "
    "corpuses corpora: corpus, matrices: matrix, indices: index, vertices: vertex, "
    "vortices: vortex, simplices: simplex, appendices: appendix, axes: axis, criteria: criterion, "
    "phenomena: phenomenon, automata: automaton, stimuli: stimulus, nuclei: nucleus, loci: locus, "
    "radii: radius, optima: optimum, minima: minimum, maxima: maximum, spectra: spectrum, "
    "schemata: schema, lemmata: lemma, formulae: formula, halves: half, wolves: wolf, mice: mouse, "
    "men: man, women: woman, children: child, quizzes: quiz, crises: crisis, ellipses: ellipsis, "
    "emphases: emphasis, metastases: metastasis, diagnoses: diagnosis, prognoses: prognosis, "
    "neuroses: neurosis, psychoses: psychosis, thromboses: thrombosis, stenoses: stenosis, "
    "anastomoses: anastomosis, symbioses: symbiosis, metamorphoses: metamorphosis, "
    "scleroses: sclerosis, necroses: necrosis, geneses: genesis, oases: oasis, synopses: synopsis, "
    "testes: testis, leaves: leaf, lives: life, knives: knife, shelves: shelf, calves: calf, "
    "loaves: loaf, sheaves: sheaf, hooves: hoof, thieves: thief, teeth: tooth, feet: foot, "
    "lice: louse, geese: goose, oxen: ox, helices: helix, cortices: cortex, apices: apex, "
    "radices: radix, codices: codex, cervices: cervix, varices: varix, bacteria: bacterium, "
    "strata: stratum, symposia: symposium, equilibria: equilibrium, quanta: quantum, "
    "momenta: momentum, extrema: extremum, suprema: supremum, infima: infimum, "
    "continua: continuum, vacua: vacuum, mitochondria: mitochondrion, ganglia: ganglion, "
    "taxa: taxon, polyhedra: polyhedron, tetrahedra: tetrahedron, octahedra: octahedron, "
    "genera: genus, sera: serum, ova: ovum, septa: septum, curricula: curriculum, "
    "millennia: millennium, consortia: consortium, cilia: cilium, flagella: flagellum, "
    "atria: atrium, phyla: phylum, stomata: stoma, carcinomata: carcinoma, "
    "hippocampi: hippocampus, fungi: fungus, bacilli: bacillus, cacti: cactus, "
    "syllabi: syllabus, thrombi: thrombus, emboli: embolus, villi: villus, moduli: modulus, "
    "tori: torus, annuli: annulus, gyri: gyrus, sulci: sulcus, bronchi: bronchus, nevi: nevus, "
    "naevi: naevus, thesauri thesauruses: thesaurus, fetuses: fetus, foetuses: foetus, "
    "sinuses: sinus, plexuses: plexus, octopuses: octopus, apparatuses: apparatus, "
    "surpluses: surplus, larvae: larva, algae: alga, vertebrae: vertebra, antennae: antenna, "
    "nebulae: nebula, novae: nova, supernovae: supernova, pupae: pupa, lacunae: lacuna, "
    "amoebae: amoeba, hyphae: hypha, lamellae: lamella, trabeculae: trabecula, areolae: areola"
)
# Plurals with which compounds end: submatrices, coronaviruses, cyanobacteria; but not cleaves.
_OF_COMPOUNDS = {
    plural: one for plural, one in _IRREGULAR.items() if len(plural) > 5 and plural != "leaves"
}
_ENDS_OF_COMPOUNDS = frozenset(plural[-4:] for plural in _OF_COMPOUNDS)
_LONGEST_END = max(map(len, _OF_COMPOUNDS))
_SINGULAR = _names(
    "aids alias always atlas bias canvas chaos cosmos debias diabetes does ethos goes hers https "
    "kansas lens mars news ours pancreas perhaps rabies sars series species texas theirs whereas"
)
_COUNTED_IN_ICS = _names(
    "metrics topics heuristics characteristics critics statistics clinics logics fabrics "
    "rubrics epidemics comics lyrics mosaics antibiotics"
)
_ENDINGS = (
    ("yses", "ysis"),
    ("theses", "thesis"),
    ("sses", "ss"),
    ("xes", "x"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("oes", "o"),
)


def singular(word: str) -> str:
    """Return the singular of a folded English word, or the word itself.

    Only plurals (and with them the verb's third person) are folded; words of up to three
    letters, and those that only look like plurals (bias, physics, analysis), stay.
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word[-4:] in _ENDS_OF_COMPOUNDS:
        for first in range(max(1, len(word) - _LONGEST_END), len(word) - 5):
            if word[first:] in _OF_COMPOUNDS:
                return word[:first] + _OF_COMPOUNDS[word[first:]]
    if not word.endswith("s") or len(word) < 4 or word in _SINGULAR:
        return word
    if word.endswith(("ss", "us", "is")) or not word[-2].isalpha():
        return word
    if word.endswith("ics") and word not in _COUNTED_IN_ICS:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    for ending, replacement in _ENDINGS:
        if word.endswith(ending):
            return word[: -len(ending)] + replacement
    return word[:-1]


_PLURALS: dict[str, list[str]] = {}
for _plural, _one in _IRREGULAR.items():
    _PLURALS.setdefault(_one, []).append(_plural)
_LONGEST_ONE = max(map(len, _PLURALS))


def _irregular_plurals(one: str) -> Iterator[str]:
    """Yield the plurals of a word that `singular` knows by heart."""
    for first in range(max(0, len(one) - _LONGEST_ONE), len(one)):
        for plural in _PLURALS.get(one[first:], ()):
            if not first or plural in _OF_COMPOUNDS:
                yield one[:first] + plural


@lru_cache(maxsize=65_536)
def form_of(word: str) -> str:
    """Return what a folded word is compared by: its singular, in American spelling.

    Words of one form are one word: agent and agents, optimisation and optimizations.
    """
    return american(singular(word))


def ways_to_write(form: str) -> tuple[str, ...]:
    """Return the spellings of a form, each followed by its irregular plurals; () for too many.

    Each word of this form is one of these, or one of them is its singular.
    """
    return tuple(way for one in spellings(form) for way in (one, *_irregular_plurals(one)))


def beginnings(form: str) -> tuple[str, ...]:
    """Return letters with one of which every word of this form begins; () for too many."""
    return tuple(dict.fromkeys(_beginning(one) for one in spellings(form)))


def _beginning(one: str) -> str:
    shorter = one[:-1] if one.endswith("y") else one[:-2] if one.endswith("is") else one
    words = (shorter, *_irregular_plurals(one))
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*words, strict=False))
    return "".join(first for first, *_ in alike)


# ── sentences ───────────────────────────────────────────────────────────────────────

# A run of signs is looked at once, from its beginning: a text may be nothing but dots.
_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s)|[。！？]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:al|e\.g|i\.e|cf|vs|resp|approx|ca|viz|w\.r\.t|i\.i\.d|a\.k\.a|figs?|eqs?|eqns?"
    r"|secs?|refs?|tabs?|thm|def|alg|app|ch|no|nos|vol|pp?|dr|prof|mr|mrs|ms|st|inc|ltd|dept|univ"
    r"|(?:[a-z]\.)*[a-z]|ph\.d)\.$",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\s+[\"'“‘(\[{$\\]*")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence of `text`, without the spaces around them.

    Abbreviations (et al., e.g., Fig., Eq., vs.), initials, decimals and an ellipsis that goes
    on in lower case end no sentence.
    """
    ends = [end.end() for end in _END.finditer(text) if _ends_sentence(text, end)]
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([0, *ends, len(text)]):
        sentence = text[start:end].strip()
        if sentence:
            first = text.index(sentence, start)
            spans.append((first, first + len(sentence)))
    return spans


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    if end.group() in "。！？":
        return True
    opening = _OPENING.match(text, end.end())
    if opening is None:
        return False
    following = text[opening.end() : opening.end() + 1]
    if not following or (following.islower() and "$" not in text[end.end() : opening.end()]):
        return False
    return not _ABBREVIATION.search(text, max(0, end.start() - 12), end.start() + 1)


_WITHDRAWN_MARK = re.compile(
    r"(?:(?P<open>[\[(*]\s*)?(?:retracted|withdrawn|removed)"
    r"(?: (?:article|paper|chapter|publication|preprint|manuscript))?"
    r"\s*(?(open)[\])*]\s*[:：]?|[:：]))\s*(?=\S)",
    re.IGNORECASE,
)


def without_withdrawal(title: str) -> str:
    """Return a title without the mark of a withdrawn paper before it ("RETRACTED ARTICLE: ...").

    A title without such a mark is returned as it is.
    """
    if title[:1] not in "RrWw[(*":
        return title
    found = _WITHDRAWN_MARK.match(title)
    return title[found.end() :] if found else title
