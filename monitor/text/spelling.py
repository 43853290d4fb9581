"""British and American spellings of one word: optimisation, behaviour, tumour, modelling, anaemia.

A few rules, and lists of words and parts of words that are spelled in two ways. Only spellings of
one word are joined. Left out is what means something else in the other country: cheque and check,
draught and draft, kerb and curb, prise and prize, storey and story, gauge and gage, tonne and ton.

The lists were made from the British and American words of SCOWL (Spell Checker Oriented Word
Lists, version 2020.12.07, http://wordlist.aspell.net), as docs/decisions/0004-spelling.md says:

    Copyright 2000-2018 by Kevin Atkinson

    Permission to use, copy, modify, distribute and sell these word lists, the associated scripts,
    the output created from the scripts, and its documentation for any purpose is hereby granted
    without fee, provided that the above copyright notice appears in all copies and that both that
    copyright notice and this permission notice appear in supporting documentation. Kevin Atkinson
    makes no representations about the suitability of this array for any purpose. It is provided
    "as is" without express or implied warranty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

# The spellings of a word with more parts than this are too many to list.
_MAX_PARTS = 4

# ── lists ───────────────────────────────────────────────────────────────────────────

# Parts of words, wherever they stand: the `_` is written as the first or as the second.
_PARTS = {
    ("our", "or"): """
        arb_ ard_ arm_ behavi_ cand_ clam_ clang_ col_ demean_ enam_ endeav_ fav_ ferv_ flav_ glam_
        harb_ hon_ hum_ lab_ misdemean_ neighb_ od_ parl_ ranc_ rig_ rum_ sav_ savi_ splend_ succ_
        tum_ val_ vap_ vig_
    """,
    ("ae", "e"): """
        _olian _sth _stiv _tiolog acid_mi ammon_mi an_mi arch_o azot_mi bacter_mi c_cal c_cum
        c_sarean c_sarian c_sium calc_mi chol_mi cyth_mi encyclop_d erythr_mi eud_mon f_cal f_culen
        fung_mi galactos_mi glyc_mi gyn_c h_ma h_mi h_mo hyper_mi insulin_mi isch_mi kal_mi keton_mi
        l_vo l_vul leuk_mi leuk_mo lip_mi lipid_mi magnes_mi medi_val n_vi n_vo n_vu natr_mi
        orthop_d ox_mi p_diatr p_dodon p_domorph p_dophil pal_o parasit_mi ph_ochrom phosphat_mi
        prim_val protein_mi py_mi septic_mi spel_o spiroch_t sterol_mi thalass_mi tular_mi ur_mi
        uric_mi vir_mi vol_mi
    """,
    ("oe", "e"): """
        _dem _nolog _sophag _strad _striol _strog _stron _strous _strus am_b c_liac c_liot c_lom
        f_ta f_ti f_to f_tu hom_opath hom_osta man_uv pn_a pn_ic rrh_ stilb_str
    """,
    ("ooe", "e"): "_dem _strad _strog _strus",
    ("ph", "f"): "sul_",
    ("ould", "old"): "m_",
    ("ough", "ow"): "pl_",
    ("oult", "olt"): "m_",
    ("ll", "l"): "tranqui_i ca_iper woo_en",
}

# Whole words, and their plurals in -s.
_WORDS = """
    abridgement:abridgment acknowledgement:acknowledgment adaptor:adapter aeon:eon aerofoil:airfoil
    aeroplane:airplane ageing:aging aluminium:aluminum appal:appall artefact:artifact
    artefactual:artifactual benefitted:benefited benefitting:benefiting biassed:biased
    biassing:biasing carburettor:carburetor centrefold:centerfold centreline:centerline
    centrepiece:centerpiece chequerboard:checkerboard chequered:checkered cognisance:cognizance
    cognisant:cognizant connexion:connection cosy:cozy councillor:councilor defence:defense
    defenceless:defenseless dentine:dentin disc:disk distil:distill dyke:dike enquire:inquire
    enquired:inquired enquiring:inquiring enquiry:inquiry enrol:enroll enrolment:enrollment
    enthral:enthrall faece:fece fibreboard:fiberboard fibreglass:fiberglass focussed:focused
    focussing:focusing fulfil:fulfill fulfilment:fulfillment gelatine:gelatin glycerine:glycerin
    gramme:gram grey:gray greybody:graybody greyed:grayed greyer:grayer greyest:grayest
    greying:graying greyish:grayish greylevel:graylevel greyness:grayness greyscale:grayscale
    haem:heme inflexion:inflection instalment:installment instil:instill interneurone:interneuron
    jewellery:jewelry judgement:judgment judgemental:judgmental kilogramme:kilogram learnt:learned
    licence:license licenced:licensed likeable:likable liveable:livable lodgement:lodgment
    manoeuvrability:maneuverability manoeuvrable:maneuverable microgramme:microgram
    milligramme:milligram misjudgement:misjudgment mollusc:mollusk molluscan:molluskan
    motoneurone:motoneuron moustache:mustache neurone:neuron nitroglycerine:nitroglycerin
    offence:offense omelette:omelet practise:practice practised:practiced practiser:practicer
    practising:practicing prejudgement:prejudgment pretence:pretense programme:program pyjama:pajama
    saleable:salable sceptic:skeptic sceptical:skeptical sceptically:skeptically
    scepticism:skepticism sizeable:sizable skilful:skillful skilfully:skillfully
    speciality:specialty tyre:tire unlearnt:unlearned unpractised:unpracticed unshakeable:unshakable
    unskilful:unskillful wilful:willful wilfully:willfully worshipped:worshiped
    worshipping:worshiping yoghurt:yogurt
