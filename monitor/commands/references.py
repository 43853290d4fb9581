"""The entries of libraries: what became of each, and when a service was last asked about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import structs

from monitor.commands.explain import (
    Explanation,
    UnknownPaperError,
    explain,
)
from monitor.digest.links import page_url
from monitor.digest.sections.references import (
    IMPORTANCE,
    describe_event,
    event_since,
    notice_link,
    show_event,
)
from monitor.errors import refuse_unknown
from monitor.identity.keys import group_by_scheme, identifiers, identifiers_in
from monitor.identity.reference_events import as_told
from monitor.identity.venues import Kind, venue
from monitor.model import LibraryEntry, Paper, ReferenceChange, ReferenceEvent
from monitor.pipeline.guard import BATCH, stored_changes
from monitor.pipeline.runtime import Runtime
from monitor.sources.api.about import AboutSource
from monitor.store.engine.database import Transaction
from monitor.store.sources import asked_works, collections, reference_events
from monitor.store.sources.collections import CollectionEntry
from monitor.text import title_key

NOTHING_KNOWN = "nothing known"
PERHAPS_PUBLISHED = f"perhaps {ReferenceChange.PUBLISHED}"
# The states of an entry, the gravest first. A report by mistake is none.
STATES = (
    ReferenceChange.RETRACTED.value,
    ReferenceChange.REPORTED.value,
    ReferenceChange.CONCERN.value,
    ReferenceChange.CORRECTED.value,
    ReferenceChange.PUBLISHED.value,
    PERHAPS_PUBLISHED,
    ReferenceChange.NEW_VERSION.value,
    NOTHING_KNOWN,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry of a library, and the events that hold for it as it is now, the gravest first.

    `by` is the title of the source that reported the first of them, "" where the reader may not
    see it. `asked` is when a service last answered about the entry.
    """

    place: LibraryEntry
    paper: Paper
    events: tuple[ReferenceEvent, ...] = ()
    by: str = ""
    asked: datetime | None = None

    @property
    def library(self) -> str:
        return self.place.library

    @property
    def title(self) -> str:
        return self.paper.title

    @property
    def event(self) -> ReferenceEvent | None:
        return self.events[0] if self.events else None

    @property
    def state(self) -> str:
        return self.event.change_name if self.event else NOTHING_KNOWN

    @property
    def since(self) -> str:
        """The day of the change in ISO 8601, "" without any."""
        return event_since(self.event) if self.event else ""

    @property
    def notice(self) -> dict[str, str] | None:
        """The name and address of the notice, or of the published version."""
        link = notice_link(self.event) if self.event else None
        return {"name": link.text, "url": link.url} if link else None


@dataclass(frozen=True, slots=True)
class ReferenceFilter:
    """A choice of references; `q` is part of a title, key, file or identifier."""

    library: str = ""
    state: str = ""
    q: str = ""

    def select(self, references: Iterable[Reference]) -> list[Reference]:
        """Return the references that match, whatever their state."""
        q = self.q.casefold()
        return [
            reference
            for reference in references
            if self.library in ("", reference.library) and (not q or q in _searched(reference))
        ]

    def with_state(self, references: Iterable[Reference]) -> list[Reference]:
        return [one for one in references if self.state in ("", one.state)]


def _searched(reference: Reference) -> str:
    names = (value for _, value in identifiers(reference.paper))
    place = reference.place
    return "\n".join((reference.title, place.key, place.file, *names)).casefold()


def count_states(references: Iterable[Reference]) -> dict[str, int]:
    """Return how many references have each state, the gravest first."""
    counts = Counter(reference.state for reference in references)
    return {state: counts[state] for state in STATES if counts[state]}


def list_references(
    runtime: Runtime,
    libraries: Sequence[str] = (),
    *,
    titles: Mapping[str, str] | None = None,
) -> list[Reference]:
    """Return the entries of libraries, of all when none is named: what changed first, then titles.

    `titles` are those of the sources that the reader may see. Raises UsageError for an unknown
    library.
    """
    refuse_unknown("library", libraries, runtime.libraries)
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        entries = collections.entries(tx, libraries or runtime.libraries, now)
        return _references(tx, runtime, entries, titles, now)


def find_references(
    runtime: Runtime, name: str, libraries: Collection[str] | None = None
) -> list[Reference]:
    """Return the entries of libraries, of all or these, with an identifier, a link or a title."""
    if libraries is None:
        libraries = runtime.libraries
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        pairs = identifiers_in(name)
        entries = collections.with_identifiers_or_title(tx, libraries, pairs, title_key(name), now)
        return _references(tx, runtime, entries, None, now)


