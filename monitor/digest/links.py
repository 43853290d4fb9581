"""Where a paper of a digest leads: its own page, what belongs to it, or a search for its title.

A search link is made when a digest is rendered and is never stored as a paper's own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, quote_plus, urlsplit

from monitor.model import DigestPaper, Paper
from monitor.text.addresses import is_known_forge, paper_links

_LONGEST_URL = 2_000
# Signs that no address may have behind its host (RFC 3986, appendix A), although browsers open it.
_NOT_IN_ADDRESSES = re.compile(r"[][{}|\\^`\"<>]|%(?![0-9A-Fa-f]{2})")
# Search engines read no longer ones, and a title's beginning finds it.
_LONGEST_QUERY = 200

# Sites to search for a title, by their names in `DigestPaper.search`.
_SITES = {
    "google-scholar": ("Google Scholar", "https://scholar.google.com/scholar?q=%22{}%22"),
    "arxiv": ("arXiv", "https://arxiv.org/search/?searchtype=title&query={}"),
    "huggingface": ("Hugging Face", "https://huggingface.co/papers?q={}"),
}
_DEFAULT_SITE = "google-scholar"

# Identifiers that lead to a paper, the best first, and to its PDF.
PAGES = {
    "arxiv": "https://arxiv.org/abs/{}",
    "openreview": "https://openreview.net/forum?id={}",
    "doi": "https://doi.org/{}",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
}
_PDFS = {"arxiv": "https://arxiv.org/pdf/{}", "openreview": "https://openreview.net/pdf?id={}"}
_NAMES = {"arxiv": "arXiv {}", "openreview": "OpenReview", "doi": "DOI {}", "pmid": "PubMed {}"}
_LINK_NAMES = {"project": "project page"}
_MOST_LINKS = 6
_LONGEST_IDENTIFIER = 40


@dataclass(frozen=True, slots=True)
class Link:
    """A link and its words; `search` names the site when it is a search for the title."""

    text: str
    url: str
    search: str = ""


@lru_cache(1_024)  # asked several times for each paper that a digest shows
def web_url(url: str) -> str:
    """Return an address that may be linked to (http or https, one word), or nothing.

    Signs that an address cannot have are percent-encoded: feed readers and validators refuse them.
    """
    if len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    # Browsers end a host at a backslash, and `urlsplit` does not.
    is_web = parts.scheme in ("http", "https") and parts.hostname and "\\" not in parts.netloc
    if not is_web:
        return ""
    start = url.index("//") + 2 + len(parts.netloc)
    return url[:start] + _NOT_IN_ADDRESSES.sub(lambda sign: quote(sign[0], safe=""), url[start:])


def title_link(paper: Paper, search: str) -> Link:
    """Return a link to a paper, or to a search for its title on the site named `search`."""
    title = paper.title
    if url := page_url(paper):
        return Link(title, url)
    name, address = _site(search)
    return Link(title, address.format(quote_plus(title[:_LONGEST_QUERY], errors="replace")), name)


def searched_site(paper: Paper, search: str) -> str:
    """Return the name of the site where `title_link` searches, "" if it leads to the paper."""
    return "" if page_url(paper) else _site(search)[0]


def _site(search: str) -> tuple[str, str]:
    """Return the name and the address of a site to search for a title."""
    return _SITES.get(search) or _SITES[_DEFAULT_SITE]


def own_links(entry: DigestPaper) -> tuple[Link, ...]:
    """Return the code, data and pages of a paper, from its source or its text, at most six.

    The record that reports a withdrawal is first.
    """
    elsewhere = {url for _, _, url in _identifiers(entry.paper, PAGES)}
    times = Counter[str]()
    notice = web_url(entry.withdrawn_by.url) if entry.withdrawn_by else ""
    links = [Link("notice", notice)] if notice else []
    # Older digests were sent without those of the text.
    known: Iterable[tuple[str, str]] = entry.paper.links.items()
    if entry.excerpt_rule:
        known = ((link.kind, link.url) for link in paper_links(entry.paper))
    for kind, address in known:
        if len(links) < _MOST_LINKS and (url := web_url(address)) and url not in elsewhere:
            host = (urlsplit(url).hostname or "").removeprefix("www.")
            name = host if kind == "other" else _LINK_NAMES.get(kind, kind)
            if kind == "code" and not is_known_forge(host):
                name = f"{kind} ({_ascii_host(host)})"
            times[name] += 1
            links.append(Link(name if times[name] == 1 else f"{name} {times[name]}", url))
    return tuple(links)


def _ascii_host(host: str) -> str:
    """Return a host in the form without letters that look like others: xn--gthub-n4a.com."""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:  # no server can have this name
        return ascii(host)[1:-1]


def more_links(entry: DigestPaper) -> tuple[Link, ...]:
    """Return what else belongs to a paper: PDF, identifiers, and `own_links`."""
    paper = entry.paper
    shown = {"PDF": pdf} if (pdf := pdf_url(paper)) else {}
    for scheme, value, url in _identifiers(paper, PAGES):
        name = _NAMES[scheme].format(value)
        shown[name if len(name) <= _LONGEST_IDENTIFIER else scheme.upper()] = url
    known = [Link(text, url) for text, url in shown.items()]
    return (*known, *own_links(entry))


def page_url(paper: Paper) -> str:
    """Return the address of a paper's own page, "" where none is known."""
    known = (url for _, _, url in _identifiers(paper, PAGES))
    return web_url(paper.url) or next(known, "") or web_url(paper.pdf_url)


def pdf_url(paper: Paper) -> str:
    """Return the address of a paper's PDF, "" where none is known."""
    known = (url for _, _, url in _identifiers(paper, _PDFS))
    return web_url(paper.pdf_url) or next(known, "")


def _identifiers(paper: Paper, addresses: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the scheme, value and address of the first identifier of each scheme."""
    for scheme, address in addresses.items():
        value = next(iter(paper.identifiers(scheme)), "")
        if value and (url := web_url(address.format(quote(value, safe="/:()")))):
            yield scheme, value, url
