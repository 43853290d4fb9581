from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec import structs

from monitor.digest import render
from monitor.digest.render import JinjaTemplates, slack_link
from monitor.errors import TemplateError
from monitor.model import (
    AboutSubscription,
    ChangeKind,
    Digest,
    DigestPaper,
    MatchReason,
    Paper,
    SourceReport,
    TopicWhy,
)
from monitor.resources import resource
from tests.digest.samples import ABSTRACT, NOW, PAPER, REPORT, digest, news

TEMPLATES = JinjaTemplates()
PAGES = ("mail/digest.html.j2", "web/digest.html.j2")
DIGESTS = (*PAGES, "mail/digest.txt.j2")
ALL = sorted(
    p.relative_to(resource("templates")).as_posix() for p in resource("templates").rglob("*.j2")
)


def whole(made: Digest, name: str, full: int = 25) -> str:
    """A digest as one text, in the way the channel of `name` puts it together."""
    if not name.startswith("slack"):
        return TEMPLATES.render(name, digest=made, full=full)
    entries = [entry for group in made.groups for entry in group.entries]
    parts = [TEMPLATES.render(f"slack/{part}.j2", digest=made) for part in ("header", "footer")]
    for form in ("paper", "title_line"):
        parts += [TEMPLATES.render(f"slack/{form}.j2", digest=made, entry=e) for e in entries]
    return "\n".join(parts)


def elements(html: str) -> list[tuple[str, dict[str, str]]]:
    """Return the name and attributes of each element."""
    parser = HTMLParser()
    found = []
    parser.handle_starttag = lambda tag, attrs: found.append((tag, dict(attrs)))
    parser.feed(html)
    return found


# ── what a digest says ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("full", [25, 0])
@pytest.mark.parametrize("name", [*PAGES, "slack"])
def test_code_is_beside_the_title_and_nowhere_else(name: str, full: int) -> None:
    code = "https://github.com/one/policy"
    made = digest([news(structs.replace(PAPER, abstract=f"{ABSTRACT} Code: {code}."))])
    text = whole(made, name, full=full)
    [*shown] = re.finditer(rf'href="{code}"|<{code}\|', text)
    assert len(shown) == (2 if name == "slack" else 1)  # in full, and as a line
    between = text[text.index("https://example.org/abs/1") : shown[0].start()]
    assert "</p>" not in between and "\n" not in between and "Ada" not in between
    assert re.search(r"[>|]code<|\|code>", text)


def test_the_text_of_a_mail_has_the_address_of_the_code() -> None:
    made = digest([news(structs.replace(PAPER, abstract="Code: github.com/one/policy."))])
    assert "\n  code: https://github.com/one/policy\n" in whole(made, "mail/digest.txt.j2")


@pytest.mark.parametrize("name", [*DIGESTS, "slack"])
def test_each_paper_says_who_when_where_and_why(name: str) -> None:
    made = digest([news(), news(topic="wide", score=0.5)])
    text = whole(made, name)
    if name != "mail/digest.txt.j2":
        text = re.sub(r"<[^<>|]*>|\*", "", text)
    for expected in (
        "Learning a multi-agent policy",
        "Ada One, Bo Two, Cy Three",
        "daily-page",
        "19 Nov 2026",
        "wide",
        "Saturday 21 November 2026",
        "ince Thu 19 Nov 08:00",
        "Read",
        "298 papers",
        "229 new",
        "(Tokyo)",
    ):
        assert expected in " ".join(text.split())
    assert "https://example.org/abs/1" in whole(made, name)


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("mail/digest.html.j2", "The <b>policy</b> beats"),
        ("web/digest.html.j2", "The <mark>policy</mark> beats"),
        ("slack", "The *policy* beats"),
        ("mail/digest.txt.j2", "The policy beats"),
    ],
)
def test_the_words_found_are_marked_in_the_excerpt(name: str, marked: str) -> None:
    paper = structs.replace(PAPER, abstract="We look. The policy beats all. It ends.")
    assert marked in whole(digest([news(paper)]), name)


