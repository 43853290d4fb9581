from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from monitor.model import Paper
from monitor.sources.api.values import Record
from monitor.sources.api.windows import ApiOptions
from monitor.sources.huggingface import MOST_UPVOTES, HuggingFace

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def read(**fields: Any) -> Paper:
    source = HuggingFace("daily", ApiOptions(url="https://huggingface.co"), None, lambda: NOW)
    record = {"paper": {"id": "2505.00001", "title": "Agents"} | fields}
    return source.paper(Record(record, NOW))


def test_code_project_page_and_upvotes_are_read() -> None:
    paper = read(upvotes=17, githubRepo="https://github.com/a/b", projectPage="https://x.org/p")
    assert paper.links == {"code": "https://github.com/a/b", "project": "https://x.org/p"}
    assert paper.upvotes == 17


def test_what_is_no_link_and_no_number_is_left_out() -> None:
    paper = read(upvotes="many", githubRepo="javascript:alert(1)", projectPage=None)
    assert (paper.links, paper.upvotes) == ({}, None)
    assert read(upvotes=10**17).upvotes == MOST_UPVOTES, "as many as the store takes"
