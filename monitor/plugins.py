"""Kinds of sources and channels by name: what is built in, then what other packages bring.

A package adds a kind with an entry point, `monitor.sources` or `monitor.channels`, whose name
is the kind and whose value is `module:Class`. A class is imported when its kind is first used;
its `Options` are the settings of that kind.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from monitor.channels.base import Channel, complete
from monitor.errors import UsageError
from monitor.sources.base import Source

SOURCES: Mapping[str, str] = {
    "huggingface-page": "monitor.sources.huggingface_page.source:HuggingFacePage",
    "feed": "monitor.sources.feed.source:Feed",
    "arxiv": "monitor.sources.arxiv:Arxiv",
    "oai": "monitor.sources.oai.source:Oai",
    "biorxiv": "monitor.sources.biorxiv:BioRxiv",
    "medrxiv": "monitor.sources.biorxiv:MedRxiv",
    "huggingface": "monitor.sources.huggingface:HuggingFace",
    "europepmc": "monitor.sources.europepmc:EuropePmc",
    "crossref": "monitor.sources.crossref:Crossref",
    "openalex": "monitor.sources.openalex:OpenAlex",
    "semanticscholar": "monitor.sources.semanticscholar:SemanticScholar",
    "openreview": "monitor.sources.openreview:OpenReview",
    "pubmed": "monitor.sources.pubmed:PubMed",
    "dblp": "monitor.sources.dblp:Dblp",
    "bibtex": "monitor.sources.bibtex:BibTex",
    "ris": "monitor.sources.ris:Ris",
    "jsonl": "monitor.sources.jsonl.source:Jsonl",
}
CHANNELS: Mapping[str, str] = {
    "email": "monitor.channels.email.channel:Mail",
    "slack": "monitor.channels.slack.channel:Slack",
    "file": "monitor.channels.file:Pages",
}


def source_kinds() -> dict[str, str]:
    """Return every kind of source, with the `module:Class` that reads it."""
    return _entry_points("monitor.sources", tuple(sys.path)) | dict(SOURCES)


def channel_kinds() -> dict[str, str]:
    """Return every kind of channel, with the `module:Class` that sends on it."""
    return _entry_points("monitor.channels", tuple(sys.path)) | dict(CHANNELS)


def source_class(kind: str) -> type[Source]:
    """Import the class of a kind of source; UsageError for an unknown or broken one."""
    return _class("source", kind, SOURCES if kind in SOURCES else source_kinds())


def channel_class(kind: str) -> type[Channel]:
    """Import the class of a kind of channel; UsageError for an unknown or incomplete one."""
    kinds = CHANNELS if kind in CHANNELS else channel_kinds()
    return complete(kind, _class("channel", kind, kinds))


@cache
def _entry_points(group: str, places: tuple[str, ...]) -> dict[str, str]:
    """Look through all installed packages once for each set of places: it takes 20 ms.

    Kinds that are built in take precedence and are found without it.
    """
    return {point.name: point.value for point in entry_points(group=group)}


def _class(what: str, kind: str, kinds: Mapping[str, str]) -> type[Any]:
    if kind not in kinds:
        near = difflib.get_close_matches(kind, kinds, n=1)
        hint = f"did you mean “{near[0]}”?" if near else f"there are: {', '.join(sorted(kinds))}"
        raise UsageError(f"“{kind}” is not a kind of {what}", hint)
    module, _, name = kinds[kind].partition(":")
    try:
        loaded: type[Any] = getattr(import_module(module), name)
    except Exception as error:
        raise UsageError(
            f"the {what} kind “{kind}” cannot be loaded: {type(error).__name__}: {error}",
            f"it is {kinds[kind]}; install its package again",
        ) from error
    return loaded
