"""How much of a digest one message or page shows, and what is left for elsewhere: pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import TypeVar

from monitor.model import Digest, DigestGroup, share_places

T = TypeVar("T")


def fit(
    digest: Digest,
    render: Callable[[Digest, int], T],
    fits: Callable[[T], bool],
    at_most: int | None = None,
) -> tuple[T, tuple[DigestGroup, ...]]:
    """Return a digest with as many papers as fit, and those that it then does not show.

    `render` gets a shortened digest and how many of its papers are in full. `at_most` is how many
    papers are shown at all.
    """

    @cache
    def shortened(full: int, titles: int) -> tuple[Digest, T]:
        shown = shorten(digest, full, titles, at_most)
        return shown, render(shown, full)

    full, titles = most_that_fit(
        lambda *counts: fits(shortened(*counts)[1]),
        min(digest.full, digest.papers),
        digest.titles,
    )
    shown, rendered = shortened(full, titles)
    return rendered, left_out(digest, shown)


def batches(
    pieces: Iterable[T], limit: int, size_of: Callable[[T], int], most: int | None = None
) -> Iterator[list[T]]:
    """Yield pieces in order in few lists, each of `most` pieces and of a size within `limit`."""
    batch: list[T] = []
    size = 0
    for piece in pieces:
        added = size_of(piece)
        if batch and (size + added > limit or len(batch) == most):
            yield batch
            batch = []
            size = 0
        batch.append(piece)
        size += added
    if batch:
        yield batch


def share_texts(
    pieces: Iterable[str], between: str, limit: int, size_of: Callable[[str], int]
) -> Iterator[list[str]]:
    """Share pieces among texts of a limit, in which `between` parts them; longer pieces are cut."""
    added = size_of(between)
    whole = (part for piece in pieces if piece for part in _cut(piece, limit, size_of))
    return batches(whole, limit + added, lambda piece: size_of(piece) + added)


def _cut(piece: str, limit: int, size_of: Callable[[str], int]) -> Iterator[str]:
    """Cut a piece that is longer than a message: at the ends of lines, and within longer lines."""
    if size_of(piece) <= limit:
        yield piece
        return
    lines = (part for line in piece.split("\n") for part in _cut_line(line, limit, size_of))
    for batch in batches(lines, limit, lambda line: size_of(f"{line}\n")):
        if text := "\n".join(batch).strip():
            yield text


def _cut_line(line: str, limit: int, size_of: Callable[[str], int]) -> Iterator[str]:
    start = 0

    def is_too_long(end: int) -> bool:
        return size_of(f"{line[start:end]}\n") > limit

    while is_too_long(len(line)):
        ends = range(start + 1, len(line) + 1)
        end = start + max(bisect_right(ends, False, key=is_too_long), 1)
        yield line[start:end]
        start = end
    yield line[start:]


def byte_count(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def shorten(digest: Digest, full: int, titles: int, at_most: int | None = None) -> Digest:
    """Return a digest with `full` papers in full and `titles` more; each group counts the rest.

    Other sections stay, also where they name papers that are in no group any more.

    `at_most` limits both together. The titles, like the papers in full, are shared among the
    topics.
    """
    room = digest.papers if at_most is None else at_most
    shown = {entry.paper_id for entry in digest.best(min(full, room))}
    titles = min(titles, room - len(shown))
    others = [
        [entry.paper_id for entry in group.entries if entry.paper_id not in shown]
        for group in digest.groups
    ]
    sizes = [len(ids) for ids in others]
    if sum(sizes) <= titles:
        return digest
    shares = share_places(titles, sizes, [group.rule.weight for group in digest.groups])
    shown.update(*(ids[:share] for ids, share in zip(others, shares, strict=True)))
    groups = []
    for group in digest.groups:
        entries = tuple(entry for entry in group.entries if entry.paper_id in shown)
        groups.append(replace(group, entries=entries, more=group.papers - len(entries)))
    return replace(digest, groups=tuple(groups))


def left_out(digest: Digest, shown: Digest) -> tuple[DigestGroup, ...]:
    """Return what of a digest is not among the papers shown, in its order."""
    there = {entry.paper_id for group in shown.groups for entry in group.entries}
    groups = (
        replace(group, entries=tuple(e for e in group.entries if e.paper_id not in there), more=0)
        for group in digest.groups
    )
    return tuple(group for group in groups if group.entries)


def beyond_at_most(digest: Digest) -> tuple[DigestGroup, ...]:
    """Return what of a digest a message with `at_most` papers does not show."""
    if not digest.at_most:
        return ()
    return left_out(digest, shorten(digest, digest.full, digest.titles, digest.at_most))


def most_that_fit(fits: Callable[[int, int], bool], full: int, titles: int) -> tuple[int, int]:
    """Return how many papers in full and how many titles fit; titles are given up last."""
    if fits(full, titles):
        return full, titles
    if fits(0, titles):
        return _most(lambda count: fits(count, titles), full), titles
    return 0, _most(lambda count: fits(0, count), titles)


def _most(fits: Callable[[int], bool], limit: int) -> int:
    """Return the largest number below `limit` that fits; 0 if none does."""
    return bisect_right(range(1, limit), False, key=lambda count: not fits(count))