@pytest.mark.parametrize("name", [*DIGESTS, "slack"])
@pytest.mark.parametrize("kind", [ChangeKind.REVISED, ChangeKind.WITHDRAWN, ChangeKind.OLDER])
def test_news_that_is_not_new_carries_a_badge(name: str, kind: ChangeKind) -> None:
    assert str(kind) in whole(digest([news(kind=kind)]), name)
    assert str(kind) not in whole(digest([news()]), name)


@pytest.mark.parametrize("name", [*DIGESTS, "slack"])
def test_silence_is_explained(name: str) -> None:
    broken = SourceReport("arxiv", 0, 0, None, NOW - timedelta(days=3), "HTTP 503")
    made = digest([], report=(*REPORT, broken), notes=("The topic “x” is parked.",), waiting=3)
    text = whole(made, name)
    assert "No new papers for your topics since Thu 19 Nov 08:00" in text
    assert "HTTP 503" not in text, "details are for the operator"
    assert "arxiv has not been readable since Wednesday" in text
    assert "The topic “x” is parked." in text
    assert "3 more papers will be in the next digest" in text


@pytest.mark.parametrize("name", DIGESTS)
def test_beyond_the_best_papers_only_titles_are_listed(name: str) -> None:
    papers = [
        structs.replace(PAPER, title=f"Number {n:02}", abstract=f"Abstract {n:02}.")
        for n in range(9)
    ]
    items = [news(paper, number=n, score=n) for n, paper in enumerate(papers)]
    text = TEMPLATES.render(name, digest=digest(items), full=2)
    assert all(f"Number {n:02}" in text for n in range(9))
    assert [n for n in range(9) if f"Abstract {n:02}." in text] == [7, 8]
    if name == "mail/digest.txt.j2":
        assert all(f"- Number {n:02}\n  {PAPER.url}\n  Ada One" in text for n in range(7))


def test_the_text_part_keeps_to_78_columns() -> None:
    paper = Paper(
        title="漢字" * 60,
        abstract="x" * 400 + ". " + ABSTRACT * 3,
        authors=("N" * 90,) * 4,
        url="https://example.org/" + "y" * 90,
    )
    broken = SourceReport("s" * 40, 0, 0, NOW, NOW, "no " * 60)
    made = digest(
        [news(paper, kind=ChangeKind.REVISED, topic="t " * 90)],
        report=(broken,),
        notes=("long " * 40,),
    )
    for line in TEMPLATES.render("mail/digest.txt.j2", digest=made, full=25).splitlines():
        columns = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        assert columns <= 78 or line.strip().startswith("https://")


# ── the trade's rules for mail and pages ────────────────────────────────────────────


def test_E17_how_to_unsubscribe_stands_at_the_top_of_a_mail_and_at_its_end() -> None:
    about = AboutSubscription(topics=("marl",), schedule="daily 08:00", contact="ops@example.org")
    items = [news(number=n) for n in range(9)]
    html = TEMPLATES.render("mail/digest.html.j2", digest=digest(items, about=about), full=9)
    links = [at.start() for at in re.finditer(r'href="mailto:ops@example.org\?subject=Unsub', html)]
    assert len(links) == 2
    assert links[0] < html.index("<h1") < html.index("<h3") < html.rindex("</h3>") < links[1]
    text = TEMPLATES.render("mail/digest.txt.j2", digest=digest(items, about=about), full=9)
    assert "To unsubscribe, write to ops@example.org." in text
    assert "You get this because you are subscribed to marl." in text
    assert "It is sent every day at" in text


