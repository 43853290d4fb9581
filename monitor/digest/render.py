"""Renders templates with Jinja2; the user's own override those that are shipped.

All output that is not our own markup is escaped, also that of macros and `{% set %}` blocks:

    *.html.j2   HTML (and css-inline for what lies in mail/); *.xml.j2 is escaped alike
    *.txt.j2    plain text
    slack/*.j2  Slack's mrkdwn, where `&`, `<` and `>` are escaped and nothing else
    *.json.j2   JSON, where a value is escaped to stand between quotes
    *.md.j2     Markdown, which JSON templates put into messages of chats, or as Zulip has it
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias
from xml.etree import ElementTree

import css_inline
from jinja2 import (
    ChoiceLoader,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    Template,
    TemplateNotFound,
    TemplateSyntaxError,
    nodes,
)
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.environment import TemplateModule
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing
from markupsafe import Markup, escape

from monitor.digest import about, links, said_once, sections, wording
from monitor.digest.chat_messages import (
    Paragraphs,
    escape_json,
    escape_markdown,
    escape_zulip,
    in_messages,
    markdown_link,
    refuse_messages,
    to_json,
)
from monitor.digest.citation_tags import context_object
from monitor.digest.excerpt import excerpt, excerpt_beside_line, headline, whole_abstract
from monitor.digest.links import Link
from monitor.digest.passage import Passage
from monitor.digest.sentence_value import Span
from monitor.digest.wording import Found, escape_mrkdwn
from monitor.errors import Fault, TemplateError, nearest
from monitor.model import (
    AboutSubscription,
    Digest,
    DigestGroup,
    DigestPaper,
    Formula,
    Notice,
    OtherTitle,
    Paper,
    ReferenceEvent,
    SiteNote,
)
from monitor.resources import resource
from monitor.text import clean
from monitor.text.tables import word_set

Escape = Callable[[str], str]

# Hundreds of lines are rendered alone for one digest, as fresh as its other templates.
_LINE = "title_line."
# Templates of ours whose output is kept for a run: it depends on these values of an entry, on the
# topics that matched and what is said once for several papers (of a line, on its reasons alone),
# and on the zone and address of a digest.
_SHARED = (_LINE, "found.")
_INPUTS = attrgetter(
    "paper",
    "kind",
    "reasons",
    "sources",
    "source_titles",
    "first_seen",
    "search",
    "also",
    "revised",
    "excerpt_rule",
    "lists",
    "owned",
    "withdrawn_by",
    "unmarked",
    "note",
)
# A title line has about 250 characters.
_MOST_KEPT = 16_384
_SHIPPED = resource("templates")
# The folders of users' templates.
_FOLDERS = ("mail/", "short/", "slack/", "web/", "webhook/")
# A channel names it in `template:`.
_OF_WEBHOOKS = re.compile(r"webhook/[^/]+\.json\.j2")
_NAMING = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)
_Kept: TypeAlias = dict[tuple[Hashable, ...], tuple[tuple[object, ...], str]]


class JinjaTemplates:
    """`monitor.model.Templates` from files; the user's folder, if any, comes first.

    TemplateError names the file and line of the fault. `fallback` has only the shipped templates,
    so that a broken template of the user stops no digest.
    """

    def __init__(self, user_dir: Path | None = None) -> None:
        if user_dir is not None and not user_dir.is_dir():
            raise TemplateError(f"{user_dir}: there is no such folder of templates")
        shipped = FileSystemLoader(_SHIPPED)
        own = [FileSystemLoader(user_dir)] if user_dir else []
        loader = ChoiceLoader([*own, shipped, PrefixLoader({"shipped": shipped})])
        self._user_dir = user_dir
        self._html = _environment(loader, _HTML, escape, _mark_html)
        self._text = _environment(loader, _TEXT, str, lambda passage: Markup(passage.text))
        self._slack = _environment(loader, _SLACK, escape_mrkdwn, _mark_slack)
        self._slack.filters["slack_link"] = slack_link
        self._json = _environment(loader, _JSON, escape_json, _mark_nothing)
        self._json.filters |= {"messages": in_messages, "tojson": to_json}
        self._markdown = _markdown_environment(loader, _MARKDOWN, escape_markdown)
        self._zulip = _markdown_environment(loader, _ZULIP, escape_zulip)
        self._json.filters["markdown"] = partial(_paragraphs, self._markdown)
        self._json.filters["zulip"] = partial(_paragraphs, self._zulip)
        self._said = said_once.SaidOfDigest()
        self._environments = (
            self._html,
            self._text,
            self._slack,
            self._json,
            self._markdown,
            self._zulip,
        )
        for environment in self._environments:
            environment.filters["said_once"] = self._said
        self._inliner = css_inline.CSSInliner(load_remote_stylesheets=False, minify_css=True)

    @cached_property
    def fallback(self) -> JinjaTemplates:
        """The templates that are shipped, without the user's."""
        return JinjaTemplates() if self._user_dir else self

    def render(self, name: str, **values: object) -> str:
        """Return the template `name` written out with `values`; raises TemplateError."""
        try:
            environment = self._environment_of(name)
            if not name.partition("/")[2].startswith(_LINE):
                environment.drop_changed()
            text = environment.get_template(name).render(values).strip()
            if name.startswith("mail/") and name.endswith(".html.j2"):
                text = self._inliner.inline(text)
        except Exception as error:  # a user's template can raise anything
            raise _with_location(name, error) from error
        return text

    def release(self) -> None:
        """Let go of what was written once for the digests of a run."""
        self._said.release()
        for environment in self._environments:
            environment.kept.clear()

    def faults(self) -> list[Fault]:
        """Compile the user's templates and return their faults, with file and line.

        A file that overrides no shipped template, and that none names, is never read: a fault.
        """
        if self._user_dir is None:
            return []
        # The pages of the service are no templates of users.
        shipped = {n for n in _templates_in(_SHIPPED) if not n.startswith("pages/")}
        own = set(_templates_in(self._user_dir))
        faults = list[Fault]()
        named = set[str]()
        for name in sorted(own):
            try:
                for target, line, is_optional in self._compile(name):
                    named.add(target)
                    if not is_optional and target.removeprefix("shipped/") not in shipped | own:
                        problem = f"there is no template “{target}”{nearest(target, shipped)}"
                        faults.append(self._fault(name, line, problem))
            except TemplateSyntaxError as error:
                problem = error.message or "cannot be compiled"
                faults.append(self._fault(name, error.lineno, problem))
            except (OSError, UnicodeDecodeError) as error:
                faults.append(self._fault(name, 1, f"cannot be read: {error}"))
        faults += [
            self._fault(name, 1, f"no template has this name{nearest(name, shipped)}")
            for name in sorted(own - shipped - named)
            if not _OF_WEBHOOKS.fullmatch(name)
        ]
        return faults

    def _compile(self, name: str) -> list[tuple[str, int, bool]]:
        """Compile one of the user's templates; return those that it extends, includes or imports.

        Each has the line that names it, and whether it may be missing.
        """
        assert self._user_dir is not None
        text = (self._user_dir / name).read_text(encoding="utf-8")
        environment = self._environment_of(name)
        environment.compile(text, name)
        return [
            (target.value, node.lineno, getattr(node, "ignore_missing", False))
            for node in environment.parse(text, name).find_all(_NAMING)
            for target in [getattr(node, "template", None)]
            if isinstance(target, nodes.Const) and isinstance(target.value, str)
        ]

    def _fault(self, name: str, line: int, message: str) -> Fault:
        return Fault(str((self._user_dir or Path()) / name), line, "templates", message)

    def _environment_of(self, name: str) -> _Sandbox:
        if name.endswith((".html.j2", ".xml.j2")):
            return self._html
        if name.endswith(".json.j2"):
            return self._json
        if name.endswith(".md.j2"):
            return self._markdown
        return self._slack if name.startswith("slack/") else self._text


