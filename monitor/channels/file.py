"""Pages in a folder: `<folder>/<subscription>/<period>.html`, and an index of what is there."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import tempfile
import threading
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count, groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from monitor.channels.base import TAKEN_OVER, Channel, ChannelOptions, down
from monitor.channels.page_index import (
    INDEX,
    page_with_facts,
    read_facts,
    write_index,
)
from monitor.digest.layout import batches, byte_count, fit
from monitor.digest.wording import count_notices, full_date
from monitor.errors import MonitorError
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    DigestGroup,
    DigestPaper,
    Notice,
    Outcome,
    Rendered,
    Templates,
)
from monitor.private_files import FILE, create_file, make_folder
from monitor.setting_types import FilePath, Mode, Unset
from monitor.text import clean

_NAME_LIMIT = 80


class FileOptions(ChannelOptions):
    """A channel of kind `file`: a folder of pages."""

    path: FilePath = Field(
        description="a folder for digest pages and their index; created if missing"
    )
    mode: Annotated[Mode | None, Unset('as the index, else `"0600"`')] = Field(
        None,
        description="[permissions](channels.md#file) of new pages: "
        '`"0600"` owner, `"0640"` group, `"0644"` everyone',
    )


class Pages(Channel):
    """The channel `kind: file`: each digest is a page, written whole or not at all."""

    kind = "file"
    is_personal = True
    Options = FileOptions

    def __init__(self, name: str, options: FileOptions, templates: Templates) -> None:
        """New pages have the mode of `options`, else of the index; else their owner reads them."""
        super().__init__(name, options, templates)
        self._folder = options.path
        self._mode = options.mode
        self._lock = threading.Lock()

    def recipients(self) -> tuple[str, ...]:
        return (str(self._folder),)

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        name = page_name(f"{digest.period}-missed" if digest.was_missed else digest.period)
        pages = render_pages(digest, templates, name)
        body = {
            "name": name,
            "html": pages[0],
            "title": f"{clean(digest.heading)}, {full_date(digest, digest.timezone)}",
            "heading": clean(digest.heading),
            **_dates(digest.composed_at, digest.timezone),
            "papers": digest.papers,
            "changes": digest.changes,
            "notices": count_notices(digest),
            "more": pages[1:],
        }
        return (Rendered(0, body),)

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        html = templates.render("web/notice.html.j2", notice=notice)
        body = {"html": html, "title": clean(notice.subject), "heading": "Notices", "papers": 0}
        return (Rendered(0, body | _dates(notice.at, notice.timezone)),)

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        """Write the further pages, the page and the index, without which a page is sent too."""
        page = self.page(delivery)
        try:
            if page.parent.is_symlink():
                raise OSError(errno.ELOOP, f"{page.parent} is a link, which may lead elsewhere")
            for number, html in enumerate(delivery.rendered.body.get("more", ()), 2):
                further = page.with_name(numbered(page.name, number))
                _write(further, html.encode("utf-8", "replace"), self._page_mode())
            if not _write(page, _content(delivery), self._page_mode(), commit_handoff):
                return TAKEN_OVER
        except OSError as error:
            return down(f"cannot write {page}: {error.strerror}")
        return self._list_page(page)

    def reconcile(self, delivery: Delivery) -> Outcome | None:
        """Look at the page, the last one written; the index may still lack it."""
        page = self.page(delivery)
        try:
            written = page.read_bytes() == _content(delivery)
        except FileNotFoundError:
            written = False
        except OSError:
            return None
        if written:
            return self._list_page(page)
        return Outcome(DeliveryState.RETRY, f"{page} is not there")

    def check(self) -> str:
        try:
            make_folder(self._folder, _of_folders(self._page_mode()))
            with tempfile.TemporaryFile(dir=self._folder):
                return ""
        except OSError as error:
            return f"{self._folder} cannot be written: {error.strerror}"

    def page(self, delivery: Delivery) -> Path:
        name = delivery.rendered.body.get("name") or page_name(delivery.period)
        return self._folder / _file_name(delivery.subscription) / name

    def _page_mode(self) -> int:
        if self._mode is not None:
            return self._mode
        try:
            return stat.S_IMODE((self._folder / "index.html").stat().st_mode)
        except FileNotFoundError:
            return FILE

    def _list_page(self, page: Path) -> Outcome:
        problem = ""
        try:
            self._write_index()
        except (OSError, MonitorError) as error:
            problem = f"the page is written, the index is not: {error}"
        return Outcome(DeliveryState.SENT, problem, reference=str(page))

    def _write_index(self) -> None:
        mode = self._page_mode()
        with self._lock:
            write_index(self._folder, self.templates, lambda path, html: _write(path, html, mode))

    def delete_old(self, sent: Callable[[], Collection[tuple[str, str]]]) -> int:
        """Delete pages where this channel writes them: one that was renamed or copied is kept."""
        deleted = 0
        for subscription, period in sent():
            folder = self._folder / _file_name(subscription)
            for named in (period, f"{period}-missed"):
                page = folder / page_name(named)
                if _is_file(page) and _is_of(page, subscription, period):
                    _delete(page)
                    deleted += 1
        if deleted:
            self._write_index()
        return deleted


def _is_file(path: Path) -> bool:
    """Return whether a file is there, which neither is nor is reached by a link."""
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def _is_of(page: Path, subscription: str, period: str) -> bool:
    facts = read_facts(page)
    return facts is not None and (facts.subscription, facts.period) == (subscription, period)


def _delete(page: Path) -> None:
    """Delete a page last, after the further ones: without it they would not be found again."""
    further = (page.with_name(numbered(page.name, number)) for number in count(2))
    for path in [*takewhile(_is_file, further)][::-1]:
        path.unlink()
    page.unlink()


def _of_folders(mode: int) -> int:
    """Return the mode of folders whose files have `mode`: who may read may also enter."""
    return mode | (mode & 0o444) >> 2


def _write(
    path: Path, content: bytes, mode: int, commit_handoff: Callable[[], bool] = lambda: True
) -> bool:
    """Write a file that is there in full or not at all; False when `commit_handoff` forbids it.

    A file that it replaces keeps its mode.
    """
    make_folder(path.parent, _of_folders(mode))
    with suppress(FileNotFoundError):
        replaced = path.lstat().st_mode
        mode = stat.S_IMODE(replaced) if stat.S_ISREG(replaced) else mode
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with create_file(draft, mode) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not commit_handoff():
            return False
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def _sync_folder(folder: Path) -> None:
    """Make a rename outlast a power cut, where the file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def page_name(period: str) -> str:
    """Return the name of the page of a digest, in the folder of its subscription."""
    return f"{_file_name(period.replace(':', '-'))}.html"


