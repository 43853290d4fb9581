"""The configuration as it is written: one file, those it includes, and the variables in them.

`${NAME}` in a value is the environment variable NAME, or the file that NAME_FILE names; `$${`
stands for `${` itself. A variable that is not set, is empty, or whose file cannot be read is a
fault: a secret that is missing must never become an empty one.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monitor.config.content import content
from monitor.config.settings import NAMED
from monitor.config.yaml_positions import Page, Place, Value, read_lines, read_page
from monitor.config.yaml_positions import Path as Where
from monitor.errors import Fault
from monitor.setting_types import Variables

# Settings that the environment may give where the file does not have them, as a container's does.
FROM_ENVIRONMENT: Mapping[Where, str] = {
    ("timezone",): "TZ",
    ("public_url",): "PAPER_MONITOR_PUBLIC_URL",
    ("web", "listen"): "PAPER_MONITOR_LISTEN",
    ("web", "token"): "PAPER_MONITOR_TOKEN",
}

_STORE = re.compile(r"""\bstore["']?\s*:""")
_BEGIN = "“paper-monitor init” creates one to start from"
_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MALFORMED = (
    "${ begins the name of an environment variable and } ends it, as in ${SMTP_PASSWORD}; "
    "for the characters themselves write $${"
)


@dataclass(slots=True)
class Environment:
    """The variables of the process; `files` are the secret files that were read, as bytes."""

    variables: Mapping[str, str]
    files: dict[str, bytes] = field(default_factory=dict)

    def fill(self, text: str) -> tuple[str, dict[str, str], list[str]]:
        """Put the variables into a text, once: what they hold is not looked at again.

        Return the text, what each `${NAME}` in it stood for, and the problems.
        """
        values: dict[str, str] = {}
        problems: list[str] = []

        def put(reference: re.Match[str]) -> str:
            if reference[0] == "$${":
                return "${"
            try:
                values[reference[0]] = self._value(reference[1], closed=bool(reference[2]))
            except ValueError as error:
                problems.append(str(error))
            return values.get(reference[0], reference[0])

        return _REFERENCE.sub(put, text), values, problems

    def _value(self, name: str, *, closed: bool) -> str:
        if not closed or not NAME.fullmatch(name):
            raise ValueError(_MALFORMED)
        value = self.variables.get(name)
        file = self.variables.get(f"{name}_FILE")
        if value and file:
            raise ValueError(f"both {name} and {name}_FILE are set; set one of them")
        if file:
            return self._secret(name, file)
        if value is None:
            raise ValueError(f"the environment variable {name} is not set, nor is {name}_FILE")
        if not value:
            raise ValueError(f"the environment variable {name} is set, but empty")
        return value

    def _secret(self, name: str, file: str) -> str:
        """Read a secret of Docker's; the newline that editors put at the end is not part of it."""
        try:
            self.files[file] = content(Path(file), may_be_pipe=True)
            text = self.files[file].decode()
        except OSError as error:
            self.files[file] = b""
            raise ValueError(f"{name}_FILE names {file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{name}_FILE names {file}, which is not UTF-8 text") from None
        text = text.removesuffix("\n").removesuffix("\r")
        if not text:
            raise ValueError(f"{name}_FILE names {file}, which is empty")
        return text


