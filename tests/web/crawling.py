"""All pages of a site that one visitor can find, by following links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.web.attack import ADDRESSES, MORE_ADDRESSES, Site
from tests.web.conftest import links


def html_pages(
    site: Site, headers: Mapping[str, str], further: Iterable[str] = ()
) -> dict[str, str]:
    """Return the pages by address: those of each route, `further`, and all that they lead to."""
    addresses = [address for _, address in (*ADDRESSES.values(), *MORE_ADDRESSES)]
    waiting = [*map(site.fill, addresses), *further]
    seen = set[str]()
    found: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = site.ask("GET", path, headers)
        if answer.headers.get("content-type", "").startswith("text/html"):
            found[path] = answer.text
            waiting += [link.partition("#")[0] for link in links(answer.text)]
    return found
