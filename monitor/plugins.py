"""Kinds of sources and channels by name: what is built in, then what other packages bring.

A package adds a kind with an entry point, `monitor.sources` or `monitor.channels`, whose name
is the kind and whose value is `module:Class`. A class is imported when its kind is first used;
its `Options` are the settings of that kind.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from monitor.channels.base import Channel, complete
from monitor.errors import UsageError
from monitor.sources.base import Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kinds(Generic[T]):
    """The kinds of a source or channel; `complete` refuses a class that lacks something.

    `synonyms` are other words for a kind; `instead` says what to do about programs and services
    that have none, by a pattern of their names, and `others` about any other word.
    """

    what: str
    built_in: Mapping[str, str]
    synonyms: Mapping[str, str]
    instead: Mapping[str, str]
    others: str
    complete: Callable[[str, type[Any]], type[T]]

    def names(self) -> dict[str, str]:
        """Return every kind with its `module:Class`; those that are built in take precedence."""
        return _entry_points(f"monitor.{self.what}s", tuple(sys.path)) | dict(self.built_in)

    def hint(self, word: str, more: Iterable[str] | None = None) -> str:
        """Say which kind, or which of `more` names, an unknown word probably means.

        With `more`, a kind is an argument of a command; without, it is written in a configuration.
        """
        names = sorted({*self.names(), *(more or ())})
        kind = word.casefold()
        if meant := self.synonyms.get(kind, kind if kind in names else ""):
            return f"write kind: {meant}" if more is None else f"write {meant}"
        for service, advice in self.instead.items():
            if re.match(service, kind):
                return advice
        if near := difflib.get_close_matches(kind, names, n=1):
            return f"did you mean “{near[0]}”?"
        return f"there are: {', '.join(names)}{self.others}"

    def load(self, kind: str) -> type[T]:
        """Import the class of a kind; UsageError for an unknown, broken or incomplete one."""
        kinds = self.built_in if kind in self.built_in else self.names()
        if kind not in kinds:
            raise UsageError(f"“{kind}” is not a kind of {self.what}", self.hint(kind))
        module, _, name = kinds[kind].partition(":")
        try:
            loaded: type[Any] = getattr(import_module(module), name)
        except Exception as error:
            raise UsageError(
                f"the {self.what} kind “{kind}” cannot be loaded: {type(error).__name__}: {error}",
                f"it is {kinds[kind]}; install its package again",
            ) from error
        return self.complete(kind, loaded)


@cache
def _entry_points(group: str, places: tuple[str, ...]) -> dict[str, str]:
    """Look through all installed packages once for each set of places: it takes 20 ms."""
    return {point.name: point.value for point in entry_points(group=group)}


def _write_instead(template: str, address: str) -> str:
    """Say how a service is reached that has no kind of its own: by a template, by Apprise."""
    ways = (
        f"kind: webhook with template: {template}" if template else "",
        f'kind: apprise with url: "{address}"' if address else "",
    )
    return f"write {', or '.join(filter(None, ways))}"


SOURCES: Kinds[Source] = Kinds(
    "source",
    {
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
    },
    {"rss": "feed", "atom": "feed", "rdf": "feed", "hf": "huggingface", "bib": "bibtex"},
    {
        r"(?:google)?[-_ ]*scholar|google": "Google Scholar has no feed and no API; write its "
        "alerts as topics, as Google Scholar alerts in docs/coming-from.md says",
        r"zotero|mendeley|endnote": "export the library, and read it with kind: bibtex or ris; see "
        "docs/coming-from.md",
        "opml": "paper-monitor init --opml FILE makes a source of each feed; see Feed readers in "
        "docs/coming-from.md",
    },
    "",
    lambda _, loaded: loaded,
)
CHANNELS: Kinds[Channel] = Kinds(
    "channel",
    {
        "email": "monitor.channels.email.channel:Mail",
        "slack": "monitor.channels.slack.channel:Slack",
        "file": "monitor.channels.file:Pages",
        "webhook": "monitor.channels.webhook.channel:Webhook",
        "ntfy": "monitor.channels.ntfy:Ntfy",
        "apprise": "monitor.channels.apprise.channel:AppriseChannel",
    },
    {"mail": "email", "smtp": "email", "html": "file", "page": "file", "ntfy.sh": "ntfy"},
    {
        "discord": _write_instead("discord", "discord://WEBHOOK_ID/WEBHOOK_TOKEN"),
        r"(?:ms|microsoft)?[-_ ]*teams": _write_instead("teams", "THE ADDRESS OF THE WORKFLOW"),
        "mattermost": _write_instead("mattermost", "mmosts://HOST/TOKEN"),
        "zulip": _write_instead("zulip", "zulip://BOT@ORGANIZATION/KEY/STREAM"),
        "n8n": _write_instead("n8n", ""),
        "telegram": _write_instead("", "tgram://BOT_TOKEN/CHAT_ID/?mdv=v2"),
        "matrix": _write_instead("", "matrixs://ACCESS_TOKEN@HOST/#ROOM"),
        r"rocket[-_. ]*chat": _write_instead("", "rockets://TOKEN/TOKEN@HOST/#CHANNEL"),
        "signal": _write_instead("", "signals://HOST/FROM/TO"),
        "gotify": _write_instead("", "gotifys://HOST/TOKEN"),
        "pushover": _write_instead("", "pover://USER@TOKEN"),
    },
    "; any other is a plug-in of some 40 lines: see Adding a channel, docs/contributing.md",
    complete,
)
