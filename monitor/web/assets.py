"""The style, script and icon of all pages, from the package itself."""

from __future__ import annotations

import hashlib
from functools import cache

from monitor.resources import resource

# The media type of each, and the files of templates/ that it is made of.
FILES = {
    "icon.svg": ("image/svg+xml", ("pages/icon.svg",)),
    "style.css": ("text/css; charset=utf-8", ("web/style.css", "pages/style.css")),
    "pages.js": ("text/javascript; charset=utf-8", ("pages/pages.js",)),
}


@cache
def content(name: str) -> bytes:
    parts = (resource("templates") / part for part in FILES[name][1])
    return b"\n".join(part.read_bytes() for part in parts)


@cache
def address(name: str) -> str:
    """Return the address of a file: another version has another one, since browsers keep it."""
    return f"/static/{name}?{hashlib.sha256(content(name)).hexdigest()[:8]}"
