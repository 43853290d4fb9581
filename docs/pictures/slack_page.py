"""Slack's messages drawn as a page, about as Slack shows them: for pictures, and to look at."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

STYLE = """
body {font: 15px/1.46 Lato, Arial, sans-serif; max-width: 640px; margin: 16px; color: #1d1c1d}
a {color: #1264a3; text-decoration: none}
h2 {font-size: 18px; margin: 8px 0}
hr {border: 0; border-top: 1px solid #ddd}
p {margin: 8px 0}
.message {margin-bottom: 18px}
.reply {margin-left: 40px; border-left: 3px solid #ddd; padding-left: 12px}
.small {font-size: 12px; color: #616061}
blockquote {border-left: 4px solid #ddd; margin: 4px 0; padding-left: 12px}
"""


def draw_messages(messages: Sequence[dict[str, Any]]) -> str:
    """Return a page with a digest's messages; all but the first are replies."""
    drawn = [_message(message, reply=number > 0) for number, message in enumerate(messages)]
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{''.join(drawn)}"


def _message(message: dict[str, Any], *, reply: bool) -> str:
    blocks = "".join(map(_block, message["blocks"]))
    kind = "message reply" if reply else "message"
    name = '<b>Paper Monitor</b> <span class="small">APP 08:00</span>'
    return f'<div class="{kind}">{name}{blocks}</div>'


def _block(block: dict[str, Any]) -> str:
    match block["type"]:
        case "header":
            return f"<h2>{html.escape(block['text']['text'])}</h2>"
        case "divider":
            return "<hr>"
        case "context":
            texts = "".join(element["text"] for element in block["elements"])
            return f'<p class="small">{_mrkdwn(texts)}</p>'
    return f"<p>{_mrkdwn(block['text']['text'])}</p>"


def _mrkdwn(text: str) -> str:
    """Slack's markup as HTML; what is plain in it is escaped already."""
    text = re.sub(r"(?m)^> (.*)\n?", r"<blockquote>\1</blockquote>", text)
    text = re.sub(r"<(https?:[^|>]+)\|([^>]*)>", r'<a href="\1">\2</a>', text)
    text = re.sub(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])", r"<b>\1</b>", text)
    text = re.sub(r"(?<![\w_])_([^_\n]+)_(?![\w_])", r"<i>\1</i>", text)
    return text.replace("\n", "<br>")
