"""What a mail costs to build: ours, beside the standard library's EmailMessage, in one run.

    python benchmarks/mail.py

A digest of fifty papers, twenty-five of them in full, made by the real templates; in processor
time for one mail:

    shared   one digest to many recipients: its parts are encoded once
    own      each mail says something else, as where each reader has a digest of their own

Both have the same headers and the same parts, read back by the email package; it is looked at.
"""

from __future__ import annotations

import email
import email.policy
import hashlib
import sys
import time
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from email.policy import SMTP

from letters import another, delivery, mail, rendered

from monitor.channels.email.channel import Mailbox
from monitor.model import Delivery

MAILS = 200
IN_FULL = 25  # as a subscription has it that says nothing else
TIMES = 5
GOAL = 0.6  # milliseconds


def main() -> None:
    part = rendered(full=IN_FULL)
    shared = [delivery(part, number) for number in range(MAILS)]
    own = [delivery(another(part, number), number) for number in range(MAILS)]
    size = len(ours(own[0]))
    sys.stdout.write(f"{MAILS} mails of {size / 1024:.0f} KiB, milliseconds of processor a mail\n")
    assert same(ours(own[0]), theirs(own[0])), "the two say different things"
    missed = False
    for name, deliveries in (("shared", shared), ("own", own)):
        them, us = cost(theirs, deliveries[:20]), cost(ours, deliveries)
        missed |= us > GOAL
        print(f"{name:8} EmailMessage {them:6.3f}   ours {us:6.3f}   {them / us:5.1f} times")
    if missed:
        sys.exit(f"the goal is {GOAL} ms")


_MAIL = mail()


def ours(one: Delivery) -> bytes:
    return _MAIL.message(one, Mailbox.parse(one.recipient))


def theirs(one: Delivery) -> bytes:
    """The same mail as the standard library builds it."""
    body = one.rendered.body
    message = EmailMessage(SMTP.clone(cte_type="7bit"))
    for line in ours_head(one):
        name, _, value = line.partition(": ")
        message[name] = value
    message["Subject"] = body["subject"]
    message.set_content(body["text"])
    message.add_alternative(body["html"], subtype="html")
    message.set_boundary(f"=_{hashlib.sha256(one.message_id.encode()).hexdigest()[:32]}")
    return message.as_bytes()


def ours_head(one: Delivery) -> Sequence[str]:
    return (
        "From: Papers <papers@example.org>",
        f"To: {one.recipient}",
        "Date: Sat, 21 Nov 2026 08:00:00 +0000",
        f"Message-ID: {one.message_id}",
        "List-Id: <reader.example.org>",
        "Auto-Submitted: auto-generated",
    )


def same(one: bytes, other: bytes) -> bool:
    """Whether a mail program shows the same of both."""
    return parts(one) == parts(other)


def parts(content: bytes) -> list[str]:
    message = email.message_from_bytes(content, policy=email.policy.default)
    bodies = [part.get_content() for part in message.iter_parts()]
    return [str(message["Subject"]), *bodies]


def cost(build: Callable[[Delivery], bytes], deliveries: Sequence[Delivery]) -> float:
    """Milliseconds for one mail, the least of some passes."""
    best = float("inf")
    for _ in range(TIMES):
        began = time.process_time()
        for one in deliveries:
            build(one)
        best = min(best, (time.process_time() - began) / len(deliveries))
    return best * 1e3


if __name__ == "__main__":
    main()
