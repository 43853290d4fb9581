"""`papers rate`, `save`, `rated`, `saved`: answers that are stored once, listed, and taken back."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Say
from tests.house import AGENTS, FOLDING, House

TITLE = AGENTS[0]


@pytest.fixture
def lab(house: House) -> House:
    house.run(AGENTS, FOLDING)
    return house


def verdicts(say: Say) -> list[tuple[str, str]]:
    return [
        (one["title"], one["verdict"]) for one in say("papers", "rated", "--json").json["rated"]
    ]


def test_an_answer_is_stored_once_beside_a_saved_paper_taken_back_and_forgotten(
    lab: House, say: Say
) -> None:
    for _ in range(2):
        assert say("papers", "rate", TITLE, "up").status == 0
        assert verdicts(say) == [(TITLE, "wanted")]
    assert "wanted" in say("papers", "rated").out
    say("papers", "rate", TITLE, "down")
    assert verdicts(say) == [(TITLE, "unwanted")]
    say("papers", "save", TITLE)
    [paper] = say("papers", "saved", "--json").json["papers"]
    assert paper["title"] == TITLE
    [save] = paper["saved"]
    assert save.pop("at").startswith("2026-11-")
    assert save == {"subscription": "lab", "who": "operator"}
    assert "Teaching" in say("papers", "saved", "--format", "bibtex").out
    say("papers", "rate", TITLE, "none")
    assert say("papers", "saved", "--json").json == {"papers": []}
    assert verdicts(say) == []
    say("papers", "save", TITLE)
    forget = ("papers", "rated", "--forget", "--subscription", "lab", "--json")
    assert say(*forget).json == {"forgotten": 1}
    assert verdicts(say) == []


def test_the_topic_and_the_subscription_have_to_be_clear(lab: House, say: Say) -> None:
    refused = say("papers", "rate", FOLDING[0], "up")
    assert (refused.status, "--topic" in refused.err) == (2, True)
    assert say("papers", "rate", FOLDING[0], "up", "--topic", "agents").status == 0
    assert verdicts(say) == [(FOLDING[0], "wanted")]
    assert say("papers", "rate", FOLDING[0], "none").status == 0
    assert verdicts(say) == []
    lab.settings["subscriptions"]["ada"] = {"topics": ["agents"], "channels": ["pages"]}
    lab.run()
    refused = say("papers", "rate", TITLE, "up")
    assert (refused.status, "ada" in refused.err) == (2, True)
    assert say("papers", "rate", TITLE, "up", "--subscription", "ada").status == 0


def test_a_library_and_a_table_are_rated(lab: House, say: Say) -> None:
    library = lab.folder / "library.bib"
    library.write_text(
        f"@article{{a, title = {{{TITLE}}}, author = {{A. Lee}}, year = 2026}}\n"
        "@article{b, title = {A paper that nobody has stored}, author = {B. Ray}, year = 2026}\n"
        "@article{c, title = {Cut\n"
    )
    answer = say("papers", "rate", "--file", str(library), "--json").json
    assert (answer["rated"], len(answer["left_out"])) == (1, 2)
    assert verdicts(say) == [(TITLE, "wanted")]
    table = lab.folder / "table.csv"
    table.write_text(f'title,verdict,topic\n"{TITLE}",down,\n"{FOLDING[0]}",,agents\n')
    assert say("papers", "rate", "--file", str(table)).status == 0
    assert sorted(verdicts(say)) == [(FOLDING[0], "wanted"), (TITLE, "unwanted")]
    for missing in ("missing.csv", "missing.bib"):
        refused = say("papers", "rate", "--file", str(lab.folder / missing))
        assert (refused.status, f"{missing}: No such file" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("title,verdict\n{one},up\n{two},sideways\n", "line 3: 'sideways' is not a verdict"),
        ("title,verdict\n{one},up\n,up\n", "line 3: names no paper"),
        ("name,verdict\n{one},up\n", "no column names the paper"),
        ("", "no column names the paper"),
        ("title,verdict\n{one},up,down\n", "line 2: has more values than there are columns"),
        ("title,topic\n{one},\n{one},nothing\n", "no subscription has a topic 'nothing'"),
        ("title\n" + "x" * 200_000, "line 2: field larger than field limit"),
    ],
)
def test_of_a_faulty_table_nothing_is_stored(lab: House, say: Say, table: str, said: str) -> None:
    file = lab.folder / "table.csv"
    file.write_text(table.format(one=TITLE, two=FOLDING[0]))
    refused = say("papers", "rate", "--file", str(file))
    assert (refused.status, said in refused.err.replace("\n", " ")) == (2, True)
    assert verdicts(say) == []


def test_a_file_of_which_nothing_can_be_used_fails(lab: House, say: Say) -> None:
    for name, text in (
        ("unknown.csv", "title\nA paper that nobody has stored\n"),
        ("empty.csv", "title\n"),
    ):
        (lab.folder / name).write_text(text)
        answer = say("papers", "rate", "--file", str(lab.folder / name))
        assert (answer.status, answer.out) == (1, "0 papers rated.\n")


def test_tables_of_spreadsheets_are_read(lab: House, say: Say) -> None:
    file = lab.folder / "table.csv"
    file.write_text(f"\ufeffTitle;Verdict\r\n{TITLE};UP\r\n;\r\n\r\n", encoding="utf-8")
    assert say("papers", "rate", "--file", str(file)).out == "1 paper rated.\n"
    assert verdicts(say) == [(TITLE, "wanted")]
    file.write_text(f"title,verdict\n{TITLE},down\n{TITLE},none\n")
    assert say("papers", "rate", "--file", str(file)).out == "2 papers rated.\n"
    assert verdicts(say) == []
