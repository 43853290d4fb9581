"""Keys by which a paper is recognised: identifiers, its title, its source's own id."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from xxhash import xxh3_64_intdigest

from monitor.identity.blocking import blocks
from monitor.model import Claim, IncomingPaper, Paper
from monitor.model.paper_fields import hashed_text
from monitor.text import PLACEHOLDERS, plain, title_key
from monitor.text.registrants import ARXIV_DOI
from monitor.text.tracking import without_tracking

# 0704.0001 to 9912.99999, and before April 2007 archive[.class]/YYMMNNN; without the version.
# https://info.arxiv.org/help/arxiv_identifier.html
ARXIV_ID = r"\d{4}\.\d{4,5}|[a-z][a-z-]*(?:\.[a-z]{2})?/\d{7}"
DOI_PREFIX = r"10\.\d{4,9}/"
_ARXIV = re.compile(rf"(?P<id>{ARXIV_ID})(?:v\d+)?$", re.IGNORECASE)
_SUBJECT_CLASS = re.compile(r"\.[a-z]{2}/")  # of an old arXiv id, which may be left out
_ARXIV_PREFIX = re.compile(
    r"^(?:https?://)?(?:[a-z]+\.)?(?:arxiv\.org/(?:abs|pdf|html|list)/|oai:arxiv\.org:|arxiv:\s*)",
    re.IGNORECASE,
)
_DOI_PREFIX = re.compile(r"^(?:https?://)?(?:(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)
_DOI = re.compile(rf"{DOI_PREFIX}\S+$")
_ARXIV_DOI = re.compile(ARXIV_DOI, re.IGNORECASE)
# arXiv appends the archive to an id in its mails and listings: arXiv:2401.01234 [cs.LG].
_ARCHIVE = re.compile(r"\[[a-z.-]{1,20}\]$", re.IGNORECASE)
# Of a page: ?rss=1, ?af=R, #sec. A sign of the DOI itself is escaped in an address.
_AFTER_DOI = re.compile(r"\?[a-z_]\w*(?:[=&#]|$)|#", re.IGNORECASE)
# The trackers of versions up to 0.1, by whose links entries of old stores are named.
_FORMER_TRACKER = re.compile(r"(?:utm_\w+|rss|ref|fbclid|gclid|mc_cid|mc_eid)$", re.IGNORECASE)

FINGERPRINT_VERSION = "1"
# Part of every `record_hash`. Raise it when identifiers change, so that all records are read again.
RECORD_HASH_VERSION = "4"
LINK = "url"  # a link proves nothing: pages are reused and moved
TEXT = "text:"  # begins the name of a record that has neither an id of its source nor a link


def arxiv_id(value: str) -> str:
    """Return an arXiv id without its version ("2401.01234", "hep-th/9901001"), or ""."""
    text = value.strip()
    match = _ARXIV.match(text)
    if not match:
        bare = _ARXIV_PREFIX.sub("", _ARCHIVE.sub("", text).rstrip())
        bare = re.split("[?#]", bare, maxsplit=1)[0].rstrip("/").removesuffix(".pdf")
        match = _ARXIV.match(_ARXIV_DOI.sub("", bare))
    return _SUBJECT_CLASS.sub("/", match["id"].lower()) if match else ""


def doi(value: str) -> str:
    """Return a DOI in lower case and without prefixes, or ""; DOIs ignore case (ISO 26324)."""
    written = _DOI_PREFIX.sub("", value.strip())
    bare = without_sentence(unquote(_AFTER_DOI.split(written, maxsplit=1)[0]))
    return bare.lower() if _DOI.match(bare) else ""


def without_sentence(doi: str) -> str:
    """Return a DOI without the punctuation after it, and a parenthesis that opened before it."""
    bare = doi.rstrip(".,;")
    while bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1].rstrip(".,;")
    return bare


@lru_cache(4096)
def link(url: str) -> str:
    """Return a link for comparison: without scheme, www. and trackers, its query sorted."""
    parts = _web_address(without_tracking(url))
    if parts is None:
        return ""
    named = sorted(parse_qsl(parts.query, keep_blank_values=True))
    query = "&".join(urlencode([pair]).removesuffix("=") for pair in named)
    return _page(parts, query) + (f"#{parts.fragment}" if parts.fragment else "")


def page(url: str) -> str:
    """Return a link for comparison without the place on its page."""
    return link(url).partition("#")[0]


def _former_link(url: str) -> str:
    """Return a link as versions up to 0.1 compared it, without all that has no value."""
    parts = _web_address(url)
    if parts is None:
        return ""
    named = sorted((k, v) for k, v in parse_qsl(parts.query) if not _FORMER_TRACKER.match(k))
    return _page(parts, urlencode(named))


def _web_address(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # such as an IPv6 host without its closing bracket
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def _page(parts: SplitResult, query: str) -> str:
    host = (parts.hostname or "").removeprefix("www.")
    return f"{host}{parts.path.rstrip('/')}" + (f"?{query}" if query else "")


def _digits(value: str) -> str:
    digits = re.search(r"\d+", value)
    return digits.group().lstrip("0") if digits else ""


def _last_segment(value: str) -> str:
    return value.strip().rstrip("/").rsplit("/", 1)[-1].rsplit("id=", 1)[-1]


_NORMALISE: dict[str, Callable[[str], str]] = {
    "arxiv": arxiv_id,
    "doi": doi,
    "pmid": _digits,
    "openreview": _last_segment,
    "openalex": lambda value: _last_segment(value).upper(),
    "s2": lambda value: _last_segment(value).lower(),
    LINK: link,
}


def identifiers(paper: Paper) -> tuple[tuple[str, str], ...]:
    """Return all (scheme, value) of a paper, normalised, without repeats, in a stable order.

    Links that name an arXiv or DOI page count as that identifier, and arXiv's own DOIs
    (10.48550/arXiv.*) as the arXiv id.
    """
    return tuple(claims_of(paper))


def identifiers_in(text: str) -> list[tuple[str, str]]:
    """Return all identifiers that a text may stand for."""
    scheme, _, value = text.partition(":")
    keys = {"arxiv": text, "doi": text, scheme.lower(): value or text}
    return list(identifiers(Paper("", url=text, keys=keys)))


def claims_of(paper: Paper, assigned: Collection[str] = ()) -> dict[tuple[str, str], Claim]:
    """Return the `identifiers` of a paper, each with how it is known.

    `assigned` are the schemes of the service that brought the record.
    """
    claims: dict[tuple[str, str], Claim] = {}
    for pair, claim in _claims_of(paper, assigned):
        if pair[1]:
            claims[pair] = min(claim, claims.get(pair, claim))
    return claims


def group_by_scheme(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    by_scheme: dict[str, tuple[str, ...]] = {}
    for scheme, value in pairs:
        by_scheme[scheme] = (*by_scheme.get(scheme, ()), value)
    return by_scheme


def _claims_of(paper: Paper, assigned: Collection[str]) -> Iterator[tuple[tuple[str, str], Claim]]:
    weak = dict.fromkeys(_normalize_all(paper.keys_in_links), Claim.LINK)
    weak |= dict.fromkeys(_normalize_all(paper.keys_in_text), Claim.TEXT)
    for pair in _normalize_all(paper.keys):
        yield pair, Claim.ASSIGNED if pair[0] in assigned else weak.get(pair, Claim.FIELD)
    for url in (paper.url, paper.pdf_url):
        letters = url.lower()
        if "arxiv" in letters:
            yield ("arxiv", arxiv_id(url)), Claim.LINK
        if "doi" in letters and _DOI_PREFIX.match(url.strip()):
            yield _normalize("doi", url), Claim.LINK
    yield (LINK, link(paper.url)), Claim.LINK


def _normalize_all(keys: Mapping[str, str | tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    for scheme, values in sorted(keys.items()):
        for value in (values,) if isinstance(values, str) else values:
            yield _normalize(scheme, value)


def _normalize(scheme: str, value: str) -> tuple[str, str]:
    normal = _NORMALISE.get(scheme, str.strip)(value)
    if scheme == "doi" and _ARXIV_DOI.match(normal):
        return "arxiv", arxiv_id(normal)
    return scheme, normal


def fingerprint(paper: Paper) -> str:
    """Return a hash that changes with the words of title or abstract, not their typography.

    Empty fields are left out, so that a field which a source starts to fill is no change. The
    version comes first, so that values of an older rule are recognised.
    """
    parts = ((b"title:", paper.title), (b"abstract:", paper.abstract))
    words = b"\0".join(name + _letters(text) for name, text in parts if text)
    return _hash(words)


def with_placeholders(paper: Paper) -> Iterator[str]:
    """Yield the fingerprints that a paper without an abstract had while sources kept "." or "N/A".

    Older stores hold them, and dropping a placeholder is no change of the text.
    """
    if not paper.abstract:
        title = b"title:" + _letters(paper.title)
        for letters in PLACEHOLDERS:
            yield _hash(title + b"\0abstract:" + letters.encode())


def _hash(words: bytes) -> str:
    return f"{FINGERPRINT_VERSION}:{hashlib.sha256(words).hexdigest()[:32]}"


# Signs with a meaning in LaTeX or HTML. A text without them needs no clean-up.
_MARKED_UP = frozenset(b"\\${}<&")
_ALL_SIGNS = bytes(b for b in range(128) if not chr(b).isalnum())
_SIGNS = _ALL_SIGNS.translate(None, bytes(_MARKED_UP))
_SMALL = bytes(range(256)).lower()


def _letters(text: str) -> bytes:
    """Return the letters and digits of the folded words, with a fast path for plain ASCII."""
    if text.isascii():
        letters = text.encode().translate(_SMALL, _SIGNS)
        if letters.isalnum() or not letters:  # nothing marked up was left in it
            return letters
    words = plain(text)
    if words.isascii():
        return words.encode().translate(None, _ALL_SIGNS)
    return "".join(filter(str.isalnum, words.casefold())).encode()


_SUBTITLE = re.compile(r"\s*[:?!–—-]")
_IN_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")


def says_no_more(now: Paper, before: Paper) -> bool:
    """Whether a record only lost words or gained a subtitle or headings, which is no revision."""
    return _same_title(now.title, before.title) and (
        _letters(now.abstract) in _letters(before.abstract)
        or _only_gains_headings(now.abstract, before.abstract)
    )


def _same_title(now: str, before: str) -> bool:
    if _letters(now) == _letters(before):
        return True
    short, long = sorted((now, before), key=len)
    return long.startswith(short) and bool(_SUBTITLE.match(long, len(short)))


def _only_gains_headings(now: str, before: str) -> bool:
    bare, was = (_letters(_IN_CAPITALS.sub("", text)) for text in (now, before))
    return len(now) > len(before) and bare == was


def raw_id(paper: Paper) -> str:
    """Return the source's own id of a record, else its link, else a hash of its text."""
    return paper.raw_id or link(paper.url) or TEXT + fingerprint(paper)


