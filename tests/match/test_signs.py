"""Greek letters in names, ions, stars and decimals: all writings match, and other words do not."""

from __future__ import annotations

import pytest

from monitor.match import TopicIndex, parse_query, search_expression
from monitor.match.language.lists import lists_query
from monitor.match.meaning.evaluate import View, matches_topic
from monitor.match.parts import find_unseen_words
from monitor.model import Paper
from monitor.rank.features import places_of
from monitor.text import plain, title_key
from tests.match.test_keywords import has

# A topic, the texts that it finds, and those that it does not, parted by bars.
FOUND = [
    ("NF-κB", "NF-kB|NF-kappaB|NFκB|NFkB|NF-$\\kappa$B", "NF|NF-B|kB|NF-lB"),
    ("NF-kB", "NF-κB|NF-kappaB|NFkappaB|NF kB", "NF|kB"),
    ("IL-1β", "IL-1b|IL1B|IL-1beta", "IL-1α|IL-1a|IL-1|IL-18"),
    ("TNFa", "TNF-α|TNFα|TNF-alpha", "TNF-β|TNF|TNF a"),
    ("TNF-α", "TNFa|TNF-a|TNF alpha", "TNFb"),
    ("NF-κB", "NF-kappa B|NF kappa B", "kappa B"),
    ("IFN-γ", "IFN-g|IFNG|IFN-y|IFN-gamma", "IFN-α|IFN"),
    ("IFNy", "IFN-γ|IFN-gamma", "IFN-g"),
    ("IFNg", "IFN-γ|IFN-gamma", "IFN-y"),
    ("PKCμ", "PKCm|PKCu|PKCmu", "PKCη|PKCυ"),
    ("IL-1β", "IL-1ß|IL1ß", "IL-1ss"),
    ("TNFß", "TNF-β|TNFb", "TNF-α"),
    ("IκBα", "IkBa|IkappaBalpha", "IKK"),
    ("PKCε", "PKCe|PKCepsilon", "PKCη|PKC"),
    ("HIF-1α", "HIF1A|HIF-1a|HIF-1alpha", "HIF-1β|HIF-1|HIF-2α"),
    ("MIP1A", "MIP-1α|MIP-1alpha", "MIP-1β"),
    ("IRE1a", "IRE1α|IRE1alpha", "IRE1|IRE1b"),
    ("eIF2A", "EIF2A", "eIF2α"),  # two genes
    ("era", "The era", "ERα"),
    ("data", "Data", "DATα"),
    ("B-cell", "B cell", "β-cell"),
    ("β-cell", "beta cell", "B cell"),
    ("Ab", "An Ab", "Aβ"),
    ("Aβ42", "Ab42|Abeta42", "A42"),
    ("mM", "mM", "μM"),
    ("type-B", "Type B", "type-β"),
    (
        "Ca2+",
        "Ca²⁺|Ca^{2+}|$\\mathrm{Ca}^{2+}$|Ca(2+)|Ca2+-dependent|Ca<sup>2+</sup>|Ca 2+ waves",
        "CA2|Ca2|Ca|Mg2+|Ca3+|Ca 2",
    ),
    ("Ca²⁺", "Ca2+|Ca(2+)", "CA2"),
    ('"Ca(2+)"', "Ca2+|Ca²⁺", "CA2"),
    ("CA2", "CA2|Ca2+", "CA1"),
    ("Na+", "Na⁺ channels|Na(+)|Na+/K+", "NA"),
    ("K+", "K⁺ channels|K(+)|Na+/K+", "K means"),
    ("Cl-", "Cl⁻ channels|Cl(-)|Cl(−)|Cl^- x", "CL|Cl-free"),
    ("SO42-", "SO₄²⁻|SO$_4^{2-}$|SO4(2-)", "SO4|SO42"),
    ("Fe3+", "Fe³⁺|Fe(3+)|Fe 3+ and", "Fe2+|Fe²⁺|Fe 3"),
    ("In3+", "In³⁺|In(3+)", "In 3+ years"),
    ("CD4+", "CD4+ T cells|CD4 T cells", "CD8+"),
    ("CD2+", "CD2+ T cells|CD2 T cells|CD2+CD58+", "CD8+"),
    ("Cd2+", "Cd2+|Cd(2+)|Cd²⁺", "CD2+ T cells|CD2"),
    ("PM2.5", "PM₂.₅|PM<sub>2.5</sub>|PM$_{2.5}$", "PM25|PM10|PM 25"),
    (
        r'"C\*-algebra"',
        "C*-algebras|$C^*$-algebras|$C^{\\ast}$-algebra|C∗-algebra",
        "C algebra|C-algebra",
    ),
    ('"C algebra"', "C algebra|C*-algebra", "An algebra"),
    (r"A\*", "A* search|A$^*$|Weighted A*|A⋆", "A search|Ab"),
    (r"RRT\*", "RRT*-Connect|RRT∗", "RRT|RRTs"),
    (r"=A\*", "A* search", "a* search"),
    (r'"A\* search"~1', "A* for search|Search with A*", "A search"),
    ("rrt*", "RRT|RRT*|RRTs", "RT*"),
    ("MOF", "A MOF|MOFs", r"M-of-N|$\mathbb{Z}_m$of order"),
    ("ngram", "n-gram", "n of gram"),
    ("needleinahaystack", "needle-in-a-haystack", "needle in a haystack"),
    ("2in1", "2-in-1", "21"),
    ("outof", "out-of-order", "out of"),
    ("abc", "A-B-C", "A-B"),
    ("nbyn", "nbyn", "n-by-n|N-by-N"),
    ("behavior", "Behavioural study|behavioral|behaviours", "behaviorism|behaviorist"),
    ("neurobehavioral", "neuro-behaviour|neurobehavioural", "behaviour"),
    ("C++", "C++", "C"),
]


