"""Looking up papers when a person asks for it, and taking out what was filled in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import structs

from monitor.commands.explain import find_paper
from monitor.commands.identity import split_in
from monitor.errors import UsageError, refuse_unknown
from monitor.model import Paper, StoredPaper
from monitor.model.look_up import FILLED_IN, LookUp, LookUpState, Wanted
from monitor.pipeline.look_up import ask_about, look_up
from monitor.pipeline.missing_fields import missing
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.saved_papers import askable
from monitor.store.engine.database import Transaction
from monitor.store.papers import look_ups, papers, sightings, write_papers

# Papers that one command asks about, where no number is given.
MOST_MISSING = 100
NO_SERVICE = "no service is asked about papers", "look_up: [huggingface, arxiv] configures two"
_EMPTY = Paper("")


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A paper, and how far each service was asked about it."""

    stored: StoredPaper
    look_ups: tuple[LookUp, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that would be sent to a service, about papers by their ids.

    `url` has the names of variables in place of their values.
    """

    service: str
    papers: tuple[int, ...]
    url: str


def of_paper(runtime: Runtime, reference: str) -> LookedUp:
    """Return how far services were asked about a paper. Raises UsageError."""
    with runtime.database.reading() as tx:
        stored = find_paper(tx, reference)
        return LookedUp(stored, tuple(look_ups.of_papers(tx, [stored.id]).get(stored.id, ())))


def chosen(
    runtime: Runtime, references: Sequence[str], with_lacking: bool, limit: int
) -> list[StoredPaper]:
    """Return the papers that are named, and `with_lacking` those of the newest that lack something.

    `limit` is how many of the newest are looked at.

    Raises UsageError.
    """
    with runtime.database.reading() as tx:
        found = [find_paper(tx, reference) for reference in references]
        more = look_ups.may_lack(tx, limit) if with_lacking else []
        stored = papers.load(tx, more)
    found += [stored[id] for id in more if id in stored and missing(stored[id].paper)]
    return list({paper.id: paper for paper in found}.values())


def planned(runtime: Runtime, stored: Sequence[StoredPaper], service: str = "") -> list[Planned]:
    """Return the requests that would be sent about papers first, without sending any.

    Further services would be asked about what the first leaves open. Raises UsageError.
    """
    names = _names(runtime, service)
    first: dict[str, list[Wanted]] = {name: [] for name in names}
    for paper in stored:
        asked = next(
            (n for n in names if missing(paper.paper) & runtime.services[n].gives), names[0]
        )
        first[asked].append(Wanted(paper.id, paper.paper))
    hide = runtime.settings.variables_of_services.hide
    return [
        Planned(name, tuple(each.id for each in question.papers), hide(question.url))
        for name, wanted in first.items()
        for question in runtime.services[name].questions(wanted)
    ]


def planned_of_saved(runtime: Runtime, service: str = "") -> list[Planned]:
    """Return the requests that are sent once a month about papers that readers saved.

    Raises UsageError.
    """
    names = _names(runtime, service)
    with runtime.database.reading() as tx:
        stored = papers.load(tx, look_ups.followed(tx))
    wanted = [Wanted(id, paper.paper) for id, paper in stored.items()]
    hide = runtime.settings.variables_of_services.hide
    return [
        Planned(one.name, tuple(each.id for each in question.papers), hide(question.url))
        for one in askable(runtime)
        if one.name in names
        for question in one.questions_by_identifier(wanted)
    ]


def _names(runtime: Runtime, service: str) -> list[str]:
    """Return the services that may be asked, or the one that is named. Raises UsageError."""
    if not runtime.services:
        raise UsageError(*NO_SERVICE)
    if service:
        refuse_unknown("service", [service], runtime.services)
    return [service] if service else list(runtime.services)


def look_up_papers(
    runtime: Runtime, stored: Sequence[StoredPaper], service: str = ""
) -> list[LookedUp]:
    """Ask about papers now, at all services in turn or at one. Raises UsageError."""
    _names(runtime, service)
    ids = [paper.id for paper in stored]
    if ids:  # without any, all would be asked about that are due
        ask_about(runtime, ids, service)
        look_up(runtime, only=ids, service=service)
    with runtime.database.reading() as tx:
        # Papers that proved to be one are listed once.
        now_stored = {id: find_paper(tx, str(id)) for id in ids}
        current = {paper.id: paper for paper in now_stored.values()}
        asked = look_ups.of_papers(tx, current)
    return [LookedUp(paper, tuple(asked.get(id, ()))) for id, paper in current.items()]


def unfill(runtime: Runtime, reference: str, service: str = "") -> LookedUp:
    """Take out what services, or one, filled in of a paper, and keep them from doing it again.

    A paper that an answer proved to be the same becomes one of its own again, and is news if it was
    in no digest before. Raises UsageError.
    """
    now = runtime.clock.now()
    with runtime.database.ingesting() as tx:
        stored = find_paper(tx, reference)
        asked = look_ups.of_papers(tx, [stored.id]).get(stored.id, ())
        filled = [one for one in asked if one.state in FILLED_IN and service in ("", one.service)]
        if not filled:
            by = f" by {service}" if service else ""
            raise UsageError(f"nothing of this paper was filled in{by}", "nothing was changed")
        for one in filled:
            _take_out(tx, runtime, stored.id, one, now)
        stored = find_paper(tx, str(stored.id))
        return LookedUp(stored, tuple(look_ups.of_papers(tx, [stored.id]).get(stored.id, ())))


def _take_out(tx: Transaction, runtime: Runtime, paper_id: int, one: LookUp, now: datetime) -> None:
    stored = papers.load(tx, [paper_id])[paper_id]
    answered = one.answered
    record = one.answered.record
    gone = dict(_given(stored.paper, record, answered.fields)) if record else {}
    look_ups.take_out_keys(tx, paper_id, answered.schemes)
    before = structs.replace(stored.paper, **gone)
    said = _said_by_records(tx, paper_id, [name for name in gone if not getattr(before, name)])
    write_papers.fill_in(tx, [(stored, structs.replace(before, **said))], now)
    look_ups.settle(tx, one, LookUpState.REFUSED, structs.replace(answered, fields=(), schemes=()))
    if answered.joined:
        names = [f"{source}/{raw_id}" for source, raw_id in answered.joined.records]
        stored = papers.load(tx, [paper_id])[paper_id]
        parted = split_in(runtime, tx, stored, names)
        look_ups.refuse(tx, parted, one.service, now)
        if answered.joined.unsent:
            look_ups.make_unsent(tx, parted)
            write_papers.reopen(tx, [parted], now - write_papers.MATCHED_AGAIN_FOR)


def _given(paper: Paper, record: Paper, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that still are as a record gave them, empty, or without what it gave."""
    for name in names:
        ours = getattr(paper, name)
        given = getattr(record, name)
        if name == "links":
            yield name, {kind: url for kind, url in ours.items() if given.get(kind) != url}
        elif ours == given:
            yield name, getattr(_EMPTY, name)
            if name == "published":
                yield "precision", ""


def _said_by_records(tx: Transaction, paper_id: int, names: Collection[str]) -> dict[str, Any]:
    """Return what the records of sources say of fields, which waited behind what was filled in."""
    seen = sightings.with_text(tx, [paper_id]).get(paper_id, ())
    texts = [sighting.text for sighting in seen if sighting.text]
    said = {
        name: next((value for text in texts if (value := getattr(text, name, None))), None)
        for name in names
        if name in ("authors", "venue", "year", "type")
    }
    return {name: value for name, value in said.items() if value}
