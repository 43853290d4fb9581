"""Likely mistakes in topics: syntax of other search engines is refused, the rest warned about.

Without this most foreign syntax would be read as words that no paper has: `wom?n`, `NEAR/5`.

PubMed: pubmed.ncbi.nlm.nih.gov/help (search field tags). Web of Science and Scopus: their help
on field tags and proximity operators. arXiv: info.arxiv.org/help/api/user-manual.html (5.1).
Google Scholar: scholar.google.com/intl/en/scholar/help.html (operators).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from string import ascii_lowercase
from typing import NamedTuple

from monitor.errors import QueryError, Remedy
from monitor.match.language.tokens import QUOTES, Token
from monitor.text.arxiv_categories import ARXIV_ARCHIVES

FIRST = r"(?<![^\s(])"  # at the beginning of a word
LAST = r"(?![^\s)])"  # at its end

_PHRASE = re.compile(rf"\\.|[{QUOTES}](?:\\.|[^{QUOTES}\\])*[{QUOTES}]?", re.DOTALL)

# Every text that a rule refuses although it parses has one of these. Most topics have `AND (`, and
# to compile the rules takes 7 ms.
_SUSPECT = re.compile(
    r"[][?$|=!%¬#/<>\\{&\uff02-\uff3a\ufe63]|[A-Z](?<!\sAND)(?<!\sOR)(?<!\sNOT) ?\("
    r"|A(?:ND[-N]|ndNot|ROUND)|PUBYEAR|ADJ\d"
    r"|\.[*+]|\.(?:ti|ab|tw|mp|kw)[.,]|(?<![^\s(])(?:category|source|announce|has):[^\s\"(),]+,|andnot|adj\d"
    r"|[)*'\"]:|(?:noft|ab|ti)\(|(?i:author:[^\s\"(),]{1,60},|\d\s+of\b)"
)


class Rule(NamedTuple):
    """The syntax of a family of engines, and what this language has for it.

    `message` and `hint` may name groups of the pattern; {at} is the group where the fault is. They
    may also name the whole {match}, its words joined as {either} or {both}, and its letters as
    {capitals}. Phrases are searched only with `in_phrases`.
    """

    pattern: str
    message: str
    hint: str
    in_phrases: bool = False
    remedy: Remedy | None = None

    def fault(self, match: re.Match[str]) -> QueryError:
        words = [word for word in _PARTS.split(match[0].strip("[]")) if word]
        names = {
            "match": match[0].strip(),
            "either": " OR ".join(words),
            "both": " AND ".join(words),
            "capitals": match[0].replace(".", "").upper(),
            **match.groupdict(),
        }
        position = match.start("at" if "at" in names else 0)
        message = self.message.format(**names)
        return QueryError(message, position, self.hint.format(**names), self.remedy)


def refuse_foreign(text: str, *, closely: bool = False) -> None:
    """Raise `QueryError` for syntax that is not ours; the hint says what to write instead.

    Unless `closely`, only what the parser would accept is found.
    """
    if closely or _SUSPECT.search(text):
        outside = _mask_phrases(text)
        matches = [
            (rule, match)
            for rule in RULES
            if (match := _compiled(rule.pattern).search(text if rule.in_phrases else outside))
        ]
        faults = [rule.fault(match) for rule, match in matches]
        if faults:
            raise min(faults, key=lambda fault: fault.position)


def find_warnings(text: str, tokens: Sequence[Token]) -> list[QueryError]:
    """Return what is probably not intended, with its position and what to write instead."""
    if not _DOUBTFUL.search(text):
        return []
    outside = _mask_phrases(text)
    # A comma between the options of `2 of (a, b)` means what it says.
    commas = {token.position for token in tokens if token.kind == "comma"}
    outside = "".join("(" if at in commas else sign for at, sign in enumerate(outside))
    return [
        rule.fault(match) for rule in DOUBTS for match in _compiled(rule.pattern).finditer(outside)
    ]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled for the first topic that needs it, as few do: not at each start."""
    return re.compile(pattern)


