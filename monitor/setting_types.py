"""The types of settings: the form of each value, and the values that are refused.

Each package declares its own settings with them, and `config` collects these. Settings are
validated with a `SettingsContext`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping, Sized
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parseaddr
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from monitor.errors import nearest


class Section(BaseModel):
    """Settings with fixed names: frozen, and a name that is not a setting is refused.

    The `description` of each is Markdown: the tables of the docs and the schema show it. `instead`
    says what to write in place of names that people expect here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    instead: ClassVar[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Unset:
    """A text on what applies where a setting is not set, if its default does not say it."""

    words: str


@dataclass(frozen=True, slots=True)
class Variable:
    """The environment variable that the documentation names for a secret."""

    name: str


@dataclass(frozen=True, slots=True)
class Required:
    """When a setting is required that has a default in the model: `for ...` or `without ...`."""

    when: str


@dataclass(frozen=True, slots=True)
class SettingsContext:
    """The context of a setting: the folder of its file, and the names that it may refer to."""

    # The folder of the file that has the setting; relative paths begin there.
    folder: Path = Path()
    # The folder of the main file, which may include files of other folders.
    configuration: Path = Path()
    # The names of all sources.
    sources: Collection[str] = ()
    # The names of the sources with this role.
    libraries: Collection[str] = ()
    # The names of all topics.
    topics: Collection[str] = ()
    # The names in `channels:`.
    channels: Collection[str] = ()
    # There is a section `smtp:`, even under a wrong name, which is a fault of its own.
    smtp: bool = False
    # There is a section `slack:`.
    slack: bool = False
    # The setting `public_url` is there.
    public_url: bool = False
    # The folder of the user's templates, None without one.
    templates: Path | None = None
    # Queries are taken as they are written, whatever is wrong with them.
    unread: bool = False


def context_of(info: ValidationInfo) -> SettingsContext:
    assert isinstance(info.context, SettingsContext), "settings are validated with a context"
    return info.context


_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A text that never shows itself; `reveal()` is for the one place that needs it."""

    _value: str

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "********"

    __str__ = __repr__

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        text = core_schema.no_info_after_validator_function(line, core_schema.str_schema())
        return core_schema.no_info_after_validator_function(
            cls, text, serialization=core_schema.to_string_ser_schema()
        )


# Shorter values are no secrets, such as a number of a page: they are hidden as whole words only.
_SHORT = 4


def literal(text: str) -> str:
    """Return a text as a setting in which no variable of the environment is read."""
    return text.replace("${", "$${")


@dataclass(frozen=True, slots=True)
class Variables:
    """The values of variables, by the `${NAME}` that stands for each wherever they are hidden."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.values)

    def hide(self, text: str) -> str:
        """Replace values by their references, in any case and also as URLs quote them."""
        pattern, references = _any_of(tuple(self.values.items()))
        if not references:
            return text
        return pattern.sub(lambda match: references[(match.lastindex or 1) - 1], text)

    def within(self, text: str) -> Variables:
        """Return the variables whose values are in a text."""
        one_each = ((name, Variables({name: value})) for name, value in self.values.items())
        return Variables({n: one.values[n] for n, one in one_each if one.hide(text) != text})

    def reveal(self, text: str) -> str:
        """Replace references by their values."""
        for reference, value in self.values.items():
            text = text.replace(reference, value)
        return text


@lru_cache(100)
def _any_of(values: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], list[str]]:
    """Return a pattern with a group for each form of the values, longest first, and their names."""
    forms = {form: name for name, value in values for form in _forms(value)}
    longest = sorted(forms, key=len, reverse=True)
    pattern = "|".join(f"({_quoted_or_not(form)})" for form in longest)
    return re.compile(pattern, re.IGNORECASE), [forms[form] for form in longest]


def _forms(value: str) -> set[str]:
    """Return a value and, of a whole address, what is shown: no user, and no query."""
    forms = {value, re.split(r"[?#]", value)[0]}
    scheme, is_address, rest = value.partition("://")
    if is_address:
        host, slash, path = re.split(r"[?#]", rest)[0].partition("/")
        forms |= {f"{scheme}://{host.rpartition('@')[2]}{slash}{path}", f"/{path}"}
    return {form for form in forms if form.strip("/")}


