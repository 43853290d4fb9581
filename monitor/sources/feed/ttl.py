"""How often a feed says that it changes: RSS 2.0 `ttl`, and the syndication module of RDF.

https://www.rssboard.org/rss-specification#ltttlgtSubelementOfLtchannelgt and
https://web.resource.org/rss/1.0/modules/syndication/
"""

from __future__ import annotations

import re
from datetime import timedelta

HEAD_BYTES = 64 * 1024  # in which the channel's own elements are

_FIRST_ENTRY = re.compile(rb"<(?:\w{1,20}:)?(?:item|entry)[\s>]")
_TTL = re.compile(rb"<ttl>\s*(\d{1,6})\s*</ttl>")
_PERIOD = re.compile(rb"<\w{1,20}:updatePeriod>\s*(\w{1,10})\s*</")
_FREQUENCY = re.compile(rb"<\w{1,20}:updateFrequency>\s*(\d{1,6})\s*</")
_PERIODS = {
    b"hourly": timedelta(hours=1),
    b"daily": timedelta(days=1),
    b"weekly": timedelta(days=7),
    b"monthly": timedelta(days=30),
    b"yearly": timedelta(days=365),
}


def requested_interval(content: bytes) -> timedelta:
    """Return how long a feed asks to wait between readings; zero where it does not say."""
    head = content[:HEAD_BYTES].replace(b"\0", b"")
    entry = _FIRST_ENTRY.search(head)
    head = head[: entry.start()] if entry else head
    return max(_ttl(head), _period(head))


def _ttl(head: bytes) -> timedelta:
    minutes = _TTL.search(head)
    return timedelta(minutes=int(minutes[1])) if minutes else timedelta(0)


def _period(head: bytes) -> timedelta:
    name = _PERIOD.search(head)
    frequency = _FREQUENCY.search(head)
    period = _PERIODS.get(name[1].lower(), timedelta(0)) if name else timedelta(0)
    return period / max(int(frequency[1]), 1) if frequency else period