def _mask_phrases(text: str) -> str:
    """Return `text` with an x for each character between quotes, so that no rule looks there."""
    return _PHRASE.sub(lambda match: _as_x(match[0]), text)


def _as_x(phrase: str) -> str:
    if phrase[0] == "\\" or len(phrase) < 2:
        return phrase
    return phrase[0] + "x" * (len(phrase) - 2) + phrase[-1]


_FIELDS = "title|abstract|author|category|source|venue|announce"
_TYPED = (
    Rule(
        r"(?i)&(?:quot|[lr][ds]quo|[lr]aquo|#3[49]|#x2[27]);|%(?:2[0-9A-F]|3[A-F]|5[BD])",
        "{match} comes from a web page or address",
        "write the character itself",
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}（[^（）]*）|{FIRST}(?:{_FIELDS})：|(?<=\w)＊{LAST}|＂|{FIRST}[－﹣](?=\S)"
        rf"|{FIRST}(?:ＡＮＤ|ＯＲ|ＮＯＴ){LAST}",
        "{match} has full-width characters, which are plain text here",
        'write ( ) : * " - and AND, OR, NOT in half width',
    ),
    Rule(
        rf'(?i){FIRST}[!¬](?=[\w("“])',
        "{match} does not exclude here",
        "write - or NOT, as in agent -robot; between quotes it stays a sign",
    ),
    Rule(
        rf"{FIRST}(?P<at>\+)(?=[{QUOTES}(])",
        "“+” is not an operator here",
        "leave it out: without OR, all words must occur",
    ),
    Rule(
        rf"(?i){FIRST}(?:https?://\S+|(?:doi:)?10\.\d{{4,9}}/\S+|arxiv:\d\S+)",
        "a topic looks for words, not for an address or a number",
        "paper-monitor explain {match} looks a paper up",
        remedy=Remedy.OPEN_PAPER,
    ),
)

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
_PROQUEST_FIELDS = r"noft|ab|ti|(?:MAINSUBJECT|SU)\.EXACT(?:\.EXPLODE)?"  # su(2) is an algebra
_IN = r"(?:ti|ab|tw|mp|kw|kf|de|sh|au|jn)"
_ENGINES = (
    Rule(
        rf"(?i)\[(?:{_TAGS})(?::~?\w+)?\](?!\w)",
        "{match} is a field tag of PubMed",
        f"write title: for [ti], author: for [au], nothing for the others; {_NO_DATES}",
        in_phrases=True,
    ),
    Rule(
        rf"(?i){FIRST}(?:TS|TI|AB|AU|SO|AK|KP|ALL|TMSO|PY|DT|LA|WC|SU|OG|AD|FO|DO|UT|DOP|DE|{_FIELDS})"
        rf"(?:=| = )(?=[\w(\"“])|{FIRST}(?-i:[A-Z]{{2,4}})=(?=[(\"“])",
        "{match} does not name a field here",
        f"write title: for TI=, author: for AU=, venue: for SO=, nothing for TS=; {_NO_DATES}",
    ),
    Rule(
        rf"{FIRST}(?P<at>(?:{_SCOPUS_FILTERS}|{_PROQUEST_FIELDS})(?=\()"
        rf"|(?:{_SCOPUS_FIELDS})(?= ?\())",
        "{at}(...) is syntax of Scopus or ProQuest",
        f"write title:(...) for TITLE, author: for AUTH, (...) for the others; {_NO_DATES}",
    ),
    Rule(
        rf"(?i){FIRST}(?:(?:PUBYEAR ?(?:AFT|BEF|IS)|(?:PUBYEAR|YEAR|DATE) ?[<>=]=?) ?\d{{4}}"
        r"|(?:submittedDate|lastUpdatedDate)(?=:\[))",
        "{match}: a topic cannot ask for dates",
        _NO_DATES,
    ),
    Rule(
        rf"(?i)(?<=[\w)\"*])\.{_IN}(?:\.|(?:,{_IN})+\.?){LAST}"
        rf"|{FIRST}exp [\w-]+(?: [\w-]+){{0,4}}/{LAST}"
        rf"|(?<=['\"])/(?:exp|mj|de){LAST}|(?<=[\w)*'\"]):{_IN}(?:,{_IN})+{LAST}"
        rf"|(?<=[)*'\"]):{_IN}{LAST}",
        "{match} is syntax of Ovid or Embase",
        "write the words alone: they are searched for in the title and the abstract",
    ),
    Rule(
        r"(?i)(?<![^\s(-])(?:year|date|after|before|since|until|published|updated|submitted|pubdate"
        r"|pubyear|py|dp):(?= ?[^\s)])",
        "there is no field {match} dates are not searched",
        f"leave it out: {_NO_DATES}",
    ),
    Rule(
        r"(?i)(?<![^\s(-])(?:ti|abs|ab|au|cat|jr|all|intitle|allintitle|inauthor|intext|tiab|ta|site"
        r"|filetype|co|rn|id|lang):(?= ?[^\s)])",
        "there is no field {match}",
        "the fields are title:, abstract:, author:, category:, source:, venue:, announce:, has:",
    ),
)