def _quoted_or_not(text: str) -> str:
    pattern = "".join(
        f"(?:{re.escape(char)}|{''.join(f'%{byte:02x}' for byte in char.encode())})"
        for char in text
    )
    return pattern if len(text) >= _SHORT else rf"(?<![^\W_]){pattern}(?![^\W_])"


# Characters of the title of a topic, source or subscription.
LONGEST_DISPLAY_NAME = 100


def single_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("contains a control character or a line break")
    return text


def line(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return single_line(text)


def _length(written: re.Pattern[str], examples: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    match = written.fullmatch(value.strip())
    if not match:
        raise ValueError(f"“{value}” is not a duration; write {examples}")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


_duration = partial(_length, re.compile(r"([1-9]\d{0,5})(min|[mhd])"), "30m, 6h, 1d or 7d")
_timeout = partial(_length, re.compile(r"([1-9]\d{0,5})(min|[smh])"), "30s, 5m or 1h")


def duration(value: timedelta) -> str:
    """Write a length of time as the file does: 30s, 15m, 6h, 7d."""
    seconds = int(value.total_seconds())
    unit = next(unit for unit in "dhms" if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def _span(value: object) -> object:
    """Read `5m-15m`, or a single length of time for both ends."""
    if not isinstance(value, str):
        return value
    lengths = [_duration(part) for part in value.split("-", 1)]
    if lengths[0] > lengths[-1]:  # type: ignore[operator]
        raise ValueError(f"“{value}” ends before it begins")
    return lengths[0], lengths[-1]


def _shown_span(value: tuple[timedelta, timedelta]) -> str:
    least, most = (duration(end) for end in value)
    return least if least == most else f"{least}-{most}"


_MODE = re.compile(r"0?[0-7]{3}")


def _mode(value: object) -> object:
    """Read the mode of files as chmod takes it: read and write for their owner, never execute."""
    if not isinstance(value, str):
        return value
    mode = int(value, 8) if _MODE.fullmatch(value) else 0
    if mode & 0o711 != 0o600:
        raise ValueError(f"“{value}” is not a mode of files; write 0600, 0640 or 0644")
    return mode


def one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"“{value}” is in this list twice")
    return values


def _not_empty(values: Sized) -> Sized:
    if not values:
        raise ValueError("needs at least one")
    return values


def _address(text: str) -> str:
    local, at, domain = text.partition("@")
    several = [part for part in re.split(r"[,;\s]+", text) if part]
    if len(several) > 1 and all(part.count("@") == 1 for part in several):
        written = f"[{', '.join(several)}]"
        raise ValueError(f"“{text}” should be one address; write several as a list, {written}")
    if re.search(r"\s", text) or _CONTROL.search(text):
        raise ValueError(f"“{text}” should be an address alone, without a name or spaces")
    atoms = [*local.split("."), *domain.split(".")]
    if not at or not all(atoms) or re.search(r"[<>()\",;]|@.*@", text):
        raise ValueError(f"“{text}” is not an e-mail address, as in ada@example.org")
    return text


def _sender(text: str) -> str:
    """A From header's value (RFC 5322 3.4): an address, or a name with one in < >."""
    line(text)
    address = parseaddr(text)[1]
    try:
        if text not in (address, f"<{address}>") and not text.endswith(f" <{address}>"):
            raise ValueError
        _address(address)
    except ValueError:
        raise ValueError(f"“{text}” is not a sender, as in Papers <papers@example.org>") from None
    return text


LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1"))


def is_loopback(host: str | None) -> bool:
    """Whether the host of a setting is this machine, by its name or address.

    `web/access` decides by itself about the addresses of visitors: names are none, and IPv4 comes
    in IPv6, too.
    """
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return host == "localhost"
    return any(address in network for network in LOOPBACK)


def https(text: str) -> str:
    """Let pass an https URL, or http to this machine; the message never shows it."""
    try:
        parts = urlsplit(text)
        safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
    except ValueError:
        safe = False
    if not safe or not parts.hostname:
        raise ValueError("should be a URL that begins with https://, or http:// to this machine")
    return text


def _web_address(url: str) -> str:
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError("`url:` must begin with http:// or https://")
    return url


def require_encryption(url: str, sent: str, allow_private: bool) -> None:
    """Raise ValueError if what is `sent` to an address leaves this machine unencrypted."""
    parts = urlsplit(url)
    is_plain = parts.scheme.lower() == "http" and not is_loopback(parts.hostname)
    if is_plain and not allow_private:
        raise ValueError(
            f"`url:` would send {sent} unencrypted; write https://, or allow_private: true for a "
            "server in your own network"
        )


def _secret_url(secret: Secret) -> Secret:
    https(secret.reveal())
    return secret


def _web_url(secret: Secret) -> Secret:
    parts = urlsplit(secret.reveal())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be a URL that begins with https:// or http://")
    return secret


_LENGTH = "[1-9][0-9]{0,5}(min|[mhd])"
_SPAN_SCHEMA = {"type": "string", "pattern": f"^{_LENGTH}(-{_LENGTH})?$"}

Line = Annotated[str, AfterValidator(line)]
Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": f"^{_LENGTH}$"}),
]
Timeout = Annotated[
    timedelta,
    BeforeValidator(_timeout),
    PlainSerializer(duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]{0,5}(min|[smh])$"}),
]
Span = Annotated[
    tuple[timedelta, timedelta],
    BeforeValidator(_span),
    PlainSerializer(_shown_span, return_type=str),
    WithJsonSchema(_SPAN_SCHEMA),
]
# A list of them, in which a single one may stand alone.
Spans = Annotated[
    tuple[Span, ...],
    BeforeValidator(one_or_more),
    WithJsonSchema({"anyOf": [_SPAN_SCHEMA, {"type": "array", "items": _SPAN_SCHEMA}]}),
]
Address = Annotated[str, AfterValidator(_address)]
Sender = Annotated[str, AfterValidator(_sender)]
HttpsUrl = Annotated[str, AfterValidator(https)]
# The address of a service, in a setting `url`.
WebAddress = Annotated[str, AfterValidator(_web_address)]
SecretUrl = Annotated[Secret, AfterValidator(_secret_url)]
# One that may be of a machine nearby, without TLS.
SecretWebUrl = Annotated[Secret, AfterValidator(_web_url)]

SOME = AfterValidator(_not_empty)

_TEXT_OR_TEXTS = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    ]
}
T = TypeVar("T", bound=str)
# A list in which a single text may stand alone, and nothing twice.
OneOrMore = Annotated[
    tuple[T, ...],
    BeforeValidator(one_or_more),
    AfterValidator(_distinct),
    WithJsonSchema(_TEXT_OR_TEXTS),
]


