"""What the elements of XML feeds are, whatever prefixes a document gives their modules.

feedparser knows some modules and calls them by names of its own; those that it does not know go
by the prefix of the document. Names for which there is no rule raise DeclinedError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from monitor.sources.feed.feedtags import DeclinedError, Tag, tag, value

MAX_TAGS = 1_000  # that are kept

_ATOM = "http://www.w3.org/2005/Atom"
_RSS_1 = "http://purl.org/rss/1.0/"
_MODULES = {
    _RSS_1: "",
    _ATOM: "",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://purl.org/rss/1.0/modules/slash/": "slash",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://purl.org/rss/1.0/modules/taxonomy/": "taxo",
    "http://wellformedweb.org/CommentAPI/": "wfw",
    "http://webns.net/mvcb/": "admin",
    "http://prismstandard.org/namespaces/1.2/basic/": "prism",
}
_BY_PREFIX = re.compile(
    r"arxiv http://arxiv\.org/schemas/atom/?|opensearch http://a9\.com/-/spec/opensearch/1\.1/"
    r"|prism https?://(?:prismstandard\.org/namespaces/(?!1\.2/basic/)"
    r"|purl\.org/rss/1\.0/modules/prism/)[\w./]*"
)

_ROOTS = {  # name -> its own namespace, and what its entries stand in
    "rss": (None, ("channel", "rss")),
    "feed": (_ATOM, ("feed",)),
    "rdf:RDF": (_RSS_1, ("rdf:rdf", "channel")),
}

IGNORED = "ignored"
_SAID = (
    *("dc:identifier", "prism:doi", "prism:publicationname", "prism:publicationdate"),
    *("arxiv:doi", "arxiv:announce_type", "arxiv:comment"),
    *("arxiv:journal_ref", "arxiv:journal_reference"),
)
_ROLES = {
    **dict.fromkeys(("title", "dc:title"), "title"),
    **dict.fromkeys(("description", "dc:description", "summary"), "summary"),
    **dict.fromkeys(("content", "content:encoded"), "content"),
    **dict.fromkeys(("guid", "id"), "id"),
    **dict.fromkeys(("pubdate", "published", "issued", "dcterms:issued"), "published"),
    **dict.fromkeys(("updated", "modified", "dc:date", "dcterms:modified"), "updated"),
    **dict.fromkeys(("category", "dc:subject"), "category"),
    **dict.fromkeys(("author", "dc:creator", "dc:author"), "author"),
    **dict.fromkeys(("rights", "copyright", "comments", "created"), IGNORED),
    **{name: name for name in ("link", "enclosure", *_SAID)},
}
_IGNORED_MODULES = ("arxiv", "dc", "dcterms", "opensearch", "prism", "slash", "sy", "taxo", "wfw")
_ATTRIBUTES = {
    **{role: frozenset({"type", "rdf:parseType"}) for role in ("title", "summary", "content")},
    "link": frozenset({"rel", "type", "href", "title", "hreflang", "length"}),
    "enclosure": frozenset({"url", "type", "length"}),
    "id": frozenset({"isPermaLink"}),
    "category": frozenset({"term", "scheme", "domain", "label"}),
}
_NONE: frozenset[str] = frozenset()
_TEXTS = ("title", "summary", "content")
_TEXT_TYPES = ("text", "html", "plain", "text/plain", "text/html")


class Names:
    """The names of one document; `parents` are those of what its entries may stand in."""

    def __init__(self, root: str, attributes: Mapping[str, str]) -> None:
        if root not in _ROOTS:
            raise DeclinedError
        self._space, self.parents = _ROOTS[root]
        self.is_rss = root != "feed"
        self._prefixes: dict[str, str] = {}
        # What was told between < and > in entries, each with what it says as its name.
        self.tags: dict[bytes, Tag] = {}
        self._alike: dict[tuple[bytes, bytes], Tag] = {}  # by what is around an address
        declared = {key: uri for key, uri in attributes.items() if key.startswith("xmlns")}
        if declared.pop("xmlns", None) != self._space or _has_base(attributes):
            raise DeclinedError
        self._uris = tuple(declared.values())
        for key, uri in declared.items():
            self._declare(key[6:], uri)
        if root == "rdf:RDF" and self._prefixes.get("rdf") != "rdf":
            raise DeclinedError

    def _declare(self, prefix: str, uri: str) -> None:
        """Note what a prefix stands for; one for which there is no rule must not be used."""
        own = _MODULES.get(uri, "?")
        if own == "?" and _BY_PREFIX.fullmatch(f"{prefix} {uri}"):
            own = prefix
        twice = own not in ("", "?") and (
            own in self._prefixes.values() or self._uris.count(uri) > 1
        )
        # feedparser takes a feed for what the first of these says, wherever it is said.
        of_another = not own and uri != self._space and self._space is not None
        if twice or of_another or (prefix != own and prefix in _MODULES.values()):
            raise DeclinedError
        self._prefixes[prefix] = own

    def canonical(self, name: str) -> str:
        """Return a name in lower case, with the prefix that its module goes by."""
        prefix, colon, local = name.partition(":")
        if not colon:
            return name.lower()
        own = self._prefixes.get(prefix, "?")
        if own == "?":
            raise DeclinedError
        return f"{own}:{local}".lower() if own else local.lower()

    def learn(self, told: bytes) -> Tag:
        """Read a tag of an entry. Most are the same in all entries, or but for an address."""
        before, href, rest = told.partition(b'href="')
        address, _, behind = rest.partition(b'"')
        if href and (alike := self._alike.get((before, behind))):
            role, attributes, is_empty = alike
            return role, {**attributes, "href": value(address.decode())}, is_empty
        name, attributes, is_empty = tag(told)
        role = _role(self._declared_here(name, attributes) or self.canonical(name))
        if attributes and not self.allows(role, attributes):
            raise DeclinedError
        found = role, attributes, is_empty
        if role == "link" and href:
            if b"'" not in told and before.count(b'"') % 2 == 0 and len(self._alike) < MAX_TAGS:
                self._alike[before, behind] = found
        elif role != "enclosure" and len(self.tags) < MAX_TAGS:
            self.tags[told] = found
        return found

    def allows(self, role: str, attributes: Mapping[str, str]) -> bool:
        """Say whether there is a rule for all attributes: what is ignored may have most of them."""
        if attributes.keys() <= _ATTRIBUTES.get(role, _NONE):
            return role not in _TEXTS or attributes.get("type", "text").lower() in _TEXT_TYPES
        return role == IGNORED and not _has_base(attributes) and "xmlns" not in "".join(attributes)

    def _declared_here(self, name: str, attributes: dict[str, str]) -> str:
        """arXiv's query API once declared its namespace at every element."""
        prefix, colon, _ = name.partition(":")
        uri = attributes.get(f"xmlns:{prefix}") if colon else None
        if uri is None:
            return ""
        if not _BY_PREFIX.fullmatch(f"{prefix} {uri}") or uri in self._uris:
            raise DeclinedError
        if prefix in self._prefixes or prefix in self._prefixes.values():
            raise DeclinedError
        del attributes[f"xmlns:{prefix}"]
        return name.lower()

    def beside(self, name: str, attributes: dict[str, str]) -> str:
        """Return the name of an element that stands beside the entries, or begins one."""
        if attributes:
            if own := self._declared_here(name, attributes):
                return own
            if not self.allows(IGNORED, attributes):
                raise DeclinedError
        return self.canonical(name)


def _role(name: str) -> str:
    role = _ROLES.get(name)
    if role is None and name.partition(":")[0] in _IGNORED_MODULES and name != "dcterms:valid":
        role = IGNORED
    if role is None:
        raise DeclinedError
    return role


def _has_base(attributes: Mapping[str, str]) -> bool:
    return "base" in "".join(attributes).lower()