@pytest.mark.parametrize(("topic", "texts", "others"), FOUND)
def test_all_writings_of_a_name_match_and_other_words_do_not(
    topic: str, texts: str, others: str
) -> None:
    index = TopicIndex({"topic": topic})
    query = parse_query(topic)
    for text, expected in [(t, True) for t in texts.split("|")] + [
        (t, False) for t in others.split("|")
    ]:
        paper = Paper("Untitled", abstract=f"About {text}.")
        assert matches_topic(query, View(paper)) == expected, text
        assert bool(list(index.match([paper]))) == expected, text


@pytest.mark.parametrize(
    ("topic", "keywords"),
    [
        ("Ca2+", "ca 2"),  # Ca(2+)
        ("Ca2+", "ca 2+ ca2+"),  # Ca²⁺
        ("SO42-", "so 4 so4 2"),  # SO₄²⁻
        (r"A\* search", "a search"),
        ("TNFa", "tnf alpha tnfalpha"),
        ("NF-kB", "nf kappab nfkappab"),
        ("IFNy", "ifn gamma ifngamma"),
        ("behavior", "behavioural behavioral"),
        ("author:mueller", "author:muller"),
        ("author:muel*", "author:muller"),
    ],
)
def test_papers_that_an_older_version_indexed_are_found(topic: str, keywords: str) -> None:
    assert has(keywords.split(), search_expression(parse_query(topic).root))


def test_keys_in_the_store_stay_as_they_were() -> None:
    keys = {
        "PM₂.₅ and Ca²⁺": "pm2 5andca2+",
        "TNF-α in C$^*$-algebras": "tnfalphaincalgebras",
        r"$\mathbb{Z}_m$of Ca(2+), M-of-N": "zmofca2+mofn",
    }
    assert {title: title_key(title) for title in keys} == keys
    assert plain("PM₂.₅, Ca(2+), NF-κB, $x$of") == "pm 2 5 ca 2+ nf kappab xof"


def test_a_star_inside_a_word_says_how_it_is_written() -> None:
    for topic in ('"C*-algebra"', "A*"):
        error = TopicIndex({"topic": topic}).errors["topic"]
        assert r"\*" in error.hint


def test_words_that_no_paper_has_are_shown_as_the_topic_writes_them() -> None:
    topics = {"topic": parse_query(r'"A\* search" Ca2+ IFN-γ')}
    unseen = find_unseen_words(topics, [Paper("A search for CA2")])
    assert unseen == {"topic": ["A*", "Ca2+", "IFN-γ"]}


def test_a_star_of_a_name_in_a_list() -> None:
    query = parse_query(lists_query([r"C\*-algebra", "lattice"]))
    assert matches_topic(query, View(Paper("On C*-algebras")))
    assert not matches_topic(query, View(Paper("On algebras")))


def test_a_word_counts_once_for_the_order_whatever_its_sign() -> None:
    assert places_of(["Ca2+ and GNN*, PPARγ"]) == places_of(["Ca2 and GNN, PPARg"])


@pytest.mark.parametrize(
    ("asked", "author", "expected"),
    [
        ("Mueller", "Müller, A.", True),
        ("Müller", "Anna Mueller", True),
        ("Sørensen", "Soerensen, B.", True),
        ("Mueller", "Mu\u0308ller, A.", True),
        ('"Michal Novak"', "Michael Novak", False),
        ("Bor", "Boer, C.", False),
    ],
)
def test_umlauts_may_be_written_out(asked: str, author: str, expected: bool) -> None:
    paper = Paper("Untitled", authors=(author,))
    query = parse_query(f"author:{asked}")
    assert matches_topic(query, View(paper)) == expected
    assert bool(list(TopicIndex({"topic": query}).match([paper]))) == expected
