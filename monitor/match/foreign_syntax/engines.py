"""Fields, tags and signs of other search engines, of keyboards and of web addresses.

PubMed: pubmed.ncbi.nlm.nih.gov/help (search field tags). Web of Science and Scopus: their help
on field tags and proximity operators. arXiv: info.arxiv.org/help/api/user-manual.html (5.1).
Google Scholar: scholar.google.com/intl/en/scholar/help.html (operators).
"""

from __future__ import annotations

from urllib.parse import unquote

from monitor.match.foreign_syntax.operators import OPERATORS
from monitor.match.foreign_syntax.rule import FIRST, JOINED, LAST, OPERAND, QUOTES, Found, rule

# Names of fields elsewhere, and what stands for them here; for all others, nothing.
_OURS = {
    **dict.fromkeys(("ti", "title", "intitle"), "title:"),
    **dict.fromkeys(("ab", "abs", "abstract"), "abstract:"),
    **dict.fromkeys(("au", "auth", "author", "1au", "lastau", "inauthor"), "author:"),
    **dict.fromkeys(("author-name", "authlastname", "authfirst"), "author:"),
    **dict.fromkeys(("so", "ta", "jr", "journal", "srctitle", "exactsrctitle", "venue"), "venue:"),
    **dict.fromkeys(("cat", "category"), "category:"),
    **{name: f"{name}:" for name in ("source", "announce")},
}
_FIELDS = "title|abstract|author|category|source|venue|announce"
_NOT_ASKED = "leave it out; a topic looks at new papers, whatever their date, language or type"


def _rewrite_field(found: Found) -> str:
    return _OURS.get(found.groups["tag"].lower(), "")


def _rewrite_tag(found: Found) -> str:
    """Rewrite `cancer[ti]`, and `"heart attack"[tiab:~3]`."""
    of, near = found.groups["of"], found.groups["near"]
    return f"{of}~{near}" if near and of[0] in QUOTES else _rewrite_field(found) + of


def _rewrite_name(found: Found) -> str:
    return f'author:"{found.groups["of"][1:-1].strip().strip(QUOTES)}"'


_PLAIN = str.maketrans({chr(0xFEE0 + code): chr(code) for code in range(0x21, 0x7F)} | {"﹣": "-"})


def _rewrite_full_width(found: Found) -> str:
    text = found.text
    return f"({text[1:-1]})" if text[0] == "（" else text.translate(_PLAIN)


# ── keyboards, web pages and addresses ──────────────────────────────────────────────

_TYPED = (
    rule(
        r"&(?:quot|[lr][ds]quo|[lr]aquo|#3[49]|#x2[27]);",
        "{found} is HTML for a quotation mark",
        'write "',
        '"',
        in_phrases=True,
    ),
    rule(
        r"%(?:2[0-9A-F]|3[A-F]|5[BD])",
        "{found} comes from a web address",
        "write the characters themselves",
        lambda found: unquote(found.text),
        in_phrases=True,
    ),
    rule(
        rf"{FIRST}（[^（）]*）|{FIRST}(?:{_FIELDS})：|(?<=\w)＊{LAST}|＂|{FIRST}[－﹣](?=\S)"
        rf"|{FIRST}(?:ＡＮＤ|ＯＲ|ＮＯＴ){LAST}",
        "{found} has full-width characters, which are plain text here",
        'write ( ) : * " - and AND, OR, NOT in half width',
        _rewrite_full_width,
        capitals=True,
    ),
    rule(
        rf'{FIRST}[!¬](?=[\w("“])',
        "{found} does not exclude here",
        "write - or NOT, as in agent -robot; between quotes it stays a sign",
        "-",
    ),
    rule(
        rf"{FIRST}(?:https?://\S+|(?:doi:)?10\.\d{{4,9}}/\S+|arxiv:\d\S+)",
        "a topic looks for words, not for an address or a number",
        "paper-monitor explain {found} looks a paper up",
    ),
)

# ── engines ─────────────────────────────────────────────────────────────────────────

