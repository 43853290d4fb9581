"""The addresses of an abstract that are the paper's own, and of which kind they are."""

from __future__ import annotations

from collections import Counter

import pytest

from monitor.match.meaning.evaluate import View
from monitor.model import Paper
from monitor.resources import resource
from monitor.sources.huggingface_page.source import HuggingFacePage
from monitor.text.addresses import find_addresses, paper_links
from tests.sources.scenario import read
from tests.test_hostile_texts import MAX_RATIO, grows

REPO = "https://github.com/owner/name"


def kinds_of(text: str) -> list[tuple[str, str]]:
    return [(address.kind, address.url) for address in find_addresses(text)]


@pytest.mark.parametrize(
    "written",
    [
        REPO,
        f"{REPO}.",
        f"({REPO}).",
        f"{REPO} .",
        f'{REPO}."',
        f"\\url{{{REPO}}}.",
        f"\\href{{{REPO}}}{{this page}}.",
        f"[GitHub]({REPO}).",
        f"<{REPO}>",
        f"the GitHub{REPO}",
        f"{REPO}\N{NO-BREAK SPACE}.",
        f"{REPO}’s pages",
        f"代码{REPO}，数据",
        "代码github.com/owner/name上",
        f"{REPO}\N{RIGHT-TO-LEFT OVERRIDE}gpj.",
        f"this address11{REPO}",
        "github.com/owner/name.",
        "www.github.com/owner/name.",
        "https: / /github. com/owner/name.",
        "https:/github.com/owner/name.",
        "github. com/owner/name.",
        "https//github.com/owner/name",
        "https://github.com/owner/ name.",
        "https://github.com/owner/\nname.",
        f"{REPO}.We hope so.",
    ],
)
def test_an_address_is_read_in_every_form(written: str) -> None:
    text = f"Agents plan. Our code is available at {written}"
    assert {url.replace("www.", "") for _, url in kinds_of(text)} == {REPO}


def test_an_address_in_two_braces_is_the_same_twice() -> None:
    text = f"Our code is at {REPO}{{{REPO}}}."
    assert kinds_of(text) == [("code", REPO)] * 2


def test_a_line_break_behind_an_address_hides_no_other() -> None:
    text = "Code is at https://github.com/a/\nhttps://github.com/a/b and www.github.com/c/d."
    assert [url[-4:] for _, url in kinds_of(text)] == ["m/a/", "/a/b", "/c/d"]


@pytest.mark.parametrize("site", ["github.com/foo", "www.example.edu"])
@pytest.mark.parametrize("prose", ["We also plan.", "plan/act agents plan.", "v1.2 agents plan."])
def test_prose_behind_an_address_is_no_part_of_it(site: str, prose: str) -> None:
    assert [url for _, url in kinds_of(f"Code at https://{site}/ {prose}")] == [f"https://{site}/"]


def test_an_address_says_where_it_stands() -> None:
    text = "Code (\\url{github.com/a\\_b/c}) is public."
    [address] = find_addresses(text)
    assert text[address.start : address.end] == "github.com/a\\_b/c"
    assert address.url == "https://github.com/a_b/c"


def test_the_folder_of_a_person_has_its_tilde_back() -> None:
    text = "Project homepage: www.example.edu/ doe/plans.html."
    [address] = find_addresses(text)
    assert (address.kind, address.url) == ("project", "https://www.example.edu/~doe/plans.html")
    assert text[address.start : address.end] == "www.example.edu/ doe/plans.html"
    assert kinds_of("See our website www.example.edu.") == [("project", "https://www.example.edu")]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("code", "Code: https://gitlab.com/a/b"),
        ("code", "The tool is at https://bitbucket.org/a/b and free."),
        ("code", "We release it at https://codeberg.org/a/b."),
        ("code", "Our source code is available at https://lab.example.edu/planner."),
        ("data", "We release it at https://huggingface.co/datasets/a/b."),
        ("data", "All recordings are on https://zenodo.org/records/12."),
        ("data", "It is archived (https://doi.org/10.5281/zenodo.12)."),
        ("data", "The dataset is available at https://github.com/a/b."),
        ("data", "It can be found at https://osf.io/ab12c/."),
        ("data", "The corpus is available at www.example.edu/corpus."),
        ("code", "Code is available at https://agents.github.io/plan."),
        ("code", "Our implementation can be found on https://sites.google.com/view/plan."),
        ("project", "Code and videos are at https://agents.github.io/plan."),
        ("project", "More on code generation is at https://agents.github.io/plan."),
        ("project", "The project's website is at agents.github.io."),
        ("project", "Project page: https://lab.example.edu/planner"),
        ("project", "For the demo, see https://lab.example.edu/planner."),
        ("video", "A video is at https://youtu.be/abc."),
        ("video", "Videos: https://vimeo.com/12"),
        ("other", "We release our models at https://huggingface.co/a/b."),
        ("other", "We release our models at https://huggingface. co/a/b."),
        ("data", "We release it on huggingface. co/datasets/a/b."),
        ("other", "We keep a list of references at https://github.com/a/b."),
        ("other", "A curated collection of resources is at https://github.com/a/b."),
        ("other", "It is available at https://aka.ms/planner"),
        ("other", "Code and data are available at https://lab.example.edu/planner."),
    ],
)
def test_a_host_and_the_words_before_it_say_what_an_address_is(kind: str, text: str) -> None:
    assert [found for found, _ in kinds_of(text)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "Code and videos are at https://agents.github.io/plan.",
        "Code and data are available at https://lab.example.edu/planner.",
        "The project page with source code is at https://agents.github.io/plan.",
        "Code and data are at https://zenodo.org/records/12.",
    ],
)
def test_a_sentence_says_that_code_is_among_what_is_there(text: str) -> None:
    [link] = paper_links(Paper("Plans", text))
    assert link.kind != "code" and "code" in link.kinds
    assert View(Paper("Plans", text), ()).labels("has") == link.kinds
    [link] = paper_links(Paper("Plans", "Project page: https://agents.github.io/plan."))
    assert link.kinds == ("project",)