_DISTANCE = r"(?:(?:[OP]?NEAR|PRE|NEXT|[WN])/|NEAR:|ADJ|AROUND ?\()\d+\)?"
_OPERATORS = (
    Rule(
        rf"{FIRST}(?:ANDNOT|andnot|AndNot|AND[-/]NOT|AND/OR|OR/AND){LAST}| ?&& ?| ?\|\| ?",
        "{match} is not an operator here",
        "write AND, OR or NOT",
    ),
    Rule(
        rf"(?i)(?<![^\s(){QUOTES}]){_DISTANCE}(?=\s)",
        "{match} is not an operator here",
        'write "agent robot"~5 for words with at most five others between them',
        in_phrases=True,
    ),
    Rule(
        rf"{FIRST}(?:\{{(?=[^{{}}]* (?:AND|OR|NOT) )[^{{}}]*\}}"
        r"|\[(?=[^][]* (?:AND|OR|NOT) )[^][]*\])",
        "only ( and ) group what stands between them",
        "write (agent OR robot)",
    ),
    Rule(
        rf"{FIRST}#\d+(?= (?:AND|OR|NOT)\b)|(?<=\bAND )#\d+|(?<=\bOR )#\d+|(?<=\bNOT )#\d+",
        "{match} is a line of a search history, which is not known here",
        "write out what that line looks for",
    ),
    Rule(
        rf"(?i){FIRST}(?P<at>category|source|announce|has):[^\s\"()]+,[^\s\"()]+",
        "{at}: takes one value",
        "write {at}: before each of several, joined by OR",
    ),
    # But `author:Bengio,Y` and `author:Hinton,GE` are one person with initials. Names are bounded,
    # since each `author:` of a long text without spaces may begin one.
    Rule(
        r"(?i)(?<=author:)(?![^\s\"(),]{1,60},(?-i:[A-Z]{1,3}|(?:[^\W\d_]\.?-?)+(?<!\w\w))(?![^\s)]))"
        rf"[^\s\"(),]{{1,60}}(?:,[^\s\"(),]{{1,60}}){{1,20}}{LAST}",
        "{match} is searched for as the name of one person",
        'write author:({either}) to find any of them, or author:"Bengio, Yoshua" for one person',
    ),
    Rule(
        r"(?i)(?:\A|[(,:]|\b(?-i:AND|OR|NOT)\b)\s*(?P<at>(?P<number>\d+)\s+of)"
        r"(?=\s+[^\s(]|\s*(?:\Z|[),]))",
        "{at} must be followed by a list in parentheses",
        "write {number} of (agent, robot, policy) for papers with {number} of these, or quote the "
        "words to search for themselves",
    ),
)

