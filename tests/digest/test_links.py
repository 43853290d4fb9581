from __future__ import annotations

import pytest
from msgspec import structs

from monitor.digest.links import more_links, paper_link
from monitor.model import DigestPaper, Paper
from tests.digest.samples import digest, news

TITLE = "Agents & “plans” for 100% of café robots"


def link_of(paper: Paper, search: str = "") -> tuple[str, str]:
    found = paper_link(structs.replace(digest([news(paper)]).groups[0].entries[0], search=search))
    return found.url, found.search


def more(paper: Paper) -> dict[str, str]:
    entry: DigestPaper = digest([news(paper)]).groups[0].entries[0]
    return {link.text: link.url for link in more_links(entry)}


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"url": "https://x.org/1", "keys": {"arxiv": "2410.00001"}}, "https://x.org/1"),
        ({"keys": {"arxiv": "2410.00001"}}, "https://arxiv.org/abs/2410.00001"),
        ({"keys": {"arxiv": ("cs/0101001", "2410.00001")}}, "https://arxiv.org/abs/cs/0101001"),
        ({"keys": {"doi": "10.1002/(x)<1::a>"}}, "https://doi.org/10.1002/(x)%3C1::a%3E"),
        ({"keys": {"openreview": "a-B_1"}}, "https://openreview.net/forum?id=a-B_1"),
        ({"keys": {"pmid": "123"}}, "https://pubmed.ncbi.nlm.nih.gov/123/"),
        ({"pdf_url": "https://x.org/1.pdf"}, "https://x.org/1.pdf"),
        ({"url": "javascript:alert(1)", "keys": {"pmid": "1"}}, "https://pubmed.ncbi.nlm.nih.gov/1/"),
    ],
)  # fmt: skip
def test_a_title_leads_to_the_paper(fields: dict[str, object], url: str) -> None:
    assert link_of(Paper(TITLE, **fields)) == (url, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("search", "site", "begin"),
    [
        (
            "huggingface",
            "Hugging Face",
            "https://huggingface.co/papers?q=Agents+%26+%E2%80%9Cplans",
        ),
        ("arxiv", "arXiv", "https://arxiv.org/search/?searchtype=title&query=Agents+%26+"),
        ("google-scholar", "Google Scholar", "https://scholar.google.com/scholar?q=%22Agents+"),
        ("", "Google Scholar", "https://scholar.google.com/scholar?q=%22Agents+"),
    ],
)
def test_a_paper_without_a_link_leads_to_a_search_that_is_named(
    search: str, site: str, begin: str
) -> None:
    url, named = link_of(Paper(TITLE), search)
    assert (url[: len(begin)], named) == (begin, site)
    assert "100%25" in url and url.isascii()


def test_what_belongs_to_a_paper_is_linked_and_named() -> None:
    paper = Paper(
        TITLE,
        keys={"arxiv": "2410.00001", "doi": "10.1/x"},
        links={"code": "https://github.com/a/b", "project": "javascript:alert(1)"},
    )
    assert more(paper) == {
        "PDF": "https://arxiv.org/pdf/2410.00001",
        "arXiv 2410.00001": "https://arxiv.org/abs/2410.00001",
        "DOI 10.1/x": "https://doi.org/10.1/x",
        "code": "https://github.com/a/b",
    }
    assert more(structs.replace(paper, pdf_url="https://x.org/p"))["PDF"] == "https://x.org/p"
    assert more(Paper(TITLE)) == {}
