"""`/references` and its command: each state once from a real notice, and nobody else's library."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from bibtexparser.entrypoint import parse_string

from monitor.commands.references import NOTHING_KNOWN, STATES, list_references
from tests.counting import statements
from tests.house import House
from tests.pipeline.test_perhaps_published import BY, DRAFT, FAST, SLOW
from tests.pipeline.test_perhaps_published import article as article_of
from tests.servers.web import MisbehavingServer
from tests.servers.works import crossref, update, work
from tests.sources.libraries import article, articles
from tests.web.conftest import PROXY, public_pages
from tests.web.test_page_sizes import LIMIT, read_pages

ADA = "ada@example.org"
BOB = "bob@example.org"
OP = "op@example.org"
BIORXIV = "10.1101/2024.01.01.{}"
# The entries to which something happens, by their keys.
ENTRIES = {
    "gone": ("Sand That Is Gone", {"doi": "10.5555/gone"}),
    "rumour": ("Rumours of Gravel", {"doi": "10.5555/rumour"}),
    "worry": ("Worrying Pebbles", {"doi": "10.5555/worry"}),
    "fixed": ("Corrected Clay", {"doi": "10.5555/fixed"}),
    "out": ("Dunes That Were Printed", {"doi": BIORXIV.format("111111"), "venue": "bioRxiv"}),
    "maybe": (SLOW["title"], {"arxiv": DRAFT["arxiv"], "abstract": SLOW["abstract"]}),
    "moved": ("A Second Look at Loess", {"arxiv": "2401.00009v1"}),
}
STATE_OF = dict(zip(ENTRIES, STATES, strict=False))


def entry(key: str, title: str, fields: dict[str, object]) -> str:
    names = {"venue": "howpublished", "arxiv": "eprint"}
    lines = "".join(f"  {names.get(n, n)} = {{{value}}},\n" for n, value in fields.items())
    lines += "  archiveprefix = {arXiv},\n" if "arxiv" in fields else ""
    author = " and ".join(BY["authors"])
    return f"@misc{{{key},\n  title = {{{title}}},\n  author = {{{author}}},\n{lines}}}\n"


def library(count: int) -> str:
    others = {
        f"quiet{n}": (f"Quiet Stones Number {n} of the Valley {n}", {"doi": f"10.5555/quiet.{n}"})
        for n in range(count - len(ENTRIES))
    }
    return "".join(entry(key, *of_key) for key, of_key in (ENTRIES | others).items())


@pytest.fixture
def guarded(house: House, web: MisbehavingServer) -> House:
    """Ada's library of 300, of which Crossref, PubMed, arXiv and a blog report something."""
    for folder in ("refs", "pubmed", "arxiv", "blog"):
        (house.folder / folder).mkdir()
    (house.folder / "refs/ada.bib").write_text(library(300))
    (house.folder / "refs/bob.bib").write_text(
        entry("own", "Bob's Own Stone", {"doi": "10.5555/b"})
    )
    service = {"url": web.url(""), "allow_private": True}
    house.settings["sources"] |= {
        "ada-refs": {"kind": "bibtex", "path": "refs/ada.bib", "role": "library"},
        "bob-refs": {"kind": "bibtex", "path": "refs/bob.bib", "role": "library"},
        "watch": {"kind": "crossref", "about": "ada-refs", "title": "Crossref", **service},
        "pubmed": {"kind": "pubmed", "path": "pubmed/*.xml", "title": "PubMed"},
        "arxiv": {"kind": "arxiv", "path": "arxiv/*.xml", "title": "arXiv"},
        "blog": {"kind": "feed", "path": "blog/*.xml", "title": "A blog"},
    }
    house.by_mail(9, ADA)
    house.settings["subscriptions"]["lab"] |= {"guard": "ada-refs", "libraries": "ada-refs"}
    quarry = {"topics": ["*"], "email": [BOB], "guard": "bob-refs"}
    house.settings["subscriptions"]["quarry"] = quarry
    journal = {"container-title": ["Journal of Sand"], "issued": {"date-parts": [[2026, 11, 2]]}}
    gone = ENTRIES["gone"][0]
    worry = ENTRIES["worry"][0]
    out = ENTRIES["out"][0]
    is_preprint = {"is-preprint-of": [{"id-type": "doi", "id": "10.5555/out"}]}
    crossref(
        web,
        work("10.5555/gone", gone, **{"updated-by": [update("retraction", "10.5555/gone.n")]}),
        work("10.5555/gone.n", f"Retraction: {gone}", abstract="<jats:p>Copied.</jats:p>"),
        work(
            "10.5555/worry",
            worry,
            **{"updated-by": [update("expression_of_concern", "10.5555/worry.n")]},
        ),
        work(BIORXIV.format("111111"), out, relation=is_preprint) | {"type": "posted-content"},
        work("10.5555/out", out, **journal),
        *(work(f"10.5555/quiet.{n}", f"Quiet Stones Number {n}") for n in range(3)),
    )
    erratum = article(
        9, f"Erratum: {ENTRIES['fixed'][0]}", types=["Published Erratum"], refs={"ErratumFor": None}
    )
    cited = "J Sand. 2020;1:1. doi: 10.5555/fixed."
    (house.folder / "pubmed/1.xml").write_text(articles(erratum.replace("J Sand. 2020;1:1", cited)))
    house.run()
    house.clock.move(hours=1)
    return house


