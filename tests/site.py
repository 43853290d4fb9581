"""Whether a folder of pages can be published as it is: `make site`.

    python -m tests.site FOLDER

Each page is reached from `index.html` by relative links to files that are there; nothing names this
machine, logs anybody in or runs a script.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What is of the machine that wrote the pages.
PRIVATE = re.compile(r"file:|localhost|127\.0\.0\.1|(?<![\w/.~-])/(?:root|home|tmp|Users|data)/\w")
FORBIDDEN = ("script", "form", "iframe")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.elements: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]


def faults(folder: Path) -> list[str]:
    """Return what keeps `folder` from being published, each with its page."""
    found: list[str] = []
    waiting = [folder / "index.html"]
    reached = {folder / "index.html"}
    while waiting:
        path = waiting.pop()
        name = path.relative_to(folder)
        if not path.is_file():
            found.append(f"{name} is missing")
            continue
        text = path.read_text(encoding="utf-8")
        page = _Page()
        page.feed(text)
        found += [f"{name}: <{tag}>" for tag in FORBIDDEN if tag in page.elements]
        found += [f"{name}: {one[0]}" for one in PRIVATE.finditer(text)]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or not (parts.scheme or parts.path):
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            if parts.scheme or parts.path[0] == "/" or not target.is_relative_to(folder.resolve()):
                found.append(f"{name}: {link} leads out of the site")
            elif (there := folder / target.relative_to(folder.resolve())) not in reached:
                reached.add(there)
                waiting.append(there)
    lost = {path for path in folder.rglob("*") if path.is_file()} - reached
    return found + [f"{path.relative_to(folder)} is on no page" for path in sorted(lost)]


def main() -> int:
    folder = Path(sys.argv[1])
    found = faults(folder)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{folder}: {sum(1 for _ in folder.rglob('*.html'))} pages, {len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
