"""`papers undecided`: the records that an error kept from being stored."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.identity import keys
from tests.cli.conftest import SUNDAY, Say
from tests.cli.test_json import RUNS, differences
from tests.cli.test_json import keys as named
from tests.house import FOLDING, House


def test_undecided_records_are_listed_and_a_problem_until_they_are_stored(
    lived: House, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprint = keys.fingerprint

    def raising(paper: Any) -> str:
        if paper.title == FOLDING[0]:
            raise IndexError("list index out of range")
        return fingerprint(paper)

    lived.add("3.txt", FOLDING)
    with monkeypatch.context() as patched:
        patched.setattr(keys, "fingerprint", raising)
        heard = say("ingest", "--now", SUNDAY)
        again = say("papers", "undecided", "--retry", "--json")
    assert (heard.status, again.status, len(again.json["undecided"])) == (0, 1, 1)
    assert "not decided, and kept: IndexError: list index out of range" in heard.err
    assert '"event": "record not decided"' in heard.err and "Traceback" in heard.err
    heard = say("papers", "undecided", "--json")
    shape = named("source document raw_id error version read tried record")
    assert differences(heard.json["undecided"], [shape]) == [] and heard.json["runs"] == []
    [record] = heard.json["undecided"]
    assert (record["source"], record["document"]) == ("page", "3.txt")
    assert (record["record"]["title"], record["record"]["abstract"]) == FOLDING
    assert FOLDING[0] in say("papers", "undecided").out
    heard = say("status", "--json")
    assert (heard.status, heard.json["sources"][0]["undecided"]) == (1, 1)
    assert any("1 record that could not be decided" in one for one in heard.json["problems"])
    again = say("papers", "undecided", "--retry", "--json")
    assert differences(again.json["runs"], RUNS) == [] and again.json["undecided"] == []
    assert (again.status, again.json["runs"][0]["outcome"]) == (0, "retried")
    assert say("status", "--json").json["sources"][0]["undecided"] == 0
    assert say("papers", "undecided").out == "No record is undecided.\n"
