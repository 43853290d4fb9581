"""The papers of the dumps in seeds/ get their links from a list as arXiv has them, among others,
and from the list in seeds/."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from monitor.model import Paper
from monitor.resources import resource
from monitor.sources.fields.identifiers import arxiv_id
from monitor.store.sources.collections import MAX_WORDS
from monitor.text.folding import title_key
from tests.house import House, all_papers
from tests.pipeline.test_reference_lists import LIST, SOURCE

OTHERS = 20_000
TWINS = 200
FAMILIES = ("Abara", "Brandao", "Chen", "Dupont", "Evans", "Fischer", "Garcia", "Huang", "Ito")
LIST_IN_SEEDS = {
    "kind": "jsonl",
    "path": str(resource("seeds") / "arxiv.jsonl"),
    "role": "reference",
}
GIVEN = ("Ana", "Bo", "Chloe", "Dmitri", "Elodie", "Francois", "Grace", "Hiro", "Ivan", "Kwame")
CATEGORIES = ("cs.LG", "cs.AI", "cs.CL", "cs.CV", "stat.ML")


@pytest.fixture
def seeds(house: House) -> House:
    for path in resource("seeds").glob("*.txt"):
        shutil.copy(str(path), house.folder / "dumps" / path.name)
    house.ingest()
    (house.folder / "lists").mkdir()
    house.settings["sources"][LIST] = SOURCE
    return house


def test_nearly_all_are_linked_and_none_wrongly(seeds: House):
    papers = papers_of(seeds)
    assert len(papers) == 229 and not any(paper.url for paper in papers)
    own = [as_arxiv_has_it(paper, n) for n, paper in enumerate(papers)]
    rows = [*own, *twins(papers), *others(papers)]
    random.Random(1).shuffle(rows)
    links = read(seeds, rows)
    right = {paper.title: f"https://arxiv.org/abs/{own[n]['id']}" for n, paper in enumerate(papers)}
    linked = {title: url for title, url in links.items() if url}
    assert {title: url for title, url in linked.items() if url != right[title]} == {}
    assert len(linked) >= 220


def test_a_list_of_near_twins_alone_gives_no_link(seeds: House):
    assert not any(read(seeds, list(twins(papers_of(seeds)))).values())


def test_each_row_in_seeds_is_a_paper_of_the_dumps(seeds: House):
    papers = {title_key(paper.title): paper for paper in papers_of(seeds)}
    rows = rows_in_seeds()
    assert [row["title"] for row in rows if title_key(row["title"]) not in papers] == []
    for row in rows:
        paper = papers[title_key(row["title"])]
        assert row["abstract"] == " ".join(paper.abstract.split()[:MAX_WORDS])


def test_each_id_in_seeds_is_one_of_arxiv_and_as_old_as_its_paper():
    rows = rows_in_seeds()
    ids = [row["url"].removeprefix("https://arxiv.org/abs/") for row in rows]
    assert [id for id in ids if arxiv_id(id) != id] == [] and len(set(ids)) == len(ids) == 221
    for id, row in zip(ids, rows, strict=True):
        numbered = 12 * (2000 + int(id[:2])) + int(id[2:4])
        year, month, *_ = map(int, row["published"].split("-"))
        # An id is given when a paper is announced, perhaps in the month after it was submitted.
        assert numbered - (12 * year + month) in (0, 1), row["title"]


def test_each_row_in_seeds_fills_in_its_own_paper(seeds: House):
    seeds.settings["sources"][LIST] = LIST_IN_SEEDS
    seeds.ingest()
    rows = {row["title"]: row for row in rows_in_seeds()}
    for paper in papers_of(seeds):
        row = rows.pop(paper.title, {})
        assert paper.url == row.get("url", "")
        assert paper.authors == tuple(row.get("authors", ()))
        published = paper.published.date().isoformat() if paper.published else ""
        assert published.startswith(row["published"]) if row else not published
    assert rows == {}


def rows_in_seeds() -> list[dict[str, Any]]:
    lines = (resource("seeds") / "arxiv.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def papers_of(house: House) -> list[Paper]:
    return sorted((stored.paper for stored in house.read(all_papers)), key=lambda p: p.title)


def read(house: House, rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Read rows as a reference list, and return the link of each paper by its title."""
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (house.folder / "lists" / "arxiv.json").write_text(text, encoding="utf-8")
    house.ingest()
    return {paper.title: paper.url for paper in papers_of(house)}


