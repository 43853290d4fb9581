"""Mark-up to text: tags go, and text that looks like one stays."""

from __future__ import annotations

import pytest

from monitor.sources.fields.markup import text

PAGES = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.0//EN" "http://x.example/loose.dtd">'
    "<html><body><p>Sand moves.</p></body></html>",
    "<!doctype html><p>Sand moves.</p>",
    '<picture><source srcset="a.png 1x"><img src="a.png"></picture> <p>Sand moves.</p>',
    "<noscript></noscript>Sand moves.",
)


@pytest.mark.parametrize(
    ("markup", "plain"),
    [
        ("<p>We <i>show</i> H<sub>2</sub>O</p><p>p<0.05</p>", "We show H2O p<0.05"),
        ("<jats:title>Aim</jats:title><jats:p>Sand</jats:p>", "Aim Sand"),
        ('<mml:math xmlns:mml="x"><mml:mi>x</mml:mi></mml:math>', "x"),
        ("H <scp>i</scp> in the <sc>DNA</sc>", "H i in the DNA"),
        ("a <<i>b> c", "a <b> c"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("&lt;i&gt; <b>stays</b>", "<i> stays"),
        ("p<0.05 and a<b holds", "p<0.05 and a<b holds"),
        ("a <b and c> d", "a <b and c> d"),
        ("$x<y$ and $z>w$", "$x<y$ and $z>w$"),
        ("<p>One.</p><p>Two.</p>", "One. Two."),
        ("AT&amp;T, R&D, &alpha;", "AT&T, R&D, α"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("&lt;script&gt;", "<script>"),
        ("<script>alert(1)</script>safe", "safe"),
        ("<img src=x onerror=alert(1)>safe", "safe"),
        ("<svg/onload=alert(1)>safe", "safe"),
        ("<a href='javascript:x'>name</a>", "name"),
        ("x<!-- hidden -->y", "xy"),
        ("<i title='<b>'>z</i>", "z"),
        ("", ""),
        ("We write <!DOCTYPE first, then a root.",) * 2,
        *((page, "Sand moves.") for page in PAGES),
    ],
)
def test_F17_markup_goes_and_text_that_looks_like_it_stays(markup: str, plain: str) -> None:
    assert text(markup) == plain


@pytest.mark.parametrize(
    "piece", ["<div>", "<", "<i a=b ", "<i a a ", "<!--", "<a ='\"", "<p/", "<i a='<i a=\"' "]
)
def test_F06_hostile_markup_is_read_in_linear_time(piece: str) -> None:
    """Quadratic patterns take minutes on this; the test would not come back."""
    assert isinstance(text((piece * 100_000)[:262_144]), str)
