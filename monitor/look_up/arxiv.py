"""arXiv: its query API, with several titles or identifiers in one request.

https://info.arxiv.org/help/api/user-manual.html: search_query=ti:"..." OR ti:"...", or
id_list=ID,ID. In phrases, hyphens are spaces; quotes and brackets would be read as operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from monitor.look_up.service import Service, own_identifier
from monitor.look_up.titles import phrases
from monitor.model import Paper, Reading
from monitor.model.look_up import Question
from monitor.sources.arxiv import ArxivQuery
from monitor.sources.feed.source import NO_TEXT

RECORDS_A_TITLE = 10
MOST_RECORDS = 100


class ArxivService(Service):
    """Takes up to ten titles, or fifty identifiers, a request."""

    name = "arxiv"
    title = "arXiv"
    schemes = ("arxiv",)
    known = Paper("Attention Is All You Need", keys={"arxiv": "1706.03762"})
    apart = timedelta(seconds=3)
    takes_key = False
    reader = ArxivQuery
    titles_at_once = 10
    identifiers_at_once = 50

    def identifier(self, paper: Paper) -> str:
        return own_identifier(paper, "arxiv")

    def identifier_url(self, identifiers: Sequence[str]) -> str:
        parameters = {"id_list": ",".join(identifiers), "max_results": len(identifiers)}
        return self.address_of("/api/query", parameters)

    def sent_title(self, title: str) -> str:
        """Return the words of a title as a query: `ti:"one phrase" AND ti:"another"`."""
        return " AND ".join(f'ti:"{phrase}"' for phrase in phrases(title))

    def title_url(self, titles: Sequence[str]) -> str:
        several = [f"({title})" if " AND " in title else title for title in titles]
        parameters = {
            "search_query": " OR ".join(several),
            "max_results": min(RECORDS_A_TITLE * (len(titles) + 1), MOST_RECORDS),
        }
        return self.address_of("/api/query", parameters)

    def is_empty(self, reading: Reading, question: Question) -> bool:
        # The API sends an entry of nothing for an identifier that it does not have.
        whys = {rejected.why for rejected in reading.rejected}
        return question.by_identifier and not reading.papers and whys == {NO_TEXT}
