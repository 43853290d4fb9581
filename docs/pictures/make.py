"""The pictures of the documentation, from real output: digests, mails, Slack, and pages.

    make picture

Needs Chromium; CHROMIUM names another one than the first on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import looked_up
import yaml
from pages import photograph_pages
from playwright.sync_api import Browser, sync_playwright
from scenes import BY_MAIL, REVISED, write_many, write_papers, write_scenes
from slack_page import draw_messages

HERE = Path(__file__).parent
# A Monday, so that the digests have a date that does not change from picture to picture.
BEFORE, NOW = "2026-03-15T07:00+00:00", "2026-03-16T07:00+00:00"
# Mails of 1, 12, 54 and 400 papers.
SIZES = ("one", "twelve", "fifty-four", "many")
# The subscription of the demo whose digest the README shows.
DEMO = "agents-team"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        _set_up(Path(folder))
        _photograph_demo(browser, Path(folder))
        _photograph_digests(browser, folder)
        _photograph_looked_up(browser, Path(folder))
        photograph_pages(browser, Path(folder))
        browser.close()


def _photograph_demo(browser: Browser, folder: Path) -> None:
    """Photograph a digest of the demo's last day, whose topics were rated on the days before."""
    digests = json.loads(_run(folder, "demo", "demo", "--json"))["digests"]
    page = [Path(digest["path"]) for digest in digests if digest["subscription"] == DEMO][-1]
    photograph(browser, page, "digest", width=860, height=1000)
    photograph(browser, page, "digest-phone", width=390, height=844, dark=True)
    photograph(browser, _mail_of_demo(folder / "demo"), "retracted-phone", width=375, height=812)


def _mail_of_demo(demo: Path) -> Path:
    """Return the mail of the demo's last day, on which a paper of its library is retracted."""
    file = demo / "monitor.yaml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    settings["subscriptions"][DEMO]["email"] = "ada@example.org"
    file.write_text(yaml.safe_dump(settings | BY_MAIL), encoding="utf-8")
    return _preview(str(demo), "email", DEMO, "--period", NOW[:10])[DEMO]


def _photograph_digests(browser: Browser, folder: str) -> None:
    pages, mails = _preview(folder, "page"), _preview(folder, "email")
    slack = _draw_slack(_preview(folder, "slack")["agents"])
    photograph(browser, slack, "slack", width=680, height=1000)
    second = pages["crowded"].with_name(f"{pages['crowded'].stem}-page-2.html")
    photograph(browser, second, "second-page", width=860, height=700)
    for dark in (False, True):
        name = "mail-dark" if dark else "mail"
        photograph(browser, mails["agents"], name, width=700, height=1000, dark=dark)
        photograph(browser, mails["agents"], f"{name}-phone", width=375, height=812, dark=dark)
    photograph(browser, mails["agents"], "mail-end", width=700, height=700, end=True)
    for name in ("crowded", "topics", "none", "few", "revised"):
        photograph(browser, mails[name], f"mail-{name}", width=700, height=800)
    for name, dark in product(SIZES, (False, True)):
        shown = f"mail-{name}{'-dark' if dark else ''}"
        photograph(browser, mails[name], shown, width=700, height=800, dark=dark)
        photograph(browser, mails[name], f"{shown}-phone", width=375, height=812, dark=dark)


def _photograph_looked_up(browser: Browser, folder: Path) -> None:
    for name, home in looked_up.prepare(folder, BY_MAIL, _run):
        mail = _preview(str(home), "email")["agents"]
        photograph(browser, mail, f"looked-up-{name}", width=700, height=700)
        photograph(browser, mail, f"looked-up-{name}-phone", width=375, height=700)


def _set_up(folder: Path) -> None:
    """Read the samples, and on the next day a dump of 400 papers and a revision."""
    write_scenes(folder)
    _run(folder, "ingest", now=BEFORE)
    write_many(folder / "many.jsonl", json.loads(_run(folder, "papers", "--json"))["papers"])
    write_papers(folder / "plans-2.jsonl", [REVISED])
    _run(folder, "ingest")


def _preview(folder: str, form: str, *words: str) -> dict[str, Path]:
    written = json.loads(_run(Path(folder), "preview", *words, "--channel", form, "--json"))
    return {one["subscription"]: Path(one["path"]) for one in written["digests"]}


def _draw_slack(messages: Path) -> Path:
    drawn = messages.with_suffix(".html")
    drawn.write_text(draw_messages(json.loads(messages.read_text("utf-8"))), "utf-8")
    return drawn


def _run(folder: Path, *words: str, now: str = NOW) -> str:
    command = [sys.executable, "-m", "monitor", *words, "--now", now]
    done = subprocess.run(command, check=True, cwd=folder, stdout=subprocess.PIPE)
    return done.stdout.decode()


def photograph(
    browser: Browser,
    page: Path,
    name: str,
    *,
    width: int,
    height: int,
    dark: bool = False,
    end: bool = False,
) -> None:
    scheme = "dark" if dark else "light"
    view = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        device_scale_factor=1.5 if name.startswith("digest") else 1,
    )
    view.goto(page.as_uri())
    if end:
        view.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    view.screenshot(path=HERE / f"{name}.png")
    view.close()


if __name__ == "__main__":
    main()