def _library(name: str, info: ValidationInfo) -> str:
    context = context_of(info)
    if name in context.libraries:
        return name
    if name in context.sources:
        raise ValueError(f"“{name}” is no library; give this source role: library")
    near = nearest(name, context.libraries) or "; no source has role: library"
    raise ValueError(f"there is no library “{name}”{near}")


# The names of sources with this role.
Libraries = OneOrMore[Annotated[str, AfterValidator(_library)]]


Mode = Annotated[
    int,
    BeforeValidator(_mode),
    # Not str.format, whose signature Pydantic cannot read in Python 3.13.
    PlainSerializer(lambda mode: f"{mode:04o}", return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^0?6[0246][0246]$"}),
]


def resolve_path(folder: Path, path: str) -> Path:
    """Return a path that is relative to `folder`, with ~ replaced."""
    try:
        return folder / Path(path).expanduser()
    except RuntimeError:  # the home of an account that does not exist
        return folder / path


def _resolve(path: object, info: ValidationInfo) -> object:
    if not isinstance(path, str):
        return path
    return resolve_path(context_of(info).folder, line(path))


def _existing(what: str, path: Path) -> Path:
    if not (path.is_file() if what == "file" else path.is_dir()):
        raise ValueError(f"there is no {what} {path}")
    return path


def _needs_smtp(address: str, info: ValidationInfo) -> str:
    if not context_of(info).smtp:
        raise ValueError("e-mail needs an smtp: section")
    return address


# A path is relative to the file that names it.
FilePath = Annotated[Path, BeforeValidator(_resolve)]
ExistingFile = Annotated[FilePath, AfterValidator(partial(_existing, "file"))]
ExistingFolder = Annotated[FilePath, AfterValidator(partial(_existing, "folder"))]
Recipients = OneOrMore[Annotated[Address, AfterValidator(_needs_smtp)]]