@dataclass(slots=True)
class Written:
    """The content of the configuration file, and of those that it includes."""

    # The main file, which includes the others. A fault without a place is reported at its begin.
    file: Path
    # The variables that values refer to.
    environment: Environment
    # The bytes of `file` alone, b"" if they could not be read.
    text: bytes = b""
    # The sections as mappings, lists and texts, with the variables put in.
    values: dict[str, Any] = field(default_factory=dict)
    # The file and line of each value, and of each mapping and list.
    places: dict[Where, Place] = field(default_factory=dict)
    # The values that refer to variables, as the files have them.
    as_written: dict[Where, str] = field(default_factory=dict)
    # For each value that refers to variables, the text that each `${NAME}` in it stood for.
    put_in: dict[Where, Mapping[str, str]] = field(default_factory=dict)
    # The faults found so far; any of them refuses the configuration.
    faults: list[Fault] = field(default_factory=list)
    # Likely mistakes found so far.
    warnings: list[Fault] = field(default_factory=list)
    # Values that could not be read: no further fault is added for them, or for values within.
    settled: set[Where] = field(default_factory=set)
    # The fault of each topic that is refused, but active in the store; it is not in `faults`.
    parked: dict[str, Fault] = field(default_factory=dict)

    def place(self, where: Where) -> Place:
        """Return where a value stands, or else the nearest thing around it that does."""
        while where and where not in self.places:
            where = where[:-1]
        return self.places.get(where) or Place(str(self.file), 1)

    def folder(self, where: Where) -> Path:
        """Return the folder that a relative path in this value is relative to."""
        return Path(self.place(where).file).absolute().parent

    def fault(self, where: Where, message: str, lines: int = 0) -> None:
        """Add a fault, unless this value was already found unreadable: one reason is enough.

        `lines` of the value stand before the fault.
        """
        if not any(where[:depth] in self.settled for depth in range(len(where) + 1)):
            self.faults.append(self._fault(where, message, lines))

    def warn(self, where: Where, message: str) -> None:
        self.warnings.append(self._fault(where, message))

    def _fault(self, where: Where, message: str, lines: int = 0) -> Fault:
        place = self.place(where)
        line = place.block + lines if place.block else place.line
        for path, values in self.put_in.items():
            if path[: len(where)] == where or where[: len(path)] == path:
                message = Variables(values).hide(message)
        return Fault(place.file, line, dotted(where), message)


def dotted(where: Where) -> str:
    """`sources.nature.url`; an item of a list is named by its list."""
    return ".".join(part for part in where if isinstance(part, str)) or "(file)"


def read(file: Path, variables: Mapping[str, str] | None = None) -> Written:
    """Read a configuration file with all that it includes; faults are in the result."""
    environment = Environment(os.environ if variables is None else variables)
    written = _read_one(file, environment, may_be_pipe=True)
    if written.faults and not written.values:
        _salvage_store(written)
    else:
        _add_from_environment(written)
    for included in _list_included(written, written.values.pop("include", None)):
        _merge(written, _read_one(included, environment))
    return written


def read_text(text: str, file: Path, variables: Mapping[str, str]) -> Written:
    """Read what is about to be written into a configuration file, which includes no other."""
    written = Written(file, Environment(variables))
    return _understand(written, read_page(text, str(file)))


def unset(names: Iterable[str]) -> list[str]:
    """Return which of these variables `${NAME}` could not read from the environment."""
    environment = Environment(os.environ)
    return [name for name in names if environment.fill(f"${{{name}}}")[2]]


def _salvage_store(written: Written) -> None:
    """Find the `store:` of a file that is not valid YAML, so that its store can still be read.

    It must be on one line at the top level. If several lines name a store, it counts as not valid.
    """
    try:
        lines = written.text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = []
    mentions = [line for line in lines if _STORE.search(line.partition("#")[0])]
    page = read_page(mentions[0] if mentions else "", str(written.file))
    value = page.value.get("store") if isinstance(page.value, dict) else None
    if len(mentions) == 1 and isinstance(value, str) and not page.problems:
        written.values = _fill(written, (), {"store": value})
    elif mentions or not lines:
        written.settled.add(("store",))


