"""Times every pattern that the package writes on its own literals, repeated.

    python -m tests.patterns [--share N/OF | --pattern EXPRESSION ... | --left-out]

A text is what stands before one of the pattern's quantifiers, a piece many times, and a character
that fails. Pieces are what the quantifier repeats and what stands on both of its sides, singly and
in pairs. A text of twice the length may take at most `MAX_RATIO` times the processor time, and none
more than finding `MOST_FOUND` letters. What is measured is measured again before it is reported.

Each line of the output is an object: a pattern that begins, or one with a text that takes too long.
Whoever reads them can end the process: the last pattern that began is the one that hangs.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import inspect
import json
import pkgutil
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import permutations, takewhile
from pathlib import Path
from re import _constants as sre
from re import _parser as sre_parser
from types import ModuleType
from typing import Any, NamedTuple

import monitor

LENGTHS = (1_250, 2_500, 5_000, 10_000, 20_000)
MAX_RATIO = 2.5
MOST_FOUND = 1_500_000  # one by one; 0.2 s on a quiet machine
HANGS = 3.0  # seconds of a single search
# Texts are measured closely if those of this length take this long, and four times as long more
# than a quarter of it: what grows with the square takes 25 times as long at the longest.
SCREENED = 4_000
UNMEASURED = 0.0005
MAX_SCREENED_RATIO = 5.5
FLOOR = 0.005  # seconds: a shorter time counts as this long
ATTEMPTS = (1, 3, 9)  # of each length, until nothing is too slow
MANY = 20  # repeats: what repeats fewer times is no quantifier
MOST_PAIRED = 12  # pieces
ENDINGS = ("\0", "\n", "x")

SEARCHED = "finditer"  # takes as long as search, sub and split
# Of patterns in tables, tuples and partial functions only their module knows that they are not
# searched for.
_METHODS = {
    ("monitor.identity.notices", "_NOTICE_TITLE"): "match",
    ("monitor.match.language.tokens", "_TOKEN"): "match",
    ("monitor.match.language.tokens", "_TOKEN_OF_LIST"): "match",
    ("monitor.sources.feed.publisher_cards", "_LINES"): "match",
    ("monitor.sources.fields.encoding", "_FORMATS"): "match",
    ("monitor.sources.fields.encoding", "_MAIL"): "match",
    ("monitor.setting_types", "_duration"): "fullmatch",
    ("monitor.setting_types", "_timeout"): "fullmatch",
    ("monitor.sources.huggingface_page.furniture", "_DATES"): "match",
    ("monitor.text.addresses", "_CODE"): "fullmatch",
    ("monitor.text.addresses", "_DATA"): "fullmatch",
    ("monitor.text.addresses", "_PROJECT"): "fullmatch",
    ("monitor.text.addresses", "_SERVICES"): "fullmatch",
    ("monitor.text.addresses", "_VIDEO"): "fullmatch",
    ("monitor.text.registrants", "_BY_PREFIX"): "fullmatch",
}

Items = Sequence[tuple[Any, Any]]


class HangError(Exception):
    """A search took longer than `HANGS`."""


class Timed(NamedTuple):
    """A pattern, and how it is used: searched for, unless it is only matched."""

    name: str
    pattern: re.Pattern[Any]
    method: str = SEARCHED


class Text(NamedTuple):
    """A text of any length."""

    before: str
    piece: str
    end: str

    def of(self, length: int) -> str:
        count = (length - len(self.before) - len(self.end)) // len(self.piece)
        return f"{self.before}{self.piece * max(count, 1)}{self.end}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", default="0/1", help="every so manieth pattern, as 0/2 and 1/2")
    parser.add_argument("--pattern", nargs="+", help="patterns to time in place of the package's")
    parser.add_argument("--left-out", action="store_true", help="name those that are not timed")
    options = parser.parse_args()
    if options.left_out:
        compiled, missing = left_out()
        _tell(compiled=compiled, left_out=missing)
        return
    share, of = map(int, options.share.split("/"))
    given = [Timed(one, re.compile(one)) for one in options.pattern or ()]
    signal.signal(signal.SIGVTALRM, _hangs)
    gc.disable()
    for timed in (given or every_pattern())[share::of]:
        _tell(began=timed.name)
        for text in texts(timed.pattern):
            if fault := measure(timed, text):
                _tell(slow=timed.name, method=timed.method, text=text, fault=fault)
                break


def _tell(**facts: object) -> None:
    sys.stdout.write(f"{json.dumps(facts)}\n")
    sys.stdout.flush()


# ── the patterns ────────────────────────────────────────────────────────────────────


def every_pattern() -> list[Timed]:
    """Return the patterns of all modules, also those that are compiled for their first text."""
    from monitor.text import lattice

    places: dict[re.Pattern[Any], list[tuple[ModuleType, str, bool]]] = {}
    inline: dict[tuple[re.Pattern[Any], str], Timed] = {}
    for found in pkgutil.walk_packages(monitor.__path__, "monitor."):
        module = importlib.import_module(found.name)
        inline |= {(timed.pattern, timed.method): timed for timed in _inline(module)}
        for name, value in vars(module).items():
            for pattern in _patterns_in(value):
                is_alone = pattern is getattr(value, "compiled", value)
                places.setdefault(pattern, []).append((module, name, is_alone))
    late = [lattice.sign_pattern(), *lattice._unicode_patterns()]
    return [
        *(
            Timed(f"{where[0][0].__name__}.{where[0][1]}", pattern, _method(where))
            for pattern, where in places.items()
        ),
        *inline.values(),
        *(Timed(lattice.__name__, pattern) for pattern in late),
    ]


def left_out() -> tuple[int, list[str]]:
    """Return how many patterns modules compile as they are imported, and which are not timed.

    No module of the package may be imported before.
    """
    places: dict[re.Pattern[Any], str] = {}
    compile_pattern = re.compile

    def note(source: Any, flags: int = 0) -> re.Pattern[Any]:
        pattern = compile_pattern(source, flags)
        caller = sys._getframe(1)
        name = str(caller.f_globals.get("__name__"))
        if name.startswith("monitor."):
            places.setdefault(pattern, f"{name}:{caller.f_lineno}")
        return pattern

    re.compile = note  # type: ignore[assignment]
    timed = {timed.pattern for timed in every_pattern()}
    return len(places), [place for pattern, place in places.items() if pattern not in timed]


def _inline(module: ModuleType) -> Iterator[Timed]:
    """Yield the patterns that a module writes where it uses them: `re.search("...", text)`."""
    for node in ast.walk(_tree(module)):
        match node:
            case ast.Call(
                ast.Attribute(ast.Name("re"), function), [ast.Constant(str(source)), *_]
            ) if function != "compile":
                flags = re.IGNORECASE if "re.IGNORECASE" in ast.unparse(node) else 0
                method = function if function in ("match", "fullmatch") else SEARCHED
                place = f"{module.__name__}:{node.lineno}"
                yield Timed(place, re.compile(source, flags), method)


@lru_cache(None)
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))


def _patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    from monitor.match.language import mistakes
    from monitor.text.lazy_pattern import LazyPattern

    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, LazyPattern):
        yield value.compiled
    elif isinstance(value, mistakes.Rule):
        yield mistakes._compiled(value.pattern)
    elif isinstance(value, partial):
        yield from _patterns_in((*value.args, *value.keywords.values()))
    elif isinstance(value, dict):
        yield from _patterns_in((*value, *value.values()))
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _patterns_in(each)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        yield from _patterns_in([getattr(value, name) for name in value.__dataclass_fields__])


def _method(places: Iterable[tuple[ModuleType, str, bool]]) -> str:
    """Return "match" or "fullmatch" if no module does more with a pattern."""
    methods: set[str] = set()
    for module, name, is_alone in places:
        if (module.__name__, name) in _METHODS:
            return _METHODS[module.__name__, name]
        methods |= _uses(module).get(name, set()) if is_alone else {SEARCHED}
    if methods == {"fullmatch"}:
        return "fullmatch"
    return "match" if methods and methods <= {"match", "fullmatch"} else SEARCHED


@lru_cache(None)
def _uses(module: ModuleType) -> dict[str, set[str]]:
    """Return the methods that are called of each name of a module; other uses are searches."""
    uses: dict[str, set[str]] = {}
    seen: set[ast.AST] = set()
    for node in ast.walk(_tree(module)):
        match node:
            case ast.Attribute(ast.Name(name), attribute):
                seen.add(node.value)
                if attribute not in ("pattern", "flags"):
                    uses.setdefault(name, set()).add(attribute)
            case ast.Compare(ops=[ast.Is()]):
                seen.update(node.comparators)
            case ast.Name(name, ast.Load()) if node not in seen:
                uses.setdefault(name, set()).add(SEARCHED)
    return uses


# ── the texts ───────────────────────────────────────────────────────────────────────


def texts(pattern: re.Pattern[Any]) -> list[Text]:
    source = pattern.pattern
    if isinstance(source, bytes):
        source = source.decode("latin-1")
    found: dict[Text, None] = {}
    for before, pieces in _quantifiers(sre_parser.parse(source, pattern.flags), "", ""):
        end = _failing(pattern, before + pieces[0] * 3)
        pairs = map("".join, permutations(pieces[:MOST_PAIRED], 2))
        for piece in (*pieces, *pairs):
            found[Text("", piece, end)] = None
            found[Text(before, piece, end)] = None
    return list(found)


def _failing(pattern: re.Pattern[Any], text: str) -> str:
    """Return a character that no match of a text goes on with."""
    for end in ENDINGS:
        match = pattern.match(_as_of(pattern, text + end))
        if not match or match.end() <= len(text):
            return end
    return ENDINGS[0]


def _as_of(pattern: re.Pattern[Any], text: str) -> Any:
    return text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text


_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


def _quantifiers(items: Items, before: str, after: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what stands before each quantifier of a pattern, and the pieces of its texts."""
    for at, (kind, value) in enumerate(items):
        left = list(items[:at])
        right = list(items[at + 1 :])
        start = before + _sample(left)
        rest = _sample(right) + after
        for inner in _parts(kind, value):
            yield from _quantifiers(inner, start, rest)
        if kind in _REPEATS and value[1] >= MANY:
            bodies = list(filter(None, _samples(value[2])))
            sides = (
                *(_literal(left[::-1])[::-1], _sample(left[-1:]), _sample(left), start),
                *(_literal(right), _sample(right[:1]), _sample(right), rest),
            )
            last = sorted({body[-1] for body in bodies})
            pieces = dict.fromkeys(filter(None, (*bodies[:3], *sides, *bodies[3:], *last)))
            if pieces:
                yield start, list(pieces)