def _former_names(paper: Paper) -> tuple[str, ...]:
    """Return the name that versions up to 0.1 gave a record, if it was another.

    They cut the fragment off a link, also where it is all that names an entry.
    """
    if not paper.raw_id:
        former = _former_link(paper.url)
        return (former,) if former not in ("", link(paper.url)) else ()
    whole, sign, _ = paper.raw_id.partition("#")
    return (whole,) if sign and whole.startswith(("http://", "https://")) else ()


def record_hash(paper: Paper) -> int:
    """Return a hash of 63 bits of all that a record says: see `hashed` in `PaperField`.

    XXH3 is not cryptographic, and need not be: whoever forges a collision hides only their own
    record.
    """
    return hash_of_text(f"{RECORD_HASH_VERSION}\0{hashed_text(paper)}")


def hash_of_text(text: str) -> int:
    """Return a hash of 63 bits, the same in every process and release."""
    return xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) >> 1


def with_keys(
    paper: Paper, name: str = "", hash_: int | None = None, assigned: Collection[str] = ()
) -> IncomingPaper:
    """Return a paper with everything that it is recognised by.

    `name` is its `raw_id` and `hash_` its `record_hash`, where they are known already; `assigned`
    are the schemes of the service that brought it.
    """
    claims = claims_of(paper, assigned)
    return IncomingPaper(
        paper=paper,
        keys=tuple(claims),
        title_key=title_key(paper.title),
        raw_id=name or raw_id(paper),
        fingerprint=fingerprint(paper),
        blocks=blocks(paper.title, paper.authors),
        record_hash=record_hash(paper) if hash_ is None else hash_,
        about=about(paper),
        claims={pair: claim for pair, claim in claims.items() if claim is not Claim.FIELD},
        former_names=_former_names(paper),
    )


def about(paper: Paper) -> tuple[tuple[str, str], ...]:
    """Return the normalised identifiers of what a record is about, except its own."""
    if not paper.about:
        return ()
    own = identifiers(paper)
    return tuple(p for p in identifiers(Paper("", keys=paper.about)) if p not in own)