def explain_or_find(runtime: Runtime, name: str) -> Explanation | list[Reference]:
    """Explain a paper, or find the entries if only libraries have it. Raises UsageError."""
    try:
        return explain(runtime, name)
    except UnknownPaperError:
        if found := find_references(runtime, name):
            return found
        raise


def changed_entries(references: Iterable[Reference]) -> Iterator[tuple[str, Paper, str]]:
    """Yield what changed for BibTeX: the key, the paper to cite now, and what else to note.

    A preprint that was certainly published gets the venue, date and DOI of the publication.
    """
    for reference in references:
        notes = [describe_event(e) for e in reference.events if e not in _published(reference)]
        paper = reference.paper
        for event in _published(reference)[:1]:
            paper = _as_published(paper, event)
        if reference.events:
            yield reference.place.key, paper, " ".join(notes)


def _published(reference: Reference) -> list[ReferenceEvent]:
    """Return the publications of a reference that are certain."""
    return [e for e in reference.events if e.change is ReferenceChange.PUBLISHED and not e.perhaps]


def _as_published(paper: Paper, event: ReferenceEvent) -> Paper:
    keys = dict(paper.keys) | ({"doi": event.doi} if event.doi else {})
    year, month, day = [*map(int, event_since(event).split("-")), 0, 0][:3]
    is_conference = venue(event.venue).kind is Kind.CONFERENCE
    return structs.replace(
        paper,
        type="proceedings article" if is_conference else "journal article",
        venue=event.venue or paper.venue,
        keys=keys,
        url=page_url(Paper("", keys={"doi": event.doi})) if event.doi else paper.url,
        pdf_url="",
        year=year,
        published=datetime(year, month, day or 1, tzinfo=UTC) if month else None,
        precision="" if day else "month",
    )


def _references(
    tx: Transaction,
    runtime: Runtime,
    entries: Sequence[CollectionEntry],
    titles: Mapping[str, str] | None,
    now: datetime,
) -> list[Reference]:
    events = _events_by_entry(tx, runtime, entries, now)
    asked = _asked_by_entry(tx, runtime, entries)
    titles = runtime.source_titles if titles is None else titles
    references = []
    for entry in entries:
        own = sorted(events[entry.id], key=lambda e: (IMPORTANCE[e.change], e.perhaps, -e.id))
        by = titles.get(own[0].source, "") if own else ""
        shown = tuple(
            structs.replace(
                show_event(event, runtime.labels),
                source=titles.get(event.source, "another source"),
            )
            for event in own
        )
        references.append(Reference(entry.place, entry.paper, shown, by, asked.get(entry.id)))
    by_title = sorted(references, key=lambda one: (title_key(one.title), one.library))
    newest = sorted(by_title, key=lambda one: one.since, reverse=True)
    return sorted(newest, key=lambda one: STATES.index(one.state))


def _events_by_entry(
    tx: Transaction, runtime: Runtime, entries: Sequence[CollectionEntry], now: datetime
) -> Mapping[int, list[ReferenceEvent]]:
    """Return the events that hold for entries of libraries.

    Of libraries that no subscription guards none are recorded: what is stored about their entries
    is looked up.
    """
    by_entry: dict[int, list[ReferenceEvent]] = defaultdict(list)
    guarded = set[str]()
    others = defaultdict[str, list[CollectionEntry]](list)
    for entry in entries:
        if entry.source in runtime.guarded_libraries:
            guarded.add(entry.source)
        else:
            others[entry.source].append(entry)
    for event, own in reference_events.with_entries(tx, guarded, now):
        for entry in own:
            by_entry[entry.id].append(as_told(event))
    for library, unguarded in others.items():
        for start in range(0, len(unguarded), BATCH):
            batch = unguarded[start : start + BATCH]
            unchecked = [(entry, False) for entry in batch]
            changes = stored_changes(tx, library, unchecked, now)
            for entry, events in zip(batch, changes, strict=True):
                by_entry[entry.id] += reference_events.without_mistaken(tx, events)
    return by_entry


def _asked_by_entry(
    tx: Transaction, runtime: Runtime, entries: Sequence[CollectionEntry]
) -> dict[int, datetime]:
    """Return when a service that is asked about the library of an entry last answered about it."""
    asked: dict[int, datetime] = {}
    for configured in runtime.sources.values():
        source = configured.source
        if not isinstance(source, AboutSource) or not configured.asked_about:
            continue
        names = {
            entry.id: tuple(source.names_of(group_by_scheme(identifiers(entry.paper))))
            for entry in entries
            if entry.source in configured.asked_about
        }
        wanted = {name for of_entry in names.values() for name in of_entry}
        answered = asked_works.answered_at(tx, configured.name, wanted)
        for id, of_entry in names.items():
            times = [answered[name] for name in of_entry if name in answered]
            if times:
                asked[id] = max(*times, asked.get(id, times[0]))
    return asked