def _parts(kind: Any, value: Any) -> list[Items]:
    """Return the sequences inside an item of a pattern."""
    if kind in _REPEATS:
        return [value[2]]
    if kind is sre.BRANCH:
        return list(value[1])
    if kind is sre.SUBPATTERN:
        return [value[-1]]
    if kind is sre.ATOMIC_GROUP:
        return [value]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    if kind is sre.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return []


def _literal(items: Items) -> str:
    """Return the literal that a sequence begins with."""
    return "".join(chr(value) for _, value in takewhile(lambda item: item[0] is sre.LITERAL, items))


def _sample(items: Items) -> str:
    return "".join(_options(kind, value)[0] for kind, value in items)


def _samples(items: Items) -> list[str]:
    """Return texts that a sequence matches, with each of its choices once."""
    options = [_options(kind, value) for kind, value in items]
    first = [each[0] for each in options]
    found = {"".join(first): None}
    for at, each in enumerate(options):
        for other in each[1:]:
            found["".join([*first[:at], other, *first[at + 1 :]])] = None
    return list(found)


def _options(kind: Any, value: Any) -> list[str]:
    """Return short texts that an item matches; what may be missing is missing first."""
    if kind is sre.LITERAL:
        return [chr(value)]
    if kind in (sre.IN, sre.NOT_LITERAL, sre.ANY):
        return _characters(kind, value)
    if kind is sre.BRANCH:
        return [text for part in value[1] for text in _samples(part)]
    if kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
        return _samples(_parts(kind, value)[0])
    if kind in _REPEATS:
        least, _, inner = value
        bodies = [text * max(least, 1) for text in _samples(inner)]
        return bodies if least else ["", *bodies]
    return [""]


