"""An identifier in common that another scheme contradicts: two arXiv ids that share a DOI.

DOIs are copied and mistyped: the DOI of another paper, the number of a whole journal
(10.5121/ijcsit), a placeholder (10.1145/1235). A registry that gives a paper one number knows
better, unless the texts agree: a preprint that was withdrawn and submitted again has two.
"""

from __future__ import annotations

from collections.abc import Collection

from monitor.identity.features import gather
from monitor.identity.weights import balance
from monitor.model import Paper

# Registries that give a paper one number. Those that machines cluster (OpenAlex, Semantic Scholar)
# give some papers two, as dblp does; of DOIs a paper has one a version and a publisher.
ONE_EACH = ("arxiv", "pmid", "pmcid")
# So much of the shorter abstract is the same text, reworked at most.
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
    """Say whether two texts may be of one work, identifiers aside.

    The same title will do, whoever is named as its authors; else title, authors and abstracts
    have to agree on balance. Another part or number of a series is another work.
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
