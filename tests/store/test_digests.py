from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa
from msgspec import structs

from monitor.model import (
    ChangeKind,
    Decision,
    Delivery,
    DeliveryState,
    MatchReason,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    Rendered,
    SourceReport,
    TopicWhy,
)
from monitor.store.digests import deliveries, digests, freeze_digest, outbox
from monitor.store.digests.freeze_digest import Planned
from monitor.store.digests.packed import pack, zstd
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.sources import reference_events
from monitor.store.topics import matches, subscriptions
from tests.patience import PATIENCE, at_once
from tests.store.scenes import (
    CHANNELS,
    DAY,
    HOUR,
    NOW,
    arrive,
    arxiv,
    attempt,
    digest,
    freeze,
    has_fresh,
    ingest,
    ingesting,
    match,
    new,
    reading,
    revisions_of,
    subscribe,
    unsent,
    until_another_waits,
    watch,
    writing,
)

TOMORROW = NOW + DAY
MOMENT = timedelta(microseconds=1)


@pytest.fixture(autouse=True)
def watched(store: Database) -> None:
    """Everybody watches the topic t, and ada is subscribed to it."""
    watch(store, "t")
    subscribe(store, "ada")


def matched(store: Database, *numbers: str, now=NOW) -> list[int]:
    ids = arrive(store, *numbers, now=now)
    match(store, *ids)
    return ids


def revise(store: Database, id: int, number: str, *, topic: str | None = "t", now=NOW) -> None:
    ingest(store, Decision(arxiv(number), ChangeKind.REVISED, id), now=now)
    if topic:
        match(store, id, revision=2, topic=topic)


def states(store: Database) -> list[DeliveryState]:
    return [one.state for one in reversed(reading(store, deliveries.listing))]


# ── unsent ──────────────────────────────────────────────────────────────────────────


def test_a_match_is_unsent_until_a_digest_has_reached_somebody(store: Database) -> None:
    subscribe(store, "ada", "lab")
    [id] = matched(store, "1")
    [one] = unsent(store)
    assert (one.topic, one.score, one.change.stored.id) == ("t", 1.0, id)
    assert (one.change.kind, one.change.sources) == (ChangeKind.NEW, ("feed",))
    freeze(store, digest([one]))
    assert revisions_of(unsent(store)) == [(id, 1)]
    attempt(store, DeliveryState.SENT)
    assert unsent(store) == []
    assert revisions_of(unsent(store, "lab")) == [(id, 1)]


@pytest.mark.parametrize("state", ["claimed", "handing_off", "unknown", "sent", "retry", "failed"])
def test_what_may_have_reached_somebody_is_not_unsent(store: Database, state: str) -> None:
    [id] = matched(store, "1")
    freeze(store, digest(unsent(store)), recipients=["ada@example.org", "bob@example.org"])
    attempt(store, DeliveryState(state), limit=1)
    assert revisions_of(unsent(store)) == ([(id, 1)] if state in ("retry", "failed") else [])
    assert not has_fresh(store)
    matched(store, "2")
    assert has_fresh(store)


def test_the_papers_that_wait_are_counted_as_they_will_be_revisions_of(store: Database) -> None:
    def waiting(name: str = "ada", now: datetime = NOW) -> int:
        return reading(store, matches.waiting, name, now)

    watch(store, "t", "u", "v", since=timedelta(days=7))
    subscribe(store, "ada", topics=["t", "u"])
    assert waiting() == 0
    ids = [id for n in range(10) for id in arrive(store, str(n), now=NOW - n * DAY)]
    match(store, *ids[:2], *ids[4:])
    match(store, *ids[:5], topic="u")
    match(store, *ids, topic="v")
    revise(store, ids[0], "0")
    assert waiting() == len(revisions_of(unsent(store))) == 8
    assert waiting(now=NOW - 2 * DAY) == len(revisions_of(unsent(store, now=NOW - 2 * DAY))) == 10
    assert waiting("nobody") == 0
    freeze(store, digest(unsent(store)[:3]))
    assert waiting() == 8
    attempt(store, DeliveryState.SENT)
    assert waiting() == len(revisions_of(unsent(store))) < 8


