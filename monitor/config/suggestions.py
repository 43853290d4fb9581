"""Common mistakes in values, and the line to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

# Kinds of documents that one kind of source reads.
_KINDS = dict.fromkeys(("rss", "rss2", "atom", "rdf", "json-feed", "jsonfeed", "xml"), "feed")

_ZONES: Mapping[str, str] = {
    "CEST": "Europe/Berlin",
    "MEZ": "Europe/Berlin",
    "MESZ": "Europe/Berlin",
    "WEST": "Europe/Lisbon",
    "EEST": "Europe/Helsinki",
    "BST": "Europe/London",
    "MSK": "Europe/Moscow",
    "EDT": "America/New_York",
    "ET": "America/New_York",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "MDT": "America/Denver",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "PT": "America/Los_Angeles",
    "IST": "Asia/Kolkata",
    "SGT": "Asia/Singapore",
    "HKT": "Asia/Hong_Kong",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "AEST": "Australia/Sydney",
    "AEDT": "Australia/Sydney",
    "NZST": "Pacific/Auckland",
    "NZDT": "Pacific/Auckland",
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


def kind(name: str) -> str:
    """Return the line to write for a kind of source that people name otherwise, or ""."""
    known = _KINDS.get(name.casefold())
    return f"write kind: {known}, which reads RSS, Atom, RDF and JSON feeds" if known else ""


def zone(name: str) -> str:
    """Return the line to write for an abbreviation or an offset, or ""."""
    known = _ZONES.get(name.strip().upper())
    if known:
        return f"write timezone: {known}, or another city of your zone"
    offset = _OFFSET.fullmatch(name.strip())
    if not offset or int(offset[2]) > 12:
        return ""
    # POSIX counts from the other side: Etc/GMT-2 is two hours ahead of Greenwich.
    sign = "-" if offset[1] == "+" else "+"
    return (
        f"write timezone: Etc/GMT{sign}{offset[2]}, or a city such as Europe/Berlin "
        "to follow its summer time"
    )


def entry(section: str, name: str, raw: object) -> str:
    """Return what to write for a topic that is not settings: its words alone."""
    if section != "topics":
        return ""
    if isinstance(raw, str) and "\n" not in raw:
        return f"; write {name}: {{query: {_quote(raw)}}}"
    if isinstance(raw, list) and raw and all(isinstance(item, str) for item in raw):
        return f"; write {name}: {{any: [{', '.join(map(_quote, raw))}]}}"
    return ""


def entries(section: str, raw: object) -> str:
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


def host(text: str) -> str:
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


def token(token: str) -> str:
    """Say what is odd about a token, and what to write; "" for a bot's."""
    if token.startswith(_BOT):
        return ""
    known = next((kind for start, kind in _TOKENS.items() if token.startswith(start)), "")
    if known:
        return f"this is {known}; {_WRITE_TOKEN}"
    if token.startswith(_USER):
        return f"this is a user token (xoxp-): digests come from that person; {_WRITE_TOKEN}"
    return f"this does not look like the token of a bot; {_WRITE_TOKEN}"
