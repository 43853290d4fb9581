"""What a person reads: sentences and tables, a row a line, in words that stay."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from monitor.channels.slack.channel import Slack
from monitor.cli.start import play
from tests.cli.conftest import SUNDAY, Say
from tests.house import AGENTS, FOLDING, House
from tests.servers.slack import SlackServer

# What is new on each day of the demo.
DAYS = {18: 56, 19: 36, 20: 59, 21: 78}
TEAMS = ("rl-team", "agents-team", "reading-group", "four-questions")


def rows(text: str) -> list[list[str]]:
    """The cells of the tables, which are three spaces or more apart."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" ─")]
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in lines]


def test_the_demo_plays_four_days_up_to_today_and_says_what_to_open(house: House, say: Say):
    result = say("demo", "play", "--now", "2026-11-21T09:00")
    lines = rows(result.out)
    assert lines[:9] == [
        ["File", "Seen", "New", "Known"],
        ["references.bib", "5", "0", "5"],
        ["arxiv.jsonl", "221", "0", "221"],
        ["000_431663cd178f853b.txt", "56", "56", "0"],
        ["001_0b67f54c6cf6f434.txt", "52", "36", "16"],
        ["002_1f7771af08c670a8.txt", "75", "59", "16"],
        ["003_829512b3035214d2.txt", "115", "78", "37"],
        ["notice.json", "1", "0", "1"],
        ["Subscription", "News", "Page"],
    ]
    digests = [
        [subscription, f"{papers} papers", f"pages/{subscription}/2026-11-{day}.html"]
        for day, counts in {
            18: (18, 17, 9, 49),
            19: (7, 7, 6, 24),
            20: (20, 25, 12, 48),
            21: (17, 24, 6, 71),
        }.items()
        for subscription, papers in zip(TEAMS, counts, strict=True)
    ]
    digests[-3][1] += ", 1 change of references"
    assert lines[9:] == [
        *digests,
        ["Open this page in a browser:"],
        [str(house.folder / "play/pages/index.html")],
        ["or run `paper-monitor serve` there and open the address that it prints."],
    ]
    assert result.status == 0
    assert result.err.splitlines() == [
        "The demo in play/ plays a day for each of its sample dumps.",
        *(f"{day} Nov: {new} new papers, 4 digests" for day, new in DAYS.items()),
    ]
    again = rows(say("demo", "play", "--now", "2026-11-21T10:00").out)
    assert (again[0], len(again)) == (["No new papers: all 229 were read before."], 4)
    document = say("demo", "other", "--now", "2026-11-21T09:00", "--json").json
    assert (document["papers"], document["new"]) == (229, 229)
    for digest in document["digests"]:
        page = Path(digest.pop("path")).relative_to(house.folder / "other")
        of = digest.pop("subscription")
        papers = f"{digest.pop('papers')} papers"
        assert any(of == a and b.startswith(papers) and str(page) == c for a, b, c in digests)
        assert digest == {}


def test_the_demo_reports_each_day_when_it_is_over(tmp_path: Path):
    """Its digests are written by then, and those of the next day are not."""
    written = list[set[str]]()

    def look(*_: object) -> None:
        written.append({page.stem[-2:] for page in tmp_path.glob("pages/rl-team/2026-*.html")})

    play(tmp_path, datetime(2026, 11, 21, 9, tzinfo=UTC), on_day=look)
    assert written == [{"18"}, {"18", "19"}, {"18", "19", "20"}, {"18", "19", "20", "21"}]


def test_the_demo_marks_papers_of_a_library_and_says_which_is_retracted(house: House, say: Say):
    say("demo", "play", "--now", "2026-11-21T09:00")
    pages = house.folder / "play/pages"
    days = [(pages / f"agents-team/2026-11-{day}.html").read_text("utf-8") for day in range(18, 22)]
    assert [page.count("in your library") for page in days] == [2, 0, 1, 0]
    retracted = "Retracted by Example Journal of Machine Learning on 13 May 2024."
    assert [retracted in page for page in days] == [False, False, False, True]
    assert "61 of its 120 test tasks" in days[-1]
    assert "entry okafor2023replay of references.bib" in days[-1]
    others = (pages / f"{team}/2026-11-21.html" for team in TEAMS if team != "agents-team")
    assert not any("10.5555" in page.read_text("utf-8") for page in others)
    # One source has all news, so no paper says where it is from.
    assert not any("· Daily papers ·" in page for page in days)


