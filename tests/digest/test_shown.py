from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from msgspec import structs

from monitor.digest.render import JinjaTemplates, put_formulas, to_mathml
from monitor.digest.shown import formulas_of, shown, shown_title, to_readable_text
from monitor.model import REPORT, Formula
from tests.digest.samples import PAPER, digest, entry_of


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"$x^2 \leq \beta$ holds", "x² ≤ β holds"),
        (r"in $\mathcal{O}(n\log n)$ time", "in O(n log n) time"),
        (r"regret $\tilde{O}(\sqrt{T})$", "regret Õ(√T)"),
        (r"$\widetilde O(d\sqrt{HT})$", "Õ(d√HT)"),
        (r"$\frac{1}{\epsilon^2}$ or $\frac12$", "1/ε² or 1/2"),
        (r"$\frac{a+b}{2}$", "(a+b)/2"),
        (r"$\epsilon\log\frac1\delta$", "ε log 1/δ"),
        (r"$\sqrt[3]{x+1}$", "³√(x+1)"),
        (r"$\ell_1$-norm and $\|x\|_2$", "ℓ₁-norm and ‖x‖₂"),
        (r"$\sum_{i=1}^n x_i$", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"$L_{\max}$, $x_\text{adv}$", "L_max, x_adv"),
        (r"$2^{O(n)}$, $e^{-\lambda}$", "2^(O(n)), e^(-λ)"),
        (r"$\mathbb{R}^d$ and $\mathbf{x}_t$", "ℝᵈ and xₜ"),
        (r"$W^\top$, $A^*$, $f'(x)$, $90^\circ$", "Wᵀ, A*, f′(x), 90°"),
        (r"$\{0,1\}^n$", "{0,1}ⁿ"),
        (r"$k\leq n$ and $k \le n$ and $3\times3$", "k ≤ n and k ≤ n and 3×3"),
        (r"\(x_1\) and \[y\] and $$z^2$$", "x₁ and y and z²"),
        (r"$ \epsilon $-greedy", "ε-greedy"),
        (r"$\text{SNR} > 3$", "SNR > 3"),
        # Commands, accents and tags in prose.
        (r"Erd\H{o}s, R\'enyi, Schr\"{o}dinger, {\'E}cole", "Erdős, Rényi, Schrödinger, École"),
        (r"Tom\'{a}\v{s} na\"{\i}ve \c{c}a \AA ngstr\"om", "Tomáš naïve ça Ångström"),
        (r"\textbf{BERT} and \emph{very {\em deep}} nets", "BERT and very deep nets"),
        (r"{\em E. coli} and {SGD}\%", "E. coli and SGD%"),
        (r"``quoted'' --- so; state--action", "“quoted” — so; state–action"),
        (r"see Fig.~3 \cite{smith}", "see Fig. 3 "),
        (r"\url{https://example.org/a_b}", "https://example.org/a_b"),
        ("H<sub>2</sub>O and <i>in vivo</i>", "H₂O and in vivo"),
        (r"\LaTeX{} and \unknown{kept}", "LaTeX and kept"),
        (r"I=0 \pi\pi phase shifts", "I=0 ππ phase shifts"),
        ("up to {approx}5{times} for n{times}m, {Delta}{mu}", "up to ≈5× for n×m, Δμ"),
        (
            r"\textbf{times} and a {to}, {Times}, {sum}, {times, x}",
            "times and a to, Times, sum, {times, x}",
        ),
        # What is no LaTeX stays.
        (
            "a {to}, {Times}, {sum}, x_{times}, {times, x}",
            "a {to}, {Times}, {sum}, x_{times}, {times, x}",
        ),
        ("it costs $5 and $10 a month", "it costs $5 and $10 a month"),
        ("between $5 million and US$7 million", "between $5 million and US$7 million"),
        ("a_b ^ {c} <d> & ~5%", "a_b ^ {c} <d> & ~5%"),
        ("set {0, 1} -- no, --flag", "set {0, 1} – no, --flag"),
        ("", ""),
    ],
)
def test_mathematics_and_commands_are_readable(latex: str, text: str) -> None:
    assert to_readable_text(latex) == text


@given(st.text(alphabet="\\{}$^_~ ab1'\"[]()<>sub/frachtqlogin", max_size=200))
def test_nothing_raises_and_nothing_grows_without_bound(text: str) -> None:
    assert len(to_readable_text(text)) <= 4 * len(text) + 10


@pytest.mark.parametrize(
    "unit", ["{", r"\hat", "$^", r"\(", r"\frac", "^{", r"\sqrt[", "$", "<sub>"]
)
def test_deep_or_endless_nesting_ends(unit: str) -> None:
    to_readable_text(unit * 3000)
    to_readable_text(f"${unit * 3000}$")


BOUND = Formula("O(n²)", "O(n^2)")
MATHS = structs.replace(
    PAPER,
    title=r"A policy in $O(n^2)$",
    abstract=r"We bound it by $\mathcal{O}(1/\epsilon^2) < x$ & pay \$5.",
)


def test_formulas_are_found_with_their_source() -> None:
    text = r"Costs $5 and $10; $O(n^2)$, \(x_i\), $n$."
    assert formulas_of(text, "") == (BOUND, Formula("xᵢ", "x_i"))
    assert to_readable_text(text) == "Costs $5 and $10; O(n²), xᵢ, n."


def test_a_page_shows_mathml_and_a_mail_does_not() -> None:
    entry = entry_of(MATHS)
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


def test_a_report_of_a_retraction_has_the_title_of_its_source():
    report = structs.replace(PAPER, type=REPORT)
    for show in (shown, shown_title):
        assert show(report).title == f"Retracted: {show(PAPER).title}"
