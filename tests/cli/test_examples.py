"""`papers rate --file library.bib` of papers that are not stored: examples until they arrive."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Say
from tests.house import AGENTS, FOLDING, House

WANTED = (
    "Gardens tended by a language agent",
    "Gardens of roses: an agent of language prunes them.",
)
LIKE_IT = ("Roses for a language agent", "An agent of language prunes roses in gardens.")
OTHERS = [
    (f"A language agent and {subject}", f"The agent studies {subject} with language.")
    for subject in ("bees", "comets", "bridges", "dialects", "enzymes", "fossils", "glaciers")
]
LIBRARY = f"""@article{{a, doi = {{10.1234/roses}}, title = {{{WANTED[0]}}},
  abstract = {{{WANTED[1]}}}}}
@article{{b, title = {{Nothing that a topic looks for}}, doi = {{10.1234/nothing}}}}
"""


def rate(house: House, say: Say, *more: str) -> dict[str, Any]:
    library = house.folder / "library.bib"
    library.write_text(LIBRARY)
    answer: dict[str, Any] = say("papers", "rate", "--file", str(library), "--json", *more).json
    return answer


def examples(say: Say) -> list[str]:
    return [example["title"] for example in say("papers", "rated", "--json").json["examples"]]


def test_an_example_orders_the_next_digest_and_is_no_paper(house: House, say: Say) -> None:
    house.run(AGENTS, FOLDING)
    answer = rate(house, say)
    assert (answer["rated"], answer["examples"]) == (0, 1)
    [left_out] = answer["left_out"]
    assert "no topic matches this paper" in left_out["why"]
    assert len(say("papers", "search", "--json").json["papers"]) == 2
    rate(house, say)
    assert examples(say) == [WANTED[0]]
    assert "not stored" in say("papers", "rated").out
    house.next_morning(*OTHERS, LIKE_IT)
    [group] = house.digest().groups
    assert group.entries[0].paper.title == LIKE_IT[0]
    assert house.digest().notes[-1] == "Ordered by 1 paper you marked."


def test_its_paper_is_news_when_it_arrives_and_takes_over_the_rating(
    house: House, say: Say
) -> None:
    house.run(AGENTS, FOLDING)
    rate(house, say)
    # Under another title: by its DOI.
    record = {"title": "Roses, revised", "abstract": WANTED[1], "doi": "10.1234/ROSES"}
    (house.folder / "later.jsonl").write_text(json.dumps(record) + "\n")
    later = {"kind": "jsonl", "path": "later.jsonl", "first_run": "deliver"}
    house.settings["sources"]["later"] = later
    house.next_morning()
    shown = [p.paper.title for g in house.digest().groups for p in g.entries]
    assert record["title"] in shown
    [rated] = say("papers", "rated", "--json").json["rated"]
    assert (rated["title"], rated["verdict"], rated["how"]) == (record["title"], "wanted", "file")
    assert examples(say) == []
    assert rate(house, say)["rated"] == 1


def test_the_papers_of_a_library_in_ris_are_examples(house: House, say: Say) -> None:
    house.run(AGENTS)
    library = house.folder / "library.RIS"
    library.write_text(f"TY  - JOUR\nTI  - {WANTED[0]}\nAB  - {WANTED[1]}\nER  - \n")
    answer = say("papers", "rate", "--file", str(library), "--json").json
    assert (answer["rated"], answer["examples"], answer["left_out"]) == (0, 1, [])
    assert examples(say) == [WANTED[0]]


def test_examples_are_taken_back_and_forgotten(house: House, say: Say) -> None:
    house.run(AGENTS)
    rate(house, say)
    assert say("papers", "rate", "https://doi.org/10.1234/roses", "none").status == 0
    assert examples(say) == []
    assert say("papers", "rate", "https://doi.org/10.1234/roses", "none").status == 2
    rate(house, say, "--topic", "agents")
    assert len(examples(say)) == 2
    forget = ("papers", "rated", "--forget", "--subscription", "lab", "--json")
    assert say(*forget).json == {"forgotten": 2}
    assert examples(say) == []
