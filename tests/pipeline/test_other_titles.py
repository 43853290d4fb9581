"""What each record said is kept, and a digest names the titles that likeness has joined."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from monitor.commands.explain import explain
from monitor.commands.identity import split
from monitor.digest.render import JinjaTemplates
from monitor.model import OtherTitle, Paper, SightingText
from monitor.store.engine.database import Database
from monitor.store.papers import sightings
from monitor.store.papers.papers import Origin
from tests.house import House, newest_digest
from tests.pipeline.desk import origin, read
from tests.store.scenes import DAY, NOW, reading

PREPRINT = Paper(
    "Language agents that plan together",
    "Planning together is hard for agents. We train language agents that write down what they "
    "intend to do and read what others intend. On four benchmarks they need half as many steps "
    "as agents that plan alone, and they recover sooner when one of them fails.",
    ("Ada Lovelace", "Alan Turing"),
    keys={"arxiv": "2601.00001"},
    raw_id="a1",
)
RETITLED = Paper(
    "Language agents that share written plans",
    PREPRINT.abstract,
    ("A. Lovelace", "A. Turing"),
    venue="Journal of Plans",
    year=2026,
    raw_id="j1",
)


def texts(store: Database) -> dict[str, SightingText | None]:
    seen = reading(store, sightings.with_text, [1])[1]
    return {one.source: one.text for one in seen}


def test_each_sighting_has_what_its_record_said(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    read(store, "journal", replace(RETITLED, type="journal article"), now=NOW + DAY)
    assert texts(store) == {
        "arxiv": SightingText(PREPRINT.title, PREPRINT.authors, keys=(("arxiv", "2601.00001"),)),
        "journal": SightingText(
            RETITLED.title, RETITLED.authors, "Journal of Plans", 2026, "journal article"
        ),
    }


def test_a_sighting_takes_over_what_its_record_says_now(store: Database) -> None:
    read(store, "journal", RETITLED)
    read(store, "journal", replace(RETITLED, year=2027), now=NOW + DAY)
    assert texts(store)["journal"].year == 2027


# ── splits ──────────────────────────────────────────────────────────────────────────


LONGER = replace(RETITLED, abstract=f"{PREPRINT.abstract} Indeed.")


def split_off(house: House, journal: Paper, source: str) -> tuple[Origin, Origin]:
    """Store the preprint and a record of the journal as one paper, and split off one of them."""
    with house.opened() as app:
        read(app.runtime.database, "arxiv", PREPRINT)
        read(app.runtime.database, "journal", journal)
        return split(app.runtime, "1", [source])


def test_a_paper_that_is_split_says_what_its_own_record_said(house: House) -> None:
    kept, parted = split_off(house, LONGER, "journal")
    paper = parted.stored.paper
    assert (paper.title, paper.authors) == (RETITLED.title, RETITLED.authors)
    assert (paper.venue, paper.year, paper.abstract) == ("Journal of Plans", 2026, "")
    first = kept.stored.paper
    assert (first.title, first.abstract) == (PREPRINT.title, PREPRINT.abstract)
    with house.opened() as app:
        [seen] = origin(app.runtime.database, parted.stored.id).sightings
    assert seen.text.title == RETITLED.title


def test_the_first_record_that_is_split_off_takes_the_text_along(house: House) -> None:
    kept, parted = split_off(house, LONGER, "arxiv")
    assert (kept.stored.paper.title, kept.stored.paper.abstract) == (RETITLED.title, "")
    assert parted.stored.paper.abstract == PREPRINT.abstract
    assert parted.stored.paper.keys == {"arxiv": "2601.00001"}


def test_an_identifier_that_only_one_record_gave_goes_with_it(house: House) -> None:
    kept, parted = split_off(house, replace(RETITLED, keys={"doi": "10.1000/plans"}), "journal")
    assert kept.stored.paper.keys == {"arxiv": "2601.00001"}
    assert parted.stored.paper.keys == {"doi": "10.1000/plans"}


# ── digests ─────────────────────────────────────────────────────────────────────────


def other_titles(house: House, *records: tuple[str, Paper]) -> tuple[OtherTitle, ...]:
    """Read records, compose a digest, and return the other titles of its one paper."""
    with house.opened() as app:
        for source, record in records:
            read(app.runtime.database, source, record, now=house.clock.now())
        app.once.match()
        house.clock.move(days=1)
        app.once.digest()
        with app.runtime.database.reading() as tx:
            digest = newest_digest(tx)
    [entry] = [entry for group in digest.groups for entry in group.entries]
    return entry.also


def test_a_digest_names_the_other_title_of_a_paper_joined_by_likeness(house: House) -> None:
    also = other_titles(house, ("arxiv", PREPRINT), ("journal", RETITLED))
    assert also == (OtherTitle(RETITLED.title, "journal"),)
    [page] = (house.folder / "pages").rglob("2026-*.html")
    assert f"also seen as: <em>{RETITLED.title}</em> (journal)" in page.read_text("utf-8")


def test_titles_that_differ_in_capitals_are_one(house: House) -> None:
    record = replace(RETITLED, title=PREPRINT.title.upper())
    assert other_titles(house, ("arxiv", PREPRINT), ("journal", record)) == ()


def test_what_an_identifier_has_joined_has_no_other_title(house: House) -> None:
    record = replace(RETITLED, keys=PREPRINT.keys)
    assert other_titles(house, ("arxiv", PREPRINT), ("journal", record)) == ()


def test_a_title_that_likeness_has_put_in_the_place_of_another_names_the_first(
    house: House,
) -> None:
    revised = replace(RETITLED, abstract=RETITLED.abstract + " We also release what we wrote.")
    also = other_titles(house, ("arxiv", PREPRINT), ("journal", RETITLED), ("journal", revised))
    assert also == (OtherTitle(PREPRINT.title, "arxiv"),)


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("mail/paper.html.j2", "also seen as: <em>A &lt;b&gt; title</em> (journal)"),
        ("mail/paper.txt.j2", "  also seen as: A <b> title (journal)"),
        ("slack/paper.j2", "also seen as: _A &lt;b&gt; title_ (journal)"),
        ("web/paper.html.j2", "also seen as: <em>A &lt;b&gt; title</em> (journal)"),
    ],
)
def test_every_channel_shows_it(template: str, line: str) -> None:
    from tests.digest.samples import digest, news

    made = digest([news()])
    entry = replace(made.groups[0].entries[0], also=(OtherTitle("A <b> title", "journal"),))
    assert line in JinjaTemplates().render(template, entry=entry, digest=made)
    plain = JinjaTemplates().render(template, entry=replace(entry, also=()), digest=made)
    assert "also seen as" not in plain


def test_explain_shows_the_title_of_each_record(house: House) -> None:
    with house.opened() as app:
        read(app.runtime.database, "arxiv", PREPRINT)
        read(app.runtime.database, "journal", RETITLED)
        sightings = explain(app.runtime, "1").origin.sightings
        assert [one.text.title for one in sightings] == [PREPRINT.title, RETITLED.title]
    assert f"“{RETITLED.title}”" in house.command("explain", "1").out
