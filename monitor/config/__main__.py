"""`python -m monitor.config` writes the JSON Schema of monitor.yaml to stdout.

In a checkout, settings are described as in the tables of docs/configuration.md and of
docs/operations.md.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from monitor.config import schema

DOCS = Path(__file__).parents[2] / "docs"
# The section of monitor.yaml that a heading is about.
HEADINGS = {
    "The top of the file": "",
    "Mail": "smtp",
    "Pages": "web",
    "Trying again": "retry",
    "Clean-up": "retention",
}


def descriptions(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the section and name of each setting in the tables of a page, and what they say."""
    section, column = "", -1
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if line.startswith("## "):
            section = HEADINGS.get(line[3:], line[3:].lower())
        elif not cells:
            column = -1
        elif column < 0:
            columns = (at for at, cell in enumerate(cells) if re.match("setting( of|$)", cell))
            column = next(columns, len(cells))
        elif column < len(cells):
            plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", cells[-1]).replace("`", "")
            for name in re.findall(r"`(\w+)`", cells[column]):
                yield section, name, plain[:1].upper() + plain[1:]


def described_schema() -> dict[str, object]:
    """Return the schema with the descriptions of the documentation."""
    known: dict[str, dict[str, str]] = defaultdict(dict)
    pages = (DOCS / "configuration.md", DOCS / "operations.md")
    for page in pages if DOCS.is_dir() else ():
        for section, name, meaning in descriptions(page.read_text(encoding="utf-8")):
            before = f"{known[section][name]}. " if name in known[section] else ""
            known[section][name] = before + meaning
    return schema(known)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(described_schema(), indent=2, ensure_ascii=False) + "\n")