def tell_later(house: House) -> None:
    """Let what is no notice come: a new version, a rumour, an article under another title."""
    (house.folder / "arxiv/1.xml").write_text(ARXIV.format(ENTRIES["moved"][0]))
    (house.folder / "blog/1.xml").write_text(BLOG.format(ENTRIES["rumour"][0]))
    (house.folder / "more.jsonl").write_text(json.dumps(article_of(FAST, "10.5555/fast")))
    house.settings["sources"]["more"] = {"kind": "jsonl", "path": "more.jsonl"}
    for name in ("arxiv", "blog", "more"):
        house.settings["sources"][name]["first_run"] = "deliver"
    house.run()


ARXIV = """<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record>
<header><identifier>oai:arXiv.org:2401.00009</identifier></header><metadata>
<arXivRaw xmlns="http://arxiv.org/OAI/arXivRaw/"><id>2401.00009</id>
<version version="v1"><date>Fri, 20 Nov 2026 10:00:00 GMT</date></version>
<version version="v2"><date>Sat, 21 Nov 2026 05:00:00 GMT</date></version>
<title>{}</title><authors>Gary Green, Mia Moss, Cy Stone</authors>
<abstract>Loess.</abstract></arXivRaw>
</metadata></record></ListRecords></OAI-PMH>"""
BLOG = """<rss version="2.0"><channel><title>A blog</title><item><title>Retracted: {}</title>
<link>https://blog.example.org/1</link><author>Gary Green, Mia Moss, Cy Stone</author>
<pubDate>Fri, 20 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>"""


@contextmanager
def asked_by(house: House, *users: str) -> Iterator[list[httpx.Client]]:
    """Serve the pages to people whom a proxy names."""
    with public_pages(house, **PROXY, operators=[OP]) as (_, client):
        clients = []
        for user in users:
            headers = {**client.headers, "Remote-User": user}
            clients.append(httpx.Client(base_url=client.base_url, headers=headers, timeout=30))
        yield clients
        for one in clients:
            one.close()


def cells(page: str) -> list[list[str]]:
    """The title, state, day, source and notice in each row of a page."""
    found = []
    for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", page):
        texts = [re.sub("<[^>]*>", "", cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)]
        found.append([texts[0], *texts[2:6]])
    return found


