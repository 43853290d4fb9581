"""The site of an installation, and a visit to one of its pages."""

from __future__ import annotations

import hashlib
import ipaddress
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, NamedTuple, TypeVar, cast
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)

from monitor.commands.export import FILES
from monitor.commands.slack_answers import SlackAnswers
from monitor.commands.subscriptions import subscriptions_of
from monitor.commands.web_login import Logins
from monitor.config import Settings, WebSettings
from monitor.config.settings import valid_zone
from monitor.errors import QueryError, Remedy
from monitor.match.like import is_bar
from monitor.model import Role
from monitor.pipeline.incidents import title_of
from monitor.pipeline.runtime import ConfiguredSource, Runtime, Subscription
from monitor.resources import resource
from monitor.text import MAX_DIGITS, whole_number
from monitor.web.access import AccessRules, Viewer
from monitor.web.guesses import Guesses

T = TypeVar("T")

# Cookies: the operator's session, and the zone in which a visitor sees times.
SESSION = "paper-monitor"
ZONE = "zone"
API = "/api/"
# Names in a list to choose from: more would be longer than the page.
MOST_LISTED = 200
BAR_WITHOUT_TEXT = "at_least= is the bar of a text: write like= with the text."

# Pages that take much work are made one at a time: several at once would take more memory, and no
# less time. Searches have a thread of their own, so that other pages do not wait for them.
PAGES = "pages"
SEARCHES = "searches"


class Site:
    """The pages of one installation, served by one server.

    `slack` is there if Slack may send choices in its menus.
    """

    def __init__(
        self, runtime: Runtime, *, on_unix_socket: bool = False, is_demo: bool = False
    ) -> None:
        slack = runtime.settings.slack
        self.runtime = runtime
        rules = access_rules(runtime.settings, on_unix_socket=on_unix_socket)
        self.rules = AccessRules(is_demo=True) if is_demo else rules
        self.is_https = self.rules.url.startswith("https:")
        self.zones = {s.name: s.settings.timezone for s in runtime.subscriptions}
        self.logins = Logins(runtime.database, self.rules.token)
        self.guesses = Guesses()
        self.slack = SlackAnswers(runtime, slack) if slack and self.rules.slack_secret else None
        self.threads = {kind: ThreadPoolExecutor(1, kind) for kind in (PAGES, SEARCHES)}


def access_rules(settings: Settings, *, on_unix_socket: bool = False) -> AccessRules:
    """Return who may see and do what, as a configuration says."""
    web = settings.web or WebSettings()
    secret = settings.slack.signing_secret if settings.slack else None
    return AccessRules(
        url=settings.public_url or "",
        token=web.token.reveal() if web.token else "",
        user_header=(web.user_header or "").lower(),
        operators=frozenset(address.lower() for address in web.operators),
        proxies=tuple(ipaddress.ip_network(network) for network in web.trusted_proxies),
        proxy_secret=web.proxy_secret.reveal() if web.proxy_secret else "",
        slack_secret=secret.reveal() if secret and settings.public_url else "",
        on_unix_socket=on_unix_socket,
    )


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """A page of a list: `earlier` and `later` are where the pages beside it begin."""

    shown: Sequence[T]
    count: int
    earlier: int | None = None
    later: int | None = None


class Problem(NamedTuple):
    """Why a request failed, with the status of the answer."""

    status: int
    message: str
    hint: str = ""
    remedy: Remedy | None = None


