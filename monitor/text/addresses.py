r"""The addresses in a title or abstract that belong to the paper: its code, data, project page.

Authors and sources write them in many forms: `\url{...}`, `[code](...)`, without a
scheme, glued to a word, with a sentence's full stop, broken over two lines. An address says what
it is by its host and, where that can be anything, by the words before it in its sentence.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from monitor.model import Paper
from monitor.text.folding import MAX_TEXT_LENGTH
from monitor.text.registrants import RegistrantKind, hosts_of, kind_of


class Address(NamedTuple):
    """An address of a paper's own: `text[start:end]` is how it is written.

    `kind` is "code", "data", "project", "video" or "other". `offers_code` where the sentence says
    that the code is there, among other things.
    """

    kind: str
    url: str
    start: int
    end: int
    offers_code: bool = False


_MOST_READ = 100
_LONGEST_LEAD = 300
_LONGEST_URL = 2_000
# Nearly all texts have none of these signs of an address.
_SIGNS = ("/", ".io", "www.")
_ADDRESS = re.compile(
    r"(?:(?P<scheme>https?)(?::\s?/(?:\s?/)?|//)\s?"
    r"|(?P<bare>(?<![\w@./:~-])(?=[\w-]{1,63}\.[A-Za-z\d-]+[./]|huggingface\.\sco/|github\.\scom/)))"
    # A host, also with a space where a line was broken.
    r"(?P<host>(?:[\w-]{1,63}(?:\.(?:\s(?=(?:com|io|org)\b|co/))?|(?<=-)\s(?=[\w-]{1,63}\.)))"
    r"{1,8}[A-Za-z]{2,24}(?![\w-]))"
    r"(?P<rest>(?::\d{2,5})?(?:[/?#](?:[!#-;=?-Z_a-z~]|\\[_%#&~$])*)?)"
    r"(?=(?<=/)\s(?P<name>[\w.-]++(?:/[\w./-]*+)?)[)}\]\"”]*(?:\.?\Z|(?<=\.)\s|\.\s))?",
    re.IGNORECASE | re.ASCII,
)
# In arXiv's listings in place of an address or a part of one ("https://anonymous.this http URL").
_LISTED = re.compile(r"this https? URL", re.IGNORECASE)
_LISTED_SIGN = "\0"
# Kinds of pages on which code may be among other things.
_MIXED = ("project", "data", "other")
_PUNCTUATION = ".,;:!?'*"
_ESCAPED = re.compile(r"\\(?=[_%#&~$])")
_NEXT_SENTENCE = re.compile(r"\.(?:The|We|Our|This|In|It|Code|Codes|Data|Project)$")
_PLACEHOLDER = re.compile(
    r"/x{3,}\b|/organization/project|/your|/username\b|/\.\.\.", re.IGNORECASE
)


def _words(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_FORGES = (
    r"(?:gist\.)?github\.com|(?:.*\.)?gitlab\.com|bitbucket\.(?:org|com)|codeberg\.org|gitee\.com|"
    r".*\.sr\.ht|(?:.*\.)?sourceforge\.(?:net|io)|anonymous\.4open\.science|"
    r"colab\.research\.google\.com|pypi\.org|pypi\.python\.org|cran\.r-project\.org|"
    r"(?:.*\.)?bioconductor\.org|codeocean\.com|crates\.io|hub\.docker\.com|code\.google\.com"
)
# Anybody may name a server of their own so.
_CODE = re.compile(rf"{_FORGES}|gitlab\..*|git\..*")
_KNOWN_FORGE = re.compile(rf"(?:www\.)?(?:{_FORGES}|huggingface\.co|hf\.co|modelscope\.cn)")
# Repositories have DOIs of their own.
_DATA_KINDS = (RegistrantKind.REPOSITORY, RegistrantKind.DATA)
_DATA = re.compile(
    rf"{hosts_of(*_DATA_KINDS)}|(?:.*\.)?kaggle\.com|dataverse\..*|data\..*|datasets\..*|"
    r".*\.data\.gouv\.fr"
)
_PROJECT = re.compile(
    r".*\.(?:github|gitlab|webflow|readthedocs|sourceforge)\.io|.*\.(?:netlify|vercel|streamlit)\.app|"
    r"sites\.google\.com|.*\.wixsite\.com|.*\.(?:pages|web)\.(?:dev|app)|.*\.notion\.site|"
    r".*\.hf\.space|.*\.weebly\.com|.*\.wordpress\.com|.*\.squarespace\.com"
)
_VIDEO = re.compile(
    r"(?:m\.)?youtube\.com|youtu\.be|(?:player\.)?vimeo\.com|(?:.*\.)?bilibili\.com"
)
_PREPRINTS = hosts_of(RegistrantKind.PREPRINTS)
# Preprint servers, services that list papers of all, and sites where anybody writes. A part of a
# host (`ada.github.io`, `ada.substack.com`) may be of one person.
_SERVICES = re.compile(
    rf"{_PREPRINTS}|"
    r"(?:.*\.)?(?:openreview|europepmc|dblp|semanticscholar|repec|philpapers|doi|crossref|openalex|"
    r"wikipedia|archive)\.(?:org|com|net)|"
    r"(?:.*\.)?(?:pubpeer|twitter|facebook|linkedin|reddit|scribd|"
    r"slideshare|dropbox|paperswithcode)\.com|"
    r"(?:.*\.)?(?:ncbi\.nlm\.nih\.gov|hal\.science|academia\.edu|google\.com|"
    r"handle\.net|ycombinator\.com|huggingface\.co|modelscope\.cn)|"
    r"x\.com|t\.co|bit\.ly|tinyurl\.com|goo\.gl|hf\.co|lobste\.rs|dev\.to|bsky\.app|mastodon\..*|"
    r"medium\.com|substack\.com|wordpress\.com|blogspot\.com|blogger\.com|tumblr\.com|"
    r"notion\.(?:so|site)|(?:github|gitlab)\.io|feeds\.feedburner\.com|archive\.(?:is|today|ph)"
)
# By the first part of a path on Hugging Face and ModelScope.
_HUBS = {"datasets": "data", "spaces": "project", "studios": "project", "": ""}
# Other papers, identifiers, licences, shops: never a paper's own.
_NEVER = re.compile(
    rf"{_PREPRINTS}|"
    r"(?:.*\.)?(?:doi|openreview|aclanthology|aclweb|wikipedia|wikidata|orcid|semanticscholar|"
    r"creativecommons|w3|crossref|isbn|opensource|jstor)\.(?:org|net)|"
    r"(?:www\.)?(?:amazon|ebay|google|facebook|twitter|x|reddit|sciencedirect|example|overleaf)\.com|"
    r"(?:.*\.)?(?:springer|wiley|elsevier|tandfonline|nature|crossmark)\.com|"
    r"(?:pubmed\.)?(?:www\.)?ncbi\.nlm\.nih\.gov|(?:www\.)?clinicaltrials\.gov"
)

_OWN = _words(
    r"avail\w*|releas\w*|open-?\s?sourc\w*|publi(?:c|sh)\w*|provid\w*|found|seen?|visit|"
    r"watch\w*|access\w*|download\w*|host\w*|shar(?:e|ed|ing)|our|we|code\w*|source|project|"
    r"website|webpage|homepage|page|link\w*|demos?|videos?|implement\w*|data|datasets?|"
    r"repository|supplement\w*|appendi\w+|made|here|refer|github|url|web|obtained|reproduc\w*|"
    r"online|checkpoints?"
)
# Words right before an address that is not of this paper.
_FOREIGN = re.compile(
    r"\b(?:such as|e\.g\.,?|like|their|his|her|collected from|crawled from|scraped from|based on|"
    r"built (?:up)?on|evaluat\w+ on|experiments? (?:on|with)|tested on|deployed on|provided by|"
    r"operated by|follow-up of|extension of|extends|using|uses?|used(?! (?:to|in|for)\b)|"
    r"hosted by|compar\w+ (?:with|to)|challenge|competition|workshop)\b[^.;:]{0,60}$",
    re.IGNORECASE,
)
_AFTER_NAMES = re.compile(r"\bet al\b.{0,60}$")
_REPORTED = re.compile(
    r"\b(?:the authors of (?!this)|wrote\b|(?:stated|claimed|written) by\b)", re.IGNORECASE
)
_OFFERED = _words(r"avail\w*|releas\w*|open-?\s?sourc\w*|publi(?:c|sh)\w*|found|our|we|access\w*")
# A sentence without these that has an address in parentheses explains a name with it.
_INTRODUCED = _words(
    r"avail\w*|releas\w*|open-?\s?sourc\w*|publi(?:c|sh)\w*|found|access\w*|download\w*|"
    r"present\w*|introduc\w*|propos\w*|develop\w*|provid\w*|shar(?:e|ed|ing)|contribut\w*|"
    r"code\w*|project|demos?|website|homepage|implement\w*|here|see|visit|videos?|ma[dk]e|"
    r"bui(?:ld|lt)|creat\w*|new|supplement\w*"
)
_LEADING = re.compile(
    r"(?:\b(?:at|on|from|via|in|under|see|visit|here|link|website|page|webpage|code|demo|video)"
    r"|[:(–—-])\s*+(?:[:(]\s*+)?$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?]\s")
_SAYS_CODE = _words(
    r"cod(?:e|es|ebases?|ing)|source|implement\w*|software|toolkits?|tools?|librar(?:y|ies)|"
    r"packages?|framework|scripts?|open-?sourced?|repository|plugin|simulator|programs?|"
    r"models?|checkpoints?|weights|suite|reproduc\w*"
)
# Not what a paper is about, as in "code generation".
_SAYS_ONLY_CODE = _words(
    r"codebases?|codes?(?![ -](?:generat|complet|synthes|search|review|summar|translat|understand"
    r"|intelligen|edit|repair|LLM|language|agent))|implement\w*|software|toolkits?|librar(?:y|ies)|packages?|scripts?"
)
_SAYS_DATA = _words(r"data\s?-?sets?|data|corp(?:us|ora)|annotations|recordings|sketches")
_SAYS_PROJECT = _words(r"project|(?:web|home)[ -]?(?:page|site)s?|demos?|demonstrations?")
_SAYS_VIDEO = _words(r"videos?")
_SAYS_SUPPLEMENT = _words(r"supplement\w*|appendi\w+")
_SAYS_REFERENCES = _words(
    r"references|papers|literature|reading list|bibliography|curated (?:list|collection)"
)


class PaperLink(NamedTuple):
    """An address of what belongs to a paper, of a kind as `Address` has."""

    kind: str
    url: str
    offers_code: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """All that is there."""
        return (self.kind, "code") if self.offers_code else (self.kind,)


def is_shared_host(host: str) -> bool:
    """Whether papers or pages of many people are on a host: forges, blogs, preprint servers."""
    return any(sites.fullmatch(host) for sites in (_SERVICES, _CODE, _DATA, _VIDEO))


def paper_links(paper: Paper) -> tuple[PaperLink, ...]:
    """Return the code, data and pages of a paper: from its source, then from its text, each once.

    Its own page and PDF are not among them.
    """
    known = {_compared(url) for url in (paper.url, paper.pdf_url)}
    links = [PaperLink(kind, url) for kind, url in sorted(paper.links.items())]
    known.update(_compared(link.url) for link in links)
    for address in (*find_addresses(paper.title), *find_addresses(paper.abstract)):
        if (same := _compared(address.url)) not in known:
            known.add(same)
            links.append(PaperLink(address.kind, address.url, address.offers_code))
    return tuple(links)


def is_known_forge(host: str) -> bool:
    """Whether a host is one of the services where people keep code."""
    return bool(_KNOWN_FORGE.fullmatch(host))


def _compared(url: str) -> str:
    """Return an address without differences that lead to the same page."""
    address = url.partition("://")[2].lower().removeprefix("www.").partition("#")[0]
    return address.rstrip("/").removesuffix(".git")


@lru_cache(2_048)  # a paper is matched, shown and written in several forms
def find_addresses(text: str) -> tuple[Address, ...]:
    """Return the addresses that are the paper's own in a title or abstract, in order.

    The same address may come twice. All are http or https; a text has at most 100.
    """
    text = text[:MAX_TEXT_LENGTH]
    if not any(sign in text for sign in _SIGNS):
        return ()
    addresses: list[Address] = []
    before = 0
    text = _LISTED.sub(lambda listed: _LISTED_SIGN * len(listed[0]), text)
    for written in islice(_ADDRESS.finditer(text), _MOST_READ):
        start, end, url = _address(written)
        if text[end : end + 1] == _LISTED_SIGN:
            continue
        lead, whole = _words_around(text, start, end, before)
        if kind := _kind(written, url, lead, whole):
            says_code = _SAYS_ONLY_CODE.search(_deciding_words(lead, whole))
            offers_code = kind in _MIXED and says_code is not None
            addresses.append(Address(kind, url, start, end, offers_code))
            before = end
    return tuple(addresses)


def _address(written: re.Match[str]) -> tuple[int, int, str]:
    """Return where an address begins and ends without what follows it, and its URL."""
    host = re.sub(r"\s", "", written["host"]).lower()
    rest = written["rest"]
    end = written.end("rest")
    if written["name"] and (more := _continuation(host, rest, written["name"])):
        rest = rest + more
        end = written.start("name") + len(more.lstrip("~"))
    kept = _NEXT_SENTENCE.sub("", _without_end(rest))
    end -= len(rest) - len(kept)
    scheme = (written["scheme"] or "https").lower()
    return written.start(), end, f"{scheme}://{host}{_ESCAPED.sub('', kept)}"


def _continuation(host: str, rest: str, name: str) -> str:
    """Return what belongs to an address behind a space: a repository's name, or a person's folder.

    A line was broken after the repository's owner; the space before a folder was a `~` of LaTeX.
    """
    if rest.count("/") == 2 and rest.endswith("/") and _CODE.fullmatch(host):
        return name.partition("/")[0]
    return f"~{name}" if rest == "/" and "/" in name else ""


def _without_end(rest: str) -> str:
    """Remove the punctuation of the sentence, and a parenthesis that opened before."""
    unopened = rest.count(")") - rest.count("(")
    end = len(rest)
    while end and (rest[end - 1] in _PUNCTUATION or (unopened > 0 and rest[end - 1] == ")")):
        end -= 1
        unopened -= rest[end] == ")"
    return rest[:end]


def _words_around(text: str, start: int, end: int, before: int) -> tuple[str, str]:
    """Return what a sentence says between the address before and this one, and all of it."""
    first = max(0, start - _LONGEST_LEAD)
    for sentence_end in _SENTENCE.finditer(text, first, start):
        first = sentence_end.end()
    behind = _SENTENCE.split(text[end : end + _LONGEST_LEAD], 1)[0]
    return text[max(first, before) : start], f"{text[first:start]} {behind}"


def _kind(written: re.Match[str], url: str, lead: str, whole: str) -> str:
    """Return what an address is, "" where it is none of the paper's."""
    host, _, path = url.partition("://")[2].partition("/")
    host = re.sub(r":\d+$", "", host).removeprefix("www.")
    site = f"/{path}"
    if _PLACEHOLDER.search(site) or len(url) > _LONGEST_URL:
        return ""
    if host in ("doi.org", "dx.doi.org"):
        return "data" if kind_of(path) in _DATA_KINDS else ""
    if _NEVER.fullmatch(host) or "." not in host:
        return ""
    by_host = _kind_by_host(host, site)
    if (
        not by_host
        and written["bare"] is not None
        and not ((path or written["host"].lower().startswith("www.")) and _LEADING.search(lead))
    ):
        return ""
    if by_host in ("code", "data", "video") and not path:
        return ""
    in_the_middle = not by_host or written.end() + 5 < len(written.string)
    if lead.endswith("(") and in_the_middle and not _INTRODUCED.search(whole):
        return ""
    if _REPORTED.search(lead):
        return ""
    foreign = _FOREIGN.search(lead) or _AFTER_NAMES.search(lead)
    if foreign and not _OFFERED.search(foreign.group()):
        return ""
    if not (by_host or _OWN.search(whole)):
        return ""
    return _kind_by_words(by_host, _deciding_words(lead, whole))


