"""Syntax of other search engines, and regular expressions: refused, with what to write instead.

Without this most of it would be read as words that no paper has: `wom?n`, `cancer[ti]`, `NEAR/5`.

rule           what a rule is, and how it is applied
engines        fields and tags: PubMed, Web of Science, Scopus, Ovid, arXiv, Google Scholar
operators      NEAR/5, ANDNOT, && and the like
regexes        regular expressions and wildcards
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from monitor.errors import QueryError
from monitor.match.foreign_syntax import engines, regexes
from monitor.match.foreign_syntax.rule import apply_rewrite, found_in, mask_phrases

RULES = (*engines.RULES, *regexes.RULES)
_MAX_HINT_LENGTH = 300

# What a rule refuses and the parser would not has one of these signs or words. There are several
# patterns because each costs a tenth of what all would as one: every topic is looked at.
_SIGNS = re.compile(r"[][?$|=!%¬#/<>\\{&\uff02-\uff3a\ufe63]")
_CAPITALS = re.compile(r"[A-Z] ?\(|A(?:ND[-N]|ndNot|ROUND)|PUBYEAR|ADJ\d")
_STOPS = re.compile(r"\.[*+]|\.(?:ti|ab|tw|mp|kw)[.,]|(?:category|source|announce):[^\s,]+,")
_SMALL = re.compile(r"andnot|adj\d")
_BESIDE = frozenset((*engines.SCOPUS_FIELDS.split("|"), "AROUND", "PUBYEAR"))
_OF_EXPRESSIONS = re.compile(r"[][?|\\{}]")
_DANGLING = re.compile(r"^(?:AND|OR) | (?:AND|OR|NOT)$")


def refuse_foreign(text: str, reads: Callable[[str], bool], *, closely: bool = False) -> None:
    """Raise `QueryError` for syntax that is not ours; the hint says what to write instead.

    `reads` says whether the parser understands a text: where it does, the hint is the topic
    with all such syntax rewritten. Unless `closely`, only what the parser would accept is found.
    """
    if not closely and not _is_suspect(text):
        return
    fault = min(_faults(text), key=lambda fault: fault.position, default=None)
    if fault is None:
        return
    instead = rewrite(text)
    if instead != text and len(instead) <= _MAX_HINT_LENGTH and _is_ours(instead, reads):
        raise QueryError(fault.message, fault.position, f"write {instead}")
    raise fault


def may_be_foreign(operand: str) -> bool:
    """Whether a word or phrase may be foreign syntax beside others, though it is ours alone."""
    suspicious = operand in _BESIDE or "adj" in operand or "ADJ" in operand
    return suspicious or "ndnot" in operand or "NDNOT" in operand or "ndNot" in operand


def _is_suspect(text: str) -> bool:
    return bool(
        _SIGNS.search(text)
        or _CAPITALS.search(text)
        or (("." in text or "," in text) and _STOPS.search(text))
        or _SMALL.search(text)
    )


def _is_ours(text: str, reads: Callable[[str], bool]) -> bool:
    """Return whether a rewritten query may be recommended.

    The parser reads `llm[s]?` as two words, which no paper has beside each other.
    """
    has_signs = _OF_EXPRESSIONS.search(mask_phrases(text))
    return not has_signs and reads(text) and next(_faults(text), None) is None


def _faults(text: str) -> Iterator[QueryError]:
    """Yield the first fault that each rule finds."""
    outside = mask_phrases(text)
    for rule in RULES:
        match = rule.message and rule.pattern.search(text if rule.in_phrases else outside)
        if match:
            found = found_in(match, text)
            names = {"found": found.text.strip(), **found.groups}
            yield QueryError(
                rule.message.format(**names),
                match.start("at") if "at" in found.groups else match.start(),
                rule.hint.format(**names),
            )


def rewrite(text: str) -> str:
    """Return `text` with all foreign syntax rewritten for which a rule knows how."""
    text = " ".join(text.split())
    for rule in RULES:
        if rule.rewrite:
            text = apply_rewrite(rule.pattern, rule.rewrite, text)
    if any(rule.pattern.search(mask_phrases(text)) for rule in regexes.EXPRESSIONS):
        text = regexes.to_topic(text)
    return _DANGLING.sub("", " ".join(text.split()))
