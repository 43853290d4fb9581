"""Likely mistakes in topics: syntax of other search engines is refused, the rest warned about.

Without this most foreign syntax would be read as words that no paper has: `wom?n`, `NEAR/5`.

PubMed: pubmed.ncbi.nlm.nih.gov/help (search field tags). Web of Science and Scopus: their help
on field tags and proximity operators. arXiv: info.arxiv.org/help/api/user-manual.html (5.1).
Google Scholar: scholar.google.com/intl/en/scholar/help.html (operators).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from string import ascii_lowercase
from typing import NamedTuple

from monitor.errors import QueryError
from monitor.match.language.tokens import QUOTES, Token

FIRST = r"(?<![^\s(])"  # at the beginning of a word
LAST = r"(?![^\s)])"  # at its end

_PHRASE = re.compile(rf"\\.|[{QUOTES}](?:\\.|[^{QUOTES}\\])*[{QUOTES}]?", re.DOTALL)

# Every text that a rule refuses although it parses has one of these.
_SUSPECT = re.compile(
    r"[][?$|=!%¬#/<>\\{&\uff02-\uff3a\ufe63]|[A-Z] ?\(|A(?:ND[-N]|ndNot|ROUND)|PUBYEAR|ADJ\d"
    r"|\.[*+]|\.(?:ti|ab|tw|mp|kw)[.,]|(?:category|source|announce):[^\s,]+,|andnot|adj\d"
)


class Rule(NamedTuple):
    """The syntax of a family of engines, and what this language has for it.

    `message` and `hint` may name the {match} and its group {at}, where the fault is. Phrases are
    searched only with `in_phrases`; case counts in the pattern with `capitals`.
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
    """Yield the first fault of each rule."""
    outside = mask_phrases(text)
    for rule in RULES:
        if match := _compiled(rule).search(text if rule.in_phrases else outside):
            group = "at" if "at" in match.re.groupindex else 0
            start, end = match.span(group)
            names = {"at": text[start:end], "match": match[0].strip()}
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
        r"&(?:quot|[lr][ds]quo|[lr]aquo|#3[49]|#x2[27]);|%(?:2[0-9A-F]|3[A-F]|5[BD])",
        "{match} comes from a web page or address",
        "write the character itself",
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}（[^（）]*）|{FIRST}(?:{_FIELDS})：|(?<=\w)＊{LAST}|＂|{FIRST}[－﹣](?=\S)"
        rf"|{FIRST}(?:ＡＮＤ|ＯＲ|ＮＯＴ){LAST}",
        "{match} has full-width characters, which are plain text here",
        'write ( ) : * " - and AND, OR, NOT in half width',
        capitals=True,
    ),
    Rule(
        rf'{FIRST}[!¬](?=[\w("“])',
        "{match} does not exclude here",
        "write - or NOT, as in agent -robot; between quotes it stays a sign",
    ),
    Rule(
        rf"{FIRST}(?:https?://\S+|(?:doi:)?10\.\d{{4,9}}/\S+|arxiv:\d\S+)",
        "a topic looks for words, not for an address or a number",
        "paper-monitor explain {match} looks a paper up",
    ),
)

# ── engines ─────────────────────────────────────────────────────────────────────────

