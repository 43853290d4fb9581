"""The demo's pages can be published as they are, and what could not be is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.cli.start import play
from tests.site import faults


def test_the_pages_of_the_demo_can_be_published(tmp_path: Path):
    play(tmp_path / "demo", None)
    pages = tmp_path / "demo" / "pages"
    assert len(list(pages.rglob("*.html"))) > 12
    assert faults(pages) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">b</a>', "b.html is missing"),
        ('<a href="/a.html">a</a>', "index.html: /a.html leads out of the site"),
        ('<a href="../monitor.yaml">a</a>', "index.html: ../monitor.yaml leads out of the site"),
        ('<a href="mailto:ada@example.org">a</a>', "index.html: mailto:ada@example.org leads out"),
        ("<form></form>", "index.html: <form>"),
        ("<script></script>", "index.html: <script>"),
        ("<p>/tmp/demo/monitor.db</p>", "index.html: /tmp/d"),
        ("<p>http://127.0.0.1:8080</p>", "index.html: 127.0.0.1"),
        ("<p>no link</p>", "a.html is on no page"),
    ],
)
def test_what_cannot_be_published_is_named(tmp_path: Path, body: str, fault: str):
    link = "" if "no link" in body else '<a href="a.html#b">a</a> <a href="#c">c</a>'
    (tmp_path / "index.html").write_text(link + body)
    (tmp_path / "a.html").write_text('<a href="https://example.org/home/a">elsewhere</a>')
    [found] = faults(tmp_path)
    assert found.startswith(fault)
