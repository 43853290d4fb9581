"""`/u/TOKEN`, `/v/TOKEN`, `/r/TOKEN/...`: what the links in a reader's mail open, without a login.

A token opens only what it names. RFC 8058: a mail program stops the digests by a POST without
cookies, in either encoding of forms; it is answered with 200, again and also when all is gone.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from monitor.channels.email.render import PATHS, RATE, STOP, VIEW, ReaderLinks
from monitor.channels.file import render_pages
from monitor.commands.ratings import VERDICTS, Asked, ask, rate
from monitor.commands.shown_papers import past_digest
from monitor.commands.suppressions import (
    ReaderStatus,
    SubscriptionChange,
    apply_change,
    reader_status,
)
from monitor.digest.sections.references import hide_others
from monitor.digest.wording import format_count
from monitor.errors import UsageError
from monitor.text import whole_number
from monitor.web.access import Role
from monitor.web.guard import POLICY_OF_DOCUMENTS
from monitor.web.routes import Form, Routes
from monitor.web.site import Visit

_INVALID = "This link is not valid. It may have been cut off or lengthened: copy it from the mail."

# Bytes of a page, however long the digest is.
LONGEST_PAGE = 95_000
_NOTHING_CHOSEN = "Nothing was chosen, and nothing was changed."

routes = Routes()


@routes.page("/u/{token}", Role.NOBODY, has_token=True)
def show_stop(visit: Visit) -> Response:
    """Show what a reader gets, and the buttons that change it; nothing is changed by looking."""
    subscription, recipient = _names(visit, STOP, 2, visit.path_params["token"])
    return _show_status(visit, reader_status(visit.runtime, subscription, recipient))


@routes.form("/u/{token}", Role.NOBODY, has_token=True)
def change(visit: Visit, fields: Form) -> Response:
    """Stop, pause or resume the digests of a reader."""
    subscription, recipient = _names(visit, STOP, 2, visit.path_params["token"])
    one_click = fields.get("List-Unsubscribe", "").lower() == "one-click"
    wish = SubscriptionChange.STOP if one_click else fields.get("wish", "")
    if wish not in list(SubscriptionChange):
        return visit.show_problem(400, _NOTHING_CHOSEN)
    how = "one-click" if one_click else "link"
    now = apply_change(visit.runtime, subscription, recipient, SubscriptionChange(wish), how)
    return _show_status(visit, now, done=True)


def _show_status(visit: Visit, now: ReaderStatus, done: bool = False) -> Response:
    title = visit.runtime.titles.get(now.subscription, now.subscription)
    return visit.show("stop", standing=now, title=title, done=done)


@routes.page("/v/{token}", Role.NOBODY, has_token=True)
def show_digest(visit: Visit) -> Response:
    """Show the digest that a mail brought, as a page."""
    # Further pages of a long digest are named after the first: see `render_pages`.
    token, _, page = visit.path_params["token"].partition("-page-")
    number = whole_number(page.removesuffix(".html")) if page else 1
    subscription, period, recipient = _names(visit, VIEW, 3, token)
    runtime = visit.runtime
    links = ReaderLinks(visit.site.rules.url, runtime.keys)
    shown = hide_others(past_digest(runtime, subscription, period), recipient)
    digest = links.sign_answers(shown, recipient)
    pages = render_pages(digest, runtime.templates, token, LONGEST_PAGE)
    if number is None or not 1 <= number <= len(pages):
        return visit.show_problem(404, f"This digest has {format_count(len(pages), 'page')}.")
    headers = {"content-security-policy": POLICY_OF_DOCUMENTS}
    return HTMLResponse(pages[number - 1], headers=headers)


@routes.page("/r/{token}/{paper}", Role.NOBODY, has_token=True)
@routes.page("/r/{token}/{paper}/{direction}", Role.NOBODY, has_token=True)
def show_question(visit: Visit) -> Response:
    """Show a paper with the button for an answer; nothing is changed by looking."""
    return _show_answers(visit)


@routes.form("/r/{token}/{paper}", Role.NOBODY, has_token=True)
@routes.form("/r/{token}/{paper}/{direction}", Role.NOBODY, has_token=True)
def take_answer(visit: Visit, fields: Form) -> Response:
    """Store an answer to a paper, or take it back."""
    asked = _ask(visit)
    verdict = fields.get("verdict", "")
    if verdict not in VERDICTS:
        return visit.show_problem(400, _NOTHING_CHOSEN)
    try:
        rate(visit.runtime, str(asked.paper_id), verdict, asked.scope, "link")
    except UsageError as error:  # its hint is for the command line, and names all topics
        return visit.show_problem(409, error.message)
    return _show_answers(visit, done=True)


def _ask(visit: Visit) -> Asked:
    """Return the question that a link asks; one that is cut off, or whose paper has gone, is 404.

    Mail programs may take a full stop after a link as part of it.
    """
    names = _names(visit, RATE, 3, visit.path_params["token"])
    paper = whole_number(visit.path_params["paper"])
    if paper is None or _direction(visit) not in ("", "more", "less", "save"):
        raise HTTPException(404, _INVALID)
    try:
        return ask(visit.runtime, names, paper)
    except UsageError as error:
        raise HTTPException(404, str(error)) from error


def _direction(visit: Visit) -> str:
    """Return which answer a link offers, "" for the one link of a mail's text, which offers all."""
    return str(visit.path_params.get("direction", ""))


def _show_answers(visit: Visit, done: bool = False) -> Response:
    asked = _ask(visit)
    name = asked.scope.subscription
    title = visit.runtime.titles.get(name, name)
    # The digest that the token names: its papers can be answered by this token, too.
    names = _names(visit, RATE, 3, visit.path_params["token"])
    return visit.show(
        "answer",
        asked=asked,
        title=title,
        direction=_direction(visit),
        done=done,
        digest_page=f"{PATHS[VIEW]}{visit.runtime.keys.sign(VIEW, *names)}",
    )


def _names(visit: Visit, purpose: str, count: int, token: str) -> tuple[str, ...]:
    """Return what the token in the address names. One that is not ours opens no page."""
    names = visit.runtime.keys.read(purpose, token)
    if not names or len(names) != count:
        raise HTTPException(404, _INVALID)
    return names