def test_each_state_is_seen_once_from_a_real_notice(guarded: House):
    tell_later(guarded)
    with guarded.opened() as app:
        listed = list_references(app.runtime, ["ada-refs"])
    assert len(listed) == 300
    states = {one.place.key: one.state for one in listed if one.state != NOTHING_KNOWN}
    assert states == STATE_OF
    assert [one.state for one in listed[: len(STATES)]] == list(STATES)
    by_key = {one.place.key: one for one in listed}
    gone = by_key["gone"]
    assert (gone.since, gone.by) == ("2025-03-04", "Crossref")
    assert gone.notice == {"name": "doi:10.5555/gone.n", "url": "https://doi.org/10.5555/gone.n"}
    out = by_key["out"]
    assert (out.since, out.notice) == (
        "2026-11-02",
        {"name": "doi:10.5555/out", "url": "https://doi.org/10.5555/out"},
    )
    asked = {one.asked for one in listed if one.paper.keys.get("doi")}
    assert asked == {guarded.clock.now()}
    assert by_key["moved"].asked is None, "Crossref is not asked about arXiv's numbers"


def test_page_and_csv_and_command_say_the_same(guarded: House):
    tell_later(guarded)
    said = guarded.command("references", "ada-refs", "--json").json["references"]
    with asked_by(guarded, ADA) as [ada]:
        shown = [
            row for page in read_pages(ada, "/references", "Next references") for row in cells(page)
        ]
        table = list(csv.DictReader(io.StringIO(ada.get("/references.csv").text)))
        api = ada.get("/api/v1/references").json()["references"]
    named = ("title", "state", "since", "by", "notice")
    assert [[row[name] for name in named] for row in table] == shown
    words = [
        [*(one[name] or "" for name in named[:-1]), (one["notice"] or {}).get("name", "")]
        for one in said
    ]
    assert (words, api) == (shown, said)
    assert len(said) == 300


def test_filters_leave_what_they_name(guarded: House):
    with asked_by(guarded, ADA, OP) as [ada, operator]:
        corrected = ada.get("/references?state=corrected").text
        assert [row[0] for row in cells(corrected)] == [ENTRIES["fixed"][0]]
        assert [row[0] for row in cells(ada.get("/references?q=10.5555/WORRY").text)] == [
            ENTRIES["worry"][0]
        ]
        assert [row[0] for row in cells(ada.get("/references?q=quiet171").text)] == [
            "Quiet Stones Number 171 of the Valley 171"
        ]
        assert "No reference matches this." in ada.get("/references?q=nothing+like+it").text
        assert ada.get("/references?state=gone").status_code == 400
        own = operator.get("/references?library=bob-refs").text
        assert [row[0] for row in cells(own)] == ["Bob's Own Stone".replace("'", "&#39;")]


def test_the_bibtex_has_what_changed_under_its_own_key_with_the_published_doi(guarded: House):
    with asked_by(guarded, ADA) as [ada]:
        text = ada.get("/references.bib").text
    entries = {one.key: one.fields_dict for one in parse_string(text).entries}
    assert entries.keys() == {"gone", "worry", "fixed", "out"}
    out = {name: field.value for name, field in entries["out"].items()}
    assert (out["doi"], out["journal"], out["year"]) == ("10.5555/out", "Journal of Sand", "2026")
    assert out["url"] == "https://doi.org/10.5555/out"
    assert entries["gone"]["note"].value == "Retracted: notice doi:10.5555/gone.n, 4 March 2025."


@pytest.mark.parametrize("path", ["/references", "/references.csv", "/references.bib"])
def test_another_reader_sees_none_of_it(guarded: House, path: str):
    with asked_by(guarded, ADA, BOB, "eve@example.org", OP) as [ada, bob, eve, operator]:
        assert ENTRIES["gone"][0] in ada.get(path).text
        assert ENTRIES["gone"][0] in operator.get(path).text
        for other in (bob, eve):
            assert other.get(path).status_code == 200
            assert not re.search("Sand That|ada-refs|ada.bib|10.5555/gone", other.get(path).text)
            assert other.get(f"{path}?library=ada-refs").status_code == 404
            assert other.get("/api/v1/references?library=ada-refs").status_code == 404
            assert other.get("/api/v1/references").text.find("Sand That") == -1
        assert eve.get("/").text.find('href="/references"') == -1