def test_all_matches_of_a_paper_carry_the_same_change(store: Database) -> None:
    """Revised before it was announced, it is new, and announced once."""
    watch(store, "t", "u")
    subscribe(store, "ada", topics=["t", "u"])
    [id] = matched(store, "1")
    revise(store, id, "1", topic="u")
    changes = [(one.topic, one.change.revision, one.change.kind) for one in unsent(store)]
    assert changes == [("t", 2, ChangeKind.NEW), ("u", 2, ChangeKind.NEW)]
    freeze(store, digest(unsent(store)))
    attempt(store, DeliveryState.SENT)
    assert unsent(store) == []


# ── freeze ──────────────────────────────────────────────────────────────────────────


def test_a_frozen_digest_comes_back_as_it_was(store: Database) -> None:
    [id] = ingest(
        store,
        new(arxiv("1", "β-nets", abstract="x^2", authors=("李明",), published=NOW, version=1)),
    )
    match(store, id)
    made = digest(unsent(store))
    [group] = made.groups
    why = (TopicWhy("t", (MatchReason("title", ("nets",), ((2, 6),)),)),)
    entry = structs.replace(
        group.entries[0],
        matched=why,
        paper=Paper("β-nets", keys={"doi": ("a", "b"), "arxiv": "1"}, updated=NOW),
    )
    whole = replace(
        made,
        groups=(replace(group, entries=(entry,)),),
        report=(SourceReport("feed", 3, 1, NOW, NOW - HOUR, "no answer"),),
        covers_from=NOW - DAY,
        waiting=4,
        notes=("A note.",),
    )
    digest_id = freeze(store, whole, parts=2)
    assert digest_id is not None
    with store.reading() as tx:
        assert digests.get(tx, digest_id) == whole
        assert digests.of_period(tx, "ada", "2026-03-02") == whole
        assert digests.of_period(tx, "lab", "2026-03-02") is None
        assert deliveries.get(tx, 2).rendered == Rendered(1, {"text": "part 1"})
        assert digests.of_paper(tx, id) == [(whole, 1)]
        sent = deliveries.of_digests(tx, [digest_id])[digest_id]
    assert [(one.part, one.state) for one in sent] == [(n, DeliveryState.PLANNED) for n in (0, 1)]
    assert {(one.subscription, one.period) for one in sent} == {("ada", "2026-03-02")}


@pytest.mark.parametrize(
    ("papers", "changes", "is_sent"),
    [(1, 0, True), (0, 1, True), (0, 0, True), (0, 0, False)],
    ids=["papers", "changes of references", "a quiet day that is sent", "a quiet day"],
)
def test_papers_and_changes_are_news_wherever_it_is_asked(
    store: Database, papers: int, changes: int, is_sent: bool
) -> None:
    matched(store, *map(str, range(papers)))
    event = ReferenceEvent(
        ReferenceChange.CORRECTED, Paper("Sand"), ("doi:10.5555/1",), NOW, "news", id=1
    )
    events = (event,) * changes
    ingesting(store, reference_events.save, events)
    made = replace(digest(unsent(store)), references=events)
    id = freeze(store, made, recipients=("ada@example.org",) if is_sent else ())
    listed = reading(store, digests.headings, [id])[id]
    newest = reading(store, digests.latest, ["ada"])
    has_news = bool(papers or changes)
    assert (made.has_news, listed.has_news, "ada" in newest) == (has_news,) * 3
    freeze(store, digest([], "2026-03-03", due=TOMORROW), recipients=())
    superseded = reading(store, digests.headings, [id])[id].superseded
    assert superseded == (has_news or is_sent)


def periods_of(store: Database, paper_id: int) -> list[str]:
    return [digest.period for digest, _ in reading(store, digests.of_paper, paper_id)]


def test_D04_a_period_has_one_digest(store: Database) -> None:
    ids = matched(store, "1")
    assert freeze(store, digest(unsent(store))) is not None
    matched(store, "2")
    assert freeze(store, digest(unsent(store))) is None
    assert states(store) == [DeliveryState.PLANNED]
    assert periods_of(store, ids[0]) == ["2026-03-02"]


