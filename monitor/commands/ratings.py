"""Readers' answers from the command line: given one by one or from a file, listed, forgotten."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from monitor.commands.explain import find_paper
from monitor.commands.read_files import read
from monitor.commands.search import FoundPaper
from monitor.errors import UsageError
from monitor.identity.keys import identifiers
from monitor.model import SAVED, UNWANTED, WANTED, Judgement
from monitor.pipeline.runtime import Runtime
from monitor.store import judgements, papers
from monitor.store.database import Transaction

VERDICTS = {"up": WANTED, "down": UNWANTED, "save": SAVED, "none": ""}
# Who answers on the command line, where it has no other name.
OPERATOR = "operator"
_REFERENCES = ("paper", "id", "doi", "arxiv", "url", "title")


@dataclass(frozen=True, slots=True)
class Rated:
    """An answer with the title of its paper."""

    judgement: Judgement
    title: str


@dataclass(frozen=True, slots=True)
class RatedFile:
    """How many papers of a file were rated; `left_out` says which were not, and why."""

    rated: int
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Whose:
    """Who answers, for which subscription and topic: "" where the paper says it."""

    subscription: str = ""
    topic: str = ""
    who: str = OPERATOR


def rate(
    runtime: Runtime, reference: str, verdict: str, whose: Whose, how: str = "command line"
) -> tuple[Rated, ...]:
    """Store an answer, or take one back; return the answers to the paper. Raises UsageError."""
    with runtime.database.writing() as tx:
        paper = find_paper(tx, reference)
        name, topics = _addressed(runtime, tx, paper.id, whose)
        if verdict == "none":
            judgements.take_back(tx, name, topics, paper.id, whose.who)
        else:
            now = runtime.clock.now()
            judgements.judge(
                tx,
                [
                    Judgement(name, topic, paper.id, whose.who, VERDICTS[verdict], now, how)
                    for topic in topics
                ],
            )
        return tuple(
            Rated(one, paper.paper.title)
            for one in judgements.listing(tx, name)
            if one.paper_id == paper.id
        )


def rate_file(runtime: Runtime, file: Path, whose: Whose) -> RatedFile:
    """Store the answers of a CSV file, or "up" for each paper of a BibTeX library.

    A line of CSV has a verdict ("up" where it has none), and a `topic` if it is to be another.
    """
    rated, left_out = 0, []
    for references, verdict, topic in _lines(file):
        own = replace(whose, topic=topic or whose.topic)
        try:
            rate(runtime, _stored(runtime, references), verdict, own, how="file")
            rated += 1
        except UsageError as fault:
            left_out.append((references[-1], str(fault)))
    return RatedFile(rated, tuple(left_out))


def rated(runtime: Runtime, whose: Whose) -> tuple[Rated, ...]:
    """Return the answers of a subscription, or of all, newest first."""
    with runtime.database.reading() as tx:
        found = [
            one
            for one in judgements.listing(tx, whose.subscription or None)
            if whose.topic in ("", one.topic)
        ]
        stored = papers.load(tx, {one.paper_id for one in found})
    return tuple(Rated(one, stored[one.paper_id].paper.title) for one in reversed(found))


def answers_of(runtime: Runtime, paper_id: int, who: str) -> dict[str, list[str]]:
    """Return what somebody answered to a paper, by subscription."""
    found: dict[str, list[str]] = {}
    with runtime.database.reading() as tx:
        for subscription, verdict in judgements.of_paper(tx, paper_id, who):
            found.setdefault(subscription, []).append(verdict)
    return found


def forget(runtime: Runtime, whose: Whose) -> int:
    """Delete the answers of a subscription, or of one of its topics. Raises UsageError."""
    if not whose.subscription:
        raise UsageError("--forget needs --subscription")
    with runtime.database.writing() as tx:
        return judgements.forget(tx, whose.subscription, whose.topic or None)


def saved(runtime: Runtime, subscription: str = "", who: str = "") -> tuple[FoundPaper, ...]:
    """Return the papers saved for a subscription, or for all, the last saved first.

    With `who`, only those that this person saved.
    """
    with runtime.database.reading() as tx:
        found = [
            one
            for one in judgements.listing(tx, subscription or None)
            if one.verdict == SAVED and who in ("", one.who)
        ]
        ids = list(dict.fromkeys(one.paper_id for one in reversed(found)))
        stored, sightings = papers.load(tx, ids), papers.sightings(tx, ids)
    return tuple(FoundPaper(stored[id], sightings.get(id, ())) for id in ids)


def _addressed(
    runtime: Runtime, tx: Transaction, paper_id: int, whose: Whose
) -> tuple[str, Sequence[str]]:
    """Return the subscription and the topics that an answer is for. Raises UsageError."""
    by_name = {one.name: one.topics for one in runtime.subscriptions}
    if whose.subscription and whose.subscription not in by_name:
        names = ", ".join(by_name)
        raise UsageError(f"no subscription is named {whose.subscription!r}", f"there are: {names}")
    matching = judgements.topics_of(tx, paper_id)
    candidates = {
        name: [whose.topic] if whose.topic else [t for t in matching.get(name, ()) if t in topics]
        for name, topics in by_name.items()
        if whose.subscription in ("", name) and (not whose.topic or whose.topic in topics)
    }
    found = {name: topics for name, topics in candidates.items() if topics}
    if not found:
        raise UsageError("no topic matches this paper", "name one of a subscription with --topic")
    if len(found) > 1:
        names = ", ".join(found)
        raise UsageError("several subscriptions have this paper", f"--subscription: {names}")
    return next(iter(found.items()))


def _lines(file: Path) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield what names each paper of a file, the verdict, and the topic."""
    if file.suffix.lower() == ".bib":
        [(_, reading)] = read("bibtex", [file], Path(), None)
        if reading.error:
            raise UsageError(f"{file}: {reading.error}")
        for paper in reading.papers:
            keys = [f"{scheme}:{value}" for scheme, value in identifiers(paper)]
            yield (*keys, paper.title), "up", ""
        return
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{file} cannot be read: {fault}") from fault
    for row in csv.DictReader(text.splitlines()):
        references = tuple(
            value for name in _REFERENCES if (value := (row.get(name) or "").strip())
        )
        verdict = (row.get("verdict") or "up").strip()
        if not references or verdict not in VERDICTS:
            columns, verdicts = ", ".join(_REFERENCES), ", ".join(VERDICTS)
            raise UsageError(
                f"{file}: a line names no paper or no verdict",
                f"columns that name it: {columns}; verdicts: {verdicts}",
            )
        yield references, verdict, (row.get("topic") or "").strip()


def _stored(runtime: Runtime, references: Sequence[str]) -> str:
    """Return the first of some references that a stored paper has, else the last."""
    with runtime.database.reading() as tx:
        for one in references:
            try:
                return str(find_paper(tx, one).id)
            except UsageError:
                continue
    return references[-1]
