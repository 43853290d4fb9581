"""Who may mark a paper as withdrawn: a record that names it, or whose source can know.

Anybody can write "Retracted: TITLE". Where nothing of `Basis` holds, the record counts as a report:
a notice that is a paper of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from msgspec import structs

from monitor.identity.authors import agreement
from monitor.identity.keys import LINK, group_by_scheme, identifiers
from monitor.identity.same_work import same_work
from monitor.model import REPORT, Authority, IncomingPaper, Paper
from monitor.text import title_key
from monitor.text.addresses import is_shared_host
from monitor.text.registrants import RegistrantKind, registrant

Key = tuple[str, str]


class Basis(StrEnum):
    """Why a record may mark a paper that it is recognised as."""

    NAMED = "it names the paper by an identifier"
    RECORD = "its source keeps the record of papers"
    REGISTRANT = "its DOI is of the paper's publisher"
    HOST = "it is on the paper's host"
    OWN_ENTRY = "its source brought the paper"


# Hold for a retraction that has another DOI than its paper. Of a source's own entries with two DOIs
# one may be withdrawn and the other not, such as versions in a repository.
OF_PUBLISHER = (Basis.REGISTRANT, Basis.HOST)


@dataclass(frozen=True, slots=True)
class Standing:
    """The standing of a source: which records are its service's, and the host that is read."""

    authority: Authority = Authority.NONE
    host: str = ""


NO_STANDING = Standing()


def basis(
    record: IncomingPaper,
    paper: Paper,
    keys: Collection[Key],
    standing: Standing,
    *,
    brought: bool = False,
) -> Basis | None:
    """Return why a record that is recognised as a paper may mark it, None if it may not.

    `keys` are the identifiers of the paper; `brought` says that it came from the same source.
    """
    named = record.own_keys
    if not {*named, *record.about}.isdisjoint(keys):
        return Basis.NAMED
    if _keeps_record(named, standing) and same_work(record.paper, paper).same:
        return Basis.RECORD
    if not _publishers(named).isdisjoint(_publishers(keys)):
        return Basis.REGISTRANT
    host = host_of(record.paper.url)
    is_only_host = host == host_of(paper.url) and not is_shared_host(host)
    if host and is_only_host and standing.host in ("", host):
        return Basis.HOST
    return Basis.OWN_ENTRY if brought else None


def speaks_for_itself(record: IncomingPaper, standing: Standing) -> bool:
    """Whether a withdrawn paper that nothing else brought may be stored on the word of a record."""
    return _keeps_record(record.own_keys, standing)


def _keeps_record(named: Iterable[Key], standing: Standing) -> bool:
    if standing.authority is Authority.WITH_DOI:
        return any(scheme == "doi" for scheme, _ in named)
    return standing.authority is Authority.EVERY


def _publishers(keys: Iterable[Key]) -> set[str]:
    registrants = (registrant(value) for scheme, value in keys if scheme == "doi")
    return {row.prefix for row in registrants if row.kind is RegistrantKind.PUBLISHER}


def host_of(url: str) -> str:
    """Return the host of an address as it is compared, "" for none."""
    try:
        return (urlsplit(url.strip()).hostname or "").removeprefix("www.")
    except ValueError:  # such as an IPv6 host without its closing bracket
        return ""


def as_report(record: IncomingPaper) -> IncomingPaper:
    """Return a record that may mark nothing as a notice: a paper of its own.

    It is about what it names. From what it merely links to nothing follows.
    """
    named = record.own_keys
    paper = structs.replace(
        record.paper, withdrawn=False, type=REPORT, keys={}, about=group_by_scheme(named)
    )
    links = tuple(pair for pair in record.keys if pair[0] == LINK)
    return structs.replace(record, paper=paper, keys=links, about=named, reports=record)


def may_retract(record: Paper, paper: Paper) -> bool:
    """Whether a record with a DOI of its own may retract a paper: title and authors agree."""
    if title_key(record.title) != title_key(paper.title):
        return False
    authors = agreement(record.authors, paper.authors)
    return authors is None or authors.met > 0


def nameless(paper: Paper) -> Paper:
    """Return a paper to compare by its text: a retraction may have a DOI of its own."""
    return structs.replace(paper, keys={}, url="", pdf_url="")


def reported_by(report: Paper, raw_id: str = "") -> IncomingPaper | None:
    """Return the withdrawn record of which a stored notice was made by `as_report`, else None."""
    if report.type != REPORT:
        return None
    paper = structs.replace(report, type="", keys=report.about, about={}, withdrawn=True)
    named = identifiers(Paper("", keys=report.about))
    return IncomingPaper(paper, named, title_key="", raw_id=raw_id, fingerprint="")
