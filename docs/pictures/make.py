"""The README's pictures, from real output: a demo is run and its pages are photographed.

    make picture

Needs Chromium; CHROMIUM names another one than the first on the PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
# A Monday, so that the digests have a date that does not change from picture to picture.
NOW = "2026-03-16T07:00+00:00"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        demo = [sys.executable, "-m", "monitor", "demo", folder, "--now", NOW]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        pages = Path(folder) / "pages"
        [page] = (pages / "agents-team").glob("*.html")
        photograph(browser, page, "digest.png", width=860, height=1000)
        photograph(browser, page, "digest-phone.png", width=390, height=844, dark=True)
        browser.close()


def photograph(
    browser: Browser, page: Path, name: str, *, width: int, height: int, dark: bool = False
) -> None:
    scheme = "dark" if dark else "light"
    view = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.5
    )
    view.goto(page.as_uri())
    view.screenshot(path=HERE / name)
    view.close()


if __name__ == "__main__":
    main()
