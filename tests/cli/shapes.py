"""The JSON that scripts rely on: its keys, no fewer and no more."""

from __future__ import annotations

from typing import Any

ANYTHING: Any = ...


def keys(words: str, **nested: Any) -> dict[str, Any]:
    return dict.fromkeys(words.split(), ANYTHING) | nested


WHY = [keys("field words")]
ATTEMPTS = [keys("channel recipient state error")]
RUNS = [keys("source document outcome seen new revised known rejected error")]
DIGESTS = [keys("subscription period papers", deliveries=ATTEMPTS)]
OUTBOX = [keys("id subscription period channel recipient state attempts message_id error")]
READ = keys(
    "title abstract authors venue published published_month year announced listed updated url links"
    " keys categories type about announce version withdrawn"
)
TEXT = (
    "title abstract authors venue published published_month year announced listed categories url"
    " pdf_url keys"
)
SIGHTINGS = [
    keys(
        "source raw_id version announce fingerprint first_seen last_seen document past why",
        text=keys("title authors venue year type keys"),
    )
]


def differences(result: Any, shape: Any, at: str = "") -> list[str]:
    """Say where a document has other keys than `shape`; a list needs an item to be looked at."""
    if shape is ANYTHING:
        return []
    if isinstance(shape, list):
        empty = [] if result else [f"{at}[] is empty"]
        return empty + [x for item in result for x in differences(item, shape[0], f"{at}[]")]
    found = [f"{at}.{key}" for key in sorted(result.keys() ^ shape.keys())]
    both = [key for key in shape if key in result]
    return found + [x for key in both for x in differences(result[key], shape[key], f"{at}.{key}")]
