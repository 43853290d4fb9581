"""Whether a permanent refusal says that an address does not exist: else it stays in use.

A server may refuse for many reasons at the same point: the sender, a full mailbox, a block list.
So all of these must hold:

1. It is about one recipient: the reply to RCPT, and by LMTP the one after the text. After the text
   of SMTP, which is about the message, an enhanced code has to say it (Exchange decides there).
2. Its enhanced codes (RFC 3463), if there are any, are 5.1.1, or 5.1.10 of Exchange, and no other.
   Without one, it is a 550 with words like `user unknown`.
3. It does not mention the sender: some servers look up whether that exists, and quote what its own
   server answered.
"""

from __future__ import annotations

import re

_CODES = frozenset({"5.1.1", "5.1.10"})
# Not a part of an IP address or of a version.
_CODE = re.compile(r"(?<![\w.])[245]\.\d{1,3}\.\d{1,3}(?!\.?\d)")
_MAILBOX = r"(?:user|recipient|mailbox|address|account)"
_WORDS = re.compile(
    rf"\b(?:no such|unknown) {_MAILBOX}\b"
    rf"|\b{_MAILBOX} (?:is )?(?:unknown|not found|does not exist|doesn't exist)\b",
    re.IGNORECASE,
)
# A limit on guesses is a refusal of us: "550 too many unknown users".
_OF_US = re.compile(r"\bsender\b|\bmail from\b|\btoo many\b", re.IGNORECASE)


def says_unknown(code: int, text: str, sender: str, recipient: str, *, to_recipient: bool) -> bool:
    """Return whether a reply says that the recipient does not exist.

    `to_recipient` is false for one that is about the whole message.
    """
    if code // 100 != 5:
        return False
    said = " ".join(text.lower().replace(recipient.lower(), "").split())
    if _OF_US.search(said) or sender.lower() in said:
        return False
    if codes := set(_CODE.findall(said)):
        return codes <= _CODES
    return to_recipient and code == 550 and _WORDS.search(said) is not None
