"""Embeddings: a model is asked how near papers are to the texts of `like:` topics.

Between matching and composing, with rows of its own, of which each is committed before its request.
Words decide which papers match. The model orders these, and may add a paper just below the bar:

1. `find_near` finds papers below a topic's bar, but near to it, as they are matched.
2. The text of a topic is sent once, and the title and abstract of a paper once: of papers that wait
   for a digest of a `like:` topic, of those just below its bar, and of the newest that matched it.
3. What the model adds has to be nearer, by the model, than `LEAST_QUANTILE` of those newest ones.
   Which these are is stored before they are sent, and counts once all have been answered, so that
   the same answers in another order add the same papers.
4. A paper just below the bar that is as near is added, once, while it is news.

The numbers were chosen by `benchmarks/embeddings.py`; docs/embeddings.md has the figures.
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor

import structlog
from msgspec import structs

from monitor.digest.schedule import Slot
from monitor.embeddings.server import MOST_CHARS, TEXTS_AT_ONCE, EmbeddingServer, Vector
from monitor.errors import DeferredError, FetchError, StoreBusyError
from monitor.model import Paper, Topic, UnsentMatch
from monitor.model.embeddings import Embedding, EmbeddingState, TopicEmbedding
from monitor.pipeline import like_topics, shared_store
from monitor.pipeline.asked_service import (
    ATTEMPTS,
    BETWEEN_ATTEMPTS,
    DUE_AFTER_CRASH,
    SHORTEST_REST,
    AskedService,
)
from monitor.pipeline.incidents import EMBEDDINGS
from monitor.pipeline.near_matches import RECENT
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store.engine.database import Transaction
from monitor.store.engine.locks import embeddings_lock
from monitor.store.papers import papers
from monitor.store.topics import embeddings as stored
from monitor.store.topics import matches

log = structlog.get_logger()

# The newest papers by words that say how near an added one has to be, and the fewest that do.
COMPARED = 30
FEWEST_COMPARED = 8
LEAST_QUANTILE = 0.75
QUEUED_AT_ONCE = 1_000
# Statuses that refuse these texts, such as too long ones, and not all.
REFUSED = (400, 413, 414, 422)
# A digest waits for vectors for so long.
WAIT = timedelta(seconds=60)
# Papers of one digest that are waited for.
MOST_WAITED_FOR = 400


def asked_service(server: EmbeddingServer) -> AskedService:
    return AskedService(EMBEDDINGS, server.requests_a_day)


# ── which papers ────────────────────────────────────────────────────────────────────


def queue(runtime: Runtime) -> bool:
    """Let papers wait for their vectors, and say whether anything is to be asked."""
    server = runtime.embeddings
    names = _like_topics(runtime)
    if not (server and names):
        return False
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        ids = stored.unasked(tx, server.model, names, now - RECENT, QUEUED_AT_ONCE)
    if not ids:
        return False
    with runtime.database.writing() as tx:
        stored.wait(tx, server.model, papers.load(tx, ids), now)
    return True


def _like_topics(runtime: Runtime) -> list[str]:
    return [topic.name for topic in runtime.topics if topic.like]


def holds(
    tx: Transaction, runtime: Runtime, subscription: Subscription, slot: Slot, now: datetime
) -> bool:
    """Return whether a digest that is due waits for the vectors of its papers.

    Matched papers that are not queued yet count, too, unless the server rests.
    """
    server = runtime.embeddings
    if not server:
        return False
    # After downtime, papers may be matched long after their digest was due.
    since = matches.waits_since(tx, subscription.name, now) or slot.due_at
    until = (since if subscription.schedule.immediately else max(since, slot.due_at)) + WAIT
    if now >= until:
        return False
    ids = matches.newest_waiting(tx, subscription.name, now, MOST_WAITED_FOR)
    if not ids or stored.is_open(tx, server.model, ids, until):
        return bool(ids)
    names = _like_topics(runtime)
    service = asked_service(server)
    if not names or service.may_be_asked_at(service.state(tx, now), now) > until:
        return False
    return bool(stored.unasked(tx, server.model, names, now - RECENT, 1, only=ids))


# ── asking ──────────────────────────────────────────────────────────────────────────


def embed(runtime: Runtime, seconds: float | None = None) -> int:
    """Ask for all vectors that are due, and add what is near; return how many papers changed.

    For at most some `seconds`: what is left is due the next time.
    """
    server = runtime.embeddings
    if not server:
        return 0
    end = None if seconds is None else time.monotonic() + seconds
    try:
        lock = embeddings_lock(runtime.database)
    except StoreBusyError:
        log.debug("embeddings deferred", reason="another process asks")
        return 0
    with lock:
        _drop_other_models(runtime, server)
        asking = _Asking(runtime, server, end)
        topics = [topic for topic in like_topics.find_current(runtime) if topic.like]
        if asking.ask_about_topics(topics):
            queue(runtime)
            while asking.ask_about_papers():
                queue(runtime)
        return asking.answered + _add_near(runtime, server, topics)


def _drop_other_models(runtime: Runtime, server: EmbeddingServer) -> None:
    """Forget vectors of other models, unless another configuration is in use, and old rows."""
    before = runtime.clock.now() - RECENT
    with runtime.database.reading() as tx:
        if not stored.is_outdated(tx, server.model, before):
            return
    with runtime.database.writing() as tx:
        if not shared_store.keeps_others(tx, runtime):
            stored.prune(tx, server.model, before)


def text_of(paper: Paper) -> str:
    """Return what is sent of a paper."""
    return _cut(f"{paper.title}\n\n{paper.abstract}")


def text_of_topic(topic: Topic) -> str:
    """Return what is sent of a topic: its text, or of one with examples alone its words."""
    if topic.like and topic.like.text.strip():
        return _cut(topic.like.text)
    return _cut(" ".join(word.written for word in topic.words.words) if topic.words else "")


def _cut(text: str) -> str:
    return text.strip()[:MOST_CHARS]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(slots=True)
class _Asking:
    """Requests to the server, until nothing is due, it rests, or time is up."""

    runtime: Runtime
    server: EmbeddingServer
    end: float | None
    answered: int = 0

    def ask_about_topics(self, topics: Sequence[Topic]) -> bool:
        """Ask for the vectors of new and changed texts; return False where the server rests."""
        model = self.server.model
        now = self.runtime.clock.now()
        texts = {topic.name: text for topic in topics if (text := text_of_topic(topic))}
        with self.runtime.database.reading() as tx:
            known = stored.topics(tx, model)
            keep = shared_store.keeps_others(tx, self.runtime)
        gone = known.keys() - texts.keys()
        if gone and not keep:
            with self.runtime.database.writing() as tx:
                stored.forget_topics(tx, model, gone)
        missing = [
            name
            for name, text in texts.items()
            if (row := known.get(name)) is None
            or row.text_hash != _hash(text)
            or (row.due_at and row.due_at <= now)
        ]
        return all(
            self._ask_about_topics({name: texts[name] for name in missing[at : at + TEXTS_AT_ONCE]})
            for at in range(0, len(missing), TEXTS_AT_ONCE)
        )

    def _ask_about_topics(self, texts: Mapping[str, str]) -> bool:
        """Ask for the vectors of topics by name; False where the server rests.

        If it refuses one of several texts, each is asked about alone. A text that is refused alone,
        while others were not, is sent again a day later.
        """
        if self._spend() is None:
            return False
        vectors: Sequence[Vector | None]
        try:
            vectors = self._ask(list(texts.values()))
        except DeferredError:
            return False
        except FetchError as fault:
            if fault.status not in REFUSED or not self._is_known():
                self._note_failure(fault)
                return False
            if len(texts) > 1:
                return all(self._ask_about_topics({name: texts[name]}) for name in texts)
            log.warning("embeddings refused", topic=next(iter(texts)), error=self._error(fault))
            vectors = [None]
        now = self.runtime.clock.now()
        with self.runtime.database.writing() as tx:
            for (name, text), vector in zip(texts.items(), vectors, strict=True):
                row = TopicEmbedding(name, _hash(text), pack(vector) if vector else None)
                again = row if vector else structs.replace(row, due_at=now + BETWEEN_ATTEMPTS)
                stored.save_topic(tx, self.server.model, again)
            asked_service(self.server).answered(tx, now)
        log.info("topics embedded", model=self.server.model, topics=len(texts))
        return True

    def ask_about_papers(self) -> bool:
        """Ask about the next papers that are due, and say whether there may be more."""
        if self._is_over():
            return False
        now = self.runtime.clock.now()
        model = self.server.model
        service = asked_service(self.server)
        with self.runtime.database.reading() as tx:
            state = service.state(tx, now)
            rest = service.may_be_asked_at(state, now)
            waiting = stored.due(tx, model, now, 1 if state.failing_since else TEXTS_AT_ONCE)
            found = papers.load(tx, [one.paper_id for one in waiting]).values()
            texts = {paper.id: text_of(paper.paper) for paper in found if not paper.purged}
        if not waiting:
            return False
        if rest > now:
            with self.runtime.database.writing() as tx:
                stored.put_off(tx, model, rest)
            return False
        asked = [one for one in waiting if one.attempts < ATTEMPTS and texts.get(one.paper_id)]
        if len(asked) < len(waiting):
            with self.runtime.database.writing() as tx:
                for one in waiting:
                    if one not in asked:
                        stored.settle(tx, one, EmbeddingState.GIVEN_UP)
        # A text at which a server breaks is found by asking about each alone the next time.
        fresh = [one for one in asked if not one.attempts]
        return not asked or self._ask_about_papers(fresh or asked[:1], texts)

    def _ask_about_papers(self, waiting: Sequence[Embedding], texts: Mapping[int, str]) -> bool:
        """Ask about some papers, and each alone if one is refused; False where the server rests."""
        asked = self._spend(waiting)
        if asked is None:
            return False
        try:
            vectors = self._ask([texts[one.paper_id] for one in asked])
        except DeferredError:
            with self.runtime.database.writing() as tx:
                stored.put_back(tx, asked, self.runtime.clock.now() + SHORTEST_REST)
            return False
        except FetchError as fault:
            if fault.status not in REFUSED or not self._is_known():
                self._note_failure(fault, asked)
                return False
            if len(asked) > 1:
                return all(self._ask_about_papers([one], texts) for one in waiting)
            log.warning("embeddings refused", paper=asked[0].paper_id, error=self._error(fault))
            with self.runtime.database.writing() as tx:
                stored.settle(tx, asked[0], EmbeddingState.GIVEN_UP)
            return True
        with self.runtime.database.writing() as tx:
            for one, vector in zip(asked, vectors, strict=True):
                stored.answer(tx, one, pack(vector))
            asked_service(self.server).answered(tx, self.runtime.clock.now())
        self.answered += len(asked)
        log.info("papers embedded", model=self.server.model, papers=len(asked))
        return True

    def _is_over(self) -> bool:
        late = self.end is not None and time.monotonic() >= self.end
        return late or self.runtime.stopping.is_set()

    def _spend(self, waiting: Sequence[Embedding] = ()) -> list[Embedding] | None:
        """Record a request that will be sent, about these; None where the server rests."""
        if self._is_over():
            return None
        now = self.runtime.clock.now()
        service = asked_service(self.server)
        with self.runtime.database.writing() as tx:
            state = service.state(tx, now)
            if service.may_be_asked_at(state, now) > now:
                return None
            service.spend(tx, state)
            return stored.begin(tx, waiting, now, now + DUE_AFTER_CRASH)

    def _ask(self, texts: Sequence[str]) -> list[Vector]:
        with self.runtime.database.reading() as tx:
            packed = stored.any_vector(tx, self.server.model)
        return self.server.ask(texts, len(packed) // _BYTES if packed else None)

    def _is_known(self) -> bool:
        """Say whether the server has answered before: a refusal is then of the texts alone."""
        with self.runtime.database.reading() as tx:
            return stored.any_vector(tx, self.server.model) is not None

    def _error(self, fault: FetchError) -> str:
        return self.runtime.settings.variables_of_services.hide(str(fault))

    def _note_failure(self, fault: FetchError, asked: Sequence[Embedding] = ()) -> None:
        """Let the server rest; what was asked is tried again."""
        now = self.runtime.clock.now()
        error = self._error(fault)
        log.warning("embeddings failed", model=self.server.model, error=error)
        with self.runtime.database.writing() as tx:
            rest = asked_service(self.server).failed(tx, error, fault.retry_after, now)
            stored.put_off(tx, self.server.model, rest)
            for one in asked:
                if one.attempts >= ATTEMPTS:
                    stored.settle(tx, one, EmbeddingState.GIVEN_UP)
                else:
                    # Others may have been the reason: the second attempt is alone, and soon.
                    again = rest if one.attempts == 1 else max(rest, now + BETWEEN_ATTEMPTS)
                    stored.settle(tx, one, EmbeddingState.FAILED, again)


# ── what the model says ─────────────────────────────────────────────────────────────


_BYTES = 2  # of a number


def pack(vector: Vector) -> bytes:
    """Return a vector of length 1 as the store has it, in 16-bit floats."""
    return struct.pack(f"<{len(vector)}e", *vector)


def unpack(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // _BYTES}e", packed)


def _cosine(a: bytes, b: bytes) -> float:
    return sum(x * y for x, y in zip(unpack(a), unpack(b), strict=True))


def _add_near(runtime: Runtime, server: EmbeddingServer, topics: Iterable[Topic]) -> int:
    """Add the papers just below bars that are near enough by the model; return how many."""
    now = runtime.clock.now()
    model = server.model
    _choose_least(runtime, server)
    with runtime.database.reading() as tx:
        names = {topic.name for topic in topics}
        rows = stored.undecided(tx)
        if shared_store.keeps_others(tx, runtime):
            rows = [(row, at) for row, at in rows if row.topic in names]
        known = stored.topics(tx, model)
        ids = {row.paper_id for row, _ in rows}
        vectors = stored.vectors(tx, model, ids)
        matched = stored.matched(tx, ids)
    added = []
    decided = []
    for row, at in rows:
        topic = known.get(row.topic)
        is_news = row.topic in names and at > now - RECENT
        if not is_news or (row.topic, row.paper_id) in matched:
            decided.append(row)
        elif topic and topic.vector and topic.least is not None and row.paper_id in vectors:
            decided.append(row)
            vector = vectors[row.paper_id]
            if vector and _cosine(topic.vector, vector) >= topic.least:
                added.append(structs.replace(row, added_by=model))
    if decided:
        with runtime.database.writing() as tx:
            matches.add(tx, added, now)
            stored.decide(tx, decided)
    if added:
        log.info("papers added", model=model, papers=len(added))
    return len(added)


def _choose_least(runtime: Runtime, server: EmbeddingServer) -> None:
    """Choose for each topic how near a paper has to be that the model adds."""
    model = server.model
    chosen = []
    with runtime.database.reading() as tx:
        for topic in stored.topics(tx, model).values():
            if topic.least is not None or topic.vector is None:
                continue
            ids = topic.compared_with or tuple(stored.newest_by_words(tx, topic.topic, COMPARED))
            if len(ids) < FEWEST_COMPARED:
                continue
            if not topic.compared_with:
                chosen.append(structs.replace(topic, compared_with=ids))
            elif not stored.has_open(tx, model, ids):
                vectors = stored.vectors(tx, model, ids)
                near = sorted(_cosine(topic.vector, each) for each in vectors.values() if each)
                least = near[floor(LEAST_QUANTILE * len(near))] if near else None
                chosen.append(structs.replace(topic, least=least))
    if chosen:
        now = runtime.clock.now()
        with runtime.database.writing() as tx:
            for topic in chosen:
                stored.save_topic(tx, model, topic)
                stored.wait(tx, model, papers.load(tx, topic.compared_with), now)


def nearness(
    tx: Transaction, runtime: Runtime, news: Iterable[UnsentMatch]
) -> dict[str, dict[int, float]]:
    """Return how near papers are to the texts of topics, by topic and paper, where it is known."""
    server = runtime.embeddings
    if not server:
        return {}
    topics = stored.topics(tx, server.model)
    names = {topic.name for topic in runtime.topics if topic.like}
    wanted = [(item.topic, item.change.stored.id) for item in news if item.topic in names]
    vectors = stored.vectors(tx, server.model, {id for _, id in wanted}) if wanted else {}
    near: dict[str, dict[int, float]] = {}
    for name, id in wanted:
        topic = topics.get(name)
        vector = vectors.get(id)
        if topic and topic.vector and vector:
            near.setdefault(name, {})[id] = _cosine(topic.vector, vector)
    return near