def _templates_in(folder: Path) -> Iterator[str]:
    """Yield the names of files that are templates, or look as if they were meant to be."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        meant = name.endswith(".j2") or name.startswith(_FOLDERS)
        if path.is_file() and not hidden and meant and not name.endswith(("~", ".md")):
            yield name


def slack_link(text: str | Passage, url: str) -> Markup:
    """A link in mrkdwn, or only its text when the URL is not one that may be linked to."""
    label = clean(text.text if isinstance(text, Passage) else text)
    target = escape_mrkdwn(links.web_url(url))
    if not target:
        return Markup(escape_mrkdwn(label))
    return Markup(f"<{target}|{escape_mrkdwn(label.replace('|', '¦'))}>")


class _Compiled(BytecodeCache):
    """The code of templates, for all that this process opens: to compile takes longest."""

    def __init__(self) -> None:
        self._codes: dict[str, tuple[str, CodeType | None]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template its code, unless its text was another one."""
        checksum, code = self._codes.get(bucket.key, ("", None))
        if checksum == bucket.checksum:
            bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key] = bucket.checksum, bucket.code


# Apart, since what is constant in a template is escaped when it is compiled.
_HTML = _Compiled()
_TEXT = _Compiled()
_SLACK = _Compiled()
_JSON = _Compiled()
_MARKDOWN = _Compiled()
_ZULIP = _Compiled()


