from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import House
from tests.servers.slack import SlackServer
from tests.servers.smtp import ScriptedSmtp


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def smtp() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server
