"""Large documents cost what their size is, not its square, and give their papers."""

from __future__ import annotations

import random
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from types import FrameType
from xml.etree.ElementTree import Element

import pytest

from monitor.model import Paper, Reading
from monitor.sources.api.records import MAX_PARSED
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.huggingface_page.source import HuggingFacePage
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.oai.envelope import Envelope, Record
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.ris import Ris
from monitor.sources.xml_records import cut_with_namespaces, records
from tests.sources.scenario import read

OAI = (
    '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>{}</ListRecords></OAI-PMH>'
)
RECORD = (
    "<record><header><identifier>oai:x:{0}</identifier></header>"
    "<metadata><d><title>Sand {0}{1}</title></d></metadata></record>"
)


def calls(work: Callable[[], object]) -> int:
    """Count the calls that a piece of work makes."""
    count = 0

    def called(_frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def page(papers: int) -> bytes:
    abstract = "We show that sand flows over sand, and that dunes move. " * 5
    return "".join(f"Law {n} of dunes\n\n{abstract}\n\n" for n in range(papers)).encode()


def cards(papers: int) -> bytes:
    link = "https://huggingface.co/papers/2605.{:05}"
    return "".join(
        f"[{n}](/login)\n\n### [Law {n}, or [0, 1)]({link.format(n)})\n\n"
        f"[We show that sand flows over [0, 1) of sand.]({link.format(n)})\n\n"
        "- 3 authors\n\n· May 2\n\n"
        for n in range(papers)
    ).encode()


@pytest.mark.parametrize("document", [page, cards])
def test_a_page_of_twice_the_size_is_twice_the_work(document: Callable[[int], bytes]) -> None:
    assert len(read(HuggingFacePage, document(2_000)).papers) == 2_000
    once, twice = (calls(lambda n=n: read(HuggingFacePage, document(n))) for n in (500, 1000))  # type: ignore[misc]
    assert once * 1.9 < twice < once * 2.1


@pytest.mark.parametrize("faults", [{900: "&"}, {900: "<"}, {500: "&", 900: "<"}, {0: "<"}])
def test_F06_no_record_before_a_fault_is_read_twice(faults: dict[int, str]) -> None:
    read_ids: list[str] = []

    def paper(record: Record) -> Paper:
        read_ids.append(record.identifier)
        return Paper(title="T", raw_id=record.identifier)

    content = OAI.format("".join(RECORD.format(n, faults.get(n, "")) for n in range(1000)))
    found = Envelope(content.encode(), paper).records
    good = [one.raw_id for one in found if isinstance(one, Paper)]
    assert good == [f"oai:x:{n}" for n in range(1000)]
    assert len(read_ids) <= len(good) + 2  # the last before each fault


def test_F12_a_root_of_megabytes_is_not_put_before_each_record() -> None:
    root = f'<r a="{"x" * 2_000_000}">'
    parts = list(cut_with_namespaces(root + "<record>1</record>" * 1_000, ("record",)))
    assert len(parts) == 999 and max(map(len, parts)) < 100


def test_empty_lines_of_a_table_are_not_parsed() -> None:
    table = b"id,title\n" + b"\n" * 3_000_000 + b"1,Sand\n2,Dunes,x,y\n"
    found = []
    assert calls(lambda: found.append(read(Jsonl, table))) < 4_000_000
    (reading,) = found
    assert [paper.title for paper in reading.papers] == ["Sand"]
    assert reading.rejected[0].where.startswith("line 3000003")


@pytest.mark.parametrize("kind", [BibTex, Ris, Crossref, HuggingFacePage])
def test_F06_what_is_no_text_is_not_mended_line_by_line(kind: type[Source]) -> None:
    noise = random.Random(1).randbytes(1_000_000) + b"@a{b, title={c}}\nTY  - JOUR\n"
    found: list[Reading] = []
    tracemalloc.start()
    assert calls(lambda: found.append(read(kind, noise))) < 20_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[0].error == "the document is not text" and peak < 8 * len(noise)


def test_F12_a_record_is_let_go_when_the_next_one_comes() -> None:
    seen: list[weakref.ref[Element]] = []
    for element in records(b"<dblp>" + b"<article/>" * 9 + b"</dblp>", ("article",)):
        seen.append(weakref.ref(element))
        assert [one() is None for one in seen[:-2]] == [True] * len(seen[:-2])
    assert len(seen) == 9


@pytest.mark.parametrize(("gap", "found"), [(b"\n", 2), (b"x", 1)])
def test_F12_a_gap_between_records_is_no_value_however_long(
    gap: bytes, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.sources.xml_records.PIECE_BYTES", 1024)
    record = b"<article><title>T</title><year>2026</year></article>"
    reading = read(Dblp, b"<dblp>" + record + gap * 40_000 + record + b"</dblp>")
    assert len(reading.papers) == found
    reasons = [rejected.why for rejected in reading.rejected]
    assert reasons == ["one value of the document is larger than 16 MB"] * (2 - found)
    assert reading.complete == (found == 2)


@pytest.mark.parametrize("piece", [b"{},", b"[],"])
def test_F12_json_that_would_not_fit_into_memory_is_refused_unread(piece: bytes) -> None:
    content = b'{"message": {"items": [' + piece * (MAX_PARSED // 70)
    assert "more objects and lists than any answer" in read(Crossref, content).error


ONE = RECORD.format(1, "<a/>" * 30)
BROKEN = b"<dblp><article><title>A</b></title></article><article><title>B</title></article></dblp>"
HITS = b'{"result": {"hits": {"hit": [%s]}}}' % b",".join([b'{"info": {"title": "A"}}'] * 21)


@pytest.mark.parametrize(
    ("cap", "kind", "content", "error"),
    [
        ("oai.envelope.MAX_PARTS", Oai, OAI.format(ONE).encode(), "more than 20 elements"),
        ("api.records.MAX_RECORDS", Dblp, HITS, "the answer has more than 20 records"),
        ("api.records.MAX_RECORDS", Crossref, b"[%s1]" % (b"1," * 20), "more than 20 records"),
        *(
            ("xml_records.MAX_ELEMENTS", Dblp, begin + b"<a/>" * 21, "more than 20 elements")
            for begin in (b"<dblp><article key='a'>", b"<dblp>" + b"<a>" * 9)
        ),
        ("xml_records.MAX_RECORDS", Dblp, b"<dblp>" + b"<www/>" * 21, "more than 20 records"),
        ("xml_records.MAX_REPAIRED_BYTES", Dblp, BROKEN, "not well-formed"),
        ("xml_records.MAX_REPAIRED_ESCAPES", Dblp, BROKEN + b"&lt;" * 30, "not well-formed"),
    ],
)
def test_F12_caps_are_kept_to(
    cap: str, kind: type[Source], content: bytes, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"monitor.sources.{cap}", 20)
    reading = read(kind, content)
    reasons = [reading.error, *(rejected.why for rejected in reading.rejected)]
    assert not (reading.papers or reading.complete) and error in "; ".join(reasons)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (
            BibTex,
            f"@misc(a, title={{T}}, note={{{'x' * 2_000_000}}})\n\n@misc{{b, title={{Sand}}}}",
        ),
        (Ris, f"TY  - A\nTI  - T\n{'AU  - ab' * 50_000}\nER  - \nTY  - A\nTI  - Sand\nER  - \n"),
        (
            Dblp,
            f"<dblp><article><title>{'sand ' * 60_000}</title></article>"
            "<article><title>Sand</title></article></dblp>",
        ),
        (
            OpenAlex,
            '{"results": [{"title": "T", "abstract_inverted_index": {"a": %s}}, {"title": "Sand"}]}'
            % ([1] * 270_000),
        ),
    ],
)
def test_F12_a_record_larger_than_any_is_rejected_and_the_next_read(
    kind: type[Source], content: str
) -> None:
    reading = read(kind, content.encode())
    assert [paper.title for paper in reading.papers] == ["Sand"]
    (rejected,) = reading.rejected
    assert rejected.where.endswith(" 1") and " is larger than 262,144" in rejected.why


def test_F12_the_words_of_a_record_larger_than_any_are_not_collected() -> None:
    template = b'{"results": [{"title": "T", "abstract_inverted_index": {"a": [%s]}}]}'
    content = template % b",".join([b"1"] * 600_000)
    tracemalloc.start()
    reading = read(OpenAlex, content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reading.papers == () and peak < 24 * 1024 * 1024


def test_F12_a_record_has_no_more_names_than_any_paper() -> None:
    people = ",".join(['{"author": {"display_name": "A"}}'] * 10_001)
    content = f'{{"results": [{{"title": "T", "authorships": [{people}]}}]}}'
    assert len(read(OpenAlex, content.encode()).papers[0].authors) == 10_000


def test_empty_lines_of_a_cut_list_are_passed_over_at_once() -> None:
    content = b'{"message": {"items": [' + b"\n" * 10_000
    read(Crossref, content)
    assert calls(lambda: read(Crossref, content)) < 1_000
