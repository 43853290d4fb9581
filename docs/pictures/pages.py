"""Pictures of the pages: a small installation that has run for a month, and is served."""

from __future__ import annotations

import json
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import yaml
from playwright.sync_api import Browser, StorageState
from scenes import AGENTS

from monitor.resources import resource

HERE = Path(__file__).parent
END = datetime(2026, 3, 16, 9, tzinfo=UTC)
DAYS = 28
# Papers a day by weekday, and a Thursday on which most were missing.
A_DAY, THIN_DAY = (10, 12, 11, 10, 9, 0, 0), 24
PICTURES = {
    "pages-today": ("/", 900, 760, False),
    "pages-papers": ("/papers?q=%22language+model%22+AND+plan", 900, 800, False),
    "pages-paper": ("/papers/3", 900, 900, False),
    "pages-try": ("/try?q=%22language+model%22+AND+agent", 900, 800, False),
    "pages-source": ("/sources/daily-page", 900, 760, False),
    "pages-topic": ("/topics/planning", 900, 800, True),
    "pages-phone": ("/digests/agents/2026-03-16", 375, 812, True),
}
# The same installation after two days without its mail server, with a feed that has moved and bad
# files in a folder.
IN_TROUBLE = {
    "pages-problems": ("/", 900, 860, False),
    "pages-subscriptions": ("/subscriptions", 900, 560, False),
    "pages-person": ("/people/ada@example.org", 900, 700, False),
    "pages-deliveries-phone": ("/deliveries", 375, 812, False),
}


def photograph_pages(browser: Browser, folder: Path) -> None:
    """Let an installation run for four weeks, serve its pages, and take pictures of them."""
    home = folder / "month"
    home.mkdir()
    listen = _free_address()
    _live(home, listen)
    _photograph(browser, home, listen, PICTURES, END)
    with socketserver.TCPServer(("127.0.0.1", 0), _Moved) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _bring_trouble(home, server.server_address[1])
        server.shutdown()
    _photograph(browser, home, listen, IN_TROUBLE, END + timedelta(days=2))


def _photograph(
    browser: Browser,
    home: Path,
    listen: str,
    pictures: dict[str, tuple[str, int, int, bool]],
    now: datetime,
) -> None:
    with _served(home, listen, now) as address:
        session = _log_in(browser, home)
        for name, (path, width, height, dark) in pictures.items():
            view = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                storage_state=session,
            )
            view.goto(f"{address}{path}")
            view.screenshot(path=HERE / f"{name}.png")
            view.close()


def _log_in(browser: Browser, home: Path) -> StorageState:
    """Return the session that begins with the address of `web login`."""
    done = subprocess.run(
        _command("web", "login"), check=True, cwd=home, capture_output=True, text=True
    )
    context = browser.new_context()
    page = context.new_page()
    page.goto(done.stdout.strip())
    page.wait_for_url("**/")
    session = context.storage_state()
    context.close()
    return session


def _free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def _served(home: Path, listen: str, now: datetime) -> Iterator[str]:
    command = [*_command("web"), "--now", now.isoformat()]
    pages = subprocess.Popen(command, cwd=home, stderr=subprocess.PIPE, text=True)
    assert pages.stderr
    try:
        for line in pages.stderr:
            if "pages served" in line:
                break
        yield f"http://{listen}"
    finally:
        pages.terminate()
        pages.wait()


def _live(home: Path, listen: str) -> None:
    """Give out the papers of the samples day by day, and send a digest each working day."""
    settings = yaml.safe_load((resource("seeds") / "monitor.yaml").read_text(encoding="utf-8"))
    settings["web"] = {"listen": listen}
    (home / "dumps").mkdir()
    settings["sources"] = {
        "daily-page": {
            "kind": "jsonl",
            "path": "dumps/*.jsonl",
            "first_run": "deliver",
            "title": "Daily papers",
        }
    }
    settings["subscriptions"] = {
        "agents": {
            "title": "Agents",
            "topics": AGENTS,
            "channels": ["pages"],
            "schedule": "weekdays 08:00",
        }
    }
    (home / "monitor.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    papers = iter(_sample_papers())
    for number in range(DAYS):
        now = END - timedelta(days=DAYS - 1 - number)
        count = 1 if number == THIN_DAY else A_DAY[now.weekday()]
        lines = [json.dumps(one) for _, one in zip(range(count), papers, strict=False)]
        if lines:
            (home / f"dumps/{now:%Y-%m-%d}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        subprocess.run(
            [*_command("run"), "--now", now.isoformat()], check=True, cwd=home, capture_output=True
        )


class _Moved(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


BAD_FILES = {
    "archive.jsonl": b"PK\x03\x04",
    "notes.jsonl": b"To read:\nthe paper on planning\n",
    "page.jsonl": b"<!doctype html><title>Papers</title>",
    "photo.jsonl": b"\x89PNG\r\n\x1a\n\x00",
}


def _bring_trouble(home: Path, port: int) -> None:
    """Send the digests of two days through a mail server that nobody runs, and read what fails."""
    settings = yaml.safe_load((home / "monitor.yaml").read_text(encoding="utf-8"))
    feed = {"kind": "feed", "url": f"http://127.0.0.1:{port}/feed.xml", "allow_private": True}
    settings["sources"]["journal"] = feed | {"title": "Journal of Planning"}
    for name, content in BAD_FILES.items():
        (home / "dumps" / name).write_bytes(content)
    settings["smtp"] = {"host": "127.0.0.1", "port": 9, "tls": "none", "from": "papers@example.org"}
    settings["subscriptions"]["agents"] |= {
        "channels": [],
        "email": ["ada@example.org", "bo@example.org"],
        "quiet": "send",
    }
    (home / "monitor.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    for hours in range(24, 49, 6):
        now = END + timedelta(hours=hours)
        # Its status is not 0: mails could not be sent.
        subprocess.run([*_command("run"), "--now", now.isoformat()], cwd=home, capture_output=True)


def _sample_papers() -> list[dict[str, object]]:
    dumps = sorted(str(seed) for seed in resource("seeds").glob("*.txt"))
    done = subprocess.run(
        _command("read", "huggingface-page", *dumps, "--json"), check=True, capture_output=True
    )
    papers = [one for file in json.loads(done.stdout)["documents"] for one in file["papers"]]
    return [
        {"title": one["title"], "abstract": one["abstract"], "keys": one["keys"]} for one in papers
    ]


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "monitor", *words]
