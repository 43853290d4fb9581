"""Texts and examples that no topic can be like, or hardly: each has a fault or a warning."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from monitor.match.like import MAX_TEXT, MOST_EXAMPLES
from monitor.store.topics import matches
from tests.cli.conftest import SUNDAY, Say
from tests.house import AGENTS, BANDITS, House

ONLY_COMMON = "like: has only words that nearly every paper has; add words of your subject"
TOO_LONG = "should have at most 20,000 characters, not 20,001"
SENTENCE = "language agents that share their plans in writing "

# fmt: off
TEXTS = {
    "a sentence of all characters that it may have": (SENTENCE * 400)[:MAX_TEXT],
    "one character more": "x" * (MAX_TEXT + 1),
    "a word ten thousand times": "ox " * 6_666,
    "common words": "the of and that is for with " * 700,
    "nothing but blanks": " \n\t" * 100,
    "numbers": "10.59 123 2024 " * 100,
    "Chinese": "深度学习模型用于语言代理的规划" * 100,
    "Arabic": "محمد علي يكتب عن الذكاء الاصطناعي " * 100,
    "Thai": "การเรียนรู้เชิงลึกสำหรับตัวแทนภาษา" * 100,
    "emoji": "😀👩\u200d👧🧠" * 1_000,
    "combining marks": "e" + "\u0301" * (MAX_TEXT - 1),
    "marks of direction": "\u202e\u200f agents \u202b" * 1_000,
    "NULs": "agents\0plan " * 1_000,
    "TeX": r"$\frac{\alpha}{\beta}$ \textbf{agents} {\'e} " * 400,
    "open brackets": "{$\\frac{" * 2_000,
}
FAULTS = {
    "one character more": TOO_LONG,
    "common words": ONLY_COMMON,
    "nothing but blanks": ONLY_COMMON,
    "emoji": ONLY_COMMON,
    "combining marks": ONLY_COMMON,
    "open brackets": ONLY_COMMON,
}
# fmt: on


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_learned_from_or_its_fault_is_said(house: House, say: Say, name: str):
    house.settings["topics"]["bad"] = {"like": TEXTS[name]}
    checked = say("check")
    assert checked.status == (2 if name in FAULTS else 0), checked.err
    assert FAULTS.get(name, "") in " ".join(checked.err.split())
    assert ("topics.bad" in checked.err) == (name in FAULTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_tried_or_refused(house: House, say: Say, on_sqlite: None, name: str):
    """An abstract is longer than the name of a file may be, and is none."""
    for text in (TEXTS[name], TEXTS[name][:1_500]):
        tried = say("topics", "try", "--like", text)
        assert "Traceback" not in tried.err and "cannot read" not in tried.err
        assert tried.status in (0, 2) and (tried.status == 0) == bool(tried.out)
        if tried.status:
            words = "only words that nearly every paper has", "may have 20,000 characters"
            assert any(each in tried.err for each in words)


def entry(name: str) -> str:
    return f"@article{{{name}, title={{Agents in the Browser of {name}}}, year={{2024}}}}\n"


RIS = "TY  - JOUR\nTI  - Agents in the Browser\nPY  - 2024\nER  - \n"
FILES: dict[str, tuple[bytes | str, str]] = {
    "cut.bib": (entry("a") + entry("b") + "@article{c, title={Agents in", "entry is broken"),
    "begun.bib": ("@article{a, title={Agents", "entry is broken"),
    "cut.ris": (f"{RIS}TY  - JOUR\nTI  - Half", "the document ends inside this reference"),
    "begun.ris": ("TY  - JO", "the document ends inside this reference"),
    "cut.jsonl": ('{"title": "Agents in the Browser"}\n{"title": "Half', "line 2"),
    "empty.bib": ("", "the document is empty"),
    "blank.jsonl": (" \n", "the document is empty"),
    "packed.bib": (gzip.compress(entry("a").encode()), "the document is"),
    "nulls.bib": (b"\0" * 5_000, "the document is empty"),
    "page.ris": ("<html><body>Sign in</body></html>", "the document"),
}
WHOLE_IN_PART = {"cut.bib": 2, "cut.ris": 1, "cut.jsonl": 1}


def special_files(folder: Path) -> dict[str, str]:
    """Make what is no file to read, and return what is said of each."""
    (folder / "folder.bib").mkdir()
    os.mkfifo(folder / "pipe.bib")
    (folder / "endless.bib").symlink_to("/dev/zero")
    (folder / "round.bib").symlink_to("round.bib")
    with (folder / "huge.bib").open("wb") as huge:
        huge.truncate(65 * 1024 * 1024)
    return {
        "folder.bib": "is not a regular file",
        "pipe.bib": "is not a regular file",
        "endless.bib": "is not a regular file",
        "round.bib": "Too many levels of symbolic links",
        "huge.bib": "larger than 67,108,864 bytes",
        "none.bib": "there is no such file",
    }


@pytest.fixture
def faults(house: House) -> dict[str, str]:
    """Topics that are like a file that cannot be read, or not wholly, beside a good one."""
    said = special_files(house.folder)
    for name, (content, fault) in FILES.items():
        data = content.encode() if isinstance(content, str) else content
        (house.folder / name).write_bytes(data)
        said[name] = fault
    house.settings["topics"] |= {name.replace(".", "-"): {"like": {"file": name}} for name in said}
    return said


def test_check_says_what_is_wrong_with_each_file(house: House, say: Say, faults: dict[str, str]):
    for _ in ("before there is a store", "and with the topics in force"):
        checked = say("check", "--json")
        warnings = {each["where"]: each["message"] for each in checked.json["warnings"]}
        assert checked.status == 0 and len(checked.json["warnings"]) == len(faults)
        for name, fault in faults.items():
            where = f"topics.{name.replace('.', '-')}"
            if not (house.folder / name).is_file():
                where = f"{where}.like.file"
                fault = "there is no file"
            assert name in warnings[where] and fault in warnings[where], warnings[where]
        house.ingest(AGENTS, BANDITS)


def test_files_that_cannot_be_read_park_their_topics_alone(
    house: House, say: Say, faults: dict[str, str]
):
    house.add("1.txt", AGENTS, BANDITS)
    ran = say("run", "--now", SUNDAY)
    assert ran.status == 0 and "Traceback" not in ran.err
    problems = "\n".join(house.problems())
    for name in faults:
        topic = name.replace(".", "-")
        is_parked = f"topic {topic} is parked" in problems
        assert is_parked == (name not in WHOLE_IN_PART), name
        if is_parked:
            line = next(line for line in problems.splitlines() if f"topic {topic} is" in line)
            assert name in line and "could be read" in line
    assert house.read(matches.newest_ids, "agents", 10) == [1]


@pytest.mark.parametrize("name", ["begun.bib", "pipe.bib", "none.bib", "folder.bib", "round.bib"])
def test_a_file_that_cannot_be_read_is_tried_and_learned_with_its_fault(
    house: House, say: Say, faults: dict[str, str], name: str
):
    house.ingest(AGENTS)
    commands = ["topics", "relearn", name.replace(".", "-")], ["topics", "try", "--like", name]
    for words in commands:
        said = say(*words)
        if name == "folder.bib" and "--like" in words:
            continue
        assert said.status == 2 and name in said.err and faults[name] in " ".join(said.err.split())


def test_a_text_in_a_file_is_read_with_its_faults(house: House, say: Say):
    (house.folder / "latin.txt").write_bytes("Réseaux".encode("latin-1"))
    (house.folder / "long.txt").write_text("agent " * 4_000)
    (house.folder / "good.txt").write_text(SENTENCE)
    os.mkfifo(house.folder / "pipe.txt")
    for name, fault in {
        "latin.txt": "it is not UTF-8",
        "long.txt": "may have 20,000 characters",
        "pipe.txt": "is not a regular file",
    }.items():
        said = say("topics", "try", "--like", name)
        assert said.status == 2 and fault in " ".join(said.err.split())
    assert "agents" in say("topics", "try", "--like", "good.txt").out


def test_examples_are_identifiers_and_few(house: House, say: Say):
    like: dict[str, object] = {"text": SENTENCE, "papers": ["arxiv:2307.13854"]}
    house.settings["topics"]["bad"] = {"like": like}
    house.ingest(AGENTS)
    [warning] = say("check", "--json").json["warnings"]
    assert "no example arxiv:2307.13854" in warning["message"]
    like["papers"] = [f"doi:10.5555/{number}" for number in range(10_000)]
    said = say("check").err
    assert f"should have at most {MOST_EXAMPLES} entries, not 10,000" in said
    assert "topics.bad.like.papers" in said and said.count("10.5555") == 0
    like["papers"] = ["doi:10.5555/1"] * 2
    assert "“doi:10.5555/1” is in this list twice" in say("check").err
    like["papers"] = ["a paper of mine"]
    assert "“a paper of mine” is no identifier" in say("check").err


def test_a_name_that_is_too_long_for_a_file_stops_no_other_topic(house: House, say: Say):
    house.settings["topics"]["long"] = {"like": {"text": AGENTS[1], "file": f"{'x' * 300}.bib"}}
    checked = say("check", "--json")
    assert (checked.status, "there is no file" in checked.out) == (0, True)
    house.add("1.txt", AGENTS, BANDITS)
    assert say("run", "--now", SUNDAY).status == 0
    assert house.read(matches.newest_ids, "agents", 10) == [1]
    assert house.read(matches.newest_ids, "long", 10) == [1]
