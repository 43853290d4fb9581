"""What commands say, as JSON, of a store and a configuration from before `like:` topics.

answers_of_0046.json is what that version said of the same store. Each of its values stays what it
was; what later versions added is listed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.pipeline.cleanup import make_searchable
from tests.cli.conftest import Say
from tests.house import House
from tests.pipeline import older_store

NOW = "2026-11-23T09:00:00+00:00"
ANSWERS: dict[str, Any] = json.loads(
    Path(__file__).with_name("answers_of_0046.json").read_text("utf-8")
)
WITHOUT_NOW = ("check", "config")
# By where it is; `[]` are all entries of a list.
ADDED = {
    "config.embeddings",
    *(f"config.topics.{name}.like" for name in ("agents", "bandits", "learning", "noether")),
    *(f"{line}.papers[].affiliations" for line in ("papers", "papers agent", "papers saved")),
    *(
        f"explain {paper}.{field}"
        for paper in ("1", "2", "doi:10.5555/olive.2")
        for field in ("affiliations", "topics[].why[].near")
    ),
}


@pytest.fixture(params=["sqlite", "postgresql"])
def older(request: pytest.FixtureRequest, house: House) -> House:
    """The installation, with its store as the old version left it."""
    url = f"sqlite:///{house.folder}/data/monitor.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("empty_postgres_url")
    older_store.settings_before_like(house, url)
    older_store.restore(url, house.folder, "0046", older_store.ROWS_BEFORE_LIKE)
    for name in ("journal.jsonl", "refs.jsonl"):
        (house.folder / name).touch()
    return house


def compare(now: Any, before: Any, at: str) -> Iterator[tuple[str, str]]:
    """Yield where a value changed, with how, and what was added, with nothing."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key, value in before.items():
            if key not in now:
                yield f"{at}.{key}", "is gone"
            else:
                yield from compare(now[key], value, f"{at}.{key}")
        for key in now.keys() - before.keys():
            yield f"{at}.{key}", ""
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for new, old in zip(now, before, strict=True):
            yield from compare(new, old, f"{at}[]")
    elif now != before:
        yield at, f"{before!r} became {now!r}"


def test_scripts_are_answered_as_before_with_fields_that_are_listed(older: House, say: Say) -> None:
    with older.opened() as app:
        make_searchable(app.runtime)
    found: set[tuple[str, str]] = set()
    for line, before in ANSWERS.items():
        words = [*line.split(), "--json"]
        heard = say(*words, *(() if line in WITHOUT_NOW else ("--now", NOW)))
        said = json.loads(heard.out.replace(str(older.folder), older_store.FOLDER))
        if line == "config":
            said["store"] = before["store"]  # PostgreSQL has another address
        found.update(compare(said, before, line))
    assert [f"{at}: {how}" for at, how in sorted(found) if how] == []
    assert {at for at, _ in found} == ADDED
