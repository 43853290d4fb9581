"""The properties of a kind of section."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from monitor.digest.paper_json import Answer
from monitor.model import Digest


def _no_text(digest: Digest) -> str:
    return ""


def _no_json(digest: Digest) -> list[Answer]:
    return []


@dataclass(frozen=True, slots=True)
class SectionKind:
    """A kind of section: a part of a digest that a template of its name writes in each format.

    These are mail/NAME.html.j2, mail/NAME.txt.j2, web/NAME.html.j2, slack/NAME.j2, and for short
    messages and chats short/NAME.txt.j2 and short/NAME.md.j2.
    """

    name: str
    # Whether a digest has such a section; its template is not used for others.
    is_in: Callable[[Digest], bool]
    # Whether it is part of the small print at the end of a digest.
    in_footer: bool = False
    # The heading of a digest that has this section and no papers, "" for that of any other.
    heading: Callable[[Digest], str] = _no_text
    # The part of a subject that is about it, "" for none.
    in_subject: Callable[[Digest], str] = _no_text
    # Its sections in the JSON of webhooks, of which papers are one for each topic.
    to_json: Callable[[Digest], list[Answer]] = _no_json
    # The filters of templates that are about it.
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
