"""Syntax of other search engines, and regular expressions: refused, with what to write instead.

Without this most of it would be read as words that no paper has: `wom?n`, `cancer[ti]`, `NEAR/5`.

PubMed: pubmed.ncbi.nlm.nih.gov/help (search field tags). Web of Science and Scopus: their help
on field tags and proximity operators. arXiv: info.arxiv.org/help/api/user-manual.html (5.1).
Google Scholar: scholar.google.com/intl/en/scholar/help.html (operators).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from string import ascii_lowercase
from typing import NamedTuple

from monitor.errors import QueryError

QUOTES = '"“”„«»'
FIRST = r"(?<![^\s(])"  # at the beginning of a word
LAST = r"(?![^\s)])"  # at its end

_PHRASE = re.compile(rf"\\.|[{QUOTES}](?:\\.|[^{QUOTES}\\])*[{QUOTES}]?", re.DOTALL)

# What a rule refuses and the parser would not has one of these.
_SUSPECT = re.compile(
    r"[][?$|=!%¬#/<>\\{&\uff02-\uff3a\ufe63]|[A-Z] ?\(|A(?:ND[-N]|ndNot|ROUND)|PUBYEAR|ADJ\d"
    r"|\.[*+]|\.(?:ti|ab|tw|mp|kw)[.,]|(?:category|source|announce):[^\s,]+,|andnot|adj\d"
)


class Rule(NamedTuple):
    """One kind of syntax: `message` and `hint` may name {found} and the group {at} of the pattern.

    The fault stands at the group `at`, or at what was found. With `in_phrases` it is looked for
    between quotes, too; case counts in the pattern with `capitals`.
    """

    pattern: str
    message: str
    hint: str
    in_phrases: bool = False
    capitals: bool = False


def refuse_foreign(text: str, *, closely: bool = False) -> None:
    """Raise `QueryError` for syntax that is not ours; the hint says what to write instead.

    Unless `closely`, only what the parser would accept is found.
    """
    if closely or _SUSPECT.search(text):
        fault = min(_faults(text), key=lambda fault: fault.position, default=None)
        if fault is not None:
            raise fault


def _faults(text: str) -> Iterator[QueryError]:
    """Yield the first fault that each rule finds."""
    outside = mask_phrases(text)
    for rule in RULES:
        match = _compiled(rule).search(text if rule.in_phrases else outside)
        if match:
            group = "at" if "at" in match.re.groupindex else 0
            start, end = match.span(group)
            names = {"at": text[start:end], "found": text[slice(*match.span())].strip()}
            yield QueryError(rule.message.format(**names), start, rule.hint.format(**names))


@cache
def _compiled(rule: Rule) -> re.Pattern[str]:
    """Compiled for the first topic that needs it, as few do: not at each start."""
    return re.compile(rule.pattern, re.NOFLAG if rule.capitals else re.IGNORECASE)


def mask_phrases(text: str) -> str:
    """Return `text` with an x for each character between quotes, so that no rule looks there."""
    return _PHRASE.sub(lambda match: _as_x(match[0]), text)


def _as_x(phrase: str) -> str:
    if phrase[0] == "\\" or len(phrase) < 2:
        return phrase
    return phrase[0] + "x" * (len(phrase) - 2) + phrase[-1]


# ── keyboards, web pages and addresses ──────────────────────────────────────────────

_FIELDS = "title|abstract|author|category|source|venue|announce"
_TYPED = (
    Rule(
        r"&(?:quot|[lr][ds]quo|[lr]aquo|#3[49]|#x2[27]);",
        "{found} is HTML for a quotation mark",
        'write "',
        in_phrases=True,
    ),
    Rule(
        r"%(?:2[0-9A-F]|3[A-F]|5[BD])",
        "{found} comes from a web address",
        "write the characters themselves",
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}（[^（）]*）|{FIRST}(?:{_FIELDS})：|(?<=\w)＊{LAST}|＂|{FIRST}[－﹣](?=\S)"
        rf"|{FIRST}(?:ＡＮＤ|ＯＲ|ＮＯＴ){LAST}",
        "{found} has full-width characters, which are plain text here",
        'write ( ) : * " - and AND, OR, NOT in half width',
        capitals=True,
    ),
    Rule(
        rf'{FIRST}[!¬](?=[\w("“])',
        "{found} does not exclude here",
        "write - or NOT, as in agent -robot; between quotes it stays a sign",
    ),
    Rule(
        rf"{FIRST}(?:https?://\S+|(?:doi:)?10\.\d{{4,9}}/\S+|arxiv:\d\S+)",
        "a topic looks for words, not for an address or a number",
        "paper-monitor explain {found} looks a paper up",
    ),
)

# ── engines ─────────────────────────────────────────────────────────────────────────

_NOT_ASKED = "leave it out; a topic looks at new papers, whatever their date, language or type"
_IN_TEXT = "leave it out: words are looked for in the title and the abstract"
_TAG = (
    r"ti|title|tiab|title/abstract|ab|abstract|tw|text words?|all|all fields|au|author|1au|lastau"
    r"|ta|journal|ot|other term|mh|mesh|mesh terms|majr|mesh major topic|sh|mesh subheading|nm"
)
_ASIDE = (
    r"dp|pdat|edat|crdt|date - [a-z ]+|publication date|la|lang|language|pt|publication type|sb"
    r"|filter|subset|ad|affiliation|pmid|uid"
)
_SCOPUS_FIELDS = (
    "TITLE-ABS-KEY-AUTH|TITLE-ABS-KEY|TITLE-ABS|TITLE|ABS|KEY|AUTHKEY|AUTH|AUTHOR-NAME"
    "|AUTHLASTNAME|SRCTITLE|EXACTSRCTITLE|INDEXTERMS|ALL"
)
_IN = r"(?:ti|ab|tw|mp|kw|kf|de|sh|au|jn)"
_ENGINES = (
    Rule(
        rf"\[(?:{_TAG})(?::~?\w+)?\](?!\w)",
        "{found} is a field tag of PubMed",
        'write title:cancer for [ti], author:"Smith J" for [au], cancer alone for the others',
        in_phrases=True,
    ),
    Rule(
        rf"\[(?:{_ASIDE})\](?!\w)",
        "{found} is PubMed syntax, which topics do not support",
        _NOT_ASKED,
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}(?P<at>(?:PY|DT|LA|WC|SU|OG|AD|FO|DO|UT|DOP)(?:=| = ))(?=[^\s)])",
        "{at} is Web of Science syntax, which topics do not support",
        _NOT_ASKED,
    ),
    Rule(
        rf"{FIRST}(?:TS|TI|AB|AU|SO|AK|KP|ALL|TMSO|{_FIELDS})(?:=| = )(?=[\w(\"“])",
        "{found} does not name a field here",
        "write title: for TI=, author: for AU=, venue: for SO=, nothing for TS=",
    ),
    Rule(
        rf"{FIRST}(?P<at>(?:LIMIT-TO|EXCLUDE|DOCTYPE|SUBJAREA|LANGUAGE|AFFIL\w*|DOI|ISSN"
        r"|REF|SRCTYPE|EID|ORCID|FUND-\w+))\([^()]*\)",
        "{at}(...) is Scopus syntax, which topics do not support",
        _NOT_ASKED,
        capitals=True,
    ),
    Rule(
        rf"{FIRST}(?P<at>{_SCOPUS_FIELDS}) ?\(",
        "{at}(...) is Scopus syntax",
        "write title:(...) for TITLE, author: for AUTH, (...) alone for TITLE-ABS-KEY",
        capitals=True,
    ),
    Rule(
        rf"{FIRST}(?:PUBYEAR ?(?:AFT|BEF|IS)|(?:PUBYEAR|YEAR|DATE) ?[<>=]=?) ?\d{{4}}",
        "{found}: a topic cannot ask for dates",
        _NOT_ASKED,
    ),
    Rule(
        rf"(?<=[\w)\"*])\.{_IN}(?:\.|(?:,{_IN})+\.?){LAST}",
        "{found} is Ovid syntax",
        _IN_TEXT,
    ),
    Rule(
        rf"{FIRST}exp [\w-]+(?: [\w-]+){{0,4}}/{LAST}",
        "{found} is a subject heading, which is not stored",
        "write its words",
    ),
    Rule(rf"(?<=['\"])/(?:exp|mj|de){LAST}", "{found} is Embase syntax", "leave it out"),
    Rule(rf"(?<=[\w)*'\"]):{_IN}(?:,{_IN})+{LAST}", "{found} is Embase syntax", _IN_TEXT),
    Rule(
        rf"{FIRST}(?P<at>(?:submittedDate|lastUpdatedDate):)\[[^\]]*\]",
        "{at} a topic cannot ask for dates",
        _NOT_ASKED,
    ),
    Rule(
        r"(?<![^\s(-])(?:site|filetype|after|before|year|date|co|rn|id|lang):(?= ?[^\s)])",
        "there is no field {found}",
        _NOT_ASKED,
    ),
    Rule(
        r"(?<![^\s(-])allintitle:",
        "there is no field {found}",
        "write title:(agent robot) for words that are all in the title",
    ),
    Rule(
        r"(?<![^\s(-])(?:ti|abs|ab|au|cat|jr|all|intitle|inauthor|intext|tiab|ta):(?= ?[^\s)])",
        "there is no field {found}",
        "the fields are title:, abstract:, author:, category:, source:, venue:, announce:",
    ),
)

# ── operators ───────────────────────────────────────────────────────────────────────

_DISTANCE = r"(?:(?:[OP]?NEAR|PRE|NEXT|[WN])/|NEAR:|ADJ|AROUND ?\()\d+\)?"
_NO_OPERATOR = "{found} is not an operator here"
_OPERATORS = (
    Rule(
        rf"{FIRST}(?:ANDNOT|andnot|AndNot|AND[-/]NOT){LAST}",
        _NO_OPERATOR,
        "write NOT",
        capitals=True,
    ),
    Rule(rf"{FIRST}(?:AND/OR|OR/AND){LAST}", _NO_OPERATOR, "write OR", capitals=True),
    Rule(
        rf"{FIRST}(?:\{{(?=[^{{}}]* (?:AND|OR|NOT) )[^{{}}]*\}}"
        r"|\[(?=[^][]* (?:AND|OR|NOT) )[^][]*\])",
        "only ( and ) group what stands between them",
        "write (agent OR robot)",
        capitals=True,
    ),
    Rule(r" ?&& ?", _NO_OPERATOR, "write AND"),
    Rule(r" ?\|\| ?", _NO_OPERATOR, "write OR"),
    Rule(
        rf"{FIRST}#\d+(?= (?:AND|OR|NOT)\b)|(?<=\bAND )#\d+|(?<=\bOR )#\d+|(?<=\bNOT )#\d+",
        "{found} is a line of a search history, which is not known here",
        "write out what that line looks for",
        capitals=True,
    ),
    Rule(
        rf"(?<![^\s(){QUOTES}]){_DISTANCE}(?=\s)",
        _NO_OPERATOR,
        'write "agent robot"~5 for words with at most five others between them',
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}(?P<at>category|source|announce):[^\s\"()]+,[^\s\"()]+",
        "{at}: takes one value",
        "write {at}: before each of several, joined by OR",
    ),
)

# ── regular expressions and wildcards ───────────────────────────────────────────────

# [Aa] and [sz], but not [gh]: neighbours in the alphabet name a bond (benzo[gh]perylene), and a
# capital before a small letter an element ([Fe]hydrogenase).
_NEIGHBOURS = "|".join(f"{a}{chr(ord(a) + 1)}" for a in ascii_lowercase[:-1])
_CASES = "|".join(f"{a.upper()}{a}|{a}{a.upper()}" for a in ascii_lowercase)
_EXPRESSIONS = tuple(
    Rule(
        pattern,
        "{found} is part of a regular expression; a topic is made of words",
        "write agent* for words that begin so, (agent OR robot) for either, "
        '"agent robot"~5 for words near each other',
        in_phrases,
        capitals=True,
    )
    for pattern, in_phrases in (
        (r"^/.+/[gimsux]*$", False),
        (r"\\b[A-Za-z]+\??\\b|\\[BDSWbdsw](?![A-Za-z{])", True),
        (r"\(\?(?:[:=!<]|[imsx]+\))", False),
        (rf"\.\*(?=[^\s),\"”»]|,\S)|\.\+|{FIRST}\.[*+]", True),
        (rf"\[(?:{_CASES}|(?!{_NEIGHBOURS})[a-z]{{2}})\](?=\w)", True),
        (r"\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9])+\]", True),
        (rf"{FIRST}\([^\s|()]{{2,}}(?:\|[^\s|()]{{2,}})+\)", False),
        (r"(?<=[A-Za-z])\{\d+,\d*\}", True),
    )
)
_FORMS = "write its forms, as in (woman OR women), or its beginning, as in wom*"
_WILDCARDS = (
    Rule(r"(?<!\w)\w+(?P<at>[?])(?=[^\W\d_])", "? is not a wildcard for one letter", _FORMS, True),
    Rule(
        r"(?<![\w$\\{])[A-Za-z]+(?P<at>\$)[A-Za-z]+(?![\w$}])",
        "$ is not a wildcard for one letter",
        _FORMS,
        True,
    ),
)

RULES = (*_TYPED, *_ENGINES, *_OPERATORS, *_EXPRESSIONS, *_WILDCARDS)