_NO_DATES = "a topic looks at new papers, whatever their date, language or type"
_TAGS = (
    r"ti|title|tiab|title/abstract|ab|abstract|tw|text words?|all|all fields|au|author|1au|lastau"
    r"|ta|journal|ot|other term|mh|mesh|mesh terms|majr|mesh major topic|sh|mesh subheading|nm"
    r"|dp|pdat|edat|crdt|date - [a-z ]+|publication date|la|lang|language|pt|publication type|sb"
    r"|filter|subset|ad|affiliation|pmid|uid"
)
_SCOPUS_FIELDS = (
    "TITLE-ABS-KEY-AUTH|TITLE-ABS-KEY|TITLE-ABS|TITLE|ABS|KEY|AUTHKEY|AUTH|AUTHOR-NAME"
    "|AUTHLASTNAME|SRCTITLE|EXACTSRCTITLE|INDEXTERMS|ALL"
)
_SCOPUS_FILTERS = (
    r"LIMIT-TO|EXCLUDE|DOCTYPE|SUBJAREA|LANGUAGE|AFFIL\w*|DOI|ISSN|REF|SRCTYPE|EID|ORCID|FUND-\w+"
)
_IN = r"(?:ti|ab|tw|mp|kw|kf|de|sh|au|jn)"
_ENGINES = (
    Rule(
        rf"\[(?:{_TAGS})(?::~?\w+)?\](?!\w)",
        "{match} is a field tag of PubMed",
        f"write title: for [ti], author: for [au], nothing for the others; {_NO_DATES}",
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}(?:TS|TI|AB|AU|SO|AK|KP|ALL|TMSO|PY|DT|LA|WC|SU|OG|AD|FO|DO|UT|DOP|{_FIELDS})"
        r"(?:=| = )(?=[\w(\"“])",
        "{match} does not name a field here",
        f"write title: for TI=, author: for AU=, venue: for SO=, nothing for TS=; {_NO_DATES}",
    ),
    Rule(
        rf"{FIRST}(?P<at>(?:{_SCOPUS_FILTERS})(?=\()|(?:{_SCOPUS_FIELDS})(?= ?\())",
        "{at}(...) is Scopus syntax",
        f"write title:(...) for TITLE, author: for AUTH, (...) for TITLE-ABS-KEY; {_NO_DATES}",
        capitals=True,
    ),
    Rule(
        rf"{FIRST}(?:(?:PUBYEAR ?(?:AFT|BEF|IS)|(?:PUBYEAR|YEAR|DATE) ?[<>=]=?) ?\d{{4}}"
        r"|(?:submittedDate|lastUpdatedDate)(?=:\[))",
        "{match}: a topic cannot ask for dates",
        _NO_DATES,
    ),
    Rule(
        rf"(?<=[\w)\"*])\.{_IN}(?:\.|(?:,{_IN})+\.?){LAST}"
        rf"|{FIRST}exp [\w-]+(?: [\w-]+){{0,4}}/{LAST}"
        rf"|(?<=['\"])/(?:exp|mj|de){LAST}|(?<=[\w)*'\"]):{_IN}(?:,{_IN})+{LAST}",
        "{match} is syntax of Ovid or Embase",
        "write the words alone: they are looked for in the title and the abstract",
    ),
    Rule(
        r"(?<![^\s(-])(?:ti|abs|ab|au|cat|jr|all|intitle|allintitle|inauthor|intext|tiab|ta|site"
        r"|filetype|after|before|year|date|co|rn|id|lang):(?= ?[^\s)])",
        "there is no field {match}",
        "the fields are title:, abstract:, author:, category:, source:, venue:, announce:",
    ),
)

# ── operators ───────────────────────────────────────────────────────────────────────