def _environment(
    loader: ChoiceLoader, compiled: _Compiled, escape_text: Escape, mark: Callable[..., str]
) -> _Sandbox:
    def finish(value: object) -> object:
        if isinstance(value, Markup) or not isinstance(value, str):
            refuse_messages(value)
            return value
        before = " " if value[:1].isspace() else ""
        after = " " if value[1:][-1:].isspace() else ""
        return Markup(escape_text(f"{before}{clean(value)}{after}"))

    environment = _Sandbox(
        loader=loader,
        autoescape=True,
        auto_reload=False,  # see `drop_changed`
        bytecode_cache=compiled,
        finalize=finish,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS, mark=mark)
    environment.kept = {}
    environment.opened = {}
    return environment


def _markdown_environment(
    loader: ChoiceLoader, compiled: _Compiled, escape_text: Escape
) -> _Sandbox:
    environment = _environment(loader, compiled, escape_text, _mark_nothing)
    environment.filters["markdown_link"] = partial(markdown_link, escape_text)
    return environment


def _paragraphs(environment: _Sandbox, about: Digest | Notice) -> Paragraphs:
    """Return a digest or notice as paragraphs of Markdown."""
    name = "digest" if isinstance(about, Digest) else "notice"
    environment.drop_changed()
    text = environment.get_template(f"webhook/{name}.md.j2").render({name: about})
    parts = re.split(r"\n{2,}", text)
    return Paragraphs(part.strip("\n") for part in parts if part.strip())


# ── marks ───────────────────────────────────────────────────────────────────────────


def _mark_spans(
    passage: Passage, spans: Iterable[Span], write: Escape, before: str, after: str
) -> Markup:
    """Return a passage with signs around its spans; `write` escapes the pieces of its text."""
    parts = []
    done = 0
    for start, end in spans:
        parts += [write(passage.text[done:start]), before, write(passage.text[start:end]), after]
        done = end
    return Markup("".join([*parts, write(passage.text[done:])]))


def _mark_html(passage: Passage, tag: str = "mark") -> Markup:
    tag = escape(tag)
    return _mark_spans(passage, passage.spans, escape, f"<{tag}>", f"</{tag}>")


def _mark_slack(passage: Passage) -> Markup:
    """Bold, where mrkdwn can: its asterisks count only at the edges of words."""
    text = f" {passage.text} "
    whole = [
        (start, end)
        for start, end in passage.spans
        if not text[start].isalnum() and not text[end + 1].isalnum()
    ]
    return _mark_spans(passage, whole, escape_mrkdwn, "*", "*")


def _mark_nothing(passage: Passage) -> str:
    return passage.text


def _lines(text: str | Passage, width: int = 78, indent: str = "", first: str = "") -> Markup:
    """Plain text broken into lines of `width` columns; `first` leads the first line instead."""
    whole = text.text if isinstance(text, Passage) else clean(text)
    lines = wording.wrap(whole, width, indent) or [indent]
    return Markup("\n".join([(first or indent) + lines[0][len(indent) :], *lines[1:]]))


# ── formulas: MathML on pages; mails show readable Unicode ──────────────────────────

# A digest stores its texts with formulas in Unicode, and beside them where each came from. A page
# puts MathML where the Unicode of a formula stands, and leaves the others as they are.

