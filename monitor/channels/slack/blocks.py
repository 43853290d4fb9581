"""Digests and notices as Slack's messages, kept within Slack's limits: pure.

A digest begins with a message that stands alone: how many papers there are, the best in full, and
a line for each topic. All others follow in its thread.

Every limit is used to nine tenths. A whole message of about 13,200 characters is refused,
which Slack does not document, so one message holds at most 10,000.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from monitor.channels.slack.menus import add_menu
from monitor.digest.about import archive_link, name_digest, subject
from monitor.digest.layout import batches, shorten
from monitor.digest.said_once import said_once
from monitor.digest.sections import body_sections
from monitor.digest.sections.lead import LEAD, first_papers, leading
from monitor.digest.sections.topics import TOPICS
from monitor.digest.wording import escape_mrkdwn
from monitor.model import Digest, DigestPaper, Json, Notice, Rendered, Templates
from monitor.text import clean

SECTION_LIMIT = 2_700
HEADER_LIMIT = 135
BLOCKS_LIMIT = 45
MESSAGE_LIMIT = 10_000
TEXT_LIMIT = 3_600

# A block, or the mrkdwn of a section.
Piece = Json | str
DIVIDER: Json = {"type": "divider"}

# Never cut in two: a link or mention, an escaped character, a word; then single characters.
_ATOM = re.compile(r"<[^<>\n]*>|&\w{1,6};|\n|[^\S\n]+|[^\s<&]+|.")
_LINK = re.compile(r"<[^<>|]*\|([^<>]*)>")
_MIN_SPLIT_LENGTH = 200


def section(text: str) -> Json:
    """`verbatim` keeps Slack from making links and mentions of what only looks like one."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def header(text: str) -> Json:
    """A large line; Slack shows its text as it is, and escapes nothing."""
    return {"type": "header", "text": {"type": "plain_text", "text": text[:HEADER_LIMIT]}}


def context(text: str) -> Json:
    """Small grey text of at most `SECTION_LIMIT` characters."""
    element = {"type": "mrkdwn", "text": text, "verbatim": True}
    return {"type": "context", "elements": [element]}


def message(blocks: Iterable[Piece], text: str) -> Json:
    """Return a message; `text` is what notifications and screen readers get."""
    whole = [section(block) if isinstance(block, str) else block for block in blocks]
    return {"text": text[:TEXT_LIMIT], "blocks": whole}


def messages(parent: Iterable[Piece], text: str, replies: Iterable[Piece] = ()) -> list[Json]:
    """Return as many messages as the pieces need, at least one; replies begin a new one."""
    pages = [*paginate(parent), *filter(None, paginate(replies))]
    if len(pages) == 1:
        return [message(pages[0], text)]
    return [message(page, f"{text} ({n} of {len(pages)})") for n, page in enumerate(pages, 1)]


def paginate(pieces: Iterable[Piece]) -> list[list[Json]]:
    """Share pieces among messages, as blocks; a divider neither begins nor ends one."""
    pages: list[list[Json]] = [[]]
    for piece in pieces:
        blocks = map(section, cut(piece, SECTION_LIMIT)) if isinstance(piece, str) else [piece]
        for block in blocks:
            if _is_full(pages[-1], block):
                pages.append([])
            if pages[-1] or block != DIVIDER:
                pages[-1].append(block)
    return [page[:-1] if page[-1:] == [DIVIDER] else page for page in pages]


def cut(mrkdwn: str, limit: int) -> list[str]:
    """Cut text into pieces of at most `limit` characters, never within a link or `&amp;`."""
    if len(mrkdwn) <= limit:
        return [mrkdwn] if mrkdwn.strip() else []
    pieces = ("".join(atoms).strip() for atoms in batches(_atoms(mrkdwn, limit), limit, len))
    return [piece for piece in pieces if piece]