def test_titles_in_the_demo_lead_to_arxiv_and_few_to_a_search(house: House, say: Say):
    say("demo", "play", "--now", "2026-11-21T09:00")
    pages = [page.read_text("utf-8") for page in (house.folder / "play/pages").glob("*/*.html")]
    links = [
        urlsplit(link) for page in pages for link in re.findall('href="(https://[^"]+)"', page)
    ]
    listed = (house.folder / "play/arxiv.jsonl").read_text("utf-8")
    searched = [parse_qs(link.query)["q"][0] for link in links if link.path == "/papers"]
    assert len(searched) == 14
    assert [title for title in searched if title in listed] == []
    assert sum(link.path.startswith("/abs/") for link in links) > 300
    assert any("Shuyan Zhou" in page and "25 Jul 2023" in page for page in pages)


@pytest.mark.parametrize("now", ["2026-11-21T09:00", "2026-11-21T00:10"])
def test_nothing_in_the_demo_is_of_the_future_and_a_topic_is_rated(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch, now: str
):
    say("demo", "play", "--now", now)
    monkeypatch.chdir(house.folder / "play")
    checked = say("check")
    assert (checked.status, checked.err) == (0, "")
    sent = say("deliveries", "--json").json["deliveries"]
    assert Counter(delivery["period"] for delivery in sent) == {
        f"2026-11-{day}": len(TEAMS) for day in (18, 19, 20, 21)
    }
    page = Path("pages/agents-team/2026-11-21.html").read_text(encoding="utf-8")
    assert "Ordered by" in page and set(re.findall(r"listed \d+ (\w+)", page)) == {"Nov"}
    assert "listed 21 Nov" in page


def test_the_demo_rates_nothing_again_that_was_taken_back(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch
):
    say("demo", "play", "--now", "2026-11-21T09:00")
    monkeypatch.chdir(house.folder / "play")
    title = "Learning to Navigate the Web"
    assert say("papers", "rate", title, "none").status == 0
    say("demo", ".", "--now", "2026-11-21T10:00")
    assert title not in say("papers", "rated").out


def test_a_row_is_a_line_however_long_and_markup_in_it_is_text(house: House, say: Say):
    title = (
        "The [bold]Agents[/bold] :fire: of [/] Language [link=x]Models[/link]" + " and More" * 15
    )
    house.add(
        "a-name-of-a-dump-that-is-longer-than-any-terminal-would-be.txt",
        (title, "We study language and agents in [red]brackets[/red] of all kinds."),
    )
    assert rows(say("ingest").out)[1][1].endswith("would-be.txt")
    assert rows(say("papers").out)[1][2] == title
    for line in ("topics try language", "explain 1"):
        assert title in " ".join(say(*line.split()).out.split())


def test_what_is_empty_says_so(house: House, say: Say):
    for store in ("missing", "empty"):
        tried = say("topics", "try", "agents")
        assert (tried.status, tried.err) == (0, ""), store
        assert tried.out.startswith("agents matches 0 papers.\n")
        assert "! the store is empty; run `paper-monitor run` to read the sources" in tried.out
        assert say("digest").out == "Nothing is due, and no papers are waiting.\n"
    assert say("papers").out == "0 papers.\n"
    assert say("deliveries").out == "No deliveries yet.\n"
    house.settings |= {"sources": {}, "subscriptions": {}}
    assert say("ingest").out == "There are no sources yet.\n"
    assert say("send-test").out == "There are no recipients.\n"
    assert "There are no sources yet.\nThere are no subscriptions yet.\n" in say("status").out


