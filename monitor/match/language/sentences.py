"""A sentence as a topic demands each of its words, which hardly any paper has: what is meant?

1. Words of sentences (`that`, `together`) and those that nearly every abstract has (`model`,
   `learning`) carry nothing. They part what is left into pieces, but for `and`, `or` and articles.
   Words that only nearly every abstract has, side by side, are a phrase ("world models").
2. The first piece is the subject: its words are demanded, where there are one or two.
3. The words of any other piece are alternatives. There are three demands at most, since each
   leaves fewer papers: the last has the words of all pieces that are left.

    language agents that play games together
    language AND agents AND (play OR games)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from monitor.match.language.tokens import Token
from monitor.match.meaning.idf import COMMON, STOP_WORDS
from monitor.text import form_of

# Five words side by side, or fewer, are searched for as they are.
MOST_WORDS = 5
_DEMANDS = 3
_SUBJECT = 2

# Not `FUNCTION_WORDS`: words of sentences, beside those of STOP_WORDS and COMMON.
_WORDS = """
    about after again against all almost along already although always am among any anything are
    around article because become been before being below beside beyond both could do does done
    during each either especially every everything finally get give he her here him his how
    however i if instead interested interesting just kind let like look looking lot make me
    might much must my never no nor now off only onto other ought own paper per please
    publication read really same she should since so some someone something sort still study
    take tell together toward towards under until upon us very want was we what whatever whether
    who whom whose why without work would write yet you your
"""
_OF_SENTENCES = frozenset(_WORDS.split())
# These do not part what is beside them.
_JOINING = frozenset(("a", "an", "and", "or", "the"))
_EDGES = ".,;:!?'’…"


class Sentence(NamedTuple):
    """A sentence in a topic: the number of its `words`, and the whole `query` that is meant."""

    position: int
    words: int
    query: str


def find_sentence(text: str, tokens: Sequence[Token]) -> Sentence | None:
    """Return the first sentence in a topic; what is meant by further ones is in its query, too."""
    query = ""
    end = 0
    sentences = []
    for run in _runs(tokens):
        meant = _meant([token.text for token in run]) if len(run) > MOST_WORDS else ""
        if meant:
            sentences.append(run)
            query += f"{text[end : run[0].position]}{meant}"
            end = run[-1].position + len(run[-1].text)
    if not sentences:
        return None
    return Sentence(sentences[0][0].position, len(sentences[0]), query + text[end:])


def _runs(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield words side by side, but of what is excluded, exact, weighed, or in a field."""
    binds = ("", *(token.kind for token in tokens))
    is_bare = [
        token.kind == "word"
        and token.weight == 1
        and "*" not in token.text
        and before not in ("minus", "NOT", "field", "exact")
        for before, token in zip(binds, tokens, strict=False)
    ]
    for bare, run in groupby(zip(is_bare, tokens, strict=True), key=lambda pair: pair[0]):
        if bare:
            yield [token for _, token in run]


def _meant(words: Sequence[str]) -> str:
    """Return what is meant by the words of a sentence, "" if none carries anything."""
    pieces: list[list[str]] = [[]]
    seen = set()
    common: list[str] = []
    for word in (*(word.strip(_EDGES) for word in words), ""):
        form = form_of(word.lower())
        if _is_common(word, form):
            common.append(word)
            continue
        if len(common) > 1 and not _carries(word, form) and not pieces[-1]:
            pieces.append([f'"{" ".join(common)}"'])
        if common:
            pieces.append([])
            common = []
        if not _carries(word, form):
            if word.lower() not in _JOINING:
                pieces.append([])
        elif form not in seen:
            pieces[-1].append(word)
            seen.add(form)
    subject, *others = [piece for piece in pieces if piece] or [[]]
    demands = [[word] for word in subject] if len(subject) <= _SUBJECT else [subject]
    alone = max(_DEMANDS - len(demands) - 1, 0)
    rest = [word for piece in others[alone:] for word in piece]
    demands += [*others[:alone], *([rest] if rest else [])]
    return " AND ".join(map(_either, demands))


def _carries(word: str, form: str) -> bool:
    if not any(sign.isalnum() for sign in word):
        return False
    if len(word) > 1 and word.isupper():
        return True
    return not {word.lower(), form} & (STOP_WORDS | COMMON | _OF_SENTENCES)


def is_of_sentences(word: str, form: str) -> bool:
    """Whether a word belongs to the sentence, as "together", and not to what it is about."""
    return bool({word.lower(), form} & _OF_SENTENCES)


def _is_common(word: str, form: str) -> bool:
    return bool({word.lower(), form} & COMMON) and not {word.lower(), form} & _OF_SENTENCES


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"({' OR '.join(words)})"
