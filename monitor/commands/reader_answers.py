"""What a reader answers to a paper of a digest, by a link of a mail or a menu in Slack."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from monitor.commands.ratings import Rated, Whose, rate, rated
from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime
from monitor.store import digests, papers

# Answers are taken so long after the digest was due.
VALID = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Asked:
    """A paper of a digest that a reader may answer to, and what they answered so far."""

    title: str
    whose: Whose
    answers: tuple[Rated, ...]


def ask(runtime: Runtime, names: tuple[str, ...], paper_id: int) -> Asked:
    """Return what an answer is about: `names` are the subscription, the period and who answers.

    Raises UsageError for a paper that the digest did not show in full, and for an old digest.
    """
    subscription, period, recipient = names
    with runtime.database.reading() as tx:
        shown = digests.shown_under(tx, subscription, period, paper_id)
        stored = papers.get(tx, paper_id)
    if shown is None or stored is None:
        raise UsageError("this paper is not in that digest")
    if runtime.clock.now() > shown.due_at + VALID:
        raise UsageError(
            "this digest is too old to answer", f"answers are taken for {VALID.days} days"
        )
    whose = Whose(subscription, shown.topic, recipient)
    mine = tuple(
        one
        for one in rated(runtime, whose)
        if one.judgement.paper_id == paper_id and one.judgement.who == recipient
    )
    return Asked(stored.paper.title, whose, mine)


def answer(runtime: Runtime, asked: Asked, paper_id: int, verdict: str, how: str = "link") -> None:
    """Store an answer, or take it back with "none". Raises UsageError."""
    rate(runtime, str(paper_id), verdict, asked.whose, how)
