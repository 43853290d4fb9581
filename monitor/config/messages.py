"""Faults in plain words: what a user wrote, what was wanted, the nearest right word."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from pydantic_core import ErrorDetails

from monitor.errors import QueryError

_EXCERPT = 60
_LISTED = 12


def nearest(word: str, words: Iterable[str], otherwise: str = "") -> str:
    """Return “; did you mean x?”, or else what there is to choose from."""
    choices = {choice.casefold(): choice for choice in words}
    close = difflib.get_close_matches(word.casefold(), choices, n=1, cutoff=0.6)
    if close:
        return f"; did you mean “{choices[close[0]]}”?"
    if otherwise:
        return f", {otherwise}"
    if 0 < len(choices) <= _LISTED:
        return f"; there are: {', '.join(choices.values())}"
    return ""


def sentence(error: ErrorDetails, written: str | None) -> str:
    """Say what a validator found, in the words of the file and not in those of a library.

    `written` is the value as the file has it, None when it is no text. It is shown only where a
    number, a date or one of a few words was wanted: such a setting holds no secret.
    """
    kind, context = error["type"], error.get("ctx") or {}
    if kind == "missing":
        return "is missing"
    if error["input"] is None:
        return "is empty"
    if kind == "value_error":
        return str(context["error"])
    if kind in _BOUNDS:
        return f"should be {context[_BOUNDS[kind][0]]} {_BOUNDS[kind][1]}, not “{written}”"
    if kind in ("literal_error", "enum"):
        return f"should be {context['expected'].replace(chr(39), '')}, not {_shown(error, written)}"
    for prefix, wanted in _WANTED.items():
        if kind.startswith(prefix):
            plain = wanted in (_LIST, _SETTINGS, _TEXT)
            return f"should be {wanted}, not {_shown(error, None if plain else written)}"
    return error["msg"].replace("Input", "it", 1)


def _shown(error: ErrorDetails, written: str | None) -> str:
    if written is not None:
        return f"“{written}”"
    if isinstance(error["input"], dict):
        return "a group of settings"
    return "a list" if isinstance(error["input"], list) else "a text"


_TEXT, _LIST, _SETTINGS = "a text", "a list", "settings (name: value)"
_WANTED: Mapping[str, str] = {
    "string": _TEXT,
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "date": "a date such as 2026-08-31",
    "time_delta": "a duration such as 6h",
    "tuple": _LIST,
    "list": _LIST,
    "path": _TEXT,
    "frozen_set": _LIST,
    "dict": _SETTINGS,
    "model": _SETTINGS,
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("ge", "or more"),
    "less_than_equal": ("le", "or less"),
}


class WrongQueryError(ValueError):
    """A query that is wrong; `lines` of it stand before the fault."""

    def __init__(self, query: str, fault: QueryError) -> None:
        super().__init__(pointed(query, fault))
        self.lines = query.count("\n", 0, fault.position)


def pointed(query: str, fault: QueryError) -> str:
    """Show a query with a caret under the place where it went wrong."""
    line = query.replace("\n", " ").replace("\t", " ")
    start = max(0, fault.position - _EXCERPT)
    before = line[start : fault.position]
    excerpt = before + line[fault.position : fault.position + _EXCERPT]
    caret = " " * sum(_width(character) for character in before) + "^"
    hint = f"\n    {fault.hint}" if fault.hint else ""
    return f"{fault.message}\n    {excerpt}\n    {caret}{hint}"


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# ── common mistakes, and the line to write instead ──────────────────────────────────

# Kinds of documents that one kind of source reads.
_KINDS = dict.fromkeys(("rss", "rss2", "atom", "rdf", "json-feed", "jsonfeed", "xml"), "feed")

_ZONES: Mapping[str, tuple[str, ...]] = {
    "Europe/Berlin": ("CEST", "MEZ", "MESZ"),
    "Europe/Lisbon": ("WEST",),
    "Europe/Helsinki": ("EEST",),
    "Europe/London": ("BST",),
    "Europe/Moscow": ("MSK",),
    "America/New_York": ("EDT", "ET"),
    "America/Chicago": ("CST", "CDT"),
    "America/Denver": ("MDT",),
    "America/Los_Angeles": ("PST", "PDT", "PT"),
    "Asia/Kolkata": ("IST",),
    "Asia/Singapore": ("SGT",),
    "Asia/Hong_Kong": ("HKT",),
    "Asia/Tokyo": ("JST",),
    "Asia/Seoul": ("KST",),
    "Australia/Sydney": ("AEST", "AEDT"),
    "Pacific/Auckland": ("NZST", "NZDT"),
}
_OFFSET = re.compile(r"(?:UTC|GMT)? ?([+-])0?(\d{1,2})(?::?00)?", re.IGNORECASE)

_TOKENS: Mapping[str, str] = {
    "xapp-": "an app-level token (xapp-)",
    "xoxe-": "a refresh token (xoxe-)",
    "https": "an address",
}
_WRITE_TOKEN = "write the Bot User OAuth Token, which begins with xoxb-"
_BOT = ("xoxb-", "xoxe.xoxb-")
_USER = ("xoxp-", "xoxe.xoxp-")


def suggest_kind(name: str) -> str:
    """Return the line to write for a kind of source that people name otherwise, or ""."""
    known = _KINDS.get(name.casefold())
    return f"write kind: {known}, which reads RSS, Atom, RDF and JSON feeds" if known else ""


def suggest_zone(name: str) -> str:
    """Return the line to write for an abbreviation or an offset, or ""."""
    abbreviation = name.strip().upper()
    for city, abbreviations in _ZONES.items():
        if abbreviation in abbreviations:
            return f"write timezone: {city}, or another city of your zone"
    offset = _OFFSET.fullmatch(name.strip())
    if not offset or int(offset[2]) > 12:
        return ""
    # POSIX counts from the other side: Etc/GMT-2 is two hours ahead of Greenwich.
    sign = "-" if offset[1] == "+" else "+"
    return (
        f"write timezone: Etc/GMT{sign}{offset[2]}, or a city such as Europe/Berlin "
        "to follow its summer time"
    )


def suggest_entry(section: str, name: str, raw: object) -> str:
    """Return what to write for a topic that is not settings: its words alone."""
    if section != "topics":
        return ""
    if isinstance(raw, str) and "\n" not in raw:
        return f"; write {name}: {{query: {_quote(raw)}}}"
    if isinstance(raw, list) and raw and all(isinstance(item, str) for item in raw):
        return f"; write {name}: {{any: [{', '.join(map(_quote, raw))}]}}"
    return ""


def suggest_entries(section: str, raw: object) -> str:
    """Return what to write for topics that are a list of words, or one word."""
    words = [raw] if isinstance(raw, str) else raw
    if section != "topics" or not isinstance(words, list) or not words:
        return ""
    if not all(isinstance(word, str) and "\n" not in word for word in words):
        return ""
    named = (f"{_name(word)}: {{query: {_quote(word)}}}" for word in words)
    return f"; write {section}: {{{', '.join(named)}}}"


def _quote(text: str) -> str:
    """Write a text in YAML's single quotes."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _name(query: str) -> str:
    return "-".join(re.findall(r"\w+", query.lower())) or "topic"


def suggest_host(text: str) -> str:
    """Return what to write for the address or host:port that should be a host's name, or "".

    A password in it is never shown.
    """
    if "://" in text:
        try:
            parts = urlsplit(text)
            name, port = parts.hostname, parts.port
        except ValueError:
            return "write only the host name, as in host: smtp.example.org"
        lines = [f"host: {name or 'smtp.example.org'}", *([f"port: {port}"] if port else [])]
        if parts.scheme in ("smtps", "ssl", "tls"):
            lines.append("tls: implicit")
        return f"write {', '.join(lines)}"
    name, colon, number = text.partition(":")
    if colon and number.isdecimal():
        return f"write host: {name}, port: {number}"
    return ""


def suggest_token(token: str) -> str:
    """Say what is odd about a token, and what to write; "" for a bot's."""
    if token.startswith(_BOT):
        return ""
    known = next((kind for start, kind in _TOKENS.items() if token.startswith(start)), "")
    if known:
        return f"this is {known}; {_WRITE_TOKEN}"
    if token.startswith(_USER):
        return f"this is a user token (xoxp-): digests come from that person; {_WRITE_TOKEN}"
    return f"this does not look like the token of a bot; {_WRITE_TOKEN}"
