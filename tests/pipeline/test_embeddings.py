"""A model as a second opinion: it orders, it adds what is just below a bar, and may fail."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from monitor.commands.explain import explain
from monitor.commands.status import status
from monitor.embeddings import server as embedding_server_module
from monitor.embeddings.server import MOST_CHARS
from monitor.model import ChangeKind
from monitor.model.embeddings import EmbeddingState
from monitor.pipeline import embeddings, flow
from monitor.pipeline.compose import compose
from monitor.pipeline.flow import Step, Task
from monitor.pipeline.match import match
from monitor.pipeline.order import _beside_words
from monitor.store.engine.locks import embeddings_lock
from monitor.store.retention import purge
from monitor.store.topics import embeddings as stored
from tests.house import BANDITS, FOLDING, House, all_papers
from tests.servers.embeddings import EmbeddingServer, Fault, embedding_server

TEXT = "agents that use a web browser or a phone"
MODEL = "tiny"
# Enough papers that match by words, and say how near others have to be.
NEAR = [
    (
        f"Agents in the Browser, Part {name}",
        f"An agent clicks in the web browser of a phone {name}.",
    )
    for name in ("amber", "basil", "cobalt", "dahlia", "ember", "falcon", "garnet", "hazel")
]
# Just below the bar by words: the first has words of the text that say little by themselves.
ADDED = ("Agents that use a phone", "Agents that use a web or a phone.")
FAR = " ".join(f"olive{number} vine{number}" for number in range(40))
NOT_ADDED = ("A browser by phone", f"{FAR} with a browser.")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def liking(house: House, url: str, server: EmbeddingServer) -> House:
    """An installation with a topic that is like a text, and a model."""
    house.settings["store"] = url
    house.settings["topics"] = {"browsing": {"like": {"text": TEXT, "at_least": 0.5}}}
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.settings["embeddings"] = {"url": server.url, "model": MODEL, "allow_private": True}
    return house


def titles(house: House) -> list[str]:
    return [entry.paper.title for group in house.digest().groups for entry in group.entries]


def vectors(house: House) -> dict[str, bytes | None]:
    """Return the vectors of papers that are not asked about any more, by title."""
    with house.opened() as app, app.runtime.database.reading() as tx:
        papers = {paper.id: paper.paper.title for paper in all_papers(tx)}
        return {papers[id]: vector for id, vector in stored.vectors(tx, MODEL, papers).items()}


def states(house: House) -> dict[EmbeddingState, int]:
    with house.opened() as app, app.runtime.database.reading() as tx:
        return dict(stored.counts(tx, MODEL, app.runtime.clock.now() - timedelta(days=30)))


def test_nothing_is_asked_without_the_setting(liking: House, server: EmbeddingServer):
    del liking.settings["embeddings"]
    liking.run(*NEAR, ADDED)
    assert server.requests == 0
    with liking.opened() as app, app.runtime.database.reading() as tx:
        assert stored.undecided(tx) == []


def test_texts_and_what_is_near_are_sent_once(liking: House, server: EmbeddingServer):
    liking.run(*NEAR, BANDITS, FOLDING)
    assert server.texts[0] == TEXT
    assert sorted(server.texts[1:]) == sorted(f"{title}\n\n{text}" for title, text in NEAR)
    assert set(server.models) == {MODEL}
    asked = server.requests
    liking.run_after(days=1)
    assert server.requests == asked


def test_long_texts_are_sent_without_their_ends(liking: House, server: EmbeddingServer):
    liking.settings["topics"]["browsing"]["like"] = f"{TEXT} {TEXT * 50}"
    liking.run((NEAR[0][0], f"{NEAR[0][1]} {FAR * 50}"))
    assert [len(text) for text in server.texts] == [MOST_CHARS] * 2


def test_a_key_goes_along(liking: House, server: EmbeddingServer):
    liking.settings["embeddings"]["api_key"] = "sesame"
    liking.run(*NEAR)
    assert set(server.keys) == {"Bearer sesame"}


def test_a_paper_just_below_the_bar_is_added_once_and_the_model_named(
    liking: House, server: EmbeddingServer
):
    liking.run(*NEAR, ADDED, NOT_ADDED, BANDITS)
    # The papers by words had to have their vectors first.
    liking.run_after(minutes=5)
    assert titles(liking) == [ADDED[0]]
    [entry] = [entry for group in liking.digest().groups for entry in group.entries]
    assert [(why.field, why.words) for why in entry.matched[0].why] == [("model", (MODEL,))]
    with liking.opened() as app:
        [topic] = explain(app.runtime, ADDED[0]).topics
        assert topic.why[-1].words == (MODEL,)
        assert explain(app.runtime, NOT_ADDED[0]).topics == ()
        state = status(app.runtime).embeddings
        assert state and (state.added, state.answered, state.waiting) == (1, 10, 0)
    assert liking.run_after(days=1) == {}


def test_a_paper_of_which_earlier_news_matched_is_not_added(liking: House):
    liking.settings["topics"]["browsing"]["news"] = ["new", "revised"]
    liking.settings["sources"]["ids"] = {
        "kind": "jsonl",
        "path": "dumps/*.jsonl",
        "first_run": "deliver",
    }

    def version(number: int, abstract: str) -> None:
        record = {"title": ADDED[0], "abstract": abstract, "arxiv_id": "2307.13854"}
        text = json.dumps(record | {"version": number})
        (liking.folder / "dumps" / f"{number}.jsonl").write_text(text)

    liking.run(*NEAR)
    version(1, "They click in the web browser of a phone.")
    assert liking.run_after(minutes=5) == {"lab": 1}
    version(2, ADDED[1])
    assert liking.run_after(minutes=5) == {}
    assert liking.run_after(minutes=5) == {}
    with liking.opened() as app:
        kinds = [change.kind for change in explain(app.runtime, ADDED[0]).origin.changes]
        assert kinds == [ChangeKind.NEW, ChangeKind.REVISED]
        state = status(app.runtime).embeddings
        assert state and state.added == 0


def test_the_mail_and_the_page_say_that_a_model_added_it(liking: House):
    liking.run(*NEAR)
    liking.run_after(ADDED, minutes=5)
    [page] = [
        text
        for file in (liking.folder / "pages").rglob("*.html")
        if ADDED[0] in (text := file.read_text())
    ]
    assert f"added by {MODEL}: near to your text" in page
    said = liking.command("explain", ADDED[0])
    assert f"added by {MODEL}: near to your text" in " ".join(said.out.split())


def test_what_is_not_near_enough_is_not_added(liking: House, server: EmbeddingServer):
    liking.run(*NEAR)
    liking.run_after(NOT_ADDED, minutes=5)
    assert any(text.startswith(NOT_ADDED[0]) for text in server.texts)
    assert liking.run_after(days=1) == {}


def test_news_that_is_seven_days_old_is_not_added(liking: House, server: EmbeddingServer):
    liking.run(*NEAR)
    server.misbehaves(Fault.BROKEN)
    liking.run_after(ADDED, minutes=5)
    server.misbehaves(None)
    assert liking.run_after(days=8) == {}
    assert liking.run_after(days=1) == {}


def test_few_papers_by_words_add_none(liking: House):
    liking.run(*NEAR[:3])
    liking.run_after(ADDED, minutes=5)
    assert liking.run_after(minutes=5) == {}


def test_no_more_than_some_papers_of_a_day_are_sent(
    liking: House, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("monitor.pipeline.match.MOST_NEAR_A_DAY", 2)
    below = [(f"{ADDED[0]} {name}", ADDED[1]) for name in ("amber", "basil", "cobalt", "dahlia")]
    liking.run(*NEAR)
    liking.run_after(*below, minutes=5)
    assert sum(text.startswith(ADDED[0]) for text in server.texts) == 2


def test_the_model_takes_nothing_away_and_orders(liking: House, server: EmbeddingServer):
    """The last by words is the first by the model, whose ranks count four times."""
    by_words = [
        ("Agents in the browser with a phone and the web", "Browser, phone and web."),
        ("A browser for the phone", "The web browser of a phone."),
        ("Agents and the phone", "A phone with a browser."),
    ]
    heights = {by_words[0][0]: 1.0, by_words[1][0]: 2.0, by_words[2][0]: 0.5}

    def place(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, heights.get(text.split("\n")[0], 0.0)] for text in texts]

    server.model = place
    liking.settings["topics"]["browsing"]["like"]["at_least"] = 0.4
    liking.run(*by_words)
    assert titles(liking) == [by_words[at][0] for at in (2, 0, 1)]


def test_other_orders_stay_as_they_are(liking: House, server: EmbeddingServer):
    liking.settings["subscriptions"]["lab"]["order"] = "newest"
    server.model = lambda texts: [[1.0, float(NEAR[0][0] not in text)] for text in texts]
    liking.run(*NEAR[:3])
    with_model = titles(liking)
    server.misbehaves(Fault.BROKEN)
    assert sorted(with_model) == sorted(title for title, _ in NEAR[:3])


def test_scores_stay_those_of_words_in_another_order():
    def placed(scores: list[float], near: list[float | None]) -> list[float]:
        return [round(score, 6) for score in _beside_words(scores, near)]

    assert placed([6.0, 4.0, 2.0], [0.1, 0.0, 0.9]) == [4.0, 2.0, 6.0]
    assert placed([6.0, 4.0, 2.0], [None, None, 0.9]) == [6.0, 2.0, 4.0]
    assert placed([6.0, 4.0], [None, None]) == [6.0, 4.0]
    first, second = _beside_words([6.0, 6.0], [0.1, 0.2])
    assert second > first, "equal by words, the model decides"


@pytest.mark.parametrize("fault", list(Fault))
def test_a_server_that_fails_delays_and_changes_nothing(
    liking: House, server: EmbeddingServer, fault: Fault, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embedding_server_module, "DEADLINE", timedelta(seconds=1))
    liking.run(NEAR[0])
    before = vectors(liking)
    assert None not in before.values() and len(before) == 1
    server.misbehaves(fault)
    assert liking.run_after(NEAR[1], BANDITS, minutes=5) == {"lab": 1}
    assert titles(liking) == [NEAR[1][0]]
    assert vectors(liking) == before or fault is Fault.REFUSED
    with liking.opened() as app:
        state = status(app.runtime).embeddings
        assert state and (state.ok, bool(state.error)) == (fault is Fault.REFUSED, not state.ok)
    server.misbehaves(None)
    liking.run_after(hours=3)
    with liking.opened() as app:
        state = status(app.runtime).embeddings
        assert state and state.ok and not state.error
    # One of the paper that failed, but for one that the server refused for good.
    assert len([one for one in vectors(liking).values() if one]) == 1 + (fault is not Fault.REFUSED)


def test_an_hour_of_failures_is_a_problem_which_ends(liking: House, server: EmbeddingServer):
    server.misbehaves(Fault.BROKEN)
    liking.run(NEAR[0])
    assert liking.problems() == ()
    for _ in range(8):
        liking.run_after(minutes=20)
    [problem] = liking.problems()
    assert "embeddings" in problem
    server.misbehaves(None)
    liking.run_after(days=1)
    assert liking.problems() == ()


def test_a_refused_text_stops_no_other(liking: House, server: EmbeddingServer):
    server.refuses = lambda text: text.startswith(NEAR[1][0])
    liking.run(*NEAR[:4])
    found = vectors(liking)
    assert found.pop(NEAR[1][0]) is None
    assert len(found) == 3 and None not in found.values()


def test_a_refused_topic_stops_no_other(liking: House, server: EmbeddingServer):
    liking.run(NEAR[0])
    liking.settings["topics"]["folding"] = {"like": "symmetric samplers for protein folding"}
    server.refuses = lambda text: text.startswith("symmetric")
    liking.run_after(NEAR[1], minutes=5)
    assert len(vectors(liking)) == 2
    asked = server.requests
    liking.run_after(minutes=5)
    assert server.requests == asked
    liking.run_after(days=1, minutes=5)
    assert server.requests == asked + 1


def test_a_server_that_refuses_all_fails(liking: House, server: EmbeddingServer):
    """As one that does not have the model may."""
    server.misbehaves(Fault.REFUSED)
    liking.run(*NEAR)
    with liking.opened() as app:
        state = status(app.runtime).embeddings
    assert state and not state.ok and server.requests == 1
    assert states(liking) == {}


def test_a_text_at_which_the_server_breaks_is_found(liking: House, server: EmbeddingServer):
    liking.run(NEAR[0])

    def break_at(texts: Sequence[str]) -> list[list[float]]:
        bad = any(NEAR[1][0] in text for text in texts)
        return [[0.0] * 64 if bad else [1.0] * 64 for _ in texts]

    server.model = break_at
    liking.run_after(*NEAR[1:5], minutes=5)
    for _ in range(8):
        liking.run_after(minutes=10)
    for _ in range(3):
        liking.run_after(days=1)
    found = vectors(liking)
    assert found.pop(NEAR[1][0]) is None
    assert len(found) == 4 and None not in found.values()


def test_the_allowance_of_a_day_is_kept(liking: House, server: EmbeddingServer):
    liking.settings["embeddings"]["a_day"] = 1
    liking.run(*NEAR)
    assert server.requests == 1 and server.texts == [TEXT]
    liking.run_after(minutes=5)
    assert server.requests == 1
    liking.run_after(days=1)
    assert server.requests == 2


def test_another_model_asks_again(liking: House, server: EmbeddingServer):
    liking.run(NEAR[0])
    liking.settings["embeddings"]["model"] = "other"
    liking.run_after(NEAR[1], minutes=5)
    assert server.models.count("other") == 2
    assert vectors(liking) == {}, "those of the model before are forgotten"


def test_another_text_asks_again_and_papers_stay(liking: House, server: EmbeddingServer):
    liking.run(NEAR[0])
    liking.settings["topics"]["browsing"]["like"]["text"] = f"{TEXT} or a browser"
    asked = len(server.texts)
    liking.run_after(minutes=5)
    assert server.texts[asked:] == [f"{TEXT} or a browser"]


def test_a_purged_paper_loses_its_vector(liking: House):
    liking.run(NEAR[0])
    with liking.opened() as app, app.runtime.database.ingesting() as tx:
        later = app.runtime.clock.now() + timedelta(days=1)
        assert purge(tx, later, None, later, 10) == 1
        assert stored.any_vector(tx, MODEL)  # of the topic
        assert stored.vectors(tx, MODEL, [1]) == {}


def test_one_process_asks_at_a_time(liking: House, server: EmbeddingServer):
    liking.ingest(NEAR[0])
    with liking.opened() as app:
        with embeddings_lock(app.runtime.database):
            assert embeddings.embed(app.runtime) == 0
        assert server.requests == 0
        assert embeddings.embed(app.runtime) == 1


def test_a_digest_waits_for_vectors_for_a_minute(liking: House, server: EmbeddingServer):
    liking.ingest(NEAR[0])
    with liking.opened() as app:
        follows: list[Task] = []
        flow.do(app.runtime, Task(Step.MATCH), follows.append)
        assert Task(Step.EMBED) in follows
        assert compose(app.runtime, awaits_look_up=True) == []
        liking.clock.move(seconds=61)
        assert len(compose(app.runtime, awaits_look_up=True)) == 1


def test_a_digest_waits_for_papers_that_are_matched_and_not_yet_queued(liking: House):
    liking.ingest(NEAR[0])
    with liking.opened() as app:
        match(app.runtime)
        assert compose(app.runtime, awaits_look_up=True) == []
        assert embeddings.embed(app.runtime) == 1
        assert len(compose(app.runtime, awaits_look_up=True)) == 1


def test_a_digest_does_not_wait_for_a_server_that_rests(liking: House, server: EmbeddingServer):
    liking.ingest(NEAR[0])
    server.misbehaves(Fault.LATER)
    with liking.opened() as app:
        flow.do(app.runtime, Task(Step.MATCH), lambda task: None)
        assert embeddings.embed(app.runtime) == 0
        assert len(compose(app.runtime, awaits_look_up=True)) == 1
    liking.ingest(NEAR[1])
    with liking.opened() as app:
        match(app.runtime)
        assert len(compose(app.runtime, awaits_look_up=True)) == 1


def test_answers_in_another_order_add_the_same(
    liking: House, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
):
    """One paper a request, the newest first or the oldest first."""
    due = stored.due
    monkeypatch.setattr(embeddings, "TEXTS_AT_ONCE", 1)
    monkeypatch.setattr(
        stored, "due", lambda tx, model, now, limit: due(tx, model, now, 100)[::-1][:limit]
    )
    liking.run(*NEAR, ADDED, NOT_ADDED)
    liking.run_after(minutes=5)
    assert titles(liking) == [ADDED[0]]


def test_a_topic_that_changed_has_its_papers_added_again(liking: House):
    liking.run(*NEAR)
    liking.ingest(ADDED)
    with liking.opened() as app:
        match(app.runtime)
        embeddings.embed(app.runtime)
    liking.settings["topics"]["browsing"]["news"] = ["new", "revised"]
    liking.run_after(minutes=5)
    liking.run_after(minutes=5)
    assert titles(liking) == [ADDED[0]]
