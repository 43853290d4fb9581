"""Under which other titles a paper was seen: a reader can check what likeness has joined."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.identity.resolve import by_likeness
from monitor.model import OtherTitle, Sighting
from monitor.text import title_key

# More titles than these tell a reader nothing.
MAX_OTHER_TITLES = 3
# Titles are compared in so many characters; the longest have some five hundred.
MAX_TITLE_LENGTH = 2_000


def other_titles(title: str, sightings: Sequence[Sighting]) -> tuple[OtherTitle, ...]:
    """Return the other titles of a paper that records were joined to by likeness.

    `sightings` are those of the paper, the first seen first. Titles that differ only in case,
    punctuation or mark-up are one; what an identifier or a person has joined needs no check.
    """
    titles = [(_key(one.text.title), one.text.title, one) for one in sightings if one.text]
    shown = {_key(title)}
    # A title that likeness has brought may have taken the place of the first record's.
    replaced = any(key in shown and by_likeness(one.why) for key, _, one in titles)
    others = []
    for key, other, one in titles:
        if key not in shown and (by_likeness(one.why) or (replaced and not one.why)):
            others.append(OtherTitle(other, one.source))
            shown.add(key)
    return tuple(others[:MAX_OTHER_TITLES])


def _key(title: str) -> str:
    return title_key(title[:MAX_TITLE_LENGTH])