def halve(whole: Json) -> tuple[Json, Json] | None:
    """Split a message that Slack finds too long into two; None when nothing is left to split."""
    blocks: Sequence[Piece] = whole["blocks"]
    if len(blocks) == 1:
        text = text_of(whole["blocks"][0])
        if whole["blocks"][0]["type"] == "section" and len(text) > _MIN_SPLIT_LENGTH:
            blocks = cut(text, len(text) // 2 + 1)
    if len(blocks) < 2:
        return None
    middle = len(blocks) // 2
    return message(blocks[:middle], whole["text"]), message(blocks[middle:], whole["text"])


def text_of(block: Json) -> str:
    """Return the text of a block, "" of a divider."""
    if block["type"] == "context":
        return "".join(element["text"] for element in block["elements"])
    return str(block["text"]["text"]) if "text" in block else ""


def _is_full(page: Sequence[Json], block: Json) -> bool:
    size = sum(len(text_of(other)) for other in page) + len(text_of(block))
    return bool(page) and (len(page) >= BLOCKS_LIMIT or size > MESSAGE_LIMIT)


def _atoms(mrkdwn: str, limit: int) -> Iterator[str]:
    for atom in _ATOM.findall(mrkdwn):
        if len(atom) <= limit:
            yield atom
        elif link := _LINK.fullmatch(atom):
            yield from cut(link[1], limit)
        else:
            yield from (atom[at : at + limit] for at in range(0, len(atom), limit))


# ── digests and notices ───────────────────────────────────────────────────────────────

# Papers that the first message shows in full, at most, and the room that each may take.
IN_FIRST_MESSAGE = 5
InFull = Callable[[DigestPaper], Iterable[Piece]]


def render_digest(
    digest: Digest, templates: Templates, *, threaded: bool = True, menus: bool = False
) -> tuple[Rendered, ...]:
    """Return the messages of a digest; with `menus`, each paper in full has one to rate it with."""
    text = escape_mrkdwn(subject(digest))
    if not digest.has_news:
        return _parts(messages([templates.render("slack/quiet.j2", digest=digest)], text))

    said = said_once(digest, digest.timezone)

    def in_full(entry: DigestPaper) -> list[Piece]:
        text = templates.render("slack/paper.j2", entry=entry, digest=digest, said=said)
        if not menus:
            return [text]
        parts = [section(part) for part in cut(text, SECTION_LIMIT)]
        return [*(add_menu(part, entry, digest) for part in parts[:1]), *parts[1:]]

    if digest.at_most and archive_link(digest):  # else the thread has all
        digest = shorten(digest, digest.full, digest.at_most, digest.at_most)
    best = first_papers(digest, min(digest.full, IN_FIRST_MESSAGE))
    for count in range(len(best), -1, -1):
        shown = best[:count]
        first = list(_first_message(digest, templates, in_full, shown, threaded))
        if len(paginate(first)) == 1:
            break
    return _parts(messages(first, text, _others(digest, templates, in_full, shown)))


def render_notice(notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
    text = templates.render("slack/notice.j2", notice=notice)
    return _parts(messages([text], escape_mrkdwn(clean(notice.subject)[:300])))


def _first_message(
    digest: Digest,
    templates: Templates,
    in_full: InFull,
    shown: Collection[DigestPaper],
    threaded: bool,
) -> Iterator[Piece]:
    yield header(clean(name_digest(digest)))
    yield templates.render("slack/header.j2", digest=digest, full=digest.full)
    lead = leading(digest, {entry.paper_id for entry in shown})
    for name in body_sections(digest):
        if name == LEAD.name:
            for number, first in enumerate(lead):
                yield DIVIDER
                yield templates.render(
                    "slack/lead.j2", digest=digest, first=first, is_heading=not number
                )
                yield from in_full(first.entry)
        elif name == TOPICS.name:
            above = {first.paper_id for first in lead}
            for entry in shown:
                if entry.paper_id not in above:
                    yield DIVIDER
                    yield from in_full(entry)
        else:
            yield DIVIDER
            yield templates.render(f"slack/{name}.j2", digest=digest)
    yield DIVIDER
    below = digest.papers - digest.more - len(shown)
    yield templates.render("slack/contents.j2", digest=digest, below=below, threaded=threaded)
    footer = templates.render("slack/footer.j2", digest=digest)
    yield from map(context, cut(footer, SECTION_LIMIT))


def _others(
    digest: Digest, templates: Templates, in_full: InFull, shown: Collection[DigestPaper]
) -> Iterator[Piece]:
    """Yield the papers that are not shown yet, by topic: the best in full, the others as titles."""
    done = {entry.paper_id for entry in shown}
    best = {entry.paper_id for entry in digest.best(digest.full)}
    for group in digest.groups:
        left = [entry for entry in group.entries if entry.paper_id not in done]
        if not left:
            continue
        yield DIVIDER
        yield f"*{escape_mrkdwn(clean(group.heading))}*"
        for entry in left:
            if entry.paper_id in best:
                yield from in_full(entry)
        lines = [
            templates.render("slack/title_line.j2", entry=entry, digest=digest)
            for entry in left
            if entry.paper_id not in best
        ]
        if 0 < len(lines) < len(left):  # a single bullet would look like part of the last paper
            lines = ["_More_", *lines]
        # In sections of many lines: 400 titles would be 400 blocks.
        yield from map("\n".join, batches(lines, SECTION_LIMIT + 1, lambda line: len(line) + 1))


def _parts(messages: list[Json]) -> tuple[Rendered, ...]:
    return tuple(Rendered(part, message) for part, message in enumerate(messages))
