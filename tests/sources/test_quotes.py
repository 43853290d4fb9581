"""Messages quote a document only where it looks like one of the kind: it may be any other file."""

from __future__ import annotations

import pytest

from monitor import plugins
from monitor.model import Document
from monitor.sources import sandbox
from monitor.sources.jsonl.source import Jsonl
from tests.sources.scenario import NOW, read

SECRET = "hunter2"
FILES = {
    "shadow": "root:$6$hunter2$abcdef:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n",
    "environment": "API_KEY=hunter2\nPASSWORD=hunter2, x\n",
    "private key": "-----BEGIN PRIVATE KEY-----\nhunter2b3BlbnNzaC\n-----END PRIVATE KEY-----\n",
    "yaml": "password: hunter2\nuser: x\n",
    "ini": "[db]\npassword = hunter2\n",
    "netrc": "machine x login y password hunter2\n",
    "accounts": "alice,hunter2\nbob,hunter2\n",
    "account": '{"type": "service_account", "private_key": "hunter2"}\n',
    "faulty json": '{"password": "hunter2", oops}\n{"password": "hunter2", oops}\n',
    "xml": "<config><password>hunter2</password></config>",
    "faulty xml": "<config password='hunter2'><x></config>",
    "words": "hunter2 " * 2_000,
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.parametrize("kind", sorted(plugins.source_kinds()))
def test_a_file_of_another_kind_is_not_quoted(kind: str, content: str) -> None:
    source_class = plugins.source_class(kind)
    assert source_class.kind == kind
    source = source_class("x", source_class.Options(path="x/*"), None, lambda: NOW)
    reading = sandbox.read(source, Document("page", content.encode(), NOW))
    assert reading.error and not reading.papers
    assert SECRET not in reading.error
    assert not [one for one in reading.rejected if SECRET in one.where + one.why]


def test_the_columns_of_a_table_of_papers_are_quoted() -> None:
    reading = read(Jsonl, b"Name of work;Authors;DOI\nx;y;z\n")
    assert reading.error.endswith("; its columns are: Name of work, Authors, DOI")


def test_a_broken_record_of_a_paper_is_quoted() -> None:
    reading = read(Jsonl, b'{"title": "A"}\n{"id": 1, "title": "B", oops}\n{"key": "x", oops}\n')
    assert [one.why for one in reading.rejected] == [
        'not JSON: {"id": 1, "title": "B", oops}',
        "not JSON",
    ]