def test_a_digest_that_reached_nobody_is_superseded_and_its_items_move(store: Database) -> None:
    ids = matched(store, "1")
    freeze(store, digest(unsent(store)))
    attempt(store, DeliveryState.FAILED)
    ids += matched(store, "2", now=NOW)
    second = freeze(store, digest(unsent(store), "2026-03-03", due=TOMORROW), now=TOMORROW)
    assert states(store) == [DeliveryState.SUPERSEDED, DeliveryState.PLANNED]
    ids += matched(store, "3")
    third = freeze(store, digest(unsent(store), "2026-03-04", due=TOMORROW + DAY))
    assert states(store) == [*[DeliveryState.SUPERSEDED] * 2, DeliveryState.PLANNED]
    assert None not in (second, third)
    assert reading(store, digests.get, third).papers == 3
    assert [periods_of(store, id) for id in ids] == [["2026-03-04"]] * 3
    attempt(store, DeliveryState.SENT)
    assert states(store) == [DeliveryState.SUPERSEDED, DeliveryState.SUPERSEDED, DeliveryState.SENT]
    assert unsent(store) == []


def lose(store: Database) -> None:
    """Hand off what is open without a clear end, and let it be handed off once more."""
    for lost in attempt(store, DeliveryState.UNKNOWN):
        assert writing(store, outbox.hand_off_again, lost.id, NOW)


@pytest.mark.parametrize("since", [None, DeliveryState.RETRY, DeliveryState.FAILED, "suppressed"])
def test_a_digest_that_may_have_arrived_is_never_composed_again(store: Database, since) -> None:
    """Whatever became since of the one further hand-off that it waits for."""
    matched(store, "1")
    first = freeze(store, digest(unsent(store)))
    lose(store)
    if since == "suppressed":
        writing(store, outbox.suppress_missing, set(), NOW)
    elif since:
        attempt(store, since)
    before = states(store)
    assert unsent(store) == []
    assert not has_fresh(store)
    matched(store, "2")
    made = digest(unsent(store), "2026-03-03", due=TOMORROW)
    assert made.papers == 1
    assert freeze(store, made) is not None
    assert states(store) == [*before, DeliveryState.PLANNED]
    assert reading(store, subscriptions.states)["ada"].last_composed_at == NOW
    assert reading(store, digests.get, first).papers == 1


@pytest.mark.parametrize(
    ("first", "second", "is_superseded"),
    [("ada", "ada", True), ("@operator", "@operator", False), ("lab", "ada", False)],
    ids=["a quiet day", "a notice to the operator", "another subscription"],
)
def test_a_digest_supersedes_the_unsent_one_of_its_subscription(
    store: Database, first: str, second: str, is_superseded: bool
) -> None:
    subscribe(store, "ada", "lab")
    freeze(store, digest([], "1", name=first))
    freeze(store, digest([], "2", name=second, due=TOMORROW))
    before = DeliveryState.SUPERSEDED if is_superseded else DeliveryState.PLANNED
    assert states(store) == [before, DeliveryState.PLANNED]


@pytest.mark.parametrize("meanwhile", [DeliveryState.CLAIMED, DeliveryState.RETRY, "revised"])
def test_a_digest_that_goes_out_while_another_is_composed_keeps_its_items(
    store: Database, meanwhile
) -> None:
    """What it lacks of the other one is not lost."""
    id, other = matched(store, "1", "2")
    slow = digest(unsent(store), "2026-03-03", due=TOMORROW)
    if meanwhile == "revised":
        revise(store, id, "1")
    freeze(store, digest(one for one in unsent(store) if one.change.stored.id == id))
    if meanwhile is DeliveryState.RETRY:
        lose(store)
    else:
        attempt(store, DeliveryState.CLAIMED)
    before = states(store)
    assert freeze(store, slow) is None
    assert states(store) == before
    assert reading(store, digests.of_paper, other) == []
    assert revisions_of(unsent(store)) == [(other, 1)]


def test_a_claim_that_is_being_taken_is_waited_for(store: Database) -> None:
    matched(store, "1")
    freeze(store, digest(unsent(store)))
    slow = digest(unsent(store), "2026-03-03", due=TOMORROW)
    frozen: list[int | None] = []
    composer = threading.Thread(target=lambda: frozen.append(freeze(store, slow)))
    with store.writing() as tx:
        assert len(outbox.claim(tx, "me", NOW, CHANNELS)) == 1
        composer.start()
        until_another_waits(store)
    composer.join(timeout=PATIENCE)
    assert frozen == [None]
    assert states(store) == [DeliveryState.CLAIMED]