"""

# Words of which the last l is doubled before an ending in British only: modelling, labelled.
_DOUBLED = """
    apparel barrel bevel bowel canal cancel carol channel chisel corbel counsel cruel cudgel devil
    dial dishevel dowel drivel duel enamel equal flannel fuel funnel gambol gimbal gravel grovel
    gruel hovel imperil initial jewel kennel kernel label laurel level libel marshal marvel medal
    metal model morsel nickel panel parcel pedal pedestal pencil peril petal pistol pommel protocol
    pummel quarrel ravel revel rival sandal scandal sentinel shovel shrivel signal snivel snorkel
    spiral squirrel stencil swivel symbol tassel tendril tinsel total towel trammel travel trial
    trowel tunnel victual weasel yodel
"""

# Stems that end with -re in British: centre, fibres, calibred, manoeuvring.
_ENDS_IN_RE = """
    accout cadast calib cent diopt fib goit lit louv lust maneuv meag mit nit och reconnoit sab
    saltpet scept sepulch somb spect theat tit
"""
_UNITS = "centi deca deci femto giga hecto kilo mega micro milli nano pico"

# Words that end with -logue in British. (Prolog is a language.)
_ENDS_IN_LOGUE = "ana cata dia epi homo ideo mono ortho para trave"

# Stems written with -ise everywhere; those of otherwise, denoise, equipoise and raise by ending.
_ALWAYS_ISE = """
    adv advert appr ass bru cerv cha chast chem circumc compr comprom conc cru dem desp dev
    disenfranch disgu enfranch enterpr exc exerc expert franch imprec improv inc lia mala marqu
    merchand mispr mort parad porpo prec prem prev prom rem repr rev superv surm surpr telev tort
    treat turquo uncomprom unprom unsurpr
