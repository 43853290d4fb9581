"""The gaps of a paper that services may fill, and filling them from a record of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from monitor.digest.links import PAGES, page_url
from monitor.identity.keys import claims_of, group_by_scheme
from monitor.model import Claim, Paper
from monitor.model.look_up import Lack


@dataclass(frozen=True, slots=True)
class FilledPaper:
    """A paper with what it gained: the names of fields, and the schemes of identifiers."""

    paper: Paper
    fields: tuple[str, ...]
    schemes: tuple[str, ...]


def missing(paper: Paper) -> frozenset[Lack]:
    lacks = {
        Lack.LINK: not page_url(paper),
        Lack.IDENTIFIER: paper.keys.keys().isdisjoint(PAGES),
        Lack.AUTHORS: not paper.authors,
        Lack.DATE: not (paper.published or paper.year or paper.month),
    }
    return frozenset(lack for lack, is_missing in lacks.items() if is_missing)


def fill(paper: Paper, record: Paper) -> FilledPaper:
    names = ("authors", "venue", "published", "year", "url", "pdf_url", "categories", "type")
    gaps: dict[str, Any] = {
        name: getattr(record, name)
        for name in names
        if getattr(record, name) and not getattr(paper, name)
    }
    new_links = {k: url for k, url in record.links.items() if k not in paper.links}
    if new_links:
        gaps["links"] = {**paper.links, **new_links}
    own = [pair for pair, claim in claims_of(record).items() if claim <= Claim.FIELD]
    keys: Mapping[str, tuple[str, ...]] = group_by_scheme(
        pair for pair in own if pair[0] not in paper.keys
    )
    fields = tuple(gaps)
    if "published" in gaps:
        gaps["precision"] = record.precision
    by_name = {scheme: v[0] if len(v) == 1 else v for scheme, v in keys.items()}
    filled = structs.replace(paper, **gaps, keys={**paper.keys, **by_name})
    return FilledPaper(filled, fields, tuple(keys))