_DISTANCE = r"(?:(?:[OP]?NEAR|PRE|NEXT|[WN])/|NEAR:|ADJ|AROUND ?\()\d+\)?"
_OPERATORS = (
    Rule(
        rf"{FIRST}(?:ANDNOT|andnot|AndNot|AND[-/]NOT|AND/OR|OR/AND){LAST}| ?&& ?| ?\|\| ?",
        "{match} is not an operator here",
        "write AND, OR or NOT",
        capitals=True,
    ),
    Rule(
        rf"(?<![^\s(){QUOTES}]){_DISTANCE}(?=\s)",
        "{match} is not an operator here",
        'write "agent robot"~5 for words with at most five others between them',
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}(?:\{{(?=[^{{}}]* (?:AND|OR|NOT) )[^{{}}]*\}}"
        r"|\[(?=[^][]* (?:AND|OR|NOT) )[^][]*\])",
        "only ( and ) group what stands between them",
        "write (agent OR robot)",
        capitals=True,
    ),
    Rule(
        rf"{FIRST}#\d+(?= (?:AND|OR|NOT)\b)|(?<=\bAND )#\d+|(?<=\bOR )#\d+|(?<=\bNOT )#\d+",
        "{match} is a line of a search history, which is not known here",
        "write out what that line looks for",
        capitals=True,
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
        "{match} is part of a regular expression; a topic is made of words",
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
_WILDCARDS = tuple(
    Rule(
        pattern,
        "{at} is not a wildcard for one letter",
        "write its forms, as in (woman OR women), or its beginning, as in wom*",
        in_phrases=True,
    )
    for pattern in (
        r"(?<!\w)\w+(?P<at>[?])(?=[^\W\d_])",
        r"(?<![\w$\\{])[A-Za-z]+(?P<at>\$)[A-Za-z]+(?![\w$}])",
    )
)

RULES = (*_TYPED, *_ENGINES, *_OPERATORS, *_EXPRESSIONS, *_WILDCARDS)

# ── warnings ────────────────────────────────────────────────────────────────────────

_OWN_OPERATORS = ("AND", "OR", "NOT")
_NEAR = 'write "agent robot"~15 for two words near each other'
_FOREIGN_OPERATORS = {
    "UND": "write AND to join",
    "ODER": "write OR to join",
    "NICHT": "write NOT to join",
    "AND/OR": "write OR to join",
    "OR/AND": "write OR to join",
    "XOR": "write (a OR b) NOT (a b) for one without the other",
    "NEAR": _NEAR,
    "SAME": _NEAR,
    "ADJ": _NEAR,
}
_ANY_OPERATOR = {*_OWN_OPERATORS, *_FOREIGN_OPERATORS}
_TEXT_FIELDS = {"title:", "abstract:", "venue:"}
_SEPARATORS = ",;，；、"
_LISTED = re.compile(rf"[^\W\d_][^\W_]+[{_SEPARATORS}][^\W\d_][^\W_]+")
_GLUED = re.compile(r"(?=\S*[a-z])[^\W\d_]{3,}(?P<sign>[&|+])[^\W\d_]{3,}")
_ENTITY = re.compile(r"&#?\w+;$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}")
_CATEGORY = re.compile(
    r"(?:cs|math|stat|eess|econ|physics|q-bio|q-fin)\.[A-Z]{2}|(?:astro-ph|cond-mat)\.[A-Za-z-]{2,}"
)
_OTHER_QUOTES = re.compile(
    rf"{FIRST}(?:''|['`‘‚‹「『])(?P<of>\w[^'`’‘›」』]*\s[^'`’‘›」』]*\w)(?:''|['`’‘›」』]){LAST}"
)
_OPENED = re.compile("['`‘‚‹「『{]")
_BRACES = re.compile(rf"{FIRST}\{{(?P<of>[\w-]+(?:\s[\w-]+)+)\}}{LAST}")


def find_warnings(text: str, tokens: Sequence[Token]) -> Iterator[QueryError]:
    """Yield what is probably not intended, with its position and what to write instead.

    `tokens` are those of `text`, the end among them.
    """
    for at, token in enumerate(tokens[:-1]):
        word = token.text
        if token.kind == "word" and (not word.isalnum() or word.upper() in _ANY_OPERATOR):
            yield from _word_warnings(tokens, at)
    outside = mask_phrases(text) if _OPENED.search(text) else ""
    for pattern in (_OTHER_QUOTES, _BRACES):
        for match in pattern.finditer(outside):
            yield QueryError(
                f"{match[0]} is looked for word by word, not as a phrase",
                match.start(),
                f'write "{match["of"]}" to find the words next to each other',
            )


def _word_warnings(tokens: Sequence[Token], at: int) -> Iterator[QueryError]:
    token, text = tokens[at], tokens[at].text
    joins = tokens[at + 1].kind != "end"
    hint = _FOREIGN_OPERATORS.get(text.upper() if "/" in text else text) if at else None
    if text.upper() in (_OWN_OPERATORS if at else ("NOT",)):
        hint = f"write {text.upper()} in capitals if it is meant to join or exclude"
    if joins and hint:
        yield QueryError(f"'{text}' is looked for as a word here", token.position, hint)
    before = tokens[at - 1] if at else None
    if before and before.kind == "field" and before.text.lower() not in _TEXT_FIELDS:
        return
    if joins and _ends_item(token) and not (before and _ends_item(before)):
        yield _list_warning(tokens, at)
    if _LISTED.search(text):
        yield QueryError(
            f"{text} is looked for as one phrase",
            token.position,
            f"write {_either(re.split(f'[{_SEPARATORS}]', text))} to find any of the words",
        )
    yield from _spelling_warnings(token)
    if _CATEGORY.fullmatch(text) and not any(other.text.lower() == "category:" for other in tokens):
        yield QueryError(
            f"{text} is looked for in the title and the abstract",
            token.position,
            f"write category:{text} for the category",
        )


def _ends_item(token: Token) -> bool:
    """Whether a comma or the like follows a word; `&amp;` is a character."""
    text = token.text
    return token.kind == "word" and text[-1] in _SEPARATORS and not _ENTITY.search(text)


def _list_warning(tokens: Sequence[Token], at: int) -> QueryError:
    """Warn of the first comma of `agent, llm, robot`; the hint is the whole list if it is plain."""
    token = tokens[at]
    listed = [token]
    while _ends_item(listed[-1]) and tokens[at + len(listed)].kind == "word":
        listed.append(tokens[at + len(listed)])
    words = [item.text.rstrip(_SEPARATORS) for item in listed]
    either = _either(words) if len(words) > 1 else "OR between them"
    return QueryError(
        f"“{token.text[-1]}” does not mean OR: all of these words must be there",
        token.position + len(token.text) - 1,
        f"write {either} to find any of them",
    )


def _spelling_warnings(token: Token) -> Iterator[QueryError]:
    text, position = token.text, token.position
    if _INITIALS.fullmatch(text):
        bare = text.replace(".", "").upper()
        yield QueryError(
            f"{text} finds only papers that write the dots",
            position,
            f'write ({bare} OR "{text}") to find both spellings',
        )
    if glued := _GLUED.fullmatch(text):
        words = text.split(glued["sign"])
        either = _either(words) if glued["sign"] == "|" else " AND ".join(words)
        yield QueryError(f"{text} is looked for as one phrase", position, f"write {either}")
    if text[-1] in "?$" and text[:-1].isalpha():
        yield QueryError(
            f"“{text[-1]}” is not a wildcard for one letter",
            position + len(text) - 1,
            f"write {text[:-1]}; a plural is found, too, and {text[:-1]}* finds all that begins so",
        )


def _either(words: Sequence[str]) -> str:
    return f"({' OR '.join(word for word in words if word)})"
