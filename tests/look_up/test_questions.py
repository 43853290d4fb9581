"""Which requests a service is sent about papers, and what is in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from monitor.http.client import HttpClient
from monitor.look_up import SERVICES
from monitor.look_up.service import Service
from monitor.look_up.settings import ServiceOptions
from monitor.look_up.titles import is_distinct, phrases, plain_title
from monitor.model import Paper
from monitor.model.look_up import Question, Wanted
from monitor.text import title_lengths
from tests.look_up.conftest import NOW

LONG = "Sand Moves in Harbours of the North at Night " * 20
HOSTILE = [
    'A "Quoted" Title, with AND, OR and NOT | (brackets) : and a comma',
    "Ends with a backslash \\",
    'ti:"Injected" OR all:everything OR au:"Somebody"',
    "Sand & Moves?query=other#fragment&api_key=stolen;mailto=x",
    "Line\nbreaks\r\nHost: elsewhere in a title",
    "\u202eReversed\u202c and \x00 zero \ud800 surrogates of sand",
    r"\textbf{Sand} $\alpha$-stable {\'E}tudes of \emph{moves} in $n^{2}$ days",
    "%22 OR %7C percent-encoded sand moves",
    "../../../etc/passwd of sand moves",
]


@pytest.fixture
def client(tmp_path: Path) -> HttpClient:
    return HttpClient(version="1", gate_dir=tmp_path, contact="mailto:ops@example.org")


def opened(name: str, client: HttpClient, **settings: object) -> Service:
    return SERVICES[name](ServiceOptions.model_validate(settings), client, lambda: NOW)


def wanted(*papers: Paper | str) -> list[Wanted]:
    return [
        Wanted(number, Paper(paper) if isinstance(paper, str) else paper)
        for number, paper in enumerate(papers, start=1)
    ]


def query(question: Question) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(question.url).query).items()}


def asked_by(questions: list[Question]) -> list[list[int]]:
    return [[one.id for one in question.papers] for question in questions]


# ── titles ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("Attention Is All You Need", "Attention Is All You Need"),
        (r"$\alpha$-Stable {\'E}tudes of \emph{Sand}", "alpha-Stable Études of Sand"),
        ("Sand\n  moves", "Sand moves"),
        ("深度学习", "深度学习"),
    ],
)
def test_a_title_is_sent_without_mark_up(title: str, plain: str):
    assert plain_title(title) == plain


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("MetaGPT: Meta Programming, Multi-Agent", ("metagpt meta programming multi agent",)),
        ("Sand AND Water OR NOT", ("sand and water or not",)),
        (r"Bounds on $\ell_1$ Norms of Sand", ("bounds on", "norms of sand")),
        ("Alzheimer's Disease and Schrödinger Bridges Now", ("disease and", "bridges now")),
        ("GPT-3.5 Is Not a Lawyer", ("is not a lawyer",)),
        ("Learning from 10,000 Grains of Sand", ("learning from", "grains of sand")),
        ("$K$-Means", ("means",)),
        ("深度学习", ()),
        ("?!", ()),
    ],
)
def test_phrases_are_the_words_that_are_written_in_one_way(title: str, found: tuple[str, ...]):
    assert phrases(title) == found


@pytest.mark.parametrize(
    ("title", "sent"),
    [
        ("a" * 250, "a" * 250),
        ("a" * 251, "a" * 250),
        ("word " * 50, ("word " * 50).strip()),
        ("word " * 51, ("word " * 50).strip()),
    ],
)
def test_a_long_title_ends_at_a_word(title: str, sent: str):
    assert plain_title(title) == sent


def test_a_title_of_few_words_is_in_many_others():
    assert not is_distinct("Deep Reinforcement Learning")
    assert not is_distinct("$K$-Means $\\alpha$")
    assert is_distinct("Playing Atari with Sand")


# ── questions ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", SERVICES)
def test_only_the_title_is_sent(name: str, client: HttpClient):
    paper = Paper(
        "Sand Moves in Harbours",
        abstract="We measure tides.",
        authors=("Ada Fjord",),
        venue="Journal of Quiet Places",
        url="https://intranet.example.org/42",
    )
    (question,) = opened(name, client).questions(wanted(paper))
    sent = " ".join(query(question).values()).lower()
    assert all(word in sent for word in ("sand", "moves", "harbours"))
    assert not any(word in sent for word in ("tides", "fjord", "quiet", "intranet", "example"))


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("title", [*HOSTILE, LONG])
def test_a_hostile_title_stays_a_title(name: str, title: str, client: HttpClient):
    service = opened(name, client)
    honest, hostile = (service.questions(wanted(one))[0] for one in ("Sand Moves Today", title))
    assert urlsplit(hostile.url)[:3] == urlsplit(honest.url)[:3]
    assert query(hostile).keys() == query(honest).keys()
    assert hostile.url.isascii()
    assert " " not in hostile.url
    assert len(hostile.url) < 1_500


@pytest.mark.parametrize("title", [*HOSTILE, LONG])
def test_the_query_of_arxiv_has_no_operator_from_a_title(title: str, client: HttpClient):
    (question,) = opened("arxiv", client).questions(wanted(title))
    phrase = 'ti:"[a-z0-9 ]+"'
    assert re.fullmatch(f"{phrase}|\\({phrase}( AND {phrase})+\\)", query(question)["search_query"])


@pytest.mark.parametrize("title", [*HOSTILE, LONG])
def test_the_filter_of_openalex_has_no_operator_from_a_title(title: str, client: HttpClient):
    (question,) = opened("openalex", client).questions(wanted(title))
    field, _, words = query(question)["filter"].partition(":")
    assert field == "title.search"
    assert words.replace(" ", "").isalnum()
    assert words.islower()


def test_semantic_scholar_is_sent_no_hyphens(client: HttpClient):
    (question,) = opened("semantic-scholar", client).questions(wanted("Multi-Agent Sand–Water"))
    assert query(question)["query"] == "Multi Agent Sand Water"


@pytest.mark.parametrize("name", ["arxiv", "openalex"])
def test_several_titles_are_one_request_but_those_that_many_papers_have(
    name: str, client: HttpClient
):
    titles = [f"A Title of Sand with Number {number}" for number in range(11)]
    questions = opened(name, client).questions(wanted(*titles, "Deep Learning", "Sand"))
    assert asked_by(questions) == [[*range(1, 11)], [11], [12], [13]]


@pytest.mark.parametrize("name", ["huggingface", "crossref", "semantic-scholar"])
def test_one_title_is_one_request(name: str, client: HttpClient):
    questions = opened(name, client).questions(wanted("Deep Learning", "Sand Moves at Night Here"))
    assert asked_by(questions) == [[1], [2]]


@pytest.mark.parametrize("name", ["arxiv", "openalex"])
def test_addresses_stay_short(name: str, client: HttpClient):
    titles = [f"{number} {'Reinforcement ' * 17}" for number in range(30)]
    questions = opened(name, client).questions(wanted(*titles))
    assert sorted(chain.from_iterable(asked_by(questions))) == [*range(1, 31)]
    assert max(len(question.url) for question in questions) < 2_300


@pytest.mark.parametrize("name", ["arxiv", "openalex"])
def test_a_title_without_a_word_to_search_for_is_not_asked_about(name: str, client: HttpClient):
    assert opened(name, client).questions(wanted("深度学习", "?!")) == []


IDENTIFIED: Mapping[str, tuple[Paper, str]] = {
    "huggingface": (
        Paper("Sand", keys={"arxiv": "2501.00001"}),
        "https://huggingface.co/api/papers/2501.00001",
    ),
    "arxiv": (
        Paper("Sand", keys={"arxiv": "hep-th/9901001"}),
        "https://export.arxiv.org/api/query?id_list=hep-th%2F9901001&max_results=1",
    ),
    "crossref": (
        Paper("Sand", keys={"doi": "10.5555/a(b)<c>"}),
        "https://api.crossref.org/works?filter=doi%3A10.5555%2Fa%28b%29%3Cc%3E&rows=1&select=",
    ),
    "semantic-scholar": (
        Paper("Sand", keys={"doi": "10.5555/a?b#c"}),
        "https://api.semanticscholar.org/graph/v1/paper/DOI:10.5555/a%3Fb%23c?fields=",
    ),
    "openalex": (
        Paper("Sand", keys={"arxiv": "2501.00001"}),
        "https://api.openalex.org/works?filter=doi%3A10.48550%2Farxiv.2501.00001&per_page=100",
    ),
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_paper_with_an_identifier_is_asked_for_by_it(name: str, client: HttpClient):
    paper, url = IDENTIFIED[name]
    (question,) = opened(name, client).questions(wanted(paper))
    assert question.by_identifier
    assert question.url.startswith(url)


@pytest.mark.parametrize("name", SERVICES)
def test_an_identifier_in_running_text_may_be_another_papers(name: str, client: HttpClient):
    paper, _ = IDENTIFIED[name]
    cited = Paper("Sand Moves", keys=paper.keys, keys_in_text=paper.keys)
    (question,) = opened(name, client).questions(wanted(cited))
    assert not question.by_identifier


def test_identifiers_are_asked_for_together(client: HttpClient):
    papers = [Paper("Sand", keys={"doi": f"10.5555/{number}"}) for number in range(60)]
    for name in ("crossref", "openalex"):
        assert asked_by(opened(name, client).questions(wanted(*papers))) == [
            [*range(1, 51)],
            [*range(51, 61)],
        ]


def test_a_doi_with_a_comma_is_no_filter(client: HttpClient):
    papers = wanted(*(Paper("Sand", keys={"doi": f"10.5555/{end}"}) for end in ("a", "b,c", "d")))
    together, alone = opened("crossref", client).questions(papers)
    assert asked_by([together, alone]) == [[1, 3], [2]]
    assert alone.url == "https://api.crossref.org/works/10.5555%2Fb%2Cc"
    (by_title,) = opened("openalex", client).questions(papers[1:2])
    assert not by_title.by_identifier


@pytest.mark.parametrize("name", SERVICES)
def test_what_doctor_asks_for_is_asked_by_identifier(name: str, client: HttpClient):
    service = opened(name, client)
    (question,) = service.questions([Wanted(0, service.known)])
    assert question.by_identifier


@pytest.mark.parametrize("name", SERVICES)
def test_a_question_does_not_hold_who_asks(name: str, client: HttpClient):
    (question,) = opened(name, client, api_key="secret-key").questions(wanted("Sand Moves Today"))
    assert "secret" not in question.url
    assert "ops" not in question.url


def test_a_mirror_is_asked_below_its_address(client: HttpClient):
    mirror = opened("semantic-scholar", client, url="https://mirror.example.org/s2/")
    (question,) = mirror.questions(wanted("Sand"))
    assert question.url.startswith("https://mirror.example.org/s2/paper/search/match?query=Sand&")


def test_requests_a_day_are_as_many_as_are_set(client: HttpClient):
    assert opened("openalex", client).requests_a_day == 800
    assert opened("arxiv", client).requests_a_day == 2_000
    assert opened("arxiv", client, a_day=0).requests_a_day == 0


def test_a_title_is_no_longer_than_hugging_face_takes(client: HttpClient):
    (question,) = opened("huggingface", client).questions(wanted(LONG))
    assert len(query(question)["q"]) <= title_lengths.ASKED == 250
