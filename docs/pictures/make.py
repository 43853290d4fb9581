"""The pictures of the documentation, from real output: the sample dumps as pages and mails.

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
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Browser, sync_playwright
from slack_page import draw_messages

from monitor.resources import resource

HERE = Path(__file__).parent
# A Monday, so that the digests have a date that does not change from picture to picture.
NOW = "2026-03-16T07:00+00:00"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
AGENTS = ["web-and-gui-agents", "teams-of-language-models", "planning", "embodied-agents"]
# What else there is to be seen: a mail that is crowded, one of many topics, of one paper, of none.
TOPICS = {
    "wide": {"title": "Agents and models", "query": "agent OR model OR learning"},
    "one": {"title": "Auctions", "query": 'title:"auction arena"'},
    "none": {"title": "Gravel", "query": "gravel AND robot AND opera"},
}
SUBSCRIPTIONS: dict[str, dict[str, Any]] = {
    "agents": {"title": "Agents", "topics": AGENTS, "max": 20},
    "crowded": {"title": "Everything", "topics": ["wide", "planning"]},
    "topics": {"title": "All topics", "topics": [*AGENTS, "surveys", "agent-safety", "rl-methods"]},
    "one": {"title": "Auctions", "topics": ["one"]},
    "none": {"title": "Gravel", "topics": ["none"], "quiet": "send"},
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        _set_up(Path(folder))
        pages, mails = _preview(folder, "page"), _preview(folder, "email")
        slack = _draw_slack(_preview(folder, "slack")["agents"])
        photograph(browser, slack, "slack", width=680, height=1000)
        photograph(browser, pages["agents"], "digest", width=860, height=1000)
        photograph(browser, pages["agents"], "digest-phone", width=390, height=844, dark=True)
        second = pages["crowded"].with_name(f"{pages['crowded'].stem}-page-2.html")
        photograph(browser, second, "second-page", width=860, height=700)
        for dark in (False, True):
            name = "mail-dark" if dark else "mail"
            photograph(browser, mails["agents"], name, width=700, height=1000, dark=dark)
            photograph(browser, mails["agents"], f"{name}-phone", width=375, height=812, dark=dark)
        photograph(browser, mails["agents"], "mail-end", width=700, height=700, end=True)
        for name in ("crowded", "topics", "one", "none"):
            if name in mails:
                photograph(browser, mails[name], f"mail-{name}", width=700, height=800)
        browser.close()


def _set_up(folder: Path) -> None:
    """Lay the sample dumps and a configuration into a folder, and read them."""
    for seed in resource("seeds").glob("*.txt"):
        shutil.copyfile(seed, folder / seed.name)
    settings = yaml.safe_load((resource("seeds") / "monitor.yaml").read_text(encoding="utf-8"))
    settings["topics"] |= TOPICS
    settings["subscriptions"] = {
        name: one | {"email": "ada@example.org", "schedule": "weekdays 08:00"}
        for name, one in SUBSCRIPTIONS.items()
    }
    settings["smtp"] = {"host": "localhost", "tls": "none", "from": "Papers <papers@example.org>"}
    (folder / "monitor.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    _run(folder, "ingest")


def _preview(folder: str, form: str) -> dict[str, Path]:
    written = json.loads(_run(Path(folder), "preview", "--channel", form, "--json"))
    return {one["subscription"]: Path(one["path"]) for one in written["digests"]}


def _draw_slack(messages: Path) -> Path:
    drawn = messages.with_suffix(".html")
    drawn.write_text(draw_messages(json.loads(messages.read_text("utf-8"))), "utf-8")
    return drawn


def _run(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "monitor", *words, "--now", NOW]
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