# ── what a list has ─────────────────────────────────────────────────────────────────


def row(number: int, title: str, abstract: str, month: str = "2305") -> dict[str, Any]:
    dice = random.Random(f"{month}{number}")
    people = [[dice.choice(FAMILIES), dice.choice(GIVEN), ""] for _ in range(dice.randint(2, 6))]
    return {
        "id": f"{month}.{number:05}",
        "submitter": people[0][0],
        "authors": ", ".join(f"{given} {family}" for family, given, _ in people),
        "title": wrap(title, 70),
        "comments": "12 pages",
        "doi": f"10.1000/{month}.{number}" if number % 3 == 0 else None,
        "categories": " ".join(dice.sample(CATEGORIES, 2)),
        "abstract": f"  {wrap(abstract, 80)}\n",
        "versions": [{"version": "v1", "created": "Mon, 1 May 2023 10:00:00 GMT"}],
        "update_date": "2023-05-02",
        "authors_parsed": people,
    }


def wrap(text: str, width: int) -> str:
    """Break lines as arXiv does."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n  ".join(lines)


def as_arxiv_has_it(paper: Paper, number: int) -> dict[str, Any]:
    """Return a paper with LaTeX in its title, another ending, or the title of another version."""
    first, _, rest = paper.title.partition(" ")
    title = paper.title
    abstract = paper.abstract
    match number % 6:
        case 1:
            title = rf"\textsc{{{first}}} {rest}"
        case 2:
            title = f"{{{first}}} {rest.lower()}"
        case 3:
            title = paper.title.replace("-", "--").replace("'", "`")
        case 4:
            title = f"$\\mathbf{{{first}}}$ {rest}"
    if number % 33 == 5:
        title = f"Revisiting {rest} in Practice"
    if number % 2:
        kept = abstract.rpartition(". ")[0].rpartition(". ")[0] or abstract
        abstract = f"{kept}. Code and models are public, and this version has further proofs."
    if number % 5 == 0:
        abstract = abstract.replace("%", r"\%").replace(
            "state-of-the-art", r"\emph{state of the art}"
        )
    return row(number, title, abstract)


def twins(papers: Sequence[Paper]) -> Iterator[dict[str, Any]]:
    """Yield rows that are nearly a paper, and are of other people's work."""
    for number, paper in enumerate(papers[:TWINS]):
        other = papers[(number + 7) % len(papers)]
        title = paper.title
        abstract = paper.abstract
        beginning = ". ".join(abstract.split(". ")[:2])
        words = title.split()
        match number % 8:
            case 0:
                abstract = other.abstract
            case 1:
                title = f"{title}: Part II"
            case 2:
                words[-1] = next(word for word in other.title.split() if word not in words)
                title = " ".join(words)
                abstract = f"{beginning}. {other.abstract}"
            case 3:
                title = other.title[::-1].title()
                abstract = f"{beginning}. {other.abstract}"
            case 4:
                title = f"Towards {title}"
                abstract = other.abstract
            case 5:
                title = f"Comment on: {title}"
            case 6:
                abstract = f"{' '.join(abstract.split()[:8])} {other.abstract}"
            case 7:
                title = f"{title} for {other.title.split()[-1]}"
        yield row(number, title, abstract, "2410")


def others(papers: Sequence[Paper]) -> Iterator[dict[str, Any]]:
    """Yield rows of titles and abstracts that are put together from those of the papers."""
    dice = random.Random(2)
    words = [word for paper in papers for word in paper.title.split()]
    sentences = [sentence for paper in papers for sentence in paper.abstract.split(". ")]
    for number in range(OTHERS):
        title = " ".join(dice.choices(words, k=dice.randint(4, 12)))
        yield row(number, title, ". ".join(dice.choices(sentences, k=6)), "1907")
