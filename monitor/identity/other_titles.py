"""Other titles of a paper, so that a reader can check a merge by likeness."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.identity.resolve import by_likeness
from monitor.model import OtherTitle, Sighting
from monitor.text import title_key

# Further titles are not shown.
MAX_OTHER_TITLES = 3
# Titles are compared up to this length; the longest have some five hundred characters.
MAX_TITLE_LENGTH = 2_000


def other_titles(title: str, sightings: Sequence[Sighting]) -> tuple[OtherTitle, ...]:
    """Return other titles of records that were merged by likeness.

    `sightings` are those of the paper, oldest first. Titles that differ only in case, punctuation
    or markup are the same. Merges by identifier or by a person need no check.
    """
    titles = [
        (_key(sighting.text.title), sighting.text.title, sighting)
        for sighting in sightings
        if sighting.text
    ]
    shown = {_key(title)}
    # The title of a record merged by likeness may have replaced the first record's.
    replaced = any(key in shown and by_likeness(sighting.why) for key, _, sighting in titles)
    others = []
    for key, other, sighting in titles:
        if key not in shown and (by_likeness(sighting.why) or (replaced and not sighting.why)):
            others.append(OtherTitle(other, sighting.source))
            shown.add(key)
    return tuple(others[:MAX_OTHER_TITLES])


def _key(title: str) -> str:
    return title_key(title[:MAX_TITLE_LENGTH])
