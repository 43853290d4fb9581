"""nginx in front of the pages, on a free port of loopback.

with nginx("location / { proxy_pass http://127.0.0.1:8080; }", port):
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

KINDS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def find_program(name: str) -> str:
    """Return the path of a server, or skip the test where it is not installed; CI has all."""
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    if not path and os.environ.get("CI"):
        pytest.fail(f"pages must be tested behind {name} here, and it is not installed")
    if not path:
        pytest.skip(f"PAGES ARE NOT TESTED BEHIND {name}: it is not installed")
    return path


def nginx_command(folder: Path, servers: str) -> list[str]:
    """Return the command of nginx for lines of its configuration, with all files in a folder."""
    lines = [
        "daemon off;",
        "user root;" if os.geteuid() == 0 else "",
        f"pid {folder}/nginx.pid;",
        "events {}",
        "http {",
        "access_log off;",
        *(f"{kind}_temp_path {folder}/{kind};" for kind in KINDS),
        servers,
        "}",
    ]
    config = folder / "nginx.conf"
    config.write_text("\n".join(lines), "utf-8")
    log = folder / "error.log"
    return [find_program("nginx"), "-p", str(folder), "-e", str(log), "-c", str(config)]


@contextmanager
def nginx(server: str, port: int, files: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run nginx with the lines of a server until the block ends; `files` are beside them."""
    with tempfile.TemporaryDirectory(prefix="paper-monitor-nginx-") as name:
        folder = Path(name)
        for file, content in (files or {}).items():
            (folder / file).write_text(content, "utf-8")
        command = nginx_command(folder, f"server {{ listen 127.0.0.1:{port}; {server} }}")
        process = subprocess.Popen(command)
        try:
            wait(lambda: process.poll() is not None or _answers(port))
            assert process.poll() is None, (folder / "error.log").read_text("utf-8")
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE):
        return True
    return False
