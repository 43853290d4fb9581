"""Stored papers and past digests as pages and feeds show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import structs

from monitor.digest.draft import added_by
from monitor.digest.excerpt import EXCERPT_RULE
from monitor.digest.explain import describe_revision, explain_again
from monitor.digest.lines import choose_note
from monitor.digest.shown import formulas_of, shown
from monitor.errors import UsageError
from monitor.match import Query, build_index
from monitor.match.meaning.evaluate import View
from monitor.match.meaning.explain import explain
from monitor.model import (
    ChangeKind,
    Digest,
    DigestPaper,
    EarlierText,
    Revision,
    Sighting,
    SourceLabel,
    StoredPaper,
    TopicWhy,
)
from monitor.pipeline import like_topics
from monitor.pipeline.library_fields import fill_in, hide_lost
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import digests
from monitor.store.engine.database import Transaction
from monitor.store.papers import sightings
from monitor.store.topics import embeddings


def show_papers(
    runtime: Runtime,
    tx: Transaction,
    stored_papers: Sequence[StoredPaper],
    query: Query | None = None,
    libraries: Collection[str] = (),
) -> list[DigestPaper]:
    """Return stored papers as entries; with a query, with the words that it matched.

    What they lack is filled in from `libraries`, which all who see them may see.
    """
    sources = sightings.sources(tx, [stored.id for stored in stored_papers])
    entries = [_entry(runtime, stored, sources.get(stored.id, ())) for stored in stored_papers]
    if query is not None:
        # Without an index, which first learns the words of all papers: that takes twice as long.
        reasons = [explain(query, View(entry.paper, entry.sources)) for entry in entries]
        entries = [
            structs.replace(entry, matched=(TopicWhy("", why),)) if why else entry
            for entry, why in zip(entries, reasons, strict=True)
        ]
    papers = {stored.id: stored.paper for stored in stored_papers}
    return fill_in(tx, libraries, entries, papers, runtime.clock.now())


def show_paper(
    runtime: Runtime,
    stored: StoredPaper,
    seen: Sequence[Sighting],
    topics: Iterable[str],
    libraries: Collection[str],
) -> DigestPaper:
    """Return one stored paper as an entry, with why these topics match it as it is now.

    What it lacks is filled in from `libraries`.
    """
    of_sources = [sighting for sighting in seen if not sighting.filled]
    sources = tuple(sorted({sighting.source for sighting in of_sources}))
    entry = _entry(runtime, stored, sources)
    names = set(topics)
    notes = [sighting.site_note for sighting in of_sources if sighting.site_note]
    note = choose_note(notes, entry.paper.title, entry.paper.abstract)
    wanted = [topic for topic in like_topics.find_current(runtime) if topic.name in names]
    index = build_index(wanted)
    group_rules = runtime.group_rules
    with runtime.database.reading() as tx:
        models = embeddings.added(tx, [stored.id])
    reasons = {
        topic.name: index.why(topic.name, entry.paper, sources)
        + added_by(models.get((topic.name, stored.id)))
        for topic in wanted
    }
    matched = tuple(TopicWhy(name, why, group_rules[name].title) for name, why in reasons.items())
    entry = structs.replace(entry, matched=matched, note=note)
    with runtime.database.reading() as tx:
        now = runtime.clock.now()
        papers = {stored.id: stored.paper}
        [filled] = fill_in(tx, libraries, [entry], papers, now)
    return filled


def _entry(runtime: Runtime, stored: StoredPaper, sources: tuple[str, ...]) -> DigestPaper:
    labels = [runtime.labels.get(name, SourceLabel()) for name in sources]
    return DigestPaper(
        paper_id=stored.id,
        revision=stored.revision,
        kind=ChangeKind.WITHDRAWN if stored.paper.withdrawn else ChangeKind.NEW,
        paper=shown(stored.paper),
        first_seen=stored.first_seen,
        sources=sources,
        score=0.0,
        matched=(),
        source_titles=tuple(runtime.source_titles.get(name, name) for name in sources),
        formulas=formulas_of(stored.paper.title, stored.paper.abstract),
        search=next(filter(None, (label.search for label in labels)), runtime.settings.search),
        excerpt_rule=EXCERPT_RULE,
        lists=len(stored.paper.recent_lists),
    )


def describe_revisions(
    texts: Mapping[int, EarlierText], stored: StoredPaper
) -> dict[int, Revision]:
    """Return what each revision changed whose text before is kept, by its number."""
    paper = stored.paper
    after = [*texts.values(), EarlierText(paper.title, paper.abstract, paper.version)][1:]
    return {
        number + 1: describe_revision(
            before,
            structs.replace(paper, title=now.title, abstract=now.abstract, version=now.version),
        )
        for (number, before), now in zip(texts.items(), after, strict=True)
    }


def past_digest(runtime: Runtime, name: str, period: str) -> Digest:
    """Return a digest as it was frozen, matches explained again if removed. Raises UsageError."""
    with runtime.database.reading() as tx:
        digest = digests.of_period(tx, name, period)
    if digest is None:
        raise UsageError(f"there is no digest of {name!r} for {period!r}")
    digest = hide_lost(runtime, digest)
    if digest.texts_removed:
        return explain_again(digest, runtime.active.index(like_topics.find_current(runtime)).why)
    return digest
