"""What became of references: recorded whatever source tells it, told once to whom it concerns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, NamedTuple

import pytest
from msgspec import structs

from monitor.commands.explain import explain, known_from
from monitor.commands.identity import unmark
from monitor.commands.status import status_of
from monitor.commands.subscriptions import count_waiting, report
from monitor.errors import UsageError
from monitor.model import Digest, Paper, ReferenceChange, ReferenceEvent
from monitor.store.digests import digests
from monitor.store.digests.suppressions import suppress
from monitor.store.engine.database import Transaction
from monitor.store.sources import reference_events
from monitor.store.sources.reference_events import save
from tests.faults import process
from tests.faults.points import Order
from tests.house import AGENTS, APART, House
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import MisbehavingServer
from tests.servers.works import Work, crossref, update, work
from tests.sources.libraries import article, articles

RETRACTED, MISTAKEN, REPORTED, CONCERN, CORRECTED, PUBLISHED, NEW_VERSION = ReferenceChange
Record = dict[str, Any]


@pytest.fixture
def guarded(house: House) -> House:
    (house.folder / "refs").mkdir()
    (house.folder / "news").mkdir()
    house.settings["sources"] |= {
        "ada-refs": {"kind": "jsonl", "path": "refs/ada.jsonl", "role": "library"},
        "news": {"kind": "jsonl", "path": "news/*.jsonl", "first_run": "baseline"},
    }
    house.settings["subscriptions"]["lab"]["guard"] = "ada-refs"
    return house


def write(house: House, name: str, *records: Record) -> None:
    text = "".join(json.dumps(one) + "\n" for one in records)
    (house.folder / name).write_text(text, encoding="utf-8")


def every_digest(tx: Transaction) -> list[Digest]:
    """The digests that are not superseded, oldest first."""
    listed = digests.newest(tx, ["lab", "alerts", "bo"], 1_000)
    found = [digests.get(tx, digest.id) for digest in listed if not digest.superseded]
    return [digest for digest in reversed(found) if digest]


Told = tuple[str, str, str]  # who is told what of which reference


def told(house: House) -> list[Told]:
    """What each person was told; `lab` and `alerts` have the same recipient."""
    people = {"lab": "ada", "alerts": "ada", "bo": "bo"}
    return sorted(
        (people[digest.subscription], event.change.value, event.work.title)
        for digest in house.read(every_digest)
        for event in digest.references
    )


# ── a library of 2,000 references, and what is told of it ───────────────────────────


class Reference(NamedTuple):
    """A reference by its number: every fourth is on arXiv, in a journal, on bioRxiv, or neither."""

    number: int

    @property
    def kind(self) -> str:
        return ("arxiv", "journal", "biorxiv", "unnamed")[self.number % 4]

    @property
    def names(self) -> Record:
        return {
            "arxiv": {"arxiv": f"2401.{10_000 + self.number}"},
            "journal": {"doi": f"10.5555/ref.{self.number}", "venue": "Journal of Sand"},
            "biorxiv": {"doi": f"10.1101/2024.01.01.{self.number:06}", "venue": "bioRxiv"},
            "unnamed": {"venue": "Annals of Gravel"},
        }[self.kind]

    @property
    def text(self) -> Record:
        random = Random(self.number)
        words = [_word(random) for _ in range(7)]
        return {
            "title": "{} {} of {} by {} {}".format(*words[:5]).capitalize(),
            "authors": [f"Ada {words[5].capitalize()}", f"Bo {words[6].capitalize()}"],
            "year": 2024,
        }

    @property
    def title(self) -> str:
        return str(self.text["title"])

    @property
    def entry(self) -> Record:
        version = {"version": 1} if self.kind == "arxiv" else {}
        return {**self.text, **self.names, **version, "id": f"ref{self.number}"}

    def record(self, **more: Any) -> Record:
        return {**self.text, **self.names, **more}

    def notice(self, type_: str, number: int = 1, **more: Any) -> Record:
        doi = f"10.5555/notice.{self.number}.{number}"
        named = {"doi": doi, "type": type_, "about": self.names}
        return {**self.text, **named, **more}


def _word(random: Random) -> str:
    return "".join(random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(3))


def events(number: int) -> list[tuple[Reference, ReferenceChange, list[Record]]]:
    """Five events of five references, each as several sources say it, one after another."""
    arxiv, journal, biorxiv, unnamed = (Reference(4 * number + kind) for kind in range(4))
    other = Reference(4 * number + 401)
    late = {"published": "2026-11-20"}
    published = {"venue": "Journal of Sand", "doi": f"10.5555/pub.{number}", **late}
    retraction = journal.notice("retraction", **late)
    erratum = other.notice("correction", title=f"Erratum to: {other.title}")
    concern = Reference(4 * number + 801)
    worried = concern.notice("expression of concern")
    moved = {**arxiv.record(version=2, announce="replace"), "id": f"v2-{number}"}
    joined = [
        # A listing without the preprint's title joins it by a number, the journal by that number.
        biorxiv.record(pmid=str(900 + number)),
        {"title": f"{biorxiv.title}: a study", "pmid": str(900 + number), **published},
    ]
    gone = [unnamed.record(withdrawn=True, doi=f"10.5555/gone.{number}")]
    return [
        (journal, RETRACTED, [retraction, journal.record(withdrawn=True, abstract="Retracted.")])
        if number % 2
        else (unnamed, RETRACTED, [*gone, unnamed.notice("retraction", about=gone[0]["doi"])]),
        (concern, CONCERN, [worried, {**worried, "abstract": "From another service."}]),
        (other, CORRECTED, [erratum, {**erratum, "pmid": str(800 + number)}]),
        (biorxiv, PUBLISHED, joined)
        if number % 2
        else (biorxiv, PUBLISHED, [biorxiv.record(**published), biorxiv.record(**published, x=1)]),
        (arxiv, NEW_VERSION, [moved, {**moved, "abstract": "We moved more sand."}]),
    ]


def misses(number: int) -> list[list[Record]]:
    """Five near misses, each a list of records one after another."""
    base = 1_000 + 4 * number
    arxiv, journal, biorxiv, _ = (Reference(base + kind) for kind in range(4))
    other = f"10.5555/other.{number}"
    comment = journal.notice("comment", title=f"Comment on: {journal.title}")
    about_other = {**journal.notice("retraction", about={"doi": other})}
    erratum = journal.notice("correction", about={"doi": f"10.5555/none.{number}"})
    withdrawn = {"doi": erratum["doi"]}
    kinds = [
        [{**journal.record(withdrawn=True), "title": f"{journal.title} revisited", "doi": other}],
        [about_other],
        [comment],
        [arxiv.notice("comment", venue="Annals of Gravel")],
        [arxiv.record(version=1, announce="replace", abstract="The same version again.")],
        [{**biorxiv.record(), "doi": f"10.21203/rs.3.rs-{number}/v1", "venue": "Research Square"}],
        [
            journal.notice("retraction", 2, about=withdrawn),
            {**journal.notice("correction"), "title": f"Erratum to: {journal.title}"},
        ],
        [journal.notice("correction", withdrawn=True)],
        [journal.record(doi=other, withdrawn=True, authors=["Eve Nobody"])],
        [{**arxiv.text, "url": f"https://conference.example.org/{number}"}],
        [arxiv.record(version=2, announce="new", doi=f"10.5281/zenodo.{number}", arxiv="")],
    ]
    return [kinds[(number + at) % len(kinds)] for at in range(5)]


UPDATES = {"retraction": "retraction", "correction": "erratum", "expression of concern": ""}
TYPES = {"retraction": "Retraction of Publication", "correction": "Published Erratum"}
REFERS = {"retraction": "RetractionOf", "correction": "ErratumFor"}
OAI = """<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>{}</ListRecords></OAI-PMH>"""


def sources_of(record: Record) -> list[str]:
    """The sources that a record may come from, `watch` for one that is asked about its work."""
    doi = about(record) if record.get("type") in UPDATES else ""
    if doi and record.get("doi") and not record.get("withdrawn"):
        asked = ["watch"] if doi in {reference.names["doi"] for reference in ASKED} else []
        return ["news", "crossref", "pubmed", *asked]
    if record.get("published") and not (record.get("type") or record.get("pmid")):
        return ["other", "crossref"]
    if record.get("arxiv") and record.get("version") and not record.get("doi"):
        return ["other", "arxiv"]
    return ["news", "other"]


def about(record: Record) -> str:
    """The DOI that a notice names."""
    named = record.get("about", "")
    return named if isinstance(named, str) else str(named.get("doi", ""))


def to_crossref(record: Record) -> Work:
    people = [name.split() for name in record.get("authors", ())]
    fields: Work = {"author": [{"given": given, "family": family} for given, family in people]}
    if record.get("type"):
        fields["update-to"] = [update(_update(record), about(record))]
    else:
        fields |= {"container-title": [record["venue"]]}
        fields["published-online"] = {"date-parts": [[2026, 11, 20]]}
    return work(record["doi"], record["title"], **fields)


def _update(record: Record) -> str:
    return UPDATES[record["type"]] or record["type"].replace(" ", "_")


def to_pubmed(record: Record) -> str:
    kind = record["type"]
    refers = {REFERS.get(kind, "ExpressionOfConcernFor"): None}
    text = article(
        int(record["id"][1:]) + 5_000,
        record["title"],
        doi=record["doi"],
        types=[TYPES.get(kind, "Expression of Concern")],
        refs=refers,
    )
    cited = f"J Sand. 2020;1:1. doi: {about(record)}."
    return text.replace("J Sand. 2020;1:1", cited)


def to_arxiv(record: Record) -> str:
    """A record of OAI-PMH with its versions, in the format arXivRaw."""
    versions = "".join(
        f'<version version="v{number}"><date>Mon, 2{number} Nov 2026 10:00:00 GMT</date></version>'
        for number in range(1, record["version"] + 1)
    )
    named = f"<id>{record['arxiv']}</id>{versions}<title>{record['title']}</title>"
    texts = f"<authors>{', '.join(record['authors'])}</authors>"
    texts += f"<abstract>{record.get('abstract', '')}</abstract>"
    raw = f'<arXivRaw xmlns="http://arxiv.org/OAI/arXivRaw/">{named}{texts}</arXivRaw>'
    header = f"<identifier>oai:arXiv.org:{record['arxiv']}</identifier>"
    return f"<record><header>{header}</header><metadata>{raw}</metadata></record>"


def write_day(house: House, source: str, day: int, records: Sequence[Record]) -> None:
    """Write what a source has on a day, in the form of its service."""
    path = house.folder / source / f"{day}.{FORMS.get(source, 'jsonl')}"
    match source:
        case "crossref":
            text = json.dumps(list(map(to_crossref, records)))
        case "pubmed":
            text = articles(*map(to_pubmed, records))
        case "arxiv":
            text = OAI.format("".join(map(to_arxiv, records)))
        case _:
            text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text, encoding="utf-8")


FORMS = {"crossref": "json", "pubmed": "xml", "arxiv": "xml"}
SOURCES = ("news", "other", *FORMS)
# Journal articles that Crossref is asked about.
ASKED = [Reference(number) for start in (401, 801, 1_001) for number in range(start, start + 80, 4)]


@dataclass
class History:
    """Records by day and source; each next one of a list comes on a later day."""

    random: Random
    days: int = 4
    files: dict[tuple[int, str], list[Record]] = field(default_factory=dict)
    number: int = 0

    def add(self, records: list[Record]) -> None:
        days = sorted(self.random.sample(range(1, self.days + 1), len(records)))
        for day, record in zip(days, records, strict=True):
            source = self.random.choice(sources_of(record))
            self.number += 1
            own = {"id": f"r{self.number}", **record}
            self.files.setdefault((day, source), []).append(own)

    def answers(self, day: int) -> list[Work]:
        """What Crossref says on a day of the works that it is asked about."""
        told = [r for n in range(day + 1) for r in self.files.get((n, "watch"), ())]
        works = []
        for reference in ASKED:
            doi = reference.names["doi"]
            own = [update(_update(r), r["doi"]) for r in told if about(r) == doi]
            works.append(work(doi, reference.title, **{"updated-by": own}))
        return works


KILLS = ("chunk: unfinished", "chunk: committed", "digest: unfinished", "digest: committed")
KILLS += ("outcome: begin", "page: rename")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_each_of_100_events_is_told_once_and_no_near_miss(
    guarded: House,
    web: MisbehavingServer,
    request: pytest.FixtureRequest,
    store: str,
    seed: int,
):
    if store == "postgresql":
        guarded.settings["store"] = request.getfixturevalue("postgres_url")
    for source in SOURCES[1:]:
        (guarded.folder / source).mkdir()
    guarded.settings["channels"]["bo"] = {"kind": "file", "path": "bo/"}
    asked = {"url": web.url(""), "allow_private": True, "about": "asked"}
    guarded.settings["sources"] |= {
        "bo-refs": {"kind": "jsonl", "path": "refs/bo.jsonl", "role": "library"},
        "other": {"kind": "jsonl", "path": "other/*.jsonl"},
        **{kind: {"kind": kind, "path": f"{kind}/*"} for kind in FORMS},
        "asked": {"kind": "jsonl", "path": "refs/asked.jsonl", "role": "library"},
        "watch": {"kind": "crossref", **asked},
    }
    guarded.settings["subscriptions"] |= {
        "alerts": {
            "channels": "pages",
            "guard": "ada-refs",
            "schedule": "immediately",
        },
        "bo": {"topics": "*", "channels": "bo", "guard": ["bo-refs"]},
    }
    ada = range(1_500)
    bo = range(300, 2_000)
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in ada))
    write(guarded, "refs/bo.jsonl", *(Reference(number).entry for number in reversed(bo)))
    write(guarded, "refs/asked.jsonl", *(reference.entry for reference in ASKED))
    for source in ("news", "other"):  # a first reading, which announces nothing
        records = [Reference(number).record() for number in range(1_000, 1_100)]
        records += [
            Reference(number).record(version=2, announce="replace", doi=f"10.5555/old.{number}")
            for number in range(1_200, 1_300, 4)
        ]
        write_day(guarded, source, 0, records)
    stone = {"title": "On Stone", "authors": ["Cy Stone"], "id": "r0"}
    note = {"type": "correction", "about": {"doi": "10.5555/stone"}, "doi": "10.5555/note"}
    for source in ("crossref", "pubmed"):
        write_day(guarded, source, 0, [stone | note])
    write_day(guarded, "arxiv", 0, [stone | {"arxiv": "2401.00001", "version": 1}])
    crossref(web)
    guarded.run()
    random = Random(seed)
    expected = list[Told]()
    history = History(random)
    for number in range(20):
        for reference, change, records in events(number):
            history.add(records)
            people = [("ada", ada), ("bo", bo)]
            concerned = [name for name, own in people if reference.number in own]
            expected += [(name, change.value, reference.title) for name in concerned]
        for records in misses(number):
            history.add(records)
    assert len({title for _, _, title in expected}) == 100
    for day in range(1, history.days + 3):
        guarded.clock.move(days=1)
        crossref(web, *history.answers(day))
        for source in SOURCES:
            if records := history.files.get((day, source)):
                random.shuffle(records)
                write_day(guarded, source, day, records)
        words = "run", "--now", guarded.clock.at.isoformat()
        guarded.write()
        kill = Order(random.choice(KILLS), "kill", random.randint(1, 2))
        process.run(guarded.folder, *words, order=kill)
        guarded.clock.move(hours=1)
        assert process.run(guarded.folder, *words) == 0
        guarded.run()
    used = Counter[str]()
    for (_, source), records in history.files.items():
        used[source] += len(records)
    assert min(used[source] for source in (*SOURCES, "watch")) >= 5, used
    said = Counter(told(guarded))
    wanted = Counter(expected)
    assert (said - wanted, wanted - said) == (Counter(), Counter())


# ── one event ───────────────────────────────────────────────────────────────────────

ONE = Reference(1)


@pytest.fixture
def one(guarded: House) -> House:
    """A library of a few journal articles, and a source of news that was read before."""
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5, 9)))
    write(guarded, "news/0.jsonl", Reference(99).record())
    guarded.run()
    return guarded


def test_a_retraction_is_told_once_by_a_digest_without_papers(one: House):
    write(one, "news/a.jsonl", ONE.notice("retraction"))
    assert one.next_morning() == {"lab": 0}
    assert told(one) == [("ada", "retracted", ONE.title)]
    [page] = (one.folder / "pages").rglob("2*.html")
    assert "doi:10.5555/notice.1.1" in page.read_text()
    index = (one.folder / "pages" / "index.html").read_text()
    assert ">1 change of references<" in index and "0 papers" not in index
    with one.opened() as app:
        assert status_of(app.runtime, "lab").why == "1 change of references sent today at 06:00"
        [known] = report(app.runtime, app.runtime.subscriptions)
        assert known.last and (known.last.papers, known.last.changes) == (0, 1)
    write(one, "news/b.jsonl", ONE.record(withdrawn=True))
    one.next_morning()
    assert told(one) == [("ada", "retracted", ONE.title)]


def test_a_retraction_that_comes_with_its_reference_is_told(one: House):
    sources = one.settings["sources"]
    sources["ada-refs"] = sources.pop("ada-refs")  # is after the news in the file
    write(one, "refs/ada.jsonl", Reference(13).entry)
    write(one, "news/a.jsonl", Reference(13).notice("retraction"))
    one.next_morning()
    assert told(one) == [("ada", "retracted", Reference(13).title)]


def test_of_many_corrections_of_one_reference_none_is_compared_with_all(
    one: House, monkeypatch: pytest.MonkeyPatch
):
    work = Paper(ONE.title, keys={"doi": "10.5555/ref.1"})
    first = ReferenceEvent(CORRECTED, work, ("doi:10.5555/0",), one.clock.at, "news")
    events = [structs.replace(first, identity=(f"doi:10.5555/{n}",)) for n in range(200)]
    read: list[bytes] = []
    unpack = reference_events.unpack

    def note(packed: bytes, type_: type[ReferenceEvent]) -> ReferenceEvent:
        read.append(packed)
        return unpack(packed, type_)

    monkeypatch.setattr(reference_events, "unpack", note)
    with one.opened() as app, app.runtime.database.ingesting() as tx:
        assert (save(tx, events), save(tx, events[::9])) == (200, 0)
    assert len(read) == len(events[::9]), "each that is stored is read again, and no other"


def test_what_waits_is_counted_until_a_digest_has_it(one: House):
    def waits() -> str:
        with one.opened() as app:
            [known] = count_waiting(app.runtime, report(app.runtime, app.runtime.subscriptions))
            state = status_of(app.runtime, "lab")
            assert (state.waiting, state.changes) == (known.waiting, known.changes)
            return known.waits

    write(one, "news/a.jsonl", ONE.notice("retraction"))
    one.ingest(AGENTS)
    assert waits() == "1 paper, 1 change of references"
    one.next_morning()
    assert waits() == "0 papers"
    write(one, "news/b.jsonl", Reference(5).notice("retraction"))
    one.ingest()
    assert waits() == "1 change of references"


def test_a_paper_says_what_was_told_of_it_and_to_whom(one: House):
    write(one, "news/a.jsonl", ONE.record(abstract="We move sand."), Reference(5).record())
    one.next_morning()
    write(one, "news/b.jsonl", ONE.notice("retraction"))
    one.next_morning()
    with one.opened() as app:
        known, other = (explain(app.runtime, f"doi:10.5555/ref.{n}") for n in (1, 5))
        assert (len(known.reported), other.reported) == (1, ())
        sentence = "in the library ada-refs, news from news since 22 Nov 2026"
        assert known_from(known, "UTC") == f"{sentence}, retracted, reported to lab on 23 Nov 2026"
        assert known_from(known, "UTC", ["bo"]) == sentence


def test_a_change_is_told_of_a_paper_with_another_title_than_its_entry(guarded: House):
    entry = {"title": "A Preprint: How Sand Moves in Gardens", "arxiv": "2602.00077"}
    by = {"authors": ["Gary Green", "Mia Moss"], "year": 2026}
    write(guarded, "refs/ada.jsonl", entry | by)
    write(guarded, "news/0.jsonl", Reference(99).record())
    guarded.run()
    article = {"title": "How Sand Moves in Gardens", "doi": "10.5555/garden", "venue": "Sand"}
    write(guarded, "news/a.jsonl", article | by | {"type": "journal article"})
    guarded.next_morning()
    with guarded.opened() as app:
        known = explain(app.runtime, "10.5555/garden")
    assert [change.change for change in known.reported] == ["perhaps published"]


def test_a_notice_without_an_address_is_linked_by_its_doi(one: House):
    write(one, "news/a.jsonl", ONE.notice("retraction"))
    one.next_morning()
    assert one.digest().references[0].url == "https://doi.org/10.5555/notice.1.1"


def test_a_notice_that_names_a_reference_as_its_stored_paper_is_named_is_reported(one: House):
    write(one, "news/a.jsonl", ONE.record(pmid="71"))
    one.ingest()
    write(one, "news/b.jsonl", {"title": "Note", "type": "correction", "about": {"pmid": "71"}})
    one.next_morning()
    assert told(one) == [("ada", "corrected", ONE.title)]


@pytest.mark.parametrize("type_", ["retraction", "correction", "expression of concern"])
def test_a_notice_that_is_withdrawn_before_its_digest_is_not_reported(one: House, type_: str):
    notice = ONE.notice(type_)
    write(one, "news/a.jsonl", notice, Reference(5).notice(type_))
    one.ingest()
    write(one, "news/b.jsonl", ONE.notice("retraction", 2, about={"doi": notice["doi"]}))
    one.next_morning()
    assert [title for _, _, title in told(one)] == [Reference(5).title]
    write(one, "news/c.jsonl", {**notice, "abstract": "Once more."})
    one.next_morning()
    assert len(told(one)) == 1


def test_a_withdrawn_notice_does_not_withdraw_another(one: House):
    write(one, "news/a.jsonl", ONE.notice("retraction"))
    one.ingest()
    write(one, "news/b.jsonl", ONE.notice("retraction", 2, withdrawn=True))
    one.next_morning()
    assert told(one) == [("ada", "retracted", ONE.title)]


MARKED = ONE.record(withdrawn=True, id="r1")
NOTICE = ONE.notice("retraction")
OTHER = ONE.notice("retraction", 2, title="Retraction notice", authors=["Cy Stone"])
UNMARKED = {**MARKED, "withdrawn": False}
NOTICE_WITHDRAWN = {**NOTICE, "withdrawn": True}
NOTICE_RETRACTED = ONE.notice("retraction", 3, about={"doi": NOTICE["doi"]})


@pytest.mark.parametrize(
    ("records", "reports"),
    [
        ([MARKED, NOTICE, NOTICE_RETRACTED], [""]),
        ([NOTICE, MARKED, NOTICE_RETRACTED], [""]),
        ([NOTICE, MARKED, NOTICE_WITHDRAWN], [""]),
        ([OTHER, NOTICE, NOTICE_RETRACTED], ["doi:10.5555/notice.1.2"]),
        ([NOTICE, {**NOTICE, "pmid": "71"}, OTHER, NOTICE_RETRACTED], ["doi:10.5555/notice.1.2"]),
        ([MARKED, NOTICE, UNMARKED], ["doi:10.5555/notice.1.1"]),
        ([MARKED, UNMARKED], []),
        ([MARKED, NOTICE, NOTICE_RETRACTED, UNMARKED], []),
        ([NOTICE, MARKED, UNMARKED, NOTICE_RETRACTED], []),
        ([NOTICE, UNMARKED, NOTICE_RETRACTED], []),
    ],
)
def test_a_retraction_is_reported_as_long_as_one_record_says_so(
    one: House, records: list[Record], reports: list[str]
):
    for number, record in enumerate(records):
        write(one, f"news/{number}.jsonl", record)
        one.ingest()
    one.next_morning()
    events = [event for digest in one.read(every_digest) for event in digest.references]
    assert [(event.change, event.after) for event in events] == [(RETRACTED, a) for a in reports]


def test_an_entry_that_left_is_not_reported_and_a_renamed_one_is(one: House):
    entries = [Reference(number).entry for number in (5, 9)]
    write(one, "refs/ada.jsonl", {**entries[0], "id": "renamed"})
    one.ingest()
    one.clock.move(hours=2)
    write(one, "news/a.jsonl", *(Reference(number).notice("retraction") for number in (5, 9)))
    one.next_morning()
    assert told(one) == [("ada", "retracted", Reference(5).title)]
    write(one, "refs/ada.jsonl", {**entries[0], "id": "again"})
    one.ingest()
    one.clock.move(hours=2)
    write(one, "news/b.jsonl", {**Reference(5).notice("retraction", 2), "abstract": "Again."})
    one.next_morning()
    assert len(told(one)) == 1


def test_a_preprint_that_its_owner_updated_is_not_reported_as_published(guarded: House):
    preprint = Reference(4)
    write(guarded, "refs/ada.jsonl", preprint.entry)
    write(guarded, "news/0.jsonl", Reference(99).record())
    guarded.run()
    article = {**preprint.record(), "venue": "Journal of Sand", "doi": "10.5555/pub.4"}
    write(guarded, "news/a.jsonl", article)
    guarded.ingest()
    write(guarded, "refs/ada.jsonl", {**preprint.entry, "doi": "10.5555/pub.4"})
    guarded.next_morning()
    assert told(guarded) == []


def test_a_new_title_is_in_the_event_of_the_version_that_brought_it(guarded: House):
    preprint = Reference(4)
    write(guarded, "refs/ada.jsonl", preprint.entry)
    write(guarded, "news/0.jsonl", Reference(99).record())
    guarded.run()
    for version in (2, 3):
        renamed = preprint.record(version=version, announce="replace", title="How Stones Roll")
        write(guarded, f"news/{version}.jsonl", renamed)
        guarded.next_morning()
    said = [event for digest in guarded.read(every_digest) for event in digest.references]
    assert {event.after: event.title_after for event in said} == {"2": "How Stones Roll", "3": ""}


@pytest.fixture
def two(guarded: House) -> House:
    """Two people with a library each."""
    library = {"kind": "jsonl", "path": "refs/bo.jsonl", "role": "library"}
    guarded.settings["sources"]["bo-refs"] = library
    guarded.settings["channels"]["bo"] = {"kind": "file", "path": "bo/"}
    guarded.settings["subscriptions"]["bo"] = {"channels": ["bo"], "guard": "bo-refs"}
    write(guarded, "news/0.jsonl", Reference(99).record())
    return guarded


def test_readers_see_a_change_under_the_titles_of_their_own_entries(two: House):
    mine = ONE.entry
    # With the DOI of the other.
    wrong = {**Reference(5).entry, **ONE.names}
    write(two, "refs/ada.jsonl", wrong)
    write(two, "refs/bo.jsonl", {**wrong, "id": "too"}, mine)
    two.run()
    notice = ONE.notice("retraction", title=f"Retraction: {ONE.title}")
    write(two, "news/a.jsonl", notice)
    two.next_morning()
    named = [("ada", "retracted", Reference(5).title), ("bo", "retracted", ONE.title)]
    assert told(two) == named


def test_a_new_version_is_told_to_those_who_have_an_earlier_one(two: House):
    entry = Reference(4).entry
    write(two, "refs/ada.jsonl", entry)
    write(two, "refs/bo.jsonl", {**entry, "version": 2})
    two.run()
    for version in (2, 3):
        write(two, f"news/{version}.jsonl", Reference(4).record(version=version))
        two.next_morning()
    new_version = "new version", Reference(4).title
    assert told(two) == [("ada", *new_version), ("ada", *new_version), ("bo", *new_version)]


def test_the_gravest_twenty_are_in_a_digest_and_the_others_in_the_next(guarded: House):
    numbers = range(1, 100, 4)
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in numbers))
    guarded.run()
    notices = [Reference(number).notice("correction") for number in numbers]
    write(guarded, "news/a.jsonl", *notices, Reference(97).notice("retraction", 2))
    guarded.next_morning()
    first = guarded.digest()
    assert (len(first.references), first.more_references) == (20, 6)
    assert first.references[0].change is RETRACTED
    guarded.next_morning()
    assert len(guarded.digest().references) == 6
    assert (
        len({event.id for digest in guarded.read(every_digest) for event in digest.references})
        == 26
    )


def test_events_of_a_digest_that_reached_nobody_are_in_the_next_one(one: House, smtp: ScriptedSmtp):
    one.by_mail(smtp.port)
    smtp.always["mail"] = "451 4.3.0 try later"
    write(one, "news/a.jsonl", ONE.notice("retraction"))
    one.next_morning()
    first = one.digest()
    one.next_morning()
    second = one.digest()
    assert first.references == second.references and first.period != second.period
    smtp.always.clear()
    one.run_after(days=2)
    assert told(one) == [("ada", "retracted", ONE.title)]
    [mail] = smtp.received
    assert b"doi:10.5555/notice.1.1" in mail.content


def test_who_is_not_told_by_another_subscription_is_told(one: House, smtp: ScriptedSmtp):
    one.by_mail(smtp.port, "ada@example.org")
    both = {"email": ["ada@example.org", "bo@example.org"], "guard": "ada-refs"}
    one.settings["subscriptions"]["alerts"] = {**both, "schedule": "daily 09:00"}
    one.run()
    write(one, "news/a.jsonl", ONE.notice("retraction"))
    one.run_after(days=1, hours=2.5)
    one.run_after(hours=1)
    assert sorted(mail.recipient for mail in smtp.received) == ["ada@example.org", "bo@example.org"]
    del both["email"][1]
    write(one, "news/b.jsonl", Reference(5).notice("retraction"))
    before = len(smtp.received)
    one.run_after(days=1)
    assert len(smtp.received) == before + 1


@pytest.mark.parametrize("paused", [False, True])
def test_who_was_told_by_another_subscription_gets_the_rest_of_a_digest(
    one: House, smtp: ScriptedSmtp, paused: bool
):
    one.by_mail(smtp.port, "ada@example.org")
    both = {"email": ["ada@example.org", "bo@example.org"], "guard": "ada-refs"}
    alerts = {**both, "topics": ["agents"], "schedule": "daily 09:00"}
    one.settings["subscriptions"]["alerts"] = alerts
    del one.settings["subscriptions"]["lab"]["topics"]
    one.run()
    with one.opened() as app, app.runtime.database.writing() as tx:
        now = one.clock.at
        two_days = timedelta(days=2)
        if paused:
            suppress(tx, "ada@example.org", "alerts", now, until=now + two_days, how="link")
    write(one, "news/a.jsonl", ONE.notice("retraction"))
    one.ingest(AGENTS)
    one.run_after(days=1, hours=2.5)
    one.run_after(hours=1)
    if paused:
        one.ingest(("Agents that Apologise", APART[1]))
        one.run_after(days=2)
    said = {b"was retracted": "retracted", AGENTS[0].encode(): "paper"}
    got = Counter(
        (mail.recipient[:2], what)
        for mail in smtp.received
        for words, what in said.items()
        if words in mail.content
    )
    assert got == {(who, what): 1 for who in ("ad", "bo") for what in said.values()}


# ── each preprint server ────────────────────────────────────────────────────────────

SERVERS = {
    "bioRxiv": "10.64898/2026.01.02.123456",
    "medRxiv": "10.1101/2025.01.02.25123456",
    "EarthArXiv": "10.31223/x5abcd",
    "OSF Preprints": "10.31219/osf.io/abcde_v1",
    "Center for Open Science": "10.31234/osf.io/abcde",
    "PeerJ Preprints": "10.7287/peerj.preprints.27000v1",
    "Qeios": "10.32388/abc123",
    "Authorea": "10.22541/essoar.167000000.00000000/v1",
    "SciELO Preprints": "10.1590/scielopreprints.1234",
    "EGUsphere": "10.5194/egusphere-2026-12",
    "Zenodo": "10.5281/zenodo.1234567",
}
SAND = {
    "title": "Grains of Amber Drift Across Cobalt Dunes",
    "authors": ["Ada Lovelace", "Alan Turing"],
}
ARTICLE = {**SAND, "doi": "10.5555/dunes", "venue": "Journal of Dunes", "type": "journal article"}


@pytest.mark.parametrize("with_venue", [True, False])
@pytest.mark.parametrize("server", SERVERS)
def test_a_preprint_and_its_article_are_one_paper_that_is_reported_as_published(
    guarded: House, server: str, *, with_venue: bool
):
    preprint = {**SAND, "doi": SERVERS[server], **({"venue": server} if with_venue else {})}
    write(guarded, "refs/ada.jsonl", {**preprint, "id": "sand"})
    write(guarded, "news/0.jsonl", preprint)
    guarded.run()
    write(guarded, "news/a.jsonl", ARTICLE)
    assert sum(run.new for run in guarded.ingest()) == 0
    guarded.next_morning()
    assert told(guarded) == [("ada", "published", SAND["title"])]


def test_an_article_of_genome_research_is_no_preprint(guarded: House):
    article = {**SAND, "doi": "10.1101/gr.277858.123"}
    write(guarded, "refs/ada.jsonl", {**article, "id": "sand"})
    write(guarded, "news/0.jsonl", article)
    guarded.run()
    write(guarded, "news/a.jsonl", {**ARTICLE, "pmid": "77"})
    assert sum(run.new for run in guarded.ingest()) == 1
    guarded.next_morning()
    assert told(guarded) == []


def test_an_article_of_genome_research_is_what_its_preprint_became(guarded: House):
    write(guarded, "refs/ada.jsonl", {**SAND, "doi": SERVERS["bioRxiv"], "id": "sand"})
    write(guarded, "news/0.jsonl", Reference(99).record())
    guarded.run()
    write(guarded, "news/a.jsonl", {**SAND, "doi": "10.1101/gr.277858.123"})
    guarded.next_morning()
    assert told(guarded) == [("ada", "published", SAND["title"])]


BLOG = {"kind": "feed", "path": "blog/*.xml", "first_run": "baseline"}
FEED = """<rss version="2.0"><channel><title>Blog</title><link>https://blog.example.net/</link>{}
</channel></rss>"""
POST = "<item><guid>p1</guid><title>Retracted: {}</title><link>https://blog.example.net/1</link></item>"


def test_a_blog_reports_a_retraction_and_marks_nothing(guarded: House):
    unnamed = Reference(3)
    (guarded.folder / "blog").mkdir()
    guarded.settings["sources"]["blog"] = BLOG
    write(guarded, "refs/ada.jsonl", unnamed.entry)
    write(guarded, "news/0.jsonl", unnamed.record(id="r3"))
    other = FEED.format(POST.format("Other Things Entirely").replace("p1", "p0"))
    (guarded.folder / "blog" / "0.xml").write_text(other, encoding="utf-8")
    guarded.run()
    names = "".join(f"<dc:creator>{name}</dc:creator>" for name in unnamed.text["authors"])
    rss = FEED.replace("<rss ", '<rss xmlns:dc="http://purl.org/dc/elements/1.1/" ')
    post = POST.format(unnamed.title).replace("</item>", f"{names}</item>")
    (guarded.folder / "blog" / "1.xml").write_text(rss.format(post), encoding="utf-8")
    guarded.next_morning()
    assert told(guarded) == [("ada", "reported as retracted", unnamed.title)]
    text = "".join(page.read_text() for page in (guarded.folder / "pages").rglob("2*.html"))
    assert "blog reports a retraction." in text
    assert "https://blog.example.net/1" in text
    with guarded.opened() as app:
        known = explain(app.runtime, "1")
        assert not known.origin.stored.paper.withdrawn


FALSE = ONE.notice("retraction", id="false", url="https://blog.example.net/42")


def test_a_mistaken_retraction_is_undone_and_told_to_those_who_were_told(two: House):
    write(two, "refs/ada.jsonl", ONE.entry)
    write(two, "refs/bo.jsonl", Reference(5).entry)
    write(two, "news/0.jsonl", ONE.record(id="r1"), Reference(99).record())
    two.run()
    write(two, "news/a.jsonl", FALSE)
    two.next_morning()
    assert told(two) == [("ada", "retracted", ONE.title)]
    with two.opened() as app:
        done = unmark(app.runtime, "doi:10.5555/ref.1")
        assert [mark.raw_id for mark in done.undone] == ["false"]
        assert done.notified == ("lab",)
        with pytest.raises(UsageError):
            unmark(app.runtime, "doi:10.5555/ref.1")
    write(
        two, "news/b.jsonl", {**FALSE, "abstract": "Once more."}, ONE.record(id="r1", venue="Sand")
    )
    two.next_morning()
    said = [("ada", "retracted", ONE.title), ("ada", "withdrawn by mistake", ONE.title)]
    assert told(two) == said
    text = "".join(page.read_text() for page in (two.folder / "pages").rglob("2*.html"))
    assert "Withdrawn by mistake: news’s notice was about something else." in text
    assert "https://blog.example.net/42" in text
    write(two, "news/c.jsonl", ONE.notice("retraction", 2, id="right"))
    two.next_morning()
    assert told(two) == sorted([*said, ("ada", "retracted", ONE.title)])
    with two.opened() as app:
        assert explain(app.runtime, "doi:10.5555/ref.1").origin.stored.paper.withdrawn
