"""The tables of the docs that list settings, from the models of the settings.

A page has each table between two marks, such as `<!-- the settings of smtp begin -->` and
`<!-- the settings of smtp end -->`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from monitor.channels.base import ChannelOptions
from monitor.config.declared import Declared, declared
from monitor.config.settings import (
    KINDS,
    NAMED,
    SECTIONS,
    ChannelSettings,
    General,
    Included,
    Settings,
    SourceSettings,
)
from monitor.errors import UsageError
from monitor.plugins import Kinds
from monitor.sources.base import SourceOptions

Row = Sequence[str]

_BY_KIND = ("setting", "kind", "default", "meaning")


def write(folder: Path) -> None:
    """Write the tables into the pages of a folder. Raises UsageError if one has no place there."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    made = tables()
    for name in made:
        if not any(mark(name, "begin") in text for text in pages.values()):
            raise UsageError(
                f"no page in {folder} has the settings of {name}",
                f"write {mark(name, 'begin')} and {mark(name, 'end')} in one",
            )
    for path, text in pages.items():
        path.write_text(with_tables(text, made), encoding="utf-8")


def with_tables(page: str, made: Mapping[str, str]) -> str:
    """Return a page with those of the tables that it has marks for."""
    for name, table in made.items():
        begin = mark(name, "begin")
        end = mark(name, "end")
        before, _, rest = page.partition(begin)
        _, ends, after = rest.partition(end)
        if ends:
            page = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    return page


def mark(name: str, word: str) -> str:
    """Return the comment that stands before a table (`begin`) or after it (`end`)."""
    return f"<!-- the settings of {name} {word} -->"


def tables() -> Mapping[str, str]:
    """Return each table by the name that its marks have."""
    top = [*declared(General), *declared(Included)]
    top += [setting for setting in declared(Settings) if setting.name in SECTIONS]
    kind, *others = declared(SourceSettings)
    made = {
        "the file": table_of("setting", top),
        "sources": table_of("setting", [kind, *declared(SourceOptions), *others]),
        "kinds of sources": _table(_BY_KIND, _by_kind(KINDS["sources"], SourceOptions)),
        "channels": _table(
            _BY_KIND,
            [
                *((_name(each), "all", *_shown(each)) for each in declared(ChannelSettings)),
                *_by_kind(KINDS["channels"], ChannelOptions),
            ],
        ),
    }
    for name, model in SECTIONS.items():
        if name not in KINDS:
            made |= _tables_in(name, model)
    return made


def _tables_in(name: str, model: type[BaseModel]) -> dict[str, str]:
    """Return the table of a section, and those of the sections in it."""
    settings = list(declared(model))
    made = {name: table_of("setting" if name in NAMED else f"setting of `{name}`", settings)}
    for setting in settings:
        if setting.section:
            made |= _tables_in(f"{name}.{setting.name}", setting.section)
    return made


def table_of(heading: str, settings: Iterable[Declared]) -> str:
    """Return a table of settings; `heading` is that of their names."""
    rows = ((_name(setting), *_shown(setting)) for setting in settings)
    return _table((heading, "default", "meaning"), rows)


def _by_kind(kinds: Kinds[Any], common: type[BaseModel]) -> Iterator[Row]:
    """Yield the rows of settings that only some kinds have; kinds that agree share a row."""
    common_names = {setting.name for setting in declared(common)}
    names: dict[str, dict[Row, list[str]]] = {}
    for kind in kinds.built_in:
        for setting in declared(kinds.load(kind).Options):
            if setting.name not in common_names:
                rows = names.setdefault(_name(setting), {})
                rows.setdefault(_shown(setting), []).append(f"`{kind}`")
    for name, rows in names.items():
        for shown, agreeing in rows.items():
            yield name, ", ".join(agreeing), *shown


def _name(setting: Declared) -> str:
    return f"`{setting.name}`"


def _shown(setting: Declared) -> Row:
    """Return the default of a setting, and its words."""
    if setting.required_when:
        return f"required {setting.required_when}", setting.words
    if setting.unset:
        return setting.unset, setting.words
    return "required" if setting.is_required else _value(setting.default), setting.words


def _value(default: object) -> str:
    """Return a default as the file would have it, nothing for an empty one."""
    match default:
        case None | "" | [] | {}:
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case float():
            return f"`{default:g}`"
        case [*values]:
            written = ", ".join(map(str, values))
            return f"`{written}`" if len(values) == 1 else f"`[{written}]`"
    return f"`{default}`"


def _table(heads: Row, rows: Iterable[Row]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(_line(line) for line in cells)


def _line(cells: Row) -> str:
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"
