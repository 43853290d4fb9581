"""Notes are those of the version that is released, and can be read where they are shown."""

from __future__ import annotations

import pytest

from tests.release_notes import NotReadyError, joined, notes, release_notes, with_addresses

CHANGELOG = """# Changes

What users notice.

## Unreleased

## 0.3.0 (2026-12-01)

A store is brought up to date
when it is first opened.

### Reading

- One thing,
  which is [described](docs/sources.md#feeds).
- Another.

## 0.2.0 (2026-11-27)

Older.
"""


def test_the_newest_section_has_a_line_for_each_paragraph_and_item():
    assert joined(notes(CHANGELOG, "0.3.0")).splitlines() == [
        "A store is brought up to date when it is first opened.",
        "",
        "### Reading",
        "",
        "- One thing, which is [described](docs/sources.md#feeds).",
        "- Another.",
    ]


@pytest.mark.parametrize(
    ("changelog", "version", "why"),
    [
        (CHANGELOG, "0.2.0", "newest section"),
        (CHANGELOG, "0.3", "newest section"),
        (
            CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- A change.\n"),
            "0.3.0",
            "name it",
        ),
        ("# Changes\n", "0.3.0", "no section"),
    ],
)
def test_what_is_not_ready_is_not_released(changelog: str, version: str, why: str):
    with pytest.raises(NotReadyError, match=why):
        notes(changelog, version)


def test_a_tag_of_another_version_is_refused():
    with pytest.raises(NotReadyError, match=r"not 99\.0\.0"):
        release_notes("99.0.0", {})


def test_links_lead_to_the_files_of_the_version():
    text = "[a](docs/a.md#b), [c](https://c.example.org)"
    assert with_addresses(text, "https://git.example.org/lab/papers", "0.3.0") == (
        "[a](https://git.example.org/lab/papers/blob/v0.3.0/docs/a.md#b), "
        "[c](https://c.example.org)"
    )