class Visit(Request):
    @property
    def site(self) -> Site:
        return cast("Site", self.app.state.site)

    @property
    def runtime(self) -> Runtime:
        return self.site.runtime

    @property
    def viewer(self) -> Viewer:
        return cast("Viewer", self.state.viewer)

    @property
    def visitor_address(self) -> str:
        return cast("str", self.state.visitor_address)

    @property
    def path(self) -> str:
        """The path by which routes are chosen.

        `url` is put together with the Host header, and a wrong one moves parts of it.
        """
        return cast("str", self.scope["path"])

    @property
    def asks_for_json(self) -> bool:
        return self.path.startswith(API) or self.path.endswith(".json")

    @property
    def address(self) -> str:
        """The path and query of a page that can be opened again, "/" after a form."""
        if self.method not in ("GET", "HEAD"):
            return "/"
        query = self.scope["query_string"].decode("latin-1")
        return f"{quote(self.path)}?{query}" if query else quote(self.path)

    def parameter(self, name: str) -> str:
        """Return a parameter of the address, "" where there is none."""
        return self.query_params.get(name, "").strip()

    def choice(self, name: str, choices: Collection[str]) -> str:
        """Return a parameter that is one of some words, "" if it is empty, or refuse with 400."""
        chosen = self.parameter(name)
        if chosen and chosen not in choices:
            raise HTTPException(400, f"{name}= is {' or '.join(choices)}, not “{chosen}”.")
        return chosen

    def refuse_unknown(self, names: Collection[str]) -> None:
        """Refuse with 400 an address with parameters that it does not take."""
        for unknown in self.query_params:
            if unknown not in names:
                taken = (
                    f"takes {', '.join(f'{name}=' for name in names)}" if names else "takes none"
                )
                message = f"{unknown}= is no parameter of this address, which {taken}."
                raise HTTPException(400, message)

    def number(self, name: str) -> int | None:
        """Return the number that a parameter holds, None where it is empty or missing."""
        text = self.query_params.get(name, "")
        number = whole_number(text)
        if number is None and text:
            raise HTTPException(
                400, f"{name}= needs a whole number of at most {MAX_DIGITS} digits."
            )
        return number

    def bar(self, name: str) -> float | None:
        """Return the bar of a text that a parameter holds, None where it is empty or missing."""
        text = self.query_params.get(name, "").strip()
        try:
            value = float(text) if text else None
        except ValueError:
            value = 0.0
        if value is None or is_bar(value):
            return value
        raise HTTPException(400, f"{name}= needs a number above 0, up to 1, such as 0.35.")

    def slice(self, whole: Sequence[T], size: int) -> Slice[T]:
        """Return the `size` entries of a list that begin at the parameter `after`."""
        start = self.number("after") or 0
        return Slice(
            shown=whole[start : start + size],
            count=len(whole),
            earlier=max(start - size, 0) if start else None,
            later=start + size if start + size < len(whole) else None,
        )

    def path_number(self, name: str) -> int:
        """Return the number that a part of the path is; without one there is no such page."""
        number = whole_number(self.path_params[name])
        if number is None:
            raise HTTPException(404)
        return number

    @property
    def subscriptions(self) -> tuple[Subscription, ...]:
        """The subscriptions that the viewer may see: an operator all, a reader their own."""
        if self.viewer.sees_all:
            return self.runtime.subscriptions
        return tuple(subscriptions_of(self.runtime, self.viewer.address))

    @property
    def libraries(self) -> Collection[str]:
        """The libraries that the viewer may see: an operator all, a reader their own."""
        if self.viewer.sees_all:
            return self.runtime.libraries
        return {name for s in self.subscriptions for name in s.libraries}

    @property
    def library_names(self) -> list[str]:
        """The names of the libraries that the viewer may see, in the order of the configuration."""
        visible = self.libraries
        return [name for name in self.runtime.libraries if name in visible]

    @property
    def source_titles(self) -> Mapping[str, str]:
        """The titles of the sources that the viewer may see, by name.

        Libraries of others, and what is read for these, are the affair of their readers.
        """
        titles = self.runtime.source_titles
        sources = self.runtime.sources
        libraries = self.libraries
        return {
            name: titles[name]
            for name in sources
            if all(owner in libraries for owner in _owners(sources[name]))
        }

    @property
    def topic_titles(self) -> dict[str, str]:
        """The titles of topics by name."""
        return {name: rule.title for name, rule in self.runtime.group_rules.items()}

    def require_subscription(self, name: str) -> str:
        """Return a name of a subscription that the viewer may see, or refuse with 404."""
        if name not in {subscription.name for subscription in self.subscriptions}:
            raise HTTPException(404, f"There is no subscription “{name}”.")
        return name

    def cookie(self, name: str) -> str:
        return self.cookies.get(self._cookie_name(name), "")

    def set_cookie(self, answer: Response, name: str, value: str, seconds: int) -> None:
        """Set a cookie of this host alone, which scripts of pages cannot read."""
        answer.set_cookie(
            self._cookie_name(name),
            value,
            max_age=seconds,
            httponly=True,
            samesite="lax",
            secure=self.site.is_https,
        )

    def forget_cookie(self, answer: Response, name: str) -> None:
        self.set_cookie(answer, name, "", 0)

    def _cookie_name(self, name: str) -> str:
        """Return the name of a cookie: with `__Host-` no other host of the domain can set it."""
        return f"__Host-{name}" if self.site.is_https else name

    @property
    def zone(self) -> str:
        """The zone in which this viewer sees times."""
        return cast("str", self.state.zone)

    @property
    def can_log_out(self) -> bool:
        return cast("bool", self.state.can_log_out)

    def chosen_zone(self) -> str:
        """Return the zone that the viewer chose, or the server's."""
        chosen = self.cookie(ZONE)
        own = self.runtime.settings.timezone
        try:
            return valid_zone(chosen) if chosen else own
        except ValueError:
            return own

    def _navigation(self) -> dict[str, str]:
        """Return the paths and titles of pages; references are for those who have libraries."""
        known: dict[str, str] = self.app.state.navigation(self.viewer)
        return {p: title for p, title in known.items() if p != "/references" or self.library_names}

    def show(self, template: str, status: int = 200, **values: object) -> HTMLResponse:
        """Return a page: a template of templates/pages with the values that all pages have.

        `problem` is why a form of this page was refused, `typed` what was filled in.
        """
        state = self.scope["state"]
        problem: Problem | None = state.get("problem")
        content = self.runtime.fallback_templates.render(
            f"pages/{template}.html.j2",
            viewer=self.viewer,
            path=self.path,
            navigation=self._navigation(),
            address=self.address,
            asset=asset_address,
            zone=self.zone,
            own_zone=self.runtime.settings.timezone,
            titles=self.runtime.titles,
            title_of=partial(title_of, self.runtime),
            zones=self.site.zones,
            most_listed=MOST_LISTED,
            export_files=tuple(FILES.values()),
            can_log_out=self.can_log_out,
            problem=problem and _on_pages(problem),
            typed=state.get("typed", {}),
            **values,
        )
        return HTMLResponse(content, status)

    def show_problem(
        self, status: int, message: str, hint: str = "", remedy: Remedy | None = None
    ) -> Response:
        """Return a page that explains why a request failed; programs get JSON or plain text."""
        text = f"{message} ({hint})" if hint else message
        if self.asks_for_json:
            return JSONResponse({"error": text}, status)
        if self.path.endswith((".bib", ".ris", ".csv")):
            return PlainTextResponse(f"{text}\n", status)
        shown = _on_pages(Problem(status, message, hint, remedy))
        return self.show("problem", status, code=status, message=shown.message, hint=shown.hint)