_TRIED = "a 1-.,x\n/<&\"'{A\\=:;é漢"
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_NOT_DIGIT: lambda one: not one.isdecimal(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda one: not one.isspace(),
    sre.CATEGORY_WORD: lambda one: one.isalnum() or one == "_",
    sre.CATEGORY_NOT_WORD: lambda one: not (one.isalnum() or one == "_"),
}


def _characters(kind: Any, value: Any) -> list[str]:
    """Return characters of a class: some of different sorts, and some that it lists."""
    if kind is sre.ANY:
        return ["a", " "]
    if kind is sre.NOT_LITERAL:
        return [one for one in _TRIED if ord(one) != value][:2]
    is_negative = value[0][0] is sre.NEGATE
    chosen = [one for one in _TRIED if _is_listed(value, one) != is_negative][:3]
    if not is_negative:
        chosen += [chr(arg) for op, arg in value if op is sre.LITERAL][:4]
        chosen += [chr(arg[0]) for op, arg in value if op is sre.RANGE][:4]
    return list(dict.fromkeys(chosen)) or ["\x01"]


def _is_listed(value: Any, one: str) -> bool:
    return any(
        (op is sre.LITERAL and arg == ord(one))
        or (op is sre.RANGE and arg[0] <= ord(one) <= arg[1])
        or (op is sre.CATEGORY and _CATEGORIES[arg](one))
        for op, arg in value
    )


