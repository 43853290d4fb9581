"""What is kept is worked out once, until it is forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor import kept as kept_module
from monitor.kept import forget, kept, on_forget, times_forgotten
from monitor.match.search import _pieces, paper_keywords
from monitor.model import Paper


@pytest.fixture(autouse=True)
def forgetters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kept_module, "_forgetters", list(kept_module._forgetters))
    yield


def test_a_result_is_worked_out_once_until_it_is_forgotten() -> None:
    asked: list[str] = []

    @kept(8)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length("agents"), length("agents")] == [6, 6]
    assert asked == ["agents"]
    forget()
    assert length("agents") == 6
    assert asked == ["agents", "agents"]


def test_what_keeps_in_another_way_is_asked_to_let_go() -> None:
    before = times_forgotten()
    own = {"agents": 6}
    on_forget(own.clear)
    forget()
    assert not own
    assert times_forgotten() == before + 1


def test_keywords_are_the_same_after_forgetting() -> None:
    paper = Paper("Language agents that plan", "We let agents plan.")
    before = paper_keywords(paper)
    assert _pieces
    forget()
    assert not _pieces
    assert paper_keywords(paper) == before
