"""Searchable: the words of new papers go into the search index, when nothing waits for them."""

from __future__ import annotations

from monitor.match import paper_keywords
from monitor.pipeline.runtime import StageContext
from monitor.store import papers, search

# So many papers take about a tenth of a second, for which an ingest may have to wait.
BATCH = 500


def make_searchable(context: StageContext, most: int | None = None) -> int:
    """Put papers that are not in the search index into it, and return how many there were.

    `most` is where to stop, None for nowhere.

    A search reads those that are missing one by one, so that it is right before this is done.
    """
    done = 0
    while not context.stopping.is_set() and (most is None or done < most):
        # Reading and writing are one: no ingest may change a paper between the two.
        with context.database.ingesting() as tx:
            found = papers.load(tx, search.waiting(tx, BATCH))
            rows = [(id, paper_keywords(stored.paper)) for id, stored in found.items()]
            search.save(tx, rows)
        if not rows:
            break
        done += len(rows)
    return done
