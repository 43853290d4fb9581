"""The bodies of webhooks: a digest or a notice as JSON, within a limit. Pure.

`docs/webhook.schema.json` describes them. Within a `version`, fields are only added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import structs

from monitor.digest.about import archive_link, recently_read
from monitor.digest.layout import fit, shorten
from monitor.digest.sections import SECTION_KINDS
from monitor.model import Digest, DigestPaper, Notice
from monitor.model.paper_fields import LARGE, empty_values, names_of
from monitor.text import clean

VERSION = 1
# nginx refuses bodies of more than 1 MiB unless it is set otherwise.
BODY_LIMIT = 1_000_000

Body = Mapping[str, Any]


def written(body: object) -> str:
    """Return JSON in one line, as it is stored and posted: halves of surrogate pairs become ?."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


def for_everyone(digest: Digest) -> Digest:
    """Return a digest without links of one person, and without the papers that `at_most` leaves.

    They are left where there is an archive, as in Slack.
    """
    about = replace(digest.about, stop_url="", view_url="", rate_url="")
    digest = replace(digest, about=about)
    if not archive_link(digest):
        return digest
    return shorten(digest, digest.full, digest.papers, digest.at_most)


def digest_body(digest: Digest, limit: int = BODY_LIMIT) -> Body:
    """Return a digest as JSON of `limit` bytes at most: `left` counts papers that had no room.

    Abstracts are given up first, of the papers that matched worst.
    """
    wide = replace(digest, full=digest.papers, titles=digest.papers)

    def render(shown: Digest, full: int) -> Body:
        return _body(shown if full >= shown.papers else _with_abstracts(shown, full))

    body, _ = fit(wide, render, lambda made: len(written(made).encode()) <= limit)
    return body


def notice_body(notice: Notice) -> Body:
    text = "\n".join([*notice.lines, *([notice.url] if notice.url else [])])
    data = {"subject": clean(notice.subject), "text": text}
    return _enveloped("notice", notice.at.isoformat(), data)


def _with_abstracts(digest: Digest, full: int) -> Digest:
    """Return a digest in which the best papers alone have an abstract."""
    best = {entry.paper_id for entry in digest.best(full)}
    return replace(
        digest,
        groups=tuple(
            replace(group, entries=tuple(_in_full(e, e.paper_id in best) for e in group.entries))
            for group in digest.groups
        ),
    )


_LEFT_OUT = empty_values(names_of(LARGE))


def _in_full(entry: DigestPaper, full: bool) -> DigestPaper:
    if full:
        return entry
    return structs.replace(entry, paper=structs.replace(entry.paper, **_LEFT_OUT))


def _body(digest: Digest) -> Body:
    read = [source for _, source in recently_read(digest) if source.announces]
    data = {
        "subscription": digest.subscription,
        "title": clean(digest.heading),
        "period": digest.period,
        "url": digest.about.archive_url or None,
        "read": {"papers": sum(source.seen for source in read), "sources": len(read)},
        "sections": [
            section
            for kind in SECTION_KINDS
            if kind.is_in(digest)
            for section in kind.to_json(digest)
        ],
        "left": digest.more,
        "missed": digest.was_missed,
    }
    return _enveloped("digest", digest.composed_at.isoformat(), data)


def _enveloped(kind: str, timestamp: str, data: Mapping[str, Any]) -> Body:
    return {"type": kind, "version": VERSION, "timestamp": timestamp, "data": data}