def test_each_address_of_a_sentence_has_its_own_words() -> None:
    text = "We share code (https://lab.example.edu/a) and data (https://lab.example.edu/b)."
    assert [kind for kind, _ in kinds_of(text)] == ["code", "data"]


@pytest.mark.parametrize(
    "text",
    [
        "It transfers when evaluated on amazon.com and ebay.com, too.",
        "We collected reviews from shop.example.com.",
        "Agents browse sites such as https://news.example.com/today.",
        "Posts were collected from https://forum.example.com/all.",
        "We use a parser (https://github.com/others/parser).",
        "It is faster than Smith et al.'s code (https://github.com/smith/plans).",
        "The authors of Plans say that code is at https://github.com/others/plans.",
        "This is an extension of https://github.com/others/plans.",
        "We evaluate it with an API (https://api.example.com/docs).",
        "We fine-tune Llama (https://github.com/others/llama) on plans of agents.",
        "Experiments on plans from https://plans.github.io are as good.",
        "The first version is https://arxiv.org/abs/2401.00001.",
        "This is https://doi.org/10.1000/12.",
        "They wrote “code is available at https://github.com/others/parser”, and it was not.",
        'They wrote "code is available at https://github.com/others/parser", and it was not.',
        "Our code will be at https://github.com/xxxx.",
        "Our code is on https://github.com.",
        "Our code is at https://gıthub.com/a/b and https://user:secret@github.com/a.",
        "A ratio of 3.5/4 and input/output, e.g. a.b/c, at v1.2/v1.3.",
        "Our code is at ftp://github.example/a and javascript://github.com/a.",
        # arXiv's listings have these words in place of an address, or of a part of one.
        "Our code is at this https URL.",
        "Our code is at https://anonymous.this http URL",
        "Our code is at https://github.com/this http URL and www.this https URL.",
        "Our code is at https:/x.",
    ],
)
def test_what_is_not_the_papers_own_is_no_address(text: str) -> None:
    assert kinds_of(text) == []


def test_the_addresses_of_the_dumps() -> None:
    """64 of 229 works have addresses; one more names two shops."""
    texts = {
        paper.title.casefold(): paper
        for dump in sorted(resource("seeds").glob("*.txt"))
        for paper in read(HuggingFacePage, dump.read_bytes()).papers
    }
    links = [paper_links(paper) for paper in texts.values()]
    assert (len(links), sum(map(bool, links))) == (229, 64)
    kinds = Counter(link.kind for each in links for link in each)
    assert kinds == {"code": 41, "project": 20, "video": 1, "data": 1, "other": 4}
    urls = {link.url for each in links for link in each}
    assert {
        "https://github.com/adobe-research/dynasaur",
        "https://chenweize1998.github.io/optima-project-page",
        "https://github.com/lt-asset/selp",
        "https://grounded-decoding.github.io",
        "https://modelscope.cn/studios/damo/ModelScopeGPT/summary",
    } <= urls
    assert not any("amazon" in url or "ebay" in url for url in urls)


@pytest.mark.parametrize(
    ("before", "piece", "after"),
    [
        ("", "http://", ""),
        ("http://", "a.", ""),
        ("http://a.com/", ")", ""),
        ("", "https://a.com/b ", ""),
        ("", '" https://www.x.yy/z ', ""),
        ("https://", "a- ", ""),
        ("", "a" * 63 + ".", "/"),
    ],
)
def test_hostile_texts_take_time_in_proportion_to_their_length(
    before: str, piece: str, after: str
) -> None:
    def find(text: str) -> object:
        return find_addresses(f"{before}{text}{after}")

    find("warm up")
    assert min(grows(find, piece) for _ in range(2)) <= MAX_RATIO