@pytest.mark.parametrize("name", [name for name in ALL if name.endswith(".html.j2")])
def test_C4_templates_quote_their_attributes_and_have_no_scripts(name: str) -> None:
    source = (resource("templates") / name).read_text()
    bare = r'<[a-z]+(?:[^<>"]*"[^"]*")*[^<>"]*=\s*\{\{'
    assert not re.search(bare, source), "an attribute without quotes"
    if name == "web/layout.html.j2":
        assert "default-src 'none'; style-src 'unsafe-inline'" in source
    foreign = source.replace('<script src="{{ asset(', "")
    assert "<script" not in foreign and " on" + "click" not in source
    for safe in re.findall(r"\{\{[^}]*\|\s*safe", source):
        assert re.match(r'\{\{ "[^"]*"\|safe', safe), "only constants are safe"
    for href in re.findall(r'href="\{\{ ([^}]*) \}\}', source):
        of_ours = {f"digest.about.{kind}_url" for kind in ("stop", "view", "rate", "papers")}
        of_ours |= {
            "digest|stop_link",
            "digest|archive_link",
            "here",
            "path",
            "feed",
            "feeds[one.name]",
            "notice.url",
            "one.url",
            "one.page",
            "link.url",
            "export",
            "entry.note.url|web_url",
            "one.url|web_url",
            "facts.notice.url",
            "source.url",
            "link(one)",
            "one.notice.url",
            "csv",
            "bibtex",
            "digest_page",
        }
        own = href.startswith(("search.path(", "asset(", "filtered(", '"/'))
        assert own or href in of_ours, "links go through web_url"


# ── hostile input ───────────────────────────────────────────────────────────────────

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)> & <!channel> <@U1|x> {{ 7*7 }}'


@pytest.mark.parametrize("url", ["javascript:alert(1)", 'https://e.org/"onmouseover="x'])
@pytest.mark.parametrize("full", [0, 25])
@pytest.mark.parametrize("name", PAGES)
def test_W04_markup_in_titles_authors_topics_and_errors_is_inert(
    name: str, full: int, url: str
) -> None:
    abstract = f"{HOSTILE}. policy {HOSTILE}"
    paper = Paper(HOSTILE, abstract=abstract, authors=(HOSTILE,) * 2, url=url)
    item = news(paper, topic=HOSTILE, sources=(HOSTILE,))
    broken = SourceReport(HOSTILE, 0, 0, None, NOW, HOSTILE)
    made = digest([item], words=("policy", "script"), report=(broken,), notes=(HOSTILE,))
    made = replace(made, subscription=HOSTILE)
    html = TEMPLATES.render(name, digest=made, full=full)
    calm = digest([news()], report=(replace(REPORT[0], failing_since=NOW),), notes=("A note.",))
    usual = {tag for tag, _ in elements(TEMPLATES.render(name, digest=calm, full=full))}
    assert {tag for tag, _ in elements(html)} <= usual
    for _, attrs in elements(html):
        assert not any(key.startswith("on") for key in attrs)
        assert "javascript" not in attrs.get("href", "")
    assert "{{ 7*7 }}" in html


def test_L04_slack_escapes_three_characters_and_bolds_whole_words() -> None:
    abstract = "A policymaker has a policy."
    paper = structs.replace(PAPER, title="R&D <1 'quoted' \"so\"", url="", abstract=abstract)
    text = whole(digest([news(paper)]), "slack")
    assert "R&amp;D &lt;1 'quoted' \"so\"" in text and "A policymaker has a *policy*." in text
    assert slack_link("a|b\nc", "https://e.org/x") == "<https://e.org/x|a¦b c>"
    assert slack_link("a", "https://e.org/a|b>c") == "<https://e.org/a%7Cb%3Ec|a>"
    assert slack_link("a|b", "javascript:x") == "a|b"


@pytest.mark.parametrize("name", [*DIGESTS, "slack"])
def test_M14_bidi_overrides_and_control_characters_never_come_out(name: str) -> None:
    """Not even of a digest that was not composed by us."""
    bad = "a\u202eb\x00c\u2066d\x1be\u2028f"
    paper = Paper(title=bad, abstract=bad, authors=(bad,), url="https://e.org/\u202e")
    why = TopicWhy(bad, (MatchReason("title", (bad,), ((0, 3),)),))
    entry = DigestPaper(1, 1, ChangeKind.NEW, paper, NOW, (bad,), 1.0, (why,))
    made = digest([news()])
    group = replace(made.groups[0], topic=bad, entries=(entry,))
    text = whole(replace(made, groups=(group,), subscription=bad), name)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\x00\x1b]", text)


