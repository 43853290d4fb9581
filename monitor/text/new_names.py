"""Names for entries of `monitor.yaml` that have only a text: small ASCII letters and digits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

MAX_CHARS = 40


class NewNames:
    """Names made of texts, each given once and none of those that are `taken`."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)
        self._last_numbers: dict[str, int] = {}

    def make(self, *texts: str) -> str:
        """Return a name made of the first text that has letters or digits, with a number if taken.

        The last text has some.
        """
        stem = name = next(filter(None, map(_plain, texts)))
        while name in self._taken:
            self._last_numbers[stem] = self._last_numbers.get(stem, 1) + 1
            name = f"{stem}-{self._last_numbers[stem]}"
        self._taken.add(name)
        return name


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text[:1000]).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", letters)[:MAX_CHARS].strip("-")