@pytest.mark.parametrize("periods", [("p", "p", "p", "p"), ("1", "2", "3", "4")])
def test_composers_that_race_freeze_no_paper_twice(store: Database, periods) -> None:
    """Four of them for one period; and four for four, where each sends at once what it froze."""
    matched(store, "1", "2")
    made = digest(unsent(store))
    start = threading.Barrier(4)
    frozen: list[int | None] = []

    def compose(period: str) -> None:
        start.wait(timeout=PATIENCE)
        frozen.append(freeze(store, replace(made, period=period)))
        attempt(store, DeliveryState.SENT)

    at_once(*(partial(compose, period) for period in periods))
    assert len(frozen) == 4
    assert states(store).count(DeliveryState.SENT) == 1
    assert set(states(store)) <= {DeliveryState.SENT, DeliveryState.SUPERSEDED}
    assert unsent(store) == []


# ── subscriptions ───────────────────────────────────────────────────────────────────


def test_a_subscription_is_first_seen_once_and_in_force_since_it_changed(store: Database) -> None:
    def since(schedule: str, zone: str, now: datetime) -> datetime:
        rows = [("ada", schedule, zone, ["t"])] if schedule else []
        writing(store, subscriptions.sync_subscriptions, rows, now)
        state = writing(store, subscriptions.states).get("ada")
        assert state is None or state.first_seen == NOW
        return state and (state.in_force_since, state.last_due_at, state.last_composed_at)

    days = [NOW + n * DAY for n in range(5)]
    assert since("daily 08:00", "UTC", days[1]) == (NOW, None, None)
    assert since("daily 09:00", "UTC", days[1]) == (days[1], None, None)
    assert since("daily 09:00", "Asia/Tokyo", days[2]) == (days[2], None, None)
    assert since("", "", days[3]) is None  # removed, and back
    assert since("daily 09:00", "Asia/Tokyo", days[4]) == (days[4], None, None)


def test_a_subscription_taken_up_again_looks_back_from_then_and_loses_nothing_frozen(
    store: Database,
) -> None:
    frozen = matched(store, "1")[0]
    missed = None
    freeze(store, digest(unsent(store)))
    attempt(store, DeliveryState.FAILED)
    subscribe(store)
    [missed] = matched(store, "2", now=NOW + 10 * DAY)
    [recent] = matched(store, "3", now=NOW + 30 * DAY)
    subscribe(store, "ada", now=NOW + 30 * DAY)
    assert revisions_of(unsent(store, now=NOW + 30 * DAY)) == [(frozen, 1), (recent, 1)]
    assert missed not in dict(revisions_of(unsent(store, now=NOW + 30 * DAY)))


def test_papers_read_for_another_subscription_are_read_again_when_they_were_revised(
    store: Database,
) -> None:
    subscribe(store, "ada", "bob")
    ids = matched(store, "1", "2")
    known = matches.ChangesRead()

    def read(name: str) -> dict[int, tuple[int, str]]:
        news = reading(store, matches.unsent, name, NOW, known)
        changes = [one.change for one in news]
        return {one.stored.id: (one.revision, one.stored.paper.title) for one in changes}

    assert read("ada") == read("bob") == {ids[0]: (1, "Paper 1"), ids[1]: (1, "Paper 2")}
    ingest(store, Decision(arxiv("1", "Paper 1, Revised"), ChangeKind.REVISED, ids[0]))
    match(store, ids[0], revision=2)
    assert read("bob") == {ids[0]: (2, "Paper 1, Revised"), ids[1]: (1, "Paper 2")}


def test_the_newest_digest_is_the_one_composed_last(store: Database) -> None:
    with store.writing() as tx:
        freeze_digest.freeze(tx, digest([], "b", due=TOMORROW), {}, [], NOW)
        freeze_digest.freeze(tx, digest([], "a", due=NOW), {}, [], NOW)
        state = subscriptions.states(tx)["ada"]
        assert digests.count(tx, "ada") == 2
        newest = digests.latest_report(tx, "ada")
        assert digests.latest_report(tx, "bob") is None
    assert state.last_due_at == TOMORROW
    assert newest and (newest[0].period, newest[0].papers, newest[1].report) == ("a", 0, ())


