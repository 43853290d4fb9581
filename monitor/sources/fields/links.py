"""Links of records: absolute http and https addresses, or none."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urljoin, urlsplit, urlunsplit

from monitor.text import clean
from monitor.text.tracking import naming_fragment, without_tracking

MAX_LINK_CHARS = 2_048


def http_link(link: str, base: str) -> str:
    """Return an http or https link without tracking parameters, or "" for anything else."""
    return without_tracking(absolute_link(link, base))


def absolute_link(link: str, base: str) -> str:
    """Return an absolute http or https link as it is written, or "" for anything else."""
    link = "".join(link.split())
    if len(link) > MAX_LINK_CHARS:
        return ""
    link = clean(link)
    try:
        absolute = urljoin(base, link) if link else ""
        parts = urlsplit(absolute)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    return f"{parts.scheme}{absolute[len(parts.scheme) :]}"  # the scheme in lower case


def first_link(links: Iterable[str]) -> str:
    """Return the first link that is one, or ""."""
    return next(filter(None, (http_link(link, "") for link in links)), "")


def normalise_link(link: str) -> str:
    """Return a link that can name an entry: host in lower case, no tracker for a fragment.

    The query stays as it is written: entries in stores are named so.
    """
    parts = urlsplit(link)
    fragment = naming_fragment(parts.fragment)
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path, parts.query, fragment))
