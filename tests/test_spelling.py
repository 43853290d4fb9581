"""British and American spellings are one word, and words that only look alike are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.text import form_of, singular, title_key, ways_to_write
from monitor.text.spelling import american, spellings

ONE_WORD = """
    optimisation:optimization optimise:optimize optimised:optimized optimisers:optimizers
    tokenisation:tokenization denoise:denoise ionising:ionizing generalisability:generalizability
    analyse:analyze analysers:analyzers electrolysed:electrolyzed hydrolysate:hydrolyzate
    behaviour:behavior behavioural:behavioral neurobehavioural:neurobehavioral tumours:tumors
    behavior:behavioural neurobehavior:neurobehavioural nfkappab:nfkb il1beta:il1b tnfalpha:tnfa
    ifngamma:ifng ikappabalpha:ikba ppargamma:pparg cd3zeta:cd3z gstpi:gstp
    neighbourhoods:neighborhoods colourless:colorless intratumoural:intratumoral vapour:vapor
    modelling:modeling modelled:modeled labelled:labeled mislabelling:mislabeling
    signalling:signaling travelling:traveling panellists:panelists marvellous:marvelous
    fulfil:fulfill enrolment:enrollment skilful:skillful tranquilliser:tranquilizer
    centre:center centres:centers centred:centered centring:centering multicentre:multicenter
    nanofibres:nanofibers metre:meter kilometres:kilometers titre:titer theatre:theater
    manoeuvre:maneuver manoeuvring:maneuvering manoeuvrability:maneuverability
    anaemia:anemia hypoglycaemic:hypoglycemic haemoglobin:hemoglobin haemorrhages:hemorrhages
    leukaemias:leukemias ischaemic:ischemic anaesthesia:anesthesia paediatrics:pediatrics
    palaeolithic:paleolithic archaeology:archeology encyclopaedia:encyclopedia faeces:feces
    oestrogen:estrogen phytooestrogen:phytoestrogen oedema:edema oesophageal:esophageal
    foetal:fetal foetuses:fetuses diarrhoea:diarrhea homoeopathy:homeopathy aetiology:etiology
    sulphate:sulfate disulphide:disulfide mould:mold plough:plow greyscale:grayscale grey:gray
    catalogue:catalog analogues:analogs dialogue:dialog homologue:homolog
    defence:defense licence:license practise:practice practising:practicing
    artefacts:artifacts sceptical:skeptical sceptics:skeptics ageing:aging judgement:judgment
    aluminium:aluminum
    aerofoil:airfoil programme:program disc:disk tyre:tire focussed:focused learnt:learned
    leaves:leaf calves:calf matrices:matrix submatrices:submatrix analyses:analysis
    hypotheses:hypothesis bacteria:bacterium cyanobacteria:cyanobacterium viruses:virus
    coronaviruses:coronavirus mitochondria:mitochondrion fungi:fungus larvae:larva teeth:tooth
    vertebrae:vertebra thromboses:thrombosis cortices:cortex strata:stratum moduli:modulus
"""
TWO_WORDS = """
    prise:prize storey:story cheque:check draught:draft kerb:curb gauge:gage tonne:ton
    four:for hour:hor course:corse contour:contor rise:rize wise:wize size:sise apprise:apprize
    advise:advize promise:promize exercise:exercize supervised:supervized noise:noize
    aerial:erial phoenix:phenix coexist:cexist does:des israel:isrel michael:michel aerogel:airgel
    data:datum media:medium universe:university olives:olife cleaves:cleaf involves:involf
    prologue:prolog laser:lazer parameter:parametre symmetry:symmetery
    controlled:controled installed:instaled filled:filed tiller:tiler metallic:metalic
    laboratory:labour academic:academ policy:police general:generative
    behavior:behaviorism behavioral:behaviorist eralpha:era datalpha:data betacell:bcell abeta:ab
    mum:mm il1alpha:il1beta il1beta:il1 tnfalpha:tnfb pkcepsilon:pkceta typebeta:typeb
    alphabet:ab tibetan:tibn microbiota:microbi inspire:inspre pi:p theta:beta otheta:oth
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(one, other) for one, _, other in (pair.partition(":") for pair in text.split())]


@pytest.mark.parametrize(("one", "other"), pairs(ONE_WORD))
def test_spellings_of_one_word_have_one_form(one: str, other: str) -> None:
    assert form_of(one) == form_of(other)


@pytest.mark.parametrize(("one", "other"), pairs(TWO_WORDS))
def test_different_words_have_two_forms(one: str, other: str) -> None:
    assert form_of(one) != form_of(other)


IRREGULAR = "policies indices theses classes heroes corpora mice quizzes lms phenomena men children"
KNOWN = [*IRREGULAR.split(), *(word for pair in pairs(ONE_WORD + TWO_WORDS) for word in pair)]


@pytest.mark.parametrize("word", KNOWN)
def test_each_word_is_among_the_ways_to_write_its_form(word: str) -> None:
    form = form_of(word)
    assert form_of(form) == american(form) == form
    assert {word, singular(word)} & set(ways_to_write(form))


_PARTS = (
    "colour color haemo hemo metre er is iz ise ed ing our or ae oe oo ll model lys yz s x leaves "
    "sceptic grey ic"
)


@given(st.lists(st.sampled_from(_PARTS.split()), max_size=8).map("".join))
def test_however_a_word_is_put_together_its_form_leads_back_to_it(word: str) -> None:
    form = form_of(word)
    assert form_of(form) == form
    ways = spellings(form)
    assert not ways or singular(word) in ways


def test_a_word_of_very_many_parts_has_too_many_spellings_to_list() -> None:
    assert form_of("colour" * 3_000) == "color" * 3_000
    assert form_of("leaves" * 100_000).endswith("leave")
    assert spellings("color" * 3_000) == ways_to_write("color" * 3_000) == ()


def test_keys_in_the_store_stay_as_they_were_written() -> None:
    assert title_key("Optimisation of Behaviour") == "optimisationofbehaviour"
    assert title_key("Leaves and Matrices") == "leavesandmatrices"
