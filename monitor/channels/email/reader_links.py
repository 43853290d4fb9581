"""Links of a mail that are another one for each recipient: to stop it, see it as a page, answer.

A digest is rendered once for all its recipients. It has placeholders for these links, and each
recipient's are put in when the mail is handed over; the digest's row names the key that signs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from monitor.model import Digest, Json
from monitor.signing import KeyRing

STOP, VIEW, RATE = "stop", "view", "rate"
# Where the pages of these links are.
PATHS = {STOP: "/u/", VIEW: "/v/", RATE: "/r/"}


@dataclass(frozen=True, slots=True)
class ReaderLinks:
    """The beginning of the links of readers, and the keys that sign them."""

    base: str
    keys: KeyRing

    def with_placeholders(self, digest: Digest) -> Digest:
        """Return a digest with its links, in which a placeholder stands for the token."""
        urls = {purpose: self._url(purpose, self._placeholder(purpose)) for purpose in PATHS}
        return _with_links(digest, urls)

    def sign_answers(self, digest: Digest, recipient: str) -> Digest:
        """Return a digest with the links by which this recipient answers, and no others."""
        token = self.keys.sign(RATE, digest.subscription, digest.period, recipient)
        return _with_links(digest, {RATE: self._url(RATE, token)})

    def describe(self, digest: Digest) -> Json:
        """Return the values that `fill` needs, to be stored with the digest."""
        places = {purpose: self._placeholder(purpose) for purpose in PATHS}
        return {
            "base": self.base,
            "key": self.keys.current,
            "subscription": digest.subscription,
            "period": digest.period,
            "places": places,
        }

    def fill(self, body: Json, recipient: str) -> Json:
        """Return a stored body with the links of a recipient: always the same."""
        links = body.get("links")
        if not links:
            return body
        filled = dict(body)
        for purpose, placeholder in links["places"].items():
            token = self._token(purpose, links, recipient)
            filled |= {part: filled[part].replace(placeholder, token) for part in ("text", "html")}
        url = f"{links['base']}{PATHS[STOP]}{self._token(STOP, links, recipient)}"
        return filled | {"one_click": url}

    def _token(self, purpose: str, links: Json, recipient: str) -> str:
        of_digest = () if purpose == STOP else (links["period"],)
        names = (links["subscription"], *of_digest, recipient)
        return self.keys.sign(purpose, *names, key=links["key"])

    def _url(self, purpose: str, token: str) -> str:
        return f"{self.base}{PATHS[purpose]}{token}"

    def _placeholder(self, purpose: str) -> str:
        """Return a text as long as a token, which no paper can contain: the key is secret."""
        return hashlib.sha512(self.keys.sign("place", purpose).encode()).hexdigest()


def _with_links(digest: Digest, urls: Mapping[str, str]) -> Digest:
    about = replace(
        digest.about,
        stop_url=urls.get(STOP, ""),
        view_url=urls.get(VIEW, ""),
        rate_url=urls.get(RATE, ""),
    )
    return replace(digest, about=about)
