"""Two papers that share a DOI and nothing else: both are found, and both show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.app import App
from monitor.commands.explain import explain
from monitor.commands.identity import merge, split
from monitor.commands.paper_search import find_all
from monitor.errors import UsageError
from monitor.pipeline.cleanup import make_searchable
from tests.house import House
from tests.pipeline.desk import ids, read
from tests.pipeline.test_wrong_dois import DOI, GRAPHS, ROOTS
from tests.store.scenes import DAY, NOW


@pytest.fixture
def app(tmp_path: Path, url: str) -> Iterator[App]:
    house = House(tmp_path)
    house.settings["store"] = url
    with house.opened() as opened:
        yield opened


@pytest.mark.parametrize("indexed", [False, True])
def test_both_are_found_by_search_with_their_identifiers(app: App, indexed: bool) -> None:
    read(app.runtime.database, "arxiv", GRAPHS)
    read(app.runtime.database, "arxiv", ROOTS, now=NOW + DAY)
    if indexed:
        assert make_searchable(app.runtime) == 2
    for query, paper in (("subgraphs", GRAPHS), ("polynomials", ROOTS)):
        [found] = find_all(app.runtime, query, most=9)
        assert found.stored.paper.title == paper.title
        assert found.stored.paper.keys == paper.keys


def test_the_doi_names_both_and_each_arxiv_id_its_own(app: App) -> None:
    read(app.runtime.database, "arxiv", GRAPHS, ROOTS)
    for number, paper in enumerate((GRAPHS, ROOTS), 1):
        result = explain(app.runtime, f"arxiv:{paper.keys['arxiv']}")
        assert (result.id, result.paper.keys) == (number, paper.keys)
    with pytest.raises(UsageError, match="several papers match"):
        explain(app.runtime, DOI)


def test_a_person_may_merge_them_and_split_them_again(app: App) -> None:
    store = app.runtime.database
    read(store, "arxiv", GRAPHS, ROOTS)
    kept = merge(app.runtime, ["1", "2"])
    assert kept.stored.paper.keys == {"arxiv": ("2601.00001", "2601.00002"), "doi": DOI}
    first, second = split(app.runtime, "1", ["arxiv:2601.00002", "arxiv/a2"])
    assert first.stored.paper.keys == {"arxiv": "2601.00001", "doi": DOI}
    assert second.stored.paper.keys == {"arxiv": "2601.00002"}
    read(store, "arxiv", GRAPHS, ROOTS, now=NOW + DAY)
    assert len(ids(store)) == 2
    assert explain(app.runtime, "arxiv:2601.00002").paper.title == ROOTS.title