def watch(file: Path, variables: Mapping[str, str] | None = None) -> str:
    """Return a text that changes with the file, valid or not, and its included and secret ones."""
    environment = Environment(os.environ if variables is None else variables)
    files = {str(file.absolute()): _bytes(file)}
    if b"include" in files[str(file.absolute())]:
        written = _read_one(file, environment)
        for included in _list_included(written, written.values.get("include")):
            files[str(included.absolute())] = _bytes(included)
    for text in tuple(files.values()):
        environment.fill(text.decode(errors="replace"))
    for name in FROM_ENVIRONMENT.values():
        environment.fill(f"${{{name}}}")
    digest = hashlib.sha256()
    for name, text in sorted((files | environment.files).items()):
        digest.update(f"{name}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.hexdigest()


def _bytes(file: Path) -> bytes:
    """Return the content of a file, empty when it cannot be read: `read` reports that.

    A pipe, which can be read once, does not change.
    """
    try:
        return content(file)
    except OSError:
        return b""


def _read_one(file: Path, environment: Environment, *, may_be_pipe: bool = False) -> Written:
    """Read one file and put its variables in; without values when there is no using it."""
    written = Written(file, environment)
    return _understand(written, _page(written, may_be_pipe=may_be_pipe))


def _understand(written: Written, page: Page) -> Written:
    """Put the values of a page into what is written, with the variables filled in."""
    written.places = page.places
    for where, line, message in page.problems:
        written.faults.append(Fault(str(written.file), line, dotted(where), message))
    if isinstance(page.value, dict):
        written.values = _fill(written, (), page.value)
    elif not page.problems:
        problem = "is empty" if page.value is None else "contains no settings (name: value)"
        written.fault((), f"this file {problem}")
    return written


def _page(written: Written, *, may_be_pipe: bool) -> Page:
    try:
        text = written.text = content(written.file, may_be_pipe=may_be_pipe)
    except FileNotFoundError:
        return Page(problems=[((), 1, f"there is no such file; {_BEGIN}")])
    except OSError as error:
        return Page(problems=[((), 1, f"this file cannot be read: {error.strerror}")])
    try:
        lines = written.file.suffix == ".jsonl"
        return (read_lines if lines else read_page)(text.decode("utf-8-sig"), str(written.file))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        return Page(problems=[((), line, "this is not UTF-8 text; save the file as UTF-8")])


def _fill(written: Written, where: Where, value: Value) -> Any:
    if isinstance(value, dict):
        return {k: _fill(written, (*where, k), v) for k, v in value.items()}
    if isinstance(value, list):
        return [_fill(written, (*where, i), v) for i, v in enumerate(value)]
    if value is None or "${" not in value:
        return value
    text, written.put_in[where], problems = written.environment.fill(value)
    written.as_written[where] = value
    for problem in problems:
        written.fault(where, problem)
    if problems:
        written.settled.add(where)
    return text


def _add_from_environment(written: Written) -> None:
    """Add `${NAME}` for each of these settings that is missing and whose variable is set."""
    variables = written.environment.variables
    for where, name in FROM_ENVIRONMENT.items():
        if not (variables.get(name) or variables.get(f"{name}_FILE")):
            continue
        inner: Any = written.values
        for section in where[:-1]:
            if inner.get(section) is None:
                inner[section] = {}
            inner = inner[section]
        if isinstance(inner, dict) and inner.get(where[-1]) is None:
            inner[where[-1]] = _fill(written, where, f"${{{name}}}")
            del written.as_written[where]


def _list_included(written: Written, patterns: object) -> Iterator[Path]:
    """Yield the files that `include:` names, each once, in name order; never the file itself."""
    texts = [patterns] if isinstance(patterns, str) else patterns or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        written.fault(("include",), "should be a list of files, as in [people/*.yaml]")
        return
    seen = {os.path.realpath(written.file)}
    for index, pattern in enumerate(texts):
        files = _matching(written.file.parent, pattern)
        if not files:
            report = written.warn if glob.has_magic(pattern) else written.fault
            report(("include", index), f"there is no file “{pattern}”")
        for path in files:
            if os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield path


def _matching(folder: Path, pattern: str) -> list[Path]:
    if not glob.has_magic(pattern):
        return [folder / pattern] if (folder / pattern).exists() else []
    if Path(pattern).is_absolute():
        folder = Path("/")
        pattern = pattern.lstrip("/")
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except ValueError:  # ** inside a name, which globs do not know
        return []


def _merge(written: Written, added: Written) -> None:
    """Lay an included file's entries beside those that are there; a name may stand once."""
    for section, entries in added.values.items():
        if section not in NAMED:
            added.fault((section,), f"an included file may contain only {', '.join(NAMED)}")
            continue
        if written.values.get(section) is None:
            written.values[section] = {}
        ours = written.values[section]
        if entries is not None and not isinstance(entries, dict):
            added.fault((section,), "should be names with their settings")
            continue
        for name, entry in (entries or {}).items():
            if first := written.places.get((section, name)):
                message = f"“{name}” is already in {first.file}, line {first.line}"
                added.fault((section, name), message)
            elif isinstance(ours, dict):
                ours[name] = entry
    # Of a name that is in both files, all that is remembered is from the first.
    for name in ("places", "as_written", "put_in"):
        setattr(written, name, getattr(added, name) | getattr(written, name))
    written.faults += added.faults
    written.settled |= added.settled
