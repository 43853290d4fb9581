"""Formulas on pages are MathML where they can be, and nothing else ever is."""

from __future__ import annotations

import pytest
from markupsafe import Markup
from msgspec import structs

from monitor.digest.render import JinjaTemplates, put_formulas, to_mathml
from monitor.digest.shown import find_formulas, to_readable_text
from monitor.model import Formula
from tests.digest.test_render import PAPER, digest, news

BOUND = Formula("O(n²)", "O(n^2)")
MATHS = structs.replace(
    PAPER,
    title=r"A policy in $O(n^2)$",
    abstract=r"We bound it by $\mathcal{O}(1/\epsilon^2) < x$ & pay \$5.",
)


def test_formulas_are_found_with_their_source() -> None:
    text = r"Costs $5 and $10; $O(n^2)$, \(x_i\), $n$."
    assert find_formulas(text) == [("O(n²)", "O(n^2)"), ("xᵢ", "x_i"), ("n", "n")]
    assert to_readable_text(text) == "Costs $5 and $10; O(n²), xᵢ, n."


def test_a_page_shows_mathml_and_a_mail_does_not() -> None:
    [entry] = digest([news(MATHS)]).groups[0].entries
    templates = JinjaTemplates()
    page = templates.render("web/paper.html.j2", entry=entry, digest=digest())
    assert "<msup><mi>n</mi><mn>2</mn></msup>" in page and "<math>" in page
    assert "O(n²)" not in page
    mail = templates.render("mail/paper.html.j2", entry=entry, digest=digest())
    assert "<math" not in mail and "O(n²)" in mail


def test_a_formula_is_put_where_it_stands_alone_and_not_into_tags_or_words() -> None:
    html = Markup('<a title="O(n²)">FOO(n²)</a> O(n²) <mark>O</mark>(n²)')
    put = put_formulas(html, [BOUND])
    assert put.count("<math") == 1
    assert put.startswith('<a title="O(n²)">FOO(n²)</a> <math')
    assert put.endswith("<mark>O</mark>(n²)")


@pytest.mark.parametrize(
    "tex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\unknown{x}",
        "{" * 200,
        "x" * 400,
        r"\frac{",
        "",
    ],
)
def test_what_is_no_plain_formula_stays_as_it_is(tex: str) -> None:
    assert to_mathml(tex) == "" or "<mrow" in to_mathml(tex)
    assert "script" not in to_mathml(tex) and "img" not in to_mathml(tex)
    put = put_formulas(Markup("a O(n²) b"), [Formula("O(n²)", tex)])
    assert tex == "" or put == "a O(n²) b"


def test_addresses_and_styles_of_a_formula_are_dropped() -> None:
    made = to_mathml(r"\href{javascript:alert(1)}{y} + \textcolor{red}{x}")
    assert "javascript" not in made and "href" not in made and "style=" not in made
