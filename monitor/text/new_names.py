"""Names for entries of `monitor.yaml` that have only a text: small ASCII letters and digits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from monitor.text.function_words import FUNCTION_WORDS

MAX_CHARS = 40
_WORDS_OF_TOPIC = 4
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


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

    def make_for_topic(self, text: str) -> str:
        """Return a name made of the first words of a query or sentence, without function words."""
        words = [*dict.fromkeys(map(_without_apostrophe, _WORD.findall(text[:1000].lower())))]
        telling = [word for word in words if word not in FUNCTION_WORDS] or words
        return self.make(" ".join(telling[:_WORDS_OF_TOPIC]), "topic")


def _without_apostrophe(word: str) -> str:
    return re.sub("['’]", "", word)


def _plain(text: str) -> str:
    """Return the words of a text joined by hyphens, as many as have room."""
    ascii = unicodedata.normalize("NFKD", text[:1000]).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", ascii).strip("-")
    if len(name) <= MAX_CHARS:
        return name
    whole, hyphen, _ = name[: MAX_CHARS + 1].rpartition("-")
    return whole if hyphen else name[:MAX_CHARS]
