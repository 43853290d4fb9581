"""Mark-up to text: tags that are dropped where they stand read as those that HTML parsers take."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.sources.fields.markup import _without_tags, text
from monitor.text import clean

NAMES = (
    "i b u em strong sub sup p br div li ul td table tr title section script style x"
    " jats:p jats:title jats:sec jats:italic jats:list-item jats:title-group mml:math mml:td o:p"
)
TAGS = [
    f"<{end}{name}{rest}>" for name in NAMES.split() for end in ("", "/") for rest in ("", " /")
]
PIECES = st.sampled_from(
    [
        *TAGS,
        *("sand", "dunes", " ", "  ", "a<b", "p<0.05", "<", ">", "&", "&amp;", "&lt;i&gt;"),
        *("&nbsp;", "&#233;", "&alpha;", "]]>", "<![CDATA[", "<!-- x -->", "é", "\n"),
        '<p class="a b">',
        '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML">',
        "<span style='x'>",
        '<img alt="<i>">',
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_dropped_tags_leave_what_a_parser_of_html_leaves(markup: str) -> None:
    if text(markup) != clean(html.unescape(markup)):  # else nothing looked like a tag
        assert text(markup) == clean(html.unescape(_without_tags(markup)))


@pytest.mark.parametrize(
    ("markup", "plain"),
    [
        ("<p>We <i>show</i> H<sub>2</sub>O</p><p>p<0.05</p>", "We show H2O p<0.05"),
        ("<jats:title>Aim</jats:title><jats:p>Sand</jats:p>", "Aim Sand"),
        ('<mml:math xmlns:mml="x"><mml:mi>x</mml:mi></mml:math>', "x"),
        ("H <scp>i</scp> in the <sc>DNA</sc>", "H i in the DNA"),
        ("a <<i>b> c", "a <b> c"),
        ("<i>x</i><script>evil()</script>", "x"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("&lt;i&gt; <b>stays</b>", "<i> stays"),
        ("a <b and c> d", "a <b and c> d"),
    ],
)
def test_markup_becomes_plain_text(markup: str, plain: str) -> None:
    assert text(markup) == plain


@pytest.mark.parametrize(
    "markup",
    [
        '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.0//EN" "http://x.example/loose.dtd">'
        "<html><body><p>Sand moves.</p></body></html>",
        "<!doctype html><p>Sand moves.</p>",
        '<picture><source srcset="a.png 1x"><img src="a.png"></picture> <p>Sand moves.</p>',
        "<noscript></noscript>Sand moves.",
    ],
)
def test_what_belongs_to_a_page_is_no_text(markup: str) -> None:
    assert text(markup) == "Sand moves."


def test_a_doctype_that_a_text_speaks_of_stays() -> None:
    assert (
        text("We write <!DOCTYPE first, then a root.") == "We write <!DOCTYPE first, then a root."
    )
