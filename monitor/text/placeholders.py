"""Words that sources write in the place of an abstract that they do not have."""

from __future__ import annotations

# In letters and digits alone: "N/A" is "na", and "." is "".
PLACEHOLDERS = (
    "", "abstract", "abstractnotavailable", "abstractunavailable", "na", "nan", "nil", "noabstract",
    "noabstractavailable", "none", "notapplicable", "notavailable", "null", "unavailable",
)  # fmt: skip
_MAX_CHARS = 60


def without_placeholder(abstract: str) -> str:
    """Return an abstract, or "" for a placeholder such as "N/A", "none" or "."."""
    if len(abstract) > _MAX_CHARS:
        return abstract
    return "" if "".join(filter(str.isalnum, abstract.casefold())) in PLACEHOLDERS else abstract
