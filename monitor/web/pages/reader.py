"""`/u/TOKEN`, `/v/TOKEN`, `/r/TOKEN/...`: what the links in a reader's mail open, without a login.

A token opens only what it names. RFC 8058: a mail program stops the digests by a POST without
cookies, in either encoding of forms; it is answered with 200, again and also when all is gone.
"""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from monitor.channels.email.render import RATE, STOP, VIEW, ReaderLinks
from monitor.channels.file import render_pages
from monitor.commands.ratings import VERDICTS, Asked, answer, ask
from monitor.commands.shown_papers import past_digest
from monitor.commands.suppressions import LINK, ONE_CLICK, Standing, Wish, grant, standing
from monitor.digest.wording import format_count
from monitor.errors import UsageError
from monitor.text import whole_number
from monitor.web.forms import form
from monitor.web.guard import POLICY_OF_DOCUMENTS
from monitor.web.site import Form, show, show_problem, site_of

_INVALID = "This link is not valid. It may have been cut off or lengthened: copy it from the mail."

# Bytes of a page, however long the digest is.
LONGEST_PAGE = 95_000
# Further pages of a long digest are named after the first: see `render_pages`.
_PAGE = re.compile(r"(?P<token>.*?)(?:-page-(?P<page>\d{1,4})\.html)?", re.DOTALL)


def show_stop(request: Request) -> Response:
    """Show what a reader gets, and the buttons that change it; nothing is changed by looking."""
    names = _names(request, STOP, 2)
    return _show_standing(request, standing(site_of(request).runtime, names[0], names[1]))


def change(request: Request, fields: Form) -> Response:
    """Stop, pause or resume the digests of a reader."""
    names = _names(request, STOP, 2)
    one_click = fields.get("List-Unsubscribe", "").lower() == "one-click"
    wish = Wish.STOP if one_click else next((w for w in Wish if w == fields.get("wish")), None)
    if wish is None:
        return show_problem(request, 400, "Nothing was chosen, and nothing was changed.")
    how = ONE_CLICK if one_click else LINK
    now = grant(site_of(request).runtime, names[0], names[1], wish, how)
    return _show_standing(request, now, done=True)


def _show_standing(request: Request, now: Standing, done: bool = False) -> Response:
    title = site_of(request).titles.get(now.subscription, now.subscription)
    return show(request, "stop", standing=now, title=title, done=done)


def show_digest(request: Request) -> Response:
    """Show the digest that a mail brought, as a page."""
    written = _PAGE.fullmatch(request.path_params["token"])
    token, number = written.group("token", "page") if written else ("", None)
    names = _names(request, VIEW, 3, token)
    runtime = site_of(request).runtime
    digest = past_digest(runtime, names[0], names[1])
    links = ReaderLinks(site_of(request).url, runtime.keys)
    signed = links.sign_answers(digest, names[2])
    pages = render_pages(signed, runtime.templates, token, LONGEST_PAGE)
    place = int(number or 1) - 1
    if place >= len(pages):
        return show_problem(request, 404, f"This digest has {format_count(len(pages), 'page')}.")
    return HTMLResponse(pages[place], headers={"content-security-policy": POLICY_OF_DOCUMENTS})


def show_question(request: Request) -> Response:
    """Show a paper with the button for an answer; nothing is changed by looking."""
    asked = _ask(request)
    return asked if isinstance(asked, Response) else _show_answers(request, asked)


def take_answer(request: Request, fields: Form) -> Response:
    """Store an answer to a paper, or take it back."""
    asked, verdict = _ask(request), fields.get("verdict", "")
    if isinstance(asked, Response):
        return asked
    if verdict not in VERDICTS:
        return show_problem(request, 400, "Nothing was chosen, and nothing was changed.")
    try:
        answer(site_of(request).runtime, asked, verdict)
    except UsageError as error:  # its hint is for the command line, and names all topics
        return show_problem(request, 409, error.message)
    return _show_answers(request, _ask(request), done=True)


def _ask(request: Request) -> Asked | Response:
    names, paper = _names(request, RATE, 3), whole_number(request.path_params["paper"])
    # Mail programs may take a full stop after a link as part of it.
    known = request.path_params["direction"] in ("more", "less")
    if paper is None or not known:
        raise HTTPException(404, _INVALID)
    try:
        return ask(site_of(request).runtime, names, paper)
    except UsageError as error:
        return show_problem(request, 404, error.message, error.hint)


def _show_answers(request: Request, asked: Asked | Response, done: bool = False) -> Response:
    if isinstance(asked, Response):
        return asked
    more = request.path_params["direction"] == "more"
    name = asked.whose.subscription
    title = site_of(request).titles.get(name, name)
    return show(request, "answer", asked=asked, title=title, more=more, done=done)


def _names(request: Request, purpose: str, count: int, token: str = "") -> tuple[str, ...]:
    """Return what the token in the address names. One that is not ours opens no page."""
    keys = site_of(request).runtime.keys
    names = keys.read(purpose, token or request.path_params["token"]) if keys.keys else None
    if not names or len(names) != count:
        raise HTTPException(404, _INVALID)
    return names


ROUTES = [
    Route("/u/{token}", show_stop),
    Route("/u/{token}", form(change), methods=["POST"]),
    Route("/v/{token}", show_digest),
    Route("/r/{token}/{paper}/{direction}", show_question),
    Route("/r/{token}/{paper}/{direction}", form(take_answer), methods=["POST"]),
]
