"""The sandbox that templates run in."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from msgspec import Struct

from monitor.digest.excerpt import Passage
from monitor.digest.fragments import SharedTemplate, find_reads
from monitor.digest.links import Link
from monitor.digest.wording import Found
from monitor.model import AboutSubscription, Digest, DigestPaper, DigestSection, OtherTitle, Paper


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, without its checks for the fields of our own values: these are data."""

    template_class = SharedTemplate

    def _generate(
        self,
        source: nodes.Template,
        name: str | None,
        filename: str | None,
        defer_init: bool = False,
    ) -> str:
        """Note in the code of a template what it reads, for `SharedTemplate`."""
        code = super()._generate(source, name, filename, defer_init)
        return f"{code}\nreads = {find_reads(source)!r}\n"

    def drop_changed(self) -> None:
        """Let changed templates be read again. Jinja by itself looks at each inclusion."""
        assert self.cache is not None
        if not all(template.is_up_to_date for template in self.cache.values()):
            self.cache.clear()

    def release(self) -> None:
        """Let go of what templates wrote once for several digests."""
        assert self.cache is not None
        for template in list(self.cache.values()):
            assert isinstance(template, SharedTemplate)
            template.release()

    def getattr(self, obj: Any, attribute: str) -> Any:
        if attribute in _FIELDS.get(type(obj), ()):
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Filters look for a field by name as an item first."""
        if isinstance(argument, str) and argument in _FIELDS.get(type(obj), ()):
            return getattr(obj, argument)
        return super().getitem(obj, argument)


def _fields_of(value: Any) -> frozenset[str]:
    if issubclass(value, Struct):
        return frozenset(value.__struct_fields__)
    return frozenset(field.name for field in fields(value))


_VALUES = (
    *(Digest, DigestSection, DigestPaper, Paper, OtherTitle, AboutSubscription),
    *(Passage, Found, Link),
)
_FIELDS = {value: _fields_of(value) for value in _VALUES}
