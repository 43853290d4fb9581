"""HTTP: one client for all sources, which addresses it may reach, and limits for each host."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypedDict

# Of a response, where a source does not allow more.
MAX_BYTES = 15 * 1024 * 1024


class Limits(TypedDict, total=False):
    """Limits of a request, which have the defaults of a Request.

    `deadline` is for everything from dialling to the last byte of the last response, but not for
    the time in which other requests have their turn. `headers`, such as keys, go to this server
    only. `apart` is the least time between requests that the service wants, unless its host has a
    stricter rule. `allow_private` holds for the host and port of the address, not for where it
    redirects to. With `stays`, a redirect to another server is refused: the address has something
    that this one alone is sent.
    """

    headers: Mapping[str, str]
    allow_private: bool
    max_bytes: int
    deadline: timedelta
    apart: timedelta
    stays: bool
