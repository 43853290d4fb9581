"""LaTeX of reference files as Unicode text; mathematics stays as its source."""

from __future__ import annotations

import re

from monitor.sources.fields.arxiv_text import accents
from monitor.text.latex import TEXT_SYMBOLS

_MATHS = re.compile(r"\\\$|\$\$?(?:\\.|[^$\\])+\$\$?|\\\((?:[^\\]|\\[^)]){1,500}\\\)", re.DOTALL)
_ENSURED = re.compile(r"\\ensuremath\s*\{(?P<maths>(?:[^{}$]|\{[^{}$]{0,200}\}){1,500})\}")
_BACKSLASH = re.compile(r"\$\\backslash\$")
_LATEX = re.compile(r"[\\{}~$]|--|``|''")
_SWITCH = re.compile(r"\\(?:em|it|bf|rm|sc|sf|sl|tt|itshape|bfseries|upshape|relax)(?![A-Za-z])\s*")
_STYLE = re.compile(
    r"\\(?!(?:ss|[ao]e|A[EA]|OE|aa|dh|DH|th|TH|dj|DJ|ng|NG)(?![A-Za-z]))[A-Za-z]{2,30}\*?\s*(?=\{)"
)
_SILENT = re.compile(
    r"\\(?:cite[a-z]{0,10}|label|ref|href|footnote|noopsort|SortNoop)\*?\s*\{[^{}]{0,2000}\}"
)
# Stand-ins (private use) for escaped signs until braces are removed.
_SIGNS = "&%$#_{}^~"
_STAND_INS = {sign: chr(0xE000 + place) for place, sign in enumerate(_SIGNS)}
_RESTORED = {ord(character): sign for sign, character in _STAND_INS.items()}
_WORDS = {
    **TEXT_SYMBOLS,
    # The later replacement of `~` by a space must not change this one.
    "textasciitilde": "∼",
    "textbraceleft": _STAND_INS["{"],
    "textbraceright": _STAND_INS["}"],
    "newline": " ",
}
_WORD = re.compile(rf"\\({'|'.join(_WORDS)})(?![A-Za-z])(?:\s*\{{\}}|\s+)?")
_ESCAPED = re.compile(r"\\(?:([&%$#_{}])|([\^~])\{\})")
_SPACING = re.compile(r"\\(?:[,;:!/@-]|\\(?:\[[^\]]{0,20}\])?|\s)")
# Commands other than accents (`\'e`, `\v c`) and letters of one character (`\o`).
_COMMAND = re.compile(r"\\(?:[A-Za-z]{2}|[SP]|[&%$#_{},;:!/@\\\s-]|[\^~]\{\})")
_MARKS = (("``", "“"), ("''", "”"), ("---", "—"), ("--", "–"), ("~", " "))


def unlatex(source: str) -> str:
    r"""Return `source` with accents, signs and styles as text: `{\'E}cole \emph{x}` is `École x`.

    `$...$` and `\(...\)` stay as they are, and so do the names of unknown commands.
    """
    if not _LATEX.search(source):
        return source
    if "backslash$" in source:  # Mendeley escapes the LaTeX of abstracts
        source = _BACKSLASH.sub(r"\\", source)
    if "ensuremath" in source:
        source = _ENSURED.sub(r"$\g<maths>$", source)
    pieces, end = [], 0
    for maths in _MATHS.finditer(source):
        if maths.group() == r"\$":
            continue
        pieces += [_prose(source[end : maths.start()]), maths.group()]
        end = maths.end()
    return "".join(pieces) + _prose(source[end:])


def _prose(source: str) -> str:
    has_commands = bool(_COMMAND.search(source))
    if has_commands:
        source = _ESCAPED.sub(lambda found: _STAND_INS[found[1] or found[2]], source)
        source = _WORD.sub(lambda found: _WORDS[found[1]], _SILENT.sub("", source))
        source = _STYLE.sub("", _SWITCH.sub("", _SPACING.sub(_space, source)))
    if "\\" in source:
        source = accents(source)
    for written, character in _MARKS:
        source = source.replace(written, character)
    source = source.replace("{", "").replace("}", "")
    return source.translate(_RESTORED) if has_commands else source


def _space(found: re.Match[str]) -> str:
    """Replace a spacing command; hyphenation hints and italic corrections become nothing."""
    return "" if found.group()[1] in "-/!@" else " "


def bare(source: str) -> str:
    r"""Return an address or identifier without LaTeX: `10.1000/a\_b`, `\url{https://...}`."""
    return re.sub(r"\\(?:url|path)\b|\\(?=[&%$#_~{}])|[{}\s]", "", source).strip("<>")