_LONGEST_FORMULA = 300
# The presentation elements and attributes of MathML Core that the converter writes. It escapes no
# text and keeps addresses: all others are refused.
_ELEMENTS = word_set(
    "math mrow mi mn mo mtext mspace mstyle mpadded mphantom msup msub msubsup mover munder "
    "munderover mfrac msqrt mroot mtable mtr mtd"
)
_ATTRIBUTES = word_set(
    "stretchy fence form accent accentunder mathvariant displaystyle scriptlevel linethickness "
    "columnalign lspace rspace width height depth minsize maxsize movablelimits"
)
_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_TAGS = re.compile(r"(<[^>]*(?:>|\Z))")


def put_formulas(text: str, formulas: Iterable[Formula]) -> Markup:
    """Return text or HTML with its formulas as MathML, but for those that marks or tags cut."""
    whole = text if isinstance(text, Markup) else escape(clean(text))
    known = {str(escape(formula.text)): formula.tex for formula in formulas}
    if not known:
        return whole
    longest_first = sorted(known, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    pieces = _TAGS.split(whole)
    for at in range(0, len(pieces), 2):
        pieces[at] = pattern.sub(lambda match: to_mathml(known[match[0]]) or match[0], pieces[at])
    return Markup("".join(pieces))


@lru_cache(512)
def to_mathml(tex: str) -> str:
    """Return a formula as MathML, "" if it cannot be converted, or not to MathML alone."""
    if len(tex) > _LONGEST_FORMULA:
        return ""
    from latex2mathml.converter import convert  # its tables take long to import

    try:
        math = ElementTree.fromstring(convert(tex))
    except Exception:  # the converter raises errors of many kinds; the formula stays in Unicode
        return ""
    for element in math.iter():
        name = element.tag.removeprefix(_NAMESPACE)
        if name not in _ELEMENTS or "\\" in (element.text or ""):
            return ""
        element.tag = name
        element.attrib = {k: v for k, v in element.attrib.items() if k in _ATTRIBUTES}
    return ElementTree.tostring(math, encoding="unicode")


_FILTERS: dict[str, Callable[..., Any]] = {
    "archive_link": about.archive_link,
    "authors": wording.shorten_authors,
    "because": about.because,
    "byline": wording.byline,
    "coins": lambda entry: context_object(entry.paper),
    "counted": wording.format_count,
    "dated": wording.format_date,
    "day": wording.format_day,
    "excerpt": excerpt,
    "excerpt_beside_line": excerpt_beside_line,
    "footer_sections": sections.footer_sections,
    "formulas": put_formulas,
    "full_date": wording.full_date,
    "found": wording.matched_topics,
    "headline": headline,
    "lines": _lines,
    "link": lambda entry: links.title_link(entry.paper, entry.search),
    "links": links.more_links,
    "moment": wording.format_moment,
    "news": wording.format_news,
    "name": about.name_digest,
    "next_digest": about.describe_next,
    "next_line": about.next_line,
    "notes": about.digest_notes,
    "is_problem": about.is_problem,
    "opening": about.opening,
    "own_links": links.own_links,
    "order_reason": wording.order_reason,
    "ordinal": wording.format_ordinal,
    "pieces": sections.pieces,
    "place": said_once.place_of,
    "short_why": wording.short_why,
    "reading": wording.reading,
    "short_date": wording.short_date,
    "said_once": said_once.said_once,
    "search_site": said_once.search_site,
    "said_sentence": said_once.sentence,
    "sections": sections.body_sections,
    "signals": wording.signals,
    "source_line": wording.source_line,
    "stop_link": about.stop_link,
    "summary": wording.summary,
    "verbatim": escape,
    "was_read": about.what_was_read,
    "what_changed": wording.what_changed,
    "web_url": links.web_url,
    "whole_abstract": whole_abstract,
    "why": wording.why_line,
    "zone_name": wording.zone_name,
}
for _kind in sections.SECTION_KINDS:
    _FILTERS |= _kind.filters


def _with_location(name: str, error: Exception) -> TemplateError:
    if isinstance(error, TemplateNotFound):
        return TemplateError(f"{name}: there is no template “{error.name}”")
    if isinstance(error, TemplateSyntaxError):
        return TemplateError(f"{error.filename or name}:{error.lineno}: {error.message}")
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.endswith(".j2")]
    place = f"{inside[-1].filename}:{inside[-1].lineno}" if inside else name
    return TemplateError(f"{place}: {str(error) or type(error).__name__}")


