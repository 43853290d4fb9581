"""Paths of the service's pages, to which mails and problems lead."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from monitor.model.incidents import IncidentKind, Subject, SubjectKind

_OF_SUBJECTS = {SubjectKind.SOURCE: "sources", SubjectKind.SUBSCRIPTION: "subscriptions"}


def path_to(*parts: object) -> str:
    """Return a path of names, each percent-encoded."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def page_about(kind: str, subject: Subject) -> str:
    """Return the page about an incident, the first page where none is about it alone."""
    if subject.about is SubjectKind.SERVICE:
        return "/status"
    if subject.about in _OF_SUBJECTS:
        return path_to(_OF_SUBJECTS[subject.about], subject.name)
    queries: dict[str, dict[str, str]] = {
        IncidentKind.DOWN: {"state": "waiting"},
        IncidentKind.REFUSED: {"person": subject.recipient},
        IncidentKind.STOPPED: {"person": subject.recipient},
        IncidentKind.GONE: {"person": subject.recipient},
        IncidentKind.NOT_RENDERED: {"state": "failed"},
        IncidentKind.UNCLEAR: {"state": "unknown"},
    }
    query = queries.get(kind)
    return f"/deliveries?{urlencode(query, quote_via=quote, safe='')}" if query else "/"
