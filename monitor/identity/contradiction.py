"""Whether another identifier contradicts a shared one: two arXiv ids that share a DOI.

DOIs are copied and mistyped: the DOI of another paper, the number of a whole journal
(10.5121/ijcsit), a placeholder (10.1145/1235). The ids of a registry that gives a paper only one
count more, unless the texts agree: a preprint submitted again after withdrawal has two.
"""

from __future__ import annotations

from collections.abc import Collection

from monitor.identity.features import gather
from monitor.identity.weights import balance
from monitor.model import Paper

# Registries that give a paper one id. OpenAlex and Semantic Scholar, which cluster records, and
# dblp give some papers two; a paper has a DOI for each version and publisher.
ONE_EACH = ("arxiv", "pmid", "pmcid")
# From this share of the shorter abstract on, it is the same text, reworked at most.
SAME_ABSTRACT = 0.6


def contradiction(ours: Collection[tuple[str, str]], theirs: Collection[tuple[str, str]]) -> str:
    """Return a scheme in which both have an identifier of their own and share none, or ""."""
    own = [pair for pair in ours if pair[0] in ONE_EACH and pair not in theirs]
    if not own:  # as it mostly is
        return ""
    agreed = {pair[0] for pair in ours if pair in theirs}
    both = {scheme for scheme, _ in own} & {scheme for scheme, _ in theirs}
    return next((scheme for scheme in ONE_EACH if scheme in both - agreed), "")


def bears_out(a: Paper, b: Paper) -> bool:
    """Return whether two texts may be of one work, regardless of identifiers.

    An equal title suffices, whoever its authors are; otherwise title, authors and abstracts must
    agree on balance. Another part or number of a series is another work.
    """
    found = gather(a, b)
    if found is None:
        return False
    title = found.title
    if title.equal and not title.column:
        return True
    counted = title.other_part or title.other_number
    if counted and (found.abstract or 0.0) < SAME_ABSTRACT:
        return False
    return balance(found) >= 0
