"""Templates whose output is shared, because it depends on few values.

Most of a digest are lines that it shares with others: the same paper, listed by its title. A
template like `mail/title_line.html.j2` reads only fields of the values that it gets
(`entry.paper.url`) and filters that look at some of them (`entry|headline`). Which fields these
are is read off the template when it is compiled; where they are equal, so is the output, and it is
written once. A template that does anything else (calls, includes, whole values) is always written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from operator import attrgetter
from types import CodeType
from typing import Any

from jinja2 import Environment, Template, nodes
from jinja2.environment import TemplateModule
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Context

# How much output each template keeps. A title line has about 250 characters.
_MOST_CHARACTERS = 4_000_000

_DATES = (
    *("paper.announced", "paper.day", "paper.month", "paper.year", "paper.listed"),
    "first_seen",
)
# What filters read of an entry; other filters get it whole.
_READ_BY_FILTERS = {
    "headline": ("paper.title", "reasons"),
    "excerpt": ("paper.abstract", "reasons"),
    "whole_abstract": ("paper.abstract", "reasons"),
    "found": ("matched",),
    "links": ("addresses",),
    "why": ("matched",),
    "order_reason": ("placed",),
    "what_changed": ("revised",),
    "link": ("paper.title", "addresses", "search"),
    "place": (
        *("paper.venue", "paper.categories", "sources", "source_titles"),
        *_DATES,
    ),
    "dated": _DATES,
}

_WITH_OTHER_INPUT = (
    nodes.Block,
    nodes.Call,
    nodes.CallBlock,
    nodes.Extends,
    nodes.FromImport,
    nodes.Import,
    nodes.Include,
    nodes.Macro,
)


def find_reads(template: nodes.Template) -> dict[str, list[str]] | None:
    """Return the fields that a template reads of each of its variables.

    None if its output may depend on more than such fields.
    """
    if next(template.find_all(_WITH_OTHER_INPUT), None):
        return None
    if any(one.name == "random" for one in template.find_all((nodes.Filter,))):
        return None
    fields = {name: set[str]() for name in find_undeclared_variables(template)}
    for name, path in _paths(template):
        if name in fields:  # else it is a variable of the template itself
            if not path:
                return None
            fields[name] |= path
    return {name: sorted(paths) for name, paths in fields.items()}


def _paths(node: nodes.Node) -> Iterator[tuple[str, set[str]]]:
    """Yield each name with the fields that are read of it, none if it is read as a whole."""
    if isinstance(node, nodes.Name) and node.ctx == "load":
        yield node.name, set()
        return
    name, path = _chain(node)
    if name:
        yield name, {path}
        return
    inner = list(node.iter_child_nodes())
    if isinstance(node, nodes.Filter) and isinstance(node.node, nodes.Name):
        yield node.node.name, set(_READ_BY_FILTERS.get(node.name, ()))
        inner.remove(node.node)
    for one in inner:
        yield from _paths(one)


def _chain(node: nodes.Node) -> tuple[str, str]:
    """Return `entry` and `paper.url` for the expression `entry.paper.url`; else nothing."""
    fields: list[str] = []
    while isinstance(node, nodes.Getattr):
        fields.insert(0, node.attr)
        node = node.node
    return (node.name, ".".join(fields)) if fields and isinstance(node, nodes.Name) else ("", "")


class SharedTemplate(Template):
    """A template that writes once what depends on equal fields."""

    _write: Callable[[Context], Iterator[str]]
    _reads: list[tuple[str, Callable[[Any], Hashable]]]
    _written: dict[tuple[Hashable, ...], str]
    _characters: int

    @classmethod
    def from_code(
        cls,
        environment: Environment,
        code: CodeType,
        globals: MutableMapping[str, Any],
        uptodate: Callable[[], bool] | None = None,
    ) -> Template:
        template = super().from_code(environment, code, globals, uptodate)
        assert isinstance(template, cls)
        template._write = template.root_render_func
        if reads := template.root_render_func.__globals__["reads"]:
            template._reads = [(name, attrgetter(*paths)) for name, paths in reads.items()]
            template._written, template._characters = {}, 0
            template.root_render_func = template._write_once
        return template

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Return what is written already, without a context for it."""
        values = dict(*args, **kwargs)
        written = None
        if self.root_render_func == self._write_once:
            with suppress(AttributeError, KeyError, TypeError):
                written = self._written.get(
                    tuple([read(values[name]) for name, read in self._reads])
                )
        return super().render(values) if written is None else written

    def release(self) -> None:
        """Let go of what was written, when the digests that share it are done."""
        self._written, self._characters = {}, 0

    def make_module(
        self,
        vars: dict[str, Any] | None = None,
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,
    ) -> TemplateModule:
        """An imported template is always run, for the sake of what it sets."""
        context = self.new_context(vars, shared, locals)
        return TemplateModule(self, context, list(self._write(context)))

    def _write_once(self, context: Context) -> Iterator[str]:
        try:
            key = tuple([read(context.get(name)) for name, read in self._reads])
            written = self._written.get(key)
        except (AttributeError, TypeError):  # a field is missing, or cannot be compared
            yield from self._write(context)
            return
        if written is None:
            written = "".join(self._write(context))
            self._characters += len(written)
            if self._characters > _MOST_CHARACTERS:
                self._written.clear()
                self._characters = len(written)
            self._written[key] = written
        yield written
