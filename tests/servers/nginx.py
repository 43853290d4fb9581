"""nginx in front of the pages, on a free port of loopback.

with nginx("location / { proxy_pass http://127.0.0.1:8080; }") as port:
    httpx.get(f"http://127.0.0.1:{port}/")
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait


@contextmanager
def nginx(server: str, port: int, files: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run nginx with the lines of a server until the block ends; `files` are beside them."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")
    if not program and os.environ.get("CI"):
        pytest.fail("the pages must be attacked through nginx here, and it is not installed")
    if not program:
        pytest.skip("PAGES ARE NOT ATTACKED THROUGH NGINX: it is not installed")
    with tempfile.TemporaryDirectory(prefix="paper-monitor-nginx-") as name:
        folder = Path(name)
        for file, content in (files or {}).items():
            (folder / file).write_text(content, "utf-8")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        lines = [
            "daemon off;",
            "user root;" if os.geteuid() == 0 else "",
            f"pid {folder}/nginx.pid;",
            "events {}",
            "http { access_log off;",
            *(f"{kind}_temp_path {folder}/{kind};" for kind in kinds),
            f"server {{ listen 127.0.0.1:{port}; {server} }} }}",
        ]
        config = folder / "nginx.conf"
        config.write_text("\n".join(lines), "utf-8")
        log = folder / "error.log"
        process = subprocess.Popen([program, "-p", name, "-e", str(log), "-c", str(config)])
        try:
            wait(lambda: process.poll() is not None or _answers(port))
            assert process.poll() is None, log.read_text("utf-8")
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE):
        return True
    return False