def told_apart(titles: Mapping[str, str]) -> dict[str, str]:
    """Return titles by name for a list to choose from; of equal ones, with the name."""
    times = Counter(titles.values())
    return {name: t if times[t] == 1 else f"{t} ({name})" for name, t in titles.items()}


def names_of(text: str, titles: Mapping[str, str]) -> list[str]:
    """Return the name that a field holds, or those of which it holds the title."""
    folded = text.casefold()
    return [text] if text in titles else [n for n, t in titles.items() if t.casefold() == folded]


def name_of(text: str, titles: Mapping[str, str]) -> str:
    """Return the name of the only title that a field holds, else what it holds."""
    names = names_of(text, titles)
    return names[0] if len(names) == 1 else text


REMEDIES = {
    Remedy.CORRECT_EXAMPLES: "Correct the file. Then an operator presses “Learn the words again”.",
    Remedy.LIFT_SUPPRESSION: "On the page Deliveries, press Resume beside the recipient.",
    Remedy.LIST_DELIVERIES: "The page Deliveries lists them.",
    Remedy.LIST_TOPICS: "The page Topics lists them.",
    Remedy.NAME_PAPER: "Write a DOI or arXiv id, a link, or the whole title.",
    Remedy.OPEN_PAPER: "To open a paper, put its identifier or address after /papers/.",
    Remedy.SETTLE_DELIVERY: "On the page Deliveries, choose whether it arrived.",
    Remedy.SPLIT_QUERY: "Split it into several topics, or write it in monitor.yaml.",
    Remedy.STOP_UNCONFIGURED: "Tick “not configured yet” to stop an address that is yet to come.",
    Remedy.WRITE_MORE_LETTERS: "Write more letters before *, or leave some out.",
}


def _on_pages(problem: Problem) -> Problem:
    """Return a problem in sentences, and in the words of pages."""
    hint = REMEDIES[problem.remedy] if problem.remedy else as_sentence(problem.hint)
    return Problem(problem.status, as_sentence(problem.message), hint)


class QueryFault(NamedTuple):
    """Why a query is not understood or not answered: `position` counts characters from 0."""

    message: str
    position: int
    hint: str


def fault_of(error: QueryError) -> QueryFault:
    """Return a fault in the words of pages. Others may begin with words of the query: they stay."""
    hint = REMEDIES[error.remedy] if error.remedy else error.hint
    return QueryFault(error.message, error.position, hint)


def as_sentence(text: str) -> str:
    """Return an error of a command as a sentence: with a capital and a full stop."""
    if "=" not in text.partition(" ")[0]:  # a parameter has a name in small letters
        text = f"{text[:1].upper()}{text[1:]}"
    return text if not text or text[-1] in ".!?)”" else f"{text}."


def _owners(source: ConfiguredSource) -> Collection[str]:
    """Return the libraries whose readers alone a source concerns, () for one of all readers."""
    return (source.name,) if source.role is Role.LIBRARY else source.about


def go(path: str) -> Response:
    """Send the browser on to another page after a form was handled."""
    return RedirectResponse(path, 303)


def own_path(path: str) -> str:
    """Return a path of these pages, "/" for that of another site, such as //example.org."""
    return path if path.startswith("/") and path[1:2] not in ("/", "\\") else "/"


def with_query(path: str, query: Mapping[str, Any]) -> str:
    wanted = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{path}?{urlencode(wanted)}" if wanted else path


# The media type of each static file, and the files of templates/ that it is made of.
ASSETS = {
    "icon.svg": ("image/svg+xml", ("pages/icon.svg",)),
    "style.css": ("text/css; charset=utf-8", ("web/style.css", "pages/style.css")),
    "pages.js": ("text/javascript; charset=utf-8", ("pages/pages.js",)),
}


@cache
def asset_content(name: str) -> bytes:
    parts = (resource("templates") / part for part in ASSETS[name][1])
    return b"\n".join(part.read_bytes() for part in parts)


@cache
def asset_address(name: str) -> str:
    """Return the address of a file: another version has another one, since browsers keep it."""
    return f"/static/{name}?{hashlib.sha256(asset_content(name)).hexdigest()[:8]}"
