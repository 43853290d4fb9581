"""What a reader answers to a paper of a digest, by a link of a mail or a menu in Slack."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from monitor.commands.ratings import Rated, Whose, is_of, rate
from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime
from monitor.store import digests, judgements, merge_papers, papers
from monitor.store.database import Transaction

# Answers are taken so long after the digest was due.
VALID = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Asked:
    """A paper of a digest that a reader may answer to, and what they answered so far."""

    paper_id: int
    title: str
    whose: Whose
    answers: tuple[Rated, ...]


def ask(runtime: Runtime, names: tuple[str, ...], paper_id: int) -> Asked:
    """Return what an answer is about: `names` are the subscription, the period and who answers.

    Raises UsageError for a paper that the digest did not show in full, and for an old digest.
    """
    subscription, period, recipient = names
    if subscription not in {one.name for one in runtime.subscriptions}:
        raise UsageError("this subscription has ended")
    with runtime.database.reading() as tx:
        stored = papers.get(tx, merge_papers.current_id(tx, paper_id))
        shown = digests.shown_under(tx, subscription, period, paper_id)
        if shown is None:
            shown = _shown_when_sent(tx, subscription, period, paper_id)
        given = judgements.of_paper(tx, stored.id) if stored else []
    if shown is None or stored is None:
        raise UsageError("this paper is not in that digest")
    if stored.purged:
        raise UsageError("the text of this paper was removed")
    if runtime.clock.now() > shown.due_at + VALID:
        raise UsageError(
            "this digest is too old to answer", f"answers are taken for {VALID.days} days"
        )
    whose = Whose(subscription, shown.topic, recipient)
    mine = [
        Rated(one, stored.paper.title)
        for one in given
        if (one.subscription, one.topic) == (subscription, shown.topic) and is_of(one, recipient)
    ]
    return Asked(stored.id, stored.paper.title, whose, tuple(mine))


def _shown_when_sent(
    tx: Transaction, subscription: str, period: str, paper_id: int
) -> digests.Shown | None:
    """Return where a paper was shown that was merged since, or whose news retention removed."""
    digest = digests.of_period(tx, subscription, period)
    if digest is None or paper_id not in {entry.paper_id for entry in digest.best(digest.full)}:
        return None
    topic = next(
        group.topic
        for group in digest.groups
        if any(entry.paper_id == paper_id for entry in group.entries)
    )
    return digests.Shown(topic, digest.due_at)


def answer(runtime: Runtime, asked: Asked, verdict: str, how: str = "link") -> None:
    """Store an answer, or take it back with "none". Raises UsageError."""
    rate(runtime, str(asked.paper_id), verdict, asked.whose, how)
