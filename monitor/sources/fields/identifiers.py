"""Identifiers of papers as sources write them: arXiv ids, DOIs and PubMed ids.

Every source finds them here; `monitor.identity.keys` says when two of them are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import unquote

from monitor.identity.keys import ARXIV_ID, DOI_PREFIX, without_sentence
from monitor.sources.fields import markup
from monitor.text import clean
from monitor.text.registrants import ARXIV_DOI, OPENRXIV, registrant

Keys = Mapping[str, str | tuple[str, ...]]

MAX_KEY_CHARS = 300

_ID = rf"(?P<id>{ARXIV_ID})(?:v(?P<version>\d{{1,4}}))?"
_ARXIV_ID = re.compile(_ID, re.IGNORECASE)
_ARXIV = re.compile(
    rf"(?:arxiv(?:\.org/(?:abs|pdf|html)/|:|(?<=oai:arxiv)\.org:)|{ARXIV_DOI})\s*{_ID}(?!\d)"
)
# DOIs of the 1990s have pages in angle brackets: 10.1000/0091(1995)023<0967:ab>2.3.co;2
_DOI = re.compile(DOI_PREFIX + r"(?:[^\s?#&\"<>]|<[\w.:-]{1,40}>(?=\d))+")
_PMID = re.compile(
    r"(?:pubmed\.ncbi\.nlm\.nih\.gov/|/pubmed/|\bpmid: ?|\bpubmed:)(?P<id>\d{1,8})\b"
)
_OPENREVIEW = re.compile(r"openreview\.net/(?:forum|pdf)\?id=([\w-]+)")
# Pages of an article append words to its DOI; those of bioRxiv and medRxiv a version too.
_DOI_PAGES = re.compile(r"(?:/(?:full|abstract|pdf|epdf|html|meta)|\.full|\.abstract|\.pdf){1,9}$")
_DOI_AND_VERSION = re.compile(r"(?P<doi>.*\d)v(?P<version>\d{1,4})")


class Identifiers(NamedTuple):
    """The identifiers of a record: those of all places, and of links and running text alone."""

    keys: Keys
    keys_in_links: Keys
    keys_in_text: Keys
    version: int | None


def identifiers_by_place(
    fields: Iterable[str], links: Iterable[str], texts: Iterable[str] = ()
) -> Identifiers:
    """Return the identifiers in the fields, links and running texts of a record.

    One that is in several places counts for the first of them.
    """
    fields = tuple(fields)
    links = tuple(links)
    texts = tuple(texts)
    keys, version = identifiers((*fields, *links, *texts))
    in_fields = set(identifier_pairs(fields))
    in_links = dict.fromkeys(pair for pair in identifier_pairs(links) if pair not in in_fields)
    in_text = (
        pair for pair in identifier_pairs(texts) if pair not in in_fields and pair not in in_links
    )
    return Identifiers(keys, keys_of(in_links), keys_of(in_text), version)


def identifiers(values: Iterable[str]) -> tuple[Keys, int | None]:
    """Return keys (arxiv without version, doi in lower case, pmid) and the version named."""
    named = [find_identifier(value) for value in values if value]
    version = next((version for _, identifier, version in named if identifier and version), None)
    pairs = sorted(((scheme, identifier) for scheme, identifier, _ in named), key=itemgetter(0))
    return keys_of(pairs), version


def identifier_pairs(values: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the scheme and the identifier of each value that has one."""
    for value in filter(None, values):
        scheme, identifier, _ = find_identifier(value)
        if identifier:
            yield scheme, identifier


def values_of(keys: Keys, scheme: str) -> tuple[str, ...]:
    """Return all values of one scheme."""
    values = keys.get(scheme, ())
    return (values,) if isinstance(values, str) else values


def pairs_of(keys: Keys) -> list[tuple[str, str]]:
    """Return the scheme and the identifier of each of some keys."""
    return [(scheme, identifier) for scheme in keys for identifier in values_of(keys, scheme)]


def openreview_id(values: Iterable[str]) -> str:
    """Return the id of the first link to a page of OpenReview, or ""."""
    return next((match[1] for value in values if (match := _OPENREVIEW.search(value))), "")


def keys_of(pairs: Iterable[tuple[str, str]]) -> Keys:
    """Collect identifiers by scheme: one value, or a tuple of several."""
    by_scheme: dict[str, dict[str, None]] = {}
    for scheme, value in pairs:
        if value and len(value) <= MAX_KEY_CHARS:
            by_scheme.setdefault(scheme, {})[markup.text(value)] = None
    return {
        scheme: v[0] if len(v := tuple(values)) == 1 else v for scheme, values in by_scheme.items()
    }


def arxiv_id(value: str) -> str:
    """Return the arXiv id that a value is, without its version; "" if it is anything else."""
    match = _ARXIV_ID.fullmatch(value.strip())
    return match["id"] if match else ""


def find_identifier(value: str) -> tuple[str, str, int | None]:
    """Return the scheme, the identifier and the version that a value names, or "" for none."""
    value = unquote(value)
    if not value.isprintable():
        value = clean(value)
    value = value.lower()
    if "arxiv" in value and (match := _ARXIV.search(value)):
        return "arxiv", match["id"], int(match["version"]) if match["version"] else None
    if "10." in value and (match := _DOI.search(value)):
        return "doi", *_split_doi(match.group())
    if ("pubmed" in value or "pmid" in value) and (match := _PMID.search(value)):
        return "pmid", match["id"], None
    return "", "", None


def _split_doi(doi: str) -> tuple[str, int | None]:
    """Return a DOI without the words of a page, and the version of a preprint."""
    if len(doi) > MAX_KEY_CHARS:
        return "", None
    bare = without_sentence(_DOI_PAGES.sub("", doi).rstrip(".,;/")).rstrip("/")
    match = _DOI_AND_VERSION.fullmatch(bare)
    if match and registrant(match["doi"]) in OPENRXIV:
        return match["doi"], int(match["version"])
    return bare, None
