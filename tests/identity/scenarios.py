"""Pairs of records that share an identifier: of one work, or of two, whatever comes first.

Each is a real one of the web, with names and numbers changed: the templates, link lists and pages
of comments whose records carry the identifier of a paper that they are not.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from monitor.model import Paper

DOI = "10.1000/forests.7"
ARXIV = "2601.00042"

FORESTS = Paper(
    "Counting Seedlings in Boreal Forests by Drone",
    "Seedlings of spruce are counted by hand after each harvest. We fly a drone at forty metres "
    "and train a detector on nine thousand labelled crowns. On twelve stands in Lapland the counts "
    "differ from those of foresters by four percent, at a tenth of the hours.",
    ("Aino Virtanen", "Marja Koskela", "Bo Lindqvist"),
    "Journal of Forest Inventories",
    2026,
    keys={"doi": DOI, "arxiv": ARXIV},
    raw_id="forests",
)
DIARY = Paper(
    "What I read on the train this week",
    "Three good things: a novel about lighthouses, a long interview with a chess coach, and a "
    "paper on trees that my brother sent me, with lovely photographs taken from above.",
    ("Jo Marsh",),
    raw_id="diary-9",
)
PENGUINS = Paper(
    "Moulting Penguins Sleep on One Leg",
    "King penguins stand on the beach for three weeks while they moult. We filmed forty birds and "
    "measured how they sleep: one leg at a time, for eleven seconds, never all at once.",
    ("Ida Holm", "Per Strand"),
    raw_id="penguins",
)
ROBOTS = Paper(
    "Warehouse Robots that Share a Corridor",
    "Two carts meet in a narrow corridor and neither can turn. A protocol of four messages lets "
    "one of them reverse. In a warehouse with sixty carts the waiting time falls by half.",
    ("Cleo Brandt", "Dan Okafor"),
    raw_id="robots",
)
L0_NORM = Paper(
    "Penalty Decomposition Methods for L0-Norm Minimization",
    "We consider problems in which the l0-norm of a vector appears in the objective or the "
    "constraints. We derive conditions of optimality and propose penalty decomposition methods, in "
    "which each penalty subproblem is solved by block coordinate descent. Under suitable "
    "assumptions any accumulation point of the sequence satisfies the conditions. Experiments on "
    "compressed sensing and sparse logistic regression show that they do well.",
    ("Zoe Lund", "Yuri Zeman"),
    keys={"arxiv": "2508.05372"},
    raw_id="l0",
)
RANK = Paper(
    "Penalty Decomposition Methods for Rank Minimization",
    "We consider problems in which the rank of a matrix appears in the objective or the "
    "constraints. We show that a class of them has closed form solutions and propose penalty "
    "decomposition methods, in which each penalty subproblem is solved by block coordinate "
    "descent. Under suitable assumptions any accumulation point of the sequence is stationary. "
    "Experiments on matrix completion and nearest low-rank correlation show that they do well.",
    ("Zoe Lund", "Yuri Zeman"),
    keys={"arxiv": "2508.05373"},
    raw_id="rank",
)
COLLISIONS = Paper(
    "Search for Dimuon Resonances in Proton Collisions at 13 TeV",
    "A search for narrow resonances that decay to two muons is presented, with data of proton "
    "collisions recorded by a detector at a centre-of-mass energy of 13 TeV. No excess is seen.",
    ("ATLAS Collaboration",),
    keys={"doi": "10.1000/dimuon"},
    raw_id="dimuon",
)


@dataclass(frozen=True)
class Scenario:
    """Two records, whether they are one work, and who has the identifier if they are two."""

    name: str
    first: Paper
    second: Paper
    one: bool
    keeps: str = ""  # "first", "second", or "" for whichever comes first


def mentions(paper: Paper, place: str, **keys: str | tuple[str, ...]) -> Paper:
    """A record with identifiers from a link or a running text."""
    return replace(paper, keys=keys, **{f"keys_in_{place}": keys})


def _two(name: str, first: Paper, second: Paper, keeps: str = "") -> Scenario:
    return Scenario(name, first, second, one=False, keeps=keeps)


def _one(name: str, first: Paper, second: Paper) -> Scenario:
    return Scenario(name, first, second, one=True)


def _of_doi(paper: Paper, **fields: object) -> Paper:
    return replace(paper, **{"keys": {"doi": DOI}, "raw_id": "other", **fields})


FIVE = (DOI, "10.1000/a1", "10.1000/b2", "10.1000/c3", "10.1000/d4")
CHINESE = _of_doi(
    FORESTS,
    title="无人机北方森林幼苗计数方法研究",
    abstract="采伐后云杉幼苗一般由人工计数。本文用无人机在四十米高度拍摄，训练检测模型。",
    authors=("维尔塔宁", "科斯克拉"),
)

SCENARIOS = (
    _two(
        "a diary that links to the DOI",
        replace(DIARY, url=f"https://doi.org/{DOI}"),
        FORESTS,
        "second",
    ),
    _two(
        "a diary that links to arXiv",
        replace(DIARY, url=f"https://arxiv.org/abs/{ARXIV}v2"),
        FORESTS,
        "second",
    ),
    _two(
        "a page of comments with the DOI in its path",
        replace(
            mentions(DIARY, "links", doi=DOI), url=f"https://comments.example/publications/{DOI}"
        ),
        FORESTS,
        "second",
    ),
    _two("a list of five papers", mentions(DIARY, "links", doi=FIVE), FORESTS, "second"),
    _two("a text that names five DOIs", mentions(DIARY, "text", doi=FIVE), FORESTS, "second"),
    _two(
        "a diary without author or text",
        Paper("Trees from above", url=f"https://doi.org/{DOI}", raw_id="d1"),
        FORESTS,
        "second",
    ),
    _two(
        "the DOI of a template",
        replace(PENGUINS, keys={"doi": "10.1145/1122445.1122456"}),
        replace(ROBOTS, keys={"doi": "10.1145/1122445.1122456"}),
    ),
    _two(
        "one arXiv id, copied",
        replace(PENGUINS, keys={"arxiv": ARXIV}),
        replace(FORESTS, keys={"arxiv": ARXIV}),
    ),
    _two(
        "own DOIs and the link of a journal",
        replace(
            PENGUINS, keys={"doi": "10.1000/p1"}, url="https://doi.org/10.1000/neco", raw_id=""
        ),
        replace(ROBOTS, keys={"doi": "10.1000/r1"}, url="https://doi.org/10.1000/neco", raw_id=""),
    ),
    _two(
        "two strangers with one frequent name",
        replace(PENGUINS, keys={"doi": DOI}, authors=("Y. Wang",)),
        replace(ROBOTS, keys={"doi": DOI}, authors=("Y. Wang", "Dan Okafor")),
    ),
    _two("consecutive ids, one word exchanged", L0_NORM, RANK),
    _one(
        "a link under the title of its paper",
        FORESTS,
        Paper(FORESTS.title, url=f"https://doi.org/{DOI}", raw_id="list-4"),
    ),
    _one(
        "a link under a title that is cut",
        FORESTS,
        Paper(
            "Counting Seedlings in Boreal Forests by ...", url=f"https://doi.org/{DOI}", raw_id="4"
        ),
    ),
    _one("a title and the DOI alone", FORESTS, Paper("Drones over Lapland", keys={"doi": DOI})),
    _one("all in another script", FORESTS, CHINESE),
    _one(
        "a title in another language by the same authors",
        FORESTS,
        _of_doi(FORESTS, title="Taimien laskeminen pohjoisissa metsissä", abstract=""),
    ),
    _one(
        "a title in another language with the same abstract",
        FORESTS,
        _of_doi(FORESTS, title="Taimien laskeminen pohjoisissa metsissä", authors=()),
    ),
    _one(
        "a note on the language for a title",
        FORESTS,
        _of_doi(FORESTS, title="[Article in Finnish]", abstract=""),
    ),
    _one(
        "no title",
        FORESTS,
        _of_doi(FORESTS, title="[Not Available].", abstract="", authors=("A. Virtanen",)),
    ),
    _one(
        "in two languages",
        FORESTS,
        _of_doi(
            CHINESE,
            title=f"{CHINESE.title} Counting Seedlings in Boreal Forests",
            abstract=f"{CHINESE.abstract} {FORESTS.abstract}",
        ),
    ),
    _one(
        "the same abstract under another title, without authors",
        FORESTS,
        _of_doi(FORESTS, title="Detecting Young Spruce from the Air", authors=()),
    ),
    _one(
        "retitled and rewritten by the same authors",
        FORESTS,
        _of_doi(
            FORESTS,
            title="Detecting Young Spruce from the Air",
            abstract="Regeneration surveys cost more than they should. A drone with a camera and a "
            "convolutional network counts young trees on clear-cuts as exactly as people do.",
        ),
    ),
    _one(
        "a title that is cut",
        FORESTS,
        _of_doi(FORESTS, title="Counting Seedlings in", abstract="", authors=()),
    ),
    _one(
        "a title in capitals", FORESTS, _of_doi(FORESTS, title=FORESTS.title.upper(), abstract="")
    ),
    _one(
        "a collaboration and its members",
        COLLISIONS,
        replace(
            COLLISIONS,
            title="Narrow states decaying to muon pairs",
            authors=("G. Aad", "B. Abbott", "J. Abdallah"),
            abstract="",
            raw_id="other",
        ),
    ),
)
