"""A Crossref and a PubMed of a few records, asked about by identifier."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tests.servers.web import Answer, Asked, MisbehavingServer
from tests.sources.libraries import articles

Work = dict[str, Any]


def work(doi: str, title: str = "Sand Moves", **fields: object) -> Work:
    return {"DOI": doi, "title": [title], "type": "journal-article"} | fields


def update(type_: str, doi: str, **fields: object) -> Work:
    day = {"date-parts": [[2025, 3, 4]]}
    return {"type": type_, "DOI": doi, "updated": day, "source": "publisher"} | fields


def crossref(web: MisbehavingServer, *works: Work) -> None:
    by_doi = {str(one["DOI"]): one for one in works}

    def answer(request: Asked) -> Answer:
        alone = unquote(request.target.partition("/works/")[2].partition("?")[0])
        if alone in by_doi:
            return Answer(body=json.dumps({"message": by_doi[alone]}).encode())
        if alone:
            return Answer(404, body=b"Resource not found.")
        dois = [part.removeprefix("doi:") for part in request.query["filter"].split(",")]
        assert int(request.query["rows"]) == len(dois)
        items = [by_doi[doi] for doi in dois if doi in by_doi]
        message = {"total-results": len(items), "items": items}
        return Answer(body=json.dumps({"status": "ok", "message": message}).encode())

    web.decides("*", answer)


def pubmed(web: MisbehavingServer, records: Mapping[str, str], dois: Mapping[str, str]) -> None:
    def answer(request: Asked) -> Answer:
        if request.target.startswith("/esearch"):
            words = request.query["term"].split(" OR ")
            ids = [pmid for doi, pmid in dois.items() if f'"{doi}"[doi]' in words]
            found = {"count": str(len(ids)), "idlist": ids}
            return Answer(body=json.dumps({"esearchresult": found}).encode())
        ids = request.query["id"].split(",")
        return Answer(body=articles(*(records[id] for id in ids if id in records)).encode())

    web.decides("*", answer)