def _deciding_words(lead: str, whole: str) -> str:
    return lead if _OWN.search(lead) else whole


def _kind_by_host(host: str, site: str) -> str:
    if host in ("huggingface.co", "hf.co", "modelscope.cn"):
        return _HUBS.get(site.split("/")[1], "other")
    kinds = (("code", _CODE), ("data", _DATA), ("project", _PROJECT), ("video", _VIDEO))
    return next((kind for kind, pattern in kinds if pattern.fullmatch(host)), "")


def _kind_by_words(by_host: str, words: str) -> str:
    """Return the kind of an address, where the words before it say something else than its host."""
    code = _SAYS_CODE.search(words)
    data = _SAYS_DATA.search(words)
    if by_host == "code" and _SAYS_REFERENCES.search(words) and not _SAYS_ONLY_CODE.search(words):
        return "other"
    if by_host == "code" and not code:
        if data:
            return "data"
        return "other" if _SAYS_VIDEO.search(words) or _SAYS_SUPPLEMENT.search(words) else "code"
    if by_host == "data":
        return "code" if _SAYS_ONLY_CODE.search(words) and not data else "data"
    if by_host not in ("project", ""):
        return by_host
    if _SAYS_PROJECT.search(words):
        return "project"
    says = {"code": _SAYS_ONLY_CODE, "data": _SAYS_DATA, "video": _SAYS_VIDEO}
    kinds = [kind for kind, pattern in says.items() if pattern.search(words)]
    is_one = len(kinds) == 1 and not _SAYS_SUPPLEMENT.search(words)
    if by_host:  # a project's page, on which all may be
        return "code" if is_one and kinds == ["code"] else by_host
    return kinds[0] if is_one else "other"