def test_X12_what_a_digest_covers_begins_with_the_last_one_that_stands(store: Database) -> None:
    """One that reached nobody is sent again whole, with all that was read since."""

    def last() -> tuple[datetime | None, datetime | None]:
        state = reading(store, subscriptions.states)["ada"]
        return state.last_due_at, state.last_composed_at

    days = [NOW + n * DAY for n in range(4)]
    freeze(store, digest([], "0", due=days[0]), recipients=[])
    assert last() == (days[0], days[0])
    matched(store, "1")
    for n in (1, 2):
        freeze(store, digest(unsent(store), str(n), due=days[n]), now=days[n])
        assert last() == (days[n], days[0])
    freeze(store, digest(unsent(store), "3", due=days[3]), now=days[3])
    attempt(store, DeliveryState.SENT)
    assert last() == (days[3], days[3])


def test_what_a_digest_says_takes_little_room_in_its_body(store: Database) -> None:
    titles = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(50)]
    body = {"text": "\n".join(titles)}
    made = replace(digest([]), notes=tuple(titles))
    planned = [Planned("email", "ada@example.org", 0, "<1@papers.example>")]
    with store.writing() as tx:
        freeze_digest.freeze(tx, made, {"email": [Rendered(0, body)]}, planned, NOW)
        size = tx.scalar(sa.select(sa.func.length(schema.rendered.c.packed)))
        assert size is not None and size < len(pack(body)) / 5
        assert deliveries.get(tx, 1).rendered.body == body
        other = pack(replace(made, notes=tuple(reversed(titles))))
        tx.execute(sa.update(schema.digest).values(packed=other))
        with pytest.raises(zstd.ZstdError):  # never a body that is wrong
            deliveries.get(tx, 1)


def test_a_body_of_a_version_that_compressed_it_alone_is_read(store: Database) -> None:
    freeze(store, digest([]))
    with store.writing() as tx:
        tx.execute(sa.update(schema.rendered).values(packed=pack({"text": "as it was"})))
        assert deliveries.get(tx, 1).rendered.body == {"text": "as it was"}


# ── which subscriptions a tick looks at ─────────────────────────────────────────────


def looked_at(store: Database, now: datetime) -> set[str]:
    return set(reading(store, subscriptions.states, due=now))


def set_next_due(store: Database, at: datetime, schedule: str = "daily 08:00") -> None:
    with store.writing() as tx:
        for state in subscriptions.states(tx).values():
            subscriptions.set_next_due(tx, [(state, schedule, "UTC", at)])


def test_all_are_looked_at_again_after_any_of_them_changed(store: Database) -> None:
    subscribe(store, "ada", "lab")
    set_next_due(store, NOW + MOMENT)
    subscribe(store, "ada", "lab")
    assert looked_at(store, NOW) == set()
    subscribe(store, "ada", "lab", "eve")
    assert looked_at(store, NOW) == {"ada", "lab", "eve"}


def test_what_changed_meanwhile_is_not_put_off(store: Database) -> None:
    """Another process worked with the schedule of before, or before new matches."""
    subscribe(store, "ada")
    set_next_due(store, NOW + MOMENT, schedule="daily 09:00")
    assert looked_at(store, NOW) == {"ada"}
    before = reading(store, subscriptions.states)["ada"]
    set_next_due(store, NOW)
    writing(store, subscriptions.set_next_due, [(before, "daily 08:00", "UTC", NOW + MOMENT)])
    assert looked_at(store, NOW) == {"ada"}


def test_a_match_wakes_who_gets_it_immediately_and_nobody_else(store: Database) -> None:
    watch(store, "t", "other")
    rows = [
        ("ada", "Immediately", "UTC", ("t",)),
        ("lab", "daily 08:00", "UTC", ("t",)),
        ("eve", "immediately", "UTC", ("other",)),
    ]
    writing(store, subscriptions.sync_subscriptions, rows, NOW)
    states = writing(store, subscriptions.states)
    later = [(states[name], schedule, zone, NOW + MOMENT) for name, schedule, zone, _ in rows]
    writing(store, subscriptions.set_next_due, later)
    assert looked_at(store, NOW) == set()
    match(store, *arrive(store, "1"))
    assert looked_at(store, NOW) == {"ada"}


