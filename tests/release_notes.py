"""The notes of a release, from its section of CHANGELOG.md: `make notes`.

    python -m tests.release_notes [VERSION]

VERSION must be that of pyproject.toml, and the newest section of the changelog: a tag that names
another version releases nothing. A forge shows each line of such a text as a line, and reads links
from the page of the release: lines are joined, and links begin with the repository's address, where
a workflow says it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


class NotReadyError(Exception):
    """The repository is not ready for this release: the message says what to do."""


def notes(changelog: str, version: str) -> str:
    """Return the section of `version`; raises NotReadyError if it is not the newest."""
    _, *sections = re.split(r"^## ", changelog, flags=re.MULTILINE)
    for section in sections:
        heading, _, body = section.partition("\n")
        if re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
            return body.strip()
        if body.strip():
            raise NotReadyError(
                f"the newest section of CHANGELOG.md is {heading!r}: "
                f"name it '{version} (YEAR-MONTH-DAY)'"
            )
    raise NotReadyError(f"CHANGELOG.md has no section of {version}")


def joined(text: str) -> str:
    """Return Markdown with each paragraph and list item on one line."""
    text = re.sub(r"(?<=\S)\n +(?=[^\s-])", " ", text)  # the next line of an item
    return re.sub(r"^(?![#-])(.+)\n(?=[^\n#-])", r"\1 ", text, flags=re.MULTILINE)


def with_addresses(text: str, repository: str, version: str) -> str:
    """Return Markdown whose relative links lead to the files of this version."""
    return re.sub(r"\]\((?!https?:|#)", f"]({repository}/blob/v{version}/", text)


def release_notes(version: str | None, environment: Mapping[str, str]) -> str:
    """Return the notes of this version, for the repository that a workflow runs in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if version not in (None, project["version"]):
        raise NotReadyError(f"pyproject.toml has version {project['version']}, not {version}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    text = joined(notes(changelog, project["version"]))
    if name := environment.get("GITHUB_REPOSITORY"):
        address = f"{environment['GITHUB_SERVER_URL']}/{name}"
        text = with_addresses(text, address, project["version"])
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description="The notes of a release.")
    parser.add_argument("version", nargs="?", help="by default that of pyproject.toml")
    try:
        sys.stdout.write(release_notes(parser.parse_args().version, os.environ) + "\n")
    except NotReadyError as fault:
        print(f"NOT READY FOR A RELEASE: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