# [Aa] and [sz], but not [gh]: neighbours in the alphabet name a bond (benzo[gh]perylene), and a
# capital before a small letter an element ([Fe]hydrogenase).
_NEIGHBOURS = "|".join(f"{a}{chr(ord(a) + 1)}" for a in ascii_lowercase[:-1])
_CASES = "|".join(f"{a.upper()}{a}|{a}{a.upper()}" for a in ascii_lowercase)
_EXPRESSIONS = (
    Rule(
        r"^/.+/[gimsux]*$|\\b[A-Za-z]+\??\\b|\\[BDSWbdsw](?![A-Za-z{])|\(\?(?:[:=!<]|[imsx]+\))"
        rf"|\.\*(?=[^\s),\"”»]|,\S)|\.\+|{FIRST}\.[*+]|(?<=[A-Za-z])\{{\d+,\d*\}}"
        rf"|\[(?:{_CASES}|(?!{_NEIGHBOURS})[a-z]{{2}})\](?=\w)|\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9])+\]"
        rf"|{FIRST}\([^\s|()]{{2,}}(?:\|[^\s|()]{{2,}})+\)",
        "{match} is part of a regular expression; a topic is made of words",
        "write agent* for words that begin so, (agent OR robot) for either, "
        '"agent robot"~5 for words near each other',
        in_phrases=True,
    ),
    Rule(
        r"(?:(?<!\w)\w+(?=[?#][^\W\d_])|(?<![\w$\\{])[A-Za-z]+(?=\$[A-Za-z]+(?![\w$}])))"
        r"(?P<at>[?#$])",
        "{at} is not a wildcard for one letter",
        "write its forms, as in (woman OR women), or its beginning, as in wom*",
        in_phrases=True,
    ),
)

RULES = (*_TYPED, *_ENGINES, *_OPERATORS, *_EXPRESSIONS)

