"""The commented monitor.yaml of `init`: one template, with parts in place of its examples."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monitor.config.files import read_text
from monitor.config.validate import build
from monitor.config.yaml_positions import on_one_line, quote_yaml
from monitor.errors import Fault
from monitor.resources import resource
from monitor.setting_types import literal

# The subscription of the template.
SUBSCRIPTION = "me"
# The channel for `slack_webhook`.
SLACK = "slack"
_RULE = "\n# ──"
# Stands for the value of a variable while a file is checked that is not written yet.
_UNREAD = "https://hooks.slack.com/services/unread"


@dataclass(frozen=True, slots=True)
class StarterParts:
    """Parts of a starter; what is empty leaves the example. All are valid, or `faults_in` says not.

    `sources` are settings by name, with variables escaped; `topics` are queries by name, `likes`
    sentences; `smtp` has settings without a password, which `password_variable` holds if there is a
    `username`; `slack_webhook` is the name of a variable, too.
    """

    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)
    likes: Mapping[str, str] = field(default_factory=dict)
    email: tuple[str, ...] = ()
    smtp: Mapping[str, str] = field(default_factory=dict)
    slack_webhook: str = ""
    schedule: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that the file reads."""
        password = "SMTP_PASSWORD" if "username" in self.smtp else ""
        return tuple(filter(None, (password, self.slack_webhook)))


def starter(parts: StarterParts | None = None) -> str:
    """Return a commented monitor.yaml that works as it is, once its variables are set."""
    text = (resource("templates") / "starter" / "monitor.yaml").read_text(encoding="utf-8")
    if parts is None:
        return text
    if parts.sources:
        text = _with_sources(text, parts.sources)
    if parts.topics or parts.likes:
        text = _with_topics(text, parts.topics, parts.likes)
    if parts.slack_webhook:
        channel = f'  {SLACK}:\n    kind: slack\n    webhook: "${{{parts.slack_webhook}}}"\n\n'
        text = _put(text, "  # lab-slack:\n", f"{channel}  # lab-slack:\n")
        text = _put(text, "    channels: [pages]\n", f"    channels: [pages, {SLACK}]\n")
    if parts.schedule:
        example = "    schedule: daily 08:00"
        written = f"    schedule: {on_one_line(literal(parts.schedule))}"
        text = _put(text, f"{example:33} #", f"{written:33} #")
    if parts.email:
        addresses = [literal(address) for address in parts.email]
        written = f"    email: {on_one_line(addresses if len(addresses) > 1 else addresses[0])}\n"
        example = "    # email: ada@example.org      # needs smtp: below\n"
        text = _put(text, example, written)
    if parts.smtp:
        text = _with_smtp(text, parts)
    return text


def faults_in(
    text: str, file: Path, variables: Collection[str]
) -> tuple[tuple[Fault, ...], tuple[Fault, ...]]:
    """Return the faults and the warnings of a text that is about to be written into a file.

    The `variables` count as set, and all others as not.
    """
    written = read_text(text, file, dict.fromkeys(variables, _UNREAD))
    settings = build(written)
    return tuple(written.faults), settings.warnings if settings else ()


def _put(text: str, example: str, part: str) -> str:
    """Replace an example of the template."""
    before, found, after = text.partition(example)
    assert found, f"the starter has no line {example!r}"
    return f"{before}{part}{after}"


def _with_sources(text: str, sources: Mapping[str, Mapping[str, Any]]) -> str:
    """Put sources, one line each, in place of the one that the template begins with."""
    added = "".join(f"{name}: {on_one_line(source)}\n  " for name, source in sources.items())
    return _put(text, "\nsources:\n  ", f"\nsources:\n  {added}# ")


def _with_topics(text: str, topics: Mapping[str, str], likes: Mapping[str, str]) -> str:
    """Put topics in place of the examples, whose comments stay below the last."""
    before, found, rest = text.partition("\ntopics:\n")
    examples, rule, after = rest.partition(_RULE)
    assert found and rule, "the starter has no section of topics"
    comments = [line for line in examples.splitlines() if line.startswith("    #")]
    written = "\n".join(
        f"  {name}:\n    {setting}: {quote_yaml(literal(text))}\n"
        for setting, named in (("query", topics), ("like", likes))
        for name, text in named.items()
    )
    return f"{before}{found}{written}" + "\n".join(comments) + f"\n{rule}{after}"


def _with_smtp(text: str, parts: StarterParts) -> str:
    """Put the mail server in place of the example."""
    username = parts.smtp.get("username", "")
    address = username if "@" in username else parts.email[0]
    # A port is a text here, which would be quoted.
    lines = [
        f"  {name}: {value if value.isdecimal() else on_one_line(literal(value))}\n"
        for name, value in parts.smtp.items()
    ]
    if username:
        lines.append('  password: "${SMTP_PASSWORD}"   # from the environment\n')
    lines.append(f"  from: {on_one_line(literal(f'Papers <{address}>'))}\n")
    before, found, rest = text.partition("\n# smtp:\n")
    example, end, after = rest.partition("\n\n")
    assert found and end and example.startswith("#"), "the starter has no example of smtp:"
    return f"{before}\nsmtp:\n{''.join(lines)}\n{after}"
