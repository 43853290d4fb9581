"""The parts of a link that tell its server where a reader comes from, and name nothing."""

from __future__ import annotations

import re

# Google Analytics, advertisements, newsletters, and what publishers and blogs add in their feeds:
# Elsevier's dgcid, Atypon's af=R, Le Monde's xtor, Echobox, and Ghost's ref with a host.
_TRACKER = re.compile(
    r"(?:utm_\w+|fbclid|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|igshid|mc_[ce]id|mkt_tok"
    r"|_hsenc|_hsmi|xtor|echobox|dgcid)=.*|rss(?:=.*)?|af=r|ref=(?:rss|feed|[a-z-]+(?:\.[a-z-]+)+)",
    re.IGNORECASE | re.DOTALL,
)


def without_tracking(link: str) -> str:
    """Return a link without trackers in its query and fragment, and else as it is written."""
    address, _, fragment = link.partition("#")
    page, _, query = address.partition("?")
    query = _without_trackers(query)
    fragment = naming_fragment(fragment)
    return page + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")


def naming_fragment(fragment: str) -> str:
    """Return a fragment without trackers and marked text (`:~:text=`): it may name an entry.

    https://wicg.github.io/scroll-to-text-fragment/
    """
    place, _, query = fragment.partition(":~:")[0].partition("?")
    place = _without_trackers(place)
    query = _without_trackers(query)
    return place + (f"?{query}" if query else "")


def _without_trackers(parameters: str) -> str:
    return "&".join(part for part in parameters.split("&") if not _TRACKER.fullmatch(part))
