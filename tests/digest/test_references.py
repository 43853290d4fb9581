"""Changes of references as letters: what happened, by whom, in which entry, and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from monitor.digest.render import JinjaTemplates
from monitor.digest.sections.references import event_facts, group_events, show_events
from monitor.model import (
    Digest,
    LibraryEntry,
    NoticeText,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    SourceLabel,
)
from tests.digest.samples import NOW, digest
from tests.digest.test_sections import written

LABELS = {
    "watch": SourceLabel("Crossref"),
    "rw": SourceLabel("Retraction Watch"),
    "refs": SourceLabel("Ada's references"),
}
SAYS = "The editors retract this article. Its figures were copied. " + "More was said. " * 40
RETRACTED = ReferenceEvent(
    ReferenceChange.RETRACTED,
    Paper("How Sand Moves", keys={"doi": "10.5555/moves"}),
    ("", "doi:10.5555/n"),
    NOW,
    "watch",
    after="doi:10.5555/n",
    dated="2026-03-03",
    url="https://doi.org/10.5555/n",
    venue="Journal of Sand",
    doi="10.5555/n",
    text=NoticeText(SAYS, "watch"),
    entries=(LibraryEntry("refs", "refs.bib", "ada2024sand"),),
)
PUBLISHED = ReferenceEvent(
    ReferenceChange.PUBLISHED,
    Paper("Why Dunes Sing", keys={"arxiv": "2401.00001"}),
    ("",),
    NOW,
    "watch",
    before="arXiv 2401.00001",
    after="in Journal of Sand, doi:10.5555/p",
    dated="2026-03",
    venue="Journal of Sand",
    doi="10.5555/p",
)


def shown(*events: ReferenceEvent) -> Digest:
    return digest([], references=show_events(events, LABELS))


@pytest.mark.parametrize("form", ["html", "text", "page", "slack"])
def test_a_retraction_is_a_letter_in_each_format(form: str):
    text = " ".join(written(shown(RETRACTED), JinjaTemplates())[form].split())
    parts = [
        "A paper in your references was retracted",
        "How Sand Moves",
        "Retracted by Journal of Sand on 3 March 2026.",
        "The notice says: “The editors retract this article. Its figures were copied.",
        "https://doi.org/10.5555/n",
        "entry ada2024sand of refs.bib",
        "What to do:",
        "cite the notice, too.",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, dict(zip(parts, places, strict=True))
    firsts = [places[at] for at in (0, 2, 3, 5, 6, 7)]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("form", ["html", "text", "page", "slack"])
def test_a_publication_has_the_doi_to_cite(form: str):
    text = " ".join(written(shown(PUBLISHED), JinjaTemplates())[form].split())
    assert "A preprint in your references is now published" in text
    assert "arXiv 2401.00001 is now published in Journal of Sand in March 2026." in text
    assert "Cite as: " in text
    assert "https://doi.org/10.5555/p" in text


def test_events_of_one_kind_have_one_heading_and_one_advice():
    second = structs.replace(RETRACTED, work=Paper("Another"), id=2)
    groups = group_events(shown(PUBLISHED, RETRACTED, second))
    assert [(group.heading, len(group.events)) for group in groups] == [
        ("2 papers in your references were retracted", 2),
        ("A preprint in your references is now published", 1),
    ]


def test_each_kind_of_change_has_its_heading_and_advice():
    events = [structs.replace(RETRACTED, change=change, id=9) for change in ReferenceChange]
    withdrawn = structs.replace(RETRACTED, after="", before="arXiv 2401.00001")
    perhaps = structs.replace(PUBLISHED, perhaps=True, title_after="Dunes Sing")
    groups = group_events(shown(*events, withdrawn, perhaps))
    assert len({group.heading for group in groups}) == len(ReferenceChange) + 2
    assert all(group.advice.endswith(".") for group in groups)


def test_the_quote_has_whole_sentences_of_the_notice_and_is_short():
    [event] = show_events([RETRACTED], LABELS)
    quote = event_facts(event).quote
    assert SAYS.startswith(quote)
    assert quote.endswith("said.")
    assert len(quote) <= 400
    long = structs.replace(RETRACTED, text=NoticeText("x" * 900, "watch"))
    [event] = show_events([long], LABELS)
    assert event_facts(event).quote == "x" * 399 + "…"


def test_reasons_of_a_list_are_no_words_of_the_notice():
    reasons = NoticeText("Copied figures; unreliable results.", "rw", is_reasons=True)
    [event] = show_events([structs.replace(RETRACTED, text=reasons)], LABELS)
    facts = event_facts(event)
    assert facts.quoted == "Reasons according to Retraction Watch"
    assert facts.quote == reasons.text


def test_many_entries_are_counted_and_one_without_a_key_names_its_file_or_library():
    entries = [LibraryEntry("refs", "refs.bib", f"key{n}") for n in range(5)]
    entries[1:3] = [LibraryEntry("refs", "refs.bib"), LibraryEntry("refs")]
    [event] = show_events([structs.replace(RETRACTED, entries=tuple(entries))], LABELS)
    named = "entry key0 of refs.bib, refs.bib, Ada's references, 2 more"
    assert event_facts(event).entries == named


def test_an_event_of_an_older_digest_reads_as_far_as_it_goes():
    """Those have dates in words, and neither venue, text nor entries."""
    event = ReferenceEvent(
        ReferenceChange.CORRECTED, Paper("Old"), ("x",), NOW, "Crossref", after="doi:10.5555/c"
    )
    dated = structs.replace(event, dated="3 March 2026")
    assert event_facts(dated).happened == "Corrected on 3 March 2026."
    assert event_facts(structs.replace(event, dated="March 2026")).happened == (
        "Corrected in March 2026."
    )
    assert event_facts(structs.replace(event, dated="2026")).happened == "Corrected in 2026."
    published = structs.replace(PUBLISHED, venue="", doi="", dated="3 March 2026")
    assert event_facts(published).happened == (
        "Published: arXiv 2401.00001 is now in Journal of Sand, doi:10.5555/p, 3 March 2026."
    )
    text = written(replace(digest([]), references=(dated,)), JinjaTemplates())["text"]
    assert "Notice: doi:10.5555/c" in text
    assert "you have it" not in text.lower()
