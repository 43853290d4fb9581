"""The archives and categories of arXiv (https://arxiv.org/category_taxonomy).

This is the only table of them. arXiv adds one every few years: an unknown category is doubted, and
never refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

# Of groups, each archive has their name; all other archives are in the group of physics.
ARXIV_GROUPS = frozenset({"cs", "econ", "eess", "math", "physics", "q-bio", "q-fin", "stat"})

_OF_PHYSICS = """
    acc-ph ao-ph app-ph atm-clus atom-ph bio-ph chem-ph class-ph comp-ph data-an ed-ph flu-dyn
    gen-ph geo-ph hist-ph ins-det med-ph optics plasm-ph pop-ph soc-ph space-ph
"""
_OF_COMPUTER_SCIENCE = """
    AI AR CC CE CG CL CR CV CY DB DC DL DM DS ET FL GL GR GT HC IR IT LG LO MA MM MS NA NE NI OH OS
    PF PL RO SC SD SE SI SY
"""
_OF_MATHEMATICS = """
    AC AG AP AT CA CO CT CV DG DS FA GM GN GR GT HO IT KT LO MG MP NA NT OA OC PR QA RA RT SG SP ST
"""
# The categories of each archive, without its name; () for an archive that has no parts.
ARXIV_ARCHIVES: Mapping[str, tuple[str, ...]] = {
    archive: tuple(parts.split())
    for archive, parts in {
        "astro-ph": "CO EP GA HE IM SR",
        "cond-mat": "dis-nn mes-hall mtrl-sci other quant-gas soft stat-mech str-el supr-con",
        "cs": _OF_COMPUTER_SCIENCE,
        "econ": "EM GN TH",
        "eess": "AS IV SP SY",
        "gr-qc": "",
        "hep-ex": "",
        "hep-lat": "",
        "hep-ph": "",
        "hep-th": "",
        "math": _OF_MATHEMATICS,
        "math-ph": "",
        "nlin": "AO CD CG PS SI",
        "nucl-ex": "",
        "nucl-th": "",
        "physics": _OF_PHYSICS,
        "q-bio": "BM CB GN MN NC OT PE QM SC TO",
        "q-fin": "CP EC GN MF PM PR RM ST TR",
        "quant-ph": "",
        "stat": "AP CO ME ML OT TH",
    }.items()
}
ARXIV_CATEGORIES = frozenset(
    f"{archive}.{part}" for archive, parts in ARXIV_ARCHIVES.items() for part in parts
) | frozenset(ARXIV_ARCHIVES)


def as_arxiv_writes(category: str) -> str:
    """Return a known category or archive in arXiv's own case, "" for any other."""
    names = {name.casefold(): name for name in ARXIV_CATEGORIES}
    return names.get(category.casefold(), "")


def nearest_category(category: str) -> str:
    """Return the category to which an unknown one of the same known archive is nearest."""
    archive = category.partition(".")[0]
    names = sorted(name for name in ARXIV_CATEGORIES if name.partition(".")[0] == archive)
    return get_close_matches(category, names, n=1, cutoff=0)[0]
