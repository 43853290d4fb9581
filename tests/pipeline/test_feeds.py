"""A feed over HTTP: asked politely, read whole or again, and never a reason to flood or to lose."""

from __future__ import annotations

import gzip
import os
import tempfile
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.house import SATURDAY, House
from tests.servers.web import MisbehavingServer

RSS = {"Content-Type": "application/rss+xml"}


def item(number: int, at: datetime = SATURDAY) -> str:
    return (
        f"<item><title>Agents that plan, study number {number}</title>"
        f"<link>https://journal.example.org/{number}</link><guid>paper-{number}</guid>"
        f"<description>Study {number} asks how agents plan and answers it.</description>"
        f"<pubDate>{format_datetime(at)}</pubDate></item>"
    )


def feed(*items: str) -> bytes:
    result = "".join(items)
    return f'<rss version="2.0"><channel><title>Journal</title>{result}</channel></rss>'.encode()


def serve(web: MisbehavingServer, body: bytes, **headers: str) -> None:
    web.answers("/feed", body=body, headers={**RSS, **headers})


def one(house: House) -> tuple[str, int, int]:
    [run] = house.ingest()
    return run.outcome.value, run.seen, run.new


def test_F01_a_page_of_html_is_a_failure_and_moves_no_validator(fed: House, web: MisbehavingServer):
    serve(web, feed(item(1)), ETag='"one"')
    assert one(fed) == ("ok", 1, 1)
    serve(web, b"<!doctype html><html><body>Rate exceeded.</body></html>", ETag='"html"')
    assert one(fed)[0] == "failed"
    serve(web, feed(item(1), item(2)), ETag='"two"')
    assert one(fed) == ("ok", 2, 1)
    assert web.requests[2].headers["if-none-match"] == '"one"'


@pytest.mark.parametrize("how", ["shorter than its length", "without a length", "in its gzip"])
def test_F02_a_transfer_that_is_cut_is_partial_keeps_no_validator_and_deletes_nothing(
    fed: House, web: MisbehavingServer, how: str
):
    whole = feed(item(1), item(2), item(3))
    serve(web, whole, ETag='"whole"')
    assert one(fed) == ("ok", 3, 3)
    cut = whole[: whole.index(b"number 2") + 4]
    result = {**RSS, "ETag": '"cut"'}
    if how == "in its gzip":
        packed = gzip.compress(whole)
        web.answers("/feed", body=packed[:-20], headers={**result, "Content-Encoding": "gzip"})
    else:
        length = len(whole) if how.startswith("shorter") else -1
        web.answers("/feed", body=cut, headers=result, length=length)
    for _ in range(2):
        assert one(fed)[::2] == ("partial", 0)
    serve(web, whole, ETag='"whole"')
    one(fed)
    assert web.requests[3].headers["if-none-match"] == '"whole"'
    assert len(fed.command("papers", "--json").json["papers"]) == 3


def test_F16_a_server_learns_whom_to_write_to(fed: House, web: MisbehavingServer):
    fed.settings["contact"] = "ops@example.org"
    serve(web, feed(item(1)))
    one(fed)
    assert web.requests[0].headers["user-agent"].endswith(" (+ops@example.org)")


def test_an_old_paper_that_appears_later_is_older_and_no_news_unless_asked_for(
    fed: House, web: MisbehavingServer
):
    fed.settings["topics"]["archive"] = {"query": "agents", "news": ["older"]}
    fed.settings["subscriptions"]["lab"]["topics"] = ["agents"]
    fed.settings["subscriptions"]["historians"] = {"topics": ["archive"], "channels": ["pages"]}
    serve(web, feed(item(1)))
    fed.run()
    serve(web, feed(item(1), item(2, SATURDAY - timedelta(days=200))))
    assert fed.next_morning() == {"lab": 1, "historians": 1}


def test_announce_is_what_a_source_said_of_a_paper(fed: House, web: MisbehavingServer):
    fed.settings["topics"]["agents"]["query"] = "agents AND announce:cross"
    arxiv = (
        '<rss version="2.0" xmlns:arxiv="http://arxiv.org/schemas/atom"><channel>{}</channel></rss>'
    )
    result = "".join(
        item(n).replace("</item>", f"<arxiv:announce_type>{how}</arxiv:announce_type></item>")
        for n, how in ((1, "new"), (2, "cross"))
    )
    serve(web, arxiv.format(result).encode())
    fed.run()
    assert fed.next_morning() == {"lab": 1}


# ── the gates of hosts ──────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("on_sqlite")
def test_root_reads_into_the_store_of_another_account(fed: House, web: MisbehavingServer):
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another account")
    serve(web, feed(item(1)))
    assert one(fed)[0] == "ok"
    for path in (fed.folder, *fed.folder.rglob("monitor.db*")):
        os.chown(path, 65_534, 65_534)
    assert one(fed)[0] == "unchanged"


def test_gates_in_the_temporary_folder_are_no_links(
    fed: House,
    web: MisbehavingServer,
    postgres_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    fed.settings["store"] = postgres_url
    serve(web, feed(item(1)))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gates = tmp_path / f"paper-monitor-gates-{os.getuid()}"
    gates.symlink_to(theirs)
    [run] = fed.ingest()
    assert run.outcome == "failed" and f"cannot keep the gate {gates}/" in run.error
    assert list(theirs.iterdir()) == [] and web.requests == []
    gates.unlink()
    assert one(fed)[0] == "ok"
