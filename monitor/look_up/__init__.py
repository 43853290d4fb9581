"""Services that are asked about papers whose records lack something: one file a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.look_up.service import Service

_CLASSES = {
    "huggingface": "monitor.look_up.huggingface:HuggingFaceService",
    "arxiv": "monitor.look_up.arxiv:ArxivService",
    "crossref": "monitor.look_up.crossref:CrossrefService",
    "semantic-scholar": "monitor.look_up.semantic_scholar:SemanticScholarService",
    "openalex": "monitor.look_up.openalex:OpenAlexService",
}


class _Services(Mapping[str, "type[Service]"]):
    """The classes of services by name, each imported when it is first used."""

    def __getitem__(self, name: str) -> type[Service]:
        module, _, class_name = _CLASSES[name].partition(":")
        loaded: type[Service] = getattr(import_module(module), class_name)
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


SERVICES: Mapping[str, type[Service]] = _Services()