_TAG = (
    r"ti|title|tiab|title/abstract|ab|abstract|tw|text words?|all|all fields|au|author|1au|lastau"
    r"|ta|journal|ot|other term|mh|mesh|mesh terms|majr|mesh major topic|sh|mesh subheading|nm"
)
_ASIDE = (
    r"dp|pdat|edat|crdt|date - [a-z ]+|publication date|la|lang|language|pt|publication type|sb"
    r"|filter|subset|ad|affiliation|pmid|uid"
)
_PUBMED_HINT = 'write title:cancer for [ti], author:"Smith J" for [au], cancer alone for the others'
_PUBMED = (
    rule(
        rf"{JOINED}{FIRST}(?P<open>\( ?)?{OPERAND}(?: ?\[(?:{_ASIDE})\])?(?: ?: ?{OPERAND})?"
        rf" ?(?P<at>\[(?:{_ASIDE})\])(?(open) ?\))(?!\w)",
        "{at} is PubMed syntax, which topics do not support",
        _NOT_ASKED,
        "",
    ),
    rule(
        rf"(?P<of>{FIRST}{OPERAND}) ?(?P<at>\[(?P<tag>{_TAG})(?::~?(?P<near>\w+))?\])(?!\w)",
        "{at} is a field tag of PubMed",
        _PUBMED_HINT,
        _rewrite_tag,
    ),
    rule(
        rf"\[(?:{_TAG})\](?!\w)",
        "{found} is a field tag of PubMed",
        _PUBMED_HINT,
        in_phrases=True,
    ),
    rule(
        rf"\[(?:{_ASIDE})\](?!\w)",
        "{found} is PubMed syntax, which topics do not support",
        _NOT_ASKED,
        in_phrases=True,
    ),
)
_WEB_OF_SCIENCE = (
    rule(
        rf"{JOINED}{FIRST}(?P<at>(?:PY|DT|LA|WC|SU|OG|AD|FO|DO|UT|DOP)(?:=| = )){OPERAND}",
        "{at} is Web of Science syntax, which topics do not support",
        _NOT_ASKED,
        "",
    ),
    rule(
        rf"{FIRST}(?P<tag>TS|TI|AB|AU|SO|AK|KP|ALL|TMSO|{_FIELDS})(?:=| = )(?=[\w(\"“])",
        "{found} does not name a field here",
        "write title: for TI=, author: for AU=, venue: for SO=, nothing for TS=",
        _rewrite_field,
    ),
)
SCOPUS_FIELDS = (
    "TITLE-ABS-KEY-AUTH|TITLE-ABS-KEY|TITLE-ABS|TITLE|ABS|KEY|AUTHKEY|AUTH|AUTHOR-NAME"
    "|AUTHLASTNAME|SRCTITLE|EXACTSRCTITLE|INDEXTERMS|ALL"
)
_SCOPUS = (
    rule(
        rf"{JOINED}{FIRST}(?P<at>(?:LIMIT-TO|EXCLUDE|DOCTYPE|SUBJAREA|LANGUAGE|AFFIL\w*|DOI|ISSN"
        r"|REF|SRCTYPE|EID|ORCID|FUND-\w+))\([^()]*\)",
        "{at}(...) is Scopus syntax, which topics do not support",
        _NOT_ASKED,
        "",
        capitals=True,
    ),
    rule(
        rf"{FIRST}(?P<tag>{SCOPUS_FIELDS}) ?(?=\()",
        "{tag}(...) is Scopus syntax",
        "write title:(...) for TITLE, author: for AUTH, (...) alone for TITLE-ABS-KEY",
        _rewrite_field,
        capitals=True,
    ),
    rule(
        rf"{JOINED}{FIRST}(?P<at>(?:PUBYEAR ?(?:AFT|BEF|IS)|(?:PUBYEAR|YEAR|DATE) ?[<>=]=?)"
        r" ?\d{4})[^\s)]*",
        "{at}: a topic cannot ask for dates",
        _NOT_ASKED,
        "",
    ),
)
_IN = r"(?:ti|ab|tw|mp|kw|kf|de|sh|au|jn)"
_OVID_AND_EMBASE = (
    rule(
        rf"(?<=[\w)\"*])(?P<at>\.{_IN}(?:\.|(?:,{_IN})+\.?)){LAST}",
        "{at} is Ovid syntax",
        "leave it out: words are looked for in the title and the abstract",
        "",
    ),
    rule(
        rf"{FIRST}exp (?P<of>[\w-]+(?: [\w-]+){{0,4}})/{LAST}",
        "{found} is a subject heading, which is not stored",
        "write its words",
        lambda found: f'"{found.groups["of"]}"',
    ),
    rule(rf"(?<=['\"])/(?:exp|mj|de){LAST}", "{found} is Embase syntax", "leave it out", ""),
    rule(
        rf"(?<=[\w)*'\"])(?P<at>:{_IN}(?:,{_IN})+){LAST}",
        "{at} is Embase syntax",
        "leave it out: words are looked for in the title and the abstract",
        "",
    ),
)
_ARXIV_AND_SCHOLAR = (
    rule(
        rf"{JOINED}{FIRST}(?P<at>(?:submittedDate|lastUpdatedDate):)\[[^\]]*\]",
        "{at} a topic cannot ask for dates",
        _NOT_ASKED,
        "",
    ),
    rule(
        rf"{JOINED}(?<![^\s(-])-?(?P<at>(?:site|filetype|after|before|year|date|co|rn|id|lang):)"
        rf" ?{OPERAND}",
        "there is no field {at}",
        _NOT_ASKED,
        "",
    ),
    rule(
        r"(?<![^\s(-])(?P<at>allintitle:) ?(?P<of>[^():]+)(?![^)])",
        "there is no field {at}",
        "write title:(agent robot) for words that are all in the title",
        lambda found: f"title:({found.groups['of']})",
    ),
    rule(
        r"(?<![^\s(-])(?P<at>(?P<tag>ti|abs|ab|au|cat|jr|all|intitle|inauthor|intext|tiab|ta):) ?"
        r"(?=[^\s)])",
        "there is no field {at}",
        "the fields are title:, abstract:, author:, category:, source:, venue:, announce:",
        _rewrite_field,
    ),
)

RULES = (
    *_TYPED,
    *_PUBMED,
    *_WEB_OF_SCIENCE,
    *_SCOPUS,
    *_OVID_AND_EMBASE,
    *_ARXIV_AND_SCHOLAR,
    *OPERATORS,
    rule(r"author:(?P<of>\((?![^()]* (?:AND|OR|NOT) )[^()]*\))", "", rewrite=_rewrite_name),
)