# Abbreviations of science and offices that are common words in small letters.
_ALSO = """
    ace act add age aids aim all ant arc arm art bat bed bold bus can cap car care cars case cast
    cat chain chip do far gold grade he her if led me mimic music no red rise scan see so ten top
    core cost crisp dam dart dash dot ear era eye face fact fair fast fat fish fit flair flame gap
    gas gate gem grace grid heat hip hit hot ice iris lab lamp lap lasso lead light lime list map
    mars mass mat mesh met mice mind mint mix moss net nice now one our pace pan pat path pet pin
    pod prism rag ram rat rod sage salt sap sat sea set she ship slam smart soap spin spot star stem
    step sum tag task tip track trap trim us use was wave we who wise
"""
ALSO_WORDS = frozenset(_ALSO.split())
_SEPARATORS = ",;，；、"
_ENDS = r"'`‘’‚‹›「」『』{}[\]"  # where a phrase in foreign quotes ends
_PARTS = re.compile(rf"[\s{_SEPARATORS}&|+?$]+")
_WORD = r"[^\W\d_][^\W_]+"
_IN_CAPITALS = (name for name, parts in ARXIV_ARCHIVES.items() if "".join(parts).isupper())
_ARCHIVE = rf"(?:{'|'.join(_IN_CAPITALS)})\."
_CATEGORY = rf"(?:{_ARCHIVE}[A-Z]{{2}}|(?:cond-mat|physics)\.[a-z-]{{5,}})"
# Behind an author's name, a capital begins another name; `author:hinton transformer` is none.
_NAMED = r"(?i:author)(?=:\s*[\w-]+,?\s+[A-Z](?:[a-z]|\b))"
# Every text that a rule doubts has one of these.
_DOUBTFUL = re.compile(
    rf"[{_SEPARATORS}&|+?$.'`‘‚‹「『{{[]|(?i:\b(?:title|abstract|venue|author): ?\w)"
    r"|\b(?:[Aa]nd|[Oo]r|[Nn]ot|UND|ODER|NICHT|XOR|NEAR|SAME|ADJ|MH|MM|DE|SU|TX|TI|AB)\b"
)
_FOREIGN_OPERATORS = (
    ("UND|ODER|NICHT|(?i:AND/OR|OR/AND)", "write AND, OR or NOT"),
    ("XOR", "write (a OR b) NOT (a b) for one without the other"),
    ("NEAR|SAME|ADJ", 'write "agent robot"~15 for two words near each other'),
    (r"(?:MH|MM|DE|SU|TX|TI|AB)(?=\s+[(\"“])", "write title: for TI, nothing for the others"),
    (
        r"(?<=\s)(?:[Aa]nd|[Oo]r)|[Nn]ot",
        "write {capitals} in capitals if it is meant to join or exclude",
    ),
)
DOUBTS = (
    *(
        Rule(rf"{FIRST}(?:{words})(?=\s+\S)", "“{match}” is searched for as a word", hint)
        for words, hint in _FOREIGN_OPERATORS
    ),
    Rule(
        rf"{FIRST}[^\s():]*[^\s():&](?P<at>[{_SEPARATORS}])(?:\s+[^\s()]+[{_SEPARATORS}])*"
        r"\s+(?!(?:AND|OR|NOT)\s)[^\s()]+",
        "“{at}” does not mean OR: all of these words must be there",
        "write ({either}) to find any of them",
    ),
    Rule(
        rf"{FIRST}(?=[^\s():]*?(?<![^\W_])\d*+{_WORD}+[{_SEPARATORS}|]{_WORD})[^\s():]+",
        "{match} is searched for as one phrase",
        "write ({either}) to find any of the words",
    ),
    Rule(
        rf"{FIRST}(?=\S*[a-z])[^\W\d_]{{3,}}[&+][^\W\d_]{{3,}}{LAST}",
        "{match} is searched for as one phrase",
        "write {both}",
    ),
    Rule(
        rf"{FIRST}\+(?P<of>[^\W\d_][\w-]*){LAST}",
        "“+” has no meaning here: without OR, all words must occur",
        "write {of}; for either of two words, write (a OR b)",
    ),
    Rule(
        rf"{FIRST}(?:[^\W\d_]\.){{2,}}{LAST}",
        "{match} finds only papers that write the dots",
        'write ({capitals} OR "{match}") to find both spellings',
    ),
    Rule(
        rf"{FIRST}[^\W\d_]+(?P<at>[?$]){LAST}",
        "“{at}” is not a wildcard for one letter",
        "write {both}; a plural is found, too, and {both}* finds all that begins so",
    ),
    Rule(
        rf"(?s)\A(?!.*[Cc]ategory:\s*\().*?{FIRST}(?P<at>{_CATEGORY}){LAST}",
        "{at} is searched for in the title and the abstract",
        "write category:{at} for the category",
    ),
    Rule(
        rf"(?<![^\s(:-])(?P<near>{_ARCHIVE}[A-Z]{{2}})[A-Z]+{LAST}",
        "{match} is not a category of arXiv",
        "did you mean category:{near}?",
    ),
    Rule(
        rf"(?<![^\s(-])(?P<field>(?i:title|abstract|venue)|{_NAMED}):\s*(?P<of>\w[\w-]*),?\s+"
        rf"(?!(?:[Aa]nd|[Oo]r|[Nn]ot|[Oo]f|AND|OR|NOT|OF)\s)(?P<next>\w[\w-]*)\.?{LAST}"
        r"(?!\s+[Oo][Ff]\s)",
        "{field}: is only for {of}; {next} may occur anywhere",
        'write {field}:"{of} {next}" for the phrase, {field}:({of} {next}) for both words in this '
        "field, or {field}:{of} AND {next}",
    ),
    Rule(
        rf"{FIRST}(?!\[[^][]*,)(?:''|['`‘‚‹「『{{[])(?P<of>\w[^\s{_ENDS}]*+\s[^{_ENDS}]*+(?<=\w))"
        rf"(?:''|['`’‘›」』}}\]]){LAST}",
        "{match} is searched for word by word, not as a phrase",
        'write "{of}" to find the words next to each other',
    ),
)
