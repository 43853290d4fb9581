"""The menu beside a paper, with which anyone in a channel rates it, and Slack's payload: pure.

The block around a menu names the digest and the paper, its options only what may be answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.model import Digest, DigestPaper, Json
from monitor.text import whole_number

# By these names Slack hands back what was chosen: messages in channels have them for years.
ACTION = "paper-monitor-answer"
_BLOCK = "paper"
_BLOCK_ID_LIMIT = 255
# Seconds that a press may take before Slack is answered: it waits three. If the
# process ends before the rating is stored, Slack shows an error or sends it again.
TAKEN_WITHIN = 1.0
# The answers by the verdicts of `paper-monitor papers rate`.
CHOICES = {
    "up": "More like this",
    "down": "Less like this",
    "save": "Save",
    "none": "Take back",
}


@dataclass(frozen=True, slots=True)
class Press:
    """A choice in a menu, one of `CHOICES`; `at` is its time by Slack's clock."""

    team: str
    channel: str
    user: str
    subscription: str
    period: str
    paper_id: int
    verdict: str
    at: float


def add_menu(section: Json, entry: DigestPaper, digest: Digest) -> Json:
    """Return a section with the menu of its paper; without one where its name would be too long."""
    block_id = f"{_BLOCK}|{entry.paper_id}|{digest.period}|{digest.subscription}"
    if len(block_id) > _BLOCK_ID_LIMIT:
        return section
    options = [
        {"text": {"type": "plain_text", "text": text}, "value": verdict}
        for verdict, text in CHOICES.items()
    ]
    menu = {"type": "overflow", "action_id": ACTION, "options": options}
    return {**section, "block_id": block_id, "accessory": menu}


def _name(value: str) -> str:
    """Return a text that the store can hold. Raises ValueError or TypeError for anything else."""
    if "\0" in value or not value.encode():
        raise ValueError("no name")
    return value


def read_press(payload: Any) -> Press | None:
    """Return what was pressed as Slack's `block_actions` says it; None for anything else."""
    try:
        action: Mapping[str, Any] = payload["actions"][0]
        block, paper_id, period, subscription = action["block_id"].split("|", 3)
        verdict = action["selected_option"]["value"]
        names = payload["type"], action["action_id"], block
        if names != ("block_actions", ACTION, _BLOCK) or verdict not in CHOICES:
            return None
        number = whole_number(paper_id)
        if number is None:
            return None
        return Press(
            team=_name(payload["team"]["id"]),
            channel=_name(payload["channel"]["id"]),
            user=_name(payload["user"]["id"]),
            subscription=_name(subscription),
            period=_name(period),
            paper_id=number,
            verdict=verdict,
            at=float(action.get("action_ts", 0)),
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # another app's block, or a form that Slack did not have when this was written