def _content(delivery: Delivery) -> bytes:
    body = delivery.rendered.body
    facts = {
        "title": body["title"][:300],
        "subscription": delivery.subscription,
        "period": delivery.period,
        "papers": body["papers"],
        "changes": body.get("changes", 0),
        "notices": body.get("notices", 0),
        **{name: body[name][:300] for name in ("heading", "at", "month") if name in body},
    }
    return page_with_facts(body["html"], facts)


def _dates(at: datetime, zone: str) -> dict[str, str]:
    """Return the instant that pages are ordered by, and the month of the date that they show."""
    return {
        "at": f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
        "month": f"{at.astimezone(ZoneInfo(zone)):%Y-%m}",
    }


def _file_name(name: str) -> str:
    """Return a name that every file system takes: two different names never share one."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:_NAME_LIMIT]
    if plain and plain == name and not INDEX.fullmatch(name):
        return plain
    return f"{plain or 'page'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


PAGE_LIMIT = 250_000
# Of some 60 KB together, and easy to look through.
TITLES_A_PAGE = 100
# Of a further page, this share is lines: the rest is its layout. Each may have a heading before it.
LINES_SHARE = 0.8
HEADING_SIZE = 1_000


def render_pages(
    digest: Digest, templates: Templates, name: str, limit: int = PAGE_LIMIT
) -> list[str]:
    """Return a digest as linked pages of `limit` bytes at most; the first is the file `name`."""

    def render(shown: Digest, full: int) -> str:
        further = digest.papers > sum(len(group.entries) for group in shown.groups)
        next_page = numbered(name, 2) if further else ""
        return templates.render("web/digest.html.j2", digest=shown, full=full, next_page=next_page)

    def size_of(listed: tuple[DigestGroup, DigestPaper]) -> int:
        line = templates.render("web/title_line.html.j2", entry=listed[1], digest=digest)
        return byte_count(line) + HEADING_SIZE

    first, rest = fit(digest, render, lambda page: byte_count(page) <= limit)
    listed = [(group, entry) for group in rest for entry in group.entries]
    pages = list(batches(listed, int(limit * LINES_SHARE), size_of, TITLES_A_PAGE))
    last = len(pages) + 1
    further = (
        templates.render(
            "web/more.html.j2",
            digest=digest,
            groups=[
                (group, [entry for _, entry in entries])
                for group, entries in groupby(page, key=itemgetter(0))
            ],
            page=number,
            last_page=last,
            first_page=name,
            earlier_page=name if number == 2 else numbered(name, number - 1),
            next_page=numbered(name, number + 1) if number < last else "",
        )
        for number, page in enumerate(pages, 2)
    )
    return [first, *further]


def numbered(name: str, page: int) -> str:
    """Return the file of a further page: `2026-11-21-page-2.html`."""
    return f"{name.removesuffix('.html')}-page-{page}.html"
