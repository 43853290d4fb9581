from __future__ import annotations

import itertools
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

from monitor.store.engine.opening import open_store
from tests.authorities import one_authority
from tests.compiled_once import share_compiled
from tests.house import House
from tests.patience import PATIENCE
from tests.servers import postgres
from tests.servers.oauth import TokenServer
from tests.servers.slack import SlackServer
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import MisbehavingServer, misbehaving_server

# The same examples each time, however long each takes: a change is judged by what it changes.
# `--hypothesis-profile search` looks for others, from a new seed each time or `--hypothesis-seed`.
_AT_ANY_PACE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("search", **_AT_ANY_PACE)
settings.register_profile("same", derandomize=True, **_AT_ANY_PACE)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--store postgresql` lets whole installations keep their store on PostgreSQL."""
    parser.addoption("--store", choices=["sqlite", "postgresql"], default="sqlite")


def pytest_configure() -> None:
    """What a shell starts in the background is deaf to Ctrl-C, and so would be what we start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    share_compiled()


@pytest.fixture(scope="session", autouse=True)
def authority() -> Iterator[None]:
    with one_authority():
        yield


@pytest.fixture
def house(request: pytest.FixtureRequest, tmp_path: Path) -> House:
    made = House(tmp_path)
    if request.config.getoption("--store") == "postgresql":
        made.settings["store"] = request.getfixturevalue("postgres_url")
    return made


@pytest.fixture
def on_sqlite(request: pytest.FixtureRequest) -> None:
    """For what looks into the file itself."""
    if request.config.getoption("--store") != "sqlite":
        pytest.skip("it is about the file of SQLite")


@pytest.fixture
def smtp() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


@pytest.fixture
def endpoint() -> Iterator[TokenServer]:
    with TokenServer() as running:
        yield running


@pytest.fixture
def mx(endpoint: TokenServer) -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp(extensions=("AUTH LOGIN XOAUTH2",), accepts=endpoint.accepts) as running:
        yield running


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


@pytest.fixture
def web() -> Iterator[MisbehavingServer]:
    with misbehaving_server() as server:
        yield server


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    lacking = postgres.missing()
    if lacking and os.environ.get("CI"):
        pytest.fail(f"PostgreSQL must be tested here: {lacking}")
    if lacking:
        pytest.skip(f"POSTGRESQL IS NOT TESTED: {lacking}")
    with postgres.server() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    postgres.execute(postgres_server, "CREATE DATABASE migrated")
    open_store(f"{postgres_server}/migrated").close()
    return "migrated"


@pytest.fixture
def postgres_url(postgres_server: str, postgres_template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    postgres.execute(postgres_server, f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield f"{postgres_server}/{name}"
    postgres.execute(postgres_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty_postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a database without tables."""
    name = f"empty_{next(_numbers)}"
    postgres.execute(postgres_server, f"CREATE DATABASE {name}")
    yield f"{postgres_server}/{name}"
    postgres.execute(postgres_server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "monitor.db"
    open_store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    path = tmp_path / "monitor.db"
    shutil.copyfile(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    return str(request.getfixturevalue(fixture))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not chromium and os.environ.get("CI"):
        pytest.fail("pages must be looked at here, and Chromium is not installed")
    if not chromium:
        pytest.skip("PAGES ARE NOT LOOKED AT: Chromium is not installed")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    quiet += ["--disable-dev-shm-usage"]  # a container has little of it
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium, args=quiet, timeout=PATIENCE * 1000
        )
        yield launched
        launched.close()
