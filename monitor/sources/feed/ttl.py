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
    minutes, period = _TTL.search(head), _PERIOD.search(head)
    frequency = _FREQUENCY.search(head)
    length = _PERIODS.get(period[1].lower(), timedelta(0)) if period else timedelta(0)
    times = max(int(frequency[1]), 1) if frequency else 1
    return max(timedelta(minutes=int(minutes[1]) if minutes else 0), length / times)
