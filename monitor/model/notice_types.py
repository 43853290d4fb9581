"""The types of notices: records about another record, such as retractions and corrections."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.model.digests import ReferenceChange
from monitor.model.identity import ChangeKind
from monitor.model.paper import COMMENT, CONCERN, CORRECTION, REPORT, RETRACTION


@dataclass(frozen=True, slots=True)
class NoticeType:
    """A type of notices, and its effect on the paper that a notice is about."""

    # `Paper.type` of the notice.
    mark: str
    # The news of a paper in the store; None if the notice changes nothing.
    change: ChangeKind | None = None
    # The event of a reference of a library.
    reference_change: ReferenceChange | None = None
    # Whether an old notice, too, is news of a reference that is added to a library.
    is_grave: bool = False


# The gravest first: a notice may correct one thing and retract another.
NOTICE_TYPES = (
    NoticeType(RETRACTION, ChangeKind.WITHDRAWN, ReferenceChange.RETRACTED, is_grave=True),
    NoticeType(REPORT, ChangeKind.WITHDRAWN, ReferenceChange.REPORTED, is_grave=True),
    NoticeType(CONCERN, ChangeKind.REVISED, ReferenceChange.CONCERN, is_grave=True),
    NoticeType(CORRECTION, ChangeKind.REVISED, ReferenceChange.CORRECTED),
    NoticeType(COMMENT),
)
# Those that change their paper, by their marks.
CHANGING_NOTICES = {each.mark: each for each in NOTICE_TYPES if each.change}