"""
_ALWAYS_ISE_ENDINGS = ("w", "no", "po", "ra", "comprom", "prec", "superv")


# ── rules ───────────────────────────────────────────────────────────────────────────


def _either(words: str) -> str:
    return "|".join(words.split())


_AMERICAN_PART = {
    part.replace("_", british): part.replace("_", american)
    for (british, american), parts in _PARTS.items()
    for part in parts.split()
}
_AMERICAN_WORD = dict(pair.split(":") for pair in _WORDS.split())


def _invert(american: dict[str, str]) -> dict[str, list[str]]:
    british: dict[str, list[str]] = {}
    for british_word, other in american.items():
        british.setdefault(other, []).append(british_word)
    return british


def _any_of(parts: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(sorted(parts, key=len, reverse=True)))


_BRITISH_PARTS = _invert(_AMERICAN_PART)
_BRITISH_WORDS = _invert(_AMERICAN_WORD)
_PART = _any_of(_AMERICAN_PART)
_PART_BACK = _any_of(_BRITISH_PARTS)
# One of these is in every word that has one of the parts, or an ending that is spelled in two
# ways: most words are soon seen to have none.
_MARK = re.compile("[ao]e|ou[glr]|[iy]s[eia]|l(?:l[aeio]|ogu|ph)|[bghtv]r(?:e[ds]?$|ing)")


class _Ending(NamedTuple):
    """A rule for the ends of words."""

    british: re.Pattern[str]
    to_american: str
    american: re.Pattern[str]
    to_british: str


def _ending(british: str, american: str, before: str, behind: str) -> _Ending:
    """Return a rule for what has `british`, or in American `american`, between two patterns."""
    return _Ending(
        re.compile(f"({before}){british}({behind})$"),
        rf"\g<1>{american}\g<2>",
        re.compile(f"({before}){american}({behind})$"),
        rf"\g<1>{british}\g<2>",
    )


_STEMS_OF_ISE = frozenset(_ALWAYS_ISE.split())
_IZED = "e|es|ed|er|ers|ing|ingly|ings|able|ably|ability|ation|ations|ational|ationally|ements?"
_RE = f"{_either(_ENDS_IN_RE)}|^(?:{_either(_UNITS)})?met"
_LOGUE = f"(?:{_either(_ENDS_IN_LOGUE)})log"
_ISE = _ending("is", "iz", "^.{3,}", _IZED)
_ENDINGS = (
    _ISE,
    _ending("lys", "lyz", "", "e|ed|er|ers|ing|ings|able|ate|ates"),
    _ending("l", "", _either(_DOUBLED), "ed|ings?|ers?|ors?|ists?|ous|ously|able|ery|est"),
    _ending("re", "er", _RE, "s?"),
    _ending("r", "er", _RE, "ed|ings?"),
    _ending("ue", "", _LOGUE, "s?"),
    _ending("u", "", _LOGUE, "ed|ers?|ing"),
)


@lru_cache(16_384)
def american(word: str) -> str:
    """Return the American spelling of a folded word, singular or plural; most words as they are."""
    if word in _AMERICAN_WORD:
        return _AMERICAN_WORD[word]
    if word[-1:] == "s" and word[:-1] in _AMERICAN_WORD:
        return _AMERICAN_WORD[word[:-1]] + "s"
    if not _MARK.search(word):
        return word
    word = _PART.sub(lambda part: _AMERICAN_PART[part.group()], word)
    for ending in _ENDINGS:
        match = ending.british.search(word)
        if match and not (
            ending is _ISE and (match[1] in _STEMS_OF_ISE or match[1].endswith(_ALWAYS_ISE_ENDINGS))
        ):
            return word[: match.start()] + match.expand(ending.to_american)
    return word


def spellings(word: str) -> tuple[str, ...]:
    """Return every word that has this American spelling, itself first; () where they are many.

    Some are not words: `labouratory` would be spelled laboratory in American.
    """
    variants = dict.fromkeys((word, *_BRITISH_WORDS.get(word, ())))
    if word[-1:] == "s":
        variants.update(
            dict.fromkeys(f"{variant}s" for variant in _BRITISH_WORDS.get(word[:-1], ()))
        )
    endings = (ending.american.search(word) and ending for ending in _ENDINGS)
    for variant in (word, *(end.american.sub(end.to_british, word) for end in endings if end)):
        if len(_PART_BACK.findall(variant)) > _MAX_PARTS:
            return ()
        variants.update(dict.fromkeys(_with_parts_respelled(variant)))
    return tuple(variants)


def _with_parts_respelled(word: str) -> Iterator[str]:
    """Yield a word with each of its parts in every spelling."""
    plain = _PART_BACK.split(word)
    parts = [(part, *_BRITISH_PARTS[part]) for part in _PART_BACK.findall(word)]
    for chosen in product(*parts):
        yield plain[0] + "".join(a + b for a, b in zip(chosen, plain[1:], strict=True))
