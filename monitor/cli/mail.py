"""Sending mail: an account's login, and test messages by every channel."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from monitor.cli.opening import open_configured, open_or_empty
from monitor.cli.options import CONFIG, AsJson, Config, Now, answer, emit, finish
from monitor.cli.terminal import console, print_error, show_table, state_text
from monitor.commands.json_output import Answer, pick
from monitor.commands.mail_login import log_in
from monitor.commands.send_test import SentTest
from monitor.commands.send_test import send_test as send


def mail_login(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    def say(text: str) -> None:
        typer.echo(text, err=as_json)

    def ask(question: str) -> str:
        return str(typer.prompt(question, err=as_json))

    with open_configured(config, now) as app:
        missing = log_in(app.runtime, say, ask)
    if as_json:
        emit({"ok": not missing, "missing": missing or None})
    else:
        typer.echo(f"Still missing: {missing}" if missing else "The mail server accepts the login.")
    finish(not missing)


def send_test(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="SUBSCRIPTION", show_default=False)
    ] = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_or_empty(config, now) as app:
        tests = send(app.runtime, names or ())
    answer(as_json, _json, _show, tests)
    finish(all(test.state == "sent" for test in tests))


def _json(tests: list[SentTest]) -> Answer:
    names = "subscription channel recipient state error"
    return {"deliveries": [pick(test, names) for test in tests]}


def _show(tests: list[SentTest]) -> None:
    if not tests:
        console.print("There are no recipients.")
        return
    show_table(
        ("Subscription", "Channel", "Recipient", "State"),
        [(t.subscription, t.channel, t.recipient, state_text(t.state)) for t in tests],
    )
    for channel, steps in dict.fromkeys((test.channel, test.steps) for test in tests):
        for step in steps:
            outcome = Text("failed", "bold red") if step.problem else Text("ok", "green")
            console.print(f"{escape(channel)}: {step.name}:", outcome)
    for channel, error in dict.fromkeys((test.channel, test.error) for test in tests):
        print_error(channel, error)