# ── the sandbox ─────────────────────────────────────────────────────────────────────


class _Template(Template):
    """A template. What one of ours writes of a paper is kept for the other digests of a run."""

    environment: _Sandbox
    is_shared = is_line = False
    root_of_file: Callable[[Context], Iterable[str]]
    plain_globals: dict[str, Any]

    @classmethod
    def from_code(cls, *args: Any, **kwargs: Any) -> _Template:
        template = super().from_code(*args, **kwargs)
        assert isinstance(template, _Template)
        name = template.name or ""
        is_ours = Path(template.filename or "").is_relative_to(_SHIPPED)
        part = name.partition("/")[2]
        if is_ours and part.startswith(_SHARED):
            template.is_shared, template.is_line = True, part.startswith(_LINE)
            template.root_of_file = template.root_render_func
            template.root_render_func = template._write
            # Jinja would merge its globals by a `ChainMap` for each paper.
            template.plain_globals = dict(template.globals)
        return template

    def render(self, *args: Any, **kwargs: Any) -> str:
        if not self.is_shared:
            return super().render(*args, **kwargs)
        try:
            text = self._text(*args)
        except Exception:
            self.environment.handle_exception()
        return text

    def new_context(
        self,
        vars: dict[str, Any] | None = None,
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return plain values for a shared template: it takes longer to make a context."""
        if not (self.is_shared and shared):
            return super().new_context(vars, shared, locals)
        given = (item for item in (locals or {}).items() if item[1] is not missing)
        return {**(vars or {}), **dict(given)}

    def make_module(
        self,
        vars: dict[str, Any] | None = None,
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,
    ) -> TemplateModule:
        """Return what a user's template imports, which needs a context of Jinja."""
        return TemplateModule(self, super().new_context(vars, shared, locals))

    def _write(self, values: Any) -> Iterator[str]:
        yield self._text(values)

    def _text(self, values: dict[str, Any]) -> str:
        """Write a paper, unless one with the same inputs was written for another digest."""
        kept = self.environment.kept
        entry = values["entry"]
        digest = values["digest"]
        topics, said = ((), None) if self.is_line else (entry.matched, values.get("said"))
        key = self.name, entry.paper_id, topics, digest.timezone, digest.about.papers_url, said
        inputs = _INPUTS(entry)
        before = kept.get(key)
        if before is None or before[0] != inputs:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            known = {**self.plain_globals, **values}
            context = Context(self.environment, known, self.name, self.blocks)
            before = kept[key] = inputs, "".join(self.root_of_file(context))
        return before[1]


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, without its checks for the fields of our own values: these are data."""

    template_class = _Template
    kept: _Kept
    opened: dict[str, Template]

    def drop_changed(self) -> None:
        """Let changed templates be read again. Jinja by itself looks at each inclusion."""
        assert self.cache is not None
        known = (*self.opened.values(), *self.cache.values())
        if not all(template.is_up_to_date for template in known):
            self.cache.clear()
            self.opened.clear()

    def get_template(self, name: str | Template, *args: Any, **kwargs: Any) -> Template:
        """Look in a plain dictionary first: Jinja's cache locks and reorders."""
        if not isinstance(name, str):
            return super().get_template(name, *args, **kwargs)
        if (template := self.opened.get(name)) is None:
            template = self.opened[name] = super().get_template(name, *args, **kwargs)
        return template

    def getattr(self, obj: Any, attribute: str) -> Any:
        if attribute in _FIELDS.get(type(obj), ()):
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Filters look for a field by name as an item first."""
        if isinstance(argument, str) and argument in _FIELDS.get(type(obj), ()):
            return getattr(obj, argument)
        return super().getitem(obj, argument)


_VALUES: tuple[Any, ...] = (
    *(Digest, DigestGroup, DigestPaper, Paper, OtherTitle, AboutSubscription),
    *(Passage, Found, Link, ReferenceEvent, SiteNote),
)
_FIELDS = {value: frozenset(value.__match_args__) for value in _VALUES}
