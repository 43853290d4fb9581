"""The socket that pages are served on."""

from __future__ import annotations

import socket

from monitor.config import WebSettings
from monitor.web.listening import bound
from tests.web.conftest import free_port


def test_the_end_of_an_answer_does_not_wait_for_an_acknowledgement() -> None:
    """Otherwise each page on a connection that is used again takes 40 ms longer."""
    web = WebSettings.model_validate({"listen": f"127.0.0.1:{free_port()}"})
    with bound(web) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
