"""One form for singular and plural: bacteria is bacterium, matrices is matrix, leaves is leaf."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from monitor.text.spelling import american, spellings
from monitor.text.symbols import greek_names, is_signed, latin_name, unsigned
from monitor.text.tables import pairs, word_set

_IRREGULAR = pairs(
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
    plural: noun for plural, noun in _IRREGULAR.items() if len(plural) > 5 and plural != "leaves"
}
_LONGEST_END = max(map(len, _OF_COMPOUNDS))
_SINGULAR = word_set(
    "aids alias always atlas bias canvas chaos cosmos debias diabetes does ethos goes hers https "
    "kansas lens mars news ours pancreas perhaps rabies sars series species texas theirs whereas"
)
_COUNTED_IN_ICS = word_set(
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
for _plural, _noun in _IRREGULAR.items():
    _PLURALS.setdefault(_noun, []).append(_plural)
_LONGEST_ONE = max(map(len, _PLURALS))


def _irregular_plurals(noun: str) -> Iterator[str]:
    """Yield the plurals of a word in the list of `singular`."""
    for first in range(max(0, len(noun) - _LONGEST_ONE), len(noun)):
        for plural in _PLURALS.get(noun[first:], ()):
            if not first or plural in _OF_COMPOUNDS:
                yield noun[:first] + plural


# Adjectives that are used for the noun: behavioural and behavior, with all that ends so.
_ADJECTIVE = "behavioral"
_NOUN = "behavior"


# A day of 10,000 papers has some 47,000 words, and three readers ask for each. About 10 MB.
@lru_cache(65_536)
def form_of(word: str) -> str:
    """Return what a folded word is compared by: its singular, in American spelling.

    The Greek letters of a name are Latin ones in its form (`latin_name`).
    """
    form = latin_name(american(singular(word)))
    return form.removesuffix(_ADJECTIVE) + _NOUN if form.endswith(_ADJECTIVE) else form


def ways_to_write(form: str) -> tuple[str, ...]:
    """Return the spellings of a form, each followed by its irregular plurals; () for too many.

    Each word of this form, or its singular, is among them.
    """
    if is_signed(form):
        return (form, *unsigned(form))
    nouns = spellings(form)
    adjectives = [f"{noun}al" for noun in nouns] if form.endswith(_NOUN) else ()
    every = (*nouns, *adjectives, *greek_names(form)) if nouns else ()
    return tuple(way for noun in every for way in (noun, *_irregular_plurals(noun)))