def test_a_source_that_is_asked_for_another_reader_is_not_named(guarded: House):
    """Bob has one of Ada's papers, which Crossref reports that is asked for Ada alone."""
    title, fields = ENTRIES["gone"]
    (guarded.folder / "refs/bob.bib").write_text(entry("own", title, fields))
    guarded.run_after(hours=2)
    guarded.run_after(hours=2)  # the former entry has left
    with asked_by(guarded, BOB) as [bob]:
        [[shown, state, _, by, notice]] = cells(bob.get("/references").text)
        assert "Crossref" not in bob.get("/references.bib").text
    assert (shown, state, by, notice) == (title, "retracted", "", "doi:10.5555/gone.n")


def test_an_entry_that_only_a_library_has_is_explained(guarded: House):
    said = guarded.command("explain", "doi:10.5555/worry", "--json")
    [one] = said.json["references"]
    assert (one["title"], one["state"]) == (ENTRIES["worry"][0], "expression of concern")
    assert (one["library"], one["file"], one["entry"]) == ("ada-refs", "ada.bib", "worry")
    assert "no paper found" in guarded.command("explain", "doi:10.5555/none").err


def test_a_library_that_nobody_guards_has_what_is_stored(guarded: House):
    del guarded.settings["subscriptions"]["lab"]["guard"]
    guarded.settings["sources"]["watch"] = {"kind": "jsonl", "path": "notice.jsonl"}
    notice = {"title": "Retraction", "type": "retraction", "doi": "10.5555/gone.n"}
    about = {"about": {"doi": "10.5555/gone"}}
    erratum = {"title": "Erratum", "doi": "10.5555/fixed.n", "about": {"doi": "10.5555/fixed"}}
    erratum |= {"type": "correction", "published": "2026-11-10"}
    lines = [json.dumps(notice | about), json.dumps(erratum)]
    (guarded.folder / "notice.jsonl").write_text("\n".join(lines))
    (guarded.folder / "monitor.db").unlink(missing_ok=True)
    guarded.run()
    with guarded.opened() as app:
        listed = list_references(app.runtime, ["ada-refs"])
    states = {one.place.key: one.state for one in listed if one.state != NOTHING_KNOWN}
    assert states == {"gone": "retracted", "fixed": "corrected"}


def test_what_was_mended_in_the_file_is_no_longer_shown(guarded: House):
    text = (guarded.folder / "refs/ada.bib").read_text()
    printed = text.replace(BIORXIV.format("111111"), "10.5555/out").replace("bioRxiv", "J. of Sand")
    (guarded.folder / "refs/ada.bib").write_text(printed)
    guarded.run_after(hours=2)
    with guarded.opened() as app:
        by_key = {one.place.key: one.state for one in list_references(app.runtime)}
    assert by_key["out"] == NOTHING_KNOWN


def test_a_library_of_any_length_takes_the_same_statements_and_short_pages(guarded: House):
    counts = []
    for size in (300, 3_000):
        (guarded.folder / "refs/ada.bib").write_text(library(size))
        guarded.run_after(hours=2)
        with guarded.opened() as app, statements() as made:
            assert len(list_references(app.runtime, ["ada-refs"])) == size
        counts.append(len(made))
    assert counts[1] <= counts[0] + 5
    with asked_by(guarded, ADA) as [ada]:
        pages = read_pages(ada, "/references", "Next references")
        assert all(len(page.encode()) < LIMIT for page in pages)
        assert sum(len(cells(page)) for page in pages) == 3_000