# ── what a channel could not render ─────────────────────────────────────────────────


def without_pages(store: Database) -> Delivery:
    """A digest of which the mail is planned, and the page could not be rendered."""
    matched(store, "1")
    planned = [
        Planned("email", "ada@example.org", 0, "<1@papers.example>"),
        Planned("pages", "/pages", 0, "<2@papers.example>", "not rendered: no such font"),
    ]
    rendered = {"email": (Rendered(0, {"text": "hello"}),)}
    with store.writing() as tx:
        assert freeze_digest.freeze(tx, digest(unsent(store)), rendered, planned, NOW) is not None
        [failed] = deliveries.listing(tx, [DeliveryState.FAILED])
    return failed


def test_it_is_rendered_once_however_many_are_at_it(store: Database):
    one = without_pages(store)
    pages = [Rendered(n, {"html": f"page {n}"}) for n in range(2)]
    planned = [Planned("pages", "/pages", n, f"<{n + 3}@papers.example>") for n in range(2)]
    assert writing(store, freeze_digest.add_text, one, pages, planned, {"/pages"}, NOW) == 2
    assert writing(store, freeze_digest.add_text, one, pages, planned, {"/pages"}, NOW) == 0
    found = writing(store, outbox.claim, "me", NOW, ["pages"], 9)
    assert [(part.message_id, part.rendered.body) for part in found] == [
        ("<2@papers.example>", {"html": "page 0"})
    ]
    [mail] = [one for one in reading(store, deliveries.listing) if one.channel == "email"]
    assert (mail.state, mail.message_id) == (DeliveryState.PLANNED, "<1@papers.example>")


def test_a_superseded_digest_is_not_rendered_any_more(store: Database):
    one = without_pages(store)
    attempt(store, DeliveryState.FAILED)
    assert freeze(store, digest(unsent(store), "2026-03-03")) is not None
    pages = [Rendered(0, {"html": "page"})]
    planned = [Planned("pages", "/pages", 0, "<9@papers.example>")]
    assert writing(store, freeze_digest.add_text, one, pages, planned, {"/pages"}, NOW) == 0


def test_pages_find_digests_and_deliveries_by_subscription_recipient_and_channel(store: Database):
    watch(store, "t")
    subscribe(store, "ada", "bob")
    match(store, *arrive(store, "2401.00001", "2401.00002"))
    [first, *_] = news = unsent(store)
    assert reading(store, matches.newest_waiting, "ada", NOW, 1) == [news[-1].change.stored.id]
    freeze(store, digest([first]), recipients=["Ada@example.org", "eve@example.org"])
    later = digest(unsent(store), "2026-03-03", due=NOW + DAY)
    freeze(store, later, recipients=["Ada@example.org"], channel="team")
    freeze(store, digest(unsent(store, "bob"), name="bob"), recipients=["bob@example.org"])
    newest = reading(store, digests.latest, ["ada", "bob", "nobody"])
    assert {name: d.period for name, d in newest.items()} == {
        "ada": "2026-03-03",
        "bob": "2026-03-02",
    }
    for wanted, periods in (
        ({"recipient": "ADA@example.org"}, ["2026-03-03", "2026-03-02"]),
        ({"recipient": "ada@example.org", "channel": "email"}, ["2026-03-02"]),
        ({"subscription": "bob"}, ["2026-03-02"]),
        ({"subscription": "bob", "recipient": "eve@example.org"}, []),
    ):
        conditions = deliveries.conditions_for(**wanted)
        listed = reading(store, deliveries.listing, conditions=conditions)
        assert [delivery.period for delivery in listed] == periods
        counts = reading(store, deliveries.counts, conditions)
        assert sum(counts.values()) == len(periods)
    assert reading(store, deliveries.unfinished_of, [newest["ada"].id]) == []
    with store.writing() as tx:
        tx.execute(sa.update(schema.delivery).values(state=DeliveryState.FAILED))
    [failed] = reading(store, deliveries.unfinished_of, [newest["ada"].id])
    assert failed.period == "2026-03-03"
