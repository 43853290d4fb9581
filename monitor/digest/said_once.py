"""Facts that all papers of a digest, or of a group, have in common: they are said once.

Under sixty papers of one list, "listed 28 Nov · search on Hugging Face" would be read sixty times.
The day of a list is said once also if only most papers have it: others that are shown in full say
theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.digest.links import searched_site
from monitor.digest.wording import (
    ABOUT_PAPER,
    NOTHING_SAID,
    AboutPaper,
    listed_or_seen,
    place,
)
from monitor.model import Digest, DigestGroup, DigestPaper

# Of fewer papers each says all of it.
MIN_PAPERS = 3
# The share of papers that are most of them.
_MOST = 0.75


@dataclass(frozen=True, slots=True)
class SaidOnce:
    """Parts of the line under a title that are said for all, "" for those that differ.

    With `has_exceptions`, `about.listed` is that of most papers.
    """

    about: AboutPaper = NOTHING_SAID
    search: str = ""
    has_exceptions: bool = False


NOTHING = SaidOnce()
# A digest has a group for each topic.
_MOST_SAID = 1_000


def said_once(shown: Digest | DigestGroup, zone: str, before: SaidOnce | None = None) -> SaidOnce:
    """Return the facts that all papers have in common; of few papers those said `before`.

    What is said `before` of all papers of a digest holds for each of its groups.
    """
    groups = shown.groups if isinstance(shown, Digest) else (shown,)
    return said_of([entry for group in groups for entry in group.entries], zone, before)


class SaidOfDigest:
    """`said_once` for one digest after the other: each of its forms asks for the same facts."""

    def __init__(self) -> None:
        # Each value keeps the object whose id is in its key, so that no other gets this id.
        self._said: dict[tuple[int, str, SaidOnce | None], tuple[object, SaidOnce]] = {}

    def __call__(
        self, shown: Digest | DigestGroup, zone: str, before: SaidOnce | None = None
    ) -> SaidOnce:
        key = id(shown), zone, before
        known = self._said.get(key)
        if known is None:
            if isinstance(shown, Digest) or len(self._said) >= _MOST_SAID:
                self._said.clear()
            known = self._said[key] = shown, said_once(shown, zone, before)
        return known[1]

    def release(self) -> None:
        self._said.clear()


def said_of(entries: Sequence[DigestPaper], zone: str, before: SaidOnce | None = None) -> SaidOnce:
    """Return the facts that these papers have in common, as `said_once`."""
    before = before or NOTHING
    if len(entries) < MIN_PAPERS:
        return before
    of_all = before.about._replace(listed="") if before.has_exceptions else before.about
    about = AboutPaper(
        *(
            said or _common(part(entry, zone) for entry in entries)
            for said, part in zip(of_all, ABOUT_PAPER, strict=True)
        )
    )
    sites = (searched_site(entry.paper, entry.search) for entry in entries)
    search = before.search or _common(sites)
    if about.listed:
        return SaidOnce(about, search)
    of_most = _most_common([listed_or_seen(entry, zone) for entry in entries])
    if not of_most and before.has_exceptions:
        of_most = before.about.listed
    return SaidOnce(about._replace(listed=of_most), search, bool(of_most))


def place_of(entry: DigestPaper, zone: str, said: SaidOnce | None = None) -> str:
    """Return where and when a paper came out, without what is said once."""
    return place(entry, zone, (said or NOTHING).about)


def search_site(entry: DigestPaper, said: SaidOnce | None = None) -> str:
    """Return the site on which the title of a paper is searched for, "" if that is said once."""
    site = searched_site(entry.paper, entry.search)
    return site if site != (said or NOTHING).search else ""


def _common(parts: Iterator[str]) -> str:
    """Return the part that is the same for all, "" if one differs: the others are not made."""
    first = next(parts)
    return first if first and all(part == first for part in parts) else ""


def _most_common(parts: Sequence[str]) -> str:
    """Return the part that most have, "" for none or if a paper has no such part of its own."""
    [(part, count)] = Counter(parts).most_common(1)
    return part if all(parts) and count >= max(MIN_PAPERS, _MOST * len(parts)) else ""


_WORDS = {"venue": "in {}", "categories": "in {}", "date": "published {}", "sources": "from {}"}


def sentence(said: SaidOnce, before: SaidOnce | None = None) -> str:
    """`All listed 28 Nov; titles lead to a search on Hugging Face.`, or "".

    Of most papers: `Most listed 28 Nov.`

    What was said `before`, of the whole digest, is not said again of a group.
    """
    before = before or NOTHING
    named = zip(said.about._fields, said.about, before.about, strict=True)
    new = {name: part for name, part, earlier in named if part and part != earlier}
    of_most = new.pop("listed", "") if said.has_exceptions else ""
    about = [_WORDS.get(name, "{}").format(part) for name, part in new.items()]
    parts = [f"all {', '.join(about)}"] if about else []
    parts += [f"most {of_most}"] if of_most else []
    if said.search and said.search != before.search:
        parts.append(f"titles lead to a search on {said.search}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""
