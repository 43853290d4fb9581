"""Files among the dumps that are no lists of papers, and lists that look a little like them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from monitor.resources import resource
from monitor.sources.huggingface_page.source import HuggingFacePage
from tests.sources import scenario

read = partial(scenario.read, HuggingFacePage)

LOGIN = """
Models
Datasets
Pricing

Log In

Don't have an account? Sign Up

Username or Email address
Password

Forgot your password?
Log In
"""
LOGIN_WITH_TEXTS = """
Sign in to continue

You need to be logged in to view this page. Please enter your user name and your password below, or
create a new account if you do not have one yet.

Username or Email address

By signing in you agree to the terms of service and to the privacy policy of this site. We never
share your address with others, and you may delete your account at any time.
"""
REFUSAL = """
429 Too Many Requests

We have detected unusual traffic from your network. Please wait a few minutes before you try again,
or log in to get a higher limit.
"""
README = """
# Dumps

This folder holds the daily dumps of the Hugging Face papers page. They are copied by a cron job on
the server of the lab each morning at 7.

## Naming

Each file is named by its date, as in 2026-11-21.txt. Do not rename the files, since the monitor
reads each file once by its content, and keep the extension.

## Contact

Ask Ada if something is missing or the job has failed. She knows how to start it again.
"""
NOTES = """
Meeting on the next release

We talked about the plan for the next release. Everybody agrees that we first need better tests, and
that the docs come after. Bob will look at the flaky runs until Friday.

Next steps

Carol writes the outline, and sends it to everybody before the weekend so that we can discuss it on
Monday.
"""
SEEDS = sorted(resource("seeds").glob("*.txt"))
TITLES = ("Language Agents that Plan Together", "Safe Exploration in Contextual Bandits")
SENTENCE = (
    "We train agents that share their plans in writing, and need half as many steps as before. "
)


@pytest.mark.parametrize("text", [LOGIN, LOGIN_WITH_TEXTS, REFUSAL])
def test_a_login_page_is_named_as_one(text: str) -> None:
    reading = read(text)
    assert "it looks like a login page (line " in (reading.doubt or reading.error)
    assert bool(reading.papers) == bool(reading.doubt)


@pytest.mark.parametrize("text", [README, NOTES])
def test_a_readme_and_notes_are_doubted(text: str) -> None:
    reading = read(text)
    assert reading.papers
    assert reading.doubt.startswith("it does not look like a list of papers: ")


@pytest.mark.parametrize("seed", SEEDS, ids=lambda file: file.name)
def test_no_seed_is_doubted_nor_what_is_left_of_one(seed: Path) -> None:
    text = seed.read_text("utf-8")
    assert read(text).doubt == ""
    lines = text.splitlines(keepends=True)
    for count in range(20, len(lines), 40):
        assert read("".join(lines[:count])).doubt == ""
        assert read("".join(lines[count:])).doubt == ""  # without its header


@pytest.mark.parametrize("length", [1, 3, 12])
def test_a_dated_list_of_short_abstracts_is_taken_and_any_of_long_ones(length: int) -> None:
    texts = "".join(f"\n{title}\n\n{SENTENCE * length}\n" for title in TITLES)
    header = "byAK and the research community\n\nMar 12\n"
    assert read(header + texts).doubt == ""
    assert bool(read(texts).doubt) == (length < 3)


def test_a_login_form_on_a_page_with_papers_is_no_reason() -> None:
    card = f"[Agents that Plan](https://huggingface.co/papers/2410.05434)\n\n{SENTENCE}\n"
    assert read(f"Log In\n\n{card}\nForgot your password?\n").doubt == ""