def test_a_rehearsal_shows_its_pages_and_says_that_nothing_was_sent(lived: House, say: Say):
    lived.ingest(AGENTS, FOLDING, ("Agents of Language", "A language for agents."))
    for line, expected in {
        "digest lab --early --dry-run": "2026-11-22T09:00",
        "preview lab --no-open": "2026-11-23",
    }.items():
        result = say(*line.split(), "--now", "2026-11-22T09:00").out
        head, [name, period, news, page], end = rows(result)
        assert head == ["Subscription", "Period", "News", "Page"]
        assert (name, period, news) == ("lab", expected, "1 paper")
        assert '"subscription": "lab"' in Path(page).read_text("utf-8")
        assert end == ["Nothing was sent."]


def test_papers_are_counted_and_cut_at_the_limit(lived: House, say: Say):
    assert say("papers").out.splitlines()[-1] == "2 papers."
    assert say("papers", "language agents").out.splitlines()[-1] == "1 paper."
    cut = say("papers", "--limit", "1").out.splitlines()[-1]
    assert cut == "The newest 1; use --limit to see more."
    assert len(say("papers", "--json", "--limit", "1").json["papers"]) == 1


def test_explain_tells_the_whole_story(lived: House, say: Say):
    result = rows(say("explain", "Teaching language agents to plan together").out)
    assert result[0] == ["Teaching Language Agents to Plan Together"]
    assert [row[0] for row in result[1:]] == ["Paper", "Source", "News", "Topic", "Digest"]
    assert result[-1] == ["Digest", "lab, 2026-11-21, 1st in its topic"]


def test_what_waits_is_listed_with_its_time_and_how_to_send_it_now(house: House, say: Say):
    house.settings["subscriptions"]["lab"]["timezone"] = "Europe/Berlin"
    house.add("1.txt", AGENTS)
    for line in ("run", "digest", "digest lab"):
        result = say(*line.split(), "--now", "2026-11-22T09:00").out
        assert result.endswith(
            "Nothing is due.\n"
            "lab: 1 paper waits. Next digest: Mon 23 Nov 08:00 (Berlin). "
            "Send now: paper-monitor digest --early lab\n"
        )
    lab = house.settings["subscriptions"]["lab"]
    paused = lab | {"pause_until": "2026-12-01"}
    house.settings["subscriptions"] = {"the lab": lab, "away": paused}
    house.add("2.txt", ("Agents of Language", "A language that agents may speak."))
    say("status")
    Path("other.yaml").write_bytes(house.config.read_bytes())
    result = say("run", "--config", "other.yaml", "--now", "2026-11-22T09:00").out
    assert result.endswith(
        "the lab: 2 papers wait. Next digest: Mon 23 Nov 08:00 (Berlin). "
        "Send now: paper-monitor digest --early 'the lab' --config other.yaml\n"
        "away: 2 papers wait. Next digest: paused until 1 Dec 2026, "
        "then Tue 1 Dec 08:00 (Berlin).\n"
    )


def test_a_row_has_its_times_in_one_zone(lived: House, say: Say):
    lived.settings["subscriptions"]["lab"] |= {"timezone": "Asia/Tokyo", "schedule": "daily 07:00"}
    result = rows(say("status", "--now", SUNDAY).out)
    assert [row[1] for row in result if row[0] == "lab"] == ["due since Sun 22 Nov 07:00 (Tokyo)"]


def test_shells_complete_commands(house: House):
    asked = {"COMP_WORDS": "paper-monitor st", "COMP_CWORD": "1"}
    said = house.command(env={"_PAPER_MONITOR_COMPLETE": "complete_bash", **asked})
    assert said.out.split() == ["status"]


def test_parts_of_a_digest_that_fared_alike_are_one_row(
    house: House, say: Say, slack: SlackServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Slack, "min_interval", 0)
    house.by_slack(slack)
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    words = [f"{first}a{second}ol" for first in "bdgklm" for second in "fnprst"]
    house.add("1.txt", *((f"{word} Language Agents", f"We {word} agents.") for word in words))
    shown = rows(say("run", "--now", SUNDAY).out)
    parts = len(house.states())
    assert parts > 1
    assert [row[-1] for row in shown if row[0] == "lab"] == [f"sent, {parts} parts"]
