"""A DNS server of the tests' own, on a free port of this machine: TXT records, or silence."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dns import message, rcode, rrset


@contextmanager
def names(texts: Mapping[str, list[str]]) -> Iterator[tuple[str, int]]:
    """Answer for these names; what lies between them is there, and nothing else is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_serve, args=(here, texts), daemon=True)
        thread.start()
        try:
            yield here.getsockname()
        finally:
            here.close()


def _serve(here: socket.socket, texts: Mapping[str, list[str]]) -> None:
    while True:
        try:
            query, whom = here.recvfrom(4096)
        except OSError:
            return
        question = message.from_wire(query)
        answer = message.make_response(question)
        name = question.question[0].name
        domain = name.to_text(omit_final_dot=True)
        if domain in texts:
            quoted = [f'"{text}"' for text in texts[domain]]
            answer.answer.append(rrset.from_text(name, 60, "IN", "TXT", *quoted))
        elif not any(other.endswith(f".{domain}") for other in texts):
            answer.set_rcode(rcode.NXDOMAIN)
        here.sendto(answer.to_wire(), whom)
