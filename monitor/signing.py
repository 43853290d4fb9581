"""Links that only this installation can make: signed names, without a time of signing.

The same names under the same key give the same token, so that a mail that is sent again has the
same bytes. Each purpose has a salt of its own: a token made for one is refused for any other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadData, URLSafeSerializer

_OPTIONS: dict[str, Any] = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


@dataclass(frozen=True, slots=True, repr=False)
class KeyRing:
    """Secret keys: the first signs, and all verify."""

    keys: tuple[str, ...]

    @property
    def current(self) -> str:
        """The name of the key that signs now; it does not give the key away."""
        return _name(self.keys[0])

    def sign(self, purpose: str, *names: str, key: str = "") -> str:
        """Return the token of some names, by the key of that name, or the first.

        A key that was removed cannot sign: the first one does then.
        """
        chosen = next((known for known in self.keys if _name(known) == key), self.keys[0])
        return str(_signer(purpose, [chosen]).dumps(list(names)))

    def read(self, purpose: str, token: str) -> tuple[str, ...] | None:
        """Return the names in a token, None where no key has signed it for this purpose."""
        try:
            names = _signer(purpose, [*reversed(self.keys)]).loads(token)
        except BadData:
            return None
        return tuple(names)


def _signer(purpose: str, keys: list[str]) -> URLSafeSerializer:
    """Of several keys the last signs, and all verify."""
    return URLSafeSerializer(keys, salt=f"paper-monitor.{purpose}", signer_kwargs=_OPTIONS)


def _name(key: str) -> str:
    return hashlib.sha256(f"name of {key}".encode()).hexdigest()[:8]
