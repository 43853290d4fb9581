"""Pairs of records that meet in a store: what each order of them has for its outcome.

Each is a real one of the web, with names and numbers changed: the templates, link lists and pages
of comments whose records carry the identifier of a paper that they are not; those who call a paper
retracted; notices; and what may be the publication of a preprint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from monitor.identity.keys import LINK, identifiers
from monitor.identity.withdrawals import NO_STANDING, Standing
from monitor.model import CONCERN, CORRECTION, RETRACTION, Authority, Paper

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


# The order of the records, from a source each; "at once" in one reading of the second one's source.
IN_ORDER, TURNED, AT_ONCE, TURNED_AT_ONCE = WAYS = (
    "in order",
    "turned",
    "at once",
    "turned at once",
)


@dataclass(frozen=True)
class Outcome:
    """What is announced and withdrawn, of "first" and "second": the papers that each record made.

    `why` is the reason for which the later record is of the earlier one's paper, and `told` are the
    sentences about references.
    """

    announced: frozenset[str]
    why: str = ""
    withdrawn: frozenset[str] = frozenset()
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """Two records of two sources, the library of a reader, and the outcome of each order.

    The second source has a `standing`. Of two works, `keeps` has the identifier: "first", "second",
    or "" for whichever comes first. `then` is what the second record says before a digest is made.
    """

    name: str
    first: Paper
    second: Paper
    outcomes: Mapping[str, Outcome]
    library: tuple[Paper, ...]
    keeps: str = ""
    sources: tuple[str, str] = ("page", "list")
    standing: Standing = NO_STANDING
    then: Paper | None = None

    @property
    def one(self) -> bool:
        return bool(self.outcomes[IN_ORDER].why)


def mentions(paper: Paper, place: str, **keys: str | tuple[str, ...]) -> Paper:
    """A record with identifiers from a link or a running text."""
    return replace(paper, keys=keys, **{f"keys_in_{place}": keys})


FIRST = frozenset(["first"])
SECOND = frozenset(["second"])
BOTH = FIRST | SECOND
LIBRARY = (replace(FORESTS, raw_id="reference"),)


def _two(name: str, first: Paper, second: Paper, keeps: str = "") -> Scenario:
    return Scenario(name, first, second, dict.fromkeys(WAYS, Outcome(BOTH)), LIBRARY, keeps)


def _one(name: str, first: Paper, second: Paper) -> Scenario:
    [(scheme, value)] = {*pairs_of(first)} & {*pairs_of(second)}
    why = f"same {scheme} {value}"
    earlier = {IN_ORDER: FIRST, TURNED: SECOND, AT_ONCE: FIRST, TURNED_AT_ONCE: SECOND}
    outcomes = {way: Outcome(announced, why) for way, announced in earlier.items()}
    return Scenario(name, first, second, outcomes, LIBRARY)


def pairs_of(paper: Paper) -> list[tuple[str, str]]:
    named = [pair for pair in identifiers(paper) if pair[0] != LINK]
    return [pair for pair in named if pair[0] == "doi"] or named


def _of_doi(paper: Paper, **fields: object) -> Paper:
    return replace(paper, **{"keys": {"doi": DOI}, "raw_id": "other", **fields})


FIVE = (DOI, "10.1000/a1", "10.1000/b2", "10.1000/c3", "10.1000/d4")
CHINESE = _of_doi(
    FORESTS,
    title="无人机北方森林幼苗计数方法研究",
    abstract="采伐后云杉幼苗一般由人工计数。本文用无人机在四十米高度拍摄，训练检测模型。",
    authors=("维尔塔宁", "科斯克拉"),
)

IDENTIFIERS = (
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


# ── who may call a paper retracted ──────────────────────────────────────────────────

SAND = Paper(
    "Sand Moves Downhill in Winter",
    "We watched sand on forty slopes for a winter. It moved downhill on all of them, most at noon.",
    ("Ada Byron", "Bo Chen"),
    venue="Journal of Sand",
    url="https://journal.example.org/sand/1",
    keys={"doi": "10.5555/sand.1", "pmid": "1"},
    raw_id="sand",
)
# As the dumps of pages have a paper: without identifier and link.
BARE = Paper(SAND.title, SAND.abstract, SAND.authors, raw_id="bare")
DEPOSITED = replace(SAND, url="", keys={"doi": "10.5281/zenodo.1"})
REPORTED = ("blog reports a retraction.",)
RETRACTED = ("Retracted.",)
BY_TITLE = "same title, authors agree to 100%, abstracts not comparable"


def _gone(**fields: Any) -> Paper:
    """A record that calls the paper retracted."""
    return replace(BARE, withdrawn=True, **{"raw_id": "gone", **fields})


def _marked(
    why: str, told: tuple[str, ...] = RETRACTED, first: str = "report"
) -> dict[str, Outcome]:
    """The paper is withdrawn; a report that comes first is announced, and the paper is not."""
    in_order = Outcome(FIRST, why, FIRST, told)
    turned = Outcome(SECOND, withdrawn=FIRST, told=told)
    if first == "record":  # of a service that keeps the record: it is the paper
        turned = Outcome(frozenset(), why, SECOND, told)
    return {IN_ORDER: in_order, TURNED: turned, AT_ONCE: in_order, TURNED_AT_ONCE: turned}


def _marks(
    name: str,
    record: Paper,
    why: str = BY_TITLE,
    told: tuple[str, ...] = RETRACTED,
) -> Scenario:
    return _of_sand(name, SAND, record, _marked(why, told))


def _reports(name: str, record: Paper, paper: Paper = SAND, *, own_entry: str = "") -> Scenario:
    """A report marks nothing, but for the papers that its own source brought."""
    outcomes = dict.fromkeys(WAYS, Outcome(BOTH, told=REPORTED))
    if own_entry:
        marked = _marked(own_entry)
        outcomes |= {way: marked[way] for way in (AT_ONCE, TURNED_AT_ONCE)}
    return _of_sand(name, paper, record, outcomes)


def _of_sand(
    name: str,
    paper: Paper,
    record: Paper,
    outcomes: Mapping[str, Outcome],
    standing: Standing = NO_STANDING,
) -> Scenario:
    library = (replace(paper, raw_id="reference", url="", abstract=""),)
    return Scenario(
        name, paper, record, outcomes, library, sources=("journal", "blog"), standing=standing
    )


BY_DOI = "same doi 10.5555/sand.1"
WITHDRAWALS = (
    _reports(
        "a blog without identifier", _gone(url="https://blog.example.net/42"), own_entry=BY_TITLE
    ),
    _reports(
        "a blog that links to the DOI",
        _gone(keys={"doi": "10.5555/sand.1"}, keys_in_links={"doi": "10.5555/sand.1"}),
        own_entry=BY_DOI,
    ),
    _reports("a blog about a paper of a dump", _gone(), BARE, own_entry=BY_TITLE),
    _reports(
        "another deposit in the repository", _gone(keys={"doi": "10.5281/zenodo.2"}), DEPOSITED
    ),
    _marks("a blog with the DOI as a field", _gone(keys={"doi": "10.5555/sand.1"}), BY_DOI),
    _marks(
        "the DOI under another title",
        _gone(keys={"doi": "10.5555/sand.1"}, title="Dust Rises"),
        BY_DOI,
        ("Retracted. It calls the paper “Dust Rises”.",),
    ),
    _marks("a DOI of the paper's publisher", _gone(keys={"doi": "10.5555/retraction.1"})),
    _of_sand(
        "a DOI of the publisher under nearly the same title",
        SAND,
        _gone(keys={"doi": "10.5555/retraction.2"}, title="Sand Moves Downhill in the Winter"),
        dict.fromkeys(WAYS, Outcome(BOTH)),
    ),
    _of_sand(
        "a service that keeps the record, about another paper of the publisher",
        SAND,
        _gone(keys={"doi": "10.5555/sand.2"}),
        dict.fromkeys((IN_ORDER, TURNED), Outcome(FIRST, withdrawn=SECOND)),
        Standing(Authority.EVERY),
    ),
    _marks("the host of the paper", _gone(url="https://www.journal.example.org/r/1")),
    _of_sand(
        "a service that keeps the record, about a paper of a dump",
        BARE,
        _gone(),
        _marked(BY_TITLE, first="record"),
        Standing(Authority.EVERY),
    ),
    _of_sand(
        "other people's paper under the same title",
        SAND,
        _gone(keys={"doi": "10.5555/other.1"}, authors=("Eve Nobody",)),
        dict.fromkeys(WAYS, Outcome(BOTH)),
    ),
    # A service says that its paper is withdrawn, and the next day that it is not.
    dataclasses.replace(
        _of_sand(
            "a report, and a retraction that is taken back",
            _gone(raw_id="post"),
            replace(SAND, withdrawn=True),
            dict.fromkeys((IN_ORDER, TURNED), Outcome(FIRST, "", SECOND, REPORTED)),
            Standing(Authority.EVERY),
        ),
        sources=("blog", "journal"),
        then=SAND,
    ),
)


# ── notices, and the papers that they are about ─────────────────────────────────────


def _notice(type_: str, **about: str | tuple[str, ...]) -> Paper:
    """As PubMed gives them: under the title and the names of the paper itself."""
    return replace(
        SAND, abstract="", url="", keys={"pmid": "9"}, raw_id="9", type=type_, about=about
    )


def _noticed(
    name: str, record: Paper, told: str, *, retracts: bool = False, library: tuple[Paper, ...] = ()
) -> Scenario:
    """A notice without its paper is news as itself; else the news is the change of the paper."""
    said = (told,) * (1 + len(library))
    gone = FIRST if retracts else frozenset[str]()
    together = Outcome(SECOND if retracts else FIRST, withdrawn=gone, told=said)
    outcomes = {
        IN_ORDER: Outcome(FIRST, withdrawn=gone, told=said),
        TURNED: Outcome(SECOND if retracts else BOTH, withdrawn=gone, told=said),
        AT_ONCE: together,
        TURNED_AT_ONCE: together,
    }
    scenario = _of_sand(name, SAND, record, outcomes)
    return dataclasses.replace(scenario, library=(*scenario.library, *library))


OTHERS = (
    Paper("Dust Rises", keys={"doi": "10.5555/dust.1"}, raw_id="dust"),
    Paper("Mud Dries at Dawn", keys={"doi": "10.5555/mud.1"}, raw_id="mud"),
)
NOTICES = (
    _noticed(
        "a retraction by PMID",
        _notice(RETRACTION, pmid="1"),
        "Retracted: notice PubMed 9.",
        retracts=True,
    ),
    _noticed("a correction by PMID", _notice(CORRECTION, pmid="1"), "Corrected: notice PubMed 9."),
    _noticed(
        "a correction by DOI",
        _notice(CORRECTION, doi="10.5555/sand.1"),
        "Corrected: notice PubMed 9.",
    ),
    _noticed("a concern", _notice(CONCERN, pmid="1"), "Expression of concern: notice PubMed 9."),
    _noticed(
        "a correction of three references",
        _notice(CORRECTION, doi=("10.5555/sand.1", "10.5555/dust.1", "10.5555/mud.1")),
        "Corrected: notice PubMed 9.",
        library=OTHERS,
    ),
)


# ── what may be the publication of a preprint ───────────────────────────────────────

DRAFT = Paper(
    "The Answer of Barchan Dunes to Slow Forcing",
    "Dunes answer to winds that turn. We force them in a tank and measure how far they move.",
    ("Gary Green", "Mia Moss", "Cy Stone"),
    year=2026,
    keys={"arxiv": "2601.00077"},
    raw_id="draft",
)
PUBLISHED = "Published: arXiv 2601.00077 is now in Journal of Sand, doi:10.5555/dunes, {}."
FAST = "The Answer of Barchan Dunes to Fast Forcing"
ALIKE = "titles agree to 92%, authors agree to 100%, abstracts not comparable"


def _publication(name: str, why: str, told: str, **fields: Any) -> Scenario:
    article = {
        "venue": "Journal of Sand",
        "type": "journal article",
        "keys": {"doi": "10.5555/dunes"},
        "raw_id": "article",
    }
    said = (told,) if told else ()
    if why:
        earlier = {IN_ORDER: FIRST, TURNED: SECOND, AT_ONCE: FIRST, TURNED_AT_ONCE: SECOND}
        outcomes = {way: Outcome(announced, why, told=said) for way, announced in earlier.items()}
    else:
        outcomes = dict.fromkeys(WAYS, Outcome(BOTH, told=said))
    library = (replace(DRAFT, raw_id="reference"),)
    return Scenario(name, DRAFT, replace(DRAFT, **{**article, **fields}), outcomes, library)


PUBLICATIONS = (
    _publication(
        "another title by the same people",
        ALIKE,
        f"Perhaps published as “{FAST}”, in Journal of Sand, doi:10.5555/dunes, 2026.",
        title=FAST,
    ),
    _publication(
        "the same title in capitals", BY_TITLE, PUBLISHED.format("2026"), title=DRAFT.title.upper()
    ),
    _publication(
        "another title with the preprint's identifier",
        "same arxiv 2601.00077",
        PUBLISHED.format("January 2026"),
        title="How Far Dunes Go",
        keys={"doi": "10.5555/dunes", "arxiv": "2601.00077"},
    ),
    _publication("wholly another title", "", "", title="How Far Dunes Go"),
)

SCENARIOS = (*IDENTIFIERS, *WITHDRAWALS, *NOTICES, *PUBLICATIONS)
