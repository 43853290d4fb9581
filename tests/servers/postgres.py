"""A PostgreSQL server of the tests' own: temporary, on a free port of this machine."""

from __future__ import annotations

import os
import pwd
import random
import shlex
import shutil
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
_WAITS = ("-w", "-t", f"{PATIENCE:.0f}")


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
    users = {user.pw_name for user in pwd.getpwall()}
    if os.geteuid() == 0 and not ("postgres" in users and shutil.which("runuser")):
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
        options = ["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8"]
        _run(str(bin / "initdb"), "-D", str(data), *options)
        port = _started(folder)
        try:
            yield f"postgresql+psycopg://postgres@127.0.0.1:{port}"
        finally:
            _control(data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path) -> int:
    """Start a server and return its port; where another process was faster, try another port."""
    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    options += f" -c unix_socket_directories={folder}"
    for port in random.sample(PORTS, 20):
        with suppress(FailedError):
            _start(folder / "data", f"{options} -p {port}")
            return port
    raise FailedError((folder / "log").read_text("utf-8"))


def execute(url: str, statement: str) -> None:
    """Run one statement on the server itself, outside a transaction."""
    address = url.replace("+psycopg", "") + "/postgres"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement.encode())


def restart(url: str) -> None:
    """Let the server of a database drop all its connections, recover, and come back."""
    _control(_data_directory(url), *_WAITS, "-m", "immediate", "restart")


@contextmanager
def stopped(url: str) -> Iterator[None]:
    """Let the server of `url` be down, as if its machine had lost power, and start it again."""
    data = _data_directory(f"{url}/postgres")
    _, *options = shlex.split((data / "postmaster.opts").read_text("utf-8"))
    _control(data, "-m", "immediate", "stop")
    try:
        yield
    finally:
        _start(data, shlex.join(options[options.index("-c") :]))


def _data_directory(url: str) -> Path:
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    return Path(row[0])


def _start(data: Path, options: str) -> None:
    _control(data, *_WAITS, "-o", options, "-l", str(data.parent / "log"), "start")


def _control(data: Path, *arguments: str) -> None:
    bin = binaries()
    assert bin is not None
    _run(str(bin / "pg_ctl"), "-D", str(data), *arguments)


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