# ── templates of the user's ─────────────────────────────────────────────────────────


def write(file: Path, source: str) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(source)
    return file


@pytest.mark.parametrize(
    ("own", "source", "rendered", "expected"),
    [
        (
            "mail/paper.txt.j2",
            "!! {{ entry.paper.title }}\n",
            "mail/digest.txt.j2",
            ["!! Learning a multi-agent policy", "Read: 298 papers from daily-page"],
        ),
        (
            "web/digest.html.j2",
            '{% extends "shipped/web/digest.html.j2" %}{% block title %}A & b{% endblock %}',
            "web/digest.html.j2",
            ["<title>A & b</title>", "<article>"],
        ),
        (
            "slack/header.j2",
            "{% macro m(x) %}[{{ x }}]\nnext{% endmacro %}"
            "{% set s %}{{ digest.subscription }}{% endset %}{{ m(digest.subscription) }} {{ s }}",
            "slack/header.j2",
            ["[&lt;a&amp;b&gt;]\nnext &lt;a&amp;b&gt;"],
        ),
    ],
)
def test_a_template_of_the_users_replaces_or_extends_ours_and_is_escaped_once(
    tmp_path: Path, own: str, source: str, rendered: str, expected: list[str]
) -> None:
    write(tmp_path / own, source)
    made = replace(digest([news()]), subscription="<a&b>")
    text = JinjaTemplates(tmp_path).render(rendered, digest=made, full=1)
    assert [part for part in expected if part not in text] == []


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("one\n{% if %}", 2, "Expected an expression"),
        ("one\ntwo\n{{ digest.nothing }}", 3, "nothing"),
        ("{{ missing }}", 1, "'missing' is undefined"),
        ("\n{{ 1 / 0 }}", 2, "division by zero"),
        ("{{ digest|no_such_filter }}", 1, "no_such_filter"),
        ("\n\n{{ ''.__class__ }}", 3, "unsafe"),
        ("{{ digest.__class__ }}", 1, "unsafe"),
        ("{{ digest['__class__'] }}", 1, "unsafe"),
        ("{% for i in range(10**9) %}{% endfor %}", 1, "Range too big"),
    ],
)
def test_W05_a_broken_template_names_its_file_and_line(
    tmp_path: Path, source: str, line: int, says: str
) -> None:
    file = write(tmp_path / "slack" / "header.j2", source)
    templates = JinjaTemplates(tmp_path)
    with pytest.raises(TemplateError) as caught:
        templates.render("slack/header.j2", digest=digest([]))
    assert caught.value.message.startswith(f"{file}:{line}: ")
    assert says in caught.value.message
    assert "No new papers" in templates.fallback.render("slack/header.j2", digest=digest([]))


def test_a_template_or_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"no template “mail/nothing\.txt\.j2”"):
        TEMPLATES.render("mail/nothing.txt.j2")
    with pytest.raises(TemplateError, match="no such folder"):
        JinjaTemplates(tmp_path / "gone")
    write(tmp_path / "secret.txt.j2", "secret")
    (tmp_path / "own").mkdir()
    with pytest.raises(TemplateError):
        JinjaTemplates(tmp_path / "own").render("../secret.txt.j2")


def test_every_template_and_filter_is_documented() -> None:
    docs = (resource("templates").parent / "docs" / "templates.md").read_text()
    named = set(re.findall(r"[\w/]+\.(?:html\.|txt\.|md\.|json\.)?j2", docs))
    parts = re.compile(r"(layout|paper|found|title_line|footer)\.(html|txt|md)\.j2$")
    assert {name for name in ALL if not parts.search(name) and name[:6] != "pages/"} <= named
    filters = {*render._FILTERS, "mark", "slack_link", "markdown", "zulip", "messages"}
    filters |= {"markdown_link", "tojson"}
    assert not [name for name in filters if not re.search(rf"\|{name}\b|\|{name}\(", docs)]
