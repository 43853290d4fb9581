"""Topics that are like a text, in a store: words that stay, are learned again, and are shared."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Thread

import pytest
import sqlalchemy as sa

from monitor.app import load_settings
from monitor.commands.explain import explain
from monitor.commands.like_trial import like_of, relearn, try_like, words_of_topic
from monitor.commands.status import status
from monitor.commands.topic_trial import topic_warnings
from monitor.errors import UsageError
from monitor.match.like import MOST_EXAMPLES
from monitor.model import LikeText, LikeWords, Topic
from monitor.pipeline import like_topics
from monitor.pipeline.match import match
from monitor.pipeline.runtime import Runtime
from monitor.store.engine import schema
from monitor.store.retention import purge
from monitor.store.topics import like_words, matches
from tests.house import AGENTS, BANDITS, House
from tests.patience import PATIENCE, wait

WEB = ("Agents in the Browser", "An agent clicks in the web browser of a phone.")
NEARLY = ("A Browser of Pages", "The browser shows them.")
WAITING = sa.text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
TEXT = "agents that use a web browser or a phone"


@pytest.fixture
def liking(house: House, url: str) -> House:
    """An installation with a topic that is like a text."""
    house.settings["store"] = url
    house.settings["topics"] = {"browsing": {"like": TEXT}}
    return house


def versions(house: House, topic: str = "browsing") -> list[LikeWords]:
    with house.opened() as app, app.runtime.database.reading() as tx:
        return like_words.versions(tx, topic)


def test_papers_that_are_near_are_sent_with_the_words(liking: House):
    liking.run(WEB, BANDITS)
    assert liking.next_morning() == {"lab": 1}
    [group] = liking.digest().groups
    [entry] = group.entries
    assert entry.paper.title == WEB[0]
    words = {word.casefold() for why in entry.matched[0].why for word in why.words}
    assert {"browser", "phone", "web"} <= words


def test_words_are_learned_once_and_stay(liking: House):
    liking.ingest(WEB)
    [first] = versions(liking)
    liking.ingest(AGENTS, BANDITS)
    assert versions(liking) == [first]
    liking.settings["topics"]["browsing"]["news"] = ["new", "revised"]
    liking.ingest()
    assert versions(liking) == [first], "only another text has other words"
    liking.settings["topics"]["browsing"]["like"] = "bandits and exploration"
    liking.ingest()
    changed, before = versions(liking)
    assert (changed.version, before) == (2, first)


def test_a_text_that_returns_has_the_words_that_it_had(liking: House):
    liking.ingest(WEB)
    [first] = versions(liking)
    for text in ("bandits and exploration", TEXT):
        liking.settings["topics"]["browsing"]["like"] = text
        liking.ingest()
    with liking.opened() as app, app.runtime.database.reading() as tx:
        [topic] = like_topics.current_topics(tx, app.runtime)
    assert topic.words == first and len(versions(liking)) == 2


def test_words_learned_again_are_for_what_comes_and_what_matched_stays(liking: House):
    liking.settings["topics"]["browsing"]["like"] = {"text": TEXT, "papers": ["arxiv:2307.13854"]}
    liking.ingest(WEB)
    [first] = versions(liking)
    assert (first.examples, first.missing) == (0, ("arxiv:2307.13854",))
    with liking.opened() as app:
        report = relearn(app.runtime, "browsing")
        assert report.words.version == 2 and len(report.versions) == 2
        assert explain(app.runtime, WEB[0]).topics != ()
        match(app.runtime)
    with liking.opened() as app, app.runtime.database.reading() as tx:
        [topic] = like_topics.current_topics(tx, app.runtime)
        assert topic.words and topic.words.version == 2


def test_a_process_that_starts_puts_nothing_in_force_again(liking: House):
    """The store has JSON, whose lists are no tuples."""
    (liking.folder / "refs.bib").write_text("@article{a, title={Agents in the Web}}")
    like = {"text": TEXT, "papers": ["arxiv:2307.13854"], "file": "refs.bib", "at_most": 3}
    liking.settings["topics"]["examples"] = {"like": like}
    liking.ingest(WEB)
    first = liking.read(matches.activated_at)
    liking.ingest(BANDITS)
    assert liking.read(matches.activated_at) == first
    liking.settings["topics"]["examples"]["like"]["at_most"] = 4
    liking.ingest()
    assert liking.read(matches.activated_at) != first


def test_what_matched_by_earlier_words_is_sent_by_a_process_that_starts(liking: House):
    refs = liking.folder / "refs.bib"
    refs.write_text("@article{a, title={Agents in the Browser}}")
    liking.settings["topics"]["browsing"]["like"] = {"file": "refs.bib"}
    liking.ingest(WEB)
    refs.write_text("@article{a, title={Wheat Harvests}}")
    with liking.opened() as app:
        relearn(app.runtime, "browsing")
        match(app.runtime)
    liking.ingest(BANDITS)
    with liking.opened() as app:
        assert [row.topic for row in explain(app.runtime, WEB[0]).topics] == ["browsing"]
    assert liking.next_morning() == {"lab": 1}


def test_check_names_the_examples_that_are_not_stored(liking: House):
    liking.settings["topics"] |= {
        "browsing": {"like": {"text": TEXT, "papers": ["arxiv:2307.13854"]}},
        "none": {"like": {"papers": ["doi:10.5555/none"]}},
    }
    liking.ingest(WEB)
    [warning] = topic_warnings(load_settings(liking.write()))
    assert "no example arxiv:2307.13854" in warning.message


def test_another_process_takes_up_words_that_were_learned_again(liking: House):
    liking.ingest(WEB)
    with liking.opened() as other, liking.opened() as app:
        match(other.runtime)
        relearn(app.runtime, "browsing")
        match(other.runtime)
        [topic] = other.runtime.active.worded
        assert topic.words and topic.words.version == 2


def test_two_processes_write_one_version(liking: House):
    with liking.opened() as one, liking.opened() as other:
        learned = [
            like_topics.learn_missing(app.runtime, app.runtime.topics) for app in (one, other)
        ]
        for app, topics in zip((one, other), learned, strict=True):
            with app.runtime.database.writing() as tx:
                like_topics.store_missing(tx, topics, app.runtime.clock.now())
    assert [words.version for words in versions(liking)] == [1]


@pytest.mark.parametrize("learns", [match, lambda runtime: relearn(runtime, "browsing")])
def test_words_are_learned_after_those_of_a_process_that_activates_at_the_same_moment(
    house: House, postgres_url: str, learns: Callable[[Runtime], object]
):
    """SQLite has one writer; on PostgreSQL both are in their transactions."""
    house.settings |= {"store": postgres_url, "topics": {"browsing": {"like": TEXT}}}
    with house.opened() as one, house.opened() as other:
        database = one.runtime.database
        now = one.runtime.clock.now()
        learned = like_topics.learn_missing(one.runtime, one.runtime.topics)
        faults: list[Exception] = []

        def learn() -> None:
            try:
                learns(other.runtime)
            except Exception as fault:
                faults.append(fault)

        def waits() -> bool:
            with database.reading() as tx:
                return bool(tx.scalar(WAITING)) or not second.is_alive()

        second = Thread(target=learn)
        with database.writing() as tx:
            matches.begin_activation(tx)
            like_topics.store_missing(tx, learned, now)
            matches.activate_topics(tx, learned, [], now)
            second.start()
            wait(waits)
        second.join(PATIENCE)
    assert not faults
    numbers = [words.version for words in versions(house)]
    assert numbers == ([1] if learns is match else [2, 1])


def test_a_store_whose_words_are_gone_matches_by_the_text(liking: House):
    liking.ingest(BANDITS)
    with liking.opened() as app, app.runtime.database.writing() as tx:
        tx.execute(sa.delete(schema.like_words))
    liking.run(WEB)
    assert liking.next_morning() == {"lab": 1}


def test_examples_are_read_from_a_file_and_from_the_store(liking: House):
    (liking.folder / "refs.bib").write_text(
        "@article{a, title={Agents in the Browser}, author={Ada B}, year={2024}}"
    )
    liking.settings["topics"]["browsing"]["like"] = {"file": "refs.bib"}
    liking.ingest(WEB)
    [words] = versions(liking)
    assert words.examples == 1 and {word.form for word in words.words} == {"browser", "agent"}


def test_the_last_papers_of_a_long_file_are_its_examples(liking: House):
    entries = [f"@article{{a{n}, title={{Agents in the Browser {n}}}}}" for n in range(301)]
    (liking.folder / "refs.bib").write_text("\n".join(["@article{a, title={Gulls}}", *entries]))
    liking.settings["topics"]["browsing"]["like"] = {"file": "refs.bib"}
    liking.ingest(WEB)
    [words] = versions(liking)
    assert words.examples == MOST_EXAMPLES
    assert {word.form for word in words.words} == {"browser", "agent"}


def test_a_paper_whose_text_was_deleted_is_no_example(liking: House):
    record = {"title": WEB[0], "abstract": WEB[1], "arxiv_id": "2307.13854"}
    (liking.folder / "dumps" / "a.jsonl").write_text(json.dumps(record))
    liking.settings["sources"]["ids"] = {"kind": "jsonl", "path": "dumps/*.jsonl"}
    liking.settings["topics"]["browsing"]["like"] = {"text": TEXT, "papers": ["arxiv:2307.13854"]}
    liking.ingest()
    assert versions(liking)[0].examples == 1
    with liking.opened() as app:
        with app.runtime.database.ingesting() as tx:
            later = app.runtime.clock.now() + timedelta(days=1)
            assert purge(tx, later, None, later, 10) == 1
        words = relearn(app.runtime, "browsing").words
    assert (words.examples, words.missing) == (0, ("arxiv:2307.13854",))


def with_file(liking: House, file: str = "refs.bib") -> None:
    """Let the topic have a file of examples, and what one paper is like."""
    bib = liking.folder / file
    bib.parent.mkdir(exist_ok=True)
    bib.write_text("@article{a, title={Agents in the Browser}, author={Ada B}, year={2024}}")
    liking.settings["topics"]["browsing"]["like"] = {"file": file}


def move(liking: House) -> None:
    """Move the installation to another folder."""
    liking.folder = liking.folder.rename(f"{liking.folder}-moved")
    if liking.settings["store"].startswith("sqlite"):
        [store] = liking.folder.glob("*.db")
        liking.settings["store"] = f"sqlite:///{store}"


def in_force_since(house: House) -> list[datetime]:
    with house.opened() as app, app.runtime.database.reading() as tx:
        return list(tx.scalars(sa.select(schema.topic.c.in_force_since)))


def topics(house: House) -> tuple[Topic, ...]:
    with house.opened() as app:
        return app.runtime.topics


def test_an_installation_that_is_moved_keeps_its_words(liking: House):
    with_file(liking)
    liking.ingest(WEB)
    [first] = versions(liking)
    at = in_force_since(liking)
    before = topics(liking)
    move(liking)
    liking.clock.move(days=1)
    liking.ingest(BANDITS)
    assert (versions(liking), in_force_since(liking)) == ([first], at)
    assert topics(liking) == before
    with liking.opened() as app:
        assert relearn(app.runtime, "browsing").words.examples == 1, "the file is found there"


@pytest.mark.parametrize("is_moved", [False, True])
def test_rows_with_an_absolute_path_keep_their_words(liking: House, is_moved: bool):
    """As they were stored at first."""
    with_file(liking, "team/refs.bib")
    liking.ingest(WEB)
    [first] = versions(liking)
    at = in_force_since(liking)
    file = str(liking.folder / "team/refs.bib")
    made_from = {"text": "", "papers": [], "file": file, "at_least": None, "at_most": None}
    with liking.opened() as app, app.runtime.database.writing() as tx:
        for table in (schema.topic, schema.like_words):
            tx.execute(sa.update(table).values(made_from=made_from))
    if is_moved:
        move(liking)
    liking.clock.move(days=1)
    liking.ingest(BANDITS)
    assert (versions(liking), in_force_since(liking)) == ([first], at)
    with_file(liking, "other/refs.bib")
    liking.ingest()
    assert [words.version for words in versions(liking)] == [2, 1]


def test_another_file_of_the_same_name_is_another_topic(liking: House):
    with_file(liking, "team/refs.bib")
    liking.ingest(WEB)
    for number, file in enumerate(["refs.bib", str(liking.folder / "refs.bib")], 2):
        with_file(liking, file)
        liking.ingest()
        assert versions(liking)[0].version == number


def test_check_names_a_file_that_cannot_be_read_once_after_a_move(liking: House):
    with_file(liking)
    (liking.folder / "refs.bib").write_text("@article{a, title={Agents in the")
    liking.settings["topics"]["browsing"]["like"]["text"] = TEXT
    liking.ingest(WEB)
    with liking.opened() as app, app.runtime.database.writing() as tx:
        before = [str(liking.folder / "refs.bib")]
        tx.execute(sa.update(schema.like_words).values(missing=before))
    move(liking)
    [warning] = topic_warnings(load_settings(liking.write()))
    assert f"like: {liking.folder / 'refs.bib'}: " in warning.message


def test_a_file_that_is_cut_off_is_said_and_stops_no_other_topic(liking: House):
    (liking.folder / "refs.bib").write_text("@article{a, title={Agents in the")
    liking.settings["topics"] |= {
        "cut": {"like": {"file": "refs.bib"}},
        "both": {"like": {"text": TEXT, "file": "refs.bib"}},
    }
    liking.run(WEB)
    assert any(one.startswith("topic cut is parked") for one in liking.problems())
    [words] = versions(liking, "both")
    assert words.examples == 0 and "refs.bib" in words.missing[0]
    assert liking.next_morning() == {"lab": 1}


def test_explain_names_the_topics_that_a_paper_missed_by_little(liking: House):
    liking.settings["topics"]["browsing"]["like"] = {"text": TEXT, "at_least": 0.3}
    liking.ingest(NEARLY, BANDITS)
    with liking.opened() as app:
        [near] = explain(app.runtime, NEARLY[0]).near
        assert near.topic == "browsing" and near.line == 0.3 and 0.24 <= near.score < 0.3
        assert explain(app.runtime, BANDITS[0]).near == ()


def test_a_trial_shows_the_nearest_on_both_sides_of_the_bar(liking: House):
    liking.ingest(WEB, NEARLY, BANDITS)
    with liking.opened() as app:
        trial = try_like(app.runtime, Topic("", "", like=LikeText(TEXT, at_least=0.3)))
        assert [(paper.title, paper.matches) for paper in trial.nearest] == [
            (WEB[0], True),
            (NEARLY[0], False),
        ]
        assert (trial.papers, trial.looked_at, sum(trial.per_day.values())) == (1, 3, 1)


def test_what_has_no_words_is_refused(liking: House):
    liking.settings["topics"]["plain"] = {"query": "agents"}
    liking.ingest(WEB)
    with liking.opened() as app:
        for name in ("plain", "unknown"):
            with pytest.raises(UsageError):
                words_of_topic(app.runtime, name)
            with pytest.raises(UsageError):
                relearn(app.runtime, name)
    with pytest.raises(UsageError, match="20,000"):
        like_of("agent " * 4_000)


def test_near_topics_have_their_query_and_are_ten_at_most(liking: House):
    like = {"text": TEXT, "at_least": 0.3}
    liking.settings["topics"] = {
        "with": {"query": "pages", "like": like},
        "without": {"query": "robots", "like": like},
        "elsewhere": {"query": "source:other", "like": like},
        "reached": {"like": {"text": TEXT, "at_least": 0.2}},
        "far": {"like": {"text": TEXT, "at_least": 0.9}},
    }
    liking.ingest(NEARLY)
    with liking.opened() as app:
        found = explain(app.runtime, NEARLY[0])
        assert [near.topic for near in found.near] == ["with"]
        assert [matched.topic for matched in found.topics] == ["reached"]
    liking.settings["topics"] = {
        f"at-{n}": {"like": {"text": TEXT, "at_least": 0.26 + n / 1_000}} for n in range(12)
    }
    liking.ingest()
    with liking.opened() as app:
        near = explain(app.runtime, NEARLY[0]).near
    assert [one.topic for one in near] == [f"at-{n}" for n in range(10)]
    assert {one.score for one in near} == {near[0].score} and near[0].score < 0.26


def test_check_names_texts_that_no_stored_paper_is_near_to(liking: House):
    liking.settings["topics"] = {
        "unknown": {"like": "zyzzyva quokkas and wombats"},
        "high": {"like": {"text": TEXT, "at_least": 0.99}},
        "found": {"like": TEXT},
        "excluded": {"query": "regret", "like": TEXT},
    }
    liking.ingest(WEB, *[(f"Bandits {n}", f"Bandit {n} of the regret.") for n in range(98)])
    assert topic_warnings(load_settings(liking.write())) == [], "99 papers say little"
    liking.ingest(NEARLY)
    warnings = {one.where: one.message for one in topic_warnings(load_settings(liking.write()))}
    none = "like: none of the newest 100 papers"
    assert set(warnings) == {"topics.unknown", "topics.high"}
    unknown = warnings["topics.unknown"]
    assert unknown.startswith(f"{none} has any of its words (") and "quokkas" in unknown
    high = warnings["topics.high"]
    assert high.startswith(f"{none} reaches its bar of 0.99; the nearest paper scores 0.")


def test_status_names_the_examples_that_were_missing_until_they_are_learned(liking: House):
    ids = [f"arxiv:2307.1385{n}" for n in range(5)]
    (liking.folder / "refs.bib").write_text("@article{a, title={Agents in the")
    liking.settings["topics"] |= {
        "browsing": {"like": {"text": TEXT, "papers": ids}},
        "cut": {"like": {"text": TEXT, "file": "refs.bib"}},
        "none": {"like": {"papers": ["doi:10.5555/none"]}},
    }
    liking.ingest(WEB)
    with liking.opened() as app:
        report = status(app.runtime)
        browsing, cut = report.warnings
        assert browsing == (
            f"topic browsing was learned without {', '.join(ids[:3])}, "
            "2 more examples; once readable, run "
            "`paper-monitor topics relearn browsing`"
        )
        assert cut.startswith("topic cut was learned without refs.bib; once readable, run ")
        [parked] = [one.text for one in report.problems if "parked" in one.text]
        assert (
            parked == "topic none is parked: like: has none of its examples yet: doi:10.5555/none"
        )
    (liking.folder / "refs.bib").write_text("@article{a, title={Agents in the Web}}")
    with liking.opened() as app:
        relearn(app.runtime, "cut")
        assert len(status(app.runtime).warnings) == 1
