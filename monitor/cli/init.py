"""`init`: the commented monitor.yaml, with what every newcomer would write into it first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote as quoted
from typing import Any

import typer

from monitor.channels.email.server_url import read_server_url
from monitor.cli.options import AsJson, Call, full_command, option
from monitor.cli.terminal import print_faults
from monitor.commands.first_start import write_configuration
from monitor.config.files import NAME, unset
from monitor.config.messages import pointed
from monitor.config.starter_parts import SUBSCRIPTION, StarterParts, faults_in, starter
from monitor.digest.wording import format_count
from monitor.errors import QueryError, UsageError
from monitor.match import meant_by, parse_query
from monitor.match.language.tokens import tokens
from monitor.match.language.tree import leaves
from monitor.sources.feed.opml import read_opml
from monitor.sources.xml_records import XmlError
from monitor.text.new_names import NewNames

# Python's form of bytes in an argument that are not UTF-8 (PEP 383).
_BYTES = re.compile("[\udc80-\udcff]")
# The options by the settings that they are written into.
_OPTIONS = {
    "topics": "--topic or --like",
    f"subscriptions.{SUBSCRIPTION}.email": "--email",
    f"subscriptions.{SUBSCRIPTION}.schedule": "--schedule",
    "smtp": "--smtp",
    "sources": "--opml",
}


def init(
    directory: Path = typer.Argument(Path(), metavar="DIR"),
    topic: list[str] | None = option(
        "--topic", "QUERY", "Find papers of this query, not those of the examples.", default=None
    ),
    like: list[str] | None = option(
        "--like", "SENTENCE", "Find papers that are near to this sentence.", default=None
    ),
    email: list[str] | None = option(
        "--email", "ADDRESS", "Send the digests to this address; needs --smtp.", default=None
    ),
    smtp: str = option(
        "--smtp",
        "SERVER",
        "The mail server: a name, or an address as smtps://ada@smtp.example.org.",
    ),
    slack_webhook: str = option(
        "--slack-webhook",
        "VARIABLE",
        "Send them to the incoming webhook of Slack in this environment variable.",
    ),
    schedule: str = option("--schedule", "WHEN", "Send them then, such as weekdays 08:00."),
    opml: Path | None = option(
        "--opml", "FILE", "Add the feeds of this file, which feed readers export.", default=None
    ),
    as_json: AsJson = False,
) -> None:
    target = directory / "monitor.yaml"
    if target.exists():
        raise UsageError(f"{target} already exists", "it is left unchanged; choose another folder")
    if email and not smtp:
        hint = (
            "as in --smtp smtps://ada@smtp.example.org; the settings of your mail program name it"
        )
        raise UsageError("--email needs --smtp, the server that sends your mail", hint)
    if smtp and not email:
        raise UsageError("--smtp needs --email, the address that the digests go to")
    for text in (*(topic or ()), *(like or ()), *(email or ()), smtp, slack_webhook, schedule):
        if _BYTES.search(text):
            raise UsageError(f"{text!r} is not a text in UTF-8, as files of settings are")
    names = NewNames()
    parts = StarterParts(
        sources=_read_opml(opml) if opml else {},
        topics=_name_topics(topic or (), names),
        likes={
            names.make_for_topic(one): " ".join(one.split()) for one in dict.fromkeys(like or ())
        },
        email=tuple(email or ()),
        smtp=_read_server(smtp) if smtp else {},
        slack_webhook=_read_variable(slack_webhook),
        schedule=schedule,
    )
    text = starter(parts)
    faults, warnings = faults_in(text, target, parts.variables)
    # The sender is made of the address or the account: of two faults, theirs is the one to show.
    shown = [fault for fault in faults if fault.where != "smtp.from"] or faults
    if shown:
        raise UsageError("\n".join(f"{_option(fault.where)}{fault.message}" for fault in shown))
    write_configuration(target, text)
    print_faults(warnings, "bold yellow")
    missing = unset(parts.variables)
    steps = list(_next_steps(parts, missing, target))
    added = (("feed", parts.sources), ("topic", {**parts.topics, **parts.likes}))
    counts = " and ".join(format_count(len(entries), unit) for unit, entries in added if entries)
    wrote = f"Wrote {target}{f', with {counts}' if counts else ''}. Then:"
    width = max(len(command) for command, _ in steps)
    lines = [f"  {command:{width}}  # {purpose}" for command, purpose in steps]
    document = {
        **_written(target, parts),
        "unset": missing,
        "next": [command for command, _ in steps],
    }
    Call(as_json=as_json).answer(document, "\n".join((wrote, *lines)))


def _option(where: str) -> str:
    named = (option for place, option in _OPTIONS.items() if f"{where}.".startswith(f"{place}."))
    option = next(named, "")
    return f"{option}: " if option else ""


def _name_topics(queries: Sequence[str], names: NewNames) -> dict[str, str]:
    """Return queries by names that are made of their words. Raises UsageError.

    A sentence is refused, too: it would be accepted, and find hardly any paper.
    """
    named = dict[str, str]()
    for query in dict.fromkeys(queries):
        try:
            parsed = parse_query(query)
        except QueryError as fault:
            raise UsageError(f"--topic: {pointed(query, fault)}") from None
        if meant_by(query):
            doubts = "\n".join(pointed(query, warning) for warning in parsed.warnings)
            raise UsageError(f"--topic: {doubts}", f"or write --like {quoted(query)}")
        wanted = {leaf.position for leaf in leaves(parsed.root)}
        texts = (token.text for token in tokens(query) if token.position in wanted)
        named[names.make_for_topic(" ".join(texts))] = query
    return named


def _read_server(server: str) -> dict[str, str]:
    try:
        return read_server_url(server)
    except ValueError as fault:
        raise UsageError(f"--smtp: {fault}") from None


def _read_variable(name: str) -> str:
    """Return the name of a variable. Raises UsageError, which does not show another value."""
    if name and not NAME.fullmatch(name):
        raise UsageError(
            "--slack-webhook takes the name of an environment variable, since the address of a "
            "webhook is a secret",
            "put it there with `read -rs SLACK_WEBHOOK && export SLACK_WEBHOOK`, and write "
            "--slack-webhook SLACK_WEBHOOK",
        )
    return name


def _read_opml(file: Path) -> dict[str, dict[str, Any]]:
    """Return the sources that a file of feeds lists. Raises UsageError."""
    try:
        sources = read_opml(file.read_bytes())
    except OSError as fault:
        raise UsageError(f"cannot read {file}: {fault.strerror}") from fault
    except XmlError as fault:
        raise UsageError(f"{file} is not OPML: {fault}") from fault
    if not sources:
        raise UsageError(f"{file} lists no feeds", "export the list of your feeds as OPML")
    return sources


def _next_steps(
    parts: StarterParts, missing: Iterable[str], target: Path
) -> Iterator[tuple[str, str]]:
    """Yield the commands from here to digests on schedule, each with its purpose."""
    for variable in missing:
        value = "address of the webhook"
        if variable != parts.slack_webhook:
            value = f"password of {parts.smtp['username']}"
        yield f"read -rs {variable} && export {variable}", f"paste the {value}: it is not shown"
    yield full_command("run", target), "read the sources"
    yield full_command(f"digest --early {SUBSCRIPTION}", target), "send a digest now"
    yield full_command("serve", target), "read and send on schedule"


def _written(target: Path, parts: StarterParts) -> dict[str, Any]:
    """Return the JSON of what was written: the path, and each part that was put in."""
    named = {
        "sources": [*parts.sources],
        "topics": [
            *({"name": name, "query": query} for name, query in parts.topics.items()),
            *({"name": name, "like": text} for name, text in parts.likes.items()),
        ],
        "email": [*parts.email],
        "smtp": dict(parts.smtp),
        "slack_webhook": parts.slack_webhook,
        "schedule": parts.schedule,
    }
    return {"path": str(target)} | {name: value for name, value in named.items() if value}