# ── the time ────────────────────────────────────────────────────────────────────────


def measure(timed: Timed, text: Text) -> str:
    """Return how long a text takes if it takes too long, else ""."""

    def seconds(length: int, attempts: int = 1) -> float:
        whole = _as_of(timed.pattern, text.of(length))
        return min(_seconds(timed, whole) for _ in range(attempts))

    fault = ""
    try:
        longer = seconds(SCREENED)
        if longer < UNMEASURED or longer < MAX_SCREENED_RATIO * seconds(SCREENED // 4):
            return ""
        for attempts in ATTEMPTS:
            shorter = 0.0
            fault = ""
            for length in LENGTHS:
                longer = seconds(length, attempts)
                is_slow = longer > MOST_FOUND * _seconds_of_a_letter()
                if is_slow or (shorter and longer > MAX_RATIO * max(shorter, FLOOR)):
                    half = f", half of them {shorter:.4f} s" if shorter else ""
                    fault = f"{length:,} characters take {longer:.4f} s{half}"
                    break
                shorter = longer
            if not fault:
                break
    except HangError:
        return f"no end after {HANGS} s"
    return fault


@lru_cache
def _seconds_of_a_letter() -> float:
    """Return the processor time of a search that finds a letter, as this machine has it now."""
    letters = "a" * 100_000

    def find() -> float:
        began = time.thread_time()
        for _ in re.finditer(r"\w", letters):
            pass
        return time.thread_time() - began

    return min(find() for _ in range(5)) / len(letters)


def _seconds(timed: Timed, text: Any) -> float:
    """Return the processor time of one use of a pattern. Raises HangError."""
    use = getattr(timed.pattern, timed.method)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANGS)
    try:
        began = time.thread_time()
        result = use(text)
        if timed.method == SEARCHED:
            for _ in result:
                pass
        return time.thread_time() - began
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _hangs(*_: object) -> None:
    raise HangError


if __name__ == "__main__":
    main()
