"""What was found of a document, as a reading."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.model import Paper, Reading, Rejected


def reading(found: Sequence[Paper | Rejected], whole: bool) -> Reading:
    """Part papers from rejections; a document of rejections only is one that could not be read."""
    papers = tuple(one for one in found if isinstance(one, Paper))
    rejected = tuple(one for one in found if isinstance(one, Rejected))
    if papers or not rejected:
        return Reading(papers, rejected, complete=whole)
    if len(rejected) == 1 and not whole:
        return Reading(error=rejected[0].why, complete=False)
    error = f"no record is a paper: {rejected[0].why}"
    return Reading((), rejected, error, complete=False)
