"""Who registers a DOI: a preprint server, a repository, or a publisher; and where its pages are.

This is the only table of DOI prefixes, and of the hosts of these services: what is not in it counts
as a publisher's. Crossref and DataCite do not tell journals, data and drafts apart by prefix, and
some publishers give their drafts and their journals one prefix.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum


class RegistrantKind(StrEnum):
    """The kinds of registrants, by the papers or other works that get their DOIs."""

    PREPRINTS = "preprint server"  # drafts, which may be published elsewhere
    REPOSITORY = "repository"  # any deposit of any person: drafts, data, slides, articles
    DATA = "data repository"  # data, never the text of a paper
    PUBLISHER = "publisher"  # versions of record


@dataclass(frozen=True, slots=True)
class Registrant:
    """A service that gives DOIs with a prefix, since the year in which it opened.

    `suffix` is a pattern of the rest of the DOI, if others share the prefix. `hosts` have pages of
    this service only, as have those below them. An unlisted publisher has neither names nor year.
    """

    prefix: str
    names: tuple[str, ...]
    kind: RegistrantKind
    since: int = 0
    suffix: str = ""
    hosts: tuple[str, ...] = ()

    @property
    def holds_drafts(self) -> bool:
        """Whether a paper with a DOI of it may be published elsewhere, too."""
        return self.kind in (RegistrantKind.PREPRINTS, RegistrantKind.REPOSITORY)


_PREPRINTS = RegistrantKind.PREPRINTS
_REPOSITORY = RegistrantKind.REPOSITORY
_DATA = RegistrantKind.DATA

# The address of a version of theirs ends in the DOI and the version. The rest of 10.1101 is Cold
# Spring Harbor's journals, whose names begin with letters (gr.277858.123).
# https://connect.biorxiv.org/news/2025/11/18/preprint_dois
OPENRXIV = (
    Registrant(
        "10.1101",
        ("bioRxiv", "medRxiv"),
        _PREPRINTS,
        2013,
        r"(?:\d{6}|\d{4}\.\d\d\.\d\d\.\d+)(?:v\d+)?",
        ("biorxiv.org", "medrxiv.org"),
    ),
    Registrant(
        "10.64898", ("bioRxiv", "medRxiv", "openRxiv"), _PREPRINTS, 2025, hosts=("openrxiv.org",)
    ),
)
# The beginning of arXiv's DOIs, before the arXiv id.
ARXIV_PREFIX = "10.48550/arxiv."
ARXIV_DOI = re.escape(ARXIV_PREFIX)

# F1000Research and eLife are publishers: a reviewed version has the DOI of the first one, or one
# beside it, in the same journal. EGU's abstracts (egusphere-egu23-1) become no articles by review.
REGISTRANTS = (
    *OPENRXIV,
    Registrant("10.48550", ("arXiv",), _PREPRINTS, 1991, hosts=("arxiv.org",)),
    Registrant("10.2139", ("SSRN",), _PREPRINTS, 1994, hosts=("ssrn.com",)),
    Registrant("10.3386", ("NBER Working Papers",), _PREPRINTS, 1973, r"[whti]\d+"),
    Registrant("10.21203", ("Research Square",), _PREPRINTS, 2018, hosts=("researchsquare.com",)),
    Registrant("10.26434", ("ChemRxiv",), _PREPRINTS, 2017, hosts=("chemrxiv.org",)),
    Registrant("10.20944", ("Preprints.org",), _PREPRINTS, 2016, hosts=("preprints.org",)),
    Registrant("10.36227", ("TechRxiv",), _PREPRINTS, 2019, hosts=("techrxiv.org",)),
    Registrant(
        "10.22541",
        ("Authorea", "ESS Open Archive"),
        _PREPRINTS,
        2013,
        hosts=("authorea.com", "essopenarchive.org"),
    ),
    Registrant("10.1002", ("ESS Open Archive",), _PREPRINTS, 2018, r"essoar\..+"),
    Registrant("10.7287", ("PeerJ Preprints",), _PREPRINTS, 2013, r"peerj\.preprints\..+"),
    Registrant("10.32388", ("Qeios",), _PREPRINTS, 2019, hosts=("qeios.com",)),
    Registrant(
        "10.1590",
        ("SciELO Preprints",),
        _PREPRINTS,
        2020,
        r"scielopreprints\..+",
        hosts=("preprints.scielo.org",),
    ),
    Registrant(
        "10.2196",
        ("JMIR Preprints",),
        _PREPRINTS,
        2015,
        r"preprints\..+",
        hosts=("preprints.jmir.org",),
    ),
    Registrant("10.12688", ("VeriXiv",), _PREPRINTS, 2024, r"verixiv\..+", hosts=("verixiv.org",)),
    Registrant("10.33774", ("Cambridge Open Engage",), _PREPRINTS, 2019),
    Registrant("10.31124", ("SAGE Advance",), _PREPRINTS, 2018),
    Registrant("10.51094", ("Jxiv",), _PREPRINTS, 2022, hosts=("jxiv.jst.go.jp",)),
    Registrant("10.13140", ("ResearchGate",), _PREPRINTS, 2008, hosts=("researchgate.net",)),
    # acp-2020-1 is a manuscript in review, acp-20-1-2020 the article; acpd-14-1-2014 was the
    # manuscript before 2016. https://egusphere.net/about/faqs.html
    Registrant(
        "10.5194",
        ("EGUsphere",),
        _PREPRINTS,
        2001,
        r"[a-z]+-20\d\d-\d+"
        r"|(?:acp|amt|bg|cp|dwes|esd|essd|esurf|gi|gmd|hess|nhess|npg|os|se|soil|tc)d-\d+-\d+-\d{4}",
        ("egusphere.net",),
    ),
    # The servers of the Open Science Framework, some of which have left it with their prefix.
    Registrant("10.31219", ("OSF Preprints", "Center for Open Science"), _PREPRINTS, 2016),
    Registrant("10.31220", ("AgriXiv",), _PREPRINTS, 2017),
    Registrant("10.31221", ("Arabixiv",), _PREPRINTS, 2018),
    Registrant("10.31222", ("MetaArXiv",), _PREPRINTS, 2017),
    Registrant("10.31223", ("EarthArXiv",), _PREPRINTS, 2017, hosts=("eartharxiv.org",)),
    Registrant("10.31224", ("engrXiv",), _PREPRINTS, 2016, hosts=("engrxiv.org",)),
    Registrant("10.31225", ("FocUS Archive",), _PREPRINTS, 2017),
    Registrant("10.31226", ("Frenxiv",), _PREPRINTS, 2018),
    Registrant("10.31227", ("INA-Rxiv",), _PREPRINTS, 2017),
    Registrant("10.31228", ("LawArXiv",), _PREPRINTS, 2017),
    Registrant("10.31229", ("LIS Scholarship Archive",), _PREPRINTS, 2017),
    Registrant("10.31230", ("MarXiv",), _PREPRINTS, 2017),
    Registrant("10.31231", ("MindRxiv",), _PREPRINTS, 2017),
    Registrant("10.31232", ("NutriXiv",), _PREPRINTS, 2017),
    Registrant("10.31233", ("PaleorXiv",), _PREPRINTS, 2017),
    Registrant("10.31234", ("PsyArXiv",), _PREPRINTS, 2016, hosts=("psyarxiv.com",)),
    Registrant("10.31235", ("SocArXiv",), _PREPRINTS, 2016, hosts=("socarxiv.org",)),
    Registrant("10.31236", ("SportRxiv",), _PREPRINTS, 2017, hosts=("sportrxiv.org",)),
    Registrant("10.31237", ("Thesis Commons",), _PREPRINTS, 2017),
    Registrant("10.31730", ("AfricArXiv",), _PREPRINTS, 2018, hosts=("africarxiv.org",)),
    Registrant("10.32942", ("EcoEvoRxiv",), _PREPRINTS, 2018, hosts=("ecoevorxiv.org",)),
    Registrant("10.33767", ("MediArXiv",), _PREPRINTS, 2019),
    Registrant("10.34055", ("BodoArXiv",), _PREPRINTS, 2019),
    Registrant("10.35542", ("EdArXiv",), _PREPRINTS, 2019),
    Registrant("10.37044", ("BioHackrXiv",), _PREPRINTS, 2019),
    Registrant("10.1149", ("ECSarXiv",), _PREPRINTS, 2018, r"osf\.io/.+"),
    Registrant("10.5281", ("Zenodo",), _REPOSITORY, 2013, hosts=("zenodo.org",)),
    Registrant("10.6084", ("figshare",), _REPOSITORY, 2012, hosts=("figshare.com",)),
    Registrant("10.17605", ("Open Science Framework", "OSF"), _REPOSITORY, 2013, hosts=("osf.io",)),
    Registrant("10.23668", ("PsychArchives",), _REPOSITORY, 2018, hosts=("psycharchives.org",)),
    Registrant("10.5061", ("Dryad",), _DATA, 2008, hosts=("datadryad.org",)),
    Registrant("10.7910", ("Harvard Dataverse",), _DATA, 2007, hosts=("dataverse.harvard.edu",)),
    Registrant("10.17632", ("Mendeley Data",), _DATA, 2015, hosts=("data.mendeley.com",)),
    Registrant("10.1594", ("PANGAEA",), _DATA, 1995, hosts=("pangaea.de",)),
    Registrant("10.13026", ("PhysioNet",), _DATA, 1999, hosts=("physionet.org",)),
    Registrant("10.18112", ("OpenNeuro",), _DATA, 2017, hosts=("openneuro.org",)),
    Registrant("10.21227", ("IEEE DataPort",), _DATA, 2016, hosts=("ieee-dataport.org",)),
)

_BY_PREFIX: dict[str, list[tuple[re.Pattern[str], Registrant]]] = defaultdict(list)
for _row in REGISTRANTS:
    _BY_PREFIX[_row.prefix].append((re.compile(_row.suffix or ".*", re.DOTALL), _row))


def registrant(doi: str) -> Registrant:
    """Return who registered a DOI (`10.1234/...`, in any case): of an unlisted one, its publisher.

    Two DOIs of one publisher have equal registrants; a publisher with two prefixes counts as two.
    """
    prefix, _, suffix = doi.lower().partition("/")
    for pattern, row in _BY_PREFIX.get(prefix, ()):
        if pattern.fullmatch(suffix):
            return row
    return Registrant(prefix, (), RegistrantKind.PUBLISHER)


def kind_of(doi: str) -> RegistrantKind:
    """Return the kind of a DOI's registrant."""
    return registrant(doi).kind


def may_be_draft(doi: str) -> bool:
    """Whether a DOI is of a preprint server or a repository: the paper may be published, too."""
    return registrant(doi).holds_drafts


def hosts_of(*kinds: RegistrantKind) -> str:
    """Return a pattern of the hosts of these kinds of services, and of hosts below them."""
    hosts = {re.escape(host) for row in REGISTRANTS if row.kind in kinds for host in row.hosts}
    return rf"(?:.*\.)?(?:{'|'.join(sorted(hosts))})"
