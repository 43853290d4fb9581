"""A PostgreSQL server of the tests' own: temporary, on a free port of this machine."""

from __future__ import annotations

import os
import pwd
import random
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.patience import PATIENCE

SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "timezone": "Asia/Kathmandu",  # the store must not care
}

# Below those that the system gives to whoever asks for any: a server that restarts finds its own.
PORTS = range(16_000, 32_000)


class FailedError(Exception):
    """A tool of PostgreSQL came to no good end."""


def binaries() -> Path | None:
    """Return the folder of initdb and pg_ctl, the newest one installed; None for none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True
    )
    found += [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    whole = (
        p for p in found if all((p / tool).exists() for tool in ("initdb", "pg_ctl", "postgres"))
    )
    return next(whole, None)


def missing() -> str:
    """Say what is missing for a server to be started, "" for nothing."""
    if binaries() is None:
        return "no initdb, pg_ctl and postgres in /usr/lib/postgresql/*/bin or PATH"
    if os.geteuid() == 0 and not (_is_user("postgres") and shutil.which("runuser")):
        return "postgres refuses to run as root, and there is no user postgres to run it"
    return ""


@contextmanager
def server() -> Iterator[str]:
    """Run a server and yield the URL of it, without a database at the end."""
    bin = binaries()
    assert bin is not None
    folder = Path(tempfile.mkdtemp(prefix="paper-monitor-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        data = folder / "data"
        _run(
            str(bin / "initdb"),
            "-D",
            str(data),
            "-A",
            "trust",
            "-U",
            "postgres",
            "-N",
            "-E",
            "UTF8",
        )
        port = _started(bin, folder)
        try:
            yield f"postgresql+psycopg://postgres@127.0.0.1:{port}"
        finally:
            _run(str(bin / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(bin: Path, folder: Path) -> int:
    """Start a server and return its port; where another process was faster, try another port."""
    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    options += f" -c unix_socket_directories={folder}"
    waits = ["-w", "-t", f"{PATIENCE:.0f}"]
    for port in random.sample(PORTS, 20):
        if not _is_free(port):
            continue
        start = ["-D", str(folder / "data"), *waits, "-o", f"{options} -p {port}"]
        with suppress(FailedError):
            _run(str(bin / "pg_ctl"), *start, "-l", str(folder / "log"), "start")
            return port
    raise FailedError((folder / "log").read_text("utf-8"))


def execute(url: str, statement: str) -> None:
    """Run one statement on the server itself, outside a transaction."""
    address = url.replace("+psycopg", "") + "/postgres"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement.encode())


def restart(url: str) -> None:
    """Let the server of `url` drop all its connections, recover, and come back."""
    address = url.replace("+psycopg", "")
    with psycopg.connect(address) as connection:
        found = connection.execute("SHOW data_directory").fetchone()
    bin = binaries()
    assert found is not None
    assert bin is not None
    waits = ["-w", "-t", f"{PATIENCE:.0f}"]
    _run(str(bin / "pg_ctl"), "-D", found[0], *waits, "-m", "immediate", "restart")


@contextmanager
def stopped(url: str) -> Iterator[None]:
    """Let the server of `url` be down, as if its machine had lost power, and start it again."""
    address = url.replace("+psycopg", "") + "/postgres"
    with psycopg.connect(address) as connection:
        found = connection.execute("SHOW data_directory").fetchone()
    bin = binaries()
    assert found is not None
    assert bin is not None
    data = Path(found[0])
    _, *options = shlex.split((data / "postmaster.opts").read_text("utf-8"))
    _run(str(bin / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    try:
        yield
    finally:
        waits = ["-w", "-t", f"{PATIENCE:.0f}", "-l", str(data.parent / "log")]
        given = shlex.join(options[options.index("-c") :])
        _run(str(bin / "pg_ctl"), "-D", str(data), *waits, "-o", given, "start")


def _run(*command: str) -> None:
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*user, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a pipe would stay open in the server
        stderr=subprocess.DEVNULL,
        cwd="/",
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        raise FailedError(f"{command[0]} ended with {done.returncode}")


def _is_user(name: str) -> bool:
    return name in {user.pw_name for user in pwd.getpwall()}


def _is_free(port: int) -> bool:
    with socket.socket() as listening:
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
