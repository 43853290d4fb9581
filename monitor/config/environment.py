"""`${NAME}` in a value: the environment variable NAME, or the file that NAME_FILE names.

`$${` stands for `${` itself. A variable that is not set, is empty, or whose file cannot be
read is a fault: a secret that is missing must never become an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MALFORMED = (
    "${ begins the name of an environment variable and } ends it, as in ${SMTP_PASSWORD}; "
    "for the characters themselves write $${"
)


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its variables put in. `values` maps `${NAME}` to what it stood for."""

    text: str
    values: Mapping[str, str]
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class Environment:
    """The variables of the process; `files` are the secret files that were read, as bytes."""

    variables: Mapping[str, str]
    files: dict[str, bytes] = field(default_factory=dict)

    def fill(self, text: str) -> Filled:
        """Put the variables into a text, once: what they hold is not looked at again."""
        values: dict[str, str] = {}
        problems: list[str] = []

        def put(found: re.Match[str]) -> str:
            if found[0] == "$${":
                return "${"
            try:
                values[found[0]] = self._value(found[1], closed=bool(found[2]))
            except ValueError as error:
                problems.append(str(error))
                return found[0]
            return values[found[0]]

        return Filled(_REFERENCE.sub(put, text), values, tuple(problems))

    def _value(self, name: str, *, closed: bool) -> str:
        if not closed or not _NAME.fullmatch(name):
            raise ValueError(_MALFORMED)
        value, file = self.variables.get(name), self.variables.get(f"{name}_FILE")
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
            self.files[file] = Path(file).read_bytes()
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
