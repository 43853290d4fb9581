"""Previews of digests, which the store never records, and test messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rich.text import Text

from monitor.cli.opening import open_configured, open_or_empty
from monitor.cli.options import Call, argument, finish, flag, option
from monitor.cli.rehearsals import (
    FORMS,
    has_messages,
    page_of,
    show_messages,
    show_rehearsals,
    write_digests,
    write_samples,
)
from monitor.cli.terminal import console, open_pages, print_error, show_table, stderr
from monitor.cli.work import GOOD_STATES
from monitor.commands.remedies import send_tests
from monitor.commands.suppressions import describe_stopped
from monitor.config import load
from monitor.digest.paper_json import pick
from monitor.log import set_up_logging
from monitor.model import Delivery, DeliveryState
from monitor.pipeline.flow import DigestReport
from monitor.pipeline.runtime import Runtime
from monitor.store.engine.opening import is_there


def preview(
    call: Call,
    subscription: str = argument("SUBSCRIPTION", default=""),
    period: str = option("--period", "PERIOD", "A past digest instead of the next one."),
    channel: str = option(
        "--channel",
        f"{'|'.join(FORMS)}|NAME",
        "The form in which to write it (default: page), or a channel whose messages to print.",
        "page",
    ),
    browser: bool = flag("--open/--no-open", "Open the page in a browser.", default=True),
) -> None:
    with open_configured(call, create=False) as app:
        written = write_digests(app.runtime, subscription, period, channel)
        is_printed = has_messages(app.runtime, channel)
    show = show_messages if is_printed else show_rehearsals
    _answer(call, written, browser and not is_printed, show)


def templates_preview(
    call: Call,
    browser: bool = flag("--open/--no-open", "Open the pages in a browser.", default=True),
) -> None:
    set_up_logging()
    _answer(call, write_samples(load(call.config).templates, call.now), browser)


def _answer(
    call: Call,
    written: Sequence[DigestReport],
    browser: bool,
    show: Callable[[Sequence[DigestReport]], None] = show_rehearsals,
) -> None:
    fields = "subscription period papers changes"
    digests = [pick(digest, fields) | {"path": page_of(digest)} for digest in written]
    call.answer({"digests": digests}, show, written)
    if browser and not call.as_json:
        open_pages(map(page_of, written))


def send_test(call: Call, names: list[str] | None = argument("SUBSCRIPTION", default=None)) -> None:
    with open_or_empty(call) as app:
        tests = send_tests(app.runtime, names or ())
        listed = [pick(test, "subscription channel recipient state error") for test in tests]
        is_recorded = is_there(app.settings.store)
        named = app.runtime.subscriptions_named(names or ())
        stopped = dict.fromkeys(
            text for one in named for text in describe_stopped(app.runtime, subscription=one.name)
        )
        call.answer({"deliveries": listed}, _show_tests, app.runtime, tests, is_recorded, stopped)
    are_all_stopped = bool(stopped) and not tests
    finish(not are_all_stopped and all(test.state in GOOD_STATES for test in tests))


def _show_tests(
    runtime: Runtime, tests: Sequence[Delivery], is_recorded: bool, stopped: Collection[str]
) -> None:
    rows = [(test.subscription, test.channel, test.recipient, test.state) for test in tests]
    columns = ("Subscription", "Channel", "Recipient", "State")
    none = "All recipients are stopped." if stopped else "There are no recipients."
    show_table(columns, rows, none)
    for text in stopped:
        stderr.print(f"{text}.")
    for channel in dict.fromkeys(test.channel for test in tests):
        for step in runtime.channels[channel].steps():
            outcome = Text("failed", "bold red") if step.problem else Text("ok", "green")
            console.print(Text(f"{channel}: {step.name}:"), outcome)
    for channel, error in dict.fromkeys((test.channel, test.error) for test in tests):
        print_error(channel, error)
    if any(test.state is DeliveryState.FAILED for test in tests):
        stderr.print("A test is tried once: nothing is sent later. Try again with `send-test`.")
    if not is_recorded and not all(test.state in GOOD_STATES for test in tests):
        stderr.print("There is no store yet, so this test is not recorded.")
